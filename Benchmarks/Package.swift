// swift-tools-version:6.1
// SPDX-License-Identifier: Apache-2.0

// A separate package, so that users of the library neither resolve nor build the benchmark's dependencies.

import PackageDescription

let package = Package(
    name: "benchmarks",
    dependencies: [
        // By name: a dependency by path is otherwise called after the folder it happens to lie in.
        .package(name: "swift-netlink-reachability", path: "../"),
        // Without its traits it needs no jemalloc, and counts no allocations.
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
    ],
    targets: [
        .executableTarget(
            name: "LiveLookup",
            dependencies: [
                .product(name: "NetlinkReachability", package: "swift-netlink-reachability"),
                .product(name: "Benchmark", package: "benchmark"),
            ],
            path: "Benchmarks/LiveLookup",
            swiftSettings: [.swiftLanguageMode(.v6)],
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]
        )
    ]
)
