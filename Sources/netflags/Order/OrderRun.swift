// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NetlinkReachability
import SystemSupport

/// Resolves names side by side, and orders the addresses of all targets together.
struct OrderRun {
    let options: ReachabilityOptions
    let source: NetworkSource
    let interleaved: Bool

    /// The lines, in the order to try the addresses.
    func lines(of targets: [ReadTarget]) -> [OrderLine] {
        var addresses: [IPAddress] = []
        var owners: [IPAddress: String] = [:]
        var others: [OrderLine] = []
        for (text, answer) in zip(targets.map(\.text), resolutions(of: targets)) {
            switch answer {
            case .success(let found):
                for address in found.addresses where owners[address] == nil {
                    owners[address] = text
                    addresses.append(address)
                }
                if let reason = found.reason(text, options) {
                    others.append(OrderLine(target: text, reason: reason.description))
                }
            case .failure(let error):
                others.append(OrderLine(target: text, error: error))
            }
        }
        let (ordered, failed) = order(addresses)
        return ordered.map { OrderLine(target: owners[$0.address] ?? "", entry: $0, address: $0.address) }
            + failed.map { OrderLine(target: owners[$0] ?? "", address: $0, error: $1) } + others
    }

    /// Orders addresses; one that cannot be evaluated does not hide the others.
    private func order(
        _ addresses: [IPAddress]
    ) -> (ordered: [OrderedAddress], failed: [(IPAddress, ReachabilityError)]) {
        if let ordered = try? ordered(addresses) { return (ordered, []) }
        let failed = addresses.compactMap { address in
            Result { () throws(ReachabilityError) in try ordered([address]) }.failure.map { (address, $0) }
        }
        let answered = addresses.filter { !failed.map(\.0).contains($0) }
        return ((try? ordered(answered)) ?? [], failed)
    }

    private func ordered(_ addresses: [IPAddress]) throws(ReachabilityError) -> [OrderedAddress] {
        try source.ordered(addresses, options: options, interleaved: interleaved)
    }

    // MARK: Names

    /// Resolves the names of all targets side by side, and waits for the last one.
    private func resolutions(of targets: [ReadTarget]) -> [Result<HostResolution, ReachabilityError>] {
        let results = Locked(
            targets.map { entry in
                entry.target.map { target -> HostResolution in
                    if case .address(let address) = target.kind { .addresses([address]) } else { .notFound }
                }
            })
        let group = DispatchGroup()
        for (index, entry) in targets.enumerated() {
            guard case .success(.host(let name)) = entry.target.map(\.kind) else { continue }
            group.enter()
            _ = source.facts.resolver.begin(
                name, families: options.families, timeout: options.resolution.timeout, countedBy: nil
            ) { result in
                results.withLock { $0[index] = result }
                group.leave()
            }
        }
        group.wait()
        return results.withLock { $0 }
    }
}

extension HostResolution {
    fileprivate var addresses: [IPAddress] {
        if case .addresses(let addresses) = self { addresses } else { [] }
    }

    /// Why a target has no address of the families that the options have; `nil` where it has one.
    fileprivate func reason(_ name: String, _ options: ReachabilityOptions) -> ReachabilityReason? {
        let isAdmitted = addresses.contains {
            options.families.contains($0.unmapped.family == .v4 ? .v4 : .v6)
        }
        guard !isAdmitted else { return nil }
        return failure(of: name)
            ?? ReachabilityReason(.excludedFamily, options.families == .v6 ? "IPv6" : "IPv4")
    }
}
