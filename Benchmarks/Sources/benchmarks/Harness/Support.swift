// SPDX-License-Identifier: Apache-2.0

import Glibc

/// What went wrong, in words.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ what: String, number: Int32? = nil) {
        description = number.map { "\(what): \(String(cString: strerror($0)))" } ?? what
    }
}

/// Passes on what a call of the C side returned, unless it is a negative errno.
@discardableResult
func checked<Number: SignedInteger>(_ what: String, _ result: Number) throws -> Number {
    guard result >= 0 else { throw Failure(what, number: Int32(-result)) }
    return result
}

/// A variable of the environment.
func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
}

/// How many rounds are measured, as a part of the usual number: the environment variable `EFFORT`, such as 0.1.
enum Effort {
    private static let factor = variable("EFFORT").flatMap(Double.init) ?? 1

    /// The rounds to measure where a full run has a number of them; at least 2.
    static func scaled(_ rounds: Int) -> Int {
        max(2, Int(Double(rounds) * factor))
    }
}

/// Random numbers that are the same for the same seed, on every machine (xorshift).
struct Random {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }

    /// An IPv4 address of 1.0.0.0 to 223.255.255.255 beside 127.0.0.0/8 and 192.0.0.0/8, where the gateways are.
    mutating func nextAddress() -> UInt32 {
        while true {
            let address = UInt32(truncatingIfNeeded: next() >> 16)
            let first = address >> 24
            if (1..<224).contains(first), first != 127, first != 192 { return address }
        }
    }
}

/// Writes or appends a text to a file.
func writeFile(_ path: String, mode: String = "w", _ text: String) throws {
    guard let file = fopen(path, mode) else { throw Failure("open \(path)", number: errno) }
    fputs(text, file)
    guard fclose(file) == 0 else { throw Failure("write \(path)", number: errno) }
}

/// An IPv4 address as text.
func dotted(_ address: UInt32) -> String {
    "\(address >> 24).\(address >> 16 & 255).\(address >> 8 & 255).\(address & 255)"
}

/// Takes a value where the optimizer cannot see it, so that it has to be made.
@inline(never)
func keep<Value>(_ value: Value) {}
