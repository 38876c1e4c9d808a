// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Where finished text goes: a descriptor, written to with `write(2)`.
struct Output {
    /// Why text could not be written: an errno.
    struct Fault: Error, Hashable {
        let number: Int32
    }

    let descriptor: Int32

    static let standard = Output(descriptor: STDOUT_FILENO)

    /// Whether somebody is looking at it.
    var isTerminal: Bool {
        isatty(descriptor) == 1
    }

    /// Writes everything and empties the buffer, also when that fails.
    func write(_ buffer: inout ByteBuffer) throws(Fault) {
        defer { buffer.removeAll() }
        var written = 0
        while written < buffer.bytes.count {
            let count = buffer.bytes.withUnsafeBytes { bytes in
                Glibc.write(descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written)
            }
            if count >= 0 {
                written += count
            } else if !isTemporary(errno, descriptor, POLLOUT) {
                throw Fault(number: errno)
            }
        }
    }

    /// Writes everything and says on standard error when that fails.
    ///
    /// A reader that has gone away, as `head` does, is no failure worth words: the process ends as SIGPIPE
    /// would have ended it, had whoever started it not ignored that signal.
    func deliver(_ buffer: inout ByteBuffer) -> Bool {
        do {
            try write(&buffer)
            return true
        } catch {
            if error.number == EPIPE { Glibc.exit(128 + SIGPIPE) }
            complain("cannot write the output: \(systemMessage(error.number))")
            return false
        }
    }
}

/// Whether a read or write that failed can be tried again; waits until it can.
///
/// Descriptors can be non-blocking because another process that shares them made them so.
func isTemporary(_ number: Int32, _ descriptor: Int32, _ event: Int32) -> Bool {
    if number == EINTR { return true }
    guard number == EAGAIN else { return false }
    var wait = pollfd(fd: descriptor, events: Int16(event), revents: 0)
    return poll(&wait, 1, -1) >= 0 || errno == EINTR
}

/// The system's words for an errno, with its number.
func systemMessage(_ number: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
        guard let start = buffer.baseAddress, strerror_r(number, start, buffer.count) == 0 else {
            return "errno \(number)"
        }
        return "\(String(cString: start)) (errno \(number))"
    }
}
