// swift-tools-version:6.1
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// Programs as a user would write them. Each depends on the products of this package only.
/// The identity of the package two folders up: the name of its folder here, the name of the repository for a dependency
/// with a URL.
let netlinkReachability = String(Context.packageDirectory.split(separator: "/").dropLast(2).last ?? "")

let package = Package(
    name: "examples",
    dependencies: [
        .package(path: "../..", traits: [])
    ],
    targets: [
        .executableTarget(
            name: "ask",
            dependencies: [
                .product(name: "NetlinkReachability", package: netlinkReachability)
            ],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
        // A client with plain sockets that connects again: docs/connections.md.
        .executableTarget(
            name: "reconnect",
            dependencies: [
                .product(name: "NetlinkReachability", package: netlinkReachability)
            ],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
        // A singleton that posts notifications.
        .executableTarget(
            name: "network-monitor",
            dependencies: [
                .product(name: "NetlinkReachability", package: netlinkReachability)
            ],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
        // Code from Apple's platforms with its import unchanged.
        .executableTarget(
            name: "reachability-class",
            dependencies: [
                // docs/coming-from-apple.md has the form for a package that others require by version.
                .product(name: "LinuxSystemConfiguration", package: netlinkReachability)
            ],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .unsafeFlags(["-module-alias", "SystemConfiguration=LinuxSystemConfiguration"]),
            ]
        ),
        // A download that waits for a connection and retries, and its tests.
        .target(
            name: "Downloading",
            dependencies: [
                .product(name: "NetlinkReachability", package: netlinkReachability)
            ],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
        .executableTarget(
            name: "download",
            dependencies: ["Downloading"],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
        .testTarget(
            name: "DownloadingTests",
            dependencies: [
                "Downloading",
                .product(name: "NetlinkReachability", package: netlinkReachability),
                .product(name: "NetlinkReachabilityTestKit", package: netlinkReachability),
            ],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
        // Code that reacts to the network, and its tests in simulated networks: docs/testing.md.
        .target(
            name: "Uplink",
            dependencies: [
                .product(name: "NetlinkReachability", package: netlinkReachability)
            ],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
        .testTarget(
            name: "UplinkTests",
            dependencies: [
                "Uplink",
                .product(name: "NetlinkReachability", package: netlinkReachability),
                .product(name: "NetlinkReachabilityTestKit", package: netlinkReachability),
            ],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
    ]
)
