// swift-tools-version:6.1
// SPDX-License-Identifier: Apache-2.0

// A separate package, so that users of the library neither resolve nor build the benchmark's dependencies.

import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let reachability: Target.Dependency = .product(
    name: "NetlinkReachability",
    package: "swift-netlink-reachability"
)

let package = Package(
    name: "benchmarks",
    dependencies: [
        // By name: a dependency by path is otherwise called after the folder it happens to lie in.
        .package(name: "swift-netlink-reachability", path: "../"),
        // Without its traits it needs no jemalloc, and counts no allocations.
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
    ],
    targets: [
        .systemLibrary(
            name: "CBaselineLibnl",
            path: "Sources/CBaselineLibnl",
            pkgConfig: "libnl-route-3.0",
            providers: [.apt(["libnl-3-dev", "libnl-route-3-dev"])]
        ),
        // The other side: the same questions in C, by hand.
        .target(name: "CBaseline", dependencies: ["CBaselineLibnl"]),
        // Both sides of a figure in one run, taking turns.
        .target(name: "Duel", swiftSettings: strict),
        .executableTarget(
            name: "ratios",
            dependencies: ["CBaseline", "Duel", reachability],
            swiftSettings: strict
        ),
        // The same for whole processes, and the memory that they take.
        .executableTarget(name: "processes", dependencies: ["Duel"], swiftSettings: strict),
        .executableTarget(name: "peak"),
        .executableTarget(
            name: "LiveLookup",
            dependencies: [
                "CBaseline",
                reachability,
                .product(name: "Benchmark", package: "benchmark"),
            ],
            path: "Benchmarks/LiveLookup",
            swiftSettings: strict,
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]
        ),
    ]
)
