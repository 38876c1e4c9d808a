// SPDX-License-Identifier: Apache-2.0

public import RoutingModel

/// Whether anything has answered on a path, as this host knows without sending.
///
/// The TCP connections of this host are answered or repeat packets, and its gateway is confirmed or silent; the kernel
/// shows both to everyone. Flags, paths and statuses do not depend on it.
///
/// What it cannot know: whether an idle path is cut, or one on which this host only receives; which hop is silent
/// beyond the gateway; an outage below 3 s; a dead gateway before the kernel's timers end, after 31 to 63 s; a repair
/// before the next try; UDP, QUIC and DNS; several dead remotes of one site from a dead path, hence the counts; other
/// network namespaces; the outer packets of a tunnel. A portal that answers by itself looks well, and so does a process
/// that is stopped.
public struct NetworkEvidence: Hashable, Sendable {
    /// What the evidence says.
    public enum Verdict: String, Hashable, Sendable, CaseIterable {
        /// Something has answered within 60 s.
        case answered
        /// At least five tries to at least two remotes that answered before have no answer, the oldest for at least 3
        /// s; with one remote for at least 8 s.
        case silent
        /// The gateway does not answer the requests for its address.
        case gatewaySilent
        /// Packets do not leave this host, as with a firewall of its own.
        case notLeaving
        /// New connections have no answer, and nothing else has answered for at least 3 s.
        case newConnectionsUnanswered
        /// Nothing has answered lately, and too little was asked.
        case none
    }

    /// Whether the gateway answers.
    public enum Gateway: String, Hashable, Sendable, CaseIterable {
        /// It has been confirmed since the silence began, or within the last 60 s if there is none.
        case answers
        /// It does not answer the requests for its address.
        case silent
        /// It is not known, or there is no gateway.
        case unknown
    }

    /// What the evidence says.
    public package(set) var verdict = Verdict.none
    /// The age of the oldest try without an answer if the verdict is ``Verdict/silent`` or
    /// ``Verdict/newConnectionsUnanswered``, else that of the last answer; `nil` if nothing has answered.
    public package(set) var age: Duration?
    /// The age of the last answer; `nil` if nothing has answered.
    public package(set) var lastAnswer: Duration?
    /// The TCP connections on the path.
    public package(set) var connections = 0
    /// Those of them with a try that has no answer yet.
    public package(set) var waitingConnections = 0
    /// The remotes that the tries without an answer went to.
    public package(set) var remotes = 0
    /// The tries without an answer, which are transmissions of TCP; requests for the address of the gateway if the
    /// verdict is ``Verdict/gatewaySilent``.
    public package(set) var tries = 0
    /// The age of the last try without an answer; `nil` if there is none.
    ///
    /// After a repair, connections sleep for up to two minutes before the next try.
    public package(set) var lastTry: Duration?
    /// The only remote that the tries went to; `nil` if there are several, or none.
    public package(set) var onlyRemote: IPAddress?
    /// Whether the gateway answers.
    public package(set) var gateway = Gateway.unknown
    /// The age of the last confirmation of the gateway; `nil` if it is not known.
    public package(set) var gatewayConfirmed: Duration?

    package init() {}

    /// Whether it says that nothing answers: it is neither ``Verdict/answered`` nor ``Verdict/none``.
    public var isSilent: Bool { verdict != .answered && verdict != .none }
}

extension NetworkEvidence: CustomStringConvertible {
    /// One line, such as `answered 0.1 s ago (12 of 12 connections, gateway confirmed 0.3 s ago)`.
    public var description: String {
        switch verdict {
        case .answered: "answered \(Self.words(age)) ago (\(details))"
        case .silent: "silent for \(Self.words(age)): \(asked)\(later)\(ofGateway)"
        case .gatewaySilent: "the gateway is silent: no answer to \(Self.count(tries, "request"))"
        case .notLeaving: "packets do not leave this host (a firewall?)"
        case .newConnectionsUnanswered: "new connections unanswered for \(Self.words(age)): \(asked)\(later)"
        case .none: "no evidence: \(idle)"
        }
    }

    private var details: String {
        let answered = connections - waitingConnections
        let confirmed = gatewayConfirmed.map { ", gateway confirmed \(Self.words($0)) ago" } ?? ""
        return "\(answered) of \(Self.count(connections, "connection"))\(confirmed)"
    }

    private var asked: String {
        let remotes = onlyRemote.map { "\($0) alone" } ?? Self.count(remotes, "remote")
        return "\(Self.count(tries, tries == 1 ? "try" : "tries", plural: "")) to \(remotes)"
    }

    /// Said only where the connections sleep.
    private var later: String {
        guard let lastTry, lastTry >= .seconds(10) else { return "" }
        return ", the last \(Self.words(lastTry)) ago"
    }

    private var ofGateway: String { gateway == .answers ? "; the gateway answers" : "" }

    private var idle: String {
        guard let age else {
            return tries == 0 ? "nothing has answered" : "\(asked), and nothing has answered"
        }
        return tries == 0
            ? "nothing asked for \(Self.words(age))"
            : "\(asked) since the last answer, \(Self.words(age)) ago"
    }

    private static func count(_ number: Int, _ noun: String, plural: String = "s") -> String {
        "\(number) \(noun)\(number == 1 ? "" : plural)"
    }

    /// A duration with tenths of a second below 10 s.
    private static func words(_ duration: Duration?) -> String {
        let tenths = Int((duration ?? .zero) / .milliseconds(100))
        return tenths < 100 ? "\(tenths / 10).\(tenths % 10) s" : "\(tenths / 10) s"
    }
}
