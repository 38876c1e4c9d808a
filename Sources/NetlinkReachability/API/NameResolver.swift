// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import RoutingModel
internal import SystemSupport

/// Resolves host names for queries and monitors, instead of the system's resolver.
///
/// Conform to it to use DNS over HTTPS, a service registry or a fixed table, and pass the resolver to
/// ``NetworkSource/resolving(with:)``:
///
/// ```swift
/// struct Registry: NameResolver {
///     let client: RegistryClient
///
///     func resolve(
///         _ name: String,
///         families: ReachabilityOptions.Families,
///         timeout: Duration
///     ) async throws -> ReachabilityTarget.Resolution {
///         let addresses = try await client.addresses(of: name)
///         return addresses.isEmpty ? .notFound : .addresses(addresses)
///     }
/// }
///
/// let source = NetworkSource.kernel.resolving(with: Registry(client: client))
/// let reachability = try NetworkReachability(host: "db.internal", source: source)
/// ```
///
/// A resolver that blocks its thread belongs in a ``BlockingResolver``.
public protocol NameResolver: Sendable {
    /// Resolves a name.
    ///
    /// The call runs in its own task, which is cancelled when the result is no longer needed. It must not block the
    /// thread. Calls can overlap, even for the same name.
    ///
    /// - Parameters:
    ///   - name: The host name in the program's spelling; never a numeric address.
    ///   - families: The families that the program uses. Addresses of other families are ignored.
    ///   - timeout: The time limit of the call. Queries and monitors wait no longer than this.
    /// - Returns: The result. A name that cannot be resolved is a result, not an error: its target is not reachable.
    /// - Throws: An error if the resolver itself cannot run. The query then throws `ReachabilityError` with the
    ///   code `ReachabilityError.Code.resolverFailure`, the error's text, and the error itself as
    ///   `ReachabilityError.underlyingError`. A monitor delivers this error as a failure, keeps the last flags and
    ///   addresses, and tries again.
    func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration
    ) async throws -> ReachabilityTarget.Resolution
}

/// A resolver whose call blocks, such as one of a C library.
///
/// The calls run on at most 64 threads of this resolver, never on a thread of the concurrency runtime. Further names
/// wait for a free thread within their time limit.
///
/// ```swift
/// let resolver = BlockingResolver { name, families, timeout in try table.lookUp(name) }
/// ```
public struct BlockingResolver: NameResolver {
    /// A blocking call: the name, the families, and the time that is left for the call.
    public typealias Call =
        @Sendable (String, ReachabilityOptions.Families, Duration) throws -> ReachabilityTarget.Resolution

    let threads = LookupThreads()
    private let call: Call

    /// Creates a resolver from a call.
    public init(_ call: @escaping Call) {
        self.call = call
    }

    /// Makes the call on a thread of this resolver, while the task is suspended.
    public func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration
    ) async throws -> ReachabilityTarget.Resolution {
        let lookup: LookupThreads.Call = { (timeLeft) throws(ReachabilityError) in
            do {
                return try call(name, families, timeLeft)
            } catch {
                throw ReachabilityError(resolving: name, error)
            }
        }
        return try await LookupThreads.result { threads.begin(within: timeout, lookup, completion: $0) }.get()
    }
}

/// Runs a program's resolver.
final class CustomResolver: HostResolver {
    /// How long to wait after the time limit for a resolver that enforces the limit itself.
    private static let grace = Duration.milliseconds(100)
    private static let timers = DispatchQueue(label: "netlink-resolve.timers")

    private let base: any NameResolver

    init(_ base: any NameResolver) {
        self.base = base
    }

    func begin(
        _ query: NameQuery,
        countedBy work: InFlightCounter?,
        completion: @escaping @Sendable (ResolvedName) -> Void
    ) -> @Sendable () -> Void {
        let pending = Locked<(@Sendable (ResolvedName) -> Void)?>(completion)
        let base = base
        let task = Task.detached(executorPreference: ResolverExecutor.shared) {
            let result: ResolvedName
            do {
                let resolution = try await base.resolve(
                    query.name, families: query.families, timeout: query.timeout)
                result = .success(resolution == .addresses([]) ? .notFound : resolution)
            } catch {
                result = .failure(ReachabilityError(resolving: query.name, error))
            }
            pending.withLock { $0.take() }?(result)
        }
        Self.timers.asyncAfter(deadline: (query.timeout + Self.grace).deadline) {
            guard let completion = pending.withLock({ $0.take() }) else { return }
            task.cancel()
            completion(.success(.timedOut))
        }
        return {
            pending.withLock { $0 = nil }
            task.cancel()
        }
    }
}

/// Runs the tasks of resolvers on threads outside of the concurrency runtime.
///
/// A synchronous query can block all threads of the runtime while it waits for such a task.
private final class ResolverExecutor: TaskExecutor {
    static let shared = ResolverExecutor()

    private let queue = DispatchQueue(label: "netlink-resolve.tasks", attributes: .concurrent)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

extension ReachabilityError {
    /// The error of a resolver that throws.
    fileprivate init(resolving name: String, _ error: any Error) {
        self =
            error as? ReachabilityError
            ?? ReachabilityError(
                .resolverFailure, operation: "resolve \(name)", message: "\(error)", underlyingError: error)
    }
}
