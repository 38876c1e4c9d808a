// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import RoutingModel
internal import SystemSupport

/// The result of resolving a name.
///
/// A failure concerns the resolver and says nothing about the name.
package typealias ResolvedName = Result<ReachabilityTarget.Resolution, ReachabilityError>

/// A name to resolve.
package struct NameQuery: Hashable, Sendable, CustomStringConvertible {
    package let name: String
    /// The wanted address families.
    package let families: ReachabilityOptions.Families
    /// The time limit.
    package let timeout: Duration

    package init(_ name: String, families: ReachabilityOptions.Families, timeout: Duration) {
        (self.name, self.families, self.timeout) = (name, families, timeout)
    }

    /// Creates a query with the families and the time limit of some options.
    package init(_ name: String, _ options: ReachabilityOptions) {
        self.init(name, families: options.families, timeout: options.resolution.timeout)
    }

    package var description: String { name }
}

/// Turns names into addresses.
package protocol HostResolver: Sendable {
    /// Resolves a name while the calling thread waits.
    ///
    /// - Returns: The resolution. A name that cannot be resolved is also a resolution.
    /// - Throws: An error if the resolver cannot run. It says nothing about the name.
    func resolve(_ query: NameQuery) throws(ReachabilityError) -> ReachabilityTarget.Resolution

    /// Begins to resolve a name for a monitor or a task, and returns at once.
    ///
    /// - Parameters:
    ///   - query: The name.
    ///   - work: Counts the resolution as in flight. A resolver that hangs on purpose is not counted meanwhile.
    ///   - completion: Called once with the result, on any thread, at the end of the time limit at the latest.
    /// - Returns: A closure that cancels the resolution: the completion is not called, unless its call has begun.
    func begin(
        _ query: NameQuery,
        countedBy work: InFlightCounter?,
        completion: @escaping @Sendable (ResolvedName) -> Void
    ) -> @Sendable () -> Void
}

extension HostResolver {
    /// Begins to resolve a name, and waits for the result.
    package func resolve(_ query: NameQuery) throws(ReachabilityError) -> ReachabilityTarget.Resolution {
        try begunResults(of: [query])[0].get()
    }

    /// Resolves names concurrently while the calling thread waits.
    ///
    /// - Returns: The results, in the order of the names.
    package func resolve(_ names: [NameQuery]) -> [ResolvedName] {
        // A single name may need no other thread.
        guard names.count == 1 else { return begunResults(of: names) }
        return [Result { () throws(ReachabilityError) in try resolve(names[0]) }]
    }

    private func begunResults(of names: [NameQuery]) -> [ResolvedName] {
        let results = Locked([ResolvedName](repeating: .success(.timedOut), count: names.count))
        let group = DispatchGroup()
        for (index, name) in names.enumerated() {
            group.enter()
            _ = begin(name, countedBy: nil) { result in
                results.withLock { $0[index] = result }
                group.leave()
            }
        }
        group.wait()
        return results.withLock { $0 }
    }

    /// Resolves a name while the task is suspended.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    func resolved(_ name: NameQuery) async throws(CancellationError) -> ResolvedName {
        try await LookupThreads.result { begin(name, countedBy: nil, completion: $0) }
    }
}

extension ReachabilityTarget {
    /// The resolution of a name.
    public enum Resolution: Hashable, Sendable {
        /// The addresses in the resolver's order, at least one.
        case addresses([IPAddress])
        /// The name does not exist, or has no address of the wanted families.
        case notFound
        /// A temporary failure: a server failed or could not be reached.
        case failed(String)
        /// The name was not resolved within the time limit.
        case timedOut
    }
}

extension ReachabilityTarget.Resolution {
    /// The addresses that sockets connect to for this name; empty if the name has no addresses.
    ///
    /// Hosts files and filtering name servers map names to 0.0.0.0 or `::`. connect(2) treats these as loopback
    /// addresses. They mean the default path only if the caller writes them as an address.
    package var destinations: [IPAddress] {
        guard case .addresses(let addresses) = self else { return [] }
        return addresses.map { address in
            guard address.unmapped.isUnspecified else { return address }
            return address.unmapped.family == .v4 ? .loopbackV4 : .loopbackV6
        }
    }

    /// Why a name has no addresses; `nil` if it has addresses.
    package func failure(of name: String) -> ReachabilityReason? {
        switch self {
        case .addresses: nil
        case .notFound: ReachabilityReason(.nameNotFound, name)
        case .failed(let message): ReachabilityReason(.nameNotResolved, name, other: message)
        case .timedOut: ReachabilityReason(.nameTimedOut, name)
        }
    }
}
