// swift-tools-version:5.7
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package between a user's package and one that asks for Apple's names. It does not know of them.

let package = Package(
    name: "Middle",
    products: [.library(name: "Middle", targets: ["Middle"])],
    dependencies: [.package(path: "../Library")],
    targets: [.target(name: "Middle", dependencies: [.product(name: "PathsOnly", package: "Library")])]
)
