// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import Synchronization

/// A lamp that shows how this host reaches a server.
public final class UplinkIndicator: Sendable {
    /// What the lamp shows.
    public enum Light: Sendable {
        /// There is no way to the server.
        case red
        /// There is one that costs money, or that has to be set up first.
        case yellow
        /// There is one.
        case green
    }

    private let reachability: NetworkReachability
    private let current = Mutex(Light.red)

    /// Makes a lamp that is red.
    public init(host: String, source: NetworkSource? = nil) throws {
        reachability = try NetworkReachability(host: host, source: source)
    }

    /// What the lamp shows now.
    public var light: Light { current.withLock { $0 } }

    /// Has the lamp follow the network.
    public func start() throws {
        try reachability.start { [weak self] flags in
            self?.current.withLock { $0 = Light(flags) }
        }
    }
}

extension UplinkIndicator.Light {
    init(_ flags: ReachabilityFlags) {
        if !isNetworkReachable(flags: flags) {
            self = .red
        } else if flags.contains(.isWWAN) || flags.contains(.connectionRequired) {
            self = .yellow
        } else {
            self = .green
        }
    }
}
