// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The configuration of the system's resolver, from its two files.
package struct ResolverConfiguration: Hashable, Sendable {
    /// A file that could not be read.
    package struct FileError: Hashable, Sendable {
        /// The file.
        package let path: String
        /// The errno.
        package let number: Int32

        /// Whether the process or the system ran out of descriptors or memory.
        var isExhaustion: Bool { [EMFILE, ENFILE, ENOMEM].contains(number) }
    }

    /// The lines of resolv.conf that begin with `nameserver`, without that word.
    package private(set) var nameservers: [String] = []
    /// The domains of the last `search` or `domain` line, which replaces the others.
    package private(set) var search: [String] = []
    /// The options of all `options` lines.
    package private(set) var options: [String] = []
    /// The `hosts` line of nsswitch.conf; `nil` when there is none.
    package private(set) var hosts: String?
    /// The files that could not be read, and why.
    package private(set) var errors: [FileError] = []

    /// The configuration in the files now.
    package static var current: ResolverConfiguration {
        read(resolvConf: "/etc/resolv.conf", nsswitch: "/etc/nsswitch.conf")
    }

    /// Reads the two files, or only the first.
    package static func read(resolvConf: String, nsswitch: String? = nil) -> ResolverConfiguration {
        var configuration = ResolverConfiguration()
        for line in configuration.lines(of: resolvConf) { configuration.take(resolvConf: line) }
        guard let nsswitch else { return configuration }
        for line in configuration.lines(of: nsswitch) { configuration.take(nsswitch: line) }
        return configuration
    }

    private mutating func take(resolvConf line: Substring) {
        guard let first = line.first, first != "#", first != ";" else { return }
        let words = line.split { $0 == " " || $0 == "\t" }.map(String.init)
        switch words.first {
        case "nameserver": nameservers.append(contentsOf: words.dropFirst().prefix(1))
        case "search", "domain": search = Array(words.dropFirst())
        case "options": options.append(contentsOf: words.dropFirst())
        default: break
        }
    }

    private mutating func take(nsswitch line: Substring) {
        let content = line.prefix { $0 != "#" }
        guard let colon = content.firstIndex(of: ":"),
            content[..<colon].split(whereSeparator: \.isWhitespace) == ["hosts"]
        else { return }
        let words = content[content.index(after: colon)...].split(whereSeparator: \.isWhitespace)
        hosts = words.joined(separator: " ")
    }

    /// The lines of a file, of its first 64 KiB; none when it cannot be read.
    private mutating func lines(of path: String) -> [Substring] {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        defer { if descriptor >= 0 { close(descriptor) } }
        let count = descriptor < 0 ? -1 : Glibc.read(descriptor, &bytes, bytes.count)
        guard count >= 0 else {
            errors.append(FileError(path: path, number: errno))
            return []
        }
        return String(decoding: bytes[..<count], as: UTF8.self).split(whereSeparator: \.isNewline)
    }
}
