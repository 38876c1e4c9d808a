// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The files of a recording that is kept in a directory: `netflags-0000000001.rtnl` and on.
///
/// Each file begins with a dump. The number of a file is that of the one before it plus one, or more where others took
/// the names in between.
package enum RecordingDirectory {
    private static let prefix = "netflags-"
    private static let suffix = ".rtnl"
    private static let digits = 10

    /// The name of a file.
    static func name(_ number: UInt64) -> String {
        prefix + number.padded(digits) + suffix
    }

    /// The numbers of files: those of ten digits.
    static let numbers: ClosedRange<UInt64> = 0...9_999_999_999

    /// The number in the name of a file; `nil` for a name that ``name(_:)`` does not return, or with more digits.
    package static func number(_ name: String) -> UInt64? {
        guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
        let number = UInt64(name.dropFirst(prefix.count).dropLast(suffix.count))
        return number.flatMap { numbers.contains($0) && Self.name($0) == name ? $0 : nil }
    }

    /// The numbers of the files in an open directory, in ascending order; `nil` if it cannot be read, for which errno
    /// has the reason.
    static func numbers(in descriptor: Int32) -> [UInt64]? {
        // A descriptor of its own: reading moves the position of the shared one.
        let own = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard own >= 0 else { return nil }
        guard let folder = fdopendir(own) else {
            close(own)
            return nil
        }
        defer { closedir(folder) }
        var numbers: [UInt64] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let number = number(name) { numbers.append(number) }
        }
        return numbers.sorted()
    }

    /// Opens a file for reading; `nil` if there is no regular file of that number, or it cannot be opened: errno has
    /// the reason then, and is 0 for one that is not regular.
    ///
    /// It neither follows a symbolic link nor waits for a named pipe.
    static func open(_ number: UInt64, in descriptor: Int32) -> Int32? {
        let file = openat(descriptor, name(number), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else { return nil }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(file)
            errno = 0
            return nil
        }
        return file
    }
}

// MARK: - Reading

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
