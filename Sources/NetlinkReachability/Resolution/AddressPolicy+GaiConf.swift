// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import SystemSupport

extension AddressPolicy {
    /// Reads the text of a gai.conf file as the GNU C library reads it.
    ///
    /// - The lines `label PREFIX VALUE`, `precedence PREFIX VALUE` and `scopev4 PREFIX VALUE` each replace the
    ///   whole standard table of their kind. The longest matching prefix applies; of equally long ones, the first.
    /// - If no line has the prefix `::/0`, an entry is added for it with the label 1, the precedence 40 or the
    ///   scope 14.
    /// - A missing length means the whole address, and a missing value means 0.
    /// - A line that cannot be parsed has no effect. ``notes`` says why.
    ///
    /// - Parameter text: The content of the file.
    public init(gaiConf text: String) {
        self = .standard
        var tables: [Keyword: [Entry]] = [:]
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            do {
                try read(line, &tables)
            } catch {
                notes.append("line \(index + 1): \(error.text)")
            }
        }
        if let entries = tables[.label] { labels = Self.table(entries, default: 1) }
        if let entries = tables[.precedence] { precedences = Self.table(entries, default: 40) }
        if let entries = tables[.scopev4] { scopes = Self.table(entries, default: 14) }
    }

    private enum Keyword: String {
        case label, precedence, scopev4, reload
    }

    /// Why a line has no effect.
    private struct Malformed: Error {
        let text: String
    }

    /// Parses a line up to a comment or a zero byte.
    private mutating func read(
        _ line: Substring.UTF8View,
        _ tables: inout [Keyword: [Entry]]
    ) throws(Malformed) {
        let words = line.prefix { $0 != UInt8(ascii: "#") && $0 != 0 }.split(whereSeparator: \.isSpace)
            .map { String(Substring($0)) }
        guard let first = words.first else { return }
        guard let keyword = Keyword(rawValue: first) else {
            throw Malformed(text: "\"\(first)\" is none of label, precedence, scopev4 and reload")
        }
        let (name, value) = (words.count > 1 ? words[1] : "", words.count > 2 ? words[2] : "")
        if keyword == .reload {
            isReloaded = name == "yes"
        } else {
            tables[keyword, default: []].append(try Self.entry(name, value, isIPv4: keyword == .scopev4))
        }
    }

    private static func entry(_ prefix: String, _ value: String, isIPv4: Bool) throws(Malformed) -> Entry {
        let parts = prefix.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(
            String.init)
        let (bits, offset) = try bits(parts.first ?? "", isIPv4: isIPv4)
        let least = isIPv4 ? 96 : 0
        guard let given = parts.count > 1 ? number(parts[1]) : UInt(128 - offset),
            given <= 128, least...128 ~= Int(given) + offset
        else {
            throw Malformed(text: "\"\(prefix)\" has no length from \(least - offset) to \(128 - offset)")
        }
        guard let value = number(value), value <= UInt(Int32.max) else {
            throw Malformed(text: "\"\(value)\" is not a number from 0 to \(Int32.max)")
        }
        // An IPv4 prefix of length 0 matches everything, because the table has only IPv4 addresses.
        let length = Int(given) + offset
        return Entry(bits: bits, length: isIPv4 && length == 96 ? 0 : length, value: Int(value))
    }

    /// The bits of an address, and the number of bits before those that its prefix length counts.
    private static func bits(_ text: String, isIPv4: Bool) throws(Malformed) -> (UInt128, offset: Int) {
        if let address = IPAddress(text), address.zone == nil {
            if address.family == .v6, !isIPv4 || address.isIPv4Mapped { return (address.bits, 0) }
            if address.family == .v4, isIPv4 { return (0xFFFF << 32 | address.bits, 96) }
        }
        throw Malformed(text: "\"\(text)\" is not an \(isIPv4 ? "IPv4 or IPv4-mapped" : "IPv6") address")
    }

    /// Parses a number with strtoul(3), as getaddrinfo does: a sign is allowed, and an empty number is 0.
    private static func number(_ text: String) -> UInt? {
        text.withCString { start in
            var end: UnsafeMutablePointer<CChar>?
            let number = strtoul(start, &end, 10)
            return end?.pointee == 0 ? number : nil
        }
    }

    /// Sorts entries by descending prefix length, and adds an entry that matches every address if there is none.
    private static func table(_ entries: [Entry], default value: Int) -> [Entry] {
        let rest = Entry(bits: 0, length: 0, value: value)
        let all = entries.contains { $0.length == 0 } ? entries : entries + [rest]
        // The sort is stable, so equally long prefixes keep their order.
        return all.sorted { $0.length > $1.length }
    }
}

extension UInt8 {
    /// Whether this is white space of the locale "C".
    fileprivate var isSpace: Bool { self == 0x20 || 0x09...0x0D ~= self }
}

// MARK: - The system's file

extension AddressPolicy {
    /// Returns the address policy of a host.
    package typealias Source = @Sendable () -> AddressPolicy

    /// The policy of `/etc/gai.conf`, which is read as often as getaddrinfo reads it: once; with `reload yes`, again
    /// whenever its modification time has changed.
    static let system: Source = {
        kept.withLock { kept in
            if let file = kept, !file.policy.isReloaded || file.time == GaiConfFile.modificationTime {
                return file.policy
            }
            var file = GaiConfFile.read()
            // A file that was removed can be created again.
            if let last = kept, file.time == nil { file.policy.isReloaded = last.policy.isReloaded }
            kept = file
            return file.policy
        }
    }

    /// The policy of the present file, with notes on its lines.
    package static var current: AddressPolicy { GaiConfFile.read().policy }

    private static let kept = Locked<GaiConfFile?>(nil)
}

/// `/etc/gai.conf` at one moment.
private struct GaiConfFile {
    private static let path = "/etc/gai.conf"
    /// The most bytes that are read.
    ///
    /// Real files are smaller.
    private static let limit = 1 << 20

    var policy = AddressPolicy.standard
    /// The modification time, in nanoseconds; `nil` if the file does not exist.
    var time: Int?

    static var modificationTime: Int? {
        var status = stat()
        return stat(path, &status) == 0 ? time(of: status) : nil
    }

    private static func time(of status: stat) -> Int {
        status.st_mtim.tv_sec &* 1_000_000_000 &+ status.st_mtim.tv_nsec
    }

    static func read() -> GaiConfFile {
        var file = GaiConfFile()
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return file }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return file }
        file.time = time(of: status)
        let bytes = FileBytes.read(descriptor, upTo: limit).bytes
        file.policy = AddressPolicy(gaiConf: String(decoding: bytes, as: UTF8.self))
        return file
    }
}
