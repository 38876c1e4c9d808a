// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability
internal import NetlinkRecording

/// The options that describe the socket of a program.
struct SocketOptions: ParsableArguments {
    @Flag(name: .customShort("4"), help: "Only IPv4 addresses; with -6, both families.")
    var onlyIPv4 = false

    @Flag(name: .customShort("6"), help: "Only IPv6 addresses; with -4, both families.")
    var onlyIPv6 = false

    @Option(
        word: "As a socket bound to an interface (SO_BINDTODEVICE).", "name",
        .names(printedBy: "ls /sys/class/net"), parsedBy: SocketText.interface)
    var interface: InterfaceReference?

    @Option(
        word: "As a socket bound to this address of the host.", "address", parsedBy: SocketText.address)
    var source: IPAddress?

    @Option(number: "As a socket with this mark (SO_MARK).", "n", SocketText.mark)
    var mark: UInt32?

    @Option(
        word: "Evaluate for this user's sockets: a name or a number.", "user",
        .names(printedBy: #"cut -d\: -f1 /etc/passwd"#), parsedBy: SocketText.user)
    var uid: UInt32?

    @Option(
        name: .customLong("protocol"),
        word: "As packets of tcp, udp or icmp; with --replay also others by number. (default: udp)",
        "protocol", .list(["tcp", "udp", "icmp"]), parsedBy: SocketText.ipProtocol)
    var ipProtocol: ReachabilityOptions.IPProtocol?

    @Option(number: "As packets to this port.", "n", SocketText.port)
    var port: UInt16?

    @Option(number: "As packets from this port.", "n", SocketText.port)
    var sourcePort: UInt16?

    @Option(
        number: "As packets with this type of service or traffic class.", "n", SocketText.typeOfService)
    var tos: UInt8?

    /// Converts the options to options of the library.
    ///
    /// - Parameter isReplay: Whether a recording is evaluated: a recording can answer for any protocol.
    /// - Returns: The library's options.
    /// - Throws: A usage error when the options contradict each other.
    func options(isReplay: Bool = false) throws(UsageError) -> ReachabilityOptions {
        var options = ReachabilityOptions()
        options.user = uid
        options.ipProtocol = ipProtocol
        options.destinationPort = port
        options.sourcePort = sourcePort
        options.typeOfService = tos ?? 0
        options.interface = interface
        options.sourceAddress = source
        options.mark = mark ?? 0
        try options.restrict(onlyIPv4: onlyIPv4, onlyIPv6: onlyIPv6)
        try options.checkProtocol(isReplay: isReplay)
        return options
    }
}

extension ReachabilityOptions {
    /// The protocols whose packets have ports: DCCP, SCTP and UDP-Lite by their numbers.
    private static let protocolsWithPorts: [ReachabilityOptions.IPProtocol] = [.tcp, .udp, 33, 132, 136]

    /// Throws for a protocol that only a query of a recording can have, and for ports of a protocol without ports.
    func checkProtocol(isReplay: Bool) throws(UsageError) {
        guard let ipProtocol else { return }
        guard isReplay || SocketText.protocols.contains(ipProtocol) else {
            throw UsageError("the kernel answers for tcp, udp and icmp only: give one of them, or --replay")
        }
        guard !Self.protocolsWithPorts.contains(ipProtocol) else { return }
        try UsageError.refuse(
            [("--port", destinationPort != nil), ("--source-port", sourcePort != nil)],
            because: "packets of the protocol \(ipProtocol) have no ports")
    }
}
