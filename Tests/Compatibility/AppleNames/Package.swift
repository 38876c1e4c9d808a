// swift-tools-version:6.1
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// The package of a user with sources from Apple's platforms: they import Apple's modules, the manifest asks for them,
// and no other target of the build sees them. docs/coming-from-apple.md explains why.

/// The identity of the package above: the name of its folder here, of its repository where it comes from a URL.
///
/// SwiftPM drops the aliases with a warning if they name the package differently.
let netlinkReachability = String(Context.packageDirectory.split(separator: "/").dropLast(3).last ?? "")

/// The modules with Apple's names, under their aliases.
let appleNames: Target.Dependency = .product(
    name: "AppleNames",
    package: netlinkReachability,
    moduleAliases: ["Network": "LinuxNetwork", "SystemConfiguration": "LinuxSystemConfiguration"],
    condition: .when(platforms: [.linux])
)

let package = Package(
    name: "AppleNames",
    // A library product for each target with the aliases: SwiftPM drops them for a target without a product, and for
    // two targets in one product.
    products: ["AppleCode5", "AppleCode6", "FlagsOnly", "Neighbour", "HTTPClient"].map {
        .library(name: $0, targets: [$0])
    },
    dependencies: [
        .package(path: "../../.."),
        .package(path: "Library"),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
    ],
    targets: [
        // The same sources twice, in both language modes.
        .target(name: "AppleCode5", dependencies: [appleNames], swiftSettings: [.swiftLanguageMode(.v5)]),
        .target(name: "AppleCode6", dependencies: [appleNames], swiftSettings: [.swiftLanguageMode(.v6)]),
        // Imports one of the modules; the package Library imports the other one.
        .target(name: "FlagsOnly", dependencies: [appleNames]),
        // Does not compile if it sees any of the names. No target with the aliases may depend on it: SwiftPM applies
        // the aliases to every target of the package that such a product consists of.
        .target(name: "Neighbour"),
        // Does not compile if it sees `Network`.
        .target(
            name: "HTTPClient",
            dependencies: [
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "LibraryNeighbour", package: "Library"),
            ]
        ),
        // Watches a network appear and disappear, in its own namespace.
        .executableTarget(
            name: "transitions",
            dependencies: [
                "AppleCode5", "AppleCode6", "FlagsOnly", .product(name: "PathsOnly", package: "Library"),
            ]
        ),
        .testTarget(name: "AppleNamesTests", dependencies: ["transitions"]),
    ]
)
