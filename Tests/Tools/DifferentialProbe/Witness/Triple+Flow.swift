// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

extension Triple {
    /// Whether the library's options have a flow.
    static let hasFlows = false

    /// Sets the protocol, the ports and the type of service.
    func setFlow(_ options: inout ReachabilityOptions) {}
}
