// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import NetlinkReachability
import NetlinkRecording
import SystemSupport

/// A descriptor for text that is completely formatted.
struct Output {
    let descriptor: Int32
    /// The name of the output in messages.
    var name = "to stdout"

    static let standard = Output(descriptor: STDOUT_FILENO)
    static let error = Output(descriptor: STDERR_FILENO)

    /// Whether the descriptor is a terminal.
    var isTerminal: Bool {
        isatty(descriptor) == 1
    }

    /// The width of the terminal in characters; `nil` when the descriptor is not a terminal or has no size.
    var terminalWidth: Int? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Whether text for the descriptor is coloured: it is a terminal, TERM is not `dumb`, and NO_COLOR is empty.
    var showsColour: Bool {
        let terminal = getenv("TERM").map { String(cString: $0) } ?? ""
        let noColour = getenv("NO_COLOR").map { String(cString: $0) } ?? ""
        return noColour.isEmpty && terminal != "dumb" && isTerminal
    }

    /// Writes the buffer and empties it, also when the write fails.
    func write(_ buffer: inout ByteBuffer) throws(FileFailure) {
        defer { buffer.removeAll() }
        let (_, number) = FileBytes.write(buffer.bytes, to: descriptor)
        guard number == 0 else { throw failure(number) }
    }

    /// The error of a write that failed.
    private func failure(_ number: Int32) -> FileFailure {
        FileFailure("write \(name)", number, advice: [EBADF: "open it, for example with >/dev/null"])
    }

    /// Writes the buffer, and ends the process as SIGPIPE would if the reader has closed its end, as `head` does.
    func deliver(_ buffer: inout ByteBuffer) throws(FileFailure) {
        do {
            try write(&buffer)
        } catch {
            if error.number == EPIPE { endByClosedPipe() }
            throw error
        }
    }
}

/// Ends the process with the exit status that a shell shows for SIGPIPE.
func endByClosedPipe() -> Never {
    Glibc.exit(128 + SIGPIPE)
}

extension Output {
    /// Writes the text that the body appends.
    ///
    /// - Returns: The body's result.
    func deliver<Result>(_ body: (inout ByteBuffer) throws -> Result) throws -> Result {
        var buffer = ByteBuffer()
        let result = try body(&buffer)
        try deliver(&buffer)
        return result
    }
}

// MARK: - Watching

extension Output {
    /// Prepares the process to write a line for each change until a signal ends the process.
    ///
    /// - Throws: A ``FileFailure`` if the descriptor was already closed when the process started.
    func beginWatching() throws {
        let flags = fcntl(descriptor, F_GETFL)
        if flags < 0 || flags & FilePlace.pathOnly != 0 { throw failure(EBADF) }
        try Signals.endProcess()
    }

    /// Writes the text that the body appends; the process ends when the write fails.
    func deliverOrExit(_ body: (inout ByteBuffer) -> Void) {
        do {
            try deliver(body)
        } catch {
            printError("\(error)")
            ExitStatus.undetermined.exit()
        }
    }
}

/// Checks that the monitor and libdispatch can start their threads: without them, libdispatch would wait without end.
func checkThreads() throws(ReachabilityError) {
    do {
        try FreeResources.checkThreads(FreeResources.dispatchThreads + 1)
    } catch {
        throw ReachabilityError(error)
    }
}

// MARK: - Closed descriptors

extension Output {
    /// Opens a placeholder for each of the descriptors 0, 1 and 2 that is closed.
    ///
    /// Otherwise the next socket would get the number, and the answers would be written to that socket. The placeholder
    /// is opened with O_PATH: reads and writes fail with EBADF, as with a closed descriptor.
    ///
    /// Call this before any other descriptor is opened.
    static func occupyClosedDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is the closed descriptor.
            _ = open("/", FilePlace.pathOnly)
        }
    }
}

// MARK: - Errors

/// Prints a message on standard error.
///
/// A closed standard error is ignored.
func printError(_ message: String) {
    var line = ByteBuffer()
    line.append("netflags: ")
    line.line(printable: message)
    try? Output.error.write(&line)
}

/// Prints the damage of a recording, with its position.
func printDamage(_ damage: Recording.Damage) {
    printError("\(damage); \(damage.isMissing ? "its time is not recorded" : "the file is read up to there")")
}

/// The error of a file or a descriptor that cannot be read or written.
struct FileFailure: Error, CustomStringConvertible {
    /// The failed operation, the reason, and the advice.
    let description: String
    /// The errno; 0 if there is none.
    let number: Int32

    /// - Parameters:
    ///   - operation: The failed operation, such as `write to stdout`.
    ///   - number: The errno.
    ///   - advice: The advice for each errno.
    init(_ operation: String, _ number: Int32, advice: [Int32: String] = [:]) {
        let words = [SystemCallError.message(number), advice[number]].compactMap(\.self)
        description = "cannot \(operation): \(words.joined(separator: "; "))"
        self.number = number
    }

    /// - Parameters:
    ///   - operation: The failed operation.
    ///   - reason: The reason, and the advice.
    init(_ operation: String, _ reason: String) {
        (description, number) = ("cannot \(operation): \(reason)", 0)
    }
}

// MARK: - Formats

/// The formats of a command with --json and --format.
protocol OutputFormat: RawRepresentable<String>, CaseIterable, ExpressibleByArgument, Equatable {
    static var text: Self { get }
    static var json: Self { get }
}

extension OutputFormat {
    /// The format of --format or --json; text without both.
    ///
    /// - Throws: A usage error if the two options contradict each other.
    static func chosen(_ format: Self?, json: Bool) throws(UsageError) -> Self {
        if json, let format, format != .json {
            throw UsageError("--json and --format \(format.rawValue) exclude each other: give one")
        }
        return json ? .json : format ?? .text
    }

    /// The parser reads these lists at each start; its default implementations use key paths and reflection.
    static var allValueStrings: [String] { allCases.map { $0.rawValue } }
    static var allValueDescriptions: [String: String] { [:] }
}
