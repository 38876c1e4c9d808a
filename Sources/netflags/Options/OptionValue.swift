// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import NetlinkReachability

/// Parses the values of options; each error says what to give instead.
enum OptionValue {
    static func address(_ text: String) throws -> IPAddress {
        guard let address = IPAddress(text) else {
            throw ValidationError("\"\(text)\" is not an address: give one such as 192.0.2.1 or 2001:db8::1")
        }
        return address
    }

    /// The protocols that the kernel accepts in a route lookup.
    static let protocols: [String: UInt8] = [
        "tcp": UInt8(IPPROTO_TCP), "udp": UInt8(IPPROTO_UDP), "icmp": UInt8(IPPROTO_ICMP),
    ]

    /// An IP protocol by name or number.
    static func ipProtocol(_ text: String) throws -> UInt8 {
        guard let number = protocols[text] ?? UInt8(text) else {
            throw ValidationError(
                "\"\(text)\" is not a protocol: give tcp, udp, icmp or a number from 0 to 255")
        }
        return number
    }

    /// A user by name or number; the largest number stands for no user (INVALID_UID).
    static func user(_ text: String) throws -> UInt32 {
        if let number = UInt32(text), number < .max { return number }
        guard let entry = getpwnam(text) else {
            throw ValidationError(
                "there is no user \"\(text)\": give a name of /etc/passwd or a number from 0 to \(UInt32.max - 1)"
            )
        }
        return entry.pointee.pw_uid
    }

    /// What counts as a change.
    static func changes(_ text: String) throws -> ReachabilityReport.Change {
        guard let changes = ReachabilityReport.Change(rawValue: text) else {
            throw ValidationError("\"\(text)\" is not a kind of change: give flags or report")
        }
        return changes
    }

    /// A command for a shell.
    static func command(_ text: String) throws -> String {
        guard text.contains(where: { !$0.isWhitespace }) else {
            throw ValidationError("the command is empty: give one such as ./sync")
        }
        return text
    }

    /// A time in seconds, with or without a fraction.
    static func seconds(_ text: String) throws -> Duration {
        guard let seconds = Double(text), (0...31_536_000).contains(seconds) else {
            throw ValidationError(
                "\"\(text)\" is not a time: give seconds from 0 to 31536000 (a year), such as 5 or 0.5")
        }
        return .seconds(seconds)
    }

    /// A size in bytes, such as `64M`, of at least a megabyte.
    static func size(_ text: String) throws -> UInt64 {
        let units: [Character: UInt64] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40]
        let unit = text.last.flatMap { units[Character($0.uppercased())] }
        let digits = unit == nil ? text[...] : text.dropLast()
        let range = UInt64(1 << 20)...UInt64(1 << 50)
        guard digits.allSatisfy(\.isNumber), let number = UInt64(digits),
            case let size = number.multipliedReportingOverflow(by: unit ?? 1), !size.overflow,
            range.contains(size.partialValue)
        else {
            throw ValidationError("\"\(text)\" is not a size: give one from 1M to 1024T, such as 64M")
        }
        return size.partialValue
    }

    /// A number in decimal, or in hexadecimal with 0x.
    static func number<Number: FixedWidthInteger>(
        _ text: String,
        _ name: String,
        _ range: ClosedRange<Number>
    ) throws -> Number {
        let isHexadecimal = text.hasPrefix("0x") || text.hasPrefix("0X")
        let digits = isHexadecimal ? text.dropFirst(2) : text[...]
        guard digits.allSatisfy(\.isHexDigit), let number = Number(digits, radix: isHexadecimal ? 16 : 10),
            range.contains(number)
        else {
            throw ValidationError(
                "\"\(text)\" is no \(name): give a number from \(range.lowerBound) to \(range.upperBound), "
                    + "decimal or with 0x")
        }
        return number
    }
}
