// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability

/// An interface of a simulated host, as a test reads it.
///
/// ```swift
/// #expect(network.host.interfaces.filter(\.isRunning).map(\.name) == ["lo", "eth0"])
/// ```
public struct SimulatedInterface: Hashable, Sendable {
    /// The name.
    public let name: String
    /// Whether it is administratively up (`IFF_UP`).
    public let isUp: Bool
    /// Whether it can send: it is up, has a carrier and does not wait for an external event (`IFF_RUNNING`).
    public let isRunning: Bool
    /// Its addresses, in the order in which they were added.
    public let addresses: [IPAddress]
}
