// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability

// The source of a test contains its addresses, so a malformed address is a mistake in the test.

/// An address of a simulated network: an `IPAddress`, or its text.
///
/// A text that is not an address ends the test process with a message.
public protocol SimulatedAddress: Sendable {
    /// The address.
    var simulatedAddress: IPAddress { get }
}

/// A prefix of a simulated network: an `IPPrefix`, or its text.
///
/// A text that is not a prefix, or that has bits after its length, ends the test process with a message.
public protocol SimulatedPrefix: Sendable {
    /// The prefix.
    var simulatedPrefix: IPPrefix { get }
}

extension IPAddress: SimulatedAddress {
    /// The address itself.
    public var simulatedAddress: IPAddress { self }
}

extension IPPrefix: SimulatedPrefix {
    /// The prefix itself.
    public var simulatedPrefix: IPPrefix { self }
}

extension String: SimulatedAddress, SimulatedPrefix {
    /// The address that the text names, such as `"192.0.2.7"`.
    public var simulatedAddress: IPAddress {
        guard let address = IPAddress(self) else {
            preconditionFailure("\"\(self)\" is not an IP address, such as 192.0.2.7 or 2001:db8::7")
        }
        return address
    }

    /// The prefix that the text names, such as `"192.0.2.0/24"`.
    public var simulatedPrefix: IPPrefix {
        guard let prefix = IPPrefix(self) else {
            preconditionFailure("\"\(self)\" is not a prefix, such as 192.0.2.0/24 or 2001:db8::/32")
        }
        let address = IPAddress(String(self.prefix { $0 != "/" }))
        precondition(prefix.address == address, "\"\(self)\" has bits after its length: write \"\(prefix)\"")
        return prefix
    }
}

extension SimulatedPrefix where Self == IPPrefix {
    /// All IPv4 addresses: the destination of a default route.
    public static var allV4: IPPrefix { IPPrefix.allV4 }
    /// All IPv6 addresses: the destination of a default route.
    public static var allV6: IPPrefix { IPPrefix.allV6 }
}
