// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import Testing

/// Short here; `make stress` sets the length.
@Suite(.needs(.veth))
struct MonitorStressTests {
    /// The longest time of one command of the probe.
    private static let longestRun = 5

    @Test func `start, restart, stop and release handles while the network flaps`() throws {
        let host = try TestNamespace.twoWires()
        var rest = getenv("STRESS_SECONDS").flatMap { Int(String(cString: $0)) } ?? 1
        while rest > 0 {
            let fields = try host.command(["stress", "\(min(rest, Self.longestRun))"])
            let result = fields.reduce(into: [String: String]()) { result, field in
                let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                result[String(parts[0])] = String(parts[1])
            }
            #expect(result["failures"] == "")
            #expect(result["repeats"] == "0")
            #expect(result["wrong"] == "0")
            #expect(result["left"] == "0", "sockets and threads that outlive the last handle")
            #expect(result["rounds"].flatMap { Int($0) } ?? 0 >= 40)
            rest -= Self.longestRun
        }
    }
}
