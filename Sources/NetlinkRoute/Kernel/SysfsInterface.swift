// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The kernel's device model of an interface in sysfs.
///
/// It serves for one fact that no netlink message has: whether an interface that looks like Ethernet is a cellular
/// modem.
enum SysfsInterface {
    /// Whether sysfs describes an interface as a cellular modem (`DEVTYPE=wwan`).
    ///
    /// In a container `/sys` can show the interfaces of another namespace, so the index there has to match. Without
    /// sysfs the result is `false`.
    static func isCellular(name: String, index: UInt32) -> Bool {
        guard !name.contains("/"), name != ".", name != ".." else { return false }
        return readSmallFile("/sys/class/net/\(name)/uevent") { isCellular(uevent: $0, index: index) }
            ?? false
    }

    /// Parses the lines `KEY=value` of a uevent file.
    static func isCellular(uevent: some Sequence<UInt8>, index: UInt32) -> Bool {
        let lines = String(decoding: Array(uevent), as: UTF8.self).split(separator: "\n")
        return lines.contains("IFINDEX=\(index)") && lines.contains("DEVTYPE=wwan")
    }
}

/// Reads the first 4 KiB of a file; `nil` when it cannot be read.
func readSmallFile<Result>(_ path: String, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    return withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) { buffer in
        let count = read(descriptor, buffer.baseAddress, buffer.count)
        return count < 0 ? nil : body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
}
