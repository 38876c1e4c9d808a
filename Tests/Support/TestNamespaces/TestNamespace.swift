// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A new network namespace with a probe process that runs the commands of a test.
///
/// The namespace and everything in it end with the object. No privilege is needed: without the right to create a
/// network namespace, a user namespace is created around it. Packets do not leave the namespace.
package final class TestNamespace: Sendable {
    /// The private resources of a namespace.
    package enum Privacy: Sendable {
        /// The network alone.
        case network
        /// The network and the mounts, for private copies of files such as /etc/hosts.
        case networkAndMounts
    }

    private let process: LineProcess

    /// Creates a namespace in which only the loopback interface is up.
    package convenience init(_ privacy: Privacy = .network) throws(NamespaceFailure) {
        let flags = privacy == .networkAndMounts ? "nm" : "n"
        try self.init(making: ["unshare", (Self.isPrivileged ? "-" : "-Ur") + flags])
    }

    private init(starting command: [String]) throws(NamespaceFailure) {
        process = try LineProcess(command + [try Self.probePath])
        let greeting = try process.ask(nil)
        guard greeting == "ready" else { throw NamespaceFailure(greeting) }
    }

    private convenience init(making command: [String]) throws(NamespaceFailure) {
        try self.init(starting: command)
        // Disables duplicate address detection, so that addresses are usable at once.
        for group in ["all", "default"] {
            try set("net/ipv6/conf/\(group)/accept_dad", "0")
        }
        // Disables the kernel's link-local addresses, which it assigns asynchronously.
        try set("net/ipv6/conf/default/addr_gen_mode", "1")
        try ip("link set lo up")
    }

    /// Creates a second host, to which interfaces of this host can be moved.
    package func makePeer() throws(NamespaceFailure) -> TestNamespace {
        let enter =
            Self.isPrivileged
            ? [] : ["nsenter", "-t", "\(process.identifier)", "-U", "--preserve-credentials"]
        return try TestNamespace(making: enter + ["unshare", "-n"])
    }

    /// Starts a second probe in this namespace, of a user without privilege; `nil` where the test process is such a
    /// user itself.
    package func unprivilegedProbe() throws(NamespaceFailure) -> TestNamespace? {
        guard Self.isPrivileged else { return nil }
        return try TestNamespace(
            starting: entering(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]))
    }

    /// The command line that runs a program in this namespace.
    package func entering(_ program: [String]) -> [String] {
        let user = Self.isPrivileged ? [] : ["-U", "--preserve-credentials"]
        return ["nsenter", "-t", "\(process.identifier)", "-n"] + user + program
    }

    /// The process that holds the namespace, for `ip link set X netns`.
    package var processIdentifier: Int32 {
        process.identifier
    }

    // MARK: Commands

    /// Runs a command of the probe.
    ///
    /// - Returns: The fields of the probe's answer.
    /// - Throws: An error when the command fails.
    @discardableResult
    package func command(_ fields: [String]) throws(NamespaceFailure) -> [String] {
        let answer = Fields.read(try process.ask(Fields.line(fields)))
        guard answer.first == "ok" else {
            throw NamespaceFailure("\(fields.joined(separator: " ")): \(answer.joined(separator: " "))")
        }
        return Array(answer.dropFirst())
    }

    /// Runs a program in the namespace.
    ///
    /// - Returns: The exit status and the output of the program.
    package func run(_ program: [String]) throws(NamespaceFailure) -> (status: Int, output: String) {
        try result(of: ["run"] + program)
    }

    private func result(of fields: [String]) throws(NamespaceFailure) -> (status: Int, output: String) {
        let answer = try command(fields)
        guard answer.count == 2, let status = Int(answer[0]) else {
            throw NamespaceFailure("\(fields): \(answer)")
        }
        return (status, answer[1])
    }

    /// Runs a shell script in the namespace.
    ///
    /// - Returns: The output of the script.
    /// - Throws: An error when the script fails.
    @discardableResult
    package func shell(_ script: String) throws(NamespaceFailure) -> String {
        let result = try run(["sh", "-c", script])
        guard result.status == 0 else { throw NamespaceFailure("\(script): \(result.output)") }
        return result.output
    }

    /// Runs lines of `ip` in the namespace, with one process for consecutive lines with the same options.
    ///
    /// - Returns: The output of the last process.
    /// - Throws: An error when a line fails; the following lines are not run.
    @discardableResult
    package func ip(_ lines: String...) throws(NamespaceFailure) -> String {
        try ip(lines)
    }

    /// Runs lines of `ip` in the namespace, with one process for consecutive lines with the same options.
    @discardableResult
    package func ip(_ lines: [String]) throws(NamespaceFailure) -> String {
        func options(_ line: String) -> [Substring] {
            Array(line.split(separator: " ").prefix { $0.hasPrefix("-") })
        }
        var (output, rest) = ("", lines[...])
        while let first = rest.first {
            let common = options(first)
            let part = rest.prefix { options($0) == common }
            let commands = part.map {
                $0.split(separator: " ").dropFirst(common.count).joined(separator: " ")
            }
            let result = try result(of: ["ip"] + common.map(String.init) + commands)
            guard result.status == 0 else {
                throw NamespaceFailure("ip \(part.joined(separator: "; ")): \(result.output)")
            }
            (output, rest) = (result.output, rest[part.endIndex...])
        }
        return output
    }

    /// Changes one of the kernel's settings, by its path below /proc/sys.
    package func set(_ path: String, _ value: String) throws(NamespaceFailure) {
        try command(["write", "/proc/sys/\(path)", value])
    }

    // MARK: The probe

    /// Whether a network namespace can be created without a user namespace; root can also lack this right.
    package static let isPrivileged: Bool = {
        guard geteuid() == 0 else { return false }
        let answer = try? LineProcess(["unshare", "-n", "echo", "made"]).ask(nil)
        return answer == "made"
    }()

    /// The program that runs in the namespace.
    package static var probePath: String {
        get throws(NamespaceFailure) { try program("NamespaceProbe") }
    }

    /// The path of a program of the package, in the folder of the running program: both are products of one build.
    package static func program(_ name: String) throws(NamespaceFailure) -> String {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { throw .system("/proc/self/exe") }
        let own = String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
        let folder = own[..<(own.lastIndex(of: "/") ?? own.startIndex)]
        return "\(folder)/\(name)"
    }
}
