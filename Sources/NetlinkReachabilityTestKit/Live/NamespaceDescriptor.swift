// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import NetlinkReachability
internal import NetlinkRoute
internal import RoutingModel
internal import SystemSupport

/// A network namespace that an open descriptor keeps.
final class NamespaceDescriptor: Sendable {
    /// `CLONE_NEWNET`, which Glibc's headers hide unless GNU extensions are asked for.
    private static let network: Int32 = 0x4000_0000

    let descriptor: Int32

    /// Makes a namespace.
    init() throws(LiveNetwork.Failure) {
        typealias Unshare = @convention(c) (Int32) -> Int32
        let made = try Self.onThread { () -> Int32 in
            guard let unshare = dlsym(nil, "unshare"),
                unsafeBitCast(unshare, to: Unshare.self)(Self.network) == 0
            else { return -errno }
            let descriptor = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
            return descriptor < 0 ? -errno : descriptor
        }
        guard made >= 0 else {
            throw LiveNetwork.Failure(
                description: "cannot make a network namespace: \(SystemCallError.message(-made)): "
                    + "run the tests as root, or with `unshare -Ur swift test`")
        }
        descriptor = made
    }

    deinit {
        close(descriptor)
    }

    /// Runs a closure on a thread of its own in the namespace.
    func run<Value>(_ body: () throws -> Value) throws -> Value {
        typealias SetNamespace = @convention(c) (Int32, Int32) -> Int32
        let result: Result<Value, any Error> = try Self.onThread {
            Result {
                guard let setns = dlsym(nil, "setns"),
                    unsafeBitCast(setns, to: SetNamespace.self)(descriptor, Self.network) == 0
                else {
                    throw LiveNetwork.Failure(
                        description: "cannot enter the namespace: \(SystemCallError.message(errno))")
                }
                return try body()
            }
        }
        return try result.get()
    }

    /// Runs a closure on a new thread, and waits for it.
    private static func onThread<Value>(_ body: () -> Value) throws(LiveNetwork.Failure) -> Value {
        let thread = ThreadExecutor()
        nonisolated(unsafe) var value: Value?
        withoutActuallyEscaping(body) { body in
            nonisolated(unsafe) let body = body
            // A task has the task-local values of its caller, so a failed expectation is the running test's.
            Task(executorPreference: thread) {
                if thread.hasStarted { value = body() }
            }
            thread.wait()
        }
        guard let value else {
            throw LiveNetwork.Failure(
                description: "cannot start a thread: \(SystemCallError.message(EAGAIN))")
        }
        return value
    }
}

/// Runs one task, which does not suspend, on a thread of its own.
private final class ThreadExecutor: TaskExecutor {
    // The thread that makes the task writes it, only if there is no new thread, which would read it.
    private(set) nonisolated(unsafe) var hasStarted = true
    private let end = DispatchSemaphore(value: 0)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let hasStarted = BackgroundThread.start("netlink-namespace") { [self] in
            // Background threads block all signals, and a command would inherit that: it could not be ended.
            var none = sigset_t()
            sigemptyset(&none)
            pthread_sigmask(SIG_SETMASK, &none, nil)
            run(job)
        }
        guard !hasStarted else { return }
        self.hasStarted = false
        run(job)
    }

    private func run(_ job: UnownedJob) {
        job.runSynchronously(on: asUnownedTaskExecutor())
        end.signal()
    }

    /// Waits for the end of the task.
    func wait() {
        end.wait()
    }
}

// MARK: - The source

extension NamespaceDescriptor {
    /// The kernel of the namespace, asked by threads in it.
    func source() throws -> NetworkSource {
        let kernel = try run { try KernelRouting() }
        return NetworkSource(
            routing: NamespaceRouting(namespace: self, kernel: kernel), resolver: SystemResolver.shared,
            changes: { [self] () throws(ReachabilityError) in try entering(kernel.changes()) })
    }

    /// Runs a request to the kernel in the namespace.
    fileprivate func entering<Answer>(
        _ request: @autoclosure () throws(ReachabilityError) -> Answer
    ) throws(ReachabilityError) -> Answer {
        do {
            return try run(request)
        } catch {
            throw error as? ReachabilityError
                ?? ReachabilityError(operation: "enter a network namespace", message: "\(error)")
        }
    }
}

/// The kernel's answers, asked for by threads in the namespace.
private struct NamespaceRouting: RoutingSource {
    let namespace: NamespaceDescriptor
    let kernel: KernelRouting

    func answer(
        _ lookups: inout [RouteLookup],
        from first: Int
    ) throws(ReachabilityError) -> [InterfaceReading] {
        var answered = lookups
        let facts = try namespace.entering(kernel.answer(&answered, from: first))
        lookups = answered
        return facts
    }

    func facts(
        aboutInterface index: UInt32,
        detail: QueryDetail
    ) throws(ReachabilityError) -> InterfaceFacts? {
        try namespace.entering(kernel.facts(aboutInterface: index, detail: detail))
    }

    func links() throws(ReachabilityError) -> [Link] {
        try namespace.entering(kernel.links())
    }

    func rules() throws(ReachabilityError) -> [Rule] {
        try namespace.entering(kernel.rules())
    }

    func forwardingEnds(ofInterface index: UInt32) throws(ReachabilityError) -> Set<TunnelEnds> {
        try namespace.entering(kernel.forwardingEnds(ofInterface: index))
    }

    func wireGuardPeers(ofInterface index: UInt32) throws(ReachabilityError) -> WireGuardPeers? {
        try namespace.entering(kernel.wireGuardPeers(ofInterface: index))
    }

    func connectedPeers() -> [IPAddress] {
        (try? namespace.entering(kernel.connectedPeers())) ?? []
    }

    func sourceAddresses(
        for query: RouteQuery,
        after answer: RouteAnswer
    ) throws(ReachabilityError) -> [IPAddress] {
        try namespace.entering(kernel.sourceAddresses(for: query, after: answer))
    }

    func addresses() throws(ReachabilityError) -> [InterfaceAddress] {
        try namespace.entering(kernel.addresses())
    }

    func connect(_ query: RouteQuery) throws(ReachabilityError) -> ConnectOutcome? {
        try namespace.entering(kernel.connect(query))
    }

    func interfaceIndex(named name: String) throws(ReachabilityError) -> UInt32? {
        try namespace.entering(kernel.interfaceIndex(named: name))
    }

    func hardwareAddresses() throws(ReachabilityError) -> [Neighbour.Key: [UInt8]]? {
        try namespace.entering(kernel.hardwareAddresses())
    }

    func ssid(ofInterface index: UInt32) throws(ReachabilityError) -> [UInt8]? {
        try namespace.entering(kernel.ssid(ofInterface: index))
    }
}

/// A resolver without names.
struct NoNames: NameResolver {
    func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration
    ) async throws -> NetworkSource.NameResolution {
        throw LiveNetwork.Failure(
            description: "a live network resolves no names: pass a resolver to `resolving(with:)`")
    }
}
