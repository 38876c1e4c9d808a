// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability

/// The options that describe the socket which a program would use.
struct SocketOptions: ParsableArguments {
    @Flag(name: .customShort("4"), help: "Only IPv4 addresses count. With -6 too, both count.")
    var onlyIPv4 = false

    @Flag(name: .customShort("6"), help: "Only IPv6 addresses count. With -4 too, both count.")
    var onlyIPv6 = false

    @Option(help: ArgumentHelp("As a socket bound to an interface (SO_BINDTODEVICE).", valueName: "name"))
    var interface: String?

    @Option(
        help: ArgumentHelp("As a socket bound to this address of the host.", valueName: "address"),
        transform: OptionValue.address
    )
    var source: IPAddress?

    @Option(
        help: ArgumentHelp(
            "As a socket with this mark (SO_MARK), decimal or 0x hexadecimal.", valueName: "n"),
        transform: OptionValue.mark
    )
    var mark: UInt32 = 0

    /// The options as the library takes them.
    var options: ReachabilityOptions {
        var options = ReachabilityOptions()
        if onlyIPv4 != onlyIPv6 { options.families = onlyIPv4 ? .v4 : .v6 }
        options.interface = interface
        options.source = source
        options.mark = mark
        return options
    }
}

/// Reads the values of options, and says what to give instead.
enum OptionValue {
    static func address(_ text: String) throws -> IPAddress {
        guard let address = IPAddress(text) else {
            throw ValidationError("\"\(text)\" is no address: give one such as 192.0.2.1 or 2001:db8::1")
        }
        return address
    }

    static func mark(_ text: String) throws -> UInt32 {
        let isHexadecimal = text.hasPrefix("0x") || text.hasPrefix("0X")
        guard text.utf8.first != UInt8(ascii: "+"), !text.utf8.dropFirst(2).contains(UInt8(ascii: "+")),
            let mark = isHexadecimal ? UInt32(text.dropFirst(2), radix: 16) : UInt32(text)
        else {
            throw ValidationError("\"\(text)\" is no mark: give a number up to 4294967295, or 0x and digits")
        }
        return mark
    }

    /// A number of seconds above 0, with a fraction or without.
    ///
    /// A year is as good as for ever.
    static func seconds(_ text: String) throws -> Duration {
        guard let seconds = Double(text), seconds > 0, seconds <= 31_536_000 else {
            throw ValidationError("\"\(text)\" is no time: give seconds above 0, such as 5 or 0.5")
        }
        return .seconds(seconds)
    }
}
