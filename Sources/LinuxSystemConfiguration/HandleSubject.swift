// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import NetlinkReachability

/// The subject of a target, and the handles that evaluate it.
enum HandleSubject: Sendable {
    /// An address, a pair or the default path. Its flags are available at any time.
    case address(NetworkReachability)
    /// A name, which takes time to resolve. Until then, the flags are those of the default path.
    case name(NetworkReachability, meanwhile: NetworkReachability)
    /// The name of this host, which needs neither a resolver nor a network.
    case thisHost

    /// How long a name can be unresolved before it counts as not reachable.
    ///
    /// Shorter than the monitor's limit, because programs wait five seconds for the flags of a name.
    private static let resolutionTimeout = Duration.seconds(4)

    /// Reads a name or a numeric address.
    static func named(_ text: String) throws(ReachabilityError) -> HandleSubject {
        if text.isLocalhost, !text.hasPrefix(".") { return .thisHost }
        let target = try ReachabilityTarget.host(text)
        guard case .host = target.kind else { return .address(handle(target)) }
        var options = ReachabilityOptions()
        options.resolution.timeout = resolutionTimeout
        return .name(handle(target, options), meanwhile: handle(.defaultPath))
    }

    /// Creates a subject from an address.
    static func at(_ address: IPAddress) -> HandleSubject {
        .address(handle(.address(address)))
    }

    /// Creates a subject from a local address, a remote address, or both.
    static func between(_ local: IPAddress?, _ remote: IPAddress?) throws(ReachabilityError) -> HandleSubject
    {
        switch (local, remote) {
        case (let local?, let remote?):
            return .address(handle(try .pair(local: local, remote: remote)))
        case (nil, let remote?):
            return .at(remote)
        case (let local?, nil):
            var options = ReachabilityOptions()
            options.sourceAddress = local
            return .address(handle(.defaultPath, options))
        case (nil, nil):
            throw ReachabilityError(
                .invalidAddress, operation: "pair two addresses", message: "give one address at least")
        }
    }

    private static func handle(
        _ target: ReachabilityTarget,
        _ options: ReachabilityOptions = ReachabilityOptions()
    ) -> NetworkReachability {
        NetworkReachability(target: target, options: options, source: NetworkInUse.source)
    }
}

// MARK: - Flags

extension HandleSubject {
    /// The flags of this host.
    private static let ownFlags: ReachabilityFlags = [.reachable, .isLocalAddress, .isDirect]

    /// Evaluates now, and waits only for the kernel: a name has the flags of the default path.
    func flags() throws(ReachabilityError) -> ReachabilityFlags {
        switch self {
        case .address(let handle), .name(_, meanwhile: let handle): try handle.blockingFlags()
        case .thisHost: Self.ownFlags
        }
    }

    /// The handle that is monitored; `nil` for this host, whose flags do not change.
    private var monitored: NetworkReachability? {
        switch self {
        case .address(let handle), .name(let handle, meanwhile: _): handle
        case .thisHost: nil
        }
    }

    /// Whether a first callback is due.
    ///
    /// As on Apple's platforms, only for names.
    var owesFirstCallback: Bool {
        if case .address = self { false } else { true }
    }
}

// MARK: - Monitoring

extension HandleSubject {
    /// Calls a handler on a queue with the first flags, and with every change.
    ///
    /// - Returns: The observation; `nil` for this host, whose flags do not change.
    func observe(
        queue: DispatchQueue,
        _ handler: @escaping @Sendable (ReachabilityFlags) -> Void
    ) throws(ReachabilityError) -> NetworkObservation<ReachabilityFlags>? {
        guard let monitored else {
            queue.async { handler(Self.ownFlags) }
            return nil
        }
        return try monitored.observe(on: .queue(queue)) { result in
            // A callback cannot report an error, so the last flags stay valid.
            if case .success(let flags) = result { handler(flags) }
        }
    }
}

// MARK: - The network

/// The network that the functions evaluate: the kernel's network, or a test's network.
package enum NetworkInUse {
    /// The source of the targets that this task creates.
    ///
    /// A target keeps the source with which it was created. The value is local to the task, so concurrent tests do
    /// not share it.
    @TaskLocal package static var source = NetworkSource.kernel
}
