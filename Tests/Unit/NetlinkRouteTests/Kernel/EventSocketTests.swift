// SPDX-License-Identifier: Apache-2.0

import CNetlinkShim
import Glibc
import RoutingModel
import Testing

@testable import NetlinkRoute

struct EventSocketTests {
    /// Whether this process may write to another netlink port, which takes CAP_NET_ADMIN.
    static let maySpoof: Bool = {
        guard let spoofer = try? Spoofer() else { return false }
        return spoofer.send(to: spoofer.port) == 0
    }()

    /// A second netlink socket that writes to others.
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

        /// Sends a message that says loopback is gone; 0 or an errno.
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

    @Test("every group can be joined without privilege", arguments: EventGroup.allCases)
    func everyGroupCanBeJoined(group: EventGroup) throws {
        var socket = try EventSocket()
        try socket.join(group)
        // Nothing that happened before is queued; what happens meanwhile is none of this test.
        #expect(socket.descriptor >= 0)
        #expect(!group.description.isEmpty)
    }

    @Test func aGroupThatDoesNotExistIsRefusedWithItsErrno() throws {
        var fault = cnl_fault()
        let events = try #require(cnl_events_open(&fault))
        defer { cnl_events_close(events) }
        #expect(cnl_events_join(events, 4_096) == -EINVAL)
    }

    @Test func anUnjoinedSocketIsEmptyAndDoesNotWait() throws {
        var socket = try EventSocket()
        let reading = try socket.receive { _ in Issue.record("there is a message") }
        guard case .empty = reading else {
            Issue.record("\(reading)")
            return
        }
    }

    @Test func theBufferIsReadBackAsTheKernelCountsIt() throws {
        var socket = try EventSocket()
        let small = try socket.setBuffer(bytes: 8_192)
        #expect(small.effective == 16_384)
        let large = try socket.setBuffer(bytes: 1_048_576)
        #expect(large.effective > small.effective)
        #expect(!large.isForced || large.effective == 2_097_152)
    }

    @Test func aNewSocketCountsNothing() throws {
        var fault = cnl_fault()
        let events = try #require(cnl_events_open(&fault))
        defer { cnl_events_close(events) }
        let counters = cnl_events_read_counters(events)
        #expect(counters.messages == 0 && counters.overruns == 0 && counters.spoofed == 0)
        #expect(counters.truncated == 0 && counters.malformed == 0)
    }

    @Test(.enabled(if: maySpoof, "writing to another netlink port needs CAP_NET_ADMIN"))
    func whatAnotherProcessWritesIsDroppedAndCounted() throws {
        var fault = cnl_fault()
        let events = try #require(cnl_events_open(&fault))
        defer { cnl_events_close(events) }
        let spoofer = try Spoofer()
        let port = netlinkPort(of: cnl_events_descriptor(events))
        for _ in 0..<3 { #expect(spoofer.send(to: port) == 0) }
        var message = cnl_message(
            bytes: UnsafeRawPointer(events),
            length: 0,
            type: 0,
            flags: 0,
            sequence: 0,
            port: 0
        )
        for _ in 0..<3 {
            #expect(cnl_events_receive(events) == 1)
            #expect(!cnl_events_next(events, &message))
        }
        #expect(cnl_events_receive(events) == 0)
        let counters = cnl_events_read_counters(events)
        #expect(counters.spoofed == 3 && counters.messages == 0)
    }

    @Test(.enabled(if: maySpoof, "writing to another netlink port needs CAP_NET_ADMIN"))
    func theKernelTurnsStrangersAwayFromASocketForQuestions() throws {
        var fault = cnl_fault()
        let query = try #require(cnl_query_open(&fault))
        defer { cnl_query_close(query) }
        let spoofer = try Spoofer()
        let port = cnl_query_port(query)
        for round in 0..<20 {
            // An answer to the next question, with its very sequence number and port: it lies about the index.
            var lie = MessageBytes.link(index: 99).adding(3, Array("spoofed\0".utf8)).bytes
            lie.replaceSubrange(
                8..<16, with: MessageBytes.bytes(of: UInt32(round + 1)) + MessageBytes.bytes(of: port))
            #expect(spoofer.send(to: port, lie) == ECONNREFUSED)
            var link = cnl_link()
            #expect(cnl_query_link(query, 1, nil, &link, &fault) == CNL_ANSWERED)
            #expect(link.index == 1)
        }
    }
}

/// A `sockaddr_nl`, which Glibc's module does not show.
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
