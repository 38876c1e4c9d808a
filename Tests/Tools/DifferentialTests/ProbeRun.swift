// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// One run of the probe, a program beside the tests that creates its own namespaces.
struct ProbeRun {
    /// A failure in words.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// All that it wrote.
    let output: String
    /// Its exit status, 128 and more for a signal.
    let status: Int32

    /// Runs the probe with arguments, separated by spaces.
    init(_ arguments: String) throws(Failure) {
        let program = try Self.folder + "/DifferentialProbe"
        guard let stream = popen("exec '\(program)' \(arguments) 2>&1", "r") else {
            throw Failure(description: "cannot start \(program)")
        }
        var bytes: [UInt8] = []
        while case let byte = fgetc(stream), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
        let status = pclose(stream)
        self.status = status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f
        output = String(decoding: bytes, as: UTF8.self)
    }

    /// The sum of the numbers behind a word; 0 where it was not written.
    func count(_ word: String) -> Int {
        output.split(separator: "\n").reduce(0) { sum, line in
            let fields = line.split(separator: " ")
            guard fields.count > 1, fields[0] == word else { return sum }
            return sum + (Int(fields[1]) ?? 0)
        }
    }

    /// The number in a line "exception NUMBER NAME".
    func exceptions(_ name: String) -> Int {
        let lines = output.split(separator: "\n").map { $0.split(separator: " ") }
        return lines.first { $0.count == 3 && $0[0] == "exception" && $0[2] == name }.flatMap { Int($0[1]) }
            ?? 0
    }

    /// How many sockets of each kind of binding agreed.
    var kinds: [(name: String, count: Int)] {
        output.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            guard fields.count == 3, fields[0] == "kind", let count = Int(fields[1]) else { return nil }
            return (String(fields[2]), count)
        }
    }

    /// Whether the probe said that it skips a kind of binding.
    func skips(_ kind: String) -> Bool {
        output.contains("\nskipped \(kind):")
    }

    private static var folder: String {
        get throws(Failure) {
            var buffer = [CChar](repeating: 0, count: 4_096)
            let count = readlink("/proc/self/exe", &buffer, buffer.count)
            guard count > 0 else { throw Failure(description: "/proc/self/exe cannot be read") }
            let own = String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
            return String(own[..<(own.lastIndex(of: "/") ?? own.startIndex)])
        }
    }
}
