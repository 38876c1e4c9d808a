// swift-tools-version:6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package that a user's package depends on, and that asks for one of Apple's names itself.

/// The identity of the package four folders up.
let netlinkReachability = String(Context.packageDirectory.split(separator: "/").dropLast(4).last ?? "")

let package = Package(
    name: "Library",
    products: [
        .library(name: "PathsOnly", targets: ["PathsOnly"]),
        .library(name: "LibraryNeighbour", targets: ["LibraryNeighbour"]),
    ],
    dependencies: [.package(path: "../../../..", traits: [])],
    targets: [
        .target(
            name: "PathsOnly",
            dependencies: [
                .product(
                    name: "LinuxNetwork", package: netlinkReachability, condition: .when(platforms: [.linux]))
            ],
            swiftSettings: [
                .unsafeFlags(["-module-alias", "Network=LinuxNetwork"], .when(platforms: [.linux]))
            ]
        ),
        // Does not compile if it sees any of the names.
        .target(name: "LibraryNeighbour"),
    ]
)
