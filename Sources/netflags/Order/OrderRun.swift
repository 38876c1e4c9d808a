// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

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
        for (entry, answer) in zip(targets, resolutions(of: targets)) {
            let text = entry.text
            var given: [IPAddress]?
            if case .success(.address(let address)) = entry.target.map(\.kind) { given = [address] }
            switch answer {
            case .success(let found):
                for address in given ?? found.destinations where owners[address] == nil {
                    owners[address] = text
                    addresses.append(address)
                }
                if let reason = found.reason(text, options) {
                    others.append(OrderLine(target: text, missing: reason))
                }
            case .failure(let error):
                others.append(OrderLine(target: text, error: error))
            }
        }
        let (ordered, failed) = order(addresses)
        return ordered.map { OrderLine(target: owners[$0.address] ?? "", entry: $0, address: $0.address) }
            + failed.map { OrderLine(target: owners[$0] ?? "", address: $0, error: $1) } + others
    }

    /// Orders addresses; an address that cannot be evaluated does not hide the others.
    private func order(
        _ addresses: [IPAddress]
    ) -> (ordered: [OrderedAddress], failed: [(IPAddress, ReachabilityError)]) {
        if let ordered = try? ordered(addresses) { return (ordered, []) }
        let alone = source.blockingValues(of: addresses.map { .order(of: [$0], options: options) })
        let failed = zip(addresses, alone).compactMap { address, result in
            result.failure.map { (address, $0) }
        }
        let answered = addresses.filter { !failed.map(\.0).contains($0) }
        return ((try? ordered(answered)) ?? [], failed)
    }

    private func ordered(_ addresses: [IPAddress]) throws(ReachabilityError) -> [OrderedAddress] {
        try source.blockingValue(of: .order(of: addresses, options: options, interleaved: interleaved))
    }

    // MARK: Names

    /// Resolves the names of all targets side by side, and waits for the last name.
    private func resolutions(of targets: [ReadTarget]) -> [ResolvedName] {
        let names = targets.compactMap { (try? $0.target.get())?.name.map { NameQuery($0, options) } }
        var results = source.facts.resolver.resolve(names)[...]
        return targets.map { entry in
            entry.target.flatMap { target in
                switch target.kind {
                case .address(let address): .success(.addresses([address]))
                case .host: results.popFirst() ?? .success(.notFound)
                case .defaultPath, .pair: .success(.notFound)
                }
            }
        }
    }
}

extension ReachabilityTarget.Resolution {
    /// Why a target has no address of the families that the options admit; `nil` if the target has such an address.
    fileprivate func reason(_ name: String, _ options: ReachabilityOptions) -> ReachabilityReason? {
        let isAdmitted = destinations.contains {
            options.families.contains($0.unmapped.family == .v4 ? .v4 : .v6)
        }
        guard !isAdmitted else { return nil }
        return failure(of: name)
            ?? ReachabilityReason(.excludedFamily, options.families == .v6 ? "IPv6" : "IPv4")
    }
}

// MARK: - Lines

/// A line of `netflags order`: an address, or a target without an address.
struct OrderLine {
    /// The target as given; of several targets with the same address, the first.
    let target: String
    /// The address with its rank and reason; `nil` if there is no address.
    var entry: OrderedAddress?
    /// The address, also if it could not be evaluated; `nil` if there is none.
    var address: IPAddress?
    /// Why there is no address; `nil` if there is one.
    var missing: ReachabilityReason?
    /// Why the address could not be evaluated, or why the name could not be resolved.
    var error: ReachabilityError?

    /// The reason of the flags.
    var words: String { reason?.description ?? "the target could not be evaluated" }

    private var reason: ReachabilityReason? { entry?.reason ?? missing }
}

extension OrderLine {
    /// Writes the table of `netflags order`.
    static func writeText(_ lines: [OrderLine], for output: Output, to buffer: inout ByteBuffer) {
        // A target that is an address needs no second column for the address, and one name none beside its addresses.
        let showsTarget =
            lines.contains { $0.address == nil }
            || lines.contains { !$0.isAddress } && Set(lines.map(\.target)).count > 1
        let headings =
            ["RANK", "ADDRESS"] + (showsTarget ? ["TARGET"] : [])
            + [ReachabilityFlags.heading, "UP", "DEV", "SOURCE", "RULE", "REASON"]
        var table = TextTable(headings, widths: headings.dropLast().map { _ in 0 }, for: output)
        for line in lines {
            let entry = line.entry
            table.add(entry?.rank.map(String.init) ?? "-")
            table.add(line.address?.description ?? "-")
            if showsTarget { table.add(line.isAddress ? "-" : line.target) }
            table.add((entry?.flags ?? []).letters)
            let (state, colour) = line.state
            table.add(state, in: colour)
            table.add(entry?.interface?.name ?? "-")
            table.add(entry?.sourceAddress?.description ?? "-")
            table.add(entry?.rule?.description ?? "-")
            table.add(line.error.map { "error: \($0)" } ?? line.words)
            table.endRow(isWhole: entry?.rank == nil)
        }
        table.flush(to: &buffer)
    }

    /// Whether the target is the address.
    private var isAddress: Bool { target == address?.description }

    private var state: (String, Colour) {
        error != nil ? ("?", .magenta) : entry?.rank != nil ? ("yes", .green) : ("no", .red)
    }

    /// Writes the line as a JSON object.
    func writeJSON(to buffer: inout ByteBuffer) {
        buffer.line { json in
            json.member("target", target)
            json.member("address", address)
            json.member("sourceAddress", entry?.sourceAddress)
            json.member("rank", entry?.rank)
            json.member("rule", entry?.rule?.description)
            json.members(entry?.flags ?? [])
            json.pathMembers(entry?.interface, entry?.gateway, reason, words, error)
        }
    }
}
