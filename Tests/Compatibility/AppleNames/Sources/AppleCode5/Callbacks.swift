// SPDX-License-Identifier: Apache-2.0

// swift-format-ignore-file: NeverForceUnwrap

// Callbacks in the forms that there are: a literal, a global function, a constant of the C type, one inside a type of
// the main actor that is called elsewhere; on queues and run loops.

import Foundation
import SystemConfiguration

/// Forwards its calls.
final class Relay: @unchecked Sendable {
    let report: (Bool) -> Void
    let reachability: SCNetworkReachability
    let queue = DispatchQueue(label: "relay")

    init(_ report: @escaping (Bool) -> Void) {
        self.report = report
        var address = sockaddr_in()
        address.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
        address.sin_family = sa_family_t(AF_INET)
        inet_aton("198.51.100.1", &address.sin_addr)
        reachability = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                SCNetworkReachabilityCreateWithAddress(nil, $0)!
            }
        }
    }

    var context: SCNetworkReachabilityContext {
        var context = SCNetworkReachabilityContext(
            version: 0, info: nil, retain: nil, release: nil, copyDescription: nil)
        context.info = Unmanaged.passUnretained(self).toOpaque()
        return context
    }

    func stop() {
        queue.sync {
            _ = SCNetworkReachabilitySetCallback(reachability, nil, nil)
            _ = SCNetworkReachabilitySetDispatchQueue(reachability, nil)
        }
    }
}

func globalCallback(
    reachability: SCNetworkReachability, flags: SCNetworkReachabilityFlags, info: UnsafeMutableRawPointer?
) {
    Unmanaged<Relay>.fromOpaque(info!).takeUnretainedValue().report(flags.contains(.reachable))
}

let constantCallback:
    @convention(c) (SCNetworkReachability, SCNetworkReachabilityFlags, UnsafeMutableRawPointer?) -> Void = {
        _, flags, info in
        guard let info else { return }
        Unmanaged<Relay>.fromOpaque(info).takeUnretainedValue().report(flags.contains(.reachable))
    }

extension Relay {
    func startWithLiteral() {
        var context = context
        SCNetworkReachabilitySetCallback(
            reachability,
            { (_, flags, info) in
                Unmanaged<Relay>.fromOpaque(info!).takeUnretainedValue().report(flags.contains(.reachable))
            }, &context)
        SCNetworkReachabilitySetDispatchQueue(reachability, queue)
    }

    func startWithFunction() {
        var context = context
        if SCNetworkReachabilitySetCallback(reachability, globalCallback, &context) {
            _ = SCNetworkReachabilitySetDispatchQueue(reachability, queue)
        }
    }

    func startWithConstant() {
        var context = context
        SCNetworkReachabilitySetDispatchQueue(reachability, queue)
        SCNetworkReachabilitySetCallback(reachability, constantCallback, &context)
    }

    func startOnMainRunLoop() {
        var context = context
        SCNetworkReachabilitySetCallback(reachability, globalCallback, &context)
        SCNetworkReachabilityScheduleWithRunLoop(
            reachability, CFRunLoopGetMain(), CFRunLoopMode.defaultMode.rawValue)
    }

    func stopOnMainRunLoop() {
        SCNetworkReachabilityUnscheduleFromRunLoop(
            reachability, CFRunLoopGetMain(), CFRunLoopMode.defaultMode.rawValue)
        SCNetworkReachabilitySetCallback(reachability, nil, nil)
    }

    func startInCommonModes() {
        var context = context
        SCNetworkReachabilitySetCallback(reachability, globalCallback, &context)
        SCNetworkReachabilityScheduleWithRunLoop(reachability, CFRunLoopGetMain(), kCFRunLoopCommonModes)
    }

    func stopInCommonModes() {
        SCNetworkReachabilityUnscheduleFromRunLoop(reachability, CFRunLoopGetMain(), kCFRunLoopCommonModes)
        SCNetworkReachabilitySetCallback(reachability, nil, nil)
    }
}

@MainActor final class MainActorClient {
    private let relay: Relay

    init(_ relay: Relay) {
        self.relay = relay
    }

    /// The literals below are written in the main actor and called on the relay's queue.
    func start() {
        var context = SCNetworkReachabilityContext(
            version: 0,
            info: Unmanaged.passUnretained(relay).toOpaque(),
            retain: { info in
                UnsafeRawPointer(Unmanaged<Relay>.fromOpaque(info).retain().toOpaque())
            },
            release: { info in Unmanaged<Relay>.fromOpaque(info).release() },
            copyDescription: nil
        )
        SCNetworkReachabilitySetCallback(
            relay.reachability,
            { _, flags, info in
                guard let info else { return }
                Unmanaged<Relay>.fromOpaque(info).takeUnretainedValue().report(flags.contains(.reachable))
            }, &context)
        SCNetworkReachabilitySetDispatchQueue(relay.reachability, relay.queue)
    }
}
