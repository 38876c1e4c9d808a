// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import NetlinkReachability

/// Parses the text of socket options and targets, for the command line and for expectations.
package enum SocketText {
    /// What is wrong with a text, and what to give instead.
    package typealias Invalid = NetworkState.Expectation.Malformation

    /// The protocols that the kernel accepts in a route lookup.
    package static let protocols: [ReachabilityOptions.IPProtocol] = [.tcp, .udp, .icmp]

    package static func address(_ text: String) throws(Invalid) -> IPAddress {
        guard let address = IPAddress(text) else {
            throw Invalid("\"\(text)\" is not an address: give one such as 192.0.2.1 or 2001:db8::1")
        }
        return address
    }

    /// Parses an interface, by name or index.
    package static func interface(_ text: String) throws(Invalid) -> InterfaceReference {
        guard !text.isEmpty else { throw Invalid("the interface is empty: give one that `ip link` lists") }
        return InterfaceReference(nameOrIndex: text)
    }

    /// Parses an IP protocol, by name or number.
    package static func ipProtocol(_ text: String) throws(Invalid) -> ReachabilityOptions.IPProtocol {
        if let named = protocols.first(where: { $0.description == text }) { return named }
        guard let number = UInt8(text) else {
            throw Invalid("\"\(text)\" is not a protocol: give tcp, udp, icmp or a number from 0 to 255")
        }
        return ReachabilityOptions.IPProtocol(rawValue: number)
    }

    /// Parses a user, by name or number; the largest number is not a user (INVALID_UID).
    package static func user(_ text: String) throws(Invalid) -> UInt32 {
        if let number = UInt32(text), number < .max { return number }
        guard let entry = getpwnam(text) else {
            throw Invalid(
                "there is no user \"\(text)\": give a name of /etc/passwd or a number from 0 to \(UInt32.max - 1)"
            )
        }
        return entry.pointee.pw_uid
    }

    /// Parses a decimal number, or a hexadecimal number with 0x.
    package static func number<Number: FixedWidthInteger>(
        _ text: String,
        _ name: String,
        _ range: ClosedRange<Number>
    ) throws(Invalid) -> Number {
        let isHexadecimal = text.hasPrefix("0x") || text.hasPrefix("0X")
        let digits = isHexadecimal ? text.dropFirst(2) : text[...]
        guard digits.allSatisfy(\.isHexDigit), let number = Number(digits, radix: isHexadecimal ? 16 : 10),
            range.contains(number)
        else {
            throw Invalid(
                "\"\(text)\" is not a \(name): give a number from \(range.lowerBound) to \(range.upperBound), "
                    + "decimal or with 0x")
        }
        return number
    }

    /// Parses a mark (SO_MARK).
    package static func mark(_ text: String) throws(Invalid) -> UInt32 {
        try number(text, "mark", 0...UInt32.max)
    }

    package static func port(_ text: String) throws(Invalid) -> UInt16 {
        try number(text, "port", 1...UInt16.max)
    }

    package static func typeOfService(_ text: String) throws(Invalid) -> UInt8 {
        try number(text, "type of service", 0...UInt8.max)
    }

    /// Parses a target: a host, or `default`.
    ///
    /// Write a host named "default" as `default.`.
    package static func target(
        _ text: String,
        _ options: ReachabilityOptions
    ) throws(ReachabilityError) -> ReachabilityTarget {
        if text == "default" { return .defaultPath }
        guard !text.unicodeScalars.contains("\u{FFFD}") else {
            throw invalid("\"\(text)\" is not valid UTF-8: write the name in UTF-8 or in ASCII (xn--...)")
        }
        let target = try ReachabilityTarget.host(text)
        if !text.contains(where: { ".:".contains($0) }), let address = IPAddress.legacyIPv4(text) {
            throw invalid("\"\(text)\" is a number, which stands for \(address): give the address or a name")
        }
        if let source = options.sourceAddress?.unmapped, case .address(let address) = target.kind,
            source.family != address.unmapped.family
        {
            throw invalid(
                "--source \(source) and the target \(text) are of different families: "
                    + "give two IPv4 or two IPv6 addresses")
        }
        return target
    }

    package static func invalid(_ message: String) -> ReachabilityError {
        ReachabilityError(.invalidHost, operation: "read a target", message: message)
    }
}

extension ReachabilityOptions {
    /// Restricts the target to one family; neither or both flags restrict nothing.
    ///
    /// - Throws: An error if the source address is of the other family.
    package mutating func restrict(onlyIPv4: Bool, onlyIPv6: Bool) throws(SocketText.Invalid) {
        guard onlyIPv4 != onlyIPv6 else { return }
        families = onlyIPv4 ? .v4 : .v6
        guard let sourceAddress, !families.contains(sourceAddress.unmapped.family == .v4 ? .v4 : .v6) else {
            return
        }
        throw SocketText.Invalid(
            "--source \(sourceAddress) does not belong to the only family: leave out \(onlyIPv4 ? "-4" : "-6")"
        )
    }
}
