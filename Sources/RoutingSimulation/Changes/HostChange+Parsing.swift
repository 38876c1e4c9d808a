// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

extension HostChange {
    /// Parses the words of ip(8), with its abbreviations of objects and commands; `ip` and its options may stand before
    /// them.
    ///
    /// - Parameter text: The words, such as `link set eth0 down` or `-6 route del default`.
    /// - Throws: A refusal without a number: what is not known in the text, and what is.
    package init(_ text: String) throws(KernelRefusal) {
        var words = ChangeWords(text)
        _ = words.skip("ip")
        try words.takeOptions()
        let object = try words.take(
            "a change", among: ["address", "route", "rule", "link", "carrier"], isAbbreviated: true)
        let actions =
            switch object {
            case "address": [try words.addressAction()]
            case "route": try words.routeActions()
            case "rule": [try words.ruleAction()]
            case "link": try words.linkActions()
            default: [try words.carrier(try words.take("an interface"))]
            }
        if let word = words.next { throw ChangeWords.unknown(word, "nothing more") }
        self.init(text: text, actions: actions)
    }

    /// The changes of a file as `ip -batch` reads it: one a line, with comments, and backslashes before the ends of
    /// lines that go on.
    package static func batch(_ text: String) -> [String] {
        var lines: [String] = []
        var begun = ""
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let line = line.prefix { $0 != "#" }
            begun += line.hasSuffix("\\") ? line.dropLast() : line
            guard !line.hasSuffix("\\") else { continue }
            lines.append(begun)
            begun = ""
        }
        lines.append(begun)
        return lines.filter { $0.contains { !$0.isWhitespace } }
    }
}

/// The words of a change that are not read yet.
struct ChangeWords {
    var words: ArraySlice<Substring>
    /// The family that -4 or -6 gave; `nil` for any.
    var family: IPAddress.Family?

    init(_ text: String) {
        words = text.split(whereSeparator: \.isWhitespace)[...]
    }

    var next: String? { words.first.map(String.init) }

    /// Takes the next word; `nil` at the end.
    mutating func take() -> String? {
        words.popFirst().map(String.init)
    }

    // MARK: Words

    /// Takes the options of ip(8) that choose a family, and those that change nothing but its output.
    mutating func takeOptions() throws(KernelRefusal) {
        while let word = next, word.hasPrefix("-") {
            words.removeFirst()
            switch word {
            case "-4": family = .v4
            case "-6": family = .v6
            case "-f", "-family", "--family":
                let names: [String: IPAddress.Family] = ["inet": .v4, "inet6": .v6]
                family = names[try take("the family", among: names.keys.sorted())]
            case "-d", "-details", "-s", "-stats", "-statistics", "-o", "-oneline", "-force": break
            default: throw Self.unknown(word, "-4, -6 or -family inet6 before the change")
            }
        }
    }

    /// The next word, which must be there.
    mutating func take(_ what: String) throws(KernelRefusal) -> String {
        guard let word = take() else { throw .unknown("\(what) is missing") }
        return word
    }

    /// The next word as one of several; the first that it abbreviates.
    mutating func take(
        _ what: String,
        among known: [String],
        isAbbreviated: Bool = false
    ) throws(KernelRefusal) -> String {
        let list = known.joined(separator: ", ")
        guard let word = take() else {
            throw .unknown("\(what) is missing: give one of \(list)")
        }
        guard let found = known.first(where: { isAbbreviated ? $0.hasPrefix(word) : $0 == word }) else {
            throw .unknown("\"\(word)\" is not known here: give one of \(list)")
        }
        return found
    }

    /// Takes the next word if it is this one.
    mutating func skip(_ word: String) -> Bool {
        guard next == word else { return false }
        words.removeFirst()
        return true
    }

    /// A number, or a name that stands for one.
    mutating func takeNumber<Number: FixedWidthInteger>(
        _ what: String,
        names: [String: Number] = [:]
    ) throws(KernelRefusal) -> Number {
        if let number = next.flatMap({ names[$0] }) {
            words.removeFirst()
            return number
        }
        let text = try take("the number after \(what)")
        guard let number = Number(changeText: text[...]) else {
            throw .unknown("\"\(text)\" after \(what) is not a number from \(Number.min) to \(Number.max)")
        }
        return number
    }

    mutating func takeAddress(_ what: String) throws(KernelRefusal) -> IPAddress {
        let text = try take("the address after \(what)")
        guard let address = IPAddress(text), address.zone == nil else {
            throw .unknown("\"\(text)\" after \(what) is not an address")
        }
        return address
    }

    /// A prefix; `default`, `all` and `any` are those of the family.
    func prefix(_ text: String) throws(KernelRefusal) -> IPPrefix {
        if ["default", "all", "any"].contains(text) { return family == .v6 ? .allV6 : .allV4 }
        guard let prefix = IPPrefix(text), family == nil || prefix.family == family else {
            throw .unknown("\"\(text)\" is not a prefix such as 198.51.100.0/24 or default")
        }
        return prefix
    }

    /// A table; 0 for unspec.
    mutating func takeTable() throws(KernelRefusal) -> UInt32 {
        if skip("unspec") { return 0 }
        return try takeNumber("table", names: Route.namedTables)
    }

    /// The origin of a route or a rule.
    mutating func takeOrigin(_ word: String) throws(KernelRefusal) -> UInt8 {
        try takeNumber(word, names: Route.origins)
    }

    /// A change is tried at one moment, at which no lifetime is over.
    static func lifetime(_ word: String) -> KernelRefusal {
        .unknown(
            "\(word) is not predicted, as the answers are those of one moment: leave it out, and try del for the end"
        )
    }

    /// The text of a word that is not known.
    static func unknown(_ word: String, _ known: String) -> KernelRefusal {
        .unknown("\"\(word)\" is not known here: give \(known)")
    }
}

extension FixedWidthInteger {
    /// A number in decimal, or in hexadecimal with 0x.
    init?(changeText text: Substring) {
        let isHexadecimal = text.hasPrefix("0x")
        self.init(isHexadecimal ? text.dropFirst(2) : text, radix: isHexadecimal ? 16 : 10)
    }
}
