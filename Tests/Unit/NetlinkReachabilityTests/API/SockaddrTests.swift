// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import RoutingModel
import Testing

struct SockaddrTests {
    /// Reads a target out of exactly these bytes, at an address that is not aligned when asked to.
    private func target(_ bytes: [UInt8], offset: Int = 0) throws(ReachabilityError) -> ReachabilityTarget {
        let area = UnsafeMutableRawPointer.allocate(byteCount: max(1, bytes.count + offset), alignment: 16)
        defer { area.deallocate() }
        let place = area + offset
        bytes.withUnsafeBytes {
            if let base = $0.baseAddress { place.copyMemory(from: base, byteCount: $0.count) }
        }
        // Unaligned on purpose: the reader must not expect alignment.
        return try .sockaddr(place.assumingMemoryBound(to: sockaddr.self), length: socklen_t(bytes.count))
    }

    private func bytes<Value>(of value: Value) -> [UInt8] {
        withUnsafeBytes(of: value) { Array($0) }
    }

    private var ipv4: [UInt8] {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(443).bigEndian
        address.sin_addr.s_addr = UInt32(0xc633_6407).bigEndian
        return bytes(of: address)
    }

    private func ipv6(_ last: [UInt8] = [0xfe, 0x80] + Array(repeating: 0, count: 13) + [1], zone: UInt32)
        -> [UInt8]
    {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = UInt16(443).bigEndian
        address.sin6_flowinfo = 0xffff_ffff
        address.sin6_scope_id = zone
        withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: last) }
        return bytes(of: address)
    }

    @Test func `an IPv4 address is read, and the port ignored`() throws {
        #expect(try target(ipv4) == .address(remote))
    }

    @Test func `an IPv6 address is read with its zone`() throws {
        #expect(try target(ipv6(zone: 0)) == .address(address("fe80::1")))
        #expect(try target(ipv6(zone: 3)) == .address(address("fe80::1%3")))
        #expect(try target(ipv6(zone: .max)).description == "fe80::1%4294967295")
    }

    @Test(arguments: 1...7) func `unaligned memory is read`(offset: Int) throws {
        #expect(try target(ipv4, offset: offset) == .address(remote))
        #expect(try target(ipv6(zone: 3), offset: offset) == .address(address("fe80::1%3")))
    }

    @Test func `zero addresses are the default path`() throws {
        var zero = sockaddr_in()
        zero.sin_family = sa_family_t(AF_INET)
        #expect(try target(bytes(of: zero)) == .defaultPath)
        #expect(try target(ipv6(Array(repeating: 0, count: 16), zone: 0)) == .defaultPath)
    }

    @Test(arguments: 0...130) func `a length is enough or is refused, and never read beyond`(length: Int)
        throws
    {
        for (whole, size) in [(ipv4, 16), (ipv6(zone: 3), 28)] {
            let cut = Array((whole + Array(repeating: 0xee, count: 130)).prefix(length))
            if length >= size {
                #expect(try target(cut) == target(whole))
                continue
            }
            let error = #expect(throws: ReachabilityError.self) { try target(cut) }
            #expect(error?.code == .invalidAddress)
            #expect(error?.description.hasPrefix("\(length) bytes are too few") == true)
            #expect(error?.description.contains(length < 2 ? "16" : "\(size)") == true)
        }
    }

    @Test func `every other family is refused by its number`() throws {
        for family in UInt16.min...UInt16.max where Int32(family) != AF_INET && Int32(family) != AF_INET6 {
            var bytes = [UInt8](repeating: 0xee, count: 28)
            bytes.withUnsafeMutableBytes { $0.storeBytes(of: family, as: UInt16.self) }
            do throws(ReachabilityError) {
                _ = try target(bytes)
                Issue.record("family \(family) was taken")
            } catch {
                guard error.code == .unsupportedFamily, error.description.contains("family \(family) ") else {
                    Issue.record("family \(family): \(error)")
                    continue
                }
            }
        }
    }

    @Test func `a sockaddr_storage is read`() throws {
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { $0.copyBytes(from: ipv4) }
        #expect(try target(bytes(of: storage)) == .address(remote))
    }

    @Test func `a handle is made from a sockaddr`() throws {
        var loopback = sockaddr_in()
        loopback.sin_family = sa_family_t(AF_INET)
        loopback.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let target = try withUnsafePointer(to: loopback) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                try NetworkReachability(
                    target: .sockaddr($0, length: socklen_t(MemoryLayout<sockaddr_in>.size))
                )
                .target
            }
        }
        #expect(target == .address(.loopbackV4))
    }

    // MARK: To a socket address

    /// The bytes of the socket address.
    private func sockaddrBytes(of address: IPAddress, port: UInt16 = 443) throws -> [UInt8] {
        try address.withSockaddr(port: port) {
            Array(UnsafeRawBufferPointer(start: $0, count: Int($1)))
        }
    }

    @Test func `a socket address has the bytes of an IPv4 address and its port`() throws {
        #expect(try sockaddrBytes(of: IPAddress(198, 51, 100, 7)) == ipv4)
    }

    @Test(arguments: ["192.0.2.1", "255.255.255.255", "::1", "2001:db8::7", "::ffff:192.0.2.1", "fe80::1%3"])
    func `an address that becomes a socket address reads back`(text: String) throws {
        let address = try #require(IPAddress(text))
        let read = try address.withSockaddr(port: 1) { try IPAddress(sockaddr: $0, length: $1) }
        #expect(read == address)
    }

    @Test func `a zone that is an index is passed on without an interface of it`() throws {
        let read = try address("fe80::1%4294967295").withSockaddr(port: 0) {
            try IPAddress(sockaddr: $0, length: $1)
        }
        #expect(read.zone?.index == .max)
    }

    @Test func `a zone that is a name becomes the index of the interface`() throws {
        let read = try address("fe80::1%lo").withSockaddr(port: 0) {
            try IPAddress(sockaddr: $0, length: $1)
        }
        #expect(read.zone?.index == if_nametoindex("lo"))
    }

    @Test func `a zone whose name no interface has is an error`() throws {
        let error = #expect(throws: ReachabilityError.self) {
            try address("fe80::1%nosuchname").withSockaddr(port: 0) { _, _ in Issue.record("was called") }
        }
        #expect(error?.code == .systemFailure)
        #expect(error?.number == ENODEV)
    }

    @Test func `a zone of an IPv4 address is left out`() throws {
        let read = try address("127.0.0.1%nosuchname").withSockaddr(port: 0) {
            try IPAddress(sockaddr: $0, length: $1)
        }
        #expect(read == .loopbackV4)
    }

    @Test func `a socket address has the bytes of an IPv6 address, its port and its zone`() throws {
        var expected = ipv6(zone: 3)
        // The flow label, which the fixture has set.
        expected.replaceSubrange(4..<8, with: [0, 0, 0, 0])
        #expect(try sockaddrBytes(of: address("fe80::1%3")) == expected)
    }
}
