// SPDX-License-Identifier: Apache-2.0

// A manager with one listener: it takes the queue before the callback, and reads the flags by itself afterwards.

#if canImport(SystemConfiguration)

    import Dispatch
    import Foundation
    import SystemConfiguration

    class StatusManager: @unchecked Sendable {
        enum Status: Equatable, Sendable {
            case unknown
            case notReachable
            case reachable(Connection)
        }

        enum Connection: Sendable {
            case ethernetOrWiFi
            case cellular
        }

        typealias Listener = @Sendable (Status) -> Void

        private final class WeakManager {
            weak var manager: StatusManager?

            init(manager: StatusManager?) {
                self.manager = manager
            }
        }

        static let `default` = StatusManager()

        private let queue = DispatchQueue(label: "status")
        private let reachability: SCNetworkReachability
        private let lock = NSLock()
        private var listener: Listener?
        private var previous: Status?

        convenience init?(host: String) {
            guard let reachability = SCNetworkReachabilityCreateWithName(nil, host) else { return nil }
            self.init(reachability: reachability)
        }

        convenience init?() {
            var zero = sockaddr()
            zero.sa_len = UInt8(MemoryLayout<sockaddr>.size)
            zero.sa_family = sa_family_t(AF_INET)
            guard let reachability = SCNetworkReachabilityCreateWithAddress(nil, &zero) else { return nil }
            self.init(reachability: reachability)
        }

        private init(reachability: SCNetworkReachability) {
            self.reachability = reachability
        }

        deinit {
            stopListening()
        }

        var flags: SCNetworkReachabilityFlags? {
            var flags = SCNetworkReachabilityFlags()
            return SCNetworkReachabilityGetFlags(reachability, &flags) ? flags : nil
        }

        var status: Status {
            flags.map(Status.init) ?? .unknown
        }

        @discardableResult
        func startListening(_ listener: @escaping Listener) -> Bool {
            stopListening()
            lock.withLock { self.listener = listener }
            let weakManager = WeakManager(manager: self)
            var context = SCNetworkReachabilityContext(
                version: 0,
                info: Unmanaged.passUnretained(weakManager).toOpaque(),
                retain: { info in
                    let unmanaged = Unmanaged<WeakManager>.fromOpaque(info)
                    _ = unmanaged.retain()
                    return UnsafeRawPointer(unmanaged.toOpaque())
                },
                release: { info in
                    let unmanaged = Unmanaged<WeakManager>.fromOpaque(info)
                    unmanaged.release()
                },
                copyDescription: { info in
                    let unmanaged = Unmanaged<WeakManager>.fromOpaque(info)
                    let text = unmanaged.takeUnretainedValue().manager?.flags?.letters ?? "nil"
                    return Unmanaged.passRetained(text as CFString)
                }
            )
            let callback: SCNetworkReachabilityCallBack = { _, flags, info in
                guard let info else { return }
                Unmanaged<WeakManager>.fromOpaque(info).takeUnretainedValue().manager?.notify(flags)
            }
            let queueAdded = SCNetworkReachabilitySetDispatchQueue(reachability, queue)
            let callbackAdded = withExtendedLifetime(weakManager) {
                SCNetworkReachabilitySetCallback(reachability, callback, &context)
            }
            if let flags = flags {
                queue.async { self.notify(flags) }
            }
            return callbackAdded && queueAdded
        }

        func stopListening() {
            SCNetworkReachabilitySetCallback(reachability, nil, nil)
            SCNetworkReachabilitySetDispatchQueue(reachability, nil)
            lock.withLock {
                listener = nil
                previous = nil
            }
        }

        private func notify(_ flags: SCNetworkReachabilityFlags) {
            let status = Status(flags)
            let due: Listener? = lock.withLock {
                guard previous != status else { return nil }
                previous = status
                return listener
            }
            due?(status)
        }
    }

    extension StatusManager.Status {
        init(_ flags: SCNetworkReachabilityFlags) {
            guard flags.isActuallyReachable else {
                self = .notReachable
                return
            }
            self = flags.contains(.isWWAN) ? .reachable(.cellular) : .reachable(.ethernetOrWiFi)
        }
    }

    extension SCNetworkReachabilityFlags {
        var canConnectAutomatically: Bool { contains(.connectionOnDemand) || contains(.connectionOnTraffic) }
        var isActuallyReachable: Bool {
            contains(.reachable)
                && (!contains(.connectionRequired)
                    || (canConnectAutomatically && !contains(.interventionRequired)))
        }
        var letters: String {
            "\(contains(.isWWAN) ? "W" : "-")\(contains(.reachable) ? "R" : "-") "
                + "\(contains(.connectionRequired) ? "c" : "-")\(contains(.transientConnection) ? "t" : "-")"
                + "\(contains(.isLocalAddress) ? "l" : "-")\(contains(.isDirect) ? "d" : "-")"
                + "\(contains(.connectionAutomatic) ? "a" : "-")"
        }
    }

#endif
