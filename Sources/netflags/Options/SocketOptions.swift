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
        transform: OptionValue.mark
    )
    var mark: UInt32 = 0

    /// The options as the library takes them.
    func options() throws(UsageError) -> ReachabilityOptions {
        var options = ReachabilityOptions()
        if onlyIPv4 != onlyIPv6 { options.families = onlyIPv4 ? .v4 : .v6 }
        options.interface = interface
        options.sourceAddress = source
        options.mark = mark
        if let source, !options.families.contains(source.unmapped.family == .v4 ? .v4 : .v6) {
            throw UsageError(
                "--source \(source) is not of the only family: leave out \(onlyIPv4 ? "-4" : "-6")")
        }
        return options
    }
}
