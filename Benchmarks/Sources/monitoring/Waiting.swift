// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Duel
import Glibc

/// How long after the default route is there `netflags wait 8.8.8.8 --timeout 30` has ended.
struct Waiting {
    private static let rounds = 20

    let host: Host
    let netflags: String

    func run() throws {
        var times: [Double] = []
        for round in 0..<Effort.scaled(Self.rounds) {
            try host.setDefault(false)
            let child = try start()
            // At rest, and at another phase of its work each time.
            usleep(250_000 + UInt32(round) * 13_000)
            let began = baseline_now()
            try host.setDefault(true)
            var status: Int32 = 0
            while waitpid(child, &status, 0) < 0, errno == EINTR {}
            times.append(Double(baseline_now() - began) / 1_000_000)
            guard status == 0 else { throw MonitoringFailure("netflags wait ended with \(status)") }
        }
        let name = "netflags wait, from the default route to its end"
        try Table.print(Row("\(name), p50", times.quantile(0.5), unit: "ms"))
        try Table.print(Row("\(name), longest", times.quantile(1), unit: "ms", goal: .waiting))
    }

    private func start() throws -> pid_t {
        let words = [netflags, "wait", "8.8.8.8", "--timeout", "30"]
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        let status = posix_spawn(&child, netflags, nil, nil, &arguments, environ)
        guard status == 0 else {
            throw MonitoringFailure("\(netflags): \(String(cString: strerror(status)))")
        }
        return child
    }
}
