// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel

/// A connected TCP or UDP socket, as sock_diag describes it.
package struct ConnectedSocket: Hashable, Sendable {
    /// IPPROTO_TCP or IPPROTO_UDP.
    package let ipProtocol: UInt8
    /// An IPv4-mapped address is an IPv4 address here.
    ///
    /// A link-local one belongs to the interface that the socket is bound to.
    package let local, remote: IPAddress
    /// In host byte order.
    package let localPort, remotePort: UInt16
    /// The interface that the socket is bound to; 0 for none.
    package let boundInterface: UInt32
    /// SO_MARK; 0 also where the process has no CAP_NET_ADMIN, for which the kernel shows no marks.
    package let mark: UInt32
    /// The type of service or traffic class.
    package let typeOfService: UInt8
    package let user: UInt32
    /// The inode, which `/proc/PID/fd` shows.
    package let inode: UInt32
    /// SO_COOKIE, which identifies the socket as long as the machine runs.
    package let cookie: UInt64

    /// `nil` for another family than IPv4 and IPv6.
    fileprivate init?(_ socket: cnl_socket, _ ipProtocol: UInt8) {
        guard let local = IPAddress(family: socket.family, fixedBytes: socket.local)?.unmapped,
            let remote = IPAddress(family: socket.family, fixedBytes: socket.remote)?.unmapped
        else { return nil }
        self.ipProtocol = ipProtocol
        (self.local, self.remote) = (local, remote)
        typeOfService = local.family == .v4 ? socket.tos : socket.traffic_class
        (localPort, remotePort) = (socket.local_port, socket.remote_port)
        boundInterface = socket.bound_interface
        mark = socket.mark
        user = socket.uid
        inode = socket.inode
        cookie = socket.cookie
    }
}

extension ConnectedSocket {
    private final class Listing {
        let ipProtocol: UInt8
        let body: (ConnectedSocket) -> Void
        /// The sockets of this dump: it is repeated if it is interrupted.
        var seen: Set<UInt64> = []

        init(_ ipProtocol: UInt8, _ body: @escaping (ConnectedSocket) -> Void) {
            (self.ipProtocol, self.body) = (ipProtocol, body)
        }

        func take(_ socket: cnl_socket) {
            guard seen.insert(socket.cookie).inserted else { return }
            if let socket = ConnectedSocket(socket, ipProtocol) { body(socket) }
        }
    }

    /// Lists the connected sockets of the calling thread's network namespace, each once.
    ///
    /// - Parameters:
    ///   - family: The family of the sockets; IPv6 sockets can have IPv4 ends.
    ///   - ipProtocol: IPPROTO_TCP or IPPROTO_UDP.
    ///   - body: Receives each socket while the kernel goes through its table.
    /// - Throws: An error if the kernel refuses the list: with ENOENT if it has no inet_diag for the protocol.
    package static func list(
        _ family: IPAddress.Family,
        ipProtocol: UInt8,
        _ body: (ConnectedSocket) -> Void
    ) throws(ReachabilityError) {
        var fault = cnl_fault()
        let outcome = withoutActuallyEscaping(body) { body in
            let listing = Listing(ipProtocol, body)
            return withExtendedLifetime(listing) {
                cnl_sockets_list(
                    family.rawValue, ipProtocol,
                    { socket, context in
                        guard let context else { return }
                        Unmanaged<Listing>.fromOpaque(context).takeUnretainedValue().take(socket.pointee)
                    },
                    Unmanaged.passUnretained(listing).toOpaque(),
                    &fault
                )
            }
        }
        guard outcome != CNL_ANSWERED else { return }
        let name = ipProtocol == UInt8(IPPROTO_TCP) ? "TCP" : "UDP"
        throw ReachabilityError("list the \(name) sockets", fault)
    }
}
