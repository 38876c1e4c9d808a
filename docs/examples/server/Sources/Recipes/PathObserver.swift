// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability

/// The default path as a client's own protocol asks for it: the last one, and a sequence of changes.
///
/// It shares the monitor of its source, and ends with its last reference.
public final class PathObserver: Sendable {
    private let source: NetworkSource
    private let observation: NetworkObservation<NetworkPath>

    /// Begins to observe.
    ///
    /// - Throws: `ReachabilityError` if the monitor cannot run.
    public init(source: NetworkSource = .kernel) throws {
        self.source = source
        observation = try source.observe(.path()) { _ in }
    }

    /// The last path, without a system call; `nil` if none could be evaluated.
    public var currentPath: NetworkPath? { observation.current }

    /// The current path, then each change, until the task is cancelled.
    public func updates() -> NetworkUpdates<NetworkPath> { source.updates(of: .path()) }
}
