// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

/// What the kernel, or a prediction, answers about a target.
struct PredictedAnswer: Hashable {
    var flags: String
    var interface: String?
    var gateway: String?
    var source: String?
    var isUndecided = false

    init(_ target: String, _ source: NetworkSource) {
        do throws(ReachabilityError) {
            let report = try NetworkReachability(target: try .host(target), source: source).blockingReport()
            flags = report.flags.letters
            interface = report.interface?.name
            gateway = report.gateway?.description
            self.source = report.sourceAddress?.description
        } catch {
            flags = "\(error.code)"
            isUndecided = error.code == .undecided
        }
    }
}
