// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

#if NetworkManagers
    internal import NetworkManagers
#endif

extension NetworkMetering {
    #if NetworkManagers
        /// The managers of this host, for all monitors of the process, from the first one on.
        ///
        /// A manager that hangs delays the first monitor by the time limit; what it says later is delivered.
        private static let managers = {
            let managers = try? ManagerMonitor()
            managers?.waitForAnswers(atMost: .milliseconds(250))
            return managers
        }()

        /// The costs that the managers of this host say.
        static var ofManagers: NetworkMetering { managers?.metering ?? .unmetered }
    #else
        /// No costs: the trait that asks the managers is not enabled.
        static var ofManagers: NetworkMetering { .unmetered }
    #endif
}
