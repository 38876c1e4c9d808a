// SPDX-License-Identifier: Apache-2.0

import Fakes
internal import NetlinkRecording
import RoutingModel
import Testing

@testable import NetlinkReachability

/// A host with a wire that packets take, a Wi-Fi behind it and a modem behind both.
struct PathQueryTests {
    let network = ScriptedNetwork()

    init() {
        network.wire(2, "eth0")
        network.wire(3, "wlan0")
        network.tunnel(4, "wwan0", kind: "wwan")
        network.routing.change { $0.wirelessIndexes = [3] }
        network.setDefault(.defaultRoute(2, via: "192.0.2.254", metric: 100))
        network.setDefault(.defaultRoute(3, via: "192.0.3.254", metric: 600))
        network.setDefault(.defaultRoute(4, metric: 700))
    }

    @Test(
        arguments: [
            (.wiredEthernet, "eth0", false), (.wifi, "wlan0", false), (.cellular, "wwan0", true),
        ] as [(NetworkInterface.InterfaceType, String, Bool)]
    )
    func `a required type has the path of its own interface`(
        type: NetworkInterface.InterfaceType,
        name: String,
        isExpensive: Bool
    ) throws {
        let path = try network.path(PathQuery(required: type))
        #expect(path.status == .satisfied)
        #expect(path.names == [name])
        #expect(path.usesInterfaceType(type))
        #expect(path.isExpensive == isExpensive)
    }

    @Test func `a required interface type without a default route has no path`() throws {
        let path = try network.path(PathQuery(required: .other))
        #expect(path.status == .unsatisfied)
        #expect(path.names == [])
        #expect(path.gateways == [])
        #expect(path.reason.code == .noAdmittedInterface)
    }

    @Test func `prohibited types are passed over, the next by metric is taken`() throws {
        #expect(try network.path(PathQuery(prohibited: [.wifi])).names == ["eth0", "wwan0"])
        let path = try network.path(PathQuery(prohibited: [.wiredEthernet]))
        #expect(path.names == ["wlan0", "wwan0"])
        #expect(path.usedInterfaces.map(\.name) == ["wlan0"])
        #expect(path.gatewayTexts == ["192.0.3.254"])
    }

    @Test func `where all types are prohibited there is no path`() throws {
        let all = Set(NetworkInterface.InterfaceType.allCases)
        #expect(try network.path(PathQuery(prohibited: all)).status == .unsatisfied)
    }

    @Test func `a required type is satisfied although the cable that packets take is unplugged`() throws {
        network.wire(2, "eth0") { link in
            (link.flags, link.carrier, link.operationalState) = ([.up], false, .down)
        }
        #expect(try network.path().status == .unsatisfied)
        #expect(try network.path(PathQuery(required: .wifi)).status == .satisfied)
    }

    @Test func `each family takes the best interface that is admitted`() throws {
        network.setDefault(.defaultRoute(4, metric: 1, family: .v6))
        network.setDefault(.defaultRoute(3, via: "fe80::1", metric: 2, family: .v6))
        let path = try network.path(PathQuery(prohibited: [.cellular]))
        #expect(path.names == ["eth0", "wlan0"])
        #expect(path.usedInterfaces.map(\.name) == ["eth0", "wlan0"])
        #expect(path.supportsIPv4 && path.supportsIPv6)
        #expect(!path.isExpensive)
    }

    @Test func `an interface that needs no connection is better than one that does`() throws {
        network.wire(5, "eth1") { $0.operationalState = .dormant }
        network.setDefault(.defaultRoute(5, via: "192.0.5.254", metric: 1))
        #expect(try network.path().status == .requiresConnection)
        let path = try network.path(PathQuery(required: .wiredEthernet))
        #expect(path.status == .satisfied)
        #expect(path.names == ["eth0", "eth1"])
    }
}
