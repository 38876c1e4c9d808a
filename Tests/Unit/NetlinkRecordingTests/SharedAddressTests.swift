// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import NetlinkReachability
import RoutingModel
import TestSupport
import Testing

@testable import NetlinkRecording

/// An address that two interfaces have: a snapshot of the kernel's tables beside the kernel itself.
@Suite(.needsNetwork)
struct SharedAddressTests {
    private static let setUp = """
        ip link set lo up
        ip link add v0 type veth peer name p0; ip link add v1 type veth peer name p1
        for name in v0 p0 v1 p1; do ip link set $name up; done
        ip addr add 192.0.2.2/24 dev v0; ip addr add 192.0.2.2/24 dev v1
        """

    private static func addAgain(_ name: String) throws {
        try ShellCommand.check("ip addr del 192.0.2.2/24 dev \(name); ip addr add 192.0.2.2/24 dev \(name)")
    }

    /// The interface that each side sends a group out of; the snapshot's is `nil` where it is undecided.
    private static func interfaces(
        of group: IPAddress
    ) throws -> (kernel: UInt32?, snapshot: UInt32?) {
        var query = RouteQuery(destination: group)
        query.source = IPAddress(192, 0, 2, 2)
        let kernel = try KernelRouting()
        let live = try kernel.answer(to: query.forPacket).nexthops.first?.interfaceIndex
        let dumped = try RecordedRouting.live().routing
        do throws(ReachabilityError) {
            return (live, try dumped.answer(to: query.forPacket).nexthops.first?.interfaceIndex)
        } catch {
            guard error.code == .undecided else { throw error }
            return (live, nil)
        }
    }

    /// The snapshot took the interface with the lower index, and said "down" where the kernel sent.
    @Test(arguments: [IPAddress(224, 0, 0, 251), IPAddress(239, 1, 2, 3), IPAddress(255, 255, 255, 255)])
    func `a group goes out of the interface that got its source address last`(group: IPAddress) throws {
        try LiveNetwork().run {
            try ShellCommand.check(Self.setUp)
            for name in ["v0", "v1", "v0"] {
                // A dump does not distinguish additions within 1/100 s.
                var found: (kernel: UInt32?, snapshot: UInt32?)
                var attempts = 0
                repeat {
                    try Self.addAgain(name)
                    found = try Self.interfaces(of: group)
                    attempts += 1
                } while found.snapshot == nil && attempts < 200
                #expect(found.kernel != nil && found.snapshot == found.kernel, "\(name) last")
                for state in ["down", "up"] {
                    try ShellCommand.check("ip link set \(name) \(state)")
                    found = try Self.interfaces(of: group)
                    #expect(found.kernel != nil && found.snapshot == found.kernel, "\(name) \(state)")
                }
            }
        }
    }
}
