// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import NetlinkRoute
internal import SystemSupport

/// The system's resolver: `getaddrinfo`, and with it everything that nsswitch.conf names.
///
/// A call cannot be interrupted, so each runs on a thread of its own and whoever asked stops waiting when the
/// time is over. A bound on the number of threads keeps a resolver that hangs for ever from eating the process.
package final class SystemResolver: HostResolver {
    /// A call that resolves a name and returns when it is done, however long that takes.
    package typealias BlockingCall = @Sendable (String, ReachabilityOptions.Families) -> HostResolution

    /// The process's one resolver.
    package static let shared = SystemResolver(AddressInfo.resolve)

    /// Calls under way at the most, abandoned ones included.
    static let callLimit = 64

    private let blockingCall: BlockingCall
    private let calls = Locked(0)

    /// Resolves by a call of one's own.
    package init(_ blockingCall: @escaping BlockingCall) {
        self.blockingCall = blockingCall
    }

    /// How many calls are under way, abandoned ones included.
    package var callsUnderWay: Int {
        calls.withLock { $0 }
    }

    package func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration
    ) throws(RoutingFault) -> HostResolution {
        try begin()
        let call = Call(resolution: { [blockingCall] in blockingCall(name, families) }, atEnd: { self.end() })
        guard call.start() else {
            end()
            throw RoutingFault(operation: "start a thread for the resolver", number: EAGAIN)
        }
        return call.wait(timeout) ?? .timedOut
    }

    private func begin() throws(RoutingFault) {
        let isAdmitted = calls.withLock { count in
            guard count < Self.callLimit else { return false }
            count += 1
            return true
        }
        guard isAdmitted else {
            throw RoutingFault(
                operation: "resolve a name",
                number: EAGAIN,
                text: "\(Self.callLimit) earlier names are still being resolved: is the resolver hanging?"
            )
        }
    }

    private func end() {
        calls.withLock { $0 -= 1 }
    }
}

/// One blocking call on a thread of its own.
private final class Call: Sendable {
    private let resolution: @Sendable () -> HostResolution
    private let atEnd: @Sendable () -> Void
    private let result = Locked<HostResolution?>(nil)
    private let done = DispatchSemaphore(value: 0)

    init(resolution: @escaping @Sendable () -> HostResolution, atEnd: @escaping @Sendable () -> Void) {
        self.resolution = resolution
        self.atEnd = atEnd
    }

    /// Starts the thread, which keeps the call alive; false when the system has none to give.
    func start() -> Bool {
        BackgroundThread.start("netlink-resolve") { self.run() }
    }

    /// Waits for the result; `nil` when the time was over first.
    func wait(_ timeout: Duration) -> HostResolution? {
        let nanoseconds = timeout.nanoseconds
        _ = done.wait(timeout: nanoseconds == .max ? .distantFuture : .now() + .nanoseconds(nanoseconds))
        return result.withLock { $0 }
    }

    private func run() {
        let resolution = resolution()
        result.withLock { $0 = resolution }
        atEnd()
        done.signal()
    }
}

/// A locale of UTF-8 for the calling thread alone.
///
/// The C library encodes names for DNS out of the locale's characters, and a process is in the locale "C", which
/// has no more than ASCII, until it says otherwise.
private struct TextLocale {
    private let locale: locale_t
    private let before: locale_t?

    /// Enters it; `nil` where the system has none.
    init?() {
        guard let locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nil) else { return nil }
        self.locale = locale
        before = uselocale(locale)
    }

    /// Goes back to the thread's own.
    func leave() {
        uselocale(before)
        freelocale(locale)
    }
}

/// The blocking call itself, and what its codes mean.
enum AddressInfo {
    static func resolve(_ name: String, families: ReachabilityOptions.Families) -> HostResolution {
        var hints = addrinfo()
        hints.ai_family = families == .v4 ? AF_INET : families == .v6 ? AF_INET6 : AF_UNSPEC
        // One socket type, else every address comes three times.
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        let isEncoded = !name.utf8.allSatisfy({ $0 < 0x80 })
        if isEncoded { hints.ai_flags = encodesNames }
        let locale = isEncoded ? TextLocale() : nil
        defer { locale?.leave() }
        var list: UnsafeMutablePointer<addrinfo>?
        errno = 0
        let status = getaddrinfo(name, nil, &hints, &list)
        guard status == 0 else { return resolution(code: status, errno: errno) }
        defer { freeaddrinfo(list) }
        let addresses = addresses(of: list)
        return addresses.isEmpty ? .notFound : .addresses(addresses)
    }

    /// AI_IDN of glibc: names beyond ASCII are encoded for DNS.
    private static let encodesNames: Int32 = 0x40

    /// What a failure of `getaddrinfo` says about the name.
    static func resolution(code: Int32, errno number: Int32) -> HostResolution {
        switch code {
        case EAI_NONAME, noData, noAddressOfFamily:
            return .notFound
        case EAI_SYSTEM where number != 0:
            return .failed(String(cString: strerror(number)))
        default:
            return .failed(String(cString: gai_strerror(code)))
        }
    }

    /// EAI_NODATA: the name exists and has no addresses.
    private static let noData: Int32 = -5
    /// EAI_ADDRFAMILY: the name has no addresses of the family.
    private static let noAddressOfFamily: Int32 = -9
    private static func addresses(of list: UnsafeMutablePointer<addrinfo>?) -> [IPAddress] {
        var addresses: [IPAddress] = []
        var next = list
        while let entry = next {
            if let sockaddr = entry.pointee.ai_addr,
                let address = try? IPAddress(sockaddr: sockaddr, length: entry.pointee.ai_addrlen),
                !addresses.contains(address)
            {
                addresses.append(address)
            }
            next = entry.pointee.ai_next
        }
        return addresses
    }
}

extension Duration {
    /// Whole nanoseconds, not below 0; the largest number for times beyond three centuries.
    package var nanoseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (whole, isTooLong) = Int(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        guard !isTooLong else { return .max }
        let (sum, isTooLongNow) = whole.addingReportingOverflow(Int(attoseconds / 1_000_000_000))
        return isTooLongNow ? .max : sum
    }
}
