// SPDX-License-Identifier: Apache-2.0

/// The interface on which an address is valid: the part after `%` in `fe80::1%eth0`.
///
/// A zone is an interface index or an interface name, exactly as given. It does not say whether the interface exists.
/// An index and the name of the same interface are different values.
///
/// Every zone except index 0 has exactly one text, which reads back as the same zone. Therefore two kinds of names
/// are refused: a name of only digits, which would read as an index (use the index of such an interface), and a name
/// with `%`, which the kernel treats as a template such as `eth%d` and never stores.
///
/// ```swift
/// ZoneIdentifier("eth0")?.name      // "eth0"
/// ZoneIdentifier("3")?.index        // 3
/// ```
///
/// The counterpart of `sin6_scope_id` (RFC 4007, section 11), `ifi_index` and `IFLA_IFNAME`.
public struct ZoneIdentifier: Hashable, Sendable, BitwiseCopyable {
    /// The first eight bytes of a name, the first byte most significant; or an index.
    private let head: UInt64
    /// The other bytes of a name, of which the last one is always zero; or `indexTag`.
    private let tail: UInt64

    private static let indexTag: UInt64 = 1

    /// The most bytes in a name: the kernel's `IFNAMSIZ` without the final NUL.
    public static let nameLimit = 15

    /// Makes a zone from an interface index.
    ///
    /// Index 0 is the kernel's "no interface": an ``IPAddress`` stores it as no zone.
    public init(index: UInt32) {
        head = UInt64(index)
        tail = Self.indexTag
    }

    /// Makes a zone from an interface name; nil if no interface can have the name.
    ///
    /// A name has 1 to 15 bytes of UTF-8, is not `.` or `..`, and contains no `/`, `:`, `%`, white space or NUL. The
    /// kernel counterpart is `dev_valid_name`, which also treats the byte 0xA0 as white space.
    public init?(name: some StringProtocol) {
        self.init(nameBytes: name.utf8)
    }

    /// Reads the zone after `%` in an address: only digits are an index above 0, other text is a name.
    public init?(_ description: some StringProtocol) {
        guard description.utf8.allSatisfy(Self.isDigit) else {
            self.init(nameBytes: description.utf8)
            return
        }
        // An empty text is also not a number.
        guard let index = UInt32(description), index > 0 else { return nil }
        self.init(index: index)
    }

    /// The interface index, or nil if the zone is a name.
    public var index: UInt32? {
        tail == Self.indexTag ? UInt32(truncatingIfNeeded: head) : nil
    }

    /// The interface name, or nil if the zone is an index.
    public var name: String? {
        guard index == nil else { return nil }
        return withUnsafeBytes(of: (head.bigEndian, tail.bigEndian)) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

extension ZoneIdentifier: LosslessStringConvertible {
    /// The name, or the index in decimal.
    public var description: String {
        name ?? index.map { String($0) } ?? ""
    }
}

extension ZoneIdentifier: Comparable {
    /// Orders indices before names, indices by number, names by their bytes.
    public static func < (left: Self, right: Self) -> Bool {
        let leftKey = (left.index == nil ? 1 : 0, left.head, left.tail)
        return leftKey < (right.index == nil ? 1 : 0, right.head, right.tail)
    }
}

extension ZoneIdentifier {
    private init?(nameBytes bytes: some Collection<UInt8>) {
        guard (1...Self.nameLimit).contains(bytes.count), !bytes.allSatisfy(Self.isDigit) else { return nil }
        var words: (head: UInt64, tail: UInt64) = (0, 0)
        for (index, byte) in bytes.enumerated() {
            guard Self.isNameByte(byte) else { return nil }
            let shifted = UInt64(byte) << UInt64(56 - 8 * (index % 8))
            if index < 8 { words.head |= shifted } else { words.tail |= shifted }
        }
        guard words.head != Self.dot, words.head != Self.dotDot else { return nil }
        head = words.head
        tail = words.tail
    }

    private static let dot: UInt64 = 0x2E00_0000_0000_0000
    private static let dotDot: UInt64 = 0x2E2E_0000_0000_0000

    private static func isDigit(_ byte: UInt8) -> Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
    }

    /// Whether a name can contain the byte.
    ///
    /// 0xA0 is white space in the kernel's table (lib/ctype.c).
    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0, 9...13, UInt8(ascii: " "), 0xA0: false
        case UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "%"): false
        default: true
        }
    }
}
