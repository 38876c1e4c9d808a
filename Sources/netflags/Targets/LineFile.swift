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
    /// - Throws: A usage error of the body, with the name of the file and the number of the line before it; a
    ///   ``FileFailure`` for a file that cannot be read.
    func forEachLine(_ body: (_ number: Int, _ text: String) throws -> Void) throws {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileFailure("read \(path)", errno) }
        defer {
            if path != "-" { close(descriptor) }
        }
        var lines = TargetLines(descriptor: descriptor)
        do {
            while let line = try lines.next(beforeReading: {}) {
                guard case .target(let text) = line else { throw UsageError(TargetLines.tooLongMessage) }
                try body(lines.number, text)
            }
        } catch let error as UsageError {
            throw UsageError("\(name):\(lines.number): \(error)")
        } catch let failure as FileFailure {
            throw FileFailure("read \(name)", failure.number)
        }
    }
}
