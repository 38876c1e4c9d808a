// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
import RoutingModel
import Testing

@testable import NetlinkRecording

/// What is missing in a recording is never taken for empty.
struct RecordingCoverageTests {
    private static let network = RecordedNetwork(name: "01-dummy/02-up-default-routes")

    /// The moment's dumps, as the test changes them.
    private func dumps(_ change: (inout [UInt8]) -> Bool) throws -> [UInt8] {
        var bytes: [UInt8] = []
        forEachMessage(try Self.network.read("state.rtnl")) { message in
            var copy = Array(message.bytes)
            if change(&copy) { copy.withUnsafeBytes { bytes.appendPadded($0) } }
        }
        return bytes
    }

    private func reasons(_ bytes: [UInt8], _ address: IPAddress = IPAddress(192, 0, 2, 1)) throws -> String? {
        let routing = try RecordedRouting(RecordingStream(bytes: bytes))
        return RecordedAnswer(routing, RouteQuery(destination: address)).undecided
    }

    @Test func `complete dumps decide`() throws {
        let bytes = try dumps { _ in true }
        #expect(try reasons(bytes) == nil)
        #expect(try reasons(bytes, .anyV6) == nil)
    }

    @Test(
        arguments: [
            (UInt8(16), UInt8(0), "interfaces"), (20, 2, "IPv4 addresses"), (24, 2, "IPv4 routes"),
            (32, 2, "IPv4 rules"), (20, 10, "IPv6 addresses"), (24, 10, "IPv6 routes"),
            (32, 10, "IPv6 rules"),
        ]
    )
    func `a table without a dump is named`(type: UInt8, family: UInt8, name: String) throws {
        let bytes = try dumps { !($0[4] == type && (family == 0 || $0[16] == family)) }
        let expected = "the recording holds no dump of the \(name): "
        #expect(try reasons(bytes)?.hasPrefix(expected) ?? false == (family != 10))
        #expect(try reasons(bytes, .anyV6)?.hasPrefix(expected) ?? false == (family != 2))
        // The same between annotations was dumped and empty.
        let marked = [RecordingAnnotation.dumpBegins].recording + bytes + [.dumpEnds].recording
        if family != 0, type != 32 { #expect(try reasons(marked) == nil) }
    }

    @Test(arguments: [UInt8(16), 20, 24, 32]) func `notifications do not replace a dump`(type: UInt8) throws {
        let bytes = try dumps { message in
            if message[4] == type { message[6] = 0 }
            return true
        }
        #expect(try reasons(bytes)?.hasPrefix("the recording holds no dump of the ") == true)
    }

    @Test(arguments: [
        (UInt8(0x22), "holds no dump of the IPv4 routes"),
        (0x12, "IPv4 routes changed faster than they were recorded"),
    ])
    func `a filtered or interrupted dump decides nothing`(flags: UInt8, reason: String) throws {
        let bytes = try dumps { message in
            if message[4] == 24, message[16] == 2 { message[6] = flags }
            return true
        }
        #expect(try reasons(bytes)?.contains(reason) == true)
        #expect(try reasons(bytes, .anyV6) == nil)
    }

    @Test func `after an unfinished dump or lost notifications nothing is decided until the next dump`()
        throws
    {
        let marked = try Self.network.markedRecording()
        let open = [RecordingAnnotation.dumpBegins].recording + (try dumps { _ in true })
        #expect(try reasons(open) == "the recording ends inside a dump")
        #expect(try reasons(marked + open) == "the recording ends inside a dump")
        let lossy = marked + [.overrun].recording
        #expect(try reasons(lossy)?.hasPrefix("notifications were lost") == true)
        #expect(try reasons(lossy + marked) == nil)
        let routing = try RecordedRouting(RecordingStream(bytes: lossy))
        #expect(throws: ReachabilityError.self) { try routing.interfaceIndex(named: "lo") }
        #expect(throws: ReachabilityError.self) { try routing.facts(aboutInterface: 1, detail: .flags) }
        let query = RouteQuery(destination: .anyV6)
        for query in [query, query.forEntry, query.forPacket] {
            #expect(throws: ReachabilityError.self) { try routing.answer(to: query) }
        }
    }

    @Test func `a table that changed during its dump is named, for its family only`() throws {
        func recording(_ tables: RecordingAnnotation.Table...) throws -> [UInt8] {
            try [RecordingAnnotation.dumpBegins].recording + dumps { _ in true }
                + [.changingTables(tables), .dumpEnds].recording
        }
        let routes = try recording(.init(.routes, family: .v6))
        #expect(try reasons(routes) == nil)
        #expect(
            try reasons(routes, .anyV6) == "the IPv6 routes changed faster than they were recorded")
        #expect(try reasons(recording(.init(.links)))?.hasPrefix("the interfaces changed") == true)
        #expect(try reasons(recording(.init(.nexthops)))?.hasPrefix("the nexthop objects changed") == true)
        let neighbours = try recording(.init(.neighbours, family: .v4))
        #expect(try reasons(neighbours) == nil)
        #expect(try RecordedRouting(RecordingStream(bytes: neighbours)).routing.snapshot.neighbours == nil)
    }

    @Test func `neighbours of notifications alone are not all neighbours`() throws {
        let network = RecordedNetwork(name: "17-policy-and-special-routes/02-rules-and-special-routes")
        var announced = try network.read("state.rtnl")
        forEachMessage(try network.read("neigh.nl")) { message in
            var copy = Array(message.bytes)
            copy[6] = 0
            copy.withUnsafeBytes { announced.appendPadded($0) }
        }
        #expect(try RecordedRouting(RecordingStream(bytes: announced)).routing.snapshot.neighbours == nil)
        let marked = try network.markedRecording()
        let known = try RecordedRouting(RecordingStream(bytes: marked)).routing.snapshot.neighbours
        #expect(known?.isEmpty == false)
    }

    @Test func `a file of rtmon has interfaces and decides no address`() throws {
        let links = try dumps { $0[4] == 16 }
        let routing = try RecordedRouting(RecordingStream(bytes: links))
        #expect(try routing.interfaceIndex(named: "lo") == 1)
        #expect(try reasons(links)?.contains("no dump of the IPv4 addresses") == true)
        // Notifications of routes and rules that come later are not all of them.
        let later = try dumps { message in
            message[6] = 0
            return message[4] != 16
        }
        #expect(try reasons(links + later)?.contains("no dump of the IPv4 addresses") == true)
    }

    @Test func `a malformed message in the only dump is an error with its position`() throws {
        var bytes = try dumps { _ in true }
        var places: [Int] = []
        var offset = 0
        forEachMessage(bytes) { message in
            if message.type == 24 { places.append(offset) }
            offset += (message.bytes.count + 3) & ~3
        }
        let third = places[2]
        // The length of the first attribute behind `struct rtmsg`.
        bytes[third + 28] = 0xff
        bytes[third + 29] = 0x7f
        let single = RecordingError(path: "", offset: UInt64(third), reason: .malformed(type: 24))
        #expect(throws: single) { try RecordedRouting(RecordingStream(bytes: bytes)) }
        bytes[places[5] + 28] = 0xff
        bytes[places[5] + 29] = 0x7f
        // Damage that comes later does not hide the place of the first.
        #expect(throws: single) { try RecordedRouting(RecordingStream(bytes: bytes + [1])) }
        #expect("\(single)" == "recording: byte \(third): a malformed message of type 24")
    }

    @Test
    func `a recording cut between messages answers or is undecided, and one cut inside its dump is refused`()
        throws
    {
        let bytes = try Self.network.markedRecording()
        var ends: Set<Int> = []
        var offset = 0
        forEachMessage(bytes) { message in
            offset += (message.bytes.count + 3) & ~3
            ends.insert(offset)
        }
        for length in stride(from: 4, to: bytes.count, by: 4) where ends.contains(length) || length % 20 == 4
        {
            let cut = Array(bytes[..<length])
            if ends.contains(length) {
                #expect(try reasons(cut) == "the recording ends inside a dump")
            } else {
                #expect(throws: RecordingError.self) { try RecordedRouting(RecordingStream(bytes: cut)) }
            }
        }
    }
}
