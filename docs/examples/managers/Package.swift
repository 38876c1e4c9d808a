// swift-tools-version:6.1
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A program that asks the managers of the network: the trait NetworkManagers brings libsystemd. The trait CommandLine
// is for `--product netflags` alone.
let package = Package(
    name: "managers",
    dependencies: [
        .package(
            name: "swift-netlink-reachability", path: "../../..", traits: ["CommandLine", "NetworkManagers"])
    ],
    targets: [
        .executableTarget(
            name: "managers",
            dependencies: [
                .product(name: "LinuxNetwork", package: "swift-netlink-reachability"),
                .product(name: "NetlinkReachability", package: "swift-netlink-reachability"),
                .product(name: "NetworkManagers", package: "swift-netlink-reachability"),
            ],
            swiftSettings: [.swiftLanguageMode(.v6)]
        )
    ]
)
