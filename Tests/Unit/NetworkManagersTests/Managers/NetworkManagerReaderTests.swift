// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Testing

@testable import NetworkManagers

struct NetworkManagerReaderTests {
    private let host = HostInterfaces(byName: [
        "eth0": .init(index: 2, hardwareAddress: [2, 0, 0, 0, 0, 1]),
        "ppp0": .init(index: 7, hardwareAddress: []),
    ])

    /// The properties of a device, and further objects.
    private func reading(
        _ device: [String: BusValue], _ objects: [String: [String: [String: BusValue]]] = [:]
    ) -> ManagerReading {
        var all = objects
        all["/org/freedesktop/NetworkManager"] = [
            NetworkManagerReader.busName: ["Version": .text("1.42.4"), "Metered": .number(1)]
        ]
        all["/device"] = ["org.freedesktop.NetworkManager.Device": device]
        let values = all.mapValues { BusValue.dictionary($0.mapValues { .dictionary($0) }) }
        return (try? NetworkManagerReader.reading(of: .dictionary(values), host)) ?? ManagerReading(.absent)
    }

    private func eth0(
        _ properties: [String: BusValue], _ objects: [String: [String: [String: BusValue]]] = [:]
    ) -> ManagedInterface? {
        reading(properties.merging(["Interface": .text("eth0")]) { own, _ in own }, objects).interfaces[2]
    }

    @Test func `the version is that of the manager`() {
        #expect(reading([:]).state == .answers(version: "1.42.4"))
    }

    @Test(
        arguments: [
            (0, nil), (1, .metered), (2, .unmetered), (3, .probablyMetered), (4, .probablyUnmetered),
            (5, nil),
        ] as [(Int64, ManagedInterface.Metering?)])
    func `the cost is that of the device, and its numbers are those of NMMetered`(
        number: Int64, expected: ManagedInterface.Metering?
    ) {
        #expect(eth0(["Metered": .number(number)])?.metering.value == expected)
    }

    @Test func `the connectivity is the better one of both families`() {
        let interface = eth0(["Ip4Connectivity": .number(2), "Ip6Connectivity": .number(1)])
        #expect(interface?.connectivity == .known(.portal, .networkManager))
        #expect(
            eth0(["Ip4Connectivity": .number(3), "Ip6Connectivity": .number(2)])?.connectivity.value
                == .portal)
        #expect(eth0(["Ip4Connectivity": .number(0)])?.connectivity == .unknown)
    }

    @Test func `a modem is known by the interface that packets take`() {
        let modem = reading([
            "Interface": .text("cdc-wdm0"), "IpInterface": .text("ppp0"), "HwAddress": .text(""),
            "Metered": .number(3),
        ])
        #expect(modem.interfaces[7]?.metering.value == .probablyMetered)
    }

    @Test func `an interface with another hardware address is one of another namespace`() {
        #expect(eth0(["HwAddress": .text("02:00:00:00:00:01"), "Metered": .number(1)]) != nil)
        #expect(eth0(["HwAddress": .text("02:00:00:00:00:02"), "Metered": .number(1)]) == nil)
    }

    @Test func `a connection has its name, its UUID and its wireless network`() {
        let interface = eth0(
            ["ActiveConnection": .text("/active")],
            [
                "/active": [
                    "org.freedesktop.NetworkManager.Connection.Active": [
                        "Id": .text("home"), "Uuid": .text("u"), "SpecificObject": .text("/point"),
                    ]
                ],
                "/point": ["org.freedesktop.NetworkManager.AccessPoint": ["Ssid": .bytes([0xFF, 0x41])]],
            ])
        #expect(
            interface?.connection
                == .known(.init(name: "home", uuid: "u", ssid: [0xFF, 0x41]), .networkManager))
    }

    @Test func `a device without a connection has none`() {
        #expect(eth0(["ActiveConnection": .text("/")])?.connection == .unknown)
        #expect(eth0(["Ip4Config": .text("/")])?.nameservers == .unknown)
    }

    @Test func `name servers of both families are listed, and each domain once`() {
        let interface = eth0(
            ["Ip4Config": .text("/4"), "Ip6Config": .text("/6")],
            [
                "/4": [
                    "org.freedesktop.NetworkManager.IP4Config": [
                        "NameserverData": .list([.dictionary(["address": .text("192.0.2.53")])]),
                        "Searches": .list([.text("a.example"), .text("~b.example")]),
                    ]
                ],
                "/6": [
                    "org.freedesktop.NetworkManager.IP6Config": [
                        "Nameservers": .list([
                            .bytes([0x20, 1, 0xD, 0xB8] + Array(repeating: 0, count: 11) + [1])
                        ]),
                        "Domains": .list([.text("a.example")]),
                    ]
                ],
            ])
        #expect(interface?.nameservers.value == ["192.0.2.53", "2001:db8::1"])
        #expect(
            interface?.domains.value == [
                .init(name: "a.example", isRouteOnly: false), .init(name: "b.example", isRouteOnly: true),
            ])
    }

    /// It was an answer without interfaces.
    @Test(arguments: [nil, .other, .text("x"), .list([])] as [BusValue?])
    func `an answer of another type is none`(answer: BusValue?) {
        let error = #expect(throws: ManagerError.self) { try NetworkManagerReader.reading(of: answer, host) }
        #expect(error?.state.description.hasPrefix("refused: an answer of another type") == true)
    }

    @Test func `a value of another type is left out and named, and others are read`() {
        let odd = reading(
            [
                "Interface": .text("eth0"), "Metered": .text("yes"), "Ip4Connectivity": .number(4),
                "Ip4Config": .text("/4"),
            ],
            [
                "/4": [
                    "org.freedesktop.NetworkManager.IP4Config": [
                        "NameserverData": .list([
                            .dictionary(["address": .text("192.0.2")]),
                            .dictionary(["address": .text("192.0.2.53")]),
                        ]),
                        "Searches": .number(7),
                    ]
                ]
            ])
        #expect(odd.interfaces[2]?.metering == .unknown)
        #expect(odd.interfaces[2]?.connectivity.value == .full)
        #expect(odd.interfaces[2]?.nameservers.value == ["192.0.2.53"])
        #expect(Set(odd.oddities) == ["eth0: Metered", "eth0: NameserverData", "eth0: Searches"])
        #expect(reading(["Interface": .number(1)]).interfaces.isEmpty)
    }

    /// The facts were those of both, of which a random one came last.
    @Test
    func
        `of devices with one name the one with a connection counts, then the one that works, then the newest`()
        throws
    {
        func cost(_ devices: [String: [String: BusValue]]) throws -> ManagedInterface.Metering? {
            let objects = devices.mapValues { device in
                BusValue.dictionary([
                    "org.freedesktop.NetworkManager.Device": .dictionary(
                        device.merging(["Interface": .text("eth0")]) { own, _ in own })
                ])
            }
            let values = try (0..<20).map { _ in
                try NetworkManagerReader.reading(of: .dictionary(objects), host).interfaces[2]?.metering.value
            }
            #expect(Set(values).count == 1)
            return values[0]
        }
        let (metered, unmetered) = (BusValue.number(1), BusValue.number(2))
        #expect(
            try cost([
                "/Devices/3": ["Metered": metered, "ActiveConnection": .text("/active")],
                "/Devices/9": ["Metered": unmetered, "ActiveConnection": .text("/"), "State": .number(100)],
            ]) == .metered)
        #expect(
            try cost([
                "/Devices/3": ["Metered": metered, "State": .number(100)],
                "/Devices/9": ["Metered": unmetered, "State": .number(120)],
            ]) == .metered)
        #expect(
            try cost(["/Devices/9": ["Metered": unmetered], "/Devices/10": ["Metered": metered]]) == .metered)
        // What the other one says is no part of it.
        #expect(try cost(["/Devices/9": ["Metered": unmetered], "/Devices/10": [:]]) == nil)
    }
}
