// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkReachability
internal import NetlinkRecording
internal import RoutingModel

/// A random network with a policy and sets of addresses.
final class OrderedNetwork {
    let seed: UInt64
    let source: NetworkSource
    /// The tables of the network, without the kernel.
    let recorded: NetworkSource
    let addresses: [InterfaceAddress]
    let links: [UInt32: Link]
    private let tunnel: Tunnel?

    /// Makes the network of a seed by commands.
    init(seed: UInt64, commands: [Command], hasTunnel: Bool) throws {
        self.seed = seed
        try Namespace.renew()
        tunnel = hasTunnel ? try Tunnel("t0") : nil
        try Command.run(NetworkGenerator.base + commands)
        _ = try NetworkSnapshot.settled()
        source = try .currentNamespace()
        recorded = NetworkSource(routing: try RecordedRouting.live(), resolver: SystemResolver.shared)
        addresses = try source.facts.routing.answer(.addresses { $0 })
        links = try source.facts.routing.links().reduce(into: [:]) { $0[$1.index] = $1 }
    }

    /// The order of the tables of the network; `nil` where they do not decide.
    func recordedOrder(of set: [IPAddress]) throws(ReachabilityError) -> [OrderedAddress]? {
        do {
            return try recorded.blockingValue(of: .order(of: set, policy: .current))
        } catch {
            guard error.code == .undecided else { throw error }
            return nil
        }
    }

    /// The commands of a seed, and whether the network has a tunnel.
    static func plan(seed: UInt64) -> (commands: [Command], hasTunnel: Bool) {
        var (network, order) = (NetworkGenerator(seed: seed), OrderGenerator(seed: seed))
        let hasTunnel = order.hasTunnel()
        let commands = network.commands() + order.commands(hasTunnel: hasTunnel)
        return (commands + NetworkGenerator.uplinks(seed: seed), hasTunnel)
    }
}

/// A tun device with the hardware type of an IP tunnel, which ends with this object.
private final class Tunnel {
    /// `TUNSETIFF` and `TUNSETLINK`.
    private static let (setInterface, setHardwareType): (UInt, UInt) = (0x4004_54ca, 0x4004_54cd)
    /// `IFF_TUN | IFF_NO_PI`.
    private static let flags: Int16 = 0x1001

    private let descriptor: Int32

    init(_ name: String) throws(NetworkFailure) {
        descriptor = open("/dev/net/tun", O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system("/dev/net/tun") }
        var request = [UInt8](repeating: 0, count: MemoryLayout<ifreq>.size)
        request.replaceSubrange(0..<name.utf8.count, with: name.utf8)
        let status = request.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: Self.flags, toByteOffset: 16, as: Int16.self)
            return bytes.baseAddress.map { ioctl(descriptor, Self.setInterface, $0) } ?? -1
        }
        // The request takes the number itself, not a pointer.
        let type = UnsafeMutableRawPointer(bitPattern: UInt(HardwareType.tunnel6.rawValue))
        guard status == 0, let type, ioctl(descriptor, Self.setHardwareType, type) == 0 else {
            throw .system("make a tunnel")
        }
    }

    deinit {
        close(descriptor)
    }
}
