// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import Testing

/// ``NetworkConnection`` of sockets on the loopback interface.
struct NetworkConnectionTests {
    /// A socket that is closed with this object.
    private final class Socket {
        let descriptor: Int32

        init(_ family: Int32, _ kind: __socket_type) {
            descriptor = socket(family, Int32(kind.rawValue | SOCK_CLOEXEC.rawValue), 0)
        }

        deinit {
            close(descriptor)
        }

        /// The port that the kernel gave the socket, in host byte order.
        var port: UInt16 {
            var storage = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            return withUnsafeMutablePointer(to: &storage) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    guard getsockname(descriptor, $0, &length) == 0 else { return 0 }
                    return UInt16(bigEndian: UnsafeRawPointer($0).load(fromByteOffset: 2, as: UInt16.self))
                }
            }
        }

        /// Calls bind(2) or connect(2) with an address and a port in host byte order.
        func call(
            _ address: String,
            _ port: UInt16,
            _ body: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
        ) -> Bool {
            if address.contains(":") {
                var value = sockaddr_in6()
                value.sin6_family = sa_family_t(AF_INET6)
                value.sin6_port = port.bigEndian
                inet_pton(AF_INET6, address, &value.sin6_addr)
                return withUnsafePointer(to: &value) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        body(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in6>.size)) == 0
                    }
                }
            }
            var value = sockaddr_in()
            value.sin_family = sa_family_t(AF_INET)
            value.sin_port = port.bigEndian
            inet_pton(AF_INET, address, &value.sin_addr)
            return withUnsafePointer(to: &value) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
        }
    }

    @Test(arguments: ["127.0.0.1", "::1"]) func `a TCP socket has the ends of its connection`(address: String)
        throws
    {
        let family = address == "::1" ? AF_INET6 : AF_INET
        let (server, client) = (Socket(family, SOCK_STREAM), Socket(family, SOCK_STREAM))
        try #require(server.call(address, 0, bind) && listen(server.descriptor, 1) == 0)
        try #require(client.call(address, server.port, connect))
        let connection = try NetworkConnection(fileDescriptor: client.descriptor)
        #expect(connection.transport == .tcp)
        #expect(connection.local == IPAddress(address))
        #expect(connection.remote == IPAddress(address))
        #expect(connection.localPort == client.port)
        #expect(connection.remotePort == server.port)
        #expect(connection.options.user == getuid())
        #expect(connection.interfaceIndex == 0)
        #expect(try NetworkSource.kernel.blockingValue(of: .status(of: connection)).state == .local)
    }

    @Test func `a mapped address is an IPv4 address`() throws {
        let client = Socket(AF_INET6, SOCK_DGRAM)
        try #require(client.call("::ffff:127.0.0.1", 7, connect))
        let connection = try NetworkConnection(fileDescriptor: client.descriptor)
        #expect(connection.transport == .udp)
        #expect(connection.local == .loopbackV4)
        #expect("\(connection)" == "udp 127.0.0.1:\(client.port) -> 127.0.0.1:7")
    }

    @Test func `the interface and the type of service are the socket's`() throws {
        let client = Socket(AF_INET, SOCK_DGRAM)
        var service: Int32 = 0x10
        setsockopt(client.descriptor, Int32(IPPROTO_IP), IP_TOS, &service, 4)
        let isBound = setsockopt(client.descriptor, SOL_SOCKET, SO_BINDTODEVICE, "lo", 2) == 0
        try #require(client.call("127.0.0.1", 7, connect))
        let connection = try NetworkConnection(fileDescriptor: client.descriptor)
        #expect(connection.options.typeOfService == 0x10)
        #expect(connection.interfaceIndex == (isBound ? 1 : 0))
    }

    @Test func `a socket that is not connected is an error that says so`() {
        let client = Socket(AF_INET, SOCK_STREAM)
        let error = #expect(throws: ReachabilityError.self) {
            try NetworkConnection(fileDescriptor: client.descriptor)
        }
        #expect(error?.number == ENOTCONN)
        #expect(error?.message.contains("the socket is not connected") == true)
    }

    @Test func `a socket of another family is an error`() {
        var pair: [Int32] = [0, 0]
        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair)
        defer { for descriptor in pair { close(descriptor) } }
        let error = #expect(throws: ReachabilityError.self) { try NetworkConnection(fileDescriptor: pair[0]) }
        #expect(error?.code == .unsupportedFamily)
        #expect(error?.message == "the socket's address family is 1: give a TCP or UDP socket")
    }

    @Test func `a descriptor that is not a socket is an error`() {
        let missing = #expect(throws: ReachabilityError.self) { try NetworkConnection(fileDescriptor: -1) }
        #expect(missing?.number == EBADF)
        let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        let error = #expect(throws: ReachabilityError.self) { try NetworkConnection(fileDescriptor: file) }
        #expect(error?.number == ENOTSOCK)
    }

    @Test(arguments: [("192.0.2.1", "2001:db8::1"), ("192.0.2.1", "0.0.0.0"), ("2001:db8::1", "::")])
    func `ends of two families, and a zero address of the other end, are refused`(
        local: String, remote: String
    ) throws {
        let (local, remote) = (try #require(IPAddress(local)), try #require(IPAddress(remote)))
        let error = #expect(throws: ReachabilityError.self) {
            try NetworkConnection(transport: .tcp, local: local, localPort: 1, remote: remote, remotePort: 2)
        }
        #expect(error?.code == .invalidAddress)
    }
}
