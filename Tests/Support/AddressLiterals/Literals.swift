// SPDX-License-Identifier: Apache-2.0

public import RoutingModel

// The sources of this package's tests contain their addresses, so a malformed address is a mistake in the test. The
// test kit has no such literals, so that in users' tests `IPAddress("nonsense")` stays `nil`.

extension IPAddress: ExpressibleByStringLiteral {
    /// Creates an address from a literal, such as `"192.0.2.7"`.
    ///
    /// A literal that is not an address ends the test process with a message. Other texts still go to the failable
    /// initialiser.
    public init(stringLiteral value: String) {
        guard let address = IPAddress(value) else {
            preconditionFailure("\"\(value)\" is not an IP address, such as 192.0.2.7 or 2001:db8::7")
        }
        self = address
    }
}

extension IPPrefix: ExpressibleByStringLiteral {
    /// Creates a prefix from a literal, such as `"192.0.2.0/24"`.
    ///
    /// A literal that is not a prefix, or that has bits after its length, ends the test process with a message. Other
    /// texts still go to the failable initialiser.
    public init(stringLiteral value: String) {
        guard let prefix = IPPrefix(value) else {
            preconditionFailure("\"\(value)\" is not a prefix, such as 192.0.2.0/24 or 2001:db8::/32")
        }
        let address = IPAddress(String(value.prefix { $0 != "/" }))
        precondition(prefix.address == address, "\"\(value)\" has bits after its length: write \"\(prefix)\"")
        self = prefix
    }
}
