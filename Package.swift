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

/// The parser of the command line, which the libraries do not need.
let argumentParser: Target.Dependency = .product(
    name: "ArgumentParser",
    package: "swift-argument-parser",
    condition: .when(traits: ["CommandLine"])
)

/// What the managers of the network know, on request only.
let managers: Target.Dependency = .target(
    name: "NetworkManagers",
    condition: .when(traits: ["NetworkManagers"])
)

let package = Package(
    name: "swift-netlink-reachability",
    products: [
        .library(name: "NetlinkReachability", targets: ["NetlinkReachability"]),
        .library(name: "NetlinkRecording", targets: ["NetlinkRecording"]),
        .library(name: "NetlinkReachabilityTestKit", targets: ["NetlinkReachabilityTestKit"]),
        // Apple's names, built on request only: no other target here depends on them, except tests.
        .library(name: "LinuxNetwork", targets: ["LinuxNetwork"]),
        .library(name: "LinuxSystemConfiguration", targets: ["LinuxSystemConfiguration"]),
        // Empty without the trait of its name.
        .library(name: "NetworkManagers", targets: ["NetworkManagers"]),
        .executable(name: "netflags", targets: ["netflags"]),
    ],
    // A package that uses the libraries writes `traits: []`, and does not resolve or build the parser.
    traits: [
        .trait(name: "CommandLine", description: "Builds netflags, which needs swift-argument-parser."),
        .trait(
            name: "NetworkManagers",
            description:
                "Builds NetworkManagers, which needs libsystemd. netflags and LinuxNetwork then use it."
        ),
        .default(enabledTraits: ["CommandLine"]),
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
        .target(name: "RoutingModel", dependencies: ["SystemSupport"], swiftSettings: strict),
        // Kernel, rules and API: the product. Only its folders Kernel and Messages import the shim.
        .target(
            name: "NetlinkReachability",
            dependencies: ["CNetlinkShim", "RoutingModel", "SystemSupport"],
            swiftSettings: strict
        ),
        // A product: the tables of a host as a value and the lookup in them, recordings, changes that are tried
        // without being made, and what explains a difference.
        .target(
            name: "NetlinkRecording",
            dependencies: ["NetlinkReachability", "RoutingModel", "SystemSupport"],
            swiftSettings: strict
        ),
        // A product for users' tests: simulated networks behind the same monitor and rules.
        .target(
            name: "NetlinkReachabilityTestKit",
            dependencies: ["NetlinkReachability", "NetlinkRecording", "RoutingModel", "SystemSupport"],
            swiftSettings: strict
        ),
        // D-Bus: sd-bus of libsystemd. Only the trait makes anything import it.
        .systemLibrary(name: "CSystemd", path: "Sources/CSystemd"),
        // A product of its own: what NetworkManager, systemd-networkd and systemd-resolved know.
        .target(
            name: "NetworkManagers",
            dependencies: [
                "NetlinkReachability", "SystemSupport",
                .target(name: "CSystemd", condition: .when(traits: ["NetworkManagers"])),
            ],
            swiftSettings: strict
        ),
        // The length of socket addresses, which both modules by Apple's names have.
        .target(name: "LinuxSocketAddresses", swiftSettings: strict),
        // NWPathMonitor by Apple's names. No module here is called Network, which would change the result of canImport
        // in every target of a user's build. Targets that ask for Apple's name give it to this module:
        // docs/coming-from-apple.md.
        .target(
            name: "LinuxNetwork",
            dependencies: [
                "LinuxSocketAddresses", "NetlinkReachability", "RoutingModel", "SystemSupport", managers,
            ],
            swiftSettings: strict
        ),
        // SCNetworkReachability by Apple's names, likewise.
        .target(name: "CSystemConfiguration"),
        .target(
            name: "LinuxSystemConfiguration",
            dependencies: [
                "CSystemConfiguration", "LinuxSocketAddresses", "NetlinkReachability", "SystemSupport",
            ],
            swiftSettings: strict
        ),
        // The arguments of main(), which Swift reads from /proc.
        .target(name: "CCommandLine"),
        // Command line.
        .executableTarget(
            name: "netflags",
            dependencies: [
                "CCommandLine", "NetlinkReachability", "NetlinkRecording", "RoutingModel", "SystemSupport",
                argumentParser, managers,
            ],
            swiftSettings: strict
        ),
        // What all tests share: seeded random numbers, a process's resources, the socket witness.
        .target(
            name: "TestSupport",
            dependencies: ["RoutingModel", "SystemSupport"],
            path: "Tests/Support/TestSupport",
            swiftSettings: strict
        ),
        // Addresses and prefixes as literals, for the tests of this package.
        .target(
            name: "AddressLiterals",
            dependencies: ["RoutingModel"],
            path: "Tests/Support/AddressLiterals",
            swiftSettings: strict
        ),
        // Scripted sources, resolvers and networks, over the parts of the test kit.
        .target(
            name: "Fakes",
            dependencies: [
                "AddressLiterals", "NetlinkReachability", "NetlinkReachabilityTestKit", "NetlinkRecording",
                "RoutingModel", "SystemSupport",
            ],
            path: "Tests/Support/Fakes",
            swiftSettings: strict
        ),
        // The C library's own reading of resolv.conf.
        .target(
            name: "CResolverProbe",
            path: "Tests/Support/CResolverProbe",
            linkerSettings: [.linkedLibrary("resolv")]
        ),
        // Live tests: a process in its own network namespace, the code that starts it, and the tests.
        .executableTarget(
            name: "NamespaceProbe",
            dependencies: [
                "AddressLiterals", "CResolverProbe", "NetlinkReachability", "NetlinkReachabilityTestKit",
                "NetlinkRecording", "RoutingModel", "SystemSupport", "TestNamespaces", "TestSupport",
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
        // What live tests need: traits, threads to wait on, and namespaces that threads enter.
        .target(
            name: "NamespaceTraits",
            dependencies: ["SystemSupport", "TestNamespaces", "TestSupport"],
            path: "Tests/Support/NamespaceTraits",
            swiftSettings: strict
        ),
        .testTarget(
            name: "NetlinkReachabilityLiveTests",
            dependencies: [
                "NamespaceProbe", "NamespaceTraits", "NetlinkReachability", "TestNamespaces", "TestSupport",
            ],
            path: "Tests/Live/NetlinkReachabilityLiveTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "NetlinkReachabilityMonitorTests",
            dependencies: [
                "AddressLiterals", "Fakes", "NetlinkReachability", "NetlinkReachabilityTestKit",
                "NetlinkRecording", "RoutingModel", "SystemSupport", "TestSupport",
            ],
            path: "Tests/Unit/NetlinkReachabilityMonitorTests",
            swiftSettings: strict
        ),
        // The kernel against snapshots of it, in random networks.
        .executableTarget(
            name: "DifferentialProbe",
            dependencies: ["NetlinkReachability", "NetlinkRecording", "RoutingModel", "TestSupport"],
            path: "Tests/Tools/DifferentialProbe",
            swiftSettings: strict
        ),
        .testTarget(
            name: "DifferentialTests",
            dependencies: ["DifferentialProbe", "NamespaceTraits", "TestNamespaces", "TestSupport"],
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
            name: "NetlinkRecordingTests",
            dependencies: [
                "AddressLiterals", "CNetlinkShim", "Fakes", "NamespaceTraits", "NetlinkReachability",
                "NetlinkReachabilityTestKit", "NetlinkRecording", "RoutingModel", "SystemSupport",
                "TestSupport",
            ],
            path: "Tests/Unit/NetlinkRecordingTests",
            // Read by their paths, as a user's own recordings are.
            exclude: ["Recordings"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "NetlinkReachabilityTests",
            dependencies: [
                "AddressLiterals", "CNetlinkShim", "Fakes", "NamespaceTraits", "NetlinkReachability",
                "NetlinkReachabilityTestKit", "NetlinkRecording", "RoutingModel", "SystemSupport",
                "TestSupport",
            ],
            path: "Tests/Unit/NetlinkReachabilityTests",
            exclude: ["Messages/Fixtures"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "NetlinkReachabilityTestKitTests",
            dependencies: [
                "AddressLiterals", "Fakes", "NamespaceTraits", "NetlinkReachability",
                "NetlinkReachabilityTestKit", "NetlinkRecording", "SystemSupport", "TestNamespaces",
                "TestSupport",
            ],
            path: "Tests/Unit/NetlinkReachabilityTestKitTests",
            swiftSettings: strict
        ),
        // Needs no trait: what is read of the managers' answers is compiled without libsystemd too.
        .testTarget(
            name: "NetworkManagersTests",
            dependencies: ["AddressLiterals", "NetlinkReachability", "NetworkManagers", "SystemSupport"],
            path: "Tests/Unit/NetworkManagersTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "NetworkTests",
            dependencies: [
                "AddressLiterals", "Fakes", "LinuxNetwork", "NetlinkReachability",
                "NetlinkReachabilityTestKit", "RoutingModel", "SystemSupport",
            ],
            path: "Tests/Compatibility/NetworkTests",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "SystemConfigurationProbe",
            dependencies: ["LinuxSystemConfiguration", "NetlinkReachability", "SystemSupport"],
            path: "Tests/Compatibility/SystemConfigurationProbe",
            swiftSettings: strict
        ),
        .testTarget(
            name: "SystemConfigurationTests",
            dependencies: [
                "Fakes", "LinuxSystemConfiguration", "NamespaceTraits", "NetlinkReachability", "RoutingModel",
                "SystemConfigurationProbe", "SystemSupport", "TestNamespaces",
            ],
            path: "Tests/Compatibility/SystemConfigurationTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "RecordingTests",
            dependencies: [
                "AddressLiterals", "Fakes", "NetlinkReachability", "NetlinkReachabilityTestKit",
                "NetlinkRecording", "RoutingModel", "SystemSupport", "TestSupport",
            ],
            path: "Tests/Unit/RecordingTests",
            exclude: ["Fixtures"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "netflagsTests",
            dependencies: [
                "NamespaceProbe", "NamespaceTraits", "netflags", "NetlinkReachability", "NetlinkRecording",
                "RoutingModel", "SystemSupport", "TestNamespaces", "TestSupport", argumentParser,
            ],
            path: "Tests/Unit/netflagsTests",
            // Read by its path, as a user's own recording is.
            exclude: ["Timeline/Fixtures"],
            swiftSettings: strict
        ),
    ]
)

// The fuzzer, which an ordinary build leaves out: CONTRIBUTING.md explains how to run it.
if Context.environment["NETLINK_FUZZERS"] != nil {
    package.targets.append(
        .executableTarget(
            name: "RecordingFuzzer",
            dependencies: ["CNetlinkShim", "NetlinkReachability", "NetlinkRecording", "RoutingModel"],
            path: "Tests/Tools/Fuzzers/RecordingFuzzer",
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]
        )
    )
}

// The benchmarks, which use package declarations and so cannot be a separate package: Benchmarks/README.md explains how
// to run them.
if Context.environment["NETLINK_BENCHMARKS"] != nil {
    package.targets += [
        .target(name: "CBaseline", dependencies: ["CLibnl"], path: "Benchmarks/Sources/CBaseline"),
        .executableTarget(
            name: "benchmarks",
            dependencies: [
                "CBaseline", "NetlinkReachability", "NetlinkRecording", "RoutingModel", "SystemSupport",
            ],
            path: "Benchmarks/Sources/benchmarks",
            swiftSettings: strict
        ),
    ]
}

// DocC, for `make docs` only: users of the package never resolve it.
if Context.environment["NETLINK_DOCS"] != nil {
    package.dependencies.append(
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", exact: "1.5.0"))
}
