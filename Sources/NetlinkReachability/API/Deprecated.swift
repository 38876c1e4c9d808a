// SPDX-License-Identifier: Apache-2.0

// Names of version 0.1, which version 0.3 removes.

public import Dispatch
public import Glibc

extension NetworkReachability {
    /// Creates a handle for the address of a socket address.
    @available(*, deprecated, message: "use init(target: .sockaddr(sockaddr, length: length))")
    public convenience init(
        sockaddr: UnsafePointer<sockaddr>,
        length: socklen_t,
        options: ReachabilityOptions = ReachabilityOptions(),
        source: NetworkSource? = nil
    ) throws(ReachabilityError) {
        try self.init(target: .sockaddr(sockaddr, length: length), options: options, source: source)
    }

    /// Creates a handle for a pair of addresses.
    @available(*, deprecated, message: "use init(target: .pair(local: local, remote: remote))")
    public convenience init(
        local: IPAddress,
        remote: IPAddress,
        options: ReachabilityOptions = ReachabilityOptions(),
        source: NetworkSource? = nil
    ) throws(ReachabilityError) {
        try self.init(target: .pair(local: local, remote: remote), options: options, source: source)
    }

    /// Calls a handler with the current flags, and then whenever they change; not while evaluations fail.
    @available(
        *, deprecated, message: "use start(.flags, on: .queue(queue)), whose handler gets failures too"
    )
    public func start(
        queue: DispatchQueue,
        initial: InitialValue = .deliver,
        _ handler: @escaping @Sendable (ReachabilityFlags) -> Void
    ) throws(ReachabilityError) {
        try start(.flags, on: .queue(queue), initial: initial) { result in
            if case .success(let flags) = result { handler(flags) }
        }
    }

    /// What the monitor of this handle's source has done.
    @available(*, deprecated, message: "use monitorCounters of the NetworkSource")
    public var monitorCounters: MonitorCounters { source.monitorCounters }
}

extension ReachabilityFlags {
    /// Apple's older name of ``connectionOnTraffic``.
    @available(*, deprecated, renamed: "connectionOnTraffic")
    public static let connectionAutomatic = connectionOnTraffic
}
