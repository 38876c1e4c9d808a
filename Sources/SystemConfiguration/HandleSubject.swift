// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import NetlinkReachability

/// What a target is about, and the handles that answer for it.
enum HandleSubject: Sendable {
    /// An address, a pair or the default path: its flags can be had at any time.
    case address(NetworkReachability)
    /// A name, which takes time to resolve; until then the default path speaks for it.
    case name(NetworkReachability, meanwhile: NetworkReachability)
    /// The name of this host itself, which needs neither resolver nor network.
    case thisHost

    /// How long the resolver may take before a name counts as not reachable.
    ///
    /// Shorter than the engine's own limit: programs wait five seconds for the verdict on a name.
    private static let resolutionTimeout = Duration.seconds(4)

    /// Reads a name or a numeric address.
    static func named(_ text: String) throws(ReachabilityError) -> HandleSubject {
        if isThisHost(text) { return .thisHost }
        let target = try ReachabilityTarget.host(text)
        guard case .host = target.kind else { return .address(try handle(target)) }
        var options = ReachabilityOptions()
        options.resolutionTimeout = resolutionTimeout
        return .name(try handle(target, options), meanwhile: try handle(.defaultPath))
    }

    /// Takes an address.
    static func at(_ address: IPAddress) throws(ReachabilityError) -> HandleSubject {
        .address(try handle(.address(address)))
    }

    /// Takes a local address, a remote one, or both.
    static func between(_ local: IPAddress?, _ remote: IPAddress?) throws(ReachabilityError) -> HandleSubject
    {
        switch (local, remote) {
        case (let local?, let remote?):
            return .address(try handle(.pair(local: local, remote: remote)))
        case (nil, let remote?):
            return try .at(remote)
        case (let local?, nil):
            var options = ReachabilityOptions()
            options.source = local
            return .address(try handle(.defaultPath, options))
        case (nil, nil):
            throw ReachabilityError(
                .invalidAddress, operation: "pair two addresses", message: "give one address at least")
        }
    }

    private static func handle(
        _ target: ReachabilityTarget,
        _ options: ReachabilityOptions = ReachabilityOptions()
    ) throws(ReachabilityError) -> NetworkReachability {
        try NetworkReachability(target: target, options: options, source: NetworkInUse.source)
    }

    /// Whether a name is this host's own everywhere, by RFC 6761: `localhost` and what ends in `.localhost`.
    private static func isThisHost(_ text: String) -> Bool {
        var name = text.lowercased()[...]
        if name.hasSuffix(".") { name = name.dropLast() }
        return name == "localhost" || (name.hasSuffix(".localhost") && !name.hasPrefix("."))
    }
}

// MARK: - Flags

extension HandleSubject {
    /// The flags of this host itself.
    private static let ownFlags: ReachabilityFlags = [.reachable, .isLocalAddress, .isDirect]

    /// Asks now, without waiting for anything but the kernel: a name is judged by the default path.
    func flags() throws(ReachabilityError) -> ReachabilityFlags {
        switch self {
        case .address(let handle), .name(_, meanwhile: let handle):
            do {
                return try handle.flags()
            } catch  where error.code == .unknownInterface {
                // It can come: until then there is no way through it.
                return []
            }
        case .thisHost:
            return Self.ownFlags
        }
    }

    /// The last flags while it is monitored; `nil` for a name that is not resolved yet.
    var currentFlags: ReachabilityFlags? {
        switch self {
        case .address(let handle), .name(let handle, meanwhile: _): handle.currentFlags
        case .thisHost: Self.ownFlags
        }
    }

    /// Whether Apple owes a first callback: to names, and to nothing else.
    var owesFirstCallback: Bool {
        if case .address = self { false } else { true }
    }
}

// MARK: - Monitoring

extension HandleSubject {
    /// Has a handler called on a queue: with the first flags, and with every change.
    func start(
        queue: DispatchQueue,
        _ handler: @escaping @Sendable (ReachabilityFlags) -> Void
    ) throws(ReachabilityError) {
        switch self {
        case .address(let handle), .name(let handle, meanwhile: _):
            try handle.start(queue: queue, handler)
        case .thisHost:
            queue.async { handler(Self.ownFlags) }
        }
    }

    /// Has nothing called any more.
    func stop() {
        switch self {
        case .address(let handle), .name(let handle, meanwhile: _): handle.stop()
        case .thisHost: break
        }
    }
}
