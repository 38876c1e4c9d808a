// SPDX-License-Identifier: Apache-2.0

import Glibc
import RoutingModel
import Testing

@testable import NetlinkReachability

struct EventSocketTests {
    /// Whether this process may write to another netlink port, which takes CAP_NET_ADMIN.
    static let maySpoof: Bool = {
        guard let spoofer = try? Spoofer() else { return false }
        return spoofer.send(to: spoofer.port) == 0
    }()

    /// A netlink socket that writes to other processes' ports.
    final class Spoofer {
        struct Failure: Error {}

        let descriptor: Int32
        let port: UInt32

        init() throws {
            descriptor = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else { throw Failure() }
            port = bindNetlink(descriptor)
            guard port != 0 else { throw Failure() }
        }

        deinit {
            close(descriptor)
        }

        /// Sends a false message about an interface; returns 0 or an errno.
        func send(to port: UInt32, _ message: [UInt8] = MessageBytes.link(index: 1).bytes) -> Int32 {
            var target = netlinkAddress(port: port)
            let sent = target.withUnsafeMutableBytes { bytes in
                bytes.withMemoryRebound(to: sockaddr.self) { target in
                    message.withUnsafeBytes {
                        sendto(
                            descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT), target.baseAddress, 12)
                    }
                }
            }
            return sent == message.count ? 0 : errno
        }
    }

    @Test(arguments: EventGroup.monitored + [.neighbour])
    func `every group is joined without privilege, or unknown to the kernel`(group: EventGroup) throws {
        let socket = try EventSocket()
        let isJoined = try socket.join(group)
        #expect(isJoined || group == .nexthop)
        #expect(socket.descriptor >= 0)
    }

    @Test func `an unjoined socket is empty and does not wait`() throws {
        var socket = try EventSocket()
        let reading = try socket.receive { _ in Issue.record("there is a message") }
        let counters = socket.counters
        #expect(reading == .empty)
        #expect(counters == FeedCounters())
    }

    /// The kernel reports of a notification that it could not queue what went wrong, once.
    ///
    /// A socket that gets an ICMP error does so, too.
    @Test func `an error that the socket reports once is a loss, and reading goes on`() throws {
        var events = try EventSocket()
        let sender = socket(
            AF_INET,
            Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        defer { close(sender) }
        var closed = sockaddr_in()
        closed.sin_family = sa_family_t(AF_INET)
        closed.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        // A port that is free: a socket has had it.
        closed.sin_port = try Self.freePort().bigEndian
        let isSent = withUnsafeBytes(of: &closed) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) {
                connect(sender, $0.baseAddress, 16) == 0 && send(sender, "x", 1, 0) == 1
            }
        }
        try #require(isSent && dup2(sender, events.descriptor) >= 0)
        let readings = [try events.receive { _ in }, try events.receive { _ in }]
        let counters = events.counters
        #expect(readings == [.overrun, .empty] && counters.overruns == 1)
    }

    @Test func `an error that stays is the end of the socket`() throws {
        var events = try EventSocket()
        // It is not connected, and says so whenever it is read.
        let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(other) }
        try #require(dup2(other, events.descriptor) >= 0)
        var losses = 0
        var found: ReachabilityError?
        while found == nil, losses < 1_000 {
            do throws(ReachabilityError) {
                let reading = try events.receive { _ in }
                #expect(reading == .overrun)
                losses += 1
            } catch {
                found = error
            }
        }
        #expect(found?.number == ENOTCONN && losses == 16)
    }

    private static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(16)
        let isBound = withUnsafeMutableBytes(of: &address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) {
                bind(descriptor, $0.baseAddress, length) == 0
                    && getsockname(descriptor, $0.baseAddress, &length) == 0
            }
        }
        try #require(isBound)
        return UInt16(bigEndian: address.sin_port)
    }

    @Test func `the buffer is read back as the kernel counts it`() throws {
        let socket = try EventSocket()
        let small = try socket.setBuffer(bytes: 8_192)
        #expect(small.effective == 16_384)
        let large = try socket.setBuffer(bytes: 1_048_576)
        #expect(large.effective > small.effective)
        #expect(!large.isForced || large.effective == 2_097_152)
    }

    @Test func `a refused nexthop group loses nothing where the kernel has no nexthop objects`() {
        for number in [EINVAL, EOPNOTSUPP] {
            let error = ReachabilityError(operation: "join the group", number: number)
            #expect(EventGroup.nexthop.isUnknown(error))
            #expect(!EventGroup.ipv4Route.isUnknown(error))
        }
        #expect(!EventGroup.nexthop.isUnknown(ReachabilityError(operation: "join the group", number: EPERM)))
    }

    @Test(.enabled(if: maySpoof, "writing to another netlink port needs CAP_NET_ADMIN"))
    func `datagrams of other processes are dropped and counted`() throws {
        var events = try EventSocket()
        let spoofer = try Spoofer()
        let port = netlinkPort(of: events.descriptor)
        for _ in 0..<3 { #expect(spoofer.send(to: port) == 0) }
        for _ in 0..<3 {
            let reading = try events.receive { _ in Issue.record("a foreign message was read") }
            #expect(reading == .changes)
        }
        let reading = try events.receive { _ in Issue.record("there is a message") }
        let counters = events.counters
        #expect(reading == .empty)
        var expected = FeedCounters()
        expected.spoofed = 3
        #expect(counters == expected)
    }

    @Test(.enabled(if: maySpoof, "writing to another netlink port needs CAP_NET_ADMIN"))
    func `the kernel refuses datagrams of other processes to a request socket`() throws {
        var query = try QuerySocket()
        let spoofer = try Spoofer()
        var port: UInt32 = 0
        // An answer names the port of the requester.
        _ = try query.dump(DumpRequest(.links)) { message in
            port = message.bytes.loadUnaligned(fromByteOffset: 12, as: UInt32.self)
        }
        for round in 0..<20 {
            // An answer to the next request by its sequence number and port, with a false index.
            var lie = MessageBytes.link(index: 99).adding(3, Array("spoofed\0".utf8)).bytes
            lie.replaceSubrange(
                8..<16, with: MessageBytes.bytes(of: UInt32(round + 2)) + MessageBytes.bytes(of: port))
            #expect(spoofer.send(to: port, lie) == ECONNREFUSED)
            let link = try query.link(index: 1)
            #expect(link?.index == 1)
        }
    }
}

/// A `sockaddr_nl`, which Glibc's module does not import.
private func netlinkAddress(port: UInt32) -> [UInt32] {
    [UInt32(AF_NETLINK), port, 0]
}

/// Binds a netlink socket to a port of the kernel's choice, and returns it; 0 when that fails.
private func bindNetlink(_ descriptor: Int32) -> UInt32 {
    var own = netlinkAddress(port: 0)
    let status = own.withUnsafeMutableBytes { bytes in
        bytes.withMemoryRebound(to: sockaddr.self) { bind(descriptor, $0.baseAddress, 12) }
    }
    return status == 0 ? netlinkPort(of: descriptor) : 0
}

/// The port that a netlink socket is bound to.
private func netlinkPort(of descriptor: Int32) -> UInt32 {
    var own = netlinkAddress(port: 0)
    var length: socklen_t = 12
    let status = own.withUnsafeMutableBytes { bytes in
        bytes.withMemoryRebound(to: sockaddr.self) { getsockname(descriptor, $0.baseAddress, &length) }
    }
    return status == 0 ? own[1] : 0
}
