// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRecording
internal import RoutingModel

/// The part of a simulated network that has stopped answering.
public enum SimulatedSilence: Hashable, Sendable {
    /// Nothing beyond the gateway answers.
    case beyondGateway
    /// The gateway does not answer either.
    case gateway
}

/// A TCP connection of the simulated host that sends data at intervals and gets an answer at once.
struct SimulatedConversation: Sendable {
    let flow: ConnectedSocket.Flow
    let gateway: Neighbour.Key?
    let interval: Int
    let begin: Int

    /// The connection as the kernel describes it, in milliseconds of the clock.
    ///
    /// Unanswered data is sent again after 200 ms, and then each time after twice the previous delay.
    func socket(at now: Int, silentSince: Int?, answeredAgain: Int?, cookie: UInt64) -> ConnectedSocket {
        var progress = TCPProgress()
        (progress.timeout, progress.roundTrip, progress.sendWindow) = (200, 10, 65_536)
        let last = begin + (now - begin) / interval * interval
        let first = silentSince.map { max(begin, begin + ($0 - begin + interval - 1) / interval * interval) }
        guard let first, first <= now else {
            let answered = now - max(last, answeredAgain ?? .min)
            (progress.lastDataSent, progress.lastDataReceived) = (now - last, answered)
            progress.lastAcknowledgement = answered
            return ConnectedSocket(flow, cookie: cookie, progress: progress)
        }
        var (sent, next) = (first, first + 200)
        while next <= now {
            progress.retransmits += 1
            (sent, next) = (next, next + 200 << progress.retransmits)
        }
        (progress.backoff, progress.totalRetransmits) = (progress.retransmits, progress.retransmits)
        (progress.timeout, progress.unacknowledged) = (next - sent, 1)
        progress.lastDataSent = now - sent
        progress.lastAcknowledgement = now - max(begin, first - interval)
        progress.lastDataReceived = progress.lastAcknowledgement
        let timer = TCPTimer(.retransmission, expires: next - now)
        return ConnectedSocket(flow, cookie: cookie, timer: timer, progress: progress)
    }
}

extension SimulatedHost {
    /// Opens a TCP connection that sends data at intervals, and gets answers unless there is a ``silence``:
    /// `NetworkQuery.evidence(of:options:)` reads such connections.
    ///
    /// ```swift
    /// try network.change { try $0.addConversation(with: "198.51.100.7", every: .seconds(1)) }
    /// network.change { $0.silence = .beyondGateway }
    /// try await network.advance(by: .seconds(10))      // the evidence is silent
    /// ```
    ///
    /// - Parameters:
    ///   - remote: The address of the remote.
    ///   - interval: The time between two sends.
    /// - Throws: ``SimulationError`` if no packet can leave to the remote.
    public mutating func addConversation(
        with remote: some SimulatedAddress,
        every interval: Duration = .seconds(1)
    ) throws(SimulationError) {
        let remote = remote.simulatedAddress
        var query = RouteQuery(destination: remote.withoutZone)
        query.selectsNexthop = true
        guard let answer = try? routing.answer(to: query), let nexthop = answer.nexthop,
            let local = answer.source ?? (try? routing.sourceAddresses(for: query, after: answer))?.first
        else {
            throw SimulationError(
                .invalidAddress, "no packet can leave to \(remote): add a route and an address")
        }
        let flow = ConnectedSocket.Flow(
            ipProtocol: 6, local: local.withoutZone, remote: remote.withoutZone,
            localPort: 40_000, remotePort: 443)
        conversations.append(
            SimulatedConversation(
                flow: flow,
                gateway: nexthop.neighbour,
                interval: max(1, Int(interval / .milliseconds(1))), begin: now.milliseconds))
    }

    /// The part of the network that has stopped answering; `nil` if everything answers.
    ///
    /// Packets still leave: flags, paths and statuses stay as they are.
    public var silence: SimulatedSilence? {
        get { silent }
        set {
            if newValue == nil, silent != nil { answeredAgain = now.milliseconds }
            if newValue != nil, silent == nil { silentSince = now.milliseconds }
            if newValue == nil { silentSince = nil }
            silent = newValue
            let gateways = Set(conversations.compactMap(\.gateway?.address))
            state.notifications += gateways.map(KernelNotification.neighbour)
        }
    }

    /// The sockets and neighbours of the connections, as the kernel would list them.
    var answerRecord: AnswerRecord {
        let time = now.milliseconds
        var (sockets, neighbours) = ([ConnectedSocket](), [Neighbour.Key: NeighbourReply]())
        for (index, conversation) in conversations.enumerated() {
            sockets.append(
                conversation.socket(
                    at: time, silentSince: silentSince, answeredAgain: answeredAgain,
                    cookie: UInt64(index + 1)))
            if let gateway = conversation.gateway {
                neighbours[gateway] =
                    silent == .gateway ? NeighbourReply(.failed) : NeighbourReply(.reachable, confirmed: 0)
            }
        }
        return .kernel(sockets, neighbours)
    }
}

extension ManualClock.Instant {
    fileprivate var milliseconds: Int { Int(offset / .milliseconds(1)) }
}
