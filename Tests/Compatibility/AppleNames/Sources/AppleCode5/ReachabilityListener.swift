// SPDX-License-Identifier: Apache-2.0

// A class with closures and a notification, its C context holding it weakly: the callback is set before the queue.

import Foundation
import SystemConfiguration

enum ListenerError: Error {
    case noAddress(sockaddr, Int32)
    case noHost(String, Int32)
    case noCallback(Int32)
    case noQueue(Int32)
    case noFlags(Int32)
}

extension Notification.Name {
    static let listenerChanged = Notification.Name("listenerChanged")
}

private final class WeakListener {
    weak var listener: ReachabilityListener?

    init(_ listener: ReachabilityListener) {
        self.listener = listener
    }
}

final class ReachabilityListener: @unchecked Sendable {
    var whenReachable: ((ReachabilityListener) -> Void)?
    var whenUnreachable: ((ReachabilityListener) -> Void)?

    private let reachability: SCNetworkReachability
    private let queue = DispatchQueue(label: "listener", qos: .default, target: nil)
    private(set) var flags: SCNetworkReachabilityFlags? {
        didSet {
            guard flags != oldValue else { return }
            flags?.contains(.reachable) == true ? whenReachable?(self) : whenUnreachable?(self)
            NotificationCenter.default.post(name: .listenerChanged, object: self)
        }
    }

    init(reachability: SCNetworkReachability) {
        self.reachability = reachability
    }

    convenience init(host: String) throws {
        guard let reachability = SCNetworkReachabilityCreateWithName(nil, host) else {
            throw ListenerError.noHost(host, SCError())
        }
        self.init(reachability: reachability)
    }

    convenience init() throws {
        var zero = sockaddr()
        zero.sa_len = UInt8(MemoryLayout<sockaddr>.size)
        zero.sa_family = sa_family_t(AF_INET)
        guard let reachability = SCNetworkReachabilityCreateWithAddress(nil, &zero) else {
            throw ListenerError.noAddress(zero, SCError())
        }
        self.init(reachability: reachability)
    }

    deinit {
        stop()
    }

    func start() throws {
        let callback: SCNetworkReachabilityCallBack = { (reachability, flags, info) in
            guard let info = info else { return }
            let box = Unmanaged<WeakListener>.fromOpaque(info).takeUnretainedValue()
            box.listener?.flags = flags
        }
        let box = WeakListener(self)
        let opaque = Unmanaged<WeakListener>.passUnretained(box).toOpaque()
        var context = SCNetworkReachabilityContext(
            version: 0,
            info: UnsafeMutableRawPointer(opaque),
            retain: { (info: UnsafeRawPointer) -> UnsafeRawPointer in
                let box = Unmanaged<WeakListener>.fromOpaque(info)
                _ = box.retain()
                return UnsafeRawPointer(box.toOpaque())
            },
            release: { (info: UnsafeRawPointer) -> Void in
                Unmanaged<WeakListener>.fromOpaque(info).release()
            },
            copyDescription: { (info: UnsafeRawPointer) -> Unmanaged<CFString> in
                let box = Unmanaged<WeakListener>.fromOpaque(info).takeUnretainedValue()
                let description = box.listener.map { "\($0)" } ?? "nil"
                return Unmanaged.passRetained(description as CFString)
            }
        )
        // The callback keeps the box from here on.
        let isSet = withExtendedLifetime(box) {
            SCNetworkReachabilitySetCallback(reachability, callback, &context)
        }
        guard isSet else { throw ListenerError.noCallback(SCError()) }
        if !SCNetworkReachabilitySetDispatchQueue(reachability, queue) {
            stop()
            throw ListenerError.noQueue(SCError())
        }
        try queue.sync { [unowned self] in
            var flags = SCNetworkReachabilityFlags()
            if !SCNetworkReachabilityGetFlags(self.reachability, &flags) {
                throw ListenerError.noFlags(SCError())
            }
            self.flags = flags
        }
    }

    func stop() {
        SCNetworkReachabilitySetCallback(reachability, nil, nil)
        SCNetworkReachabilitySetDispatchQueue(reachability, nil)
    }
}
