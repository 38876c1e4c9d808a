// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The files of a directory as they were when it was opened, for any number of readings.
///
/// A recorder can write into the last file meanwhile, and delete the oldest ones: the files are held open, and each is
/// read up to the length that it had. Where there are many, those beyond the first are opened when they are read.
final class RecordedDirectory {
    /// A file that is open, and the bytes that it had.
    struct File {
        let descriptor: Int32
        /// Whether the reader closes it.
        let isOwned: Bool
        /// `nil` for a file that was opened late.
        var length: Int?
    }

    /// How many files are held open: a recorder has about nine.
    private static let limit = 32

    /// The numbers of the files, in ascending order.
    let numbers: [UInt64]
    private let descriptor: Int32
    private var held: [UInt64: File] = [:]

    /// Takes an open directory, and closes it at the end.
    ///
    /// - Returns: `nil` if it cannot be read, for which errno has the reason.
    init?(descriptor: Int32) {
        self.descriptor = descriptor
        guard let numbers = RecordingDirectory.numbers(in: descriptor) else {
            let number = errno
            close(descriptor)
            errno = number
            return nil
        }
        self.numbers = numbers
        for number in numbers.prefix(Self.limit) {
            guard let file = RecordingDirectory.open(number, in: descriptor) else {
                // The process needs the rest of its descriptors.
                if errno == EMFILE { release() }
                if errno == EMFILE { break }
                continue
            }
            var status = stat()
            fstat(file, &status)
            held[number] = File(descriptor: file, isOwned: false, length: Int(status.st_size))
        }
    }

    deinit {
        release()
        close(descriptor)
    }

    private func release() {
        let number = errno
        for file in held.values { close(file.descriptor) }
        held = [:]
        errno = number
    }

    /// Opens a file at its start; `nil` as ``RecordingDirectory/open(_:in:)`` returns it.
    func open(_ number: UInt64) -> File? {
        if let file = held[number] {
            lseek(file.descriptor, 0, SEEK_SET)
            return file
        }
        return RecordingDirectory.open(number, in: descriptor).map { File(descriptor: $0, isOwned: true) }
    }

    /// What a recorder says of the last file.
    var writer: WriterLock.State {
        WriterLock.state(closing: numbers.last.flatMap { RecordingDirectory.open($0, in: descriptor) })
    }

    /// Whether the last file was written to so lately that its writer can be in the middle of a dump.
    var isFresh: Bool {
        guard let last = numbers.last else { return false }
        var (status, now) = (stat(), timespec())
        guard fstatat(descriptor, RecordingDirectory.name(last), &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            // It was deleted: others have come.
            return errno == ENOENT
        }
        clock_gettime(CLOCK_REALTIME, &now)
        return now.tv_sec.subtractingClamped(status.st_mtim.tv_sec) <= 2
    }
}
