// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// A question about each target in place of its flags, which has an answer of one line: `--arriving`, `--why-not`.
struct TargetQuestion<Value: CustomStringConvertible & Sendable> {
    typealias Answer = Result<Value, ReachabilityError>

    /// The query about a target.
    let query: (ReachabilityTarget, ReachabilityOptions) throws(ReachabilityError) -> NetworkQuery<Value>
    /// Whether an answer has the exit status 0.
    let isYes: (Value) -> Bool
    /// Writes the members of an answer behind the target.
    let members: (Answer, inout ByteBuffer) -> Void

    /// Writes a line for each target in their order.
    func run(_ targets: TargetQuery, _ operands: [Operand]) throws -> ExitStatus {
        let source = try targets.recording?.source() ?? .kernel
        let output = Output.standard
        var (buffer, status) = (ByteBuffer(), ExitStatus.success)
        func report(_ failure: FileFailure) {
            printError("\(failure)")
            status = .undetermined
        }
        func writePending() throws { try output.deliver(&buffer) }
        try targets.forEachTarget(of: operands, beforeReading: writePending, onFailure: report) {
            text, target in
            let answer: Answer = Result { () throws(ReachabilityError) in
                try source.blockingValue(of: query(target.get(), targets.options))
            }
            let value = try? answer.get()
            status = status.worse(value.map { isYes($0) ? .success : .unreachable } ?? .undetermined)
            if targets.isQuiet { return }
            if let error = answer.failure, !output.isTerminal { printError("\(text): \(error.advice)") }
            if targets.format == .json {
                buffer.line { json in
                    json.member("target", text)
                    members(answer, &json)
                }
            } else {
                buffer.append(
                    "\(text): \(value?.description ?? "error: \(answer.failure?.words ?? "")")\n")
            }
            try output.deliver(&buffer)
        }
        return status
    }
}

extension TargetQuestion<PacketArrival> {
    /// What `--arriving` asks: what becomes of packets to the targets that arrive on an interface.
    ///
    /// - Parameters:
    ///   - interface: The interface.
    ///   - sender: The sender; `nil` for a public address.
    init(arrivingOn interface: InterfaceReference, from sender: IPAddress?) {
        query = { (target, options) throws(ReachabilityError) in
            let wantsIPv6 = sender.map { $0.family == .v6 } ?? (options.families == .v6)
            let destination: IPAddress
            switch target.kind {
            case .address(let address) where !address.isUnspecified: destination = address.unmapped
            case .defaultPath, .address: destination = Self.publicAddress(wantsIPv6 ? .v6 : .v4)
            case .pair, .host:
                throw ReachabilityError(
                    .invalidAddress, operation: "find what becomes of a packet",
                    message: "\(target) is no address: give one that netflags order \(target) prints")
            }
            return .arriving(
                on: interface,
                from: sender ?? Self.publicAddress(destination.family), to: destination, options: options)
        }
        isYes = { $0.outcome != .dropped }
        members = { answer, json in
            let arrival = try? answer.get()
            json.member("outcome", arrival?.outcome.rawValue)
            json.pathMembers(
                arrival?.interface, hasType: false, arrival?.gateway, arrival?.reason,
                arrival?.reason.description ?? answer.failure?.words ?? "", answer.failure)
            json.member("icmp", arrival?.icmpError?.description)
        }
    }

    /// An address that stands for those of the public Internet.
    private static func publicAddress(_ family: IPAddress.Family) -> IPAddress {
        Candidate.defaultPath(family)[0].destination
    }
}

extension TargetQuestion<PacketEgress> {
    /// What `--why-not` asks: what keeps packets to the targets from leaving through an interface.
    init(whyNot interface: InterfaceReference) {
        query = { (target, options) throws(ReachabilityError) in
            .egress(of: target, through: interface, options: options)
        }
        isYes = \.leaves
        members = { answer, json in
            let egress = try? answer.get()
            json.member("leaves", egress?.leaves)
            json.member("obstacle", egress?.obstacle?.rawValue)
            json.member("reason", egress?.reason ?? answer.failure?.words ?? "")
            json.member("rule", object: egress?.rule) { $1.members($0) }
            json.member("route", object: egress?.route) { $1.members($0) }
            json.member("other", object: egress?.other) { $1.members($0) }
            json.member("error", answer.failure?.words)
        }
    }
}

extension ByteBuffer {
    /// Writes the members of a policy rule.
    mutating func members(_ rule: PolicyRule) {
        member("priority", rule.priority)
        member("words", rule.words)
    }
}
