// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Fakes
import NetlinkReachabilityTestKit
import RoutingModel
import Testing

@testable import NetlinkReachability

struct NetworkIdentityTests {
    private let one: [UInt8] = [2, 0, 0, 0, 0, 0x0A]
    private let other: [UInt8] = [2, 0, 0, 0, 0, 9]

    @Test func `the text is the same for every order of the gateways`() throws {
        let first = try #require(NetworkIdentity(ssid: Array("home".utf8), gateways: [one, other, one]))
        #expect(first == NetworkIdentity(ssid: Array("home".utf8), gateways: [other, one]))
        #expect(first.description == "ssid=686f6d65 gateways=02:00:00:00:00:09,02:00:00:00:00:0a")
    }

    @Test func `what is not known is left out`() {
        #expect(NetworkIdentity(ssid: [0xFF, 0], gateways: [])?.description == "ssid=ff00")
        #expect(NetworkIdentity(ssid: nil, gateways: [one])?.description == "gateways=02:00:00:00:00:0a")
        #expect(NetworkIdentity(ssid: nil, gateways: []) == nil)
    }

    @Test func `a source without neighbours knows no identity`() throws {
        let network = ScriptedNetwork()
        network.wire(2, "eth0")
        network.setDefault(.defaultRoute(2, via: "192.0.2.254"))
        #expect(try network.source.identity(of: network.source.path()) == nil)
    }

    /// It had the gateways of interfaces that packets do not take, too.
    @Test func `a gateway counts where packets take it`() throws {
        let network = ScriptedNetwork()
        for (index, metric) in [(2, 100), (3, 200)] as [(UInt32, UInt32)] {
            network.wire(index, "eth\(index)")
            network.setDefault(.defaultRoute(index, via: "192.0.2.25\(index)", metric: metric))
        }
        network.routing.script { script in
            script.hardwareAddresses = [:]
            for interface in [2, 3] as [UInt32] {
                for (gateway, bytes) in [
                    (IPAddress(192, 0, 2, 252), one), (IPAddress(192, 0, 2, 253), other),
                ] {
                    let key = Neighbour.Key(interfaceIndex: interface, address: gateway)
                    script.hardwareAddresses?[key] = bytes
                }
            }
        }
        let path = try network.source.path()
        #expect(path.gateways.count == 2)
        #expect(try network.source.identity(of: path)?.gateways == [one])
    }
}
