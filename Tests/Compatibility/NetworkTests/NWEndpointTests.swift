// SPDX-License-Identifier: Apache-2.0

import Network
import Testing

@Suite struct NWEndpointTests {
    @Test func `a host's text is an address or a name`() throws {
        #expect(NWEndpoint.Host("192.0.2.1") == .ipv4(try #require(IPv4Address("192.0.2.1"))))
        #expect(NWEndpoint.Host("2001:db8::1") == .ipv6(try #require(IPv6Address("2001:db8::1"))))
        #expect(NWEndpoint.Host("example.com") == .name("example.com", nil))
    }

    @Test func `an address is read in its own family only`() {
        #expect(IPv4Address("::1") == nil)
        #expect(IPv4Address("192.0.2.256") == nil)
        #expect(IPv6Address("192.0.2.1") == nil)
        #expect(IPv6Address("example.com") == nil)
        #expect(IPv4Address("127.0.0.1") == .loopback)
        #expect(IPv6Address("::1") == .loopback)
    }

    @Test func `addresses know what they are`() throws {
        #expect(IPv4Address.loopback.isLoopback && !IPv4Address.any.isLoopback)
        #expect(IPv4Address("169.254.1.1")?.isLinkLocal == true)
        #expect(IPv4Address("224.0.0.251")?.isMulticast == true)
        #expect(IPv6Address.any.isAny && IPv6Address.loopback.isLoopback)
        #expect(IPv6Address("fe80::1")?.isLinkLocal == true)
        #expect(IPv6Address("ff02::1")?.isMulticast == true)
        #expect(IPv6Address("::ffff:192.0.2.1")?.asIPv4 == IPv4Address("192.0.2.1"))
        #expect(IPv6Address("2001:db8::1")?.asIPv4 == nil)
    }

    @Test func `a port is a number`() {
        #expect(NWEndpoint.Port("443") == .https)
        #expect(NWEndpoint.Port(rawValue: 80) == .http)
        #expect(NWEndpoint.Port("65536") == nil)
        #expect(NWEndpoint.Port("https") == nil)
        #expect("\(NWEndpoint.Port.ssh)" == "22")
    }

    @Test func `endpoints have Apple's texts`() throws {
        let address = try #require(IPv6Address("2001:db8::1"))
        #expect("\(NWEndpoint.hostPort(host: .ipv6(address), port: 80))" == "2001:db8::1.80")
        #expect("\(NWEndpoint.hostPort(host: "example.com", port: 80))" == "example.com:80")
        #expect("\(NWEndpoint.unix(path: "/run/socket"))" == "/run/socket")
        let service = NWEndpoint.service(name: "a", type: "_http._tcp", domain: "local", interface: nil)
        #expect("\(service)" == "a._http._tcp.local")
        #expect(service.interface == nil)
    }
}
