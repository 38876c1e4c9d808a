// swift-tools-version:6.1
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// Programs as a user would write them: each depends on the products and on nothing else.
/// The identity of the package above, which an alias has to name exactly: the name of its folder here, of its
/// repository where it comes from a URL.
let netlinkReachability = String(Context.packageDirectory.split(separator: "/").dropLast(2).last ?? "")

let package = Package(
    name: "examples",
    dependencies: [
        .package(path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "ask",
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
        // Code from Apple's platforms, whose import stays as it is.
        .executableTarget(
            name: "reachability-class",
            dependencies: [
                .product(
                    name: "SystemConfiguration",
                    package: netlinkReachability,
                    moduleAliases: ["SystemConfiguration": "LinuxSystemConfiguration"],
                    condition: .when(platforms: [.linux])
                )
            ],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
        // A download that waits for a connection and tries again, and its tests.
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
        // Code that reacts to the network, and its tests in networks that do not exist: docs/testing.md.
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
