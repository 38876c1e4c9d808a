// SPDX-License-Identifier: Apache-2.0

public import RoutingModel

// The tests of this package name their addresses in their source, where a malformed one is a mistake of the test. The
// test kit does not do this to the tests of others, where `IPAddress("nonsense")` stays `nil`.

extension IPAddress: ExpressibleByStringLiteral {
    /// Creates an address from a literal, such as `"192.0.2.7"`.
    ///
    /// A literal that is not an address ends the test process with a message. The optional initialiser still reads
    /// texts that are not literals.
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
    /// A literal that is not a prefix, or that has bits after its length, ends the test process with a message. The
    /// optional initialiser still reads texts that are not literals.
    public init(stringLiteral value: String) {
        guard let prefix = IPPrefix(value) else {
            preconditionFailure("\"\(value)\" is not a prefix, such as 192.0.2.0/24 or 2001:db8::/32")
        }
        let address = IPAddress(String(value.prefix { $0 != "/" }))
        precondition(prefix.address == address, "\"\(value)\" has bits after its length: write \"\(prefix)\"")
        self = prefix
    }
}
