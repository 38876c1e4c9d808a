// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import SystemSupport

/// The configuration of the system's resolver, from its two files.
package struct ResolverConfiguration: Hashable, Sendable {
    /// A file that could not be read.
    package struct FileError: Hashable, Sendable {
        /// The file.
        package let path: String
        /// The errno.
        package let number: Int32

        /// Whether the process or the system ran out of descriptors or memory.
        var isExhaustion: Bool { SystemCallError.isExhaustion(number) }
    }

    /// The addresses of resolv.conf's `nameserver` lines.
    ///
    /// If it is empty, the C library uses 127.0.0.1.
    package private(set) var nameservers: [IPAddress] = []
    /// The domains of the last `search` or `domain` line, which overrides earlier lines.
    package private(set) var search: [String] = []
    /// The options of all `options` lines.
    package private(set) var options: [String] = []
    /// The `hosts` line of nsswitch.conf; `nil` if there is none.
    package private(set) var hosts: String?
    /// The files that could not be read, and why.
    package private(set) var errors: [FileError] = []

    /// Reads the present configuration from the files.
    package static var current: ResolverConfiguration {
        read(resolvConf: "/etc/resolv.conf", nsswitch: "/etc/nsswitch.conf")
    }

    /// Reads the two files, or only the first.
    package static func read(resolvConf: String, nsswitch: String? = nil) -> ResolverConfiguration {
        var configuration = ResolverConfiguration()
        for line in configuration.lines(of: resolvConf) { configuration.parse(resolvConf: line) }
        guard let nsswitch else { return configuration }
        for line in configuration.lines(of: nsswitch) { configuration.parse(nsswitch: line) }
        return configuration
    }

    /// Parses a line as the C library does: it begins with a keyword, a blank ends the keyword, and a NUL ends the
    /// line.
    private mutating func parse(resolvConf line: Substring) {
        let bytes = line.utf8.prefix { $0 != 0 }
        guard let first = bytes.first, bytes.contains(where: Self.isBlank), !Self.isBlank(first) else {
            return
        }
        var words = bytes.split(whereSeparator: Self.isBlank).map { String(decoding: $0, as: UTF8.self) }[...]
        switch words.popFirst() {
        case "nameserver": nameservers += words.prefix(1).compactMap(Self.nameserver)
        case "search": search = Array(words)
        case "domain": search = Array(words.prefix(1))
        case "options": options += words
        default: break
        }
    }

    /// Parses an address as the C library does: with inet_aton, such as 127.1, else with inet_pton.
    ///
    /// A zone is used only for a link-local address. An invalid zone is ignored, and no packets can be sent then.
    private static func nameserver(_ text: String) -> IPAddress? {
        var bytes = in_addr()
        // inet_aton accepts anything after white space, and a word can contain a carriage return.
        if !text.utf8.contains(where: { (9...13).contains($0) }), inet_aton(text, &bytes) != 0 {
            return IPAddress(v4: UInt32(bigEndian: bytes.s_addr))
        }
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(String(parts[0])), address.family == .v6 else { return nil }
        return parts.count == 2 && address.needsZone ? IPAddress(text) ?? address : address
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private mutating func parse(nsswitch line: Substring) {
        let content = line.prefix { $0 != "#" }
        guard let colon = content.firstIndex(of: ":"),
            content[..<colon].split(whereSeparator: \.isWhitespace) == ["hosts"]
        else { return }
        let words = content[content.index(after: colon)...].split(whereSeparator: \.isWhitespace)
        hosts = words.joined(separator: " ")
    }

    /// The lines in the first 64 KiB of a file; empty if the file cannot be read.
    private mutating func lines(of path: String) -> [Substring] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        defer { if descriptor >= 0 { close(descriptor) } }
        let (bytes, number) = descriptor < 0 ? ([], errno) : FileBytes.read(descriptor, upTo: 65_536)
        guard number == 0 else {
            errors.append(FileError(path: path, number: number))
            return []
        }
        return bytes.split(separator: 0x0a).map { Substring(decoding: $0, as: UTF8.self) }
    }
}

// MARK: - Name servers

/// The name servers that the resolver of a host uses.
package enum Nameservers {
    /// Lists the name servers; `nil` if they are not known, as in a recording.
    package typealias Source = @Sendable () -> [IPAddress]?

    /// The resolver's file on every Linux system.
    private static let file = "/etc/resolv.conf"
    static let resolvedFile = "/run/systemd/resolve/resolv.conf"

    /// The most servers of the file that the C library uses (MAXNS of `resolv.h`).
    private static let limit = 3

    /// Reads the system's files at each call.
    package static let system: Source = { inUse(resolvConf: file, resolvedConf: resolvedFile) }

    /// Reads the files as the C library does; `nil` if the process has no descriptor left.
    ///
    /// An address of systemd-resolved (127.0.0.53, 127.0.0.54) is replaced by the servers that systemd-resolved uses,
    /// if its file can be read. Any other server on this host is kept. If the file names no server, the C library
    /// uses 127.0.0.1.
    package static func inUse(resolvConf: String, resolvedConf: String) -> [IPAddress]? {
        let configuration = ResolverConfiguration.read(resolvConf: resolvConf)
        // A process without a free descriptor cannot read the file, which says nothing about the servers.
        if configuration.errors.contains(where: { $0.isExhaustion }) { return nil }
        let servers = configuration.nameservers
        let named = servers.isEmpty ? [.loopbackV4] : Array(servers.prefix(limit))
        guard named.contains(where: isResolved) else { return named }
        let resolved = ResolverConfiguration.read(resolvConf: resolvedConf)
        guard resolved.errors.isEmpty else { return named }
        return named.filter { !isResolved($0) } + resolved.nameservers
    }

    private static func isResolved(_ address: IPAddress) -> Bool {
        address == IPAddress(127, 0, 0, 53) || address == IPAddress(127, 0, 0, 54)
    }
}
