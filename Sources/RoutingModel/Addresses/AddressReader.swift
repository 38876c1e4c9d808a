// SPDX-License-Identifier: Apache-2.0

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
