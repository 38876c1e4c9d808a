// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import NetlinkRecording
internal import NetlinkRoute
internal import RoutingModel
internal import RoutingSimulation

/// libFuzzer's entry point: reads the input as a recording, parses every message, and checks invariants.
///
/// docs/recordings.md describes how to build and run it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRecording(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var reader = RecordingReader(bytes: Array(UnsafeBufferPointer(start: start, count: count)))
    var last: UInt64?
    do {
        try reader.readAll { entry in
            check(last.map { $0 < entry.offset } ?? true, "offsets do not grow")
            check(entry.offset < UInt64(count), "an offset behind the end")
            last = entry.offset
            if case .message(let message) = entry.content { read(message) }
        }
    } catch {
        check(error.offset <= UInt64(count), "a fault behind the end")
        check(!error.description.isEmpty, "a fault without words")
    }
    ask(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}

/// Destinations that reach the corners of a table: groups, own and link-local addresses, others.
private let destinations: [IPAddress] = [
    "0.0.0.0", "10.0.0.1", "127.0.0.1", "192.0.2.1", "224.0.0.1", "239.1.1.1", "255.255.255.255", "::", "::1",
    "2001:db8::1", "fe80::1", "ff02::1", "ff0e::1",
].compactMap { IPAddress($0) }

/// Replays the input, and looks up routes and interfaces in the resulting network.
private func ask(_ bytes: [UInt8]) {
    guard let recorded = try? RecordedRouting(RecordingStream(bytes: bytes), askingUser: 1_000) else {
        return
    }
    let snapshot = recorded.routing.snapshot
    check(snapshot.routes.count == snapshot.routeCount, "routes are counted wrongly")
    let recorded =
        snapshot.routes.prefix(8).map(\.destination.address) + snapshot.addresses.prefix(4).map(\.address)
    for destination in destinations + recorded {
        for interface in [0] + snapshot.links.keys.sorted().prefix(2) {
            for source in [
                nil, snapshot.addresses.first { $0.address.family == destination.family }?.address,
            ] {
                ask(
                    recorded, RouteQuery(destination: destination, outputInterface: interface, source: source)
                )
            }
        }
    }
    for index in snapshot.links.keys.sorted().prefix(8) {
        _ = try? recorded.facts(aboutInterface: index, detail: .reason)
        _ = try? recorded.routing.facts(aboutInterface: index, detail: .reason)
    }
}

/// Checks that an answer is that of the whole entry, also where the recording does not decide the answer.
private func ask(_ recorded: RecordedRouting, _ query: RouteQuery) {
    _ = try? recorded.answer(to: query.forPacket)
    let whole = try? recorded.routing.answer(to: query.forEntry)
    let answer = try? recorded.routing.answer(to: query)
    check(answer?.path == whole?.path, "a path of another entry")
}

/// Parses a message by its own type, then with every parser.
private func read(_ message: NetlinkMessage) {
    check(message.bytes.count >= 16, "a message without header")
    _ = message.content
    guard let base = message.bytes.baseAddress else { return }
    // An allocation of its own lets the address sanitizer see a read behind the message's end.
    let copy = UnsafeMutableRawPointer.allocate(byteCount: message.bytes.count, alignment: 8)
    defer { copy.deallocate() }
    copy.copyMemory(from: base, byteCount: message.bytes.count)
    readLists(copy, message.bytes.count)
    var link = cnl_link()
    _ = cnl_parse_link(copy, message.bytes.count, &link)
    var address = cnl_address()
    _ = cnl_parse_address(copy, message.bytes.count, &address)
    var rule = cnl_rule()
    _ = cnl_parse_rule(copy, message.bytes.count, &rule)
    var settings = cnl_settings()
    _ = cnl_parse_settings(copy, message.bytes.count, &settings)
    var neighbour = cnl_neighbour()
    _ = cnl_parse_neighbour(copy, message.bytes.count, &neighbour)
    var wireless: UInt32 = 0
    _ = cnl_parse_wireless(copy, message.bytes.count, &wireless)
    var signal: Int8 = 0
    _ = cnl_parse_station(copy, message.bytes.count, &signal)
}

private func readLists(_ bytes: UnsafeRawPointer, _ count: Int) {
    var offset: UInt32 = 0
    var route = cnl_route()
    if cnl_parse_route(bytes, count, &route) == 0, route.nexthops != nil {
        var hop = cnl_nexthop()
        while cnl_route_next_nexthop(&route, &offset, &hop) > 0 {
            check(offset <= route.nexthops_length + 3, "a nexthop behind the last one")
        }
    }
    var destination = cnl_destination()
    if cnl_parse_destination(bytes, count, &destination) == 0 {
        check(Int(destination.length) <= 128, "a prefix that is longer than its address")
    }
    var nexthop = cnl_nexthop_object()
    guard cnl_parse_nexthop_object(bytes, count, &nexthop) == 0, nexthop.group != nil else { return }
    offset = 0
    var id: UInt32 = 0
    var weight: UInt16 = 0
    while cnl_nexthop_object_next_member(&nexthop, &offset, &id, &weight) > 0 {
        check(offset <= nexthop.group_length, "a member behind the group")
    }
}

private func check(_ holds: Bool, _ text: StaticString) {
    if !holds { fatalError("\(text)") }
}
