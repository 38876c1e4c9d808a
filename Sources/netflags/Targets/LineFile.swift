// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkPlanning
import NetlinkRecording

/// A file with a statement a line, or standard input.
struct LineFile {
    /// The name in messages.
    let name: String
    private let path: String

    /// A file, or standard input for `-`; nothing is opened yet.
    init(_ path: String) {
        self.path = path
        name = path == "-" ? "stdin" : path
    }

    /// Calls the body with each line that is neither blank nor a comment, and its number, from 1.
    ///
    /// - Parameters:
    ///   - statement: What a line has.
    ///   - example: A line.
    ///   - body: Takes a line.
    /// - Throws: A usage error of the body, with the name of the file and the number of the line before it; a
    ///   ``FileFailure`` for a file that cannot be read, or is no text, as a recording.
    func forEachLine(
        of statement: String, such example: String, _ body: (_ number: Int, _ text: String) throws -> Void
    ) throws {
        let advice =
            "give a file with one \(statement) a line, such as \(example); a recording goes to --replay"
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileFailure("read \(path)", errno, advice: advice) }
        defer {
            if path != "-" { close(descriptor) }
        }
        var lines = TargetLines(descriptor: descriptor)
        do {
            while let line = try lines.next(beforeReading: {}) {
                switch line {
                case .target(let text) where !text.contains("\0"): try body(lines.number, text)
                case .tooLong(let text) where !text.contains("\0"):
                    throw UsageError(TargetLines.tooLongMessage)
                case .target, .tooLong: throw FileFailure("read \(name)", "it is not a text: \(advice)")
                }
            }
        } catch let error as UsageError {
            throw UsageError("\(name):\(lines.number): \(error)")
        } catch let failure as FileFailure where failure.number != 0 {
            throw FileFailure("read \(name)", failure.number, advice: advice)
        }
    }
}
