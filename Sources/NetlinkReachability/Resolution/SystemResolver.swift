// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
package import RoutingModel
internal import SystemSupport

/// The system's resolver: `getaddrinfo`, which uses the sources in nsswitch.conf.
package final class SystemResolver: HostResolver {
    /// A call that resolves a name.
    ///
    /// It can take any time.
    package typealias BlockingCall =
        @Sendable (String, ReachabilityOptions.Families) throws(ReachabilityError) ->
        ReachabilityTarget.Resolution

    /// The resolver of the process.
    package static let shared = SystemResolver { (name, families) throws(ReachabilityError) in
        try AddressInfo.resolve(name, families: families)
    }

    let threads = LookupThreads()
    private let blockingCall: BlockingCall

    /// Creates a resolver with another call than `getaddrinfo`.
    package init(_ blockingCall: @escaping BlockingCall) {
        self.blockingCall = blockingCall
    }

    package func resolve(_ query: NameQuery) throws(ReachabilityError) -> ReachabilityTarget.Resolution {
        if let known = Self.withoutCall(query) { return known }
        return try threads.run(within: query.timeout, lookup(query))
    }

    package func begin(
        _ query: NameQuery,
        countedBy work: InFlightCounter?,
        completion: @escaping @Sendable (ResolvedName) -> Void
    ) -> @Sendable () -> Void {
        if let known = Self.withoutCall(query) {
            completion(.success(known))
            return {}
        }
        return threads.begin(within: query.timeout, lookup(query), completion: completion)
    }

    private func lookup(_ query: NameQuery) -> LookupThreads.Call {
        { [blockingCall] (_) throws(ReachabilityError) in try blockingCall(query.name, query.families) }
    }

    /// The result for a name that needs no call: for `localhost`, the loopback addresses (RFC 6761, section 6.3); for
    /// other names, `timedOut` if the time limit is zero.
    private static func withoutCall(_ query: NameQuery) -> ReachabilityTarget.Resolution? {
        guard query.name.isLocalhost else { return query.timeout > .zero ? nil : .timedOut }
        var addresses: [IPAddress] = []
        if query.families.contains(.v6) { addresses.append(.loopbackV6) }
        if query.families.contains(.v4) { addresses.append(.loopbackV4) }
        return addresses.isEmpty ? .notFound : .addresses(addresses)
    }
}

extension String {
    /// Whether the name is `localhost` or a subdomain of it, with or without a final dot.
    package var isLocalhost: Bool {
        let labels = lowercased().split(separator: ".", omittingEmptySubsequences: false)
        return (labels.last == "" ? labels.dropLast() : labels[...]).last == "localhost"
    }
}

extension ReachabilityError {
    /// Whether the process or the system ran out of descriptors or memory.
    var isExhaustion: Bool {
        SystemCallError.isExhaustion(number)
    }
}

/// Calls `getaddrinfo`, and translates its errors.
enum AddressInfo {
    static func resolve(
        _ name: String,
        families: ReachabilityOptions.Families
    ) throws(ReachabilityError) -> ReachabilityTarget.Resolution {
        var hints = addrinfo()
        hints.ai_family = families == .v4 ? AF_INET : families == .v6 ? AF_INET6 : AF_UNSPEC
        // Only one socket type, because every address would be listed three times otherwise.
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        let isEncoded = !name.utf8.allSatisfy({ $0 < 0x80 })
        if isEncoded { hints.ai_flags = encodesNames }
        // The C library encodes names for DNS from the characters of the locale. A process starts in the locale "C",
        // which has only ASCII. This changes the locale of the calling thread only.
        let locale = isEncoded ? newlocale(LC_CTYPE_MASK, "C.UTF-8", nil) : nil
        let before = locale.flatMap { uselocale($0) }
        defer {
            if let locale {
                uselocale(before)
                freelocale(locale)
            }
        }
        var list: UnsafeMutablePointer<addrinfo>?
        errno = 0
        let status = getaddrinfo(name, nil, &hints, &list)
        guard status == 0, let list else {
            let number = errno
            return try resolution(code: status, errno: exhaustion ?? number)
        }
        defer { freeaddrinfo(list) }
        var addresses: [IPAddress] = []
        for entry in sequence(first: list, next: \.pointee.ai_next) {
            guard let sockaddr = entry.pointee.ai_addr,
                let address = try? IPAddress(sockaddr: sockaddr, length: entry.pointee.ai_addrlen),
                !addresses.contains(address)
            else { continue }
            addresses.append(address)
        }
        return addresses.isEmpty ? .notFound : .addresses(addresses)
    }

    /// AI_IDN of glibc: encodes non-ASCII names for DNS.
    private static let encodesNames: Int32 = 0x40

    /// The most descriptors that a lookup needs at once: a file, and a socket for each of three name servers.
    private static let neededDescriptors = 4

    /// The errno of a process without enough descriptors for another lookup; `nil` if there are enough.
    ///
    /// Without a descriptor, glibc can return EAI_NONAME and EAI_AGAIN with another errno.
    private static var exhaustion: Int32? {
        do {
            try FreeResources.checkDescriptors(neededDescriptors)
            return nil
        } catch {
            return error.number
        }
    }

    /// Translates a failure of `getaddrinfo`.
    ///
    /// - Throws: An error if the process ran out of a resource, which says nothing about the name.
    static func resolution(code: Int32, errno number: Int32) throws(ReachabilityError)
        -> ReachabilityTarget.Resolution
    {
        let error = ReachabilityError(
            operation: "resolve a name", number: code == EAI_MEMORY ? ENOMEM : number)
        if error.isExhaustion { throw error }
        switch code {
        case EAI_NONAME, noData, noAddressOfFamily:
            return .notFound
        case EAI_SYSTEM where number != 0:
            return .failed(SystemCallError.words(number))
        default:
            return .failed(String(cString: gai_strerror(code)))
        }
    }

    /// EAI_NODATA: the name exists but has no addresses.
    private static let noData: Int32 = -5
    /// EAI_ADDRFAMILY: the name has no addresses of the family.
    private static let noAddressOfFamily: Int32 = -9
}

extension Duration {
    /// The point in time after this duration, counted from now.
    var deadline: DispatchTime {
        nanoseconds == .max ? .distantFuture : .now() + .nanoseconds(nanoseconds)
    }
}
