// swift-tools-version:6.1
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// Settings that every Swift target of the package shares.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "swift-netlink-reachability",
    products: [
        .library(name: "NetlinkReachability", targets: ["NetlinkReachability"]),
        .library(name: "NetlinkRecording", targets: ["NetlinkRecording"]),
        .library(name: "NetlinkReachabilityTestKit", targets: ["NetlinkReachabilityTestKit"]),
        // By Apple's names, built on request only: no other target here depends on them, except tests. One product for
        // both modules: SwiftPM loses aliases when targets of one build ask for different subsets of them.
        .library(name: "AppleNames", targets: ["Network", "SystemConfiguration"]),
        .executable(name: "netflags", targets: ["netflags"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0")
    ],
    targets: [
        // Kernel: libnl's headers and libraries, found by pkg-config.
        .systemLibrary(
            name: "CLibnl",
            path: "Sources/CLibnl",
            pkgConfig: "libnl-route-3.0",
            providers: [.apt(["libnl-3-dev", "libnl-route-3-dev"])]
        ),
        // Kernel: the C interface over libnl. The only code that sees a netlink socket.
        .target(
            name: "CNetlinkShim",
            dependencies: ["CLibnl"],
            path: "CNetlinkShim",
            publicHeadersPath: "include"
        ),
        // What the operating system provides: locks, threads, descriptors to wait for.
        .target(name: "CSystemSupport"),
        .target(name: "SystemSupport", dependencies: ["CSystemSupport"], swiftSettings: strict),
        // Facts: pure values. No C, no I/O, no Foundation.
        .target(name: "RoutingModel", swiftSettings: strict),
        // Facts: the tables of a host as a value, and the kernel's lookup in them.
        .target(name: "RoutingSimulation", dependencies: ["RoutingModel"], swiftSettings: strict),
        // Facts: the kernel's answers as values of the model.
        .target(
            name: "NetlinkRoute",
            dependencies: ["CNetlinkShim", "RoutingModel", "SystemSupport"],
            swiftSettings: strict
        ),
        // Rules and API: the product.
        .target(
            name: "NetlinkReachability",
            dependencies: ["NetlinkRoute", "RoutingModel", "SystemSupport"],
            swiftSettings: strict
        ),
        // A product: recordings, and all that knows files and recorded time.
        .target(
            name: "NetlinkRecording",
            dependencies: [
                "NetlinkReachability", "NetlinkRoute", "RoutingModel", "RoutingSimulation", "SystemSupport",
            ],
            swiftSettings: strict
        ),
        // A product for users' tests: simulated networks behind the same monitor and rules.
        .target(
            name: "NetlinkReachabilityTestKit",
            dependencies: [
                "NetlinkReachability", "NetlinkRecording", "NetlinkRoute", "RoutingModel",
                "RoutingSimulation", "SystemSupport",
            ],
            swiftSettings: strict
        ),
        // NWPathMonitor by Apple's names. A module of this name changes the result of canImport elsewhere, so only its
        // tests depend on it; users take it under an alias.
        .target(
            name: "Network",
            dependencies: ["NetlinkReachability", "NetlinkRoute", "RoutingModel", "SystemSupport"],
            swiftSettings: strict
        ),
        // SCNetworkReachability by Apple's names. docs/coming-from-apple.md explains the alias.
        .target(name: "CSystemConfiguration"),
        .target(
            name: "SystemConfiguration",
            dependencies: ["CSystemConfiguration", "NetlinkReachability", "SystemSupport"],
            swiftSettings: strict
        ),
        // The arguments of main(), which Swift reads from /proc.
        .target(name: "CCommandLine"),
        // Command line.
        .executableTarget(
            name: "netflags",
            dependencies: [
                "CCommandLine", "NetlinkReachability", "NetlinkRecording", "NetlinkRoute", "RoutingModel",
                "RoutingSimulation", "SystemSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict
        ),
        // What all tests share: seeded random numbers, a process's resources, the socket witness.
        .target(
            name: "TestSupport",
            dependencies: ["RoutingModel"],
            path: "Tests/Support/TestSupport",
            swiftSettings: strict
        ),
        // Scripted sources, resolvers and networks, over the parts of the test kit.
        .target(
            name: "Fakes",
            dependencies: [
                "NetlinkReachability", "NetlinkReachabilityTestKit", "RoutingModel", "RoutingSimulation",
                "SystemSupport",
            ],
            path: "Tests/Support/Fakes",
            swiftSettings: strict
        ),
        // Live tests: a process in its own network namespace, the code that starts it, and the tests.
        .executableTarget(
            name: "NamespaceProbe",
            dependencies: [
                "NetlinkReachability", "NetlinkReachabilityTestKit", "NetlinkRoute", "RoutingModel",
                "SystemSupport", "TestNamespaces", "TestSupport",
            ],
            path: "Tests/Live/NamespaceProbe",
            swiftSettings: strict
        ),
        .target(
            name: "TestNamespaces",
            dependencies: ["NetlinkReachability", "SystemSupport"],
            path: "Tests/Support/TestNamespaces",
            swiftSettings: strict
        ),
        .testTarget(
            name: "NetlinkReachabilityLiveTests",
            dependencies: ["NamespaceProbe", "NetlinkReachability", "TestNamespaces"],
            path: "Tests/Live/NetlinkReachabilityLiveTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "NetlinkReachabilityMonitorTests",
            dependencies: [
                "Fakes", "NetlinkReachability", "NetlinkReachabilityTestKit", "NetlinkRoute", "RoutingModel",
                "RoutingSimulation", "SystemSupport", "TestSupport",
            ],
            path: "Tests/Unit/NetlinkReachabilityMonitorTests",
            swiftSettings: strict
        ),
        // The kernel against snapshots of it, in random networks.
        .executableTarget(
            name: "DifferentialProbe",
            dependencies: [
                "NetlinkReachability", "NetlinkRecording", "NetlinkRoute", "RoutingModel",
                "RoutingSimulation", "TestSupport",
            ],
            path: "Tests/Tools/DifferentialProbe",
            swiftSettings: strict
        ),
        .testTarget(
            name: "DifferentialTests",
            dependencies: ["DifferentialProbe", "TestNamespaces", "TestSupport"],
            path: "Tests/Tools/DifferentialTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "RoutingModelTests",
            dependencies: ["RoutingModel", "TestSupport"],
            path: "Tests/Unit/RoutingModelTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "RoutingSimulationTests",
            dependencies: ["RoutingModel", "RoutingSimulation", "TestSupport"],
            path: "Tests/Unit/RoutingSimulationTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "NetlinkRouteTests",
            dependencies: ["CNetlinkShim", "NetlinkRoute", "RoutingModel", "SystemSupport", "TestSupport"],
            path: "Tests/Unit/NetlinkRouteTests",
            exclude: ["Messages/Fixtures"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "NetlinkRecordingTests",
            dependencies: [
                "CNetlinkShim", "NetlinkReachability", "NetlinkRecording", "NetlinkRoute", "RoutingModel",
                "RoutingSimulation", "SystemSupport", "TestSupport",
            ],
            path: "Tests/Unit/NetlinkRecordingTests",
            // Read by their paths, as a user's own recordings are.
            exclude: ["Recordings"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "NetlinkReachabilityTests",
            dependencies: [
                "Fakes", "NetlinkReachability", "RoutingModel", "RoutingSimulation", "SystemSupport",
                "TestSupport",
            ],
            path: "Tests/Unit/NetlinkReachabilityTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "NetlinkReachabilityTestKitTests",
            dependencies: [
                "Fakes", "NetlinkReachability", "NetlinkReachabilityTestKit", "NetlinkRecording",
                "NetlinkRoute", "SystemSupport", "TestNamespaces",
            ],
            path: "Tests/Unit/NetlinkReachabilityTestKitTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "NetworkTests",
            dependencies: [
                "Fakes", "NetlinkReachability", "NetlinkReachabilityTestKit", "NetlinkRoute", "Network",
                "RoutingModel", "SystemSupport",
            ],
            path: "Tests/Compatibility/NetworkTests",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "SystemConfigurationProbe",
            dependencies: ["NetlinkRoute", "SystemConfiguration", "SystemSupport"],
            path: "Tests/Compatibility/SystemConfigurationProbe",
            swiftSettings: strict
        ),
        .testTarget(
            name: "SystemConfigurationTests",
            dependencies: [
                "Fakes", "NetlinkReachability", "NetlinkRoute", "RoutingModel", "SystemConfiguration",
                "SystemConfigurationProbe", "SystemSupport", "TestNamespaces",
            ],
            path: "Tests/Compatibility/SystemConfigurationTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "RecordingTests",
            dependencies: [
                "Fakes", "NetlinkReachability", "NetlinkRecording", "NetlinkRoute", "RoutingModel",
                "RoutingSimulation",
            ],
            path: "Tests/Unit/RecordingTests",
            exclude: ["Fixtures"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "netflagsTests",
            dependencies: [
                "NamespaceProbe", "netflags", "NetlinkReachability", "NetlinkRecording", "NetlinkRoute",
                "RoutingModel", "RoutingSimulation", "SystemSupport", "TestNamespaces",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/Unit/netflagsTests",
            // Read by its path, as a user's own recording is.
            exclude: ["Timeline/Fixtures"],
            swiftSettings: strict
        ),
    ]
)

// The fuzzer, which an ordinary build leaves out: docs/recordings.md explains how to run it.
if Context.environment["NETLINK_FUZZERS"] != nil {
    package.targets.append(
        .executableTarget(
            name: "RecordingFuzzer",
            dependencies: [
                "CNetlinkShim", "NetlinkRecording", "NetlinkRoute", "RoutingModel", "RoutingSimulation",
            ],
            path: "Tests/Tools/Fuzzers/RecordingFuzzer",
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]
        )
    )
}

// The benchmarks of snapshots and of the monitor, which use package declarations and so cannot be a separate package:
// docs/performance.md explains how to run them.
if Context.environment["NETLINK_BENCHMARKS"] != nil {
    package.targets += [
        .systemLibrary(
            name: "CBaselineLibnl",
            path: "Benchmarks/Sources/CBaselineLibnl",
            pkgConfig: "libnl-route-3.0"
        ),
        .target(name: "CBaseline", dependencies: ["CBaselineLibnl"], path: "Benchmarks/Sources/CBaseline"),
        .target(name: "Duel", path: "Benchmarks/Sources/Duel", swiftSettings: strict),
        .executableTarget(
            name: "snapshots",
            dependencies: [
                "CBaseline", "Duel", "NetlinkReachability", "NetlinkRecording", "NetlinkRoute",
                "RoutingModel", "RoutingSimulation",
            ],
            path: "Benchmarks/Sources/snapshots",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "monitoring",
            dependencies: ["CBaseline", "Duel", "NetlinkReachability"],
            path: "Benchmarks/Sources/monitoring",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "replaying",
            dependencies: [
                "Duel", "NetlinkReachability", "NetlinkRecording", "NetlinkRoute", "RoutingModel",
            ],
            path: "Benchmarks/Sources/replaying",
            swiftSettings: strict
        ),
    ]
}

// DocC, for `make docs` only: users of the package never resolve it.
if Context.environment["NETLINK_DOCS"] != nil {
    package.dependencies.append(
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", exact: "1.5.0"))
}
