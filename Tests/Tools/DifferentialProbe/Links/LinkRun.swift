// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkReachability
internal import NetlinkRecording
internal import RoutingModel
internal import TestSupport

/// Changes the interfaces of a network at random, and asks about it after each change.
///
/// Names are any bytes that the kernel takes, and interfaces lie on, in and beside each other. The answers about
/// addresses come from the kernel and from a dump of its tables, and are the same. The C library knows each index by
/// the same name. An answer that takes longer than ten minutes ends the process by SIGALRM.
struct LinkRun: Run {
    /// The changes of one network.
    private static let perNetwork = 250
    private static let targets: [ReachabilityTarget] =
        [.defaultPath]
        + ["198.51.100.1", "10.0.3.9", "10.0.5.1", "2001:db8::2", "2001:db8:3::9", "fe80::9", "224.0.0.1"]
        .compactMap { IPAddress($0).map { .address($0) } }

    let seed: UInt64
    let changes: Int
    private(set) var agreed = 0
    private(set) var differing = 0
    private var refused = 0
    private var moved = 0
    private var open = 0
    /// The names that are not UTF-8, of the last network.
    private var names = 0
    private var most = 0

    init(seed: UInt64, changes: Int) {
        self.seed = seed
        self.changes = changes
    }

    mutating func compareAll() throws {
        var network: UInt64 = 0
        while agreed < changes, differing == 0, Interruption.signal == nil {
            print("network", seed &+ network)
            if let difference = try run(seed &+ network) {
                differing += 1
                print(difference)
            }
            network += 1
        }
    }

    func printCounts() {
        print("refused", refused)
        print("moved", moved)
        print("exception", open, ChangeException.source)
        print("names", names)
        print("most", most)
    }

    /// - Returns: The first difference, with the changes that lead to it.
    private mutating func run(_ seed: UInt64) throws -> String? {
        try Namespace.renew()
        var generator = LinkGenerator(seed: seed)
        var history: [String] = []
        for number in 0..<Self.perNetwork where agreed < changes {
            let change = generator.change(try Self.interfaces())
            guard try change.run() else {
                refused += 1
                continue
            }
            history.append(change.description)
            alarm(600)
            let difference = try judge(isWhole: number % 10 == 0)
            alarm(0)
            if let difference {
                return (["difference seed \(seed)"] + history.map { "  command " + $0 } + [difference])
                    .joined(separator: "\n")
            }
            agreed += 1
        }
        return nil
    }

    private static func interfaces() throws -> [LinkGenerator.Interface] {
        guard let list = if_nameindex() else { throw NetworkFailure.system("if_nameindex") }
        defer { if_freenameindex(list) }
        var known: [LinkGenerator.Interface] = []
        var entry = list
        while entry.pointee.if_index != 0 {
            let name = Array(
                UnsafeBufferPointer(start: entry.pointee.if_name, count: strlen(entry.pointee.if_name)))
            known.append(
                LinkGenerator.Interface(
                    index: entry.pointee.if_index, name: name.map(UInt8.init(bitPattern:))))
            entry += 1
        }
        return known
    }

    /// Compares both answers, and looks once more at a network that has not settled.
    ///
    /// - Parameter isWhole: Whether the loss of each interface is predicted too.
    /// - Returns: The difference.
    /// - Throws: When the tables cannot be read.
    private mutating func judge(isWhole: Bool) throws -> String? {
        var text = ""
        for attempt in 0..<40 {
            if attempt > 0 {
                moved += 1
                _ = try NetworkSnapshot.settled()
            }
            let state = try NetworkState.live()
            text = try difference(state)
            guard text.isEmpty else { continue }
            if isWhole { Self.loseEach(state) }
            return nil
        }
        return text
    }

    /// What the kernel answers otherwise than the dump of its tables, and the C library names otherwise.
    private mutating func difference(_ state: NetworkState) throws -> String {
        let kernel = try NetworkSource.currentNamespace()
        let dump = state.source
        var text = ""
        for target in Self.targets {
            var live = PredictedAnswer(target, kernel)
            let recorded = PredictedAnswer(target, dump)
            // Of several addresses that fit alike, a dump does not show which one is the source.
            if recorded.source == nil, live.source != nil {
                live.source = nil
                open += 1
            }
            if live != recorded, !live.isUndecided, !recorded.isUndecided {
                text += "  \(target)\n    kernel   \(live)\n    recorded \(recorded)\n"
            }
        }
        let known = try Self.interfaces()
        let links = state.host.routing.snapshot.links
        most = max(most, known.count)
        names = 0
        for interface in known {
            let name = String(decoding: interface.name, as: UTF8.self)
            if links[interface.index]?.name != name {
                text += "  \(interface.index): \(name), \(links[interface.index]?.name ?? "missing")\n"
            }
            if Array(name.utf8) != interface.name { names += 1 }
        }
        let count = state.host.links.count
        if count != known.count { text += "  \(known.count) interfaces, \(count) in the dump\n" }
        return text
    }

    private static func loseEach(_ state: NetworkState) {
        for link in state.host.links {
            for isWhole in [true, false] {
                var changed = state
                if isWhole {
                    changed.host.removeInterface(link.index)
                } else {
                    changed.host.setCarrier(link.index, false)
                }
                _ = changed.answers(for: Array(targets.prefix(3)))
            }
        }
    }
}
