// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import NetlinkReachability

/// A file of expectations, one a line.
struct ExpectationFile {
    /// Why the file cannot be read.
    struct Failure: Error {
        let message: String
    }

    /// The name in messages.
    let name: String
    let expectations: [Expectation]

    /// Reads and parses a file, `-` for standard input.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - isReplay: Whether a recording answers, which knows every protocol.
    /// - Throws: A usage error that names the line and what is expected there; a ``Failure`` for a file that cannot be
    ///   read.
    init(_ path: String, isReplay: Bool) throws {
        name = path == "-" ? "stdin" : path
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(message: "cannot read \(path): \(systemMessage(errno))") }
        defer {
            if path != "-" { close(descriptor) }
        }
        var lines = TargetLines(descriptor: descriptor)
        var found: [Expectation] = []
        do {
            while let line = try lines.next(beforeReading: {}) {
                do throws(UsageError) {
                    guard case .target(let text) = line else { throw UsageError(TargetLines.tooLongMessage) }
                    found.append(try Expectation(text, line: lines.number, isReplay: isReplay))
                } catch {
                    throw UsageError("\(name):\(lines.number): \(error.message)")
                }
            }
        } catch let failure as TargetLines.Failure {
            throw Failure(message: "cannot read \(name): \(systemMessage(failure.number))")
        }
        guard !found.isEmpty else {
            throw UsageError("\(name) holds no expectation: give one a line, such as default reachable")
        }
        expectations = found
    }
}

extension ExpectationFile {
    /// Asks a network, and writes what comes out.
    ///
    /// - Parameters:
    ///   - source: The network; `nil` for the live kernel.
    ///   - format: The format of the output.
    /// - Returns: The exit status.
    func check(_ source: NetworkSource?, _ format: AssertFormat) -> ExitStatus {
        // All names are resolved side by side.
        let pending = expectations.map { expectation in
            let query = TargetQuery(
                targets: [], options: expectation.options, explains: true)
            var pending = PendingReports(query, source)
            pending.add(expectation.name, .success(expectation.target))
            return pending
        }
        var status = ExitStatus.success
        var buffer = ByteBuffer()
        for (expectation, var pending) in zip(expectations, pending) {
            pending.takeAll { line in
                guard let answer = line.outcome else { return }
                let verdict = expectation.verdict(on: answer)
                status = status.worse(verdict.exitStatus)
                format.write(expectation, verdict, to: &buffer)
            }
        }
        return Output.standard.deliver(&buffer) ? status : .undetermined
    }
}

extension Expectation {
    /// What follows the target, for messages.
    private static let grammar =
        "reachable, unreachable, via GATEWAY, dev NAME, from SOURCE, flags LETTERS, or a socket option"

    /// Parses a line.
    ///
    /// - Throws: What is wrong, and what is expected.
    init(_ text: String, line: Int, isReplay: Bool) throws(UsageError) {
        var words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        if let comment = words.firstIndex(where: { $0.hasPrefix("#") }) { words.removeSubrange(comment...) }
        self.init(line: line, text: words.joined(separator: " "))
        var rest = words[...]
        var arguments: [String] = []
        var name: String?
        while let word = rest.popFirst() {
            if word.hasPrefix("-") {
                arguments.append(word)
                // -4 and -6 have no value, and a value can follow an equals sign.
                guard word.count > 2, !word.contains("=") else { continue }
                arguments.append(try Self.value(of: word, &rest))
            } else if name == nil {
                name = word
            } else {
                try take(word, &rest)
            }
        }
        guard let name else { throw UsageError("there is no target: begin with one, such as default") }
        do {
            options = try SocketOptions.parse(arguments).options(isReplay: isReplay)
        } catch let error as UsageError {
            throw error
        } catch {
            throw UsageError(SocketOptions.message(for: error))
        }
        self.name = name
        do {
            target = try TargetQuery(targets: [], options: options).target(name)
        } catch {
            throw UsageError("\(error)")
        }
        if isReachable == nil, letters == nil { isReachable = true }
    }

    private mutating func take(_ word: String, _ rest: inout ArraySlice<String>) throws(UsageError) {
        switch word {
        case "reachable", "unreachable":
            guard isReachable == nil else { throw UsageError("reachable or unreachable is given twice") }
            isReachable = word == "reachable"
        case "via": gateway = try Self.address(word, gateway, &rest)
        case "from": source = try Self.address(word, source, &rest)
        case "dev":
            guard interface == nil else { throw UsageError("dev is given twice") }
            interface = try Self.value(of: word, &rest)
        case "flags":
            guard letters == nil else { throw UsageError("flags is given twice") }
            letters = try Self.letters(&rest)
        default: throw UsageError("\"\(word)\" is not known here: give \(Self.grammar)")
        }
    }

    private static func value(of word: String, _ rest: inout ArraySlice<String>) throws(UsageError) -> String
    {
        guard let value = rest.popFirst() else { throw UsageError("\(word) needs a value") }
        return value
    }

    private static func address(
        _ word: String,
        _ known: IPAddress?,
        _ rest: inout ArraySlice<String>
    ) throws(UsageError) -> IPAddress {
        guard known == nil else { throw UsageError("\(word) is given twice") }
        let text = try value(of: word, &rest)
        guard let address = IPAddress(text), address.zone == nil else {
            throw UsageError("\"\(text)\" after \(word) is not an address: give one such as 192.0.2.1")
        }
        return address
    }

    /// The letters of `check`, which are printed as two words.
    private static func letters(_ rest: inout ArraySlice<String>) throws(UsageError) -> String {
        var text = try value(of: "flags", &rest)
        if text.count == 2, let second = rest.popFirst() { text += second }
        let all = "WRctiCDld"
        guard text.count == all.count, zip(text, all).allSatisfy({ $0 == "-" || $0 == $1 }) else {
            throw UsageError(
                "\"\(text)\" after flags are not the letters WR ctiCDld, with - for each that is not set")
        }
        return "\(text.prefix(2)) \(text.dropFirst(2))"
    }
}
