// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkReachability
internal import NetlinkRecording
internal import TestSupport

/// Predicts random changes of random networks, makes them, and compares.
struct ChangeRun: Run {
    /// The changes of one network.
    private static let perNetwork = 25
    /// How long the kernel may take for carriers, in steps of 50 ms: it reports some once a second.
    private static let patience = 40

    let seed: UInt64
    let changes: Int
    private var predicted = 0
    private var refused = 0
    private var compared = 0
    private var unknown: [String: Int] = [:]
    private var exceptions: [ChangeException: Int] = [:]
    private(set) var differing = 0

    var agreed: Int { predicted + refused }

    init(seed: UInt64, changes: Int) {
        self.seed = seed
        self.changes = changes
    }

    mutating func compareAll() throws {
        var network: UInt64 = 0
        while agreed + differing < changes, differing < 5, Interruption.signal == nil {
            try compare(seed &+ network)
            network += 1
        }
    }

    func printCounts() {
        for (reason, count) in unknown.sorted(by: { $0.key < $1.key }) { print("unknown", count, reason) }
        for exception in ChangeException.allCases {
            print("exception", exceptions[exception, default: 0], exception)
        }
        print("targets", compared)
        print("refused", refused)
    }

    private mutating func compare(_ seed: UInt64) throws {
        var generator = NetworkGenerator(seed: seed)
        let tunnels = NetworkGenerator.tunnels(seed: seed) + NetworkGenerator.oddTunnel(seed: seed)
        let commands =
            [generator.promotion()] + NetworkGenerator.uplinks(seed: seed)
            + NetworkGenerator.packets(seed: seed) + generator.commands()
            + NetworkGenerator.deadNexthops(seed: seed) + NetworkGenerator.oddities(seed: seed) + tunnels
        var tunnelChanges = SeededGenerator(seed: seed ^ 0x6368_616e)
        let targets = generator.hostTargets() + (tunnels.isEmpty ? [] : NetworkGenerator.tunnelTargets)
        try Self.make(commands)
        var history: [String] = []
        for _ in 0..<Self.perNetwork where agreed + differing < changes {
            let change =
                !tunnels.isEmpty && tunnelChanges.once(in: 2)
                ? NetworkGenerator.tunnelChange(&tunnelChanges) : generator.hostChange()
            switch try Self.judge(change, targets) {
            case .agreed(let found):
                predicted += 1
                compared += targets.count
                exceptions.merge(found, uniquingKeysWith: +)
                history.append(change)
            case .refused: refused += 1
            case .unknown(let reason): unknown[reason, default: 0] += 1
            case .difference(let text):
                differing += 1
                let all = commands + history.map(Command.init(change:))
                let smallest = try Shrinking.smallest((all, text), steps: \.0) { commands in
                    // A setting can be that of an interface which is not there any more.
                    guard (try? Self.make(commands)) != nil,
                        case .difference(let text) = try Self.judge(change, targets)
                    else { return nil }
                    return (commands, text)
                }
                print("difference seed \(seed)")
                for command in smallest.0 + [Command(change: change)] { print("  command", command) }
                print(smallest.1)
                fflush(nil)
                return
            }
        }
    }

    private static func make(_ commands: [Command]) throws {
        try Namespace.renew()
        // As on other hosts, the kernel makes link-local addresses.
        try Namespace.write("0", to: "/proc/sys/net/ipv6/conf/default/addr_gen_mode")
        try Command.run(NetworkGenerator.changeBase + commands)
    }

    private enum Judgement {
        case agreed(exceptions: [ChangeException: Int])
        case refused
        case unknown(String)
        case difference(String)
    }

    /// Predicts a change, makes it, and compares.
    private static func judge(_ change: String, _ targets: [String]) throws -> Judgement {
        guard let parsed = try? HostChange(change) else { return .unknown("not a known change") }
        _ = try NetworkSnapshot.settled()
        var state = try NetworkState.live()
        var refusal: KernelRefusal?
        do {
            try state.host.make(parsed)
        } catch {
            guard error.number != nil else { return .unknown(error.message) }
            refusal = error
        }
        let error = try Self.ip(change)
        if let refusal {
            if ["Cannot find device", "does not exist."].contains(where: { error?.contains($0) ?? false }),
                refusal.number == ENODEV
            {
                return .unknown("no such device")
            }
            let text = refusal.number.map { String(cString: strerror($0)) } ?? ""
            // A message of the kernel stands in the place of the errno.
            let isSame = ["Error: ", text].contains { error?.contains($0) ?? false }
            return isSame ? .refused : .difference("  predicted \(refusal)\n  kernel \(error ?? "accepts")")
        }
        if let error { return .difference("  predicted success\n  kernel \(error)") }
        let predicted = state.routing
        var difference = (text: "", exceptions: [ChangeException: Int]())
        for attempt in 0..<Self.patience {
            if attempt > 0 { poll(nil, 0, 50) }
            _ = try NetworkSnapshot.settled()
            difference = try Self.difference(predicted, targets)
            if difference.text.isEmpty { return .agreed(exceptions: difference.exceptions) }
        }
        return .difference(difference.text)
    }

    /// Makes a change with ip(8), or a setting; the text of an error.
    private static func ip(_ words: String) throws -> String? {
        if case .setting(let path, let value) = Command(change: words) {
            guard Namespace.exists("/proc/sys/\(path)") else { return "Cannot find device" }
            try Namespace.write(value, to: "/proc/sys/\(path)")
            return nil
        }
        guard let stream = popen("exec 2>&1; PATH=\"$PATH:/usr/sbin:/sbin\" exec ip \(words)", "r") else {
            throw NetworkFailure.system("start ip")
        }
        var text = ""
        while case let byte = fgetc(stream), byte != EOF {
            text.unicodeScalars.append(Unicode.Scalar(UInt8(byte)))
        }
        return pclose(stream) == 0 ? nil : text
    }

    /// The answers in which the kernel and a prediction differ, and how many answers each exception explains.
    private static func difference(
        _ predicted: RecordedRouting,
        _ targets: [String]
    ) throws -> (text: String, exceptions: [ChangeException: Int]) {
        let kernel = try NetworkSource.currentNamespace()
        let source = NetworkSource(routing: predicted, resolver: SystemResolver.shared)
        var lines = ""
        var exceptions: [ChangeException: Int] = [:]
        for target in targets {
            let (live, simulated) = (PredictedAnswer(target, kernel), PredictedAnswer(target, source))
            if live == simulated { continue }
            if let exception = ChangeException(target, live: live, simulated, predicted) {
                exceptions[exception, default: 0] += 1
            } else {
                lines += "  \(target)\n    kernel    \(live)\n    predicted \(simulated)\n"
            }
        }
        return (lines, exceptions)
    }
}
