// SPDX-License-Identifier: Apache-2.0

import Benchmark
import NetlinkReachability

// How much does the time of a call spread? `Benchmarks/run` has the ratios to the same work in C.

let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = .init(
        metrics: [.wallClock, .throughput],
        timeUnits: .nanoseconds,
        warmupIterations: 10,
        scalingFactor: .kilo,
        maxDuration: .seconds(2)
    )
    for (name, text) in [("address", "127.0.0.1"), ("IPv6 address", "::1"), ("default path", "0.0.0.0")] {
        Benchmark("flags(), \(name)") { benchmark, reachability in
            for _ in benchmark.scaledIterations { blackHole(try reachability.blockingFlags()) }
        } setup: {
            try NetworkReachability(host: text)
        }
        Benchmark("report(), \(name)") { benchmark, reachability in
            for _ in benchmark.scaledIterations { blackHole(try reachability.blockingReport()) }
        } setup: {
            try NetworkReachability(host: text)
        }
    }
    Benchmark("new handle from text and flags()") { (benchmark: Benchmark) throws in
        for _ in benchmark.scaledIterations {
            blackHole(try NetworkReachability(host: "127.0.0.1").blockingFlags())
        }
    }
}
