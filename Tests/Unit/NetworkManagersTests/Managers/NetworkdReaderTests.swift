// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Testing

@testable import NetworkManagers

struct NetworkdReaderTests {
    private let host = HostInterfaces(byName: ["eth0": .init(index: 2, hardwareAddress: [2, 0, 0, 0, 0, 1])])

    private func eth0(_ members: String) throws -> ManagedInterface? {
        let text =
            #"{"Interfaces": [{"Index": 2, "Name": "eth0", "NetworkFile": "/etc/a.network"\#(members)}]}"#
        let description = try Varlink.decode(Array(text.utf8))
        return try NetworkdReader.reading(of: description, host).interfaces[2]
    }

    @Test func `a file is the connection`() throws {
        #expect(try eth0("")?.connection == .known(.init(name: "/etc/a.network"), .networkd))
        #expect(try eth0(#", "SSID": "home""#)?.connection.value?.ssid == Array("home".utf8))
    }

    @Test func `it says nothing of costs and connectivity`() throws {
        #expect(try eth0("")?.metering == .unknown)
        #expect(try eth0("")?.connectivity == .unknown)
    }

    @Test func `a portal and prefixes of NAT64 are unknown where they are not announced`() throws {
        #expect(try eth0("")?.captivePortal == .unknown)
        #expect(try eth0("")?.nat64Prefixes == .unknown)
        #expect(try eth0(#", "NDisc": {}"#)?.nat64Prefixes == .unknown)
        let prefix = #"{"Prefix": [0,100,255,155,0,0,0,0,0,0,0,0,0,0,0,0], "PrefixLength": 96}"#
        let interface = try eth0(
            #", "CaptivePortal": "https://a.example", "NDisc": {"PREF64": [\#(prefix)]}"#)
        #expect(interface?.captivePortal == .known("https://a.example", .networkd))
        #expect(interface?.nat64Prefixes == .known(["64:ff9b::/96"], .networkd))
    }

    @Test func `an interface that it does not manage is left out`() throws {
        let text = #"{"Interfaces": [{"Index": 2, "Name": "eth0"}]}"#
        let description = try Varlink.decode(Array(text.utf8))
        #expect(try NetworkdReader.reading(of: description, host).interfaces.isEmpty)
    }

    @Test(arguments: [#""Index": 2, "HardwareAddress": [2,0,0,0,0,2]"#, #""Index": 3"#])
    func `an interface of another namespace is left out`(other: String) throws {
        let text = #"{"Interfaces": [{"Name": "eth0", "NetworkFile": "a", \#(other)}]}"#
        let description = try Varlink.decode(Array(text.utf8))
        #expect(try NetworkdReader.reading(of: description, host).interfaces.isEmpty)
    }

    @Test(arguments: [(#"{"Interfaces": 7}"#, "type"), ("7", "type"), ("", "form"), (#"{"a":"#, "form")])
    func `text that is not a description is an error in words`(text: String, reason: String) {
        let error = #expect(throws: ManagerError.self) {
            try NetworkdReader.reading(of: try Varlink.decode(Array(text.utf8)), host)
        }
        #expect(error?.state.description.hasPrefix("refused: an answer of another \(reason)") == true)
    }
}

extension NetworkdReaderTests {
    /// One of them was an error, with which nothing was known of any interface.
    @Test(
        arguments: [
            ("DNS", #""DNS": 7"#), ("DNS", #""DNS": [{"Address": [192,0,2]}, {"Address": [192,0,2,53]}]"#),
            ("DNS", #""DNS": [{"Address": [192,0,2,300]}, {"Address": [192,0,2,53]}]"#),
            (
                "PREF64",
                #""NDisc": {"PREF64": [{"Prefix": [0,100,255,155,0,0,0,0,0,0,0,0,0,0,0,0], "PrefixLength": -1}]}"#
            ),
            ("NDisc", #""NDisc": []"#), ("SSID", #""SSID": {}"#), ("NetworkFile", #""NetworkFile": 7"#),
            ("SearchDomains", #""SearchDomains": [{"Domain": 7}]"#),
            ("CaptivePortal", #""CaptivePortal": [1]"#),
            ("HardwareAddress", #""HardwareAddress": "02:00""#),
        ])
    func `a value that is not understood is left out and named, and others are read`(
        name: String, member: String
    )
        throws
    {
        let file = name == "NetworkFile" ? "" : #", "NetworkFile": "a""#
        let text = #"""
            {"Interfaces": [{"Index": 1099511627776, "Name": "eth1", "NetworkFile": "b"},
              {"Index": 2, "Name": "eth0", "RouteDomains": [{"Domain": "b.example"}]\#(file), \#(member)}]}
            """#
        let description = try Varlink.decode(Array(text.utf8))
        let reading = try NetworkdReader.reading(of: description, host)
        #expect(reading.interfaces[2]?.domains.value == [.init(name: "b.example", isRouteOnly: true)])
        #expect(reading.interfaces[2]?.nameservers.value == (member.contains("53") ? ["192.0.2.53"] : []))
        #expect(reading.oddities == ["an interface", "eth0: \(name)"])
        #expect(ManagerFacts([(.networkd, reading)]).oddities == [.networkd: reading.oddities])
    }
}

struct ResolvedReaderTests {
    private let host = HostInterfaces(byName: ["eth0": .init(index: 2, hardwareAddress: [])])

    @Test func `a dump and the properties of the bus say the same`() throws {
        let text = #"""
            {"configuration": [
              {"servers": [{"address": [198,51,100,9], "family": 2, "port": 53}]},
              {"ifname": "eth0", "ifindex": 2, "servers": [{"address": [192,0,2,53], "family": 2, "port": 53}],
               "searchDomains": [{"name": "a.example", "routeOnly": true}]},
              {"ifname": "eth1", "ifindex": 3, "servers": [{"address": [192,0,2,54], "family": 2, "port": 53}]},
              {"ifname": "eth0", "ifindex": 4, "servers": [{"address": [192,0,2,55], "family": 2, "port": 53}]}]}
            """#
        let dump = try ResolvedReader.reading(ofDump: try Varlink.decode(Array(text.utf8)), host)
        let properties = try ResolvedReader.reading(
            of: .dictionary([
                "DNS": .list([
                    .list([.number(0), .number(2), .bytes([198, 51, 100, 9])]),
                    .list([.number(2), .number(2), .bytes([192, 0, 2, 53])]),
                    .list([.number(2), .number(2), .bytes([1])]),
                    .list([.number(3)]),
                ]),
                "Domains": .list([.list([.number(2), .text("a.example"), .number(1)])]),
            ]), host)
        #expect(dump.interfaces == properties.interfaces)
        #expect(dump.interfaces.count == 1)
        #expect(dump.interfaces[2]?.nameservers == .known(["192.0.2.53"], .resolved))
        #expect(dump.interfaces[2]?.domains.value == [.init(name: "a.example", isRouteOnly: true)])
    }

    @Test func `an odd value is left out and named, and an answer of another type is none`() throws {
        let text = #"""
            {"configuration": [{"ifname": "eth1", "ifindex": -1}, {"ifname": "eth0", "ifindex": 2,
              "servers": [{"address": [1,2,3]}, {"address": [192,0,2,53]}], "searchDomains": 7}]}
            """#
        let dump = try ResolvedReader.reading(ofDump: try Varlink.decode(Array(text.utf8)), host)
        #expect(dump.interfaces[2]?.nameservers.value == ["192.0.2.53"])
        #expect(dump.oddities == ["an interface", "eth0: servers", "eth0: searchDomains"])
        let server = BusValue.list([.number(2), .number(2), .bytes([192, 0, 2, 53])])
        let properties = try ResolvedReader.reading(
            of: .dictionary([
                "DNS": .list([server, .list([.number(-1), .number(2), .bytes([192, 0, 2, 53])])]),
                "Domains": .number(1),
            ]), host)
        #expect(properties.interfaces[2]?.nameservers.value == ["192.0.2.53"])
        #expect(Set(properties.oddities) == ["DNS", "Domains"])
        #expect(throws: ManagerError.self) { try ResolvedReader.reading(of: .list([]), host) }
        #expect(throws: ManagerError.self) { try ResolvedReader.reading(of: nil, host) }
    }
}
