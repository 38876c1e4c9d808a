// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import NetlinkReachability
import TestNamespaces
import Testing

@testable import netflags

struct PrometheusTests {
    @Test func `the text keeps the rules of the format`() throws {
        let result = try NetflagsProcess.run("--format", "prometheus", "127.0.0.1", "fe80::1", "127.0.0.1")
        #expect(result.status == 1)
        #expect(MetricsRules.violations(result.output) == [])
        let names = MetricsRules.samples(result.output).map(\.name)
        #expect(
            Set(names) == [
                "netflags_answered", "netflags_reachable", "netflags_path_info", "netflags_silent",
            ])
    }

    @Test func `the values are the results`() throws {
        let result = try NetflagsProcess.run("--format", "prometheus", "127.0.0.1", "fe80::1", "127.0.0.1")
        let reachable = MetricsRules.samples(result.output).filter { $0.name == "netflags_reachable" }
        #expect(reachable.map(\.labels) == ["{target=\"127.0.0.1\"}", "{target=\"fe80::1\"}"])
        #expect(reachable.map(\.value) == [1, 0])
    }

    @Test(.needs(.veth)) func `a target that could not be evaluated has only the sample 0`() throws {
        let host = try TestNamespace.withUndecidedTarget()
        let result = try host.run([
            NetflagsProcess.path, "--format", "prometheus", "--interface", "w1", "--source", "2001:db8:1::1",
            "2001:db8::9",
        ])
        #expect(result.status == 2)
        #expect(MetricsRules.samples(result.output).map(\.name) == ["netflags_answered"])
        #expect(result.output.contains("netflags_answered{target=\"2001:db8::9\"} 0\n"))
    }

    @Test func `label values are escaped`() {
        var buffer = ByteBuffer()
        var output = PrometheusFormat()
        let error = ReachabilityError(.undecided, operation: "")
        output.write(TargetLine(target: "a\"b\\c\nd", outcome: .failure(error)), to: &buffer)
        output.flush(to: &buffer)
        let text = String(decoding: buffer.bytes, as: UTF8.self)
        #expect(text.hasSuffix("netflags_answered{target=\"a\\\"b\\\\c\\nd\"} 0\n"))
    }

    @Test(arguments: [["--json", "a"], ["--explain", "a"], ["-"]])
    func `metrics exclude --json, --explain and standard input`(arguments: [String]) throws {
        let result = try NetflagsProcess.run(["--format", "prometheus"] + arguments)
        #expect(result.status == 64)
        #expect(result.errors.hasPrefix("netflags: "))
    }
}
