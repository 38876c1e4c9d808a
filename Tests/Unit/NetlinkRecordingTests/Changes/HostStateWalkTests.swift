// SPDX-License-Identifier: Apache-2.0

import Fakes
import NetlinkRecording
import RoutingModel
import TestSupport
import Testing

/// Interfaces over interfaces as no kernel has them: a recording can lie in each attribute.
///
/// A walk over them that called itself ran for ever, or out of stack.
struct HostStateWalkTests {
    private static let count: UInt32 = 1_000

    /// A host whose interfaces from 10 on are made by a function of their numbers; all are up, and each has an address.
    private static func host(_ count: UInt32, _ make: (UInt32) -> Link) -> HostState {
        var snapshot = makeHost()
        for number in 0..<count {
            let link = make(10 + number)
            snapshot.apply(.link(LinkReport(link)))
            let address = IPAddress(v4: 0x0a00_0000 + number << 8 + 1)
            snapshot.apply(
                .address(InterfaceAddress(interfaceIndex: link.index, address: address, prefixLength: 24)))
            snapshot.apply(.route("10.\(number >> 8).\(number & 255).0/24", dev: link.index))
        }
        return HostState(SnapshotRouting(snapshot))
    }

    private static func vlan(_ index: UInt32, on lower: UInt32) -> Link {
        Link(index: index, name: "v\(index)", kind: "vlan", lower: lower)
    }

    private static func isUp(_ host: HostState, _ index: UInt32) -> Bool? {
        host.routing.snapshot.links[index]?.flags.contains(.up)
    }

    @Test func `a long chain of VLANs goes down, up and away with the lowest`() {
        var host = Self.host(Self.count) { Self.vlan($0, on: $0 - 1) }
        let last = 9 + Self.count
        host.setDown(10)
        #expect(Self.isUp(host, last) == false && host.routing.snapshot.routeCount < Self.count)
        host.setUp(10)
        #expect(Self.isUp(host, last) == true)
        host.setCarrier(10, false)
        #expect(host.routing.snapshot.links[last]?.carrier == false)
        host.removeInterface(10)
        #expect(host.links.map(\.index) == [1, 2, 3])
    }

    @Test(arguments: [1, 2, 3, 1_000] as [UInt32])
    func `VLANs on each other in a circle go down, up and away together`(length: UInt32) {
        var host = Self.host(length) { Self.vlan($0, on: $0 == 10 ? 9 + length : $0 - 1) }
        host.setDown(10)
        #expect((10..<(10 + length)).allSatisfy { Self.isUp(host, $0) == false })
        host.setUp(10)
        #expect((10..<(10 + length)).allSatisfy { Self.isUp(host, $0) == true })
        host.setCarrier(10, false)
        host.removeInterface(10)
        #expect(host.links.map(\.index) == [1, 2, 3])
    }

    @Test func `a long chain of pairs goes with the first`() {
        let last = 9 + Self.count
        var host = Self.host(Self.count) {
            Link(index: $0, name: "v\($0)", kind: "veth", lower: $0 == last ? 10 : $0 + 1)
        }
        host.removeInterface(10)
        #expect(host.links.map(\.index) == [1, 2, 3])
    }

    @Test(arguments: [true, false])
    func `bridges that are ports of bridges lose and get their carrier`(isCircle: Bool) {
        let last = 9 + Self.count
        var host = Self.host(Self.count) {
            Link(
                index: $0, name: "b\($0)", kind: "bridge", portKind: "bridge",
                master: $0 < last ? $0 + 1 : isCircle ? 10 : nil)
        }
        host.setDown(10)
        if !isCircle { #expect(host.routing.snapshot.links[last]?.carrier == false) }
        host.setUp(10)
        #expect(Self.isUp(host, 10) == true)
    }

    @Test func `very many VLANs on one interface, all of them ports of one bridge, go down and away with it`()
    {
        let count: UInt32 = 500
        var host = Self.host(count) {
            var link = Self.vlan($0, on: 2)
            (link.portKind, link.master) = ("bridge", 10)
            return $0 == 10 ? Link(index: 10, name: "br0", kind: "bridge") : link
        }
        host.setDown(2)
        #expect(Self.isUp(host, 9 + count) == false && host.routing.snapshot.links[10]?.carrier == false)
        host.setUp(2)
        #expect(host.routing.snapshot.links[10]?.carrier == true)
        host.removeInterface(2)
        #expect(host.links.map(\.index) == [1, 3, 10])
    }
}
