// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A netlink socket that pretends to be the kernel.
struct Stranger {
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Probe.Failure.system("socket") }
    }

    /// Sends a notification that loopback is gone (RTM_DELLINK), to the port of another socket and to all
    /// listeners to interfaces.
    func sendForgery(toPortOf victim: Int32) throws {
        defer { close(descriptor) }
        var own: [UInt32] = [0, 0, 0]
        var length: socklen_t = 12
        let status = own.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { getsockname(victim, $0.baseAddress, &length) }
        }
        guard status == 0 else { throw Probe.Failure.system("getsockname") }
        try send(to: [UInt32(AF_NETLINK), own[1], 0])
        try send(to: [UInt32(AF_NETLINK), 0, 1])
    }

    private func send(to address: [UInt32]) throws {
        // struct nlmsghdr: length, type and flags, sequence, port; struct ifinfomsg: family and type, index,
        // flags, change.
        let message: [UInt32] = [32, 17, 0, 0, 0, 1, 0, ~0]
        var address = address
        let sent = address.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { target in
                message.withUnsafeBytes {
                    sendto(descriptor, $0.baseAddress, $0.count, 0, target.baseAddress, 12)
                }
            }
        }
        guard sent == 32 else { throw Probe.Failure.system("sendto") }
    }
}
