// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import NetlinkReachability
internal import NetlinkRecording
internal import RoutingModel

/// libFuzzer's entry point: reads the input as a recording, parses every message, and checks invariants.
///
/// CONTRIBUTING.md describes how to build and run it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRecording(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var reader = RecordingReader(bytes: Array(UnsafeBufferPointer(start: start, count: count)))
    var last: UInt64?
    do {
        while try reader.next({ entry in
            check(last.map { $0 < entry.offset } ?? true, "offsets do not grow")
            check(entry.offset < UInt64(count), "an offset behind the end")
            last = entry.offset
            if case .message(let message) = entry.content { read(message) }
        }) != nil {}
    } catch {
        check(error.offset <= UInt64(count), "an error behind the end")
        check(!error.description.isEmpty, "an error without words")
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
    let known =
        snapshot.routes.prefix(8).map(\.destination.address) + snapshot.addresses.prefix(4).map(\.address)
    for destination in destinations + known {
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

/// The types of messages, each with another parser.
private let types = [
    RTM_NEWLINK, RTM_NEWADDR, RTM_NEWROUTE, RTM_NEWNEIGH, RTM_NEWRULE, RTM_NEWNETCONF, RTM_NEWNEXTHOP,
].map(UInt16.init)

/// Parses a message by its own type, then as one of every type.
private func read(_ message: NetlinkMessage) {
    check(message.bytes.count >= 16, "a message without header")
    _ = message.content
    // An allocation of its own lets the address sanitizer see a read behind the message's end.
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: message.bytes.count, alignment: 8)
    defer { copy.deallocate() }
    copy.copyMemory(from: message.bytes)
    for type in types {
        copy.storeBytes(of: type, toByteOffset: 4, as: UInt16.self)
        let message = NetlinkMessage(UnsafeRawBufferPointer(copy))
        check(message?.bytes.count == copy.count, "a message that was whole is cut")
        _ = message?.content
        _ = message?.notification
    }
    _ = try? DeviceFacts.wirelessIndex(message)
    _ = try? DeviceFacts.signal(message)
    _ = try? ConnectedSocket(message, 6)
    readRoute(UnsafeRawBufferPointer(copy))
}

private func readRoute(_ bytes: UnsafeRawBufferPointer) {
    guard let base = bytes.baseAddress else { return }
    var offset: UInt32 = 0
    var route = cnl_route()
    if cnl_parse_route(base, bytes.count, &route) == 0, route.nexthops != nil {
        var hop = cnl_nexthop()
        while cnl_route_next_nexthop(&route, &offset, &hop) > 0 {
            check(offset <= route.nexthops_length + 3, "a nexthop behind the last one")
        }
    }
    var destination = cnl_destination()
    if cnl_parse_destination(base, bytes.count, &destination) == 0 {
        check(Int(destination.length) <= 128, "a prefix that is longer than its address")
    }
}

private func check(_ holds: Bool, _ text: StaticString) {
    if !holds { fatalError("\(text)") }
}
