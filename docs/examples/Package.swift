// swift-tools-version:6.1
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// Programs as a user would write them: each depends on the products and on nothing else.
let package = Package(
    name: "examples",
    dependencies: [
        .package(name: "swift-netlink-reachability", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "ask",
            dependencies: [
                .product(name: "NetlinkReachability", package: "swift-netlink-reachability")
            ],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
        // Code that reacts to the network, and its tests in networks that do not exist: docs/testing.md.
        .target(
            name: "Uplink",
            dependencies: [
                .product(name: "NetlinkReachability", package: "swift-netlink-reachability")
            ],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
        .testTarget(
            name: "UplinkTests",
            dependencies: [
                "Uplink",
                .product(name: "NetlinkReachability", package: "swift-netlink-reachability"),
                .product(name: "NetlinkReachabilityTestKit", package: "swift-netlink-reachability"),
            ],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
    ]
)
