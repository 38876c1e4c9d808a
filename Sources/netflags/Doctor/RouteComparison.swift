// SPDX-License-Identifier: Apache-2.0

import NetlinkRoute
import RoutingModel

/// The routes of the kernel's tables against those that libnl's own route cache keeps of them.
struct RouteComparison: Hashable {
    /// The most routes that libnl's cache is loaded with: at ten times as many it takes minutes.
    static let limit = 50_000

    let kernel: KernelDiagnosis.RouteCounts
    /// What libnl kept; `nil` when it was not asked.
    let libnl: KernelDiagnosis.RouteCounts?

    /// Counts now.
    static func now() throws(ReachabilityError) -> RouteComparison {
        let kernel = try KernelDiagnosis.kernelRoutes()
        guard kernel.total <= limit else { return RouteComparison(kernel: kernel, libnl: nil) }
        return RouteComparison(kernel: kernel, libnl: try KernelDiagnosis.libnlRoutes())
    }

    /// Why libnl was not asked; `nil` when it was.
    var skipReason: String? {
        guard libnl == nil else { return nil }
        return "libnl's cache was not loaded: with more than \(Self.limit) routes it takes minutes, "
            + "because its time grows with their square"
    }

    /// How many routes of a family libnl lost; `nil` when it was not asked.
    ///
    /// The table can change between the two counts; a negative difference counts as zero.
    func lost(_ family: KeyPath<KernelDiagnosis.RouteCounts, Int>) -> Int? {
        libnl.map { max(0, kernel[keyPath: family] - $0[keyPath: family]) }
    }
}
