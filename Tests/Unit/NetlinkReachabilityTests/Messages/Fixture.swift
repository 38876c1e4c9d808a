// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import RoutingModel
import Testing

/// A recorded file and the messages in it.
struct Fixture: Sendable, CustomTestStringConvertible {
    let name: String

    var testDescription: String { name }

    /// The dumps of links, addresses, nexthops, routes and rules.
    static let states = [
        "zoo-down", "zoo-up", "wireguard-full-tunnel", "ppp-up", "ppp-demand", "wifi-associated", "wwan-up",
        "stacked-lower-down", "dormant", "multipath", "multipath-linkdown", "nexthop-objects", "via-ipv6",
        "policy",
        "rule-actions", "goto-unresolved", "source-specific",
    ].map { Fixture(name: $0 + ".rtnl") }

    /// Every file.
    static let all =
        states
        + ["zoo-up.neigh", "wireguard-full-tunnel.neigh", "wifi-associated.neigh", "multipath.neigh"]
        .map(Fixture.init) + [Fixture(name: "wifi-associated.nl80211")]

    /// The file's bytes; none, and an issue, when it cannot be read.
    var bytes: [UInt8] {
        let folder = #filePath.split(separator: "/").dropLast().joined(separator: "/")
        guard let file = fopen("/\(folder)/Fixtures/\(name)", "rb") else {
            Issue.record("cannot open \(name)")
            return []
        }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
        return bytes
    }

    /// The messages, cut by hand: the slow twin of how the shim reads a datagram.
    var messages: [[UInt8]] {
        var messages: [[UInt8]] = []
        var rest = bytes[...]
        while rest.count >= 16 {
            let length = Int(number32(rest, 0))
            guard length >= 16, length <= rest.count else { break }
            messages.append(Array(rest.prefix(length)))
            rest = rest.dropFirst((length + 3) & ~3)
        }
        #expect(rest.isEmpty, "\(name) has a rest of \(rest.count) bytes")
        return messages
    }

    /// The contents of the messages.
    var contents: [NetlinkMessage.Content] {
        messages.map { bytes in withExactCopy(of: bytes) { NetlinkMessage($0)?.content ?? .malformed } }
    }

    var links: [Link] {
        contents.compactMap { if case .change(.link(let message)) = $0 { message.link } else { nil } }
    }

    var addresses: [InterfaceAddress] {
        contents.compactMap { if case .change(.address(let address)) = $0 { address } else { nil } }
    }

    var routes: [Route] {
        contents.compactMap { if case .change(.route(let route, _)) = $0 { route } else { nil } }
    }

    func rules(_ family: IPAddress.Family) -> [Rule] {
        contents.compactMap {
            if case .change(.rule(let rule)) = $0, rule.family == family { rule } else { nil }
        }
    }

    static func named(_ name: String) -> Fixture {
        Fixture(name: name + ".rtnl")
    }
}

/// A number in host order out of some bytes.
func number32(_ bytes: some Collection<UInt8>, _ offset: Int) -> UInt32 {
    bytes.dropFirst(offset).prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
}

/// Lends a copy on the heap that is exactly as large as the bytes, so that address sanitizer sees every read
/// beyond.
func withExactCopy<Result>(of bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows
    -> Result
{
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
    defer { copy.deallocate() }
    copy.copyBytes(from: bytes)
    return try body(UnsafeRawBufferPointer(copy))
}
