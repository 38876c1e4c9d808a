// SPDX-License-Identifier: Apache-2.0

/// Whether hosts have answered on a path, as far as this host knows without sending packets.
///
/// The evidence comes from the kernel, which shows it to every process: whether this host's TCP connections are
/// answered or retransmit, and whether its gateway is confirmed or silent. Flags, paths and statuses do not depend on
/// it.
///
/// What it cannot know: whether an idle path, or a path on which this host only receives, is cut; which hop beyond
/// the gateway is silent; an outage shorter than 3 s; a dead gateway before the kernel's timers end, after 31 to 63
/// s; a repair before the next try; UDP, QUIC and DNS; the difference between several dead remotes of one site and a
/// dead path, which is why it has counts; other network namespaces; the outer packets of a tunnel. A captive portal
/// that answers in place of the remote looks healthy, and so does a stopped process.
public struct NetworkEvidence: Hashable, Sendable {
    /// The conclusion from the evidence.
    public enum Verdict: String, Hashable, Sendable, CaseIterable {
        /// A host has answered within the last 60 s.
        case answered
        /// At least five tries to at least two remotes that answered before are unanswered, the oldest for at least 3
        /// s. With only one remote, the oldest for at least 8 s.
        case silent
        /// The gateway does not answer the requests for its address.
        case gatewaySilent
        /// Packets do not leave this host, for example because of its own firewall.
        case notLeaving
        /// New connections are unanswered, and there was no other answer for at least 3 s.
        case newConnectionsUnanswered
        /// There was no answer lately, and there were too few tries for a conclusion.
        case none
    }

    /// Whether the gateway answers.
    public enum Gateway: String, Hashable, Sendable, CaseIterable {
        /// The gateway was confirmed since the silence began; without a silence, within the last 60 s.
        case answers
        /// The gateway does not answer the requests for its hardware address.
        case silent
        /// The state of the gateway is not known, or there is no gateway.
        case unknown
    }

    /// The conclusion from the evidence.
    public package(set) var verdict = Verdict.none
    /// The interface of the path; `nil` without a path.
    ///
    /// Of several paths, such as one of each family, the evidence is about the one with this interface and gateway.
    public package(set) var interfaceIndex: UInt32?
    /// The gateway of the path, without a zone; `nil` without a gateway.
    public package(set) var gatewayAddress: IPAddress?
    /// The age of the oldest unanswered try if the verdict is ``Verdict/silent`` or
    /// ``Verdict/newConnectionsUnanswered``, else the age of the last answer; `nil` without any answer, and in a
    /// recording with the verdict ``Verdict/answered``.
    public package(set) var age: Duration?
    /// The age of the last answer; `nil` without any answer.
    public package(set) var lastAnswer: Duration?
    /// The number of TCP connections on the path.
    public package(set) var connections = 0
    /// The number of these connections that have an unanswered try.
    public package(set) var waitingConnections = 0
    /// The number of remotes with unanswered tries.
    public package(set) var remotes = 0
    /// The number of unanswered tries, which are transmissions of TCP segments.
    ///
    /// If the verdict is ``Verdict/gatewaySilent``, the number of requests for the gateway's hardware address.
    public package(set) var tries = 0
    /// The age of the last unanswered try; `nil` if there is none.
    ///
    /// After a repair, up to two minutes can pass before a connection's next try.
    public package(set) var lastTry: Duration?
    /// The remote of all unanswered tries; `nil` if there are several remotes, or none.
    public package(set) var onlyRemote: IPAddress?
    /// Whether the gateway answers.
    public package(set) var gateway = Gateway.unknown
    /// The age of the last confirmation of the gateway; `nil` if it is not known.
    public package(set) var gatewayConfirmed: Duration?

    package init() {}

    /// Whether the verdict is that answers are missing: neither ``Verdict/answered`` nor ``Verdict/none``.
    public var isSilent: Bool { verdict != .answered && verdict != .none }

    /// Whether the verdict is the same, and while answers are missing also the path.
    package func isSameState(as other: NetworkEvidence) -> Bool {
        verdict == other.verdict && (!isSilent || isOfSamePath(as: other))
    }

    /// Whether the path is the same.
    package func isOfSamePath(as other: NetworkEvidence) -> Bool {
        interfaceIndex == other.interfaceIndex && gatewayAddress == other.gatewayAddress
    }

    /// The evidence after a time in which the verdict has not changed.
    ///
    /// If the verdict is ``Verdict/answered``, there can have been another answer since, so the age is not known.
    package func aged(by time: Duration) -> NetworkEvidence {
        var evidence = self
        let isKnown = verdict != .answered || time == .zero
        evidence.age = isKnown ? age.map { $0 + time } : nil
        evidence.lastAnswer = isKnown ? lastAnswer.map { $0 + time } : nil
        evidence.lastTry = lastTry.map { $0 + time }
        evidence.gatewayConfirmed = isKnown ? gatewayConfirmed.map { $0 + time } : nil
        return evidence
    }
}

extension NetworkEvidence: CustomStringConvertible {
    /// One line, such as `answered 0.1 s ago (12 of 12 connections, gateway confirmed 0.3 s ago)`.
    public var description: String {
        switch verdict {
        case .answered: "answered \(age.map { "\(Self.words($0)) ago" } ?? "within 60 s") (\(details))"
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

    /// The age of the last try, if it is at least 10 s.
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
