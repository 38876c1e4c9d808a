// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkReachability

/// Packets that are sent and seen below the routes: what really becomes of one that arrives.
final class RawPackets {
    /// Every packet that arrives on an interface of this network namespace.
    private let taps: Int32
    /// The UDP packets that are delivered to this host, of each family.
    private let deliveries: [Int32]
    /// The size of `struct sockaddr_ll`.
    private static let addressLength = 20
    /// The names of the places where each tag was seen.
    private var places: [String: Set<String>] = [:]

    init() throws {
        // ETH_P_ALL
        let all = Int32(UInt16(3).bigEndian)
        taps = socket(AF_PACKET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), all)
        deliveries = [AF_INET, AF_INET6].map {
            socket($0, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue), Int32(IPPROTO_UDP))
        }
        guard taps >= 0, deliveries.allSatisfy({ $0 >= 0 }) else { throw Probe.Failure.system("raw socket") }
    }

    deinit { for descriptor in [taps] + deliveries { close(descriptor) } }

    /// Sends a UDP packet out of an interface:
    /// `INTERFACE HARDWARE-ADDRESS SOURCE DESTINATION SOURCE-PORT PORT TOS TAG`.
    func send(_ fields: [String]) throws {
        guard fields.count == 8, let source = IPAddress(fields[2]), let destination = IPAddress(fields[3]),
            let ports = UInt16(fields[4]).flatMap({ first in UInt16(fields[5]).map { [first, $0] } }),
            let typeOfService = UInt8(fields[6]).map(Int.init)
        else { throw Probe.Failure("send-packet INTERFACE HARDWARE-ADDRESS FROM TO PORT PORT TOS TAG") }
        var packet: [UInt8] = []
        func append(_ number: Int, _ count: Int) {
            for shift in (0..<count).reversed() {
                packet.append(UInt8(truncatingIfNeeded: number >> (8 * shift)))
            }
        }
        let tag = Array("<\(fields[7])>".utf8)
        let addresses = Self.bytes(source) + Self.bytes(destination)
        if source.family == .v4 {
            for (number, count) in [
                (0x4500 | typeOfService, 2), (28 + tag.count, 2), (0, 4), (0x4011, 2), (0, 2),
            ] {
                append(number, count)
            }
            packet += addresses
            let sum = stride(from: 0, to: packet.count, by: 2).reduce(0) {
                $0 + Int(packet[$1]) << 8 + Int(packet[$1 + 1])
            }
            let folded = ~(sum & 0xFFFF + sum >> 16) & 0xFFFF
            (packet[10], packet[11]) = (UInt8(folded >> 8), UInt8(folded & 0xFF))
        } else {
            for (number, count) in [(0x6000_0000 | typeOfService << 20, 4), (8 + tag.count, 2), (0x1140, 2)] {
                append(number, count)
            }
            packet += addresses
        }
        // Raw sockets look at no checksum of UDP.
        for (number, count) in [(Int(ports[0]), 2), (Int(ports[1]), 2), (8 + tag.count, 2), (0, 2)] {
            append(number, count)
        }
        try send(packet + tag, source.family == .v4 ? 0x0800 : 0x86DD, fields)
        // What is seen after the packet shows that it was taken: a frame of an experimental protocol.
        try send(Array("<after \(fields[7])>".utf8), 0x88B5, fields)
    }

    private func send(_ bytes: [UInt8], _ type: UInt16, _ fields: [String]) throws {
        // struct sockaddr_ll, which Glibc's module does not have.
        var address = [UInt8](repeating: 0, count: Self.addressLength)
        address.withUnsafeMutableBytes {
            $0.storeBytes(of: UInt16(AF_PACKET), as: UInt16.self)
            $0.storeBytes(of: type.bigEndian, toByteOffset: 2, as: UInt16.self)
            $0.storeBytes(of: Int32(if_nametoindex(fields[0])), toByteOffset: 4, as: Int32.self)
            $0[11] = 6
            let hardware = fields[1].split(separator: ":").compactMap { UInt8($0, radix: 16) }
            for (place, byte) in hardware.prefix(6).enumerated() { $0[12 + place] = byte }
        }
        let count = address.withUnsafeBytes {
            $0.withMemoryRebound(to: sockaddr.self) {
                sendto(taps, bytes, bytes.count, 0, $0.baseAddress, socklen_t(Self.addressLength))
            }
        }
        guard count == bytes.count else { throw Probe.Failure.system("send a packet on \(fields[0])") }
    }

    private static func bytes(_ address: IPAddress) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 16)
        let family = address.family == .v4 ? AF_INET : AF_INET6
        inet_pton(family, "\(address)", &bytes)
        return Array(bytes.prefix(address.family == .v4 ? 4 : 16))
    }

    /// Where a tag was seen so far: `delivered`, the names of interfaces, and `icmp TYPE/CODE` for an error that quotes
    /// it.
    ///
    /// The fields are the tag, and if there is a second one, the place to wait for.
    func seen(_ fields: [String]) throws -> [String] {
        let (tag, wanted) = (fields[0], fields.dropFirst().first)
        // A packet that is dropped is never seen: the caller waits for what comes after it.
        for _ in 0..<400 {
            read()
            guard let wanted, places[tag]?.contains(wanted) != true else { break }
            var descriptors = ([taps] + deliveries).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            poll(&descriptors, nfds_t(descriptors.count), 5)
        }
        return (places[tag] ?? []).sorted()
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 2_048)
        var address = [UInt8](repeating: 0, count: Self.addressLength)
        while true {
            let count = address.withUnsafeMutableBytes {
                $0.withMemoryRebound(to: sockaddr.self) {
                    var length = socklen_t(Self.addressLength)
                    return recvfrom(taps, &buffer, buffer.count, Int32(MSG_DONTWAIT), $0.baseAddress, &length)
                }
            }
            guard count > 0 else { break }
            // PACKET_OUTGOING
            if address[10] == 4 { continue }
            let version = buffer[0] >> 4
            if version == 4 && buffer[9] == 1 || version == 6 && buffer[6] == 58 {
                // An ICMP error quotes the packet that it is about.
                let start = version == 4 ? Int(buffer[0] & 0x0F) * 4 : 40
                note(buffer[..<count], "icmp \(buffer[start])/\(buffer[start + 1])")
                continue
            }
            var name = [CChar](repeating: 0, count: Int(IFNAMSIZ))
            if_indextoname(address.withUnsafeBytes { $0.load(fromByteOffset: 4, as: UInt32.self) }, &name)
            note(buffer[..<count], String(decoding: name.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self))
        }
        for descriptor in deliveries {
            while true {
                let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
                guard count > 0 else { break }
                note(buffer[..<count], "delivered")
            }
        }
    }

    /// Notes the tag at the end of a packet.
    private func note(_ packet: ArraySlice<UInt8>, _ place: String) {
        guard let start = packet.lastIndex(of: UInt8(ascii: "<")),
            let end = packet[start...].firstIndex(of: UInt8(ascii: ">"))
        else { return }
        places[String(decoding: packet[packet.index(after: start)..<end], as: UTF8.self), default: []].insert(
            place)
    }
}

extension Queries {
    /// What becomes of a packet that arrives: `INTERFACE FROM TO`, then options as `key=value`.
    ///
    /// - Returns: The outcome, the interface that it is forwarded through, the code, and the reason in words; `error`
    ///   and the error where that is not known.
    static func arriving(_ fields: [String], in source: NetworkSource) throws -> [String] {
        let words = fields.filter { !$0.contains("=") }
        guard words.count == 3, let sender = IPAddress(words[1]), let destination = IPAddress(words[2]) else {
            throw Probe.Failure("arriving INTERFACE FROM TO [KEY=VALUE...]")
        }
        let query = NetworkQuery.arriving(
            on: InterfaceReference(name: words[0]), from: sender, to: destination,
            options: try options(fields.filter { $0.contains("=") }))
        do throws(ReachabilityError) {
            let arrival = try source.blockingValue(of: query)
            return [
                arrival.outcome.rawValue, arrival.interface?.name ?? "", "\(arrival.reason.code)",
                "\(arrival)",
            ]
        } catch {
            return ["error", "", "\(error.code)", "\(error)"]
        }
    }
}
