// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import Testing

@testable import NetlinkRecording
@testable import netflags

struct CheckReplayTests {
    private static let targets = [
        "default", "127.0.0.1", "::1", "192.0.2.1", "10.0.0.1", "203.0.113.77", "2001:db8::1", "fe80::1",
        "224.0.0.251", "255.255.255.255", "169.254.0.0", "169.254.1.1", "10.64.64.1", "172.16.0.9",
        "192.168.1.1", "2001:db8:1::1", "fd00::1", "ff02::1%lo", "8.8.8.8", "2606:4700:4700::1111",
    ]

    @Test(arguments: Recordings.networks) func `the program answers from a recording as the library does`(
        path: String
    ) throws {
        let source = try NetworkSource.recording(path: path)
        let result = try NetflagsProcess.run(["--json", "--replay", path] + Self.targets)
        #expect(result.lines.count == Self.targets.count)
        for (target, line) in zip(Self.targets, result.lines) {
            let json = try #require(JSONValue(line))
            let reachability = NetworkReachability(
                target: try TargetQuery(targets: []).target(target), source: source)
            do throws(ReachabilityError) {
                let report = try reachability.blockingReport()
                #expect(json["rawValue"] == .number(Double(report.flags.rawValue)), "\(target)")
                #expect(json["gateway"]?.string == report.gateway?.description, "\(target)")
                #expect(json["interface"]?.string == report.interface?.name, "\(target)")
                #expect(json["error"] == .null)
            } catch {
                #expect(json["error"] == .string("\(error)"), "\(target)")
                #expect(json["flags"] == .array([]))
            }
        }
    }

    @Test func `the file and standard input give the same answers, and targets can come from standard input`()
        throws
    {
        let path = try #require(Recordings.networks.first)
        let direct = try NetflagsProcess.run(["--replay", path] + Self.targets.prefix(5))
        let piped = try NetflagsProcess.run(
            ["--replay", "-"] + Self.targets.prefix(5), input: try readRecordingFile(path))
        #expect(direct.output == piped.output)
        #expect(direct.status == piped.status)
        let lines = Self.targets.prefix(5).joined(separator: "\n")
        let asked = try NetflagsProcess.run("--json", "--replay", path, "-", input: lines)
        #expect(asked.lines.count == 5)
        let refused = try NetflagsProcess.run("--replay", "-", "-")
        #expect(refused.status == 64)
        #expect(refused.errors.contains("stdin is either the recording or the targets"))
    }

    /// It was answered in silence, as if that time were recorded.
    @Test func `a time after the end of a recording is answered with a note`() throws {
        let late = try NetflagsProcess.run("--replay", Night.path, "--at", "2031-01-01T00:00:00Z", "default")
        #expect(late.status == 0)
        #expect(late.errors.contains("ends at 2026-11-20T02:54:05.559Z"), "\(late.errors)")
        let within = try NetflagsProcess.run("--replay", Night.path, "--at", "02:30", "default")
        #expect(within.errors.isEmpty, "\(within.errors)")
    }

    @Test func `the options of the socket count in a recording`() throws {
        let path = Recordings.path("01-dummy/02-up-default-routes")
        func answer(_ arguments: String...) throws -> NetflagsProcess.Result {
            try NetflagsProcess.run(["--replay", path] + arguments)
        }
        #expect(try answer("-6", "127.0.0.1").output.contains("no IPv6 address"))
        #expect(try answer("--interface", "nosuch", "192.0.2.1").errors.contains("\"nosuch\""))
        #expect(try answer("--interface", "nosuch", "192.0.2.1").status == 2)
        #expect(try answer("--source", "192.0.2.177", "192.0.2.1").status == 1)
        let plain = try answer("--mark", "0", "8.8.8.8")
        #expect(plain.output == (try answer("8.8.8.8")).output)
        let explained = try answer("--explain", "127.0.0.1")
        #expect(explained.output.contains("    route ") && explained.output.contains("    interface "))
        #expect(try answer("--format", "prometheus", "127.0.0.1").output.contains("127.0.0.1"))
    }

    @Test
    func `what a recording lacks is undecided: no flags, an error that names it, status 2`()
        throws
    {
        let links = try Scratch(Recordings.links())
        let result = try NetflagsProcess.run("--json", "--replay", links.path, "192.0.2.1", "::1")
        #expect(result.status == 2)
        for (line, family) in zip(result.lines, ["IPv4", "IPv6"]) {
            let json = try #require(JSONValue(line))
            #expect(json["flags"] == .array([]))
            #expect(json["reachable"] == .bool(false))
            let error = "undecided: the recording holds no dump of the \(family) addresses: "
            #expect(json["error"]?.string?.hasPrefix(error) == true)
        }
        #expect(result.lines.count == 2)
    }

    @Test func `a name is resolved now and evaluated by the recording`() throws {
        let path = Recordings.path("01-dummy/02-up-default-routes")
        let result = try NetflagsProcess.run("--json", "--replay", path, "localhost")
        let json = try #require(result.lines.first.flatMap { JSONValue($0) })
        #expect(json["letters"] == .string("-R -----ld"))
    }

    @Test(
        arguments: [
            (nil, "No such file or directory"), ([], "the file is empty"),
            (Array("not a recording, but text".utf8), "byte 0: not a netlink message: a length of"),
            (Array(repeating: 0, count: 4_096), "byte 0: not a netlink message: a length of 0"),
            ([0x0a, 0x0d, 0x0d, 0x0a] + Array(repeating: 0, count: 60), "netflags record or rtmon"),
            ([32, 0, 0, 0, 24, 0, 2, 0], "byte 0: the file ends inside a message"),
            ([20, 0, 0, 0, 24, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0], "byte 0: a malformed message"),
        ] as [([UInt8]?, String)]
    )
    func `an unreadable recording is reported once, with the offset, before any target`(
        bytes: [UInt8]?, reason: String
    ) throws {
        let file = try bytes.map(Scratch.init)
        let path = file?.path ?? "/nonexistent/recording"
        let result = try NetflagsProcess.run("--json", "--replay", path, "127.0.0.1", "::1")
        #expect(result.status == 2)
        #expect(result.output == "")
        #expect(result.errors.hasPrefix("netflags: cannot read the recording: \(path): "))
        #expect(result.errors.contains(reason), "\(result.errors)")
        #expect(result.errors.split(separator: "\n").count == 1)
        #expect {
            try NetworkSource.recording(path: path)
        } throws: { error in
            (error as? ReachabilityError)?.code == .unreadableRecording
        }
    }

    @Test(arguments: ["/", "/dev/zero"]) func `a directory and an endless file of zeros are refused`(
        path: String
    ) throws {
        let result = try NetflagsProcess.run("--replay", path, "127.0.0.1")
        #expect(result.status == 2)
        #expect(result.errors.hasPrefix("netflags: cannot read the recording: \(path): "))
    }

    @Test func `wrong targets are found before the recording is looked at`() throws {
        #expect(try NetflagsProcess.run("--replay", "/nonexistent", "http://x/").status == 64)
        #expect(try NetflagsProcess.run("--replay", "/nonexistent").status == 64)
    }
}

// MARK: - Files

/// The recorded networks of the tests of recordings.
enum Recordings {
    private static let folder: String = {
        let own = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        return own.joined(separator: "/") + "/RecordingTests/Fixtures"
    }()

    /// A moment's file.
    static func path(_ moment: String) -> String {
        "\(folder)/\(moment)/state.rtnl"
    }

    /// A moment of each kind of network, and several where rules and neighbours decide.
    static let networks =
        [
            "01-dummy/02-up-default-routes", "01-dummy/03-carrier-off",
            "06-ppp-demand/02-demand-up-not-connected", "08-wwan/05-carrier-off",
            "15-dormant/04-carrier-back-dormant", "16-multipath-nexthop/01-multipath-default",
            "16-multipath-nexthop/05-nexthop-objects", "16-multipath-nexthop/07-nh-linkdown",
            "17-policy-and-special-routes/02-rules-and-special-routes",
            "17-policy-and-special-routes/03-local-rule-moved", "20-kinds-zoo/02-up",
        ].map(path)

    /// The dump of the interfaces alone, as rtmon writes it.
    static func links() throws -> [UInt8] {
        let bytes = try readRecordingFile(path("01-dummy/02-up-default-routes"))
        var links: [UInt8] = []
        var offset = 0
        while offset + 16 <= bytes.count {
            let length = Int(bytes[offset]) | Int(bytes[offset + 1]) << 8
            let end = min(bytes.count, offset + (length + 3) & ~3)
            if bytes[offset + 4] == 16 { links += bytes[offset..<end] }
            offset = end
        }
        return links
    }
}

/// Reads a whole file.
func readRecordingFile(_ path: String) throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw NetflagsProcess.Failure.cannot("open \(path)", errno) }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = read(descriptor, &chunk, chunk.count)
        guard count >= 0 else { throw NetflagsProcess.Failure.cannot("read \(path)", errno) }
        if count == 0 { return bytes }
        bytes += chunk[..<count]
    }
}

/// A file with a name, gone with the value.
final class Scratch {
    let path: String

    init(_ bytes: [UInt8] = []) throws {
        var name = Array("/tmp/netflags-replay-XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { throw NetflagsProcess.Failure.cannot("make a file", errno) }
        defer { close(descriptor) }
        path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw NetflagsProcess.Failure.cannot("write", errno) }
            written += count
        }
    }

    deinit {
        unlink(path)
    }
}
