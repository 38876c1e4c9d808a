// SPDX-License-Identifier: Apache-2.0

/// Parses a host as a user writes it, and explains what to write instead when it is invalid.
enum HostText {
    /// The longest name that DNS can hold, in bytes, without a closing dot.
    private static let longestName = 253
    private static let longestLabel = 63

    /// The longest text that is parsed, in bytes: longer than any pasted URL.
    private static let longestText = 4_096

    static func target(_ text: String) throws(ReachabilityError) -> ReachabilityTarget {
        guard text.utf8.count <= longestText else { throw tooLong(text[...]) }
        if let address = IPAddress(text) ?? scopedLegacy(text) { return .address(address) }
        try refuseDecoration(text)
        try refuseAddressLike(text)
        try refuseBadName(text)
        return ReachabilityTarget(kind: .host(text))
    }

    /// Parses numbers and dots as inet_aton() does, with a zone or without.
    private static func scopedLegacy(_ text: String) -> IPAddress? {
        guard let percent = text.firstIndex(of: "%") else { return IPAddress.legacyIPv4(text) }
        guard var address = IPAddress.legacyIPv4(text[..<percent]),
            let zone = ZoneIdentifier(String(text[text.index(after: percent)...]))
        else { return nil }
        address.zone = zone
        return address
    }

    // MARK: Text around a host

    private static func refuseDecoration(_ text: String) throws(ReachabilityError) {
        guard !text.isEmpty else {
            throw invalid("the host is empty: give a name such as example.com, or an address")
        }
        if let range = text.firstRange(of: "://") {
            throw invalid("\(quoted(text)) is a URL: \(advice(host(inAuthority: text[range.upperBound...])))")
        }
        if text.contains("/") {
            throw invalid(
                "\(quoted(text)) has a path or a prefix length: \(advice(host(inAuthority: text[...])))")
        }
        if text.first == "[" || text.contains("@") || hasPort(text[...]) {
            throw invalid(
                "\(quoted(text)) holds more than a host: \(advice(host(inAuthority: text[...])))"
            )
        }
    }

    private static func advice(_ host: Substring) -> String {
        host.isEmpty ? "give the host alone" : "give the host alone, \(cleaned(host))"
    }

    /// Removes user, port, path and brackets.
    private static func host(inAuthority text: Substring) -> Substring {
        var rest = text.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        if let at = rest.lastIndex(of: "@") { rest = rest[rest.index(after: at)...] }
        if rest.first == "[" { return rest.dropFirst().prefix { $0 != "]" } }
        return hasPort(rest) ? rest.prefix { $0 != ":" } : rest
    }

    /// Whether the text ends in a colon and a port; two colons are an attempt at IPv6.
    private static func hasPort(_ text: Substring) -> Bool {
        guard let colon = text.firstIndex(of: ":") else { return false }
        let (host, port) = (text[..<colon], text[text.index(after: colon)...])
        if port.allSatisfy({ $0.isASCII && $0.isNumber }) { return true }
        // A service name, after text that is no group of an IPv6 address.
        return !port.contains(":") && !host.allSatisfy(\.isHexDigit)
    }

    // MARK: Text that looks like an address

    private static func refuseAddressLike(_ text: String) throws(ReachabilityError) {
        if let percent = text.firstIndex(of: "%") { try refuseZone(of: text[..<percent], in: text) }
        if text.contains(":") {
            throw invalid("\(quoted(text)) is no IPv6 address: check its groups, as in 2001:db8::1")
        }
        if let last = text.split(separator: ".").last, last.allSatisfy({ $0.isASCII && $0.isNumber }) {
            throw invalid("\(quoted(text)) is no IPv4 address: give four numbers up to 255, as in 192.0.2.1")
        }
    }

    private static func refuseZone(of host: Substring, in text: String) throws(ReachabilityError) {
        if host.isEmpty {
            throw invalid(
                "\(quoted(text)) has no address before its interface: give both, as in fe80::1%eth0")
        }
        if IPAddress(host) != nil || IPAddress.legacyIPv4(host) != nil {
            throw invalid(
                "\(quoted(text)) names no interface: give a name of 1 to 15 bytes or an index after the %"
            )
        }
        guard !host.contains(":") else { return }
        throw invalid(
            "\(quoted(text)) puts an interface on a name: ask about \(cleaned(host)) "
                + "and give the interface as an option"
        )
    }

    // MARK: Names

    private static func refuseBadName(_ text: String) throws(ReachabilityError) {
        let name = text.hasSuffix(".") ? text.dropLast() : text[...]
        guard name.utf8.count <= longestName else {
            throw tooLong(name)
        }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        for label in labels {
            if label.isEmpty {
                throw invalid("\(quoted(text)) has an empty part: give a name such as example.com")
            }
            if label.utf8.count > longestLabel {
                throw invalid(
                    "a part of \(quoted(text)) has \(label.utf8.count) bytes: it may have \(longestLabel)"
                )
            }
        }
        if let bad = name.unicodeScalars.first(where: { !isAllowed($0) }) {
            throw invalid("\(quoted(text)) has \(named(bad)) in it: give a name such as example.com")
        }
    }

    /// Whether a name can contain the scalar: the resolver encodes everything beyond ASCII.
    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.isASCII else {
            // Some scripts need joiners in names, although they are format characters.
            return !scalar.properties.isWhitespace && (isPrintable(scalar) || isJoiner(scalar))
        }
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "-", "_", ".": return true
        default: return false
        }
    }

    private static func isJoiner(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "\u{200C}" || scalar == "\u{200D}"
    }

    private static func named(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case " ": "a space"
        case "\t", "\n", "\r": "white space"
        case _ where !isPrintable(scalar): "a control character"
        case _ where scalar.properties.isWhitespace: "white space"
        default: "the character \(scalar)"
        }
    }

    /// The text for a message: short, and without characters that change a terminal.
    private static func quoted(_ text: String) -> String {
        "\"" + cleaned(text[...]) + "\""
    }

    private static func cleaned(_ text: Substring) -> String {
        let start = text.unicodeScalars.prefix(80)
        let shown = start.map { isPrintable($0) ? String($0) : "?" }.joined()
        return shown + (start.endIndex < text.endIndex ? "…" : "")
    }

    /// Whether a scalar is safe to print: controls move the cursor, formats change the writing direction.
    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }

    private static func tooLong(_ name: Substring) -> ReachabilityError {
        invalid("the name has \(name.utf8.count) bytes: a host name has at most \(longestName)")
    }

    private static func invalid(_ message: String) -> ReachabilityError {
        ReachabilityError(.invalidHost, operation: "read a host", message: message)
    }
}
