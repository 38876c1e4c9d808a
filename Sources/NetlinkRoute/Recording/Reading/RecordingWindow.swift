// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A window of fixed size that moves over a file.
struct RecordingWindow: ~Copyable {
    /// The source of the bytes.
    enum Source {
        case descriptor(Int32, isOwned: Bool)
        case bytes([UInt8])
    }

    /// Twice the longest message or datagram of a capture.
    static let capacity = 131_072

    /// The name of the file in faults.
    let path: String
    /// The position of the window in the file, in bytes.
    private(set) var offset: UInt64
    private let source: Source
    private let storage: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0
    private var taken = 0
    private var isAtEnd = false

    init(_ source: Source, path: String, offset: UInt64 = 0) {
        self.source = source
        self.offset = offset
        self.path = path
        storage = .allocate(byteCount: Self.capacity, alignment: 8)
    }

    deinit {
        storage.deallocate()
        if case .descriptor(let descriptor, isOwned: true) = source { close(descriptor) }
    }

    /// The bytes in the window.
    ///
    /// After ``fill(_:)`` they start at an address divisible by 4. They are valid until the next mutating call.
    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: storage[start..<end])
    }

    /// Reads until the window holds `count` bytes (at most ``capacity``) or the file ends; returns the number of bytes
    /// in the window.
    mutating func fill(_ count: Int) throws(RecordingFault) -> Int {
        if start % 4 != 0 || start + count > storage.count { compact() }
        while end - start < count, !isAtEnd {
            let added = try read(UnsafeMutableRawBufferPointer(rebasing: storage[end...]))
            isAtEnd = added == 0
            end += added
        }
        return end - start
    }

    /// Moves the window forward by bytes that it holds.
    mutating func advance(_ count: Int) {
        let step = min(count, end - start)
        start += step
        offset += UInt64(step)
    }

    /// Moves the window forward by any number of bytes, and returns how many the file lacks.
    mutating func skip(_ count: Int) throws(RecordingFault) -> Int {
        var rest = count
        while rest > 0 {
            let available = min(try fill(min(rest, Self.capacity)), rest)
            if available == 0 { return rest }
            advance(available)
            rest -= available
        }
        return 0
    }

    private mutating func compact() {
        let kept = end - start
        if kept > 0, let base = storage.baseAddress { memmove(base, base + start, kept) }
        start = 0
        end = kept
    }

    private mutating func read(_ target: UnsafeMutableRawBufferPointer) throws(RecordingFault) -> Int {
        switch source {
        case .bytes(let bytes):
            let count = min(target.count, bytes.count - taken)
            target.copyBytes(from: bytes[taken..<taken + count])
            taken += count
            return count
        case .descriptor(let descriptor, isOwned: _):
            while true {
                let count = Glibc.read(descriptor, target.baseAddress, target.count)
                if count >= 0 { return count }
                guard errno == EINTR else {
                    throw RecordingFault(path: path, offset: offset, reason: .unreadable(errno))
                }
            }
        }
    }
}
