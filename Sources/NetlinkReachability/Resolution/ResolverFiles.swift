// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Watches the files that configure the resolver.
///
/// Programs replace these files by renaming another, or the files are links into a folder such as `/run`. Therefore
/// both folders are watched: that of the link and that of its destination. A file can be missing at first.
///
/// Not thread-safe: one thread uses it.
final class ResolverFiles {
    /// The resolver's files on every Linux, and the file that systemd-resolved changes.
    static let standard = ["/etc/resolv.conf", "/etc/hosts", Nameservers.resolvedFile]

    /// Readable when one of the folders has changed.
    let descriptor: Int32
    private let paths: [String]
    /// The names of the files of interest in each watched folder.
    private var names: [Int32: Set<String>] = [:]

    /// Watches files; `nil` where a sandbox or a limit refuses inotify.
    init?(_ paths: [String] = standard) {
        self.paths = paths
        descriptor = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        guard descriptor >= 0 else { return nil }
        watchFolders()
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Reads the events, and returns whether one of the files has changed.
    func readChanges() -> Bool {
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
        // A link can have a new destination now.
        if isTouched { watchFolders() }
        return isTouched
    }

    /// Adds the folders of the files and of their destinations; watched folders stay.
    private func watchFolders() {
        for path in paths {
            watchFolder(of: path)
            if let real = realpath(path, nil) {
                watchFolder(of: String(cString: real))
                free(real)
            }
        }
    }

    private func watchFolder(of path: String) {
        guard let slash = path.lastIndex(of: "/") else { return }
        let folder = slash == path.startIndex ? "/" : String(path[..<slash])
        let mask = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE
        let watch = inotify_add_watch(descriptor, folder, UInt32(mask) | UInt32(IN_ONLYDIR))
        guard watch >= 0 else { return }
        names[watch, default: []].insert(String(path[path.index(after: slash)...]))
    }

    private func concernsFiles(_ events: UnsafeRawBufferPointer) -> Bool {
        let headerSize = MemoryLayout<inotify_event>.size
        var offset = 0
        while offset + headerSize <= events.count {
            let header = events.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
            let end = offset + headerSize + Int(header.len)
            guard end <= events.count else { return true }
            // The queue overflowed: any file can have changed.
            if header.mask & UInt32(IN_Q_OVERFLOW) != 0 { return true }
            let name = events[(offset + headerSize)..<end].prefix { $0 != 0 }
            if names[header.wd]?.contains(String(decoding: name, as: UTF8.self)) == true { return true }
            offset = end
        }
        return false
    }
}
