// SPDX-License-Identifier: Apache-2.0

import Foundation
import NetlinkReachability
import NetlinkRecording
import SystemSupport
import Testing

/// One recorded moment of a real kernel: its tables, and its own answers about them.
struct RecordedNetwork: CustomTestStringConvertible, Sendable {
    /// Such as `22-lookup-corners/06-equal-v4-defaults-first-gateway-dead`.
    let name: String

    var testDescription: String { name }

    /// Everything that was recorded, in the order of the scenarios.
    static let all: [RecordedNetwork] = scenarios.flatMap(\.networks)

    static let scenarios: [RecordedScenario] = folders(in: fixtures).map(RecordedScenario.init)

    static let fixtures = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")

    static func folders(in url: URL) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: url.path())) ?? []
        return names.filter { $0.first?.isNumber == true }.sorted()
    }

    /// An address of each family that the kernel was asked about, and that only default routes match.
    ///
    /// `::` is one where a rule sends the recorded public addresses elsewhere; routes of special addresses match it
    /// in other networks.
    var publicTargets: [String] {
        ["128.0.0.0", name.hasSuffix("/07-rule-actions-v4-v6") ? "::" : "2001:4860:4860::8888"]
    }

    func read(_ file: String) throws -> [UInt8] {
        Array(try Data(contentsOf: Self.fixtures.appending(path: name).appending(path: file)))
    }
}

/// A series of recorded moments of one host, and the notifications between them.
struct RecordedScenario: CustomTestStringConvertible, Sendable {
    let name: String

    var testDescription: String { name }

    var networks: [RecordedNetwork] {
        RecordedNetwork.folders(in: RecordedNetwork.fixtures.appending(path: name))
            .map { RecordedNetwork(name: "\(name)/\($0)") }
    }

    func events() throws -> [UInt8] {
        let url = RecordedNetwork.fixtures.appending(path: name).appending(path: "events.rtmon")
        return Array(try Data(contentsOf: url))
    }
}

// MARK: - Snapshots

extension RecordedNetwork {
    /// What meta.json says of the moment.
    struct Meta: Decodable {
        var stable: Bool
        var probes: Int
        var time: Double
    }

    func meta() throws -> Meta {
        try JSONDecoder().decode(Meta.self, from: Data(read("meta.json")))
    }

    /// What many tests read of each network is read once.
    private static let snapshots = Locked<[String: NetworkSnapshot]>([:])
    static let probes = Locked<[String: [Probe]]>([:])

    /// A value of a network, from the cache or from its files.
    func cached<Value: Sendable>(
        in cache: Locked<[String: Value]>, suffix: String = "", _ read: () throws -> Value
    ) throws -> Value {
        if let known = cache.withLock({ $0[name + suffix] }) { return known }
        let value = try read()
        cache.withLock { $0[name + suffix] = value }
        return value
    }

    /// The snapshot that the dumps make.
    func snapshot(withNeighbours: Bool = true) throws -> NetworkSnapshot {
        try cached(in: Self.snapshots, suffix: withNeighbours ? "+" : "") {
            try readSnapshot(withNeighbours: withNeighbours)
        }
    }

    private func readSnapshot(withNeighbours: Bool) throws -> NetworkSnapshot {
        var snapshot = NetworkSnapshot()
        // The kernel was asked by root.
        snapshot.askingUser = 0
        for file in withNeighbours ? ["state.rtnl", "neigh.nl"] : ["state.rtnl"] {
            forEachMessage(try read(file)) { message in
                if let change = message.change { snapshot.apply(change) }
            }
        }
        snapshot.dumpEnded(knowsNeighbours: withNeighbours)
        return snapshot
    }

    /// The snapshot with the facts that rtnetlink does not have.
    func routing() throws -> SnapshotRouting {
        SnapshotRouting(
            try snapshot(),
            wirelessIndexes: try wirelessIndexes(),
            cellularIndexes: try cellularIndexes()
        )
    }

    /// The interfaces of a dump of NL80211_CMD_GET_INTERFACE.
    private func wirelessIndexes() throws -> Set<UInt32> {
        guard let bytes = try? read("nl80211-interface.nl") else { return [] }
        var indexes: Set<UInt32> = []
        forEachMessage(bytes) { message in
            // A generic netlink header of 4 bytes, then attributes; NL80211_ATTR_IFINDEX is 3.
            var offset = 20
            while offset + 4 <= message.bytes.count {
                let length = Int(message.bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
                let type = message.bytes.loadUnaligned(fromByteOffset: offset + 2, as: UInt16.self)
                guard length >= 4, offset + length <= message.bytes.count else { break }
                if type & 0x3fff == 3, length == 8 {
                    indexes.insert(message.bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self))
                }
                offset += (length + 3) & ~3
            }
        }
        return indexes
    }

    /// The interfaces that sysfs calls DEVTYPE=wwan.
    private func cellularIndexes() throws -> Set<UInt32> {
        let lines = String(decoding: try read("sysfs.txt"), as: UTF8.self).split(separator: "\n")
        return Set(
            lines.filter { $0.contains(" DEVTYPE=wwan ") }.compactMap { line in
                line.split(separator: " ").first { $0.hasPrefix("ifindex=") }
                    .flatMap { UInt32($0.dropFirst("ifindex=".count)) }
            })
    }
}

/// Walks over netlink messages, each aligned to 4 bytes.
func forEachMessage(_ bytes: [UInt8], _ body: (NetlinkMessage) throws -> Void) rethrows {
    try bytes.withUnsafeBytes { bytes in
        var rest = UnsafeRawBufferPointer(rebasing: bytes[...])
        while let message = NetlinkMessage(rest) {
            try body(message)
            let step = min((message.bytes.count + 3) & ~3, rest.count)
            rest = UnsafeRawBufferPointer(rebasing: rest[step...])
        }
    }
}
