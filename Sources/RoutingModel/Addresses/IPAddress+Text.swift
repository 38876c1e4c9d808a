// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension IPAddress: LosslessStringConvertible {
    /// Reads an address in its strict form, with an optional `%zone` on either family.
    ///
    /// IPv4 is four decimal numbers without leading zeros. IPv6 is any form of RFC 4291, section 2.2: up to
    /// four hexadecimal digits a group in either case, one `::`, and a dotted quad in place of the last two
    /// groups. The zone (RFC 4007, section 11) is an interface index or name. Anything else is nil, text
    /// with white space or a NUL included. Without the zone, this is `inet_pton`.
    public init?(_ text: some StringProtocol) {
        let percent = text.utf8.firstIndex(of: UInt8(ascii: "%"))
        guard let address = Self(withoutZone: String(text[..<(percent ?? text.endIndex)])) else { return nil }
        self = address
        guard let percent else { return }
        guard let zone = ZoneIdentifier(text[text.utf8.index(after: percent)...]) else { return nil }
        self.zone = zone
    }

    private init?(withoutZone text: String) {
        // For C, the text ends at a NUL.
        guard !text.utf8.contains(0) else { return nil }
        let family: Family = text.utf8.contains(UInt8(ascii: ":")) ? .v6 : .v4
        var bytes = in6_addr()
        guard inet_pton(Int32(family.rawValue), text, &bytes) == 1 else { return nil }
        self.init(family: family, networkBytes: &bytes)
    }

    /// Reads the numbers-and-dots forms of IPv4 that old programs take: `127.1`, `0x7f.1`, `2130706433`.
    ///
    /// One to four numbers, each decimal, octal (leading `0`) or hexadecimal (leading `0x`). The last one
    /// fills all the bytes that are left, the others one byte each; a number too large for its place is
    /// refused. This is `inet_aton`, except that it refuses white space and what follows it.
    public static func legacyIPv4(_ text: some StringProtocol) -> Self? {
        var number = in_addr()
        guard !text.utf8.contains(where: { $0 <= UInt8(ascii: " ") }), inet_aton(String(text), &number) != 0
        else { return nil }
        return Self(v4: UInt32(bigEndian: number.s_addr))
    }

    /// The canonical text: a dotted quad, or the form of RFC 5952, and `%zone` if there is one.
    ///
    /// IPv4-mapped addresses end in a dotted quad (`::ffff:192.0.2.1`). So do IPv4-compatible ones
    /// (`::192.0.2.1`, deprecated by RFC 4291), except those below ::1:0, which stay groups (`::1`).
    /// RFC 5952, section 5, leaves that open; without the zone, the text is that of glibc's `inet_ntop`.
    public var description: String {
        let address = family == .v4 ? dottedQuad : groups
        return zone.map { "\(address)%\($0)" } ?? address
    }

    /// The text of an IPv4 address; `inet_ntop` writes it with `sprintf`, which takes six times as long.
    private var dottedQuad: String {
        // 255.255.255.255 has 15 characters, and a string of 15 needs no allocation.
        String(unsafeUninitializedCapacity: 15) { text in
            var count = 0
            func append(_ character: UInt8) {
                text[count] = character
                count += 1
            }
            for shift in stride(from: 24, through: 0, by: -8) {
                let octet = UInt8(truncatingIfNeeded: low >> shift)
                if octet >= 100 { append(UInt8(ascii: "0") + octet / 100) }
                if octet >= 10 { append(UInt8(ascii: "0") + octet / 10 % 10) }
                append(UInt8(ascii: "0") + octet % 10)
                if shift > 0 { append(UInt8(ascii: ".")) }
            }
            return count
        }
    }

    /// The text of an IPv6 address.
    private var groups: String {
        let capacity = Int(INET6_ADDRSTRLEN)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { text in
            withNetworkBytes { bytes in
                let first = text.baseAddress.unsafelyUnwrapped
                inet_ntop(AF_INET6, bytes.baseAddress, first, socklen_t(capacity))
                return String(cString: first)
            }
        }
    }
}
