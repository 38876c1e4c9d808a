// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import SystemSupport

/// Watches the files that configure the resolver.
///
/// Programs replace these files by renaming another file. The files can also be symbolic links into a folder such as
/// `/run`, and that folder can be a link itself. Therefore each folder of a path lookup is watched for the name that
/// is looked up in it. If a file, a folder or a link destination is missing, the last existing folder is watched for
/// the next name.
///
/// Container engines mount each file separately. Such a file is written through another name, in a folder that this
/// process does not see, so the file itself is watched too. A mount over a file causes no inotify event. After a
/// change of the mounts, the files are therefore compared with the earlier ones.
///
/// Not thread-safe: one thread uses it.
final class ResolverFiles {
    /// The resolver's files on every Linux, and the file that systemd-resolved changes.
    static let standard = ["/etc/resolv.conf", "/etc/hosts", Nameservers.resolvedFile]

    /// The identity of the file at a path.
    private struct Identity: Equatable {
        let device: dev_t
        let inode: ino_t
    }

    /// Readable after one of the files or folders has changed.
    let descriptor: Int32
    /// The descriptor that poll(2) reports with POLLPRI after the mounts of this process have changed; -1 without
    /// `/proc`.
    let mountDescriptor: Int32
    private let paths: [String]
    /// The watched names in each watched folder; a watched file has the name "".
    private var names: [Int32: Set<String>] = [:]
    /// The file at each path; `nil` if there is none.
    private var identities: [Identity?] = []

    /// Watches files; `nil` if a sandbox or a limit refuses inotify.
    init?(_ paths: [String] = standard) {
        self.paths = paths
        descriptor = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        mountDescriptor = descriptor >= 0 ? open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC) : -1
        guard descriptor >= 0 else { return nil }
        watch()
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        if mountDescriptor >= 0 { close(mountDescriptor) }
    }

    /// Reads the events, and returns whether one of the files has changed.
    func readChanges() -> Bool {
        let isTouched = readEvents() || paths.map(Self.identity) != identities
        // The lookup of a path may use other folders now.
        if isTouched { watch() }
        return isTouched
    }

    private func readEvents() -> Bool {
        var isTouched = false
        withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) { buffer in
            while true {
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                let events = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                if concernsFiles(events) { isTouched = true }
            }
        }
        return isTouched
    }

    private func concernsFiles(_ events: UnsafeRawBufferPointer) -> Bool {
        var isConcerned = false
        let headerSize = MemoryLayout<inotify_event>.size
        var offset = 0
        while offset + headerSize <= events.count {
            let header = events.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
            let end = offset + headerSize + Int(header.len)
            guard end <= events.count else { return true }
            let name = events[(offset + headerSize)..<end].prefix { $0 != 0 }
            offset = end
            if header.mask & UInt32(IN_IGNORED) != 0 {
                // The file or folder was removed, and its watch with it.
                names[header.wd] = nil
            } else if header.mask & UInt32(IN_Q_OVERFLOW) != 0
                || names[header.wd]?.contains(String(fileName: name)) == true
            {
                // If the queue overflowed, any file can have changed.
                isConcerned = true
            }
        }
        return isConcerned
    }
}

// MARK: - Watches

extension ResolverFiles {
    /// Watches the files and the folders of their path lookups.
    ///
    /// Ends the watches of earlier lookups.
    private func watch() {
        // Read first, so that a later change of a file is noticed.
        identities = paths.map(Self.identity)
        var watched: [Int32: Set<String>] = [:]
        for path in paths {
            PathWalk.walk(to: path, from: "/") { folder, name, _ in
                // Watched first, so that a later change of the name causes an event.
                if let watch = add(folder, Self.folderEvents) { watched[watch, default: []].insert(name) }
                let path = folder == "/" ? "/\(name)" : "\(folder)/\(name)"
                if let destination = PathWalk.destination(of: path) { return .link(destination) }
                return errno == EINVAL ? .found(path) : .end
            }
            if let file = add(path, Self.fileEvents) { watched[file, default: []].insert("") }
        }
        for watch in names.keys where watched[watch] == nil { inotify_rm_watch(descriptor, watch) }
        names = watched
    }

    private static let folderEvents =
        IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ONLYDIR
    private static let fileEvents = IN_MODIFY | IN_CLOSE_WRITE

    /// Watches a file or a folder; `nil` if it does not exist or cannot be read.
    private func add(_ path: String, _ events: Int32) -> Int32? {
        let watch = inotify_add_watch(descriptor, path.fileName, UInt32(events))
        return watch >= 0 ? watch : nil
    }

    private static func identity(of path: String) -> Identity? {
        var status = stat()
        guard stat(path.fileName, &status) == 0 else { return nil }
        return Identity(device: status.st_dev, inode: status.st_ino)
    }
}
