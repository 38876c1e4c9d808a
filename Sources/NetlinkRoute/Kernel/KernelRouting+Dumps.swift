// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel

extension KernelRouting {
    /// Returns all interfaces of the namespace.
    package func links() throws(ReachabilityError) -> [Link] {
        try withSocket { (socket) throws(ReachabilityError) in try socket.links() }
    }

    /// Returns every address of the namespace.
    package func addresses() throws(ReachabilityError) -> [InterfaceAddress] {
        try addresses(ofInterface: 0)
    }

    /// Returns the addresses of one interface, or of all.
    ///
    /// - Parameters:
    ///   - index: The interface; 0 for all.
    ///   - family: The family; `nil` for both.
    /// - Returns: The addresses in the kernel's order.
    /// - Throws: An error when the dump failed.
    package func addresses(
        ofInterface index: UInt32,
        family: IPAddress.Family? = nil
    ) throws(ReachabilityError) -> [InterfaceAddress] {
        try withSocket { (socket) throws(ReachabilityError) in
            try socket.addresses(ofInterface: index, family: family)
        }
    }
}

extension QuerySocket {
    /// Returns all interfaces of the namespace.
    mutating func links() throws(ReachabilityError) -> [Link] {
        try collect(DumpRequest(.links)) { change in
            if case .link(let report) = change { report.link } else { nil }
        }
    }

    /// Returns the policy rules of a family in the kernel's order.
    package mutating func rules(family: IPAddress.Family) throws(ReachabilityError) -> [Rule] {
        try collect(DumpRequest(.rules, family: family)) { change in
            guard case .rule(let rule) = change, rule.family == family else { return nil }
            return rule
        }
    }

    /// Returns the addresses of one interface, or of all, in the kernel's order.
    mutating func addresses(
        ofInterface index: UInt32,
        family: IPAddress.Family?
    ) throws(ReachabilityError) -> [InterfaceAddress] {
        do {
            // A kernel that does not filter or lacks the family sends all addresses.
            return try collect(DumpRequest(.addresses, family: family, interfaceIndex: index)) { change in
                guard case .address(let address) = change,
                    index == 0 || address.interfaceIndex == index,
                    family == nil || address.address.family == family
                else { return nil }
                return address
            }
        } catch {
            // A kernel that filters reports when the interface is gone.
            guard index != 0, error.number == ENODEV else { throw error }
            return []
        }
    }

    /// Dumps a table.
    ///
    /// A table that changed during the dump is dumped again, at most five times: a table that never stops changing
    /// has no consistent dump.
    mutating func collect<Value>(
        _ request: DumpRequest,
        _ take: (NetworkChange) -> Value?
    ) throws(ReachabilityError) -> [Value] {
        var values: [Value] = []
        for _ in 1...5 {
            values.removeAll(keepingCapacity: true)
            let isInterrupted = try dump(request) { message in
                if let value = message.change.flatMap(take) { values.append(value) }
            }
            if !isInterrupted { break }
        }
        return values
    }
}
