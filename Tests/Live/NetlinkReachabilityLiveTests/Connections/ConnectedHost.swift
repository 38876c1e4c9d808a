// SPDX-License-Identifier: Apache-2.0

import TestNamespaces
import Testing

/// A host with connections to an echo server over one or two uplinks, changes of its network, and what the library says
/// of the connections, held against the data that the server receives.
///
/// The server has 198.51.100.1 and 2001:db8:ff::1 on its loopback interface, and the far end of each uplink.
final class ConnectedHost {
    /// What the library says of a connection.
    struct Status {
        let state: String
        let reason: String
        let text: String
        let betterInterface: String
        let betterSource: String
        /// The states of the subflows of an MPTCP connection.
        let subflows: [Substring]
    }

    /// Something that can be changed and changed back.
    struct Change {
        let name: String
        /// The commands, in turn: `ip` without its name, `far: ` before those of the server.
        let apply: [String]
        let undo: [String]
        /// The uplinks whose operational state changes.
        var links: [String] = []
    }

    let host: TestNamespace
    let server: TestNamespace
    let uplinks: [String]
    /// The connections, by their numbers.
    private(set) var connections: [String: (fields: [String], description: String)] = [:]

    static let remotes = ["198.51.100.1", "2001:db8:ff::1"]

    /// - Parameters:
    ///   - uplinks: The names of the interfaces to the server.
    ///   - isMultipath: Whether the server takes MPTCP connections, with a subflow over each uplink.
    /// - Throws: `NamespaceFailure` if a command fails.
    init(uplinks: [String], isMultipath: Bool = false) throws {
        self.uplinks = uplinks
        host = try TestNamespace()
        server = try host.makePeer()
        for side in [host, server] {
            for group in ["all", "default"] { try side.set("net/ipv4/conf/\(group)/rp_filter", "0") }
        }
        try server.ip("addr add 198.51.100.1/32 dev lo")
        try server.address("lo", "2001:db8:ff::1/128")
        for (number, name) in uplinks.enumerated() {
            try wire(name, number)
        }
        for line in Self.defaultRoutes(of: uplinks) { try run(line) }
        try server.command(isMultipath ? ["serve", "mptcp"] : ["serve"])
        guard isMultipath else { return }
        for side in [host, server] { try side.ip("mptcp limits set subflow 4 add_addr_accepted 4") }
        for (number, name) in uplinks.enumerated().dropFirst() {
            try host.ip("mptcp endpoint add 192.0.\(number + 2).2 dev \(name) subflow")
        }
    }

    private func wire(_ name: String, _ number: Int) throws {
        try host.wire(name, "192.0.\(number + 2).2/24", "2001:db8:\(number + 1)::2/64", to: server)
        // Where no packet waits for it, the kernel solicits a neighbour from a link-local address. Without one, a
        // neighbour that is probed fails.
        try host.address(name, "fe80::2/64")
        try server.address(
            "\(name)-far", "192.0.\(number + 2).1/24", "2001:db8:\(number + 1)::1/64", "fe80::1/64")
    }

    /// Makes the only uplink again, with its addresses and default routes.
    func wireUplink(_ name: String) throws {
        try wire(name, 0)
        for line in Self.defaultRoutes(of: [name]) { try run(line) }
    }

    /// The default routes, the first uplink before the second.
    static func defaultRoutes(of uplinks: [String]) -> [String] {
        uplinks.enumerated().flatMap { number, name in
            [
                "route replace default via 192.0.\(number + 2).1 dev \(name) metric \(100 * (number + 1))",
                "-6 route replace default via 2001:db8:\(number + 1)::1 dev \(name) metric \(100 * (number + 1))",
            ]
        }
    }

    /// Connects a socket.
    @discardableResult
    func connect(_ fields: String...) throws -> String {
        try connect(fields)
    }

    func connect(_ fields: [String]) throws -> String {
        let answer = try host.command(["connect"] + fields)
        connections[answer[0]] = (fields, answer[1])
        return answer[0]
    }

    func disconnect(_ number: String) throws {
        try host.command(["disconnect", number])
        connections[number] = nil
    }

    func status(_ number: String) throws -> Status {
        let fields = try host.command(["connection", number])
        return Status(
            state: fields[0], reason: fields[1], text: fields[2], betterInterface: fields[3],
            betterSource: fields[4], subflows: fields[5].split(separator: " "))
    }

    // MARK: Changes

    func apply(_ change: Change) throws {
        try make(change.apply, change.links)
    }

    func undo(_ change: Change) throws {
        try make(change.undo, change.links)
    }

    private func make(_ lines: [String], _ links: [String]) throws {
        // A command that another change has made void changes nothing.
        for line in lines { try? run(line) }
        for link in links {
            let isUp =
                try host.ip("-o link show dev \(link)").contains(",UP")
                && server.ip("-o link show dev \(link)-far")
                    .contains(",UP")
            try host.wait(for: link, state: isUp ? "UP" : "DOWN")
        }
    }

    private func run(_ line: String) throws {
        if line.hasPrefix("far: ") {
            try server.ip(String(line.dropFirst(5)))
        } else {
            try host.ip(line)
        }
    }

    // MARK: The oracle

    /// Expects that data of viable and local connections is received, and that of lost ones is not.
    func expectNoContradiction(
        after change: String,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        guard let found = try contradiction() else { return }
        Issue.record("after \(change): \(found)", sourceLocation: location)
    }

    /// The viable and local connections whose data is not received, the lost ones whose data is, and the state of both
    /// ends; `nil` where there is neither.
    ///
    /// A connection that the kernel has given up is connected anew, where that is possible.
    func contradiction() throws -> String? {
        var found = try compare()
        // The kernel completes some changes a moment later.
        if !found.isEmpty { found = try compare() }
        guard !found.isEmpty else { return nil }
        let state = try ["neigh", "-br addr", "rule", "route show table all", "-6 rule"].map {
            try host.ip($0)
        }
        let far = try ["neigh", "-br addr"].map { try server.ip($0) }
        let sockets = try [host, server].map { try $0.shell("ss -Htuino") }
        return "\(found)\n\((state + far + sockets).joined(separator: "\n"))"
    }

    private func compare() throws -> [String] {
        var states: [String: Status] = [:]
        for number in connections.keys { states[number] = try status(number) }
        // The network decides about these answers, not this host.
        let unknown = states.filter { $0.value.reason == "unknownReturnPath" }.keys
        let viable = states.filter { ["viable", "local"].contains($0.value.state) }.keys.sorted()
            .filter { !unknown.contains($0) }
        let answer = try host.command(["exchange"] + viable)
        let received = Set(answer.prefix { $0 != "broken" })
        let broken = Set(answer.drop { $0 != "broken" }.dropFirst())
        var found: [String] = []
        for (number, status) in states where !broken.contains(number) && !unknown.contains(number) {
            let isReceived = received.contains(number)
            let isWrong =
                switch status.state {
                case "viable", "local": !isReceived
                case "lost": isReceived
                default: false
                }
            if isWrong {
                let data = isReceived ? "is received" : "is not received"
                found.append("\(connections[number]?.description ?? ""): \(status.text), but data \(data)")
            }
        }
        for number in broken {
            try host.command(["disconnect", number])
            guard let fields = connections.removeValue(forKey: number)?.fields else { continue }
            _ = try? connect(fields)
        }
        return found
    }
}
