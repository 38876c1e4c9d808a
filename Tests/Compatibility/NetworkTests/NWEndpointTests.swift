// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LinuxNetwork
import Testing

struct NWEndpointTests {
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
        #expect(
            IPv6Address("fc00::1")?.isUniqueLocal == true && IPv6Address("fd12::1")?.isUniqueLocal == true)
        #expect(IPv6Address("fe80::1")?.isUniqueLocal == false)
        #expect(IPv6Address("::ffff:192.0.2.1")?.asIPv4 == IPv4Address("192.0.2.1"))
        #expect(IPv6Address("2001:db8::1")?.asIPv4 == nil)
    }

    @Test func `addresses have bytes in network order`() throws {
        let address = try #require(IPv4Address("192.0.2.1"))
        #expect(address.rawValue == Data([192, 0, 2, 1]))
        #expect(IPv4Address(Data([192, 0, 2, 1])) == address)
        #expect(IPv4Address(Data(repeating: 0, count: 16)) == nil)
        #expect(IPv6Address.loopback.rawValue == Data(repeating: 0, count: 15) + [1])
        #expect(IPv6Address(IPv6Address.linkLocalNodes.rawValue) == .linkLocalNodes)
        #expect(IPv6Address(Data([192, 0, 2, 1])) == nil)
        #expect(IPv6Address(Data()) == nil)
    }

    @Test func `addresses of both families are values of the protocol`() throws {
        let addresses: [any LinuxNetwork.IPAddress] = [IPv4Address.loopback, IPv6Address.loopback]
        #expect(addresses.map(\.rawValue.count) == [4, 16])
        #expect(
            addresses.allSatisfy {
                $0.isLoopback && !$0.isLinkLocal && !$0.isMulticast && $0.interface == nil
            })
        #expect(addresses.map { "\($0)" } == ["127.0.0.1", "::1"])
    }

    @Test(arguments: [("127.1", "127.0.0.1"), ("0x7f.1", "127.0.0.1"), ("2130706433", "127.0.0.1")])
    func `the short forms of IPv4 are read`(text: String, meaning: String) throws {
        #expect(IPv4Address(text) == IPv4Address(meaning))
        #expect(NWEndpoint.Host(text) == NWEndpoint.Host(meaning))
    }

    @Test func `a zone is an interface of this host`() throws {
        let address = try #require(IPv6Address("::1%lo"))
        let interface = try #require(address.interface)
        #expect((interface.name, interface.type) == ("lo", .loopback))
        #expect(address.isLoopback && address != .loopback)
        #expect("\(address)" == "::1%lo")
        #expect(NWEndpoint.Host("::1%lo").interface == interface)
        #expect(IPv6Address("::1%\(interface.index)") == address)
        #expect(IPv4Address("127.0.0.1%lo")?.interface == interface)
        #expect(IPv6Address(IPv6Address.loopback.rawValue, interface) == address)
        #expect(NWEndpoint.Host("example.com%lo") == .name("example.com", interface))
        #expect("\(NWEndpoint.Host("example.com%lo"))" == "example.com%lo")
    }

    @Test func `a zone without an interface is not an address`() {
        #expect(IPv6Address("fe80::1%nosuch0") == nil)
        #expect(IPv4Address("127.0.0.1%nosuch0") == nil)
        #expect(NWEndpoint.Host("fe80::1%nosuch0") == .name("fe80::1%nosuch0", nil))
        #expect(NWEndpoint.Host("example.com%") == .name("example.com%", nil))
    }

    @Test func `an IPv6 address can hold an IPv4 address`() throws {
        let mapped = try #require(IPv6Address("::ffff:1.2.3.4"))
        #expect(mapped.isIPv4Mapped && !mapped.isIPv4Compatabile)
        #expect(mapped.asIPv4 == IPv4Address("1.2.3.4"))
        #expect(NWEndpoint.Host("::ffff:1.2.3.4") == NWEndpoint.Host("1.2.3.4"))
        let compatible = try #require(IPv6Address("::1.2.3.4"))
        #expect(compatible.isIPv4Compatabile && !compatible.isIPv4Mapped)
        #expect(compatible.asIPv4 == IPv4Address("1.2.3.4"))
        #expect(!IPv6Address.any.isIPv4Compatabile && !IPv6Address.loopback.isIPv4Compatabile)
        #expect(IPv6Address("::ffff:127.0.0.1%lo")?.asIPv4?.interface?.name == "lo")
    }

    @Test func `multicast addresses have scopes`() {
        #expect(IPv6Address("ff02::1")?.multicastScope == .linkLocal)
        #expect(IPv6Address("ff0e::1")?.multicastScope == .global)
        #expect(IPv6Address("ff03::1")?.multicastScope == nil)
        #expect(IPv6Address("fe80::1")?.multicastScope == nil)
        #expect(IPv6Address.nodeLocalNodes.multicastScope == .nodeLocal)
        #expect(IPv6Address("2002::1")?.is6to4 == true)
        #expect(IPv6Address("2003::1")?.is6to4 == false)
    }

    @Test func `well-known addresses have names`() {
        let groups: [IPv4Address] = [.allHostsGroup, .allRoutersGroup, .allReportsGroup, .mdnsGroup]
        #expect(groups.map { "\($0)" } == ["224.0.0.1", "224.0.0.2", "224.0.0.22", "224.0.0.251"])
        #expect(groups.allSatisfy { $0.isMulticast })
        let nodes: [IPv6Address] = [.nodeLocalNodes, .linkLocalNodes, .linkLocalRouters, .broadcast]
        #expect(nodes.map { "\($0)" } == ["ff01::1", "ff02::1", "ff02::2", "::"])
    }

    @Test func `a port is a number`() {
        #expect(NWEndpoint.Port("443") == .https)
        #expect(NWEndpoint.Port(rawValue: 80) == .http)
        #expect(NWEndpoint.Port("65536") == nil)
        #expect(NWEndpoint.Port("-1") == nil)
        #expect(NWEndpoint.Port("") == nil)
        #expect("\(NWEndpoint.Port.ssh)" == "22")
    }

    @Test(
        arguments: [
            ("ssh", 22), ("smtp", 25), ("http", 80), ("pop3", 110), ("imap", 143), ("https", 443),
            ("imaps", 993),
            ("socks", 1080),
        ] as [(String, NWEndpoint.Port)])
    func `a port can be read from a service's name`(name: String, port: NWEndpoint.Port) {
        #expect(NWEndpoint.Port(name) == port)
    }

    @Test func `a service that the system does not know has no port`() {
        #expect(NWEndpoint.Port("no-such-service") == nil)
    }

    @Test func `ports have names`() {
        let ports: [NWEndpoint.Port] = [.any, .ssh, .smtp, .http, .pop, .imap, .https, .imaps, .socks]
        #expect(ports.map(\.rawValue) == [0, 22, 25, 80, 110, 143, 443, 993, 1080])
    }

    @Test func `names, services, sockets and URLs have no interface of their own`() throws {
        #expect(NWEndpoint.hostPort(host: "www.example.com", port: .http).interface == nil)
        #expect(
            NWEndpoint.service(name: "p", type: "_ipp._tcp", domain: "local", interface: nil).interface == nil
        )
        #expect(NWEndpoint.unix(path: "/run/socket").interface == nil)
        #expect(NWEndpoint.url(try #require(URL(string: "https://example.com/"))).interface == nil)
        #expect(NWEndpoint.Host("127.0.0.1").interface == nil && NWEndpoint.Host("::1").interface == nil)
    }

    @Test func `endpoints have Apple's texts`() throws {
        let address = try #require(IPv6Address("2001:db8::1"))
        #expect("\(NWEndpoint.hostPort(host: .ipv6(address), port: 80))" == "2001:db8::1.80")
        #expect("\(NWEndpoint.hostPort(host: "example.com", port: 80))" == "example.com:80")
        #expect("\(NWEndpoint.unix(path: "/run/socket"))" == "/run/socket")
        let url = NWEndpoint.url(try #require(URL(string: "https://example.com/")))
        #expect("\(url)" == "https://example.com/")
        let service = NWEndpoint.service(name: "a", type: "_http._tcp", domain: "local", interface: nil)
        #expect("\(service)" == "a._http._tcp.local")
        #expect(service.interface == nil)
    }

    @Test func `a switch over Apple's five kinds of endpoint compiles`() {
        func kind(_ endpoint: NWEndpoint) -> String {
            switch endpoint {
            case .hostPort: "host"
            case .service: "service"
            case .unix: "socket"
            case .url: "URL"
            case .opaque: "opaque"
            }
        }
        #expect(kind(.unix(path: "/run/socket")) == "socket")
    }

    @Test func `socket addresses have lengths without SystemConfiguration`() {
        var address = sockaddr_in()
        address.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
        address.sin_family = sa_family_t(AF_INET)
        #expect(address.sin_len == 16)
    }
}
