// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import NetlinkReachability
import NetlinkRecording
import SystemSupport

/// A descriptor to which finished text is written.
struct Output {
    let descriptor: Int32
    /// Its name in messages.
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

    /// A write that failed.
    private func failure(_ number: Int32) -> FileFailure {
        FileFailure("write \(name)", number, advice: [EBADF: "open it, for example with >/dev/null"])
    }

    /// Writes the buffer, and ends the process as SIGPIPE would where the reader has closed its end, as `head` does.
    func deliver(_ buffer: inout ByteBuffer) throws(FileFailure) {
        do {
            try write(&buffer)
        } catch {
            if error.number == EPIPE { endByClosedPipe() }
            throw error
        }
    }
}

/// Ends the process with the status that SIGPIPE gives.
func endByClosedPipe() -> Never {
    Glibc.exit(128 + SIGPIPE)
}

extension Output {
    /// Writes what the body appends.
    ///
    /// - Returns: What the body returns.
    func deliver<Result>(_ body: (inout ByteBuffer) throws -> Result) throws -> Result {
        var buffer = ByteBuffer()
        let result = try body(&buffer)
        try deliver(&buffer)
        return result
    }
}

// MARK: - Watching

extension Output {
    /// Prepares the process for lines that follow changes, until a signal ends it.
    ///
    /// - Throws: A ``FileFailure`` when the descriptor was closed from the beginning.
    func beginWatching() throws {
        let flags = fcntl(descriptor, F_GETFL)
        if flags < 0 || flags & FilePlace.pathOnly != 0 { throw failure(EBADF) }
        try Signals.endProcess()
    }

    /// Writes what the body appends; the process ends when that fails.
    func deliverOrExit(_ body: (inout ByteBuffer) -> Void) {
        do {
            try deliver(body)
        } catch {
            printError("\(error)")
            ExitStatus.undetermined.exit()
        }
    }
}

/// Checks that the monitor and libdispatch can start their threads: libdispatch would wait for ever.
func checkThreads() throws(ReachabilityError) {
    do {
        try FreeResources.checkThreads(FreeResources.dispatchThreads + 1)
    } catch {
        throw ReachabilityError(error)
    }
}

// MARK: - Closed descriptors

extension Output {
    /// Occupies each of the descriptors 0, 1 and 2 that is closed.
    ///
    /// Otherwise the next socket would get its number, and the answers would be written into that socket. The
    /// placeholder is opened with O_PATH: reading and writing it fail with EBADF, as with a closed descriptor.
    ///
    /// Call this before anything else opens a descriptor.
    static func occupyClosedDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is the one that is closed.
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

/// Prints where a recording could not be read.
func printDamage(_ damage: Recording.Damage) {
    printError("\(damage); \(damage.isMissing ? "its time is not recorded" : "the file is read up to there")")
}

/// Why a file or a descriptor cannot be read or written.
struct FileFailure: Error, CustomStringConvertible {
    /// What failed, why, and what to do.
    let description: String
    /// The errno; 0 for none.
    let number: Int32

    /// - Parameters:
    ///   - operation: What failed, such as `write to stdout`.
    ///   - number: The errno.
    ///   - advice: What to do, by the errno.
    init(_ operation: String, _ number: Int32, advice: [Int32: String] = [:]) {
        let words = [SystemCallError.message(number), advice[number]].compactMap(\.self)
        description = "cannot \(operation): \(words.joined(separator: "; "))"
        self.number = number
    }

    /// - Parameters:
    ///   - operation: What failed.
    ///   - reason: Why, and what to do.
    init(_ operation: String, _ reason: String) {
        (description, number) = ("cannot \(operation): \(reason)", 0)
    }
}

// MARK: - Formats

/// The formats of a command that has --json and --format.
protocol OutputFormat: RawRepresentable<String>, CaseIterable, ExpressibleByArgument, Equatable {
    static var text: Self { get }
    static var json: Self { get }
}

extension OutputFormat {
    /// The format that --format or --json gives; text without both.
    ///
    /// - Throws: A usage error for two of them.
    static func chosen(_ format: Self?, json: Bool) throws(UsageError) -> Self {
        if json, let format, format != .json {
            throw UsageError("--json and --format \(format.rawValue) exclude each other: give one")
        }
        return json ? .json : format ?? .text
    }

    /// The parser reads these lists at each start; its own are made by key paths and reflection.
    static var allValueStrings: [String] { allCases.map { $0.rawValue } }
    static var allValueDescriptions: [String: String] { [:] }
}
