// SPDX-License-Identifier: Apache-2.0

import Duel
import Glibc

/// The command line against iproute2's, as whole processes.
struct Contest {
    /// The path of netflags.
    let netflags: String
    /// The path of the program that measures peak memory.
    let peak: String
    /// A folder for the lists of addresses.
    let folder: String

    private static let addressCount = 100_000

    func duels() throws -> [Duel] {
        [try cold(), try batch(["-"], .batch), try batch(["--json", "-"], .jsonBatch)]
    }

    /// One address each, started and ended.
    private func cold() throws -> Duel {
        let ours = ChildProcess(words: [netflags, "127.0.0.1"])
        let theirs = ChildProcess(words: ["ip", "route", "get", "127.0.0.1"])
        try expect(ours, lines: 1, statuses: [0])
        try expect(theirs, lines: 2, statuses: [0])
        return Duel(
            "one address, cold",
            ours: side(ours, "netflags 127.0.0.1"),
            theirs: side(theirs, "ip route get 127.0.0.1"),
            goal: .cold,
            batch: 1,
            rounds: 400
        )
    }

    /// Many addresses in one process.
    private func batch(_ arguments: [String], _ goal: Goal) throws -> Duel {
        let addresses = AddressList(count: Self.addressCount)
        try addresses.write(to: plain)
        try addresses.write(to: commands, prefix: "route get ")
        let ours = ChildProcess(words: [netflags] + arguments, input: plain)
        let theirs = ChildProcess(words: ["ip", "-force", "-batch", commands])
        // Some addresses are not reachable, which both say with their exit status.
        try expect(ours, lines: Self.addressCount, statuses: [1])
        try expect(theirs, lines: nil, statuses: [1, 2])
        return Duel(
            "\(Self.addressCount) addresses, each",
            ours: side(ours, "netflags " + arguments.joined(separator: " ")),
            theirs: side(theirs, "ip -force -batch"),
            goal: goal,
            batch: Self.addressCount,
            rounds: 15
        )
    }

    /// The most memory that each program holds.
    func peaks() throws -> [Row] {
        let many = ChildProcess(words: [peak, netflags, "-"], input: plain)
        return [
            try peak(ChildProcess(words: [peak, netflags, "127.0.0.1"]), "netflags 127.0.0.1"),
            try peak(
                ChildProcess(words: [peak, "ip", "route", "get", "127.0.0.1"]), "ip route get 127.0.0.1"),
            try peak(many, "netflags -"),
            try peak(ChildProcess(words: [peak, "ip", "-force", "-batch", commands]), "ip -force -batch"),
        ]
    }

    private func peak(_ process: ChildProcess, _ name: String) throws -> Row {
        var process = process
        process.output = "\(folder)/output"
        guard try process.run() == 0, let kibibytes = try Double(firstLine(process.output)) else {
            throw ChildProcess.Failure(description: "no peak memory of \(name)")
        }
        return Row("peak memory, \(name)", kibibytes * 1_024 / 1_000_000, unit: "MB")
    }

    private func firstLine(_ path: String) throws -> String {
        guard let file = fopen(path, "r") else {
            throw ChildProcess.Failure(description: "cannot read \(path)")
        }
        defer { fclose(file) }
        var line = ""
        while case let byte = getc(file), byte != EOF, byte != 10 {
            line.unicodeScalars.append(Unicode.Scalar(UInt8(byte)))
        }
        return line
    }

    /// The files of addresses.
    private var plain: String { "\(folder)/addresses" }
    private var commands: String { "\(folder)/commands" }

    /// A side whose work is done by one run of a process, however often it is asked for.
    private func side(_ process: ChildProcess, _ name: String) -> Side {
        Side(name) { _ in try process.run() }
    }

    /// Runs a process once and looks at what it does: one that fails at once would be fast.
    private func expect(_ process: ChildProcess, lines: Int?, statuses: [Int32]) throws {
        var process = process
        process.output = "\(folder)/output"
        let status = try process.run()
        let name = process.words.prefix(4).joined(separator: " ")
        guard statuses.contains(status) else {
            throw ChildProcess.Failure(description: "\(name) ended with status \(status)")
        }
        let written = try lineCount(process.output)
        guard lines == nil || written == lines else {
            throw ChildProcess.Failure(description: "\(name) wrote \(written) lines")
        }
    }

    private func lineCount(_ path: String) throws -> Int {
        guard let file = fopen(path, "r") else {
            throw ChildProcess.Failure(description: "cannot read \(path)")
        }
        defer { fclose(file) }
        var count = 0
        while case let byte = getc(file), byte != EOF {
            if byte == 10 { count += 1 }
        }
        return count
    }
}
