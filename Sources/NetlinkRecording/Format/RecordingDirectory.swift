// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The files of a recording in a directory: `netflags-0000000001.rtnl` and so on.
///
/// Each file begins with a dump. The number of a file is one higher than that of the previous file, or more if other
/// files had the names in between.
package enum RecordingDirectory {
    private static let prefix = "netflags-"
    private static let suffix = ".rtnl"
    private static let digits = 10

    /// The name of a file.
    static func name(_ number: UInt64) -> String {
        prefix + number.padded(digits) + suffix
    }

    /// The valid numbers of files, which have ten digits.
    static let numbers: ClosedRange<UInt64> = 0...9_999_999_999

    /// The number in a file name; `nil` for a name that ``name(_:)`` does not return, or with more digits.
    package static func number(_ name: String) -> UInt64? {
        guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
        let number = UInt64(name.dropFirst(prefix.count).dropLast(suffix.count))
        return number.flatMap { numbers.contains($0) && Self.name($0) == name ? $0 : nil }
    }

    /// The numbers of the files in an open directory, in ascending order; `nil` if it cannot be read, with the reason
    /// in errno.
    static func numbers(in descriptor: Int32) -> [UInt64]? {
        // Uses a descriptor of its own, because reading moves the position of a shared one.
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

    /// Opens a file for reading; `nil` if there is no regular file of that number, or if it cannot be opened.
    ///
    /// The reason is in errno, which is 0 for a file that is not regular.
    ///
    /// It does not follow a symbolic link, and does not wait for a named pipe.
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
/// A recorder can meanwhile write to the last file and delete the oldest ones. Therefore the files are kept open, and
/// each is read up to its length at that time. If there are many files, the later ones are opened when they are read.
final class RecordedDirectory {
    /// An open file, and its length when it was opened.
    struct File {
        let descriptor: Int32
        /// Whether the reader closes it.
        let isOwned: Bool
        /// `nil` for a file that was opened later.
        var length: Int?
    }

    /// The most files that are kept open: a recorder has about nine.
    private static let limit = 32

    /// The numbers of the files, in ascending order.
    let numbers: [UInt64]
    private let descriptor: Int32
    private var held: [UInt64: File] = [:]

    /// Creates a reader that owns an open directory and closes it at the end.
    ///
    /// - Returns: `nil` if the directory cannot be read, with the reason in errno.
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
                // The process may need its remaining descriptors.
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

    /// Opens a file at its start; `nil` if ``RecordingDirectory/open(_:in:)`` cannot open it.
    func open(_ number: UInt64) -> File? {
        if let file = held[number] {
            lseek(file.descriptor, 0, SEEK_SET)
            return file
        }
        return RecordingDirectory.open(number, in: descriptor).map { File(descriptor: $0, isOwned: true) }
    }

    /// The state of the last file's writer.
    var writer: WriterLock.State {
        WriterLock.state(closing: numbers.last.flatMap { RecordingDirectory.open($0, in: descriptor) })
    }

    /// Whether the last file was written so recently that its writer can be in the middle of a dump.
    var isFresh: Bool {
        guard let last = numbers.last else { return false }
        var (status, now) = (stat(), timespec())
        guard fstatat(descriptor, RecordingDirectory.name(last), &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            // The file was deleted, so newer files exist.
            return errno == ENOENT
        }
        clock_gettime(CLOCK_REALTIME, &now)
        return now.tv_sec.subtractingClamped(status.st_mtim.tv_sec) <= 2
    }
}
