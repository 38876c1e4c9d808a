// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The folder of a file to write, and the name of the file in this folder.
///
/// The path to the folder is walked once, by descriptors. A symbolic link is followed only if root or this user created
/// it: if the folder belongs to one of them and no other user can write to it, or if the folder is sticky and the link
/// belongs to one of them. So no other user can redirect the path, even by renaming files at the same time.
package final class FilePlace {
    /// The folder, opened with O_PATH.
    package let folder: Int32
    /// The name of the file.
    package let name: String
    /// Whether other users can replace the file.
    package let isShared: Bool
    /// Whether the name is a link in /proc to an open file, which may have no other name.
    private let isOpenFile: Bool

    /// Finds the place of a file.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - followsLast: Whether the file can be a link; otherwise the link is the file.
    /// - Throws: The errno of a folder that is missing, and ELOOP for a link that is not followed.
    package init(_ path: String, followsLast: Bool) throws(SystemCallError) {
        let failure = { number in SystemCallError(operation: "find \(path)", number: number) }
        guard let root = Descriptor(open("/", Self.place)) else { throw failure(errno) }
        var last: (folder: Descriptor, name: String)?
        var isOpenFile = false
        var number: Int32?
        let isComplete = PathWalk.walk(to: try Self.absolute(path), from: root) { folder, name, isLast in
            last = isLast ? (folder, name) : nil
            guard let entry = Descriptor(openat(folder.number, name.fileName, Self.place)) else {
                number = errno
                return .end
            }
            guard let destination = PathWalk.destination(of: "", in: entry.number) else {
                return .found(entry)
            }
            if isLast, !followsLast { return .end }
            guard !Self.isShared(folder) || Self.isSticky(folder) && Self.isOwned(entry) else {
                number = ELOOP
                last = nil
                return .end
            }
            isOpenFile = isLast && Self.isOfProc(entry)
            return isOpenFile ? .end : .link(destination)
        }
        guard isComplete, let last, let folder = Descriptor(fcntl(last.folder.number, F_DUPFD_CLOEXEC, 0))
        else {
            // A path without a last name, or with `.` or `..` as the last name, is the path of a folder.
            throw failure(number ?? (isComplete ? EISDIR : ELOOP))
        }
        isShared = Self.isShared(folder)
        self.isOpenFile = isOpenFile
        name = last.name
        self.folder = folder.take()
    }

    deinit {
        close(folder)
    }

    /// Opens the file for writing, and empties it; a new file has the mode 0600.
    ///
    /// - Returns: The descriptor, and whether the file is new.
    /// - Throws: The errno; EPERM in a shared folder for a file of another user, or with a second name.
    package func openEmptied() throws(SystemCallError) -> (descriptor: Int32, isNew: Bool) {
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC | (isOpenFile ? 0 : O_NOFOLLOW)
        var descriptor = openat(folder, name.fileName, flags | O_EXCL, 0o600)
        let isNew = descriptor >= 0
        if !isNew, errno == EEXIST { descriptor = openat(folder, name.fileName, flags, 0o600) }
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            throw SystemCallError(operation: "create \(name)", number: errno)
        }
        let isForeign = isShared && (status.st_uid != geteuid() || status.st_nlink != 1)
        let isFile = status.st_mode & S_IFMT == S_IFREG
        guard !isForeign, !isFile || ftruncate(descriptor, 0) == 0 else {
            let number = isForeign ? EPERM : errno
            close(descriptor)
            throw SystemCallError(operation: "empty \(name)", number: number)
        }
        return (descriptor, isNew)
    }

    /// Removes the name of an open file, unless another file has the name now.
    package func remove(_ descriptor: Int32) {
        var (file, named) = (stat(), stat())
        guard fstat(descriptor, &file) == 0, fstatat(folder, name.fileName, &named, AT_SYMLINK_NOFOLLOW) == 0,
            (file.st_dev, file.st_ino) == (named.st_dev, named.st_ino)
        else { return }
        unlinkat(folder, name.fileName, 0)
    }

    /// O_PATH of `fcntl.h`, which the Glibc module does not import.
    package static let pathOnly: Int32 = 0o10000000

    private static let place = pathOnly | O_NOFOLLOW | O_CLOEXEC

    private static func absolute(_ path: String) throws(SystemCallError) -> String {
        guard !PathWalk.isAbsolute(path) else { return path }
        guard let folder = getcwd(nil, 0) else {
            throw SystemCallError(operation: "find the working directory", number: errno)
        }
        defer { free(folder) }
        return "\(String(fileName: folder))/\(path)"
    }

    // MARK: Owners

    /// Whether other users can write to a folder.
    ///
    /// With an access control list, the group permissions are the most that the list grants.
    private static func isShared(_ folder: Descriptor) -> Bool {
        guard let status = folder.status else { return true }
        return !isOwned(folder) || status.st_mode & 0o022 != 0
    }

    /// Whether a folder belongs to root or this user, and other users can rename only their own files in it.
    private static func isSticky(_ folder: Descriptor) -> Bool {
        isOwned(folder) && (folder.status?.st_mode ?? 0) & S_ISVTX != 0
    }

    private static func isOwned(_ file: Descriptor) -> Bool {
        [0, geteuid()].contains(file.status?.st_uid)
    }

    private static func isOfProc(_ file: Descriptor) -> Bool {
        var status = stat()
        return stat("/proc", &status) == 0 && status.st_dev == file.status?.st_dev
    }

    /// A descriptor that is closed with its last reference.
    private final class Descriptor {
        private(set) var number: Int32

        /// - Parameter number: What a system call returned.
        init?(_ number: Int32) {
            guard number >= 0 else { return nil }
            self.number = number
        }

        var status: stat? {
            var status = stat()
            return fstat(number, &status) == 0 ? status : nil
        }

        /// Returns the number, which the caller closes.
        func take() -> Int32 {
            defer { number = -1 }
            return number
        }

        deinit {
            if number >= 0 { close(number) }
        }
    }
}

// MARK: - Symbolic links

/// The names that the kernel looks up to find a file, through symbolic links.
package enum PathWalk {
    /// What a name in a folder leads to.
    package enum Entry<Folder> {
        /// A symbolic link with its destination.
        case link(String)
        /// A folder, or another file that is not a link; the next name is looked up in it.
        case found(Folder)
        /// No file, or a link that is not followed: the walk ends.
        case end
    }

    /// The most symbolic links in one lookup, as in the kernel (MAXSYMLINKS).
    static let linkLimit = 40

    /// Looks up the names of a path one by one, until one leads to nothing.
    ///
    /// - Parameters:
    ///   - path: The path of the file; a relative path also begins at the root.
    ///   - root: The root folder.
    ///   - look: Returns what a name in a folder leads to. Receives the folder, the name, and whether the name is the
    ///     last one, in the order of the lookup.
    /// - Returns: Whether the last name was looked up.
    @discardableResult
    package static func walk<Folder>(
        to path: String, from root: Folder, _ look: (Folder, String, Bool) -> Entry<Folder>
    ) -> Bool {
        var rest = Array(names(of: path).reversed())
        var folders: [Folder] = []
        var links = 0
        while let name = rest.popLast() {
            if name == ".." { _ = folders.popLast() }
            if name == ".." || name == "." { continue }
            switch look(folders.last ?? root, String(name), rest.isEmpty) {
            case .end: return rest.isEmpty
            case .found(let folder): folders.append(folder)
            case .link(let destination):
                links += 1
                guard links <= linkLimit else { return false }
                if isAbsolute(destination) { folders = [] }
                rest += names(of: destination).reversed()
            }
        }
        return true
    }

    // Splits by bytes: a `/` before a combining character is part of another Character.
    private static func names(of path: String) -> [Substring] {
        path.utf8.split(separator: UInt8(ascii: "/")).map(Substring.init)
    }

    fileprivate static func isAbsolute(_ path: String) -> Bool {
        path.utf8.first == UInt8(ascii: "/")
    }

    /// The destination of a link.
    ///
    /// - Parameters:
    ///   - name: The link; empty for the descriptor itself.
    ///   - folder: The folder of the link.
    /// - Returns: The destination, or `nil` with the errno of readlink(2), which is EINVAL for another file.
    package static func destination(of name: String, in folder: Int32 = AT_FDCWD) -> String? {
        var destination = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = destination.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { readlinkat(folder, name.fileName, $0, text.count) } ?? -1
            }
        }
        return count < 0 ? nil : String(fileName: destination[..<count])
    }
}
