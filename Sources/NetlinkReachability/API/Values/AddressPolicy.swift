// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The labels, precedences and scopes that addresses are ordered by: the policy table of RFC 6724, section 2.1.
///
/// ```swift
/// let policy = AddressPolicy(gaiConf: "precedence ::ffff:0:0/96 100")    // IPv4 first
/// let ordered = try await NetworkSource.kernel.value(of: .order(of: answers, policy: policy))
/// ```
///
/// The counterpart is `/etc/gai.conf` of the C library: gai.conf(5).
public struct AddressPolicy: Hashable, Sendable {
    /// A line of the table: the value of all addresses with a prefix.
    struct Entry: Hashable, Sendable {
        /// The bits of the prefix.
        ///
        /// IPv4 prefixes are stored as IPv4-mapped ones.
        let bits: UInt128
        /// The length of the prefix, in bits.
        let length: Int
        /// The label, precedence or scope.
        let value: Int
        private let mask: UInt128

        init(bits: UInt128, length: Int, value: Int) {
            (self.bits, self.length, self.value) = (bits, length, value)
            mask = length == 0 ? 0 : UInt128.max << UInt128(128 - length)
        }

        func matches(_ address: UInt128) -> Bool {
            (bits ^ address) & mask == 0
        }
    }

    /// The labels, sorted by descending prefix length.
    ///
    /// The last entry matches every address. The other tables are alike.
    var labels: [Entry]
    /// The precedences.
    var precedences: [Entry]
    /// The scopes of IPv4 addresses.
    var scopes: [Entry]
    /// The lines of gai.conf that have no effect, each with its line number and the reason; empty if there are none.
    public internal(set) var notes: [String] = []
    /// Whether the file has the line `reload yes`.
    var isReloaded = false

    /// The policy that the GNU C library has without a file.
    ///
    /// It is the policy of RFC 3484, with additional labels for unique local, site-local and Teredo addresses.
    public static let standard = AddressPolicy(
        labels: [
            ("::1", 128, 0), ("::", 96, 3), ("::ffff:0:0", 96, 4), ("2001::", 32, 7), ("2002::", 16, 2),
            ("fec0::", 10, 5), ("fc00::", 7, 6), ("::", 0, 1),
        ],
        precedences: [
            ("::1", 128, 50), ("::", 96, 20), ("::ffff:0:0", 96, 10), ("2002::", 16, 30), ("::", 0, 40),
        ]
    )

    /// The policy of RFC 6724, section 2.1: unique local and Teredo addresses come after IPv4.
    public static let rfc6724 = AddressPolicy(
        labels: [
            ("::1", 128, 0), ("::", 96, 3), ("::ffff:0:0", 96, 4), ("2001::", 32, 5), ("2002::", 16, 2),
            ("3ffe::", 16, 12), ("fec0::", 10, 11), ("fc00::", 7, 13), ("::", 0, 1),
        ],
        precedences: [
            ("::1", 128, 50), ("::", 96, 1), ("::ffff:0:0", 96, 35), ("2001::", 32, 5), ("2002::", 16, 30),
            ("3ffe::", 16, 1), ("fec0::", 10, 1), ("fc00::", 7, 3), ("::", 0, 40),
        ]
    )

    /// A line of a table: an IPv6 prefix with its length, and the value.
    private typealias Row = (prefix: String, length: Int, value: Int)

    private init(labels: [Row], precedences: [Row]) {
        self.labels = Self.table(labels)
        self.precedences = Self.table(precedences)
        scopes = Self.table([("::ffff:169.254.0.0", 112, 2), ("::ffff:127.0.0.0", 104, 2), ("::", 0, 14)])
    }

    private static func table(_ rows: [Row]) -> [Entry] {
        rows.map { Entry(bits: IPAddress($0.prefix)?.bits ?? 0, length: $0.length, value: $0.value) }
    }
}

// MARK: - Values of addresses

extension AddressPolicy {
    /// The label of an address.
    ///
    /// Rule 5 prefers a destination with the label of its source.
    package func label(of address: IPAddress) -> Int { Self.value(of: address, labels) }

    /// The precedence of an address.
    ///
    /// Rule 6 prefers the higher precedence.
    package func precedence(of address: IPAddress) -> Int { Self.value(of: address, precedences) }

    /// The scope of an address: RFC 6724, section 3.1; for IPv4, section 3.2.
    package func scope(of address: IPAddress) -> Int {
        guard address.family == .v6 else { return Self.value(of: address, scopes) }
        return address.isUnspecified ? 14 : address.sourceScope
    }

    private static func value(of address: IPAddress, _ table: [Entry]) -> Int {
        let bits = address.family == .v4 ? 0xFFFF << 32 | address.bits : address.bits
        for entry in table where entry.matches(bits) { return entry.value }
        return 0
    }
}
