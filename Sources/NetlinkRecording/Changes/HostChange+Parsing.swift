// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

extension HostChange {
    /// Parses the words of ip(8), or those of sysctl(8) behind `sysctl`.
    ///
    /// Abbreviations of objects and commands are accepted, and `ip` and its options before them.
    ///
    /// - Parameter text: The words, such as `link set eth0 down` or `-6 route del default`.
    /// - Throws: A refusal without an errno. It names the unknown word and the known ones.
    package init(_ text: String) throws(KernelRefusal) {
        var words = try ChangeWords(text)
        _ = words.skip("ip")
        try words.readOptions()
        let object = try words.read(
            "a change", among: ["address", "route", "rule", "link", "carrier", "sysctl"], isAbbreviated: true)
        let actions =
            switch object {
            case "address": [try words.addressAction()]
            case "route": try words.routeActions()
            case "rule": [try words.ruleAction()]
            case "link": try words.linkActions()
            case "sysctl": try words.settingActions()
            default: [try words.carrier(try words.read("an interface"))]
            }
        if let word = words.next { throw ChangeWords.unknown(word, "nothing more") }
        self.init(text: text, actions: actions)
    }
}

/// The unread words of a change.
struct ChangeWords {
    var words: ArraySlice<String>
    /// The family of the options -4 or -6; `nil` for any.
    var family: IPAddress.Family?

    /// Splits a line as `ip -batch` does: a word that begins with a quote ends with the same quote (`makeargs`).
    init(_ text: String) throws(KernelRefusal) {
        var words: [String] = []
        var rest = text.utf8[...]
        while let start = rest.firstIndex(where: { !Self.isSpace($0) }) {
            let first = rest[start]
            let isQuoted = first == UInt8(ascii: "'") || first == UInt8(ascii: "\"")
            let word = isQuoted ? rest[start...].dropFirst() : rest[start...]
            let end = word.firstIndex { isQuoted ? $0 == first : Self.isSpace($0) }
            try require(end != nil || !isQuoted, "the quote before \"\(word.prefix(20))\" has no end")
            try require(words.count < Self.limit, "ip -batch takes \(Self.limit) words a line")
            words.append(String(decoding: word[..<(end ?? word.endIndex)], as: UTF8.self))
            rest = end.map { word[$0...].dropFirst() } ?? word.suffix(0)
        }
        self.words = words[...]
    }

    /// The most words that ip(8) accepts: its list has one more element, which ends the list.
    private static let limit = 511

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
            || byte == UInt8(ascii: "\n")
    }

    var next: String? { words.first }

    /// Reads the next word; `nil` at the end.
    mutating func read() -> String? { words.popFirst() }

    // MARK: Words

    /// Reads the options of ip(8) that select a family, and options that only affect its output.
    mutating func readOptions() throws(KernelRefusal) {
        while let word = next, word.hasPrefix("-") {
            words.removeFirst()
            switch word {
            case "-4": family = .v4
            case "-6": family = .v6
            case "-f", "-family", "--family":
                let names: [String: IPAddress.Family] = ["inet": .v4, "inet6": .v6]
                family = names[try read("the family", among: names.keys.sorted())]
            case "-d", "-details", "-s", "-stats", "-statistics", "-o", "-oneline", "-force": break
            default: throw Self.unknown(word, "-4, -6 or -family inet6 before the change")
            }
        }
    }

    /// Reads the next word, which must exist.
    mutating func read(_ what: String) throws(KernelRefusal) -> String {
        guard let word = read() else { throw .unknown("\(what) is missing") }
        return word
    }

    /// Reads the next word as one of several words, or as an abbreviation of the first match.
    mutating func read(
        _ what: String,
        among known: [String],
        isAbbreviated: Bool = false
    ) throws(KernelRefusal) -> String {
        let list = known.joined(separator: ", ")
        guard let word = read() else {
            throw .unknown("\(what) is missing: give one of \(list)")
        }
        guard let found = known.first(where: { isAbbreviated ? $0.hasPrefix(word) : $0 == word }) else {
            throw .unknown("\"\(word)\" is not known here: give one of \(list)")
        }
        return found
    }

    /// Skips the next word if it is this one.
    ///
    /// Returns whether it was.
    mutating func skip(_ word: String) -> Bool {
        guard next == word else { return false }
        words.removeFirst()
        return true
    }

    /// Reads a number, or a name that stands for a number.
    mutating func readNumber<Number: FixedWidthInteger>(
        _ what: String,
        names: [String: Number] = [:]
    ) throws(KernelRefusal) -> Number {
        if let number = next.flatMap({ names[$0] }) {
            words.removeFirst()
            return number
        }
        let text = try read("the number after \(what)")
        guard let number = Number(changeText: text[...]) else {
            throw .unknown("\"\(text)\" after \(what) is not a number from \(Number.min) to \(Number.max)")
        }
        return number
    }

    mutating func readAddress(
        _ what: String,
        _ family: IPAddress.Family? = nil
    ) throws(KernelRefusal) -> IPAddress {
        let text = try read("the address after \(what)")
        guard let address = IPAddress(changeText: text[...], family) else {
            throw .unknown(
                "\"\(text)\" after \(what) is not an \(family.map { "\($0) " } ?? "")address")
        }
        return address
    }

    /// An address and its prefix length; `nil` for `default`, `all` and `any`, which have no family.
    func prefix(
        _ text: String,
        _ family: IPAddress.Family?
    ) throws(KernelRefusal) -> (address: IPAddress, length: Int?)? {
        if ["default", "all", "any"].contains(text) { return nil }
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(changeText: parts[0], family) else {
            throw .unknown("\"\(text)\" is not a prefix such as 198.51.100.0/24 or default")
        }
        guard parts.count == 2 else { return (address, nil) }
        // The length is a number or an IPv4 netmask.
        let length =
            UInt32(changeText: parts[1]).map(Int.init) ?? IPAddress(changeText: parts[1], .v4)?.maskLength
        guard let length, length <= address.family.bitWidth else {
            throw .unknown(
                "\"\(text)\" has no valid length of a prefix: give one from 0 to \(address.family.bitWidth)")
        }
        return (address, length)
    }

    /// A prefix without host bits; `nil` for `default`, `all` and `any`.
    func wholePrefix(_ text: String) throws(KernelRefusal) -> IPPrefix? {
        guard let (address, length) = try prefix(text, family) else { return nil }
        guard let whole = IPPrefix(address, length: length ?? address.family.bitWidth),
            whole.address == address
        else { throw .unknown("\"\(text)\" has bits after its prefix") }
        return whole
    }

    /// Reads a type of service, in hexadecimal with or without 0x.
    mutating func readTypeOfService(_ what: String) throws(KernelRefusal) -> UInt8 {
        let text = try read("the number after \(what)")
        let digits = text.hasPrefix("0x") ? text.dropFirst(2) : text[...]
        guard let number = UInt8(digits, radix: 16) else {
            throw .unknown("\"\(text)\" after \(what) is not a number from 0x0 to 0xff")
        }
        return number
    }

    /// Reads a table; 0 for unspec.
    mutating func readTable() throws(KernelRefusal) -> UInt32 {
        if skip("unspec") { return 0 }
        return try readNumber("table", names: Route.namedTables)
    }

    /// Reads the origin of a route or a rule.
    mutating func readOrigin(_ word: String) throws(KernelRefusal) -> UInt8 {
        try readNumber(word, names: Route.origins)
    }

    /// The refusal of a lifetime: a change is evaluated at one instant, at which no lifetime ends.
    static func lifetime(_ word: String) -> KernelRefusal {
        .unknown(
            "\(word) is not predicted, as the answers are those of one moment: leave it out, and try del for the end"
        )
    }

    /// The refusal of an unknown word.
    static func unknown(_ word: String, _ known: String) -> KernelRefusal {
        .unknown("\"\(word)\" is not known here: give \(known)")
    }
}

extension FixedWidthInteger {
    /// Parses a number as strtoul(3) does: hexadecimal after 0x, octal after 0, otherwise decimal.
    init?(changeText text: Substring) {
        let digits = text.hasPrefix("+") ? text.dropFirst() : text
        guard digits.first?.isWholeNumber == true else { return nil }
        if digits.hasPrefix("0x") || digits.hasPrefix("0X") {
            self.init(digits.dropFirst(2), radix: 16)
        } else {
            self.init(digits, radix: digits.hasPrefix("0") ? 8 : 10)
        }
    }
}

extension IPAddress {
    /// Parses an address as ip(8) does: omitted parts of an IPv4 address are 0.
    init?(changeText text: Substring, _ family: Family?) {
        if text.contains(":") {
            guard family != .v4, let address = IPAddress(text), address.zone == nil else { return nil }
            self = address
            return
        }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { UInt8(changeText: $0) }
        guard family != .v6, parts.count <= 4, !parts.contains(nil) else { return nil }
        let bytes = parts.compactMap(\.self) + [0, 0, 0]
        self.init(bytes[0], bytes[1], bytes[2], bytes[3])
    }

    /// The prefix length if this IPv4 address is a netmask; `nil` otherwise.
    fileprivate var maskLength: Int? {
        let host = ~UInt32(truncatingIfNeeded: low)
        return host & (host &+ 1) == 0 ? host.leadingZeroBitCount : nil
    }
}
