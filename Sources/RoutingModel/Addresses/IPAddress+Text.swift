// SPDX-License-Identifier: Apache-2.0

extension IPAddress: LosslessStringConvertible {
    /// Reads an address in its strict form, with an optional `%zone` on either family.
    ///
    /// IPv4 is four decimal numbers without leading zeros. IPv6 is any form of RFC 4291, section 2.2: up to
    /// four hexadecimal digits a group in either case, one `::`, and a dotted quad in place of the last two
    /// groups. The zone (RFC 4007, section 11) is an interface index or name. Anything else is nil, text
    /// with white space or a NUL included. Without the zone, the counterpart is `inet_pton`.
    public init?(_ text: some StringProtocol) {
        guard let address = text.withUTF8Bytes({ Self(textBytes: $0) }) else { return nil }
        self = address
    }

    /// Reads the numbers-and-dots forms of IPv4 that old programs take: `127.1`, `0x7f.1`, `2130706433`.
    ///
    /// One to four numbers, each decimal, octal (leading `0`) or hexadecimal (leading `0x`). The last one
    /// fills all the bytes that are left, the others one byte each; a number too large for its place is
    /// refused. The counterpart is `inet_aton`, which also ignores anything after white space: this does not.
    public static func legacyIPv4(_ text: some StringProtocol) -> Self? {
        text.withUTF8Bytes { bytes in
            var reader = AddressReader(bytes)
            return reader.legacyIPv4().map { Self(v4: $0) }
        }
    }

    /// The canonical text: a dotted quad, or the form of RFC 5952, and `%zone` if there is one.
    ///
    /// IPv4-mapped addresses end in a dotted quad (`::ffff:192.0.2.1`). So do IPv4-compatible ones
    /// (`::192.0.2.1`, deprecated by RFC 4291), except those below ::1:0, which stay groups (`::1`).
    /// RFC 5952, section 5, leaves that open; without the zone, the text is that of glibc's `inet_ntop`.
    public var description: String {
        // 15 bytes are stored inline.
        String(unsafeUninitializedCapacity: family == .v4 && zone == nil ? 15 : Self.textCapacity) {
            write(into: $0)
        }
    }

    /// Enough bytes for the text of any address: 39 for IPv6, `%` and a name of 15.
    package static let textCapacity = 56

    /// Writes the text into memory of at least ``textCapacity`` bytes and returns how many it wrote.
    package func write(into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        var writer = TextWriter(buffer)
        switch family {
        case .v4: writer.append(dottedQuad: UInt32(truncatingIfNeeded: low))
        case .v6: writeIPv6(to: &writer)
        }
        if let zone {
            writer.append(UInt8(ascii: "%"))
            zone.write(to: &writer)
        }
        return writer.count
    }
}

// MARK: - Printing

extension IPAddress {
    private func writeIPv6(to writer: inout TextWriter) {
        let zeros = longestZeroRun
        let endsInQuad = isIPv4Mapped || isIPv4Compatible
        var place = 0
        while place < (endsInQuad ? 6 : 8) {
            if place == zeros.lowerBound {
                writer.append(UInt8(ascii: ":"))
                writer.append(UInt8(ascii: ":"))
                place = zeros.upperBound
                continue
            }
            if place > 0 && place != zeros.upperBound { writer.append(UInt8(ascii: ":")) }
            writer.append(hexadecimal: group(place))
            place += 1
        }
        guard endsInQuad else { return }
        if isIPv4Mapped { writer.append(UInt8(ascii: ":")) }
        writer.append(dottedQuad: UInt32(truncatingIfNeeded: low))
    }

    /// Whether this is ::a.b.c.d with a or b not zero: ::1 and ::ffff are printed as groups.
    private var isIPv4Compatible: Bool {
        high == 0 && low >> 32 == 0 && low >> 16 != 0
    }

    /// The groups that `::` stands for: the longest run of zeros, the first of equals, two groups at least.
    private var longestZeroRun: Range<Int> {
        var longest = 8..<8
        var start = 0
        for place in 0..<8 {
            guard group(place) == 0 else {
                start = place + 1
                continue
            }
            let run = start..<(place + 1)
            if run.count > max(longest.count, 1) { longest = run }
        }
        return longest
    }

    private func group(_ place: Int) -> UInt16 {
        let half = place < 4 ? high : low
        return UInt16(truncatingIfNeeded: half >> UInt64(48 - 16 * (place % 4)))
    }
}

/// Text as it is written, byte after byte, into memory of the caller; what does not fit is left out.
struct TextWriter {
    private let buffer: UnsafeMutableBufferPointer<UInt8>
    private(set) var count = 0

    init(_ buffer: UnsafeMutableBufferPointer<UInt8>) {
        self.buffer = buffer
    }

    mutating func append(_ byte: UInt8) {
        guard count < buffer.count else { return }
        buffer[count] = byte
        count += 1
    }

    mutating func append(decimal number: UInt32) {
        var unit: UInt32 = 1
        while number / unit >= 10 { unit *= 10 }
        while unit > 0 {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / unit % 10))
            unit /= 10
        }
    }

    mutating func append(hexadecimal number: UInt16) {
        var shift = number == 0 ? 0 : (15 - number.leadingZeroBitCount) & ~3
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: number >> UInt16(shift) & 0xF)
            append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            shift -= 4
        }
    }

    mutating func append(dottedQuad number: UInt32) {
        for place: UInt32 in 0..<4 {
            if place > 0 { append(UInt8(ascii: ".")) }
            append(decimal: number >> (24 - 8 * place) & 0xFF)
        }
    }
}

// MARK: - Parsing

extension StringProtocol {
    /// Calls the body with the UTF-8 of the text, in place where the text is contiguous.
    func withUTF8Bytes<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
        var copy = String(self)
        return copy.withUTF8(body)
    }
}

extension IPAddress {
    /// Reads the strict form, with its zone, from UTF-8.
    init?(textBytes bytes: UnsafeBufferPointer<UInt8>) {
        let percent = bytes.firstIndex(of: UInt8(ascii: "%"))
        var address: Self
        var reader = AddressReader(UnsafeBufferPointer(rebasing: bytes[..<(percent ?? bytes.endIndex)]))
        if let number = reader.wholeIPv4() {
            address = Self(v4: number)
        } else if let (high, low) = reader.wholeIPv6() {
            address = Self(v6High: high, low: low)
        } else {
            return nil
        }
        if let percent {
            let rest = UnsafeBufferPointer(rebasing: bytes[(percent + 1)...])
            guard let zone = ZoneIdentifier(textBytes: rest) else { return nil }
            address.zone = zone
        }
        self = address
    }
}

/// A place in the text of an address, and the grammar from there on.
///
/// Each rule returns nil if the text does not follow it. No rule looks past the end.
struct AddressReader {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    /// A strict dotted quad that is the whole text.
    mutating func wholeIPv4() -> UInt32? {
        position = 0
        guard let number = dottedQuad(), isAtEnd else { return nil }
        return number
    }

    /// A decimal number up to 255 without leading zeros that is the whole text.
    mutating func wholeOctet() -> UInt32? {
        guard let number = octet(), isAtEnd else { return nil }
        return number
    }

    /// An IPv6 address that is the whole text, as its two halves.
    mutating func wholeIPv6() -> (high: UInt64, low: UInt64)? {
        position = 0
        var groups = Groups()
        if take(":", ":") { groups.markGap() }
        while !isAtEnd {
            guard groupOrQuad(into: &groups) else { return nil }
            guard !isAtEnd else { break }
            guard take(":") else { return nil }
            if take(":") {
                guard groups.markGap() else { return nil }
            } else if isAtEnd {
                return nil
            }
        }
        return groups.whole
    }

    /// One to four numbers with dots, as `inet_aton` takes them, that are the whole text.
    mutating func legacyIPv4() -> UInt32? {
        var address: UInt32 = 0
        for place: UInt32 in 0..<4 {
            guard let number = legacyNumber() else { return nil }
            if isAtEnd {
                return number <= UInt32.max >> (8 * place) ? address | number : nil
            }
            guard number <= 0xFF, take(".") else { return nil }
            address |= number << (24 - 8 * place)
        }
        return nil
    }
}

extension AddressReader {
    private mutating func dottedQuad() -> UInt32? {
        var number: UInt32 = 0
        for place in 0..<4 {
            if place > 0 {
                guard take(".") else { return nil }
            }
            guard let octet = octet() else { return nil }
            number = number << 8 | octet
        }
        return number
    }

    /// A decimal number up to 255 without leading zeros.
    private mutating func octet() -> UInt32? {
        let start = position
        var number: UInt32 = 0
        while let digit = digit(below: 10) {
            guard position == start || number > 0 else { return nil }
            number = number * 10 + digit
            guard number <= 0xFF else { return nil }
            position += 1
        }
        return position > start ? number : nil
    }

    /// One group, or the dotted quad that stands for the last two.
    private mutating func groupOrQuad(into groups: inout Groups) -> Bool {
        let start = position
        guard let group = group() else { return false }
        guard next == UInt8(ascii: ".") else { return groups.append(group) }
        position = start
        guard let quad = dottedQuad(), isAtEnd else { return false }
        return groups.append(UInt16(quad >> 16)) && groups.append(UInt16(quad & 0xFFFF))
    }

    /// One to four hexadecimal digits; a fifth is left for the caller to stumble over.
    private mutating func group() -> UInt16? {
        let start = position
        var number: UInt16 = 0
        while position < start + 4, let digit = digit(below: 16) {
            number = number << 4 | UInt16(digit)
            position += 1
        }
        return position > start ? number : nil
    }

    /// A number in the base that its prefix names, as `strtoul` reads it, up to 32 bits.
    private mutating func legacyNumber() -> UInt32? {
        let base: UInt64 = take("0", "x") || take("0", "X") ? 16 : next == UInt8(ascii: "0") ? 8 : 10
        let start = position
        var number: UInt64 = 0
        while let digit = digit(below: UInt32(base)) {
            number = number * base + UInt64(digit)
            guard number <= UInt32.max else { return nil }
            position += 1
        }
        return position > start ? UInt32(number) : nil
    }
}

extension AddressReader {
    private var isAtEnd: Bool { position >= bytes.count }

    private var next: UInt8? { isAtEnd ? nil : bytes[position] }

    /// The value of the next byte if it is a digit of the base, without moving on.
    private func digit(below base: UInt32) -> UInt32? {
        guard let next else { return nil }
        let digit: UInt8
        switch next {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = next - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = next - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = next - UInt8(ascii: "A") + 10
        default: return nil
        }
        return digit < base ? UInt32(digit) : nil
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    /// Moves past both characters, or past neither.
    private mutating func take(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Bool {
        let start = position
        guard take(first), take(second) else {
            position = start
            return false
        }
        return true
    }
}

/// The groups of an IPv6 address as they are read, and where `::` left some out.
private struct Groups {
    private var bits: UInt128 = 0
    private var count = 0
    private var gap: Int?

    /// Adds a group, unless eight are there.
    mutating func append(_ group: UInt16) -> Bool {
        guard count < 8 else { return false }
        bits = bits << 16 | UInt128(group)
        count += 1
        return true
    }

    /// Notes that `::` stands here, unless it stood elsewhere before.
    @discardableResult
    mutating func markGap() -> Bool {
        guard gap == nil else { return false }
        gap = count
        return true
    }

    /// The address, if there are eight groups, or fewer and a gap.
    var whole: (high: UInt64, low: UInt64)? {
        guard let whole = gap.map(filled(at:)) ?? (count == 8 ? bits : nil) else { return nil }
        return (UInt64(truncatingIfNeeded: whole >> 64), UInt64(truncatingIfNeeded: whole))
    }

    /// The bits with zeros for the groups left out, of which there is at least one.
    private func filled(at gap: Int) -> UInt128? {
        guard count < 8 else { return nil }
        let after: UInt128 = bits & (1 << UInt128(16 * (count - gap)) - 1)
        return (bits ^ after) << UInt128(16 * (8 - count)) | after
    }
}
