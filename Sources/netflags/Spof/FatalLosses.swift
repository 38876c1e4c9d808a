// SPDX-License-Identifier: Apache-2.0

/// Metrics of the losses that would cut targets off.
struct FatalLosses {
    private static let name = "netflags_fatal_losses"

    private var metrics = MetricsText([
        .init(name, "How many things of a kind each cut the target off if they alone are lost.")
    ])
    private var targets: Set<String> = []

    /// Adds a target, once; one that is not reachable has no sample.
    mutating func add(_ target: String, _ answer: Answer, _ losses: [Loss]) {
        guard answer.isReachable == true, targets.insert(target).inserted else { return }
        for kind in Loss.Kind.allCases {
            let count = losses.count { $0.kind == kind && $0.outcome == .lost }
            metrics.add(Self.name, [("target", target), ("kind", kind.rawValue)], "\(count)")
        }
    }

    func write(to buffer: inout ByteBuffer) { metrics.write(to: &buffer) }
}
