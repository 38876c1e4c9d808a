// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Reads small files, or the first bytes of a file, and writes all bytes.
package enum FileBytes {
    /// Reads a descriptor to its end, or up to a limit.
    ///
    /// - Parameters:
    ///   - descriptor: An open descriptor, read from its position.
    ///   - limit: The most bytes.
    /// - Returns: The bytes, and the errno of a failure; 0 at the end or the limit.
    package static func read(_ descriptor: Int32, upTo limit: Int) -> (bytes: [UInt8], number: Int32) {
        var bytes: [UInt8] = []
        while bytes.count < limit {
            var number: Int32 = 0
            let piece = [UInt8](unsafeUninitializedCapacity: min(limit - bytes.count, 16_384)) {
                buffer, count in
                let status = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                if status < 0 { number = errno } else { count = status }
            }
            if number != 0, isTemporary(number, descriptor, POLLIN) { continue }
            guard number == 0 else { return (bytes, number) }
            if piece.isEmpty { break }
            bytes += piece
        }
        return (bytes, 0)
    }

    /// Writes all bytes, and waits if the descriptor is non-blocking.
    ///
    /// - Returns: The number of bytes written, and the errno of a failure; 0 if all were written.
    package static func write(_ bytes: [UInt8], to descriptor: Int32) -> (count: Int, number: Int32) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                Glibc.write(descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written)
            }
            if count >= 0 {
                written += count
            } else if !isTemporary(errno, descriptor, POLLOUT) {
                return (written, errno)
            }
        }
        return (written, 0)
    }

    /// Whether a failed read or write can be repeated; if so, waits until then.
    ///
    /// A descriptor can be non-blocking because another process shares it and made it so.
    package static func isTemporary(_ number: Int32, _ descriptor: Int32, _ event: Int32) -> Bool {
        if number == EINTR { return true }
        guard number == EAGAIN else { return false }
        var wait = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        return poll(&wait, 1, -1) >= 0 || errno == EINTR
    }

    /// Reads a file as text, up to a limit; `nil` if it cannot be read.
    package static func text(of path: String, upTo limit: Int) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let (bytes, number) = read(descriptor, upTo: limit)
        return number == 0 ? String(decoding: bytes, as: UTF8.self) : nil
    }
}

/// Kernel settings that no netlink message contains (sysctl).
package enum KernelSetting {
    /// Whether a numeric setting is not 0; `nil` if it cannot be read.
    ///
    /// - Parameter path: The file below `/proc/sys`.
    /// - Returns: Whether it is set.
    package static func isSet(_ path: String) -> Bool? {
        number(path).map { $0 != 0 }
    }

    /// The number of a setting; `nil` if it cannot be read.
    ///
    /// - Parameter path: The file below `/proc/sys`.
    /// - Returns: The number.
    package static func number(_ path: String) -> Int? {
        FileBytes.text(of: "/proc/sys/\(path)", upTo: 16).flatMap { Int($0.prefix { !$0.isWhitespace }) }
    }
}

/// Calls the body with the descriptor of a folder and each name in it, also `.` and `..`, until it returns `false`.
///
/// - Returns: Whether the folder can be read; if not, `errno` has the reason.
package func forEachEntry(of folder: String, _ body: (Int32, UnsafePointer<CChar>) -> Bool) -> Bool {
    guard let stream = opendir(folder.fileName) else { return false }
    defer { closedir(stream) }
    var goesOn = true
    while goesOn, let entry = readdir(stream) {
        goesOn = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
            pointer.withMemoryRebound(to: CChar.self, capacity: 256) { body(dirfd(stream), $0) }
        }
    }
    return true
}
