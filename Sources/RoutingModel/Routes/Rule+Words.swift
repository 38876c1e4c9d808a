// SPDX-License-Identifier: Apache-2.0

extension Rule: CustomStringConvertible {
    /// The rule as `ip rule` prints it.
    package var description: String { "\(priority): \(words)" }

    /// The rule as `ip rule` prints it, without its priority.
    package var words: String {
        var words = "\(isInverted ? "not " : "")from \(source?.shortDescription ?? "all")"
        if let destination { words += " to \(destination.shortDescription)" }
        if tos != 0 { words += " tos 0x\(String(tos, radix: 16))" }
        if let dscp {
            words += " dscp \(dscp.value)"
            if dscp.mask & 0x3f != 0x3f { words += "/0x\(String(dscp.mask, radix: 16))" }
        }
        if let mark {
            words += " fwmark 0x\(String(mark.value, radix: 16))"
            if mark.mask != .max { words += "/0x\(String(mark.mask, radix: 16))" }
        }
        if let inputInterface { words += " iif \(inputInterface)" }
        if let outputInterface { words += " oif \(outputInterface)" }
        if isL3MDev { words += " lookup [l3mdev-table]" }
        if let users { words += " uidrange \(users.lowerBound)-\(users.upperBound)" }
        if let ipProtocol { words += " ipproto \(Self.protocols[ipProtocol] ?? "\(ipProtocol)")" }
        if let sourcePorts { words += " sport \(Self.words(sourcePorts, sourcePortMask))" }
        if let destinationPorts { words += " dport \(Self.words(destinationPorts, destinationPortMask))" }
        if let tunnelID { words += " tun_id \(tunnelID)" }
        if hasUnknownSelector { words += " [unknown selector]" }
        switch action {
        case .lookup(let table): if !isL3MDev { words += " lookup \(Route.tableName(table))" }
        case .goto(let priority): words += " goto \(priority)"
        case .nop: words += " nop"
        case .blackhole: words += " blackhole"
        case .unreachable: words += " unreachable"
        case .prohibit: words += " prohibit"
        case .other(let number): words += " action \(number)"
        }
        if let suppressedPrefixLength { words += " suppress_prefixlength \(suppressedPrefixLength)" }
        if let suppressedGroup {
            words += " suppress_ifgroup \(suppressedGroup == 0 ? "default" : "\(suppressedGroup)")"
        }
        return words
    }

    /// The words of ip(8) for protocols.
    private static let protocols: [UInt8: String] = [1: "icmp", 6: "tcp", 17: "udp", 58: "ipv6-icmp"]

    private static func words(_ ports: ClosedRange<UInt16>, _ mask: UInt16) -> String {
        if mask != .max { return "\(ports.lowerBound)/0x\(String(mask, radix: 16))" }
        return ports.count == 1 ? "\(ports.lowerBound)" : "\(ports.lowerBound)-\(ports.upperBound)"
    }
}

extension IPPrefix {
    /// The prefix, without the length where it holds one address.
    package var shortDescription: String { isHost ? address.description : description }
}
