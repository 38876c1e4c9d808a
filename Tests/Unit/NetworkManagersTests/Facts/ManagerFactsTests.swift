// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Glibc
import NetlinkReachability
import Testing

@testable import NetworkManagers

struct ManagerFactsTests {
    private let eth0 = NetworkInterface(index: 2, name: "eth0", type: .wiredEthernet)

    private func reading(_ change: (inout ManagedInterface) -> Void) -> ManagerReading {
        var reading = ManagerReading(.answers(version: nil))
        reading.update(2, "eth0", change)
        return reading
    }

    @Test(arguments: ManagedInterface.Metering.allCases)
    func `an interface that is or may be metered is expensive and never constrained`(
        metering: ManagedInterface.Metering
    ) {
        let facts = ManagerFacts([
            (.networkManager, reading { $0.metering = .known(metering, .networkManager) })
        ])
        let isExpensive = metering == .metered || metering == .probablyMetered
        #expect(facts.cost(of: eth0) == (isExpensive ? .expensive : .free))
    }

    @Test func `facts are pending until each manager has answered, or could not be asked`() {
        var readings = ManagerName.allCases.map { ($0, ManagerReading(.answers(version: nil))) }
        #expect(ManagerFacts().isPending && !ManagerFacts(readings).isPending)
        for state in [ManagerFacts.State.absent, .silent, .refused("no")] {
            readings[0].1 = ManagerReading(state)
            #expect(!ManagerFacts(readings).isPending)
        }
        readings[0].1 = ManagerReading(.pending)
        #expect(ManagerFacts(readings).isPending)
    }

    @Test func `an interface of another name does not have the cost of the one that had its index`() {
        var renamed = ManagerReading(.answers(version: nil))
        renamed.update(2, "wan0") { $0.metering = .known(.metered, .networkManager) }
        #expect(ManagerFacts([(.networkManager, renamed)]).cost(of: eth0) == .free)
    }

    @Test func `the first manager that says something is the source`() {
        let facts = ManagerFacts([
            (.resolved, reading { $0.nameservers = .known(["192.0.2.1"], .resolved) }),
            (
                .networkd,
                reading {
                    $0.nameservers = .known(["192.0.2.2"], .networkd)
                    $0.captivePortal = .known("a", .networkd)
                }
            ),
        ])
        #expect(facts[eth0].nameservers == .known(["192.0.2.1"], .resolved))
        #expect(facts[eth0].captivePortal == .known("a", .networkd))
    }

    @Test func `an interface that is not known has facts that are unknown`() {
        let other = NetworkInterface(index: 3, name: "eth1", type: .wiredEthernet)
        #expect(ManagerFacts()[other].metering == .unknown)
        #expect(ManagerFacts().cost(of: other) == .free)
    }

    @Test func `an interface that was renamed is not the one that had its index`() {
        let facts = ManagerFacts([
            (.networkManager, reading { $0.metering = .known(.metered, .networkManager) })
        ])
        let renamed = NetworkInterface(index: 2, name: "lan0", type: .wiredEthernet)
        #expect(facts.cost(of: eth0) == .expensive)
        #expect(facts.cost(of: renamed) == .free)
    }

    @Test(
        arguments: [
            ("02:00:00:00:00:0a", [2, 0, 0, 0, 0, 10]), ("", []), ("02:0", []), ("zz:00", []), ("02-00", []),
        ] as [(String, [UInt8])])
    func `a hardware address is read from its text`(text: String, bytes: [UInt8]) {
        #expect([UInt8](hardwareAddress: text) == bytes)
    }

    @Test func `this machine's loopback interface is listed`() {
        #expect(HostInterfaces.current.index(name: "lo") != nil)
    }

    @Test func `an interface without a hardware address has its index`() throws {
        // getifaddrs(3) lists a tunnel without an address; here the list says so of the loopback interface.
        let name = try #require(strdup("lo"))
        defer { free(name) }
        var entry = ifaddrs()
        entry.ifa_name = name
        let index = if_nametoindex("lo")
        #expect(HostInterfaces(list: &entry).byName == ["lo": .init(index: index, hardwareAddress: [])])
    }

    @Test func `a hardware address of InfiniBand is read whole`() throws {
        let name = try #require(strdup("ib0"))
        defer { free(name) }
        let hardware = [UInt8](1...20)
        // sockaddr_ll in the form of getifaddrs(3): family, protocol, index, type, kind, length, address.
        var bytes = [UInt8](repeating: 0, count: 36)
        withUnsafeBytes(of: UInt16(AF_PACKET)) { bytes.replaceSubrange(0..<2, with: $0) }
        withUnsafeBytes(of: Int32(7)) { bytes.replaceSubrange(4..<8, with: $0) }
        bytes[11] = UInt8(hardware.count)
        bytes.replaceSubrange(12..<32, with: hardware)
        let host = bytes.withUnsafeMutableBytes { buffer in
            var entry = ifaddrs()
            entry.ifa_name = name
            entry.ifa_addr = buffer.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            return HostInterfaces(list: &entry)
        }
        #expect(host.byName == ["ib0": .init(index: 7, hardwareAddress: hardware)])
    }
}
