// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording
import RoutingModel

/// A host of a trace: its network at an instant.
struct RecordedHost {
    /// The name of the recording, without the directory and `.rtnl`; several can have the same.
    let name: String
    /// The number of the recording.
    let number: Int
    let source: NetworkSource
    private let links: [UInt32: Link]
    private let addresses: [InterfaceAddress]

    init(_ name: String, _ number: Int, _ routing: RecordedRouting) throws(ReachabilityError) {
        (self.name, self.number) = (name, number)
        source = NetworkSource(routing: routing, resolver: SystemResolver.shared)
        links = Dictionary(try routing.links().map { ($0.index, $0) }) { first, _ in first }
        addresses = try routing.answer(.addresses { $0 })
    }

    /// The interfaces that have an address.
    fileprivate func interfaces(with address: IPAddress) -> [Link] {
        let own = IPPrefix(address, length: address.family.bitWidth)
        return interfaces { own?.contains($0.address) == true }
    }

    /// Whether this host has an address.
    func has(_ address: IPAddress) -> Bool { !interfaces(with: address).isEmpty }

    /// The interface with an index; `nil` for none.
    fileprivate func link(_ index: UInt32) -> Link? { links[index] }

    /// The interfaces except loopback interfaces on which one of some addresses shares its prefix.
    fileprivate func interfaces(on prefixes: [InterfaceAddress]) -> [Link] {
        interfaces { own in prefixes.contains { $0.isOnLink(of: own) || own.isOnLink(of: $0) } }
            .filter { !$0.flags.contains(.loopback) }
    }

    /// The addresses of an interface that tell which link it is on: link-local addresses are on every link.
    fileprivate func prefixes(of index: UInt32, _ family: IPAddress.Family) -> [InterfaceAddress] {
        addresses.filter {
            $0.interfaceIndex == index && $0.address.family == family && !$0.address.isLinkLocal
        }
    }

    /// Whether the addresses of an interface do not tell which link it is on.
    fileprivate func isUnnumbered(_ index: UInt32, _ family: IPAddress.Family) -> Bool {
        prefixes(of: index, family).allSatisfy { $0.subnet?.isHost != false }
    }

    private func interfaces(where isMeant: (InterfaceAddress) -> Bool) -> [Link] {
        Set(addresses.filter(isMeant).map(\.interfaceIndex)).sorted().compactMap { links[$0] }
    }
}

extension InterfaceAddress {
    /// Whether the link of another address has this one.
    fileprivate func isOnLink(of other: InterfaceAddress) -> Bool {
        !address.isLinkLocal && other.subnet?.contains(address) == true
    }
}

/// The recordings of several hosts at an instant, all of which are in memory.
struct RecordedHosts {
    private var hosts: [RecordedHost] = []
    /// How many recordings could not be read.
    private var unread = 0

    var isEmpty: Bool { hosts.isEmpty }

    /// Reads the recordings, and prints which of them cannot be read.
    init(_ recordings: RecordingList) {
        var progress = ProgressLine(total: recordings.instants.count, "recordings", verb: "read")
        defer { progress.erase() }
        let names = recordings.instants.map { String($0.operand.split(separator: "/").last ?? "") }
        for (number, (name, instant)) in zip(names, recordings.instants).enumerated() {
            progress.show(number)
            let short = name.hasSuffix(".rtnl") ? String(name.dropLast(5)) : name
            do throws(ReachabilityError) {
                let routing = try instant.routing { damage in
                    progress.erase()
                    printDamage(damage)
                }
                hosts.append(try RecordedHost(names.contains(short) ? name : short, number, routing))
            } catch {
                progress.erase()
                printError("\(name): \(error)")
                unread += 1
            }
        }
    }

    /// The host that a packet starts from.
    ///
    /// - Parameters:
    ///   - name: The name of the host or of its recording; `nil` if none is given.
    ///   - source: The source address of the packet; `nil` if none is given.
    /// - Returns: The host with the name, else the only one with the source address, else the only one.
    /// - Throws: A usage error with the names of the hosts.
    func start(_ name: String?, _ source: IPAddress?) throws(UsageError) -> RecordedHost {
        var found = hosts
        if let name {
            found = hosts.filter { $0.name == name || "\($0.name).rtnl" == name }
        } else if let source {
            found = hosts.filter { $0.has(source.unmapped) }
        }
        guard let host = found.first, found.count == 1 else {
            let names =
                hosts.prefix(20).map(\.name).joined(separator: ", ") + (hosts.count > 20 ? ", ..." : "")
            let subject = name ?? source.map { "\($0)" }
            let problem =
                subject.map { "\(found.isEmpty ? "no" : "more than one") recorded host is or has \($0)" }
                ?? "it is not said which host the packet starts from"
            throw UsageError("\(problem): give one of these to --from: \(names)")
        }
        return host
    }

    /// Finds the host and the interface that get a packet.
    ///
    /// Two links with the same prefix are one here if the address is recorded on one of them only.
    ///
    /// - Parameters:
    ///   - address: The address of the gateway, or of the target on the link.
    ///   - sender: The host that sends the packet.
    ///   - index: The interface that it sends the packet through.
    /// - Returns: The host, and the interface that the packet comes in by.
    /// - Throws: The end of the trace if there is none, or not only one.
    func receiver(
        of address: IPAddress, from sender: RecordedHost, through index: UInt32
    ) throws(Trace.End) -> (host: RecordedHost, link: Link) {
        let prefixes = sender.prefixes(of: index, address.family)
        let others = hosts.filter { $0.number != sender.number }
        let name = sender.link(index)?.name ?? ""
        // The other end of such an interface gets each packet, of any address.
        if sender.link(index)?.flags.contains(.pointToPoint) == true {
            let ends = others.flatMap { host in host.interfaces(on: prefixes).map { (host, $0) } }
            if !ends.isEmpty { return try only(ends, "the other end of \(name)", sender) }
        }
        var (near, far): ([(RecordedHost, Link)], [(RecordedHost, Link)]) = ([], [])
        for host in others {
            let owners = host.interfaces(with: address)
            guard !owners.isEmpty else { continue }
            let onLink = host.interfaces(on: prefixes)
            let both = owners.filter(onLink.contains)
            // Interfaces answer for the addresses of other interfaces, too.
            let found = both.isEmpty && !address.isLinkLocal ? onLink : both
            near += found.map { (host, $0) }
            if found.isEmpty { far += owners.filter { !$0.flags.contains(.loopback) }.map { (host, $0) } }
        }
        let same = near.filter { host, link in
            let own = host.prefixes(of: link.index, address.family).map(\.subnet)
            return prefixes.contains { own.contains($0.subnet) }
        }
        if !near.isEmpty {
            return try only(same.isEmpty ? near : same, "\(address) on the link of \(name)", sender)
        }
        let unnumbered = far.filter { host, link in
            address.isLinkLocal || sender.isUnnumbered(index, address.family)
                || host.isUnnumbered(link.index, address.family)
        }
        if !unnumbered.isEmpty { return try only(unnumbered, "\(address)", sender) }
        guard far.isEmpty else {
            let names = Set(far.map(\.0.name)).sorted().joined(separator: " and ")
            throw Trace.End(
                .undecided, sender, "\(names) has \(address), but no address on the link of \(name)")
        }
        let rest = unread == 0 ? "" : "; \(unread) could not be read"
        throw Trace.End(
            .unrecorded, sender, "no recording has \(address), the next hop on \(name)\(rest)")
    }

    private func only(
        _ found: [(RecordedHost, Link)], _ what: String, _ sender: RecordedHost
    ) throws(Trace.End) -> (host: RecordedHost, link: Link) {
        guard found.count > 1 else { return found[0] }
        let names = found.map { "\($0.name) (\($1.name))" }.joined(separator: " and ")
        throw Trace.End(.undecided, sender, "\(names) can be \(what)")
    }
}
