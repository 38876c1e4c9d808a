// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import SystemSupport

/// Writes a recording: an rtmon stream with this package's annotations.
///
/// After a failed write, the file ends with its last complete message. A pipe cannot be truncated, and the error says
/// so. After an error, every further call throws the same error. A new file into which no message was written is
/// removed.
package struct RecordingWriter: ~Copyable {
    private let path: String
    let descriptor: Int32
    private let isOwned: Bool
    package private(set) var byteCount: UInt64 = 0
    private var error: RecordingError?
    /// The location of a new file while it has no message; `nil` otherwise.
    private var newPlace: FilePlace?

    /// Creates a file or truncates an existing one, as rtmon does, at the location that ``FilePlace`` finds.
    package init(path: String) throws(RecordingError) {
        do throws(SystemCallError) {
            let place = try FilePlace(path, followsLast: true)
            let isNew: Bool
            (descriptor, isNew) = try place.openEmptied()
            newPlace = isNew ? place : nil
        } catch {
            throw RecordingError(path: path, offset: 0, reason: .uncreatable(error.number))
        }
        WriterLock.lock(descriptor)
        self.path = path
        isOwned = true
    }

    package func setCurrent(_ isCurrent: Bool) {
        if isOwned { WriterLock.setCurrent(isCurrent, descriptor) }
    }

    /// Writes to an open descriptor, which the caller owns.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor.
    ///   - path: The name to use in errors.
    package init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
        isOwned = false
    }

    deinit {
        newPlace?.remove(descriptor)
        if isOwned { WriterLock.end(closing: descriptor) }
    }

    /// The error of a write to a pipe without a reader.
    var brokenPipe: RecordingError {
        RecordingError(path: path, offset: byteCount, reason: .unwritable(EPIPE, isCut: false))
    }

    /// Closes the file.
    ///
    /// Some file systems report a full disk only at this point.
    package consuming func finish() throws(RecordingError) {
        if let error { throw error }
        guard isOwned else { return }
        // The deinitializer closes the descriptor. Closing a duplicate first shows a late error.
        let duplicate = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard duplicate < 0 || close(duplicate) == 0 || errno == EINTR else {
            throw RecordingError(path: path, offset: byteCount, reason: .unwritable(errno, isCut: false))
        }
    }
}

extension RecordingWriter: RecordingOutput {
    package mutating func append(_ messages: [UInt8]) throws(RecordingError) {
        if let error { throw error }
        let (count, reason) = messages.write(to: descriptor)
        byteCount += UInt64(count)
        if count > 0 { newPlace = nil }
        guard let reason else { return }
        let error = RecordingError(path: path, offset: byteCount, reason: reason)
        self.error = error
        throw error
    }

    package mutating func append(_ snapshot: RecordedSnapshot) throws(RecordingError) {
        try append(snapshot.bytes)
    }
}

// MARK: - Bytes

extension [UInt8] {
    /// Appends a message and its padding.
    mutating func appendPadded(_ message: UnsafeRawBufferPointer) {
        append(contentsOf: message)
        append(contentsOf: repeatElement(0, count: RecordingFormat.padded(message.count) - message.count))
    }

    /// Appends a message of this package, with flags, sequence and port 0.
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
    mutating func appendTimeStamp(_ time: Recording.Time) {
        let total = Recording.Time(limiting: time.microsecondsSince1970).microsecondsSince1970
        let (seconds, microseconds) = total.quotientAndRemainder(dividingBy: 1_000_000)
        appendMessage(
            type: RecordingFormat.timeStamp,
            payload: UInt32(seconds).hostBytes + UInt32(microseconds).hostBytes
        )
    }

    /// Appends a time stamp and the bytes of the body.
    ///
    /// Appends nothing if the body appends nothing.
    mutating func appendStamped(_ time: Recording.Time, _ body: (inout [UInt8]) -> Void) {
        let start = count
        appendTimeStamp(time)
        let stamped = count
        body(&self)
        if count == stamped { removeLast(stamped - start) }
    }

    /// Writes complete, padded messages.
    ///
    /// After a failed write, the file ends with its last complete message, unless it cannot be truncated.
    ///
    /// - Returns: The number of bytes of complete messages that were written, and the error if these are not all.
    func write(to descriptor: Int32) -> (count: Int, reason: RecordingError.Reason?) {
        let (done, number) = FileBytes.write(self, to: descriptor)
        guard number != 0 else { return (done, nil) }
        let whole = wholeMessages(within: done)
        let end = lseek(descriptor, 0, SEEK_CUR) - off_t(done - whole)
        let isCut = whole != done && (end < 0 || ftruncate(descriptor, end) != 0)
        if !isCut { lseek(descriptor, end, SEEK_SET) }
        return (whole, .unwritable(number, isCut: isCut))
    }

    /// The number of bytes of complete, padded messages in the first `limit` bytes.
    private func wholeMessages(within limit: Int) -> Int {
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

// MARK: - Outputs

/// The output of a recorder: one file, or the files of a directory.
package protocol RecordingOutput: ~Copyable {
    /// Writes complete, padded messages.
    mutating func append(_ messages: [UInt8]) throws(RecordingError)

    /// Writes a dump of all tables between its annotations.
    mutating func append(_ snapshot: RecordedSnapshot) throws(RecordingError)

    /// Sets whether readers see that all received notifications are written.
    func setCurrent(_ isCurrent: Bool)
}

extension RecordingOutput where Self: ~Copyable {
    /// Writes an annotation, after a time stamp if it marks an instant.
    package mutating func append(
        _ annotation: RecordingAnnotation,
        at time: Recording.Time? = nil
    ) throws(RecordingError) {
        var bytes: [UInt8] = []
        if let time { bytes.appendTimeStamp(time) }
        bytes.append(annotation)
        try append(bytes)
    }
}
