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
        guard let port = Self.port(of: victim) else { throw Probe.Failure.system("getsockname") }
        for address in [[UInt32(AF_NETLINK), port, 0], [UInt32(AF_NETLINK), 0, 1]] {
            errno = send(to: address)
            guard errno == 0 else { throw Probe.Failure.system("sendto") }
        }
    }

    /// Sends the same to the port of each netlink socket of this process but one and its own.
    ///
    /// - Returns: The errno of each; 0 for a socket that takes it.
    func sendForgeries(exceptTo exempt: Int32) -> [Int32] {
        defer { close(descriptor) }
        return (0..<1_024).filter { $0 != exempt && $0 != descriptor }.compactMap(Self.port).map { port in
            send(to: [UInt32(AF_NETLINK), port, 0])
        }
    }

    /// The port of a netlink socket; `nil` for any other descriptor.
    private static func port(of descriptor: Int32) -> UInt32? {
        var own: [UInt32] = [0, 0, 0]
        var length: socklen_t = 12
        let status = own.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { getsockname(descriptor, $0.baseAddress, &length) }
        }
        return status == 0 && own[0] & 0xffff == UInt32(AF_NETLINK) ? own[1] : nil
    }

    /// Sends the message; returns 0 or an errno.
    private func send(to address: [UInt32]) -> Int32 {
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
        return sent == 32 ? 0 : errno
    }
}
