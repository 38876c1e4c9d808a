// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkReachability
internal import NetlinkRecording

/// The commands of the process, and its state between them.
struct Probe {
    /// A failed command.
    struct Failure: Error {
        var text: String

        init(_ text: String) {
            self.text = text
        }

        /// The error of a failed system call.
        static func system(_ what: String) -> Failure {
            Failure("\(what): \(String(cString: strerror(errno)))")
        }
    }

    private var queries = Queries()
    private var tunnels: [String: TunnelDevice] = [:]
    private var monitoring: Monitoring?
    private var paths: PathMonitoring?
    private var nameServers: NameServerWatch?
    private var connections = Connections()
    private var bystanders: Bystanders?
    private var packets: RawPackets?
    /// The network at the last `record`, as a source.
    private var recorded: NetworkSource?

    /// Runs a command.
    ///
    /// - Returns: First `ok` or `failed`, then the rest of the answer.
    mutating func answer(_ command: [String]) -> [String] {
        do {
            return ["ok"] + (try perform(command[0], Array(command.dropFirst())))
        } catch let failure as Failure {
            return ["failed", failure.text]
        } catch {
            return ["failed", "\(error)"]
        }
    }

    private mutating func perform(_ command: String, _ fields: [String]) throws -> [String] {
        switch command {
        case "report": return try queries.ask(fields)
        case "run": return try Program(fields).run()
        case "ip":
            let options = fields.prefix { $0.hasPrefix("-") }
            return try Program.ip(Array(options), lines: Array(fields.dropFirst(options.count))).run()
        case "write": try writeFile(fields)
        case "tun", "tap": try openTunnel(fields, framing: command == "tap" ? .ethernet : .none)
        case "set-carrier": try tunnel(fields).setCarrier(fields.last == "1")
        case "set-hardware-type": try tunnel(fields).setHardwareType(fields.last.flatMap { UInt($0) } ?? 0)
        case "close-tunnel": tunnels[fields.first ?? ""] = nil
        case "advertise": try advertise(fields)
        case "monitor": monitoring = try Monitoring(buffer: number(fields.first), Array(fields.dropFirst()))
        case "monitor-paths": paths = try PathMonitoring(fields)
        case "settle-paths": return try paths?.settle() ?? []
        case "name-servers": return NameServers.both()
        case "watch-dns": nameServers = try NameServerWatch()
        case "await-dns": return [nameServers?.waits(for: fields.first == "1") == true ? "1" : "0"]
        case "bystanders":
            guard let local = fields.first.flatMap({ IPAddress($0) }) else {
                throw Failure("bystanders ADDRESS")
            }
            bystanders = try Bystanders(from: local)
            return Bystanders.counts.map(String.init)
        case "deliveries": return (bystanders?.deliveryCounts ?? []).map(String.init)
        case "record": recorded = try NetworkState.live().source
        case "arriving": return try Queries.arriving(fields, in: .kernel)
        case "recorded-arriving":
            guard let recorded else { throw Failure("record comes first") }
            return try Queries.arriving(fields, in: recorded)
        case "returns":
            let report = try Queries.handle(fields).blockingReport()
            return [
                "\(report.reason.code)", "\(report.isReachable)", report.returns?.description ?? "nothing",
            ]
        case "watch-packets": packets = try RawPackets()
        case "send-packet": try packets?.send(fields)
        case "seen": return try packets?.seen(fields) ?? []
        case "read": return try fields.map(readFile)
        case "serve": try Connections.serve(fields)
        case "connect": return try connections.connect(fields)
        case "rename":
            let name = Array((fields.first ?? "").utf8)
            let file = open("/proc/self/comm", O_WRONLY | O_CLOEXEC)
            defer { close(file) }
            guard write(file, name, name.count) == name.count else { throw Failure.system("rename") }
        case "disconnect": try connections.disconnect(fields)
        case "connection": return try connections.status(fields)
        case "watched": return try connections.watched(fields)
        case "exchange": return try connections.exchange(fields)
        case "stress": return try Stress(seconds: Int(number(fields.first))).run()
        default: return try monitor(command)
        }
        return []
    }

    private func monitor(_ command: String) throws -> [String] {
        guard let monitoring else { throw Failure("no command \(command), or nothing is monitored") }
        switch command {
        case "settle": return try monitoring.settle()
        case "counters": return monitoring.counters()
        case "shut": monitoring.feed.shut()
        case "open": monitoring.feed.open()
        case "pretend-answer":
            return try Stranger().sendForgeries(exceptTo: monitoring.feed.descriptor).map(String.init)
        case "pretend": try Stranger().sendForgery(toPortOf: monitoring.feed.descriptor)
        default: throw Failure("no command \(command)")
        }
        return []
    }

    private func advertise(_ fields: [String]) throws {
        guard fields.count >= 2 else {
            throw Failure("advertise INTERFACE SECONDS [preferred] [PREFIX VALID PREFERRED]")
        }
        var rest = fields.dropFirst(2)
        var advertisement = RouterAdvertisement(lifetime: UInt16(clamping: try number(fields[1])))
        if rest.first == "preferred" {
            advertisement.isPreferred = true
            rest.removeFirst()
        }
        if let prefix = rest.popFirst() {
            advertisement.prefix = RouterAdvertisement.Prefix(
                address: prefix, valid: try number(rest.popFirst()), preferred: try number(rest.popFirst()))
        }
        try advertisement.send(on: fields[0])
    }

    private func number(_ text: String?) throws -> UInt32 {
        guard let number = text.flatMap({ UInt32($0) }) else {
            throw Failure("\(text ?? "") is not a number")
        }
        return number
    }

    private mutating func openTunnel(_ fields: [String], framing: TunnelDevice.Framing) throws {
        guard let name = fields.first else { throw Failure("a tunnel needs a name") }
        tunnels[name] = try TunnelDevice(name: name, framing: framing)
    }

    private func tunnel(_ fields: [String]) throws -> TunnelDevice {
        guard let name = fields.first, let tunnel = tunnels[name] else { throw Failure("no such tunnel") }
        return tunnel
    }

    /// The text of a file; empty if there is none.
    private func readFile(_ path: String) throws -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        return Program.readAll(descriptor)
    }

    /// Writes a text into a file, for the kernel's settings below /proc/sys.
    private func writeFile(_ fields: [String]) throws {
        guard fields.count == 2 else { throw Failure("write PATH TEXT") }
        let descriptor = open(fields[0], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw Failure.system(fields[0]) }
        defer { close(descriptor) }
        let bytes = Array(fields[1].utf8)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw Failure.system(fields[0])
        }
    }
}
