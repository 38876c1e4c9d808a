// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import LinuxSystemConfiguration
import SystemSupport
import Testing

/// What a callback was called with, and how its context was kept.
final class CallLog: Sendable {
    struct Entries {
        var flags: [SCNetworkReachabilityFlags] = []
        var threads: [UInt] = []
        var retains = 0
        var releases = 0
    }

    private let entries = Locked(Entries())
    /// Called by each call, on its thread.
    let whenCalled = Locked<(@Sendable (SCNetworkReachability) -> Void)?>(nil)
    /// A serial queue for the callback.
    let queue = DispatchQueue(label: "log")

    var flags: [SCNetworkReachabilityFlags] { entries.withLock { $0.flags } }
    var threads: [UInt] { entries.withLock { $0.threads } }
    var retains: Int { entries.withLock { $0.retains } }
    var releases: Int { entries.withLock { $0.releases } }

    /// Sets this log's callback.
    func set(on target: SCNetworkReachability) {
        var context = context
        SCNetworkReachabilitySetCallback(target, Self.callback, &context)
    }

    /// The context that keeps this log, and counts.
    var context: SCNetworkReachabilityContext {
        SCNetworkReachabilityContext(
            version: 0,
            info: Unmanaged.passUnretained(self).toOpaque(),
            retain: { info in
                let log = Unmanaged<CallLog>.fromOpaque(info).retain()
                log.takeUnretainedValue().entries.withLock { $0.retains += 1 }
                return UnsafeRawPointer(log.toOpaque())
            },
            release: { info in
                let log = Unmanaged<CallLog>.fromOpaque(info)
                log.takeUnretainedValue().entries.withLock { $0.releases += 1 }
                log.release()
            },
            copyDescription: nil
        )
    }

    static let callback: SCNetworkReachabilityCallBack = { target, flags, info in
        guard let info else { return }
        let log = Unmanaged<CallLog>.fromOpaque(info).takeUnretainedValue()
        log.entries.withLock { entries in
            entries.flags.append(flags)
            entries.threads.append(UInt(bitPattern: currentThread))
        }
        let body = log.whenCalled.withLock { $0 }
        body?(target)
    }

    static var currentThread: Int { Int(bitPattern: UInt(pthread_self())) }

    /// Waits until there are so many calls.
    func waitForCalls(_ count: Int) async throws {
        try await eventually("call \(count), there are \(flags)") { self.flags.count >= count }
    }

    /// Waits for everything that is on the queue now, and what that puts there.
    func drain() {
        for _ in 0..<4 { queue.sync {} }
    }
}

/// Flags of a target now.
func flags(of target: SCNetworkReachability) throws -> SCNetworkReachabilityFlags {
    var flags = SCNetworkReachabilityFlags()
    try #require(SCNetworkReachabilityGetFlags(target, &flags))
    return flags
}

/// An IPv4 socket address.
func socketAddress(_ text: String) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
    address.sin_family = sa_family_t(AF_INET)
    inet_pton(AF_INET, text, &address.sin_addr)
    return address
}

/// A target of an IPv4 address.
func target(_ text: String) throws -> SCNetworkReachability {
    var address = socketAddress(text)
    return try #require(
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                SCNetworkReachabilityCreateWithAddress(nil, $0)
            }
        }
    )
}
