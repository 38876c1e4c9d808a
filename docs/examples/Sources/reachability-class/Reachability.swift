// SPDX-License-Identifier: Apache-2.0

// Nothing here is specific to Linux: the manifest provides the module.

import Dispatch
import SystemConfiguration

/// Calls one closure when a target becomes reachable, and another when it becomes unreachable.
///
/// Both closures run on the main queue.
final class Reachability: @unchecked Sendable {
    // Sendable: the closures are set before the start and not changed later, and `wasReachable` is used on `queue`
    // only.

    enum Failure: Error {
        case target(Int32)
        case monitor(Int32)
    }

    var whenReachable: (@Sendable (Reachability) -> Void)?
    var whenUnreachable: (@Sendable (Reachability) -> Void)?

    private let target: SCNetworkReachability
    private let queue = DispatchQueue(label: "Reachability")
    private var wasReachable: Bool?

    /// Observes a host, or the default path without one.
    init(host: String? = nil) throws(Failure) {
        var address = sockaddr()
        address.sa_len = UInt8(MemoryLayout<sockaddr>.size)
        address.sa_family = sa_family_t(AF_INET)
        let target =
            if let host { SCNetworkReachabilityCreateWithName(nil, host) } else {
                SCNetworkReachabilityCreateWithAddress(nil, &address)
            }
        guard let target else { throw .target(SCError()) }
        self.target = target
    }

    deinit {
        stop()
    }

    func start() throws(Failure) {
        let box = Box(self)
        var context = SCNetworkReachabilityContext(
            version: 0,
            info: Unmanaged.passUnretained(box).toOpaque(),
            retain: { UnsafeRawPointer(Unmanaged<Box>.fromOpaque($0).retain().toOpaque()) },
            release: { Unmanaged<Box>.fromOpaque($0).release() },
            copyDescription: nil
        )
        let callback: SCNetworkReachabilityCallBack = { _, flags, info in
            guard let info else { return }
            Unmanaged<Box>.fromOpaque(info).takeUnretainedValue().owner?.take(flags)
        }
        // The target retains the box from here on.
        withExtendedLifetime(box) {
            _ = SCNetworkReachabilitySetCallback(target, callback, &context)
        }
        guard SCNetworkReachabilitySetDispatchQueue(target, queue) else { throw .monitor(SCError()) }
        // A target with an address gets no first callback.
        queue.async {
            var flags = SCNetworkReachabilityFlags()
            if SCNetworkReachabilityGetFlags(self.target, &flags) { self.take(flags) }
        }
    }

    func stop() {
        SCNetworkReachabilitySetCallback(target, nil, nil)
        SCNetworkReachabilitySetDispatchQueue(target, nil)
    }

    /// Runs on the queue.
    private func take(_ flags: SCNetworkReachabilityFlags) {
        let automatic = flags.contains(.connectionOnDemand) || flags.contains(.connectionOnTraffic)
        let isReachable =
            flags.contains(.reachable)
            && (!flags.contains(.connectionRequired) || (automatic && !flags.contains(.interventionRequired)))
        guard isReachable != wasReachable else { return }
        wasReachable = isReachable
        let closure = isReachable ? whenReachable : whenUnreachable
        DispatchQueue.main.async { closure?(self) }
    }

    /// The object that the context retains; it holds the owner weakly, so that the owner can be released.
    private final class Box {
        weak var owner: Reachability?

        init(_ owner: Reachability) {
            self.owner = owner
        }
    }
}
