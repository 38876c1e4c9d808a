// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import TestSupport
import Testing

/// Interfaces that are renamed, deleted and made again under connections: a socket is bound to an index, whatever the
/// names are.
struct ConnectionNamesTests {
    /// Something that happens to the names of interfaces.
    enum Step: CustomStringConvertible {
        /// The uplink gets a name.
        case rename(Int)
        /// Another interface gets a name, unless one has it.
        case occupy(Int)
        /// The other interface is deleted.
        case free
        /// The uplink is deleted, and another one is made with a name.
        case remake(Int)

        var description: String {
            switch self {
            case .rename(let number): "rename to \(Network.names[number])"
            case .occupy(let number): "another interface named \(Network.names[number])"
            case .free: "no other interface"
            case .remake(let number): "made again as \(Network.names[number])"
            }
        }
    }

    struct Contradiction {
        let steps: [Step]
        let text: String
    }

    @Test(.needs(.veth))
    func `data, the status and the monitor of connections agree, whatever names interfaces get`() throws {
        var random = SeededGenerator(seed: Self.seed)
        let names = Network.names.indices
        let steps = (0..<Rounds.of(400)).map { _ -> Step in
            let name = random.pick(names)
            return switch Int.random(in: 0..<6, using: &random) {
            case 0...2: .rename(name)
            case 3: .occupy(name)
            case 4: .free
            default: .remake(name)
            }
        }
        guard var found = try Self.contradiction(in: steps) else { return }
        found = try Shrinking.smallest(found, steps: \.steps) { try Self.contradiction(in: $0) }
        Issue.record("after \(found.steps): \(found.text)")
    }

    /// The beginning of the series: another one for each value of `SOAK_SEED`.
    private static let seed = getenv("SOAK_SEED").flatMap { UInt64(String(cString: $0)) } ?? 11

    private static func contradiction(in steps: [Step]) throws -> Contradiction? {
        let network = try Network()
        for (number, step) in steps.enumerated() {
            try network.apply(step)
            if let text = try network.contradiction() {
                return Contradiction(steps: Array(steps.prefix(number + 1)), text: text)
            }
        }
        return nil
    }
}

/// A host with connections over one uplink, whose name changes.
private final class Network {
    /// Names in the shell's words: some are numbers, as an index is, and one is not UTF-8.
    static let names = ["up0", "up1", "1", "2", "3", #"$(printf 'f\303\251')"#, #"$(printf 'x\377')"#]

    private let net: ConnectedHost
    private var name = names[0]

    init() throws {
        net = try ConnectedHost(uplinks: ["up0"])
        // Where an interface has to be down to get a name, its IPv6 addresses stay.
        for group in ["all", "default"] { try net.host.set("net/ipv6/conf/\(group)/keep_addr_on_down", "1") }
        try connect()
    }

    /// Connects sockets that are bound to the uplink, have a scope, or neither.
    private func connect() throws {
        // What is bound to an interface that is gone never changes again.
        while net.connections.count > 12 {
            guard let oldest = net.connections.keys.compactMap({ Int($0) }).min() else { break }
            try net.disconnect("\(oldest)")
        }
        for kind in ["tcp", "udp"] {
            for remote in ConnectedHost.remotes { try net.connect(kind, remote) }
        }
        guard !name.hasPrefix("$") else { return }
        try net.connect("tcp", ConnectedHost.remotes[0], "device=\(name)")
        try net.connect("udp", ConnectedHost.remotes[1], "device=\(name)")
        try net.connect("tcp", "fe80::1%\(name)")
    }

    func apply(_ step: ConnectionNamesTests.Step) throws {
        switch step {
        case .rename(let number):
            // The kernel refuses a name that another interface has, and until Linux 6.2 one that is up.
            let new = Self.names[number]
            guard (try? net.host.shell("ip link set dev \"\(name)\" name \"\(new)\"")) != nil else { return }
            name = new
        case .occupy(let number):
            _ = try? net.host.shell(
                "ip link add \"\(Self.names[number])\" type dummy && ip link set \"\(Self.names[number])\" up group 7"
            )
        case .free:
            try net.host.shell("ip link del group 7 2>&1 || true")
        case .remake(let number):
            try net.host.shell("ip link del dev \"\(name)\"; ip link del group 7 2>&1 || true")
            name = Self.names[0]
            try net.wireUplink(name)
            try apply(.rename(number))
            try connect()
        }
    }

    /// Where data and the status differ, or the status and that of a monitor; `nil` where they agree.
    func contradiction() throws -> String? {
        if let found = try net.contradiction() { return found }
        for number in net.connections.keys.sorted() {
            let status = try net.status(number).text
            // The monitor waits for the end of a burst.
            var watched = ""
            let limit = ContinuousClock.now + .seconds(20)
            repeat {
                watched = try net.host.command(["watched", number])[0]
                if watched == status { break }
                poll(nil, 0, 5)
            } while ContinuousClock.now < limit
            if watched != status { return "\(number) is \(status), and the monitor says \(watched)" }
        }
        return nil
    }
}
