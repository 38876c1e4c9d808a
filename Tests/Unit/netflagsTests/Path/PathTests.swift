// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording
import Testing

@testable import netflags

struct PathTests {
    /// The keys of the object, in order.
    private static let keys = [
        "status", "unsatisfiedReason", "interfaces", "gateways", "nameservers", "supportsIPv4",
        "supportsIPv6",
        "supportsDNS", "isExpensive", "isConstrained", "flags", "rawValue", "letters", "reachable", "code",
        "reason",
        "error", "evidence",
    ]

    /// The name can be mistyped.
    @Test func `an interface that does not exist is a reason, and the status is 2`() throws {
        let result = try NetflagsProcess.run("path", "--json", "--interface", "nosuch")
        let json = try #require(result.lines.first.flatMap { JSONValue($0) })
        #expect(result.status == 2)
        #expect(json["status"]?.string == "unsatisfied" && json["error"] == .null)
        #expect(json["reason"]?.string == "there is no interface \"nosuch\"")
        #expect(result.errors.hasPrefix("netflags: there is no interface \"nosuch\": "))
    }

    // MARK: Recordings

    @Test(arguments: Recordings.networks)
    func `the program prints the path of a recording as the library finds it`(file: String) throws {
        let source = try NetworkSource.recording(path: file)
        let result = try NetflagsProcess.run("path", "--json", "--replay", file)
        #expect(result.lines.count == 1)
        let json = try #require(result.lines.first.flatMap { JSONValue($0) })
        #expect(json.keys == Self.keys)
        do throws(ReachabilityError) {
            let path = try source.blockingValue(of: .path())
            #expect(json["status"]?.string == path.status.rawValue)
            let names = json["interfaces"]?.elements.map { $0["name"]?.string }
            #expect(names == path.availableInterfaces.map(\.name))
            #expect(json["gateways"]?.elements.map(\.string) == path.gateways.map(\.description))
            #expect(json["supportsIPv4"] == .bool(path.supportsIPv4))
            #expect(json["supportsIPv6"] == .bool(path.supportsIPv6))
            #expect(json["isExpensive"] == .bool(path.isExpensive))
            #expect(json["rawValue"] == .number(Double(path.flags.rawValue)))
            #expect(json["error"] == .null)
            #expect(result.status == (isNetworkReachable(flags: path.flags) ? 0 : 1))
        } catch {
            #expect(json["error"] == .string("\(error)"))
            #expect(json["status"] == .null)
            #expect(result.status == 2)
        }
    }

    @Test func `a recording holds no name servers, and the output says so`() throws {
        let file = Recordings.path("01-dummy/02-up-default-routes")
        let result = try NetflagsProcess.run("path", "--json", "--replay", file)
        let json = try #require(result.lines.first.flatMap { JSONValue($0) })
        #expect(json["supportsDNS"] == .null)
        let text = try NetflagsProcess.run("path", "--replay", file)
        #expect(text.output.contains("\nDNS          unknown"))
    }

    @Test func `standard input gives the path that the file gives`() throws {
        let file = Recordings.path("08-wwan/05-carrier-off")
        let direct = try NetflagsProcess.run("path", "--replay", file)
        let piped = try NetflagsProcess.run(["path", "--replay", "-"], input: try readRecordingFile(file))
        #expect(direct.output == piped.output)
        #expect(direct.status == 0)
        #expect(direct.output.contains("wwan0 (cellular)\n"))
        #expect(direct.output.contains("expensive    yes\n"))
    }

    @Test func `a path that needs a connection which makes itself counts as reachable`() throws {
        let file = Recordings.path("06b-ppp-demand-dynamic/02-demand-up-not-connected")
        let result = try NetflagsProcess.run("path", "--replay", file)
        #expect(result.output.hasPrefix("status       requiresConnection: ppp0 dials on demand"))
        #expect(result.status == 0)
    }

    @Test func `what a recording does not hold is undecided, with status 2`() throws {
        let links = try Scratch(Recordings.links())
        let result = try NetflagsProcess.run("path", "--json", "--replay", links.path)
        let json = try #require(result.lines.first.flatMap { JSONValue($0) })
        #expect(json.keys == Self.keys)
        #expect(json["status"] == .null)
        #expect(json["supportsIPv4"] == .null)
        #expect(json["error"]?.string?.hasPrefix("undecided: ") == true)
        #expect(result.errors.hasPrefix("netflags: undecided: "))
        #expect(result.status == 2)
        let text = try NetflagsProcess.run("path", "--replay", links.path)
        #expect(text.output.hasPrefix("status       unknown: error: undecided: "))
        #expect(text.status == 2)
    }

    @Test func `a recording that cannot be read is one error without output`() throws {
        let result = try NetflagsProcess.run("path", "--json", "--replay", "/nonexistent/recording")
        #expect(result.output == "")
        #expect(result.errors.hasPrefix("netflags: cannot read the recording: /nonexistent/recording: "))
        #expect(result.status == 2)
    }

    // MARK: The command line

    @Test func `it is a command, and a host of that name is asked about with check`() throws {
        #expect(try NetflagsProcess.run("path", "--help").output.contains("USAGE: netflags path"))
        #expect(try NetflagsProcess.run("--help").output.contains("Print the default path"))
        let result = try NetflagsProcess.run("path", "127.0.0.1")
        #expect(result.status == 64)
        #expect(result.output == "")
    }

    @Test(
        arguments: [
            ("bash", "_netflags_path()"), ("zsh", "Print the default path"),
            ("fish", "Print the default path"),
        ]
    )
    func `the script that completes knows it`(shell: String, part: String) throws {
        let script = try NetflagsProcess.run("--generate-completion-script", shell).output
        #expect(script.contains(part))
    }
}
