// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import SystemSupport

/// The packets of `--arriving`: packets to the targets that arrive on an interface.
struct ArrivingPackets {
    /// The name or index of the interface.
    let interface: String
    /// The sender; `nil` for a public address.
    let sender: IPAddress?

    private typealias Answer = Result<PacketArrival, ReachabilityError>

    /// Writes a line for each target in their order.
    func run(_ query: TargetQuery, _ operands: [Operand]) throws -> ExitStatus {
        let source = try query.recording?.source() ?? .kernel
        let output = Output.standard
        var (buffer, status) = (ByteBuffer(), ExitStatus.success)
        func noteFailure(_ failure: FileFailure) {
            printError("\(failure)")
            status = .undetermined
        }
        func writePending() throws { try output.deliver(&buffer) }
        try query.forEachTarget(of: operands, beforeReading: writePending, onFailure: noteFailure) {
            text, target in
            let answer: Answer = Result { () throws(ReachabilityError) in
                try source.blockingValue(of: self.query(target.get(), query.options))
            }
            status = status.worse(answer.exitStatus)
            if query.isQuiet { return }
            if let error = answer.failure, !output.isTerminal { printError("\(text): \(error)") }
            if query.format == .json {
                write(text, answer, to: &buffer)
            } else {
                let words = (try? answer.get())?.description ?? "error: \(answer.failure?.description ?? "")"
                buffer.append("\(text): \(words)\n")
            }
            try output.deliver(&buffer)
        }
        return status
    }

    /// The query about a packet to a target.
    ///
    /// - Throws: An error for a name, because a packet has an address.
    private func query(
        _ target: ReachabilityTarget, _ options: ReachabilityOptions
    ) throws(ReachabilityError) -> NetworkQuery<PacketArrival> {
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
            on: InterfaceReference(nameOrIndex: interface),
            from: sender ?? Self.publicAddress(destination.family), to: destination, options: options)
    }

    /// An address that serves as an example for the public Internet.
    private static func publicAddress(_ family: IPAddress.Family) -> IPAddress {
        Candidate.defaultPath(family)[0].destination
    }

    /// Writes an answer as one JSON object on one line.
    private func write(_ text: String, _ answer: Answer, to buffer: inout ByteBuffer) {
        let arrival = try? answer.get()
        buffer.line { json in
            json.member("target", text)
            json.member("outcome", arrival?.outcome.rawValue)
            json.pathMembers(
                arrival?.interface, hasType: false, arrival?.gateway, arrival?.reason,
                arrival?.reason.description ?? answer.failure?.description ?? "", answer.failure)
            json.member("icmp", arrival?.icmpError?.description)
        }
    }
}

extension Result<PacketArrival, ReachabilityError> {
    fileprivate var exitStatus: ExitStatus {
        switch self {
        case .success(let arrival): arrival.outcome == .dropped ? .unreachable : .success
        case .failure: .undetermined
        }
    }
}
