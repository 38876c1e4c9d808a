// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability

/// The options that describe the socket of a program.
struct SocketOptions: ParsableArguments {
    @Flag(name: .customShort("4"), help: "Only IPv4 addresses; with -6, both families.")
    var onlyIPv4 = false

    @Flag(name: .customShort("6"), help: "Only IPv6 addresses; with -4, both families.")
    var onlyIPv6 = false

    @Option(
        help: ArgumentHelp("As a socket bound to an interface (SO_BINDTODEVICE).", valueName: "name"),
        completion: .shellCommand("ls /sys/class/net")
    )
    var interface: String?

    @Option(
        help: ArgumentHelp("As a socket bound to this address of the host.", valueName: "address"),
        transform: OptionValue.address
    )
    var source: IPAddress?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("As a socket with this mark (SO_MARK).", valueName: "n"),
        transform: { try OptionValue.number($0, "mark", 0...UInt32.max) }
    )
    var mark: UInt32 = 0

    @Option(
        help: ArgumentHelp("Evaluate for this user's sockets: a name or a number.", valueName: "user"),
        completion: .shellCommand("cut -d: -f1 /etc/passwd"),
        transform: OptionValue.user
    )
    var uid: UInt32?

    @Option(
        name: .customLong("protocol"),
        help: ArgumentHelp(
            "As packets of tcp, udp or icmp; with --replay also others by number. (default: udp)",
            valueName: "protocol"
        ),
        completion: .list(["tcp", "udp", "icmp"]),
        transform: OptionValue.ipProtocol
    )
    var ipProtocol: UInt8?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("As packets to this port.", valueName: "n"),
        transform: { try OptionValue.number($0, "port", 1...UInt16.max) }
    )
    var port: UInt16?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("As packets from this port.", valueName: "n"),
        transform: { try OptionValue.number($0, "port", 1...UInt16.max) }
    )
    var sourcePort: UInt16?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("As packets with this type of service or traffic class.", valueName: "n"),
        transform: { try OptionValue.number($0, "type of service", 0...UInt8.max) }
    )
    var tos: UInt8 = 0

    /// Converts the options to those of the library.
    ///
    /// - Parameter isReplay: Whether a recording is evaluated, which can answer for any protocol.
    /// - Returns: The library's options.
    /// - Throws: A usage error when the options contradict each other.
    func options(isReplay: Bool = false) throws(UsageError) -> ReachabilityOptions {
        if let ipProtocol, !isReplay, !OptionValue.protocols.values.contains(ipProtocol) {
            throw UsageError("the kernel answers for tcp, udp and icmp only: give one of them, or --replay")
        }
        var options = ReachabilityOptions()
        options.user = uid
        options.ipProtocol = ipProtocol
        options.destinationPort = port
        options.sourcePort = sourcePort
        options.typeOfService = tos
        if onlyIPv4 != onlyIPv6 { options.families = onlyIPv4 ? .v4 : .v6 }
        options.interface = interface
        options.sourceAddress = source
        options.mark = mark
        if let source, !options.families.contains(source.unmapped.family == .v4 ? .v4 : .v6) {
            throw UsageError(
                "--source \(source) does not belong to the only family: leave out \(onlyIPv4 ? "-4" : "-6")")
        }
        return options
    }
}
