// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Resolves host names for questions and monitors, instead of the system's resolver.
///
/// Conform to it to use DNS over HTTPS, a service registry or a fixed table, and pass the resolver to
/// ``NetworkSource/resolving(with:)``:
///
/// ```swift
/// struct Registry: NameResolver {
///     let addresses: [String: [IPAddress]]
///
///     func resolve(
///         _ name: String,
///         families: ReachabilityOptions.Families,
///         timeout: Duration
///     ) -> HostResolution {
///         addresses[name].map(HostResolution.addresses) ?? .notFound
///     }
/// }
///
/// let source = try NetworkSource.kernel().resolving(with: Registry(addresses: table))
/// let reachability = try NetworkReachability(host: "db.internal", source: source)
/// ```
public protocol NameResolver: Sendable {
    /// Resolves a name, and returns when that is done or the time is over.
    ///
    /// The call can block. It runs on the thread of a synchronous question. For an asynchronous question and for a
    /// monitor it runs on one of at most 64 threads of the source; further names wait for one of them within their
    /// time limit, without a thread. It never runs on a thread of the concurrency runtime unless the program calls the
    /// synchronous form there. Calls can overlap, also for the same name.
    ///
    /// - Parameters:
    ///   - name: The host name as the program gave it; never a numeric address.
    ///   - families: The families that the program uses. Addresses of other families are ignored.
    ///   - timeout: How long the call can take. Returning later delays a synchronous question; an asynchronous one and
    ///     a monitor no longer wait for it then.
    /// - Returns: The result. A name that cannot be resolved is a result, not an error: its target is not reachable.
    /// - Throws: An error if the resolver itself cannot run. The question then throws ``ReachabilityError`` with the
    ///   code ``ReachabilityError/Code/resolverFailure`` and the error's text. A monitor delivers this error as a
    ///   failure, keeps the last flags and addresses, and tries again.
    func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration
    ) throws -> HostResolution
}

/// Runs a program's resolver.
final class CustomResolver: HostResolver {
    /// A resolver with a time limit of its own answers within this time after it.
    private static let grace = Duration.milliseconds(100)

    private let base: any NameResolver
    let threads = LookupThreads()

    init(_ base: any NameResolver) {
        self.base = base
    }

    func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration
    ) throws(RoutingFault) -> HostResolution {
        do {
            let resolution = try base.resolve(name, families: families, timeout: timeout)
            if case .addresses(let addresses) = resolution, addresses.isEmpty { return .notFound }
            return resolution
        } catch {
            throw RoutingFault(operation: "resolve \(name)", text: "\(error)")
        }
    }

    func begin(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration,
        countedBy work: InFlightCounter?,
        completion: @escaping @Sendable (ResolvedName) -> Void
    ) -> @Sendable () -> Void {
        threads.begin(
            within: timeout, grace: Self.grace,
            { (timeLeft) throws(RoutingFault) in
                try self.resolve(name, families: families, timeout: timeLeft)
            },
            completion: completion
        )
    }
}
