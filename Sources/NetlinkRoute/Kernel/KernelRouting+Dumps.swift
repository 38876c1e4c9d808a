// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel

extension KernelRouting {
    /// Every interface of the namespace.
    package func links() throws(RoutingFault) -> [Link] {
        try collect(DumpRequest(.links)) { content in
            guard case .link(let message) = content, message.family == 0 else { return nil }
            return message.link
        }
    }

    /// The addresses of one interface, or of all.
    ///
    /// - Parameters:
    ///   - index: The interface; 0 for all.
    ///   - family: The family; `nil` for both.
    /// - Returns: The addresses in the kernel's order.
    /// - Throws: A fault when the kernel could not be asked.
    package func addresses(
        ofInterface index: UInt32 = 0,
        family: IPAddress.Family? = nil
    ) throws(RoutingFault) -> [InterfaceAddress] {
        do {
            // A kernel that does not filter, or lacks the family, sends everything.
            return try collect(DumpRequest(.addresses, family: family, interfaceIndex: index)) { content in
                guard case .address(let address) = content,
                    index == 0 || address.interfaceIndex == index,
                    family == nil || address.address.family == family
                else { return nil }
                return address
            }
        } catch {
            // One that filters says so when the interface is gone: then it has no addresses.
            guard index != 0, error.number == ENODEV else { throw error }
            return []
        }
    }

    /// The policy rules of a family, in the kernel's order.
    package func rules(family: IPAddress.Family) throws(RoutingFault) -> [Rule] {
        try collect(DumpRequest(.rules, family: family)) { content in
            guard case .rule(let rule) = content, rule.family == family else { return nil }
            return rule
        }
    }

    /// Dumps a table whole.
    ///
    /// One that changed meanwhile is dumped again, at most five times; then what came is taken: under endless
    /// change no dump is ever quiet.
    private func collect<Value: Sendable>(
        _ request: DumpRequest,
        _ take: (NetlinkMessage.Content) -> Value?
    ) throws(RoutingFault) -> [Value] {
        try withSocket { (socket) throws(RoutingFault) in
            var values: [Value] = []
            for _ in 1...5 {
                values.removeAll(keepingCapacity: true)
                let isInterrupted = try socket.dump(request) { message in
                    if let value = take(message.content) { values.append(value) }
                }
                if !isInterrupted { break }
            }
            return values
        }
    }
}
