// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import TestNamespaces
import Testing

@testable import netflags

struct PrometheusTests {
    /// A sample of the text format: its metric, its labels and its value.
    private struct Sample: Equatable {
        let metric: Substring
        let labels: [String]
        let value: Double

        init?(_ line: Substring) {
            guard let open = line.firstIndex(of: "{"), let close = line.lastIndex(of: "}"),
                let value = Double(line[close...].dropFirst(2))
            else { return nil }
            metric = line[..<open]
            labels = line[open..<close].dropFirst().split(separator: ",").map(String.init)
            self.value = value
        }
    }

    @Test func `every metric has one header, followed by all its samples`() throws {
        let result = try NetflagsProcess.run("--format", "prometheus", "127.0.0.1", "fe80::1", "127.0.0.1")
        #expect(result.status == 1)
        var declared: [Substring] = []
        for line in result.lines {
            let words = line.split(separator: " ")
            if line.hasPrefix("# HELP ") {
                #expect(!declared.contains(words[2]))
                declared.append(words[2])
            } else if line.hasPrefix("# TYPE ") {
                #expect(words[2] == declared.last && words[3] == "gauge")
            } else {
                #expect(Sample(line)?.metric == declared.last, "\(line)")
            }
        }
        #expect(
            declared == ["netflags_answered", "netflags_reachable", "netflags_flags", "netflags_path_info"])
        #expect(result.output.hasSuffix("\n"))
    }

    @Test func `no series has two samples, and the values are the results`() throws {
        let result = try NetflagsProcess.run("--format", "prometheus", "127.0.0.1", "fe80::1", "127.0.0.1")
        let samples = result.lines.compactMap { Sample($0) }
        let names = samples.map { "\($0.metric)\($0.labels)" }
        #expect(Set(names).count == names.count)
        let reachable = samples.filter { $0.metric == "netflags_reachable" }
        #expect(reachable.map(\.labels) == [["target=\"127.0.0.1\""], ["target=\"fe80::1\""]])
        #expect(reachable.map(\.value) == [1, 0])
        #expect(samples.first { $0.metric == "netflags_flags" }?.value == 0x30002)
    }

    @Test(.needsNamespace) func `a target that could not be evaluated has only the sample 0`() throws {
        let host = try TestNamespace.withUndecidedTarget()
        let result = try host.run([
            NetflagsProcess.path, "--format", "prometheus", "--interface", "w1", "--source", "2001:db8:1::1",
            "2001:db8::9",
        ])
        #expect(result.status == 2)
        let samples = result.output.split(separator: "\n").compactMap { Sample($0) }
        #expect(samples.map(\.metric) == ["netflags_answered"])
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
