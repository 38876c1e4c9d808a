// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The interfaces of the calling thread's network namespace, to which what managers say is assigned.
///
/// A manager can be in another namespace, as for a container with the host's bus. There its `eth0` is another one, so
/// the hardware addresses have to agree where both have one.
struct HostInterfaces {
    struct Entry: Hashable {
        var index: UInt32
        /// The hardware address; empty for interfaces without one.
        var hardwareAddress: [UInt8]
    }

    var byName: [String: Entry]

    /// Lists the interfaces with getifaddrs(3), which asks the kernel.
    static var current: Self {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return Self(byName: [:]) }
        defer { freeifaddrs(first) }
        var byName: [String: Entry] = [:]
        for entry in sequence(first: first, next: { $0?.pointee.ifa_next }) {
            guard let entry = entry?.pointee, let address = entry.ifa_addr, let name = entry.ifa_name,
                Int32(address.pointee.sa_family) == AF_PACKET
            else { continue }
            // sockaddr_ll: the index is at 4, the address's length at 11, and the address at 12, in 8 bytes or more.
            let bytes = UnsafeRawPointer(address)
            let count = min(Int(bytes.load(fromByteOffset: 11, as: UInt8.self)), 8)
            byName[String(cString: name)] = Entry(
                index: UInt32(bitPattern: bytes.load(fromByteOffset: 4, as: Int32.self)),
                hardwareAddress: Array(UnsafeRawBufferPointer(start: bytes + 12, count: count)))
        }
        return Self(byName: byName)
    }

    /// The index of the interface that a manager means; `nil` if this namespace does not have it.
    ///
    /// - Parameters:
    ///   - name: The manager's name of it.
    ///   - index: The manager's index of it, where it says one.
    ///   - hardwareAddress: The manager's hardware address of it; empty where it says none.
    /// - Returns: The index.
    func index(name: String, index: UInt32? = nil, hardwareAddress: [UInt8] = []) -> UInt32? {
        guard let entry = byName[name], index == nil || index == entry.index else { return nil }
        guard
            entry.hardwareAddress.isEmpty || hardwareAddress.isEmpty
                || entry.hardwareAddress == hardwareAddress
        else { return nil }
        return entry.index
    }
}

extension [UInt8] {
    /// The bytes of a hardware address such as `02:00:00:00:00:01`; empty for any other text.
    init(hardwareAddress text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        let bytes = parts.compactMap { $0.utf8.count == 2 ? UInt8($0, radix: 16) : nil }
        self = bytes.count == parts.count ? bytes : []
    }
}
