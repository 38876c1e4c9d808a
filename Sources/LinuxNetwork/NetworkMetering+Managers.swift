// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

#if NetworkManagers
    internal import NetworkManagers
#endif

extension NetworkMetering {
    #if NetworkManagers
        /// The managers of this host, for all monitors of the process, from the first monitor on.
        ///
        /// A manager that hangs delays the first monitor by the time limit. Its later answers are delivered.
        private static let managers = {
            let managers = try? ManagerMonitor()
            managers?.waitForAnswers(atMost: .milliseconds(250))
            return managers
        }()

        /// The costs according to the managers of this host.
        static var ofManagers: NetworkMetering { managers?.metering ?? .unmetered }
    #else
        /// No costs, because the trait that queries the managers is not enabled.
        static var ofManagers: NetworkMetering { .unmetered }
    #endif
}
