// swift-tools-version:6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// The package of a user with sources from Apple's platforms: they import Apple's modules, the manifest asks for them,
// and no other target of the build sees them. docs/coming-from-apple.md explains why.

/// The identity of the package above: the name of its folder here, of its repository where it comes from a URL.
let netlinkReachability = String(Context.packageDirectory.split(separator: "/").dropLast(3).last ?? "")

/// A module with one of Apple's names.
func module(_ name: String) -> Target.Dependency {
    .product(name: name, package: netlinkReachability, condition: .when(platforms: [.linux]))
}

/// Apple's names of modules.
func alias(_ aliases: String...) -> SwiftSetting {
    .unsafeFlags(aliases.flatMap { ["-module-alias", $0] }, .when(platforms: [.linux]))
}

let both = [module("LinuxNetwork"), module("LinuxSystemConfiguration")]
let aliases = alias("Network=LinuxNetwork", "SystemConfiguration=LinuxSystemConfiguration")

/// AsyncHTTPClient, which uses `Network` where it finds it, takes minutes to compile: `ASYNC_HTTP_CLIENT=1`.
let hasHTTPClient = Context.environment["ASYNC_HTTP_CLIENT"] == "1"

let package = Package(
    name: "AppleNames",
    dependencies: [
        .package(path: "../../..", traits: []),
        .package(path: "Library"),
        .package(path: "Middle"),
    ]
        + (hasHTTPClient
            ? [.package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0")] : []),
    targets: [
        // The same sources twice, in both language modes.
        .target(name: "AppleCode5", dependencies: both, swiftSettings: [aliases, .swiftLanguageMode(.v5)]),
        .target(name: "AppleCode6", dependencies: both, swiftSettings: [aliases]),
        // Imports one of the modules; the package Library imports the other one.
        .target(
            name: "FlagsOnly",
            dependencies: [module("LinuxSystemConfiguration")],
            swiftSettings: [alias("SystemConfiguration=LinuxSystemConfiguration")]
        ),
        // Does not compile if it sees any of the names, although it depends on a target that has them.
        .target(
            name: "Neighbour",
            dependencies: ["FlagsOnly", .product(name: "LibraryNeighbour", package: "Library")]),
        // Watches a network appear and disappear, in its own namespace.
        .executableTarget(
            name: "transitions",
            dependencies: [
                "AppleCode5", "AppleCode6", "FlagsOnly", "Neighbour",
                .product(name: "Middle", package: "Middle"),
            ]
        ),
        .testTarget(name: "AppleNamesTests", dependencies: ["transitions"]),
    ]
        // Does not compile if it sees `Network`.
        + (hasHTTPClient
            ? [
                .target(
                    name: "HTTPClient",
                    dependencies: [.product(name: "AsyncHTTPClient", package: "async-http-client")])
            ] : [])
)
