// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel
internal import SystemSupport

/// Whether anything answers on the default path of the calling thread's network namespace, as a recorder states it.
///
/// The library's monitor reads the connections, on its own thread, as long as the value exists.
struct EvidenceWatch: Sendable {
    private let observation: NetworkObservation<NetworkEvidence>
    private let news: EventFD
    private let newest: Locked<NetworkEvidence>
    /// The newest evidence that the recorder has taken.
    private var known: StatedEvidence?

    init() throws(ReachabilityError) {
        let news = try Result { () throws(SystemCallError) in try EventFD() }
            .mapError(ReachabilityError.init).get()
        let newest = Locked(NetworkEvidence())
        observation = try NetworkSource.currentNamespace().observe(.evidence(), on: .onMonitorThread) {
            result in
            newest.withLock { $0 = (try? result.get()) ?? NetworkEvidence() }
            news.signal()
        }
        (self.news, self.newest) = (news, newest)
    }

    /// Readable when the verdict has changed.
    var descriptor: Int32 { news.descriptor }

    /// The evidence, if it is not the one that was taken last.
    mutating func takeChange(at now: Recording.Time) -> NetworkEvidence? {
        news.reset()
        let evidence = newest.withLock(\.self)
        guard evidence != known?.value else { return nil }
        known = StatedEvidence(evidence, at: now)
        return evidence
    }

    /// The present evidence, with its present age.
    mutating func state(at now: Recording.Time) -> NetworkEvidence {
        _ = takeChange(at: now)
        return known?.at(now) ?? NetworkEvidence()
    }
}
