// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A resolver that returns what is known already.
struct KnownResolution: HostResolver {
    var result: ResolvedName

    func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration
    ) throws(RoutingFault) -> HostResolution {
        try result.get()
    }
}
