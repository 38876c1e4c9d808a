// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

/// What the kernel, or a prediction, answers about a target.
struct PredictedAnswer: Hashable {
    var flags: String
    var interface: String?
    var gateway: String?
    var source: String?
    /// Whether the answer is undecided, or what carries a tunnel on its way: the tunnel then counts as carried.
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
            isUndecided = report.carriers.contains { $0.evidence == .unknown }
        } catch {
            flags = "\(error.code)"
            isUndecided = error.code == .undecided
        }
    }
}
