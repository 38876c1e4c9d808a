// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The interfaces of the calling thread's network namespace, for assigning the managers' facts to them.
///
/// A manager can be in another namespace, for example for a container with the host's bus. Its `eth0` is then a
/// different interface, so hardware addresses must match if both sides have one.
struct HostInterfaces {
    struct Entry: Hashable {
        var index: UInt32
        /// The hardware address; empty for interfaces without one.
        var hardwareAddress: [UInt8]
    }

    var byName: [String: Entry]

    init(byName: [String: Entry]) {
        self.byName = byName
    }

    /// Lists the interfaces with getifaddrs(3), which asks the kernel.
    static var current: Self {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return Self(byName: [:]) }
        defer { freeifaddrs(first) }
        return Self(list: first)
    }

    /// Reads a list in the form of getifaddrs(3).
    init(list first: UnsafeMutablePointer<ifaddrs>?) {
        byName = [:]
        for entry in sequence(first: first, next: { $0?.pointee.ifa_next }) {
            guard let entry = entry?.pointee, let text = entry.ifa_name else { continue }
            let name = String(cString: text)
            guard let address = entry.ifa_addr else {
                // A link without a hardware address, such as a tunnel or a modem, has no address entry with its
                // index.
                let index = if_nametoindex(text)
                if index != 0, byName[name] == nil { byName[name] = Entry(index: index, hardwareAddress: []) }
                continue
            }
            guard Int32(address.pointee.sa_family) == AF_PACKET else { continue }
            // sockaddr_ll: the index is at offset 4, the address length at 11, and the address at 12. The C library
            // reserves 24 bytes for the address, and InfiniBand uses 20.
            let bytes = UnsafeRawPointer(address)
            let count = min(Int(bytes.load(fromByteOffset: 11, as: UInt8.self)), 24)
            byName[name] = Entry(
                index: UInt32(bitPattern: bytes.load(fromByteOffset: 4, as: Int32.self)),
                hardwareAddress: Array(UnsafeRawBufferPointer(start: bytes + 12, count: count)))
        }
    }

    /// The index of the interface that a manager refers to; `nil` if this namespace does not have the interface.
    ///
    /// - Parameters:
    ///   - name: The manager's name for the interface.
    ///   - index: The manager's index for the interface, if it reports one.
    ///   - hardwareAddress: The manager's hardware address for the interface; empty if it reports none.
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
