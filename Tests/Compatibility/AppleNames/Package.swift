// swift-tools-version:6.1
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package as a user has it who brings sources from Apple's platforms: they import Apple's modules, the manifest
// asks for them, and nobody else in the build sees them. docs/coming-from-apple.md tells why this way.

/// The identity of the package above: the name of its folder here, of its repository where it comes from a URL.
///
/// SwiftPM drops the aliases, with no more than a warning, when they name the package by anything else.
let netlinkReachability = String(Context.packageDirectory.split(separator: "/").dropLast(2).last ?? "")

/// Everything that Apple's names stand for here; one more is one more line.
let appleNames: [Target.Dependency] = [
    "SystemConfiguration", "Network",
].map { name in
    .product(
        name: name,
        package: netlinkReachability,
        moduleAliases: [name: "Linux" + name],
        condition: .when(platforms: [.linux])
    )
}

let package = Package(
    name: "AppleNames",
    // A library product for each target that takes the aliases: SwiftPM drops them for targets in none, and where
    // two of them share one.
    products: ["AppleCode5", "AppleCode6", "Neighbour", "HTTPClient"].map {
        .library(name: $0, targets: [$0])
    },
    dependencies: [
        .package(path: "../../.."),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
    ],
    targets: [
        // The same sources twice, in both language modes.
        .target(name: "AppleCode5", dependencies: appleNames, swiftSettings: [.swiftLanguageMode(.v5)]),
        .target(name: "AppleCode6", dependencies: appleNames, swiftSettings: [.swiftLanguageMode(.v6)]),
        // Refuses to compile where it sees any of the names. No target that takes them may lead to it: SwiftPM hands
        // the aliases on to whatever of its own package such a product is made of.
        .target(name: "Neighbour"),
        // Breaks where it sees `Network`.
        .target(
            name: "HTTPClient",
            dependencies: [.product(name: "AsyncHTTPClient", package: "async-http-client")]
        ),
        // Watches a network come and go, in a namespace of its own.
        .executableTarget(
            name: "transitions",
            dependencies: ["AppleCode5", "AppleCode6"]
        ),
        .testTarget(name: "AppleNamesTests", dependencies: ["transitions"]),
    ]
)
