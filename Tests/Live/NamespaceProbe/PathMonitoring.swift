// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import NetlinkReachability
internal import NetlinkReachabilityTestKit
internal import RoutingModel
internal import SystemSupport

/// Observed paths of the live kernel with those that each handler received, on a clock that only ``settle()``
/// advances.
struct PathMonitoring {
    private struct Watched {
        let restriction: String
        let observation: NetworkObservation<NetworkPath>
        let received: Locked<[NetworkPath]>
    }

    private let clock = ManualClock()
    private let source: NetworkSource
    private let queue = DispatchQueue(label: "paths")
    private var watched: [Watched] = []

    /// Observes a path for each restriction: `any`, `required=TYPE` or `prohibited=TYPE`.
    init(_ restrictions: [String]) throws {
        let kernel = try KernelRouting()
        source = NetworkSource(
            routing: kernel,
            resolver: SystemResolver.shared,
            clock: ManualMonitorClock(clock),
            changes: { () throws(ReachabilityError) in try kernel.changes() }
        )
        for restriction in restrictions {
            let received = Locked<[NetworkPath]>([])
            let (required, prohibited) = try Self.types(restriction)
            let query = NetworkQuery.path(requiring: required, prohibiting: prohibited)
            let observation = try source.observe(query, on: .queue(queue)) { result in
                if case .success(let path) = result { received.withLock { $0.append(path) } }
            }
            watched.append(Watched(restriction: restriction, observation: observation, received: received))
        }
    }

    /// Advances the clock until no work is delayed.
    ///
    /// - Returns: For each restriction the paths since the last call, separated by `; `, then `|` and the path of a
    ///   newly opened source.
    func settle() throws -> [String] {
        for _ in 0..<3 {
            source.quiesce(queue)
            clock.advance(by: .seconds(1))
        }
        source.quiesce(queue)
        let fresh = NetworkSource(routing: try KernelRouting(), resolver: SystemResolver.shared)
        return try watched.map { one in
            let received = one.received.withLock { received in
                defer { received = [] }
                return received
            }
            let (required, prohibited) = try Self.types(one.restriction)
            let path = try fresh.blockingValue(of: .path(requiring: required, prohibiting: prohibited))
            guard one.observation.current == path else { throw Probe.Failure("not the path: \(path)") }
            return received.map(Self.words).joined(separator: "; ") + "|" + Self.words(path)
        }
    }

    private static func words(_ path: NetworkPath) -> String {
        (["\(path)"] + path.gateways.map { "via \($0)" }).joined(separator: " ")
    }

    private static func types(
        _ restriction: String
    ) throws -> (required: NetworkInterface.InterfaceType?, prohibited: Set<NetworkInterface.InterfaceType>) {
        let words = restriction.split(separator: "=").map(String.init)
        let type = words.last.flatMap(NetworkInterface.InterfaceType.init)
        switch (words.first, type) {
        case ("any", _): return (nil, [])
        case ("required", let type?): return (type, [])
        case ("prohibited", let type?): return (nil, [type])
        default: throw Probe.Failure("no restriction \(restriction)")
        }
    }
}
