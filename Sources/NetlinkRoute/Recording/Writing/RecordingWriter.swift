// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Writes a recording: an rtmon stream with this package's annotations.
///
/// The writer buffers messages. ``flush()`` and ``finish()`` write the buffer; releasing the value without them
/// drops it. After a failed write the file ends with its last whole message; a pipe cannot be truncated, and the
/// fault says so. After a fault each further call throws it again.
package struct RecordingWriter: ~Copyable {
    /// The buffer size.
    private static let flushSize = 65_536

    private let path: String
    private let descriptor: Int32
    private let isOwned: Bool
    private var pending: [UInt8] = []
    private var written: UInt64 = 0
    private var fault: RecordingFault?

    /// Creates a file or truncates an existing one, as rtmon does.
    package init(path: String) throws(RecordingFault) {
        descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw RecordingFault(path: path, offset: 0, reason: .uncreatable(errno))
        }
        self.path = path
        isOwned = true
    }

    /// Writes to an open, blocking descriptor, which the caller owns.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor.
    ///   - path: The name to use in faults.
    package init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
        isOwned = false
    }

    deinit {
        if isOwned { close(descriptor) }
    }

    /// The number of bytes of whole messages passed to the writer.
    package var length: UInt64 {
        written + UInt64(pending.count)
    }

    /// Writes a time stamp for the messages that follow.
    package mutating func write(_ time: RecordingTime) throws(RecordingFault) {
        try collect { $0.appendTimeStamp(time) }
    }

    /// Writes an annotation.
    package mutating func write(_ annotation: RecordingAnnotation) throws(RecordingFault) {
        let payload = annotation.payload
        guard RecordingFormat.headerLength + payload.count <= RecordingFormat.lengths.upperBound else {
            throw RecordingFault(path: path, offset: length, reason: .oversized(payload.count))
        }
        try collect { $0.appendMessage(type: RecordingFormat.noop, payload: payload) }
    }

    /// Writes a message of the kernel unchanged.
    package mutating func write(_ message: NetlinkMessage) throws(RecordingFault) {
        guard message.bytes.count <= RecordingFormat.lengths.upperBound else {
            throw RecordingFault(path: path, offset: length, reason: .oversized(message.bytes.count))
        }
        try collect { $0.appendPadded(message.bytes) }
    }

    /// Writes whole, padded messages.
    mutating func write(padded messages: [UInt8]) throws(RecordingFault) {
        try collect { $0.append(contentsOf: messages) }
    }

    /// Writes the buffer.
    package mutating func flush() throws(RecordingFault) {
        if let fault { throw fault }
        let done = pending.write(to: descriptor)
        guard done == pending.count else { throw give(up: errno, after: done) }
        written += UInt64(pending.count)
        pending.removeAll(keepingCapacity: true)
    }

    /// Writes the buffer and closes the file.
    ///
    /// Some file systems report a full disk only here.
    package consuming func finish() throws(RecordingFault) {
        try flush()
        guard isOwned else { return }
        // The deinitializer closes the descriptor. Closing a duplicate first reports the late error.
        let duplicate = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard duplicate < 0 || close(duplicate) == 0 || errno == EINTR else {
            throw RecordingFault(path: path, offset: written, reason: .unwritable(errno, isCut: false))
        }
    }

    private mutating func collect(_ append: (inout [UInt8]) -> Void) throws(RecordingFault) {
        if let fault { throw fault }
        append(&pending)
        if pending.count >= Self.flushSize { try flush() }
    }

    /// Removes the partial message of a failed write, if the file can be truncated.
    private mutating func give(up number: Int32, after done: Int) -> RecordingFault {
        let whole = pending.wholeMessages(within: done)
        var isCut = whole != done
        if isCut, isRegularFile {
            let place = lseek(descriptor, 0, SEEK_CUR)
            let end = place - off_t(done - whole)
            isCut = place < 0 || ftruncate(descriptor, end) != 0
            if !isCut { lseek(descriptor, end, SEEK_SET) }
        }
        written += UInt64(whole)
        pending.removeAll()
        let fault = RecordingFault(path: path, offset: written, reason: .unwritable(number, isCut: isCut))
        self.fault = fault
        return fault
    }

    private var isRegularFile: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }
}

// MARK: - Bytes

extension [UInt8] {
    /// Appends a message and its padding.
    mutating func appendPadded(_ message: UnsafeRawBufferPointer) {
        append(contentsOf: message)
        append(contentsOf: repeatElement(0, count: RecordingFormat.padded(message.count) - message.count))
    }

    /// Appends a message of this package: its flags, sequence and port are 0.
    mutating func appendMessage(type: UInt16, payload: [UInt8]) {
        append(contentsOf: UInt32(RecordingFormat.headerLength + payload.count).hostBytes)
        append(contentsOf: type.hostBytes)
        append(contentsOf: repeatElement(0, count: 10))
        payload.withUnsafeBytes { appendPadded($0) }
    }

    /// Appends an annotation.
    mutating func append(_ annotation: RecordingAnnotation) {
        appendMessage(type: RecordingFormat.noop, payload: annotation.payload)
    }

    /// Appends a time stamp.
    mutating func appendTimeStamp(_ time: RecordingTime) {
        appendMessage(
            type: RecordingFormat.timeStamp,
            payload: time.seconds.hostBytes + time.microseconds.hostBytes
        )
    }

    /// Writes the bytes to a blocking descriptor.
    ///
    /// - Returns: How many were written; if that is not all, errno has the reason.
    func write(to descriptor: Int32) -> Int {
        var done = 0
        while done < count {
            let written = withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress.map { $0 + done }, $0.count - done)
            }
            if written >= 0 {
                done += written
            } else if errno != EINTR {
                break
            }
        }
        return done
    }

    /// The number of bytes of whole, padded messages in the first `limit` bytes.
    func wholeMessages(within limit: Int) -> Int {
        withUnsafeBytes { bytes in
            var whole = 0
            while whole + RecordingFormat.headerLength <= limit {
                let length = bytes.loadUnaligned(fromByteOffset: whole, as: UInt32.self)
                let next = whole + RecordingFormat.padded(Int(length))
                if next > limit { break }
                whole = next
            }
            return whole
        }
    }
}
