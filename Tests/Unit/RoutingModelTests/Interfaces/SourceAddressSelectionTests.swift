// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

/// RFC 6724, section 5, one rule at a time, each with a case that the rules before it do not decide.
struct SourceAddressSelectionTests {
    private static func own(
        _ text: String,
        length: UInt8 = 64,
        dev index: UInt32 = 2,
        _ flags: InterfaceAddressFlags = []
    ) -> InterfaceAddress {
        let address = IPAddress(text) ?? .anyV6
        return InterfaceAddress(interfaceIndex: index, address: address, prefixLength: length, flags: flags)
    }

    private static func candidates(
        _ destination: String,
        _ addresses: [InterfaceAddress],
        dev index: UInt32 = 0
    ) -> [String] {
        SourceAddressSelection.candidates(
            for: IPAddress(destination) ?? .anyV6, among: addresses, outgoingInterface: index
        ).map(\.description)
    }

    private static let loopback = own("::1", length: 128, dev: 1)

    @Test func `the destination itself is its own source`() {
        let addresses = [Self.own("2001:db8::1"), Self.own("2001:db8::2", [.deprecated])]
        #expect(Self.candidates("2001:db8::2", addresses) == ["2001:db8::2"])
    }

    @Test func `an address of the destination's scope comes before a smaller and a larger scope`() {
        let addresses = [Self.loopback, Self.own("fe80::1"), Self.own("fec0::1"), Self.own("2001:db8::1")]
        #expect(Self.candidates("2001:4860::1", addresses) == ["2001:db8::1"])
        #expect(Self.candidates("fec0::9", addresses) == ["fec0::1"])
        #expect(Self.candidates("fe80::9", addresses, dev: 2) == ["fe80::1"])
        #expect(Self.candidates("ff02::fb", addresses, dev: 2) == ["fe80::1"])
        #expect(Self.candidates("ff0e::1", addresses) == ["2001:db8::1"])
    }

    @Test func `a deprecated or optimistic address comes after another of its scope`() {
        for flag in [InterfaceAddressFlags.deprecated, .optimistic] {
            let addresses = [Self.own("2001:db8:9::1", flag), Self.own("2001:db8:1::1")]
            #expect(Self.candidates("2001:db8:9::9", addresses) == ["2001:db8:1::1"])
            #expect(Self.candidates("2001:db8:9::9", [addresses[0]]) == ["2001:db8:9::1"])
        }
    }

    @Test func `a tentative address is not a source, an optimistic one is`() {
        #expect(Self.candidates("2001:db8::9", [Self.own("2001:db8::1", [.tentative])]) == [])
        let optimistic = Self.own("2001:db8::1", [.tentative, .optimistic])
        #expect(Self.candidates("2001:db8::9", [optimistic]) == ["2001:db8::1"])
    }

    /// An address of another interface was selected.
    @Test func `with use_oif_addrs_only an address of the outgoing interface is the source, or none`() {
        func candidates(dev index: UInt32) -> [String] {
            let addresses = [Self.own("2001:db8:1::1", dev: 2), Self.own("fe80::3", dev: 3)]
            return SourceAddressSelection.candidates(
                for: IPAddress("2001:db8:2::9") ?? .anyV6, among: addresses, outgoingInterface: index,
                onInterfaceAlone: true
            ).map(\.description)
        }
        #expect(candidates(dev: 2) == ["2001:db8:1::1"])
        #expect(candidates(dev: 3) == ["fe80::3"])
        #expect(candidates(dev: 4) == [])
    }

    @Test func `the outgoing interface decides only where it is known`() {
        let addresses = [Self.own("2001:db8:1::1", dev: 2), Self.own("2001:db8:2::1", dev: 3)]
        #expect(Self.candidates("2001:db8:1::9", addresses) == ["2001:db8:1::1"])
        #expect(Self.candidates("2001:db8:1::9", addresses, dev: 3) == ["2001:db8:2::1"])
    }

    @Test(arguments: [
        ("fd00:2::9", "fd00:1::1"), ("2002:c000:201::9", "2002:1::1"), ("2001:0:9::1", "2001:0:1::1"),
        ("2001:10:9::1", "2001:10::1"), ("2001:4860::1", "2001:db8::1"), ("2600::1", "2001:db8::1"),
        ("3ffe:9::1", "3ffe:1::1"),
    ])
    func `the label of the policy table comes before the longest prefix`(destination: String, source: String)
    {
        let addresses = ["2001:db8::1", "fd00:1::1", "2002:1::1", "2001:0:1::1", "2001:10::1", "3ffe:1::1"]
            .map {
                Self.own($0)
            }
        #expect(Self.candidates(destination, addresses) == [source])
    }

    @Test func `of a public and a temporary address both are candidates, for the preference is unknown`() {
        let addresses = [
            Self.own("2001:db8::1"), Self.own("2001:db8::ff1", [.secondary]), Self.own("2001:db8:9::1"),
        ]
        #expect(Self.candidates("2001:db8::9", addresses) == ["2001:db8::1", "2001:db8::ff1"])
    }

    @Test func `the longest common prefix decides, at most the length of the address's own prefix`() {
        let addresses = [Self.own("2001:db8:1::1"), Self.own("2001:db8:2::1")]
        #expect(Self.candidates("2001:db8:2:ff::9", addresses) == ["2001:db8:2::1"])
        let short = [Self.own("2001:db8:1::1", length: 16), Self.own("2001:db8:2::1", length: 16)]
        #expect(Self.candidates("2001:db8:2:ff::9", short) == ["2001:db8:1::1", "2001:db8:2::1"])
    }

    @Test func `addresses that no rule distinguishes are all candidates, each once`() {
        let addresses = [
            Self.own("2001:db8::1"), Self.own("2001:db8::2", dev: 3), Self.own("2001:db8::1", dev: 4),
        ]
        #expect(Self.candidates("2600::1", addresses) == ["2001:db8::1", "2001:db8::2"])
    }

    @Test func `a host without an IPv6 address has no source`() {
        let ipv4 = InterfaceAddress(
            interfaceIndex: 2, address: IPAddress(192, 0, 2, 2), prefixLength: 24)
        #expect(Self.candidates("2001:db8::9", [ipv4]) == [])
    }

    @Test func `only the loopback address is left when nothing else has an address`() {
        #expect(Self.candidates("2001:db8::9", [Self.loopback]) == ["::1"])
    }
}
