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
