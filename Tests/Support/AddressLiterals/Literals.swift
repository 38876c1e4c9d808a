// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability

// A test names its addresses in its source, where a malformed one is a mistake of the test.

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
