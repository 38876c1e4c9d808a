// SPDX-License-Identifier: Apache-2.0

import Benchmark
import CBaseline
import Glibc
import NetlinkReachability

// What does one question to the live kernel cost, above a round trip in C by hand? The table of one side after
// the other shows the spread; the program `ratios` prints the ratio of both.

let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = .init(
        metrics: [.wallClock, .throughput],
        timeUnits: .nanoseconds,
        warmupIterations: 10,
        scalingFactor: .kilo,
        maxDuration: .seconds(2)
    )
    let address = IPAddress(127, 0, 0, 1)

    for (name, wantsEntry) in [("C RTM_GETROUTE", false), ("C RTM_GETROUTE, entry", true)] {
        Benchmark(name) { (benchmark: Benchmark, socket: Int32) in
            let count = Int32(benchmark.scaledIterations.count)
            blackHole(baseline_routes(socket, 0x7f00_0001, wantsEntry, count))
        } setup: {
            baseline_open()
        }
    }

    for (name, address) in [("address", address), ("IPv6 address", IPAddress("::1") ?? address)] {
        Benchmark("flags(), \(name)") { benchmark, reachability in
            for _ in benchmark.scaledIterations { blackHole(try reachability.flags()) }
        } setup: {
            try NetworkReachability(address: address)
        }

        Benchmark("report(), \(name)") { benchmark, reachability in
            for _ in benchmark.scaledIterations { blackHole(try reachability.report()) }
        } setup: {
            try NetworkReachability(address: address)
        }
    }

    Benchmark("flags(), default path") { benchmark, reachability in
        for _ in benchmark.scaledIterations { blackHole(try reachability.flags()) }
    } setup: {
        try NetworkReachability()
    }

    Benchmark("new handle and flags()") { (benchmark: Benchmark) throws in
        for _ in benchmark.scaledIterations {
            blackHole(try NetworkReachability(address: address).flags())
        }
    }

    Benchmark("new handle from text and flags()") { (benchmark: Benchmark) throws in
        for _ in benchmark.scaledIterations {
            blackHole(try NetworkReachability(host: "127.0.0.1").flags())
        }
    }
}
