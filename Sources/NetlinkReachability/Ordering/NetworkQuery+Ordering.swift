// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

extension NetworkQuery<[OrderedAddress]> {
    /// The addresses of a target in the order in which a program tries them: RFC 6724, section 6.
    ///
    /// ```swift
    /// let addresses = try await NetworkSource.kernel.value(of: .order(of: .host("example.com"), interleaved: true))
    /// ```
    ///
    /// A name that cannot be resolved has no addresses. For everything else, see
    /// ``order(of:options:interleaved:policy:)`` for addresses.
    ///
    /// - Parameters:
    ///   - target: The target. The default path has the address 0.0.0.0.
    ///   - options: The socket that the program connects.
    ///   - interleaved: Whether the families alternate among the reachable addresses.
    ///   - policy: The labels, precedences and scopes; `nil` for those of the host.
    /// - Returns: The query.
    public static func order(
        of target: ReachabilityTarget,
        options: ReachabilityOptions = ReachabilityOptions(),
        interleaved: Bool = false,
        policy: AddressPolicy? = nil
    ) -> Self {
        var options = options
        var named: FlagsQuery?
        let addresses: [IPAddress]
        switch target.kind {
        case .address(let address): addresses = [address]
        case .defaultPath: addresses = [.anyV4]
        case .pair(let local, let remote): (addresses, options.sourceAddress) = ([remote], local)
        case .host: (addresses, named) = ([], FlagsQuery(target: target, options: options))
        }
        return Self(OrderQuery(addresses, of: named, options, isInterleaved: interleaved, policy))
    }

    /// Addresses in the order in which a program tries them: RFC 6724, section 6.
    ///
    /// ```swift
    /// for address in try await NetworkSource.kernel.value(of: .order(of: answers)) where address.isReachable {
    ///     print(address.address, address.sourceAddress?.description ?? "-", address.rule?.description ?? "-")
    /// }
    /// ```
    ///
    /// The kernel evaluates all addresses together and selects their source addresses. Unreachable addresses come
    /// last and have no ``OrderedAddress/rank``. Addresses that no rule distinguishes keep the given order. The query
    /// fails as a whole if the query about one address cannot be answered. The host's policy is read with each
    /// evaluation. A change of only the policy is not noticed.
    ///
    /// - Parameters:
    ///   - addresses: The addresses. Addresses of families that the options exclude are omitted.
    ///   - options: The socket that the program connects.
    ///   - interleaved: Whether the families alternate among the reachable addresses, beginning with the family of
    ///     the first address: RFC 8305, section 4.
    ///   - policy: The labels, precedences and scopes; `nil` for `/etc/gai.conf`, and in a recorded or simulated
    ///     network for the standard policy.
    /// - Returns: The query.
    public static func order(
        of addresses: some Collection<IPAddress>,
        options: ReachabilityOptions = ReachabilityOptions(),
        interleaved: Bool = false,
        policy: AddressPolicy? = nil
    ) -> Self {
        Self(OrderQuery(Array(addresses), options, isInterleaved: interleaved, policy))
    }
}
