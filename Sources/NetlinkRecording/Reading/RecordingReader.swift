// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import NetlinkReachability
internal import SystemSupport

/// Reads a recording: an rtmon stream.
///
/// It reads the files of `rtmon`, `ip monitor file` and ``RecordingWriter``. The memory does not depend on the length
/// of the file, and a pipe is read as data arrives. The reader checks only the header of each message. The attributes
/// are checked when the message is parsed: see ``NetlinkMessage/content``.
///
/// It skips NLMSG_DONE and foreign NLMSG_NOOPs.
///
/// iproute2's counterpart is `rtnl_from_file`.
package struct RecordingReader: ~Copyable {
    private var window: RecordingWindow
    private var time: Recording.Time?
    private var error: RecordingError?

    /// Opens a file.
    ///
    /// Opening a pipe waits for its writer.
    package init(path: String) throws(RecordingError) {
        let descriptor = open(path.fileName, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw RecordingError(path: path, offset: 0, reason: .unreadable(errno))
        }
        self.init(descriptor: descriptor, path: path, isOwned: true)
    }

    /// Reads from an open descriptor.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor.
    ///   - path: The name to use in errors.
    ///   - isOwned: Whether to close the descriptor at the end. Otherwise the caller owns it.
    ///   - length: The most bytes to read; `nil` for all.
    package init(descriptor: Int32, path: String, isOwned: Bool = false, length: Int? = nil) {
        window = RecordingWindow(
            .descriptor(descriptor, isOwned: isOwned, length: length ?? .max), path: path)
    }

    /// Creates a reader for a file that cannot be opened.
    ///
    /// Each call of ``next(_:)`` throws the error.
    init(error: RecordingError) {
        window = RecordingWindow(.bytes([]), path: error.path)
        self.error = error
    }

    /// Reads from memory.
    package init(bytes: [UInt8]) {
        window = RecordingWindow(.bytes(bytes), path: "")
    }

    /// The name of the file in errors.
    package var path: String {
        window.path
    }

    /// Passes the next entry to `body`.
    ///
    /// The entry is valid during the call.
    ///
    /// - Returns: The result of `body`; `nil` at the end of the file. After an error, every further call throws the
    ///   same error.
    package mutating func next<Result>(
        _ body: (inout RecordingEntry) -> Result
    ) throws(RecordingError) -> Result? {
        if let error { throw error }
        do {
            while let header = try frame() {
                // The padding of the last message of a file may be missing.
                defer { window.advance(RecordingFormat.padded(Int(header.length))) }
                if var entry = try entry(header) { return body(&entry) }
            }
            return nil
        } catch {
            self.error = error
            throw error
        }
    }

    // MARK: - Frames

    /// Reads the next header, with the complete message in the window; `nil` at the end of the file.
    private mutating func frame() throws(RecordingError) -> RecordingHeader? {
        let headerLength = RecordingFormat.headerLength
        let available = try window.fill(headerLength)
        guard available > 0 else {
            guard window.offset > 0 else { throw error(.empty) }
            return nil
        }
        guard available >= headerLength else { throw error(.cut(missing: headerLength - available)) }
        let header = RecordingHeader(window.bytes)
        if let reason = header.error { throw error(reason) }
        let held = try window.fill(RecordingFormat.padded(Int(header.length)))
        guard held >= Int(header.length) else { throw error(.cut(missing: Int(header.length) - held)) }
        return header
    }

    private mutating func entry(_ header: RecordingHeader) throws(RecordingError) -> RecordingEntry? {
        let bytes = UnsafeRawBufferPointer(rebasing: window.bytes[..<Int(header.length)])
        let content: RecordingEntry.Content
        switch header.type {
        case RecordingFormat.done: return nil
        case RecordingFormat.timeStamp:
            time = try timeStamp(bytes)
            return nil
        case RecordingFormat.noop:
            let payload = UnsafeRawBufferPointer(rebasing: bytes[RecordingFormat.headerLength...])
            guard let annotation = RecordingAnnotation(payload: payload) else { return nil }
            content = .annotation(annotation)
        default:
            guard let message = NetlinkMessage(bytes) else { throw error(.length(header.length)) }
            content = .message(message)
        }
        return RecordingEntry(path: window.path, offset: window.offset, time: time, content: content)
    }

    private func timeStamp(_ bytes: UnsafeRawBufferPointer) throws(RecordingError) -> Recording.Time {
        guard bytes.count >= RecordingFormat.headerLength + 8 else { throw error(.timeStamp) }
        let microseconds = bytes.loadUnaligned(fromByteOffset: 20, as: UInt32.self)
        guard microseconds < 1_000_000 else { throw error(.timeStamp) }
        let seconds = bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self)
        return Recording.Time(seconds: seconds, microseconds: microseconds)
    }

    private func error(_ reason: RecordingError.Reason) -> RecordingError {
        RecordingError(path: window.path, offset: window.offset, reason: reason)
    }
}

// MARK: - Entries

/// One entry of a recording.
///
/// It is valid during the call that passes it.
package struct RecordingEntry {
    /// The contents of an entry.
    package enum Content {
        /// A message of the kernel.
        case message(NetlinkMessage)
        /// An annotation of the recorder.
        case annotation(RecordingAnnotation)
        /// The end of a file of a ``RecordingStream``, if more files follow, or if the rest of the file is damaged or
        /// the file is missing.
        case fileEnd(RecordingError?)
    }

    /// The name of the file in errors.
    package let path: String

    /// The position of the entry in the file, in bytes.
    package let offset: UInt64
    /// The last time stamp before the entry; `nil` before the first time stamp.
    package var time: Recording.Time?
    /// The change of the host's clock, if the time stamps do not show it.
    package internal(set) var clockChange: Recording.Mark.Kind?
    /// The message or annotation.
    package let content: Content
}

extension NetlinkMessage {
    /// Whether the message is part of a dump and not a notification (NLM_F_MULTI).
    package var isDumped: Bool {
        flags & RecordingFormat.isPart != 0
    }
}

// MARK: - Bytes

/// A window of fixed size that moves over a file.
struct RecordingWindow: ~Copyable {
    /// The source of the bytes.
    enum Source {
        case descriptor(Int32, isOwned: Bool, length: Int)
        case bytes([UInt8])
    }

    /// Twice the longest message.
    static let capacity = 131_072

    /// The name of the file in errors.
    let path: String
    /// The position of the window in the file, in bytes.
    private(set) var offset: UInt64 = 0
    private let source: Source
    private let storage: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0
    private var taken = 0
    private var isAtEnd = false

    init(_ source: Source, path: String) {
        self.source = source
        self.path = path
        storage = .allocate(byteCount: Self.capacity, alignment: 8)
    }

    deinit {
        storage.deallocate()
        if case .descriptor(let descriptor, isOwned: true, length: _) = source { close(descriptor) }
    }

    /// The bytes in the window.
    ///
    /// After ``fill(_:)``, they start at an address divisible by 4. They are valid until the next mutating call.
    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: storage[start..<end])
    }

    /// Reads until the window contains `count` bytes (at most ``capacity``) or the file ends.
    ///
    /// Returns the number of bytes in the window.
    mutating func fill(_ count: Int) throws(RecordingError) -> Int {
        if start % 4 != 0 || start + count > storage.count { compact() }
        while end - start < count, !isAtEnd {
            let added = try read(UnsafeMutableRawBufferPointer(rebasing: storage[end...]))
            isAtEnd = added == 0
            end += added
        }
        return end - start
    }

    /// Moves the window forward by a number of bytes in it.
    mutating func advance(_ count: Int) {
        let step = min(count, end - start)
        start += step
        offset += UInt64(step)
    }

    private mutating func compact() {
        let kept = end - start
        if kept > 0, let base = storage.baseAddress { memmove(base, base + start, kept) }
        start = 0
        end = kept
    }

    private mutating func read(_ target: UnsafeMutableRawBufferPointer) throws(RecordingError) -> Int {
        switch source {
        case .bytes(let bytes):
            let count = min(target.count, bytes.count - taken)
            target.copyBytes(from: bytes[taken..<taken + count])
            taken += count
            return count
        case .descriptor(let descriptor, isOwned: _, let length):
            while true {
                let count = Glibc.read(descriptor, target.baseAddress, min(target.count, length - taken))
                if count >= 0 {
                    taken += count
                    return count
                }
                guard errno == EINTR else {
                    throw RecordingError(path: path, offset: offset, reason: .unreadable(errno))
                }
            }
        }
    }
}
