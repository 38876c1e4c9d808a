// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import RoutingModel

/// The way of a packet over recorded hosts, and of its answer.
///
/// A host sends the packet as ``NetworkQuery/report(of:options:_:onChangeOf:)`` says, and each further host treats it
/// as ``NetworkQuery/arriving(on:from:to:options:)`` says. What it cannot know: firewalls, address translation,
/// bridges and the network below tunnels.
struct Trace {
    enum Direction: String {
        case there, back
    }

    /// A host on the way.
    struct Hop {
        let direction: Direction
        let host: RecordedHost
        /// The interface that the packet comes in by; `nil` at the host that sends it.
        var input: String?
        /// The interface that the packet leaves by; `nil` if it does not leave.
        var output: NetworkInterface?
        var gateway: IPAddress?
    }

    /// How the way ends.
    struct End: Error {
        enum Outcome: String {
            case delivered, dropped, unrecorded, undecided
        }

        let outcome: Outcome
        /// The host at which the way ends.
        let host: String
        /// The reason in words.
        let words: String
        /// The reason for programs; `nil` for an end that is not known.
        let code: String?
        var icmpError: PacketArrival.ICMPError?

        init(_ outcome: Outcome, _ host: RecordedHost, _ words: String, code: String? = nil) {
            (self.outcome, self.host, self.words, self.code) = (outcome, host.name, words, code)
        }

        init(_ outcome: Outcome, _ host: RecordedHost, _ reason: ReachabilityReason) {
            self.init(outcome, host, reason.description, code: reason.code.description)
        }
    }

    let target: IPAddress
    private let start: RecordedHost
    private let hosts: RecordedHosts
    private(set) var hops: [Hop] = []
    /// The source address of the packet; `nil` until the first host has sent it.
    private(set) var source: IPAddress?

    /// The hop limit of a packet (`ip_default_ttl`).
    private static let hopLimit = 64

    init(of target: IPAddress, from start: RecordedHost, over hosts: RecordedHosts) {
        (self.target, self.start, self.hosts) = (target, start, hosts)
    }

    /// Follows the packet there and its answer back.
    ///
    /// - Parameter options: The socket that sends the packet.
    /// - Returns: The end of the way.
    mutating func end(_ options: ReachabilityOptions) -> End {
        do throws(End) {
            let there = try follow(.there, from: start, to: target, options)
            source = there.source
            guard hops.count > 1 else { return there.end }
            var answer = ReachabilityOptions()
            answer.ipProtocol = options.ipProtocol
            (answer.sourcePort, answer.destinationPort) = (options.destinationPort, options.sourcePort)
            answer.sourceAddress = target
            let back = try follow(.back, from: there.host, to: there.source, answer)
            guard back.host.number == start.number else {
                return End(
                    .dropped, back.host,
                    "\(there.source) is an address of this host, too: it gets the answer", code: "otherHost")
            }
            return back.end
        } catch {
            return error
        }
    }

    /// Follows a packet from the host that sends it to the host that receives it.
    private mutating func follow(
        _ direction: Direction, from sender: RecordedHost, to destination: IPAddress,
        _ options: ReachabilityOptions
    ) throws(End) -> (host: RecordedHost, source: IPAddress, end: End) {
        hops.append(Hop(direction: direction, host: sender))
        let report = try ask(sender, .report(of: .address(destination), options: options, .full))
        if let mistake = report.reason.mistake { throw End(.undecided, sender, mistake) }
        guard report.isReachable else { throw End(.dropped, sender, report.reason) }
        guard let source = report.sourceAddress else {
            throw End(.undecided, sender, "the source address of the packet is not known")
        }
        self.source = self.source ?? source
        if report.flags.contains(.isLocalAddress) {
            return (sender, source, End(.delivered, sender, report.reason))
        }
        let isOne = report.route.map { $0.nexthops.count < 2 } ?? true
        try leave(by: isOne ? report.interface : nil, report.gateway)
        // The mark and the user are those of the socket, and no router sees them.
        var packet = ReachabilityOptions()
        (packet.ipProtocol, packet.typeOfService) = (options.ipProtocol, options.typeOfService)
        (packet.sourcePort, packet.destinationPort) = (options.sourcePort, options.destinationPort)
        var passed: Set<String> = []
        while let last = hops.last, let output = last.output {
            let next = try hosts.receiver(
                of: last.gateway ?? destination, from: last.host, through: output.index)
            hops.append(Hop(direction: direction, host: next.host, input: next.link.name))
            guard passed.insert("\(next.host.number)/\(next.link.index)").inserted else {
                throw End(
                    .dropped, next.host, "the packet comes in by \(next.link.name) again: a loop",
                    code: "loop")
            }
            let arrival = try ask(
                next.host,
                .arriving(
                    on: InterfaceReference(index: next.link.index), from: source, to: destination,
                    options: packet))
            // The kernel forwards a packet also through an interface that cannot send it.
            let isSent = [.gateway, .onLink].contains(arrival.reason.code)
            var end = End(arrival.outcome == .delivered ? .delivered : .dropped, next.host, arrival.reason)
            end.icmpError = arrival.icmpError
            if arrival.outcome == .delivered { return (next.host, source, end) }
            guard arrival.outcome == .forwarded, isSent else { throw end }
            guard passed.count < Self.hopLimit else {
                throw End(
                    .dropped, next.host, "the packet has passed \(Self.hopLimit) hosts, its hop limit",
                    code: "hopLimit")
            }
            try leave(by: arrival.interface, arrival.gateway)
        }
        throw End(.undecided, sender, "the packet has no interface to leave by")
    }

    /// Notes how the packet leaves the last host.
    private mutating func leave(by interface: NetworkInterface?, _ gateway: IPAddress?) throws(End) {
        let last = hops.count - 1
        guard let interface else {
            throw End(
                .undecided, hops[last].host,
                "the kernel chooses one of several nexthops by a hash of the packet")
        }
        (hops[last].output, hops[last].gateway) = (interface, gateway)
    }

    private func ask<Value>(_ host: RecordedHost, _ query: NetworkQuery<Value>) throws(End) -> Value {
        do throws(ReachabilityError) {
            return try host.source.blockingValue(of: query)
        } catch {
            throw End(.undecided, host, error.description)
        }
    }
}
