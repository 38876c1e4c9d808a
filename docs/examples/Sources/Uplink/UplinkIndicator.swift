// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import Synchronization

/// A lamp that shows whether this host can reach a server.
public final class UplinkIndicator: Sendable {
    /// The colors of the lamp.
    public enum Light: Sendable {
        /// The server is not reachable.
        case red
        /// The server is reachable over a cellular link, or after a connection is made.
        case yellow
        /// The server is reachable.
        case green
    }

    private let reachability: NetworkReachability
    private let current = Mutex(Light.red)
    private let observation = Mutex<NetworkObservation<ReachabilityFlags>?>(nil)

    /// Creates a lamp that is red until it is started.
    public init(host: String, source: NetworkSource = .kernel) throws {
        reachability = try NetworkReachability(host: host, source: source)
    }

    /// The current color.
    public var light: Light { current.withLock { $0 } }

    /// Starts to follow the network.
    public func start() throws {
        let begun = try reachability.observe { [weak self] result in
            guard case .success(let flags) = result else { return }
            self?.current.withLock { $0 = Light(flags) }
        }
        observation.withLock { $0 = begun }
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
