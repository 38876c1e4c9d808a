// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

/// What the kernel, or a prediction, answers about a target.
struct PredictedAnswer: Hashable {
    var flags: String
    var interface: String?
    var gateway: String?
    var source: String?
    /// The interfaces that can carry the packets of a tunnel.
    var carriers: Set<String> = []
    /// Whether there is no answer, because something decides that is not known.
    var isUndecided = false

    init(_ text: String, _ source: NetworkSource) {
        self.init(Result { () throws(ReachabilityError) in try ReachabilityTarget.host(text) }, source)
    }

    init(_ target: ReachabilityTarget, _ source: NetworkSource) {
        self.init(.success(target), source)
    }

    private init(_ target: Result<ReachabilityTarget, ReachabilityError>, _ source: NetworkSource) {
        do throws(ReachabilityError) {
            let report = try NetworkReachability(target: target.get(), source: source).blockingReport()
            flags = report.flags.letters
            interface = report.interface?.name
            gateway = report.gateway?.description
            self.source = report.sourceAddress?.description
            carriers = Set(report.carriers.compactMap { $0.interface?.name })
        } catch {
            flags = "\(error.code)"
            isUndecided = error.code == .undecided
        }
    }
}
