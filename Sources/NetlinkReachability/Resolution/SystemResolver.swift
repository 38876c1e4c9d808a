// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
package import RoutingModel
internal import SystemSupport

/// The system's resolver: `getaddrinfo`, and with it everything that nsswitch.conf names.
package final class SystemResolver: HostResolver {
    /// A call that resolves a name and returns when it is done, after any time.
    package typealias BlockingCall =
        @Sendable (String, ReachabilityOptions.Families) throws(ReachabilityError) ->
        ReachabilityTarget.Resolution

    /// The resolver of the process.
    package static let shared = SystemResolver { (name, families) throws(ReachabilityError) in
        try AddressInfo.resolve(name, families: families)
    }

    let threads = LookupThreads()
    private let blockingCall: BlockingCall

    /// Resolves with another call than `getaddrinfo`.
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

    /// The result that needs no call: the loopback addresses of `localhost`, about which no resolver decides
    /// (RFC 6761, section 6.3), and any other name's without time for a call.
    private static func withoutCall(_ query: NameQuery) -> ReachabilityTarget.Resolution? {
        guard query.name.isLocalhost else { return query.timeout > .zero ? nil : .timedOut }
        var addresses: [IPAddress] = []
        if query.families.contains(.v6) { addresses.append(.loopbackV6) }
        if query.families.contains(.v4) { addresses.append(.loopbackV4) }
        return addresses.isEmpty ? .notFound : .addresses(addresses)
    }
}

extension String {
    /// Whether the name is `localhost`, or below it, with a closing dot or without.
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

/// The blocking call itself, and what its codes mean.
enum AddressInfo {
    static func resolve(
        _ name: String,
        families: ReachabilityOptions.Families
    ) throws(ReachabilityError) -> ReachabilityTarget.Resolution {
        var hints = addrinfo()
        hints.ai_family = families == .v4 ? AF_INET : families == .v6 ? AF_INET6 : AF_UNSPEC
        // One socket type: with any, every address is listed three times.
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        let isEncoded = !name.utf8.allSatisfy({ $0 < 0x80 })
        if isEncoded { hints.ai_flags = encodesNames }
        // For the calling thread alone: the C library encodes names for DNS from the locale's characters, and a
        // process starts in the locale "C", which has only ASCII.
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

    /// AI_IDN of glibc: names beyond ASCII are encoded for DNS.
    private static let encodesNames: Int32 = 0x40

    /// How many descriptors a lookup can need at once: a file, and a socket for each of three name servers.
    private static let neededDescriptors = 4

    /// The errno with which a further lookup would run out of descriptors; `nil` when enough are left.
    ///
    /// glibc can return EAI_NONAME and EAI_AGAIN for want of a descriptor, with another errno.
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
    /// - Throws: An error for a process that ran out of something: it says nothing about the name.
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

    /// EAI_NODATA: the name exists and has no addresses.
    private static let noData: Int32 = -5
    /// EAI_ADDRFAMILY: the name has no addresses of the family.
    private static let noAddressOfFamily: Int32 = -9
}

extension Duration {
    /// The time from now on after this duration.
    var deadline: DispatchTime {
        nanoseconds == .max ? .distantFuture : .now() + .nanoseconds(nanoseconds)
    }
}
