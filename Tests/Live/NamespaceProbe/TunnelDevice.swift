// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A tun or tap interface, which has a carrier while its descriptor is open, unless TUNSETCARRIER removes it.
final class TunnelDevice {
    /// The framing of the packets.
    enum Framing: Int16 {
        /// `IFF_TUN`.
        case none = 1
        /// `IFF_TAP`.
        case ethernet = 2
    }

    /// `IFF_NO_PI`: packets without a header in front.
    private static let noPacketInformation: Int16 = 0x1000
    /// `TUNSETIFF`: makes the interface.
    private static let setInterface: UInt = 0x4004_54ca
    /// `TUNSETCARRIER`, since Linux 5.0.
    private static let setCarrier: UInt = 0x4004_54e2

    /// `TUNSETLINK`: changes the hardware type.
    private static let setHardwareType: UInt = 0x4004_54cd

    private let descriptor: Int32

    /// Creates the interface, which ends with this object.
    init(name: String, framing: Framing) throws {
        descriptor = open("/dev/net/tun", O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw Probe.Failure.system("/dev/net/tun") }
        // struct ifreq: 16 bytes of name, then the flags.
        var request = [UInt8](repeating: 0, count: MemoryLayout<ifreq>.size)
        request.replaceSubrange(0..<min(name.utf8.count, 15), with: name.utf8.prefix(15))
        let flags = framing.rawValue | Self.noPacketInformation
        let status = request.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: flags, toByteOffset: 16, as: Int16.self)
            return bytes.baseAddress.map { ioctl(descriptor, Self.setInterface, $0) } ?? -1
        }
        guard status == 0 else { throw Probe.Failure.system("TUNSETIFF \(name)") }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Sets the carrier.
    func setCarrier(_ isThere: Bool) throws {
        var value: Int32 = isThere ? 1 : 0
        guard ioctl(descriptor, Self.setCarrier, &value) == 0 else {
            throw Probe.Failure.system("TUNSETCARRIER")
        }
    }

    /// Sets the hardware type (ARPHRD) while the interface is down.
    func setHardwareType(_ type: UInt) throws {
        // This request takes the number itself, not a pointer.
        let argument = UnsafeMutableRawPointer(bitPattern: type)
        guard let argument, ioctl(descriptor, Self.setHardwareType, argument) == 0 else {
            throw Probe.Failure.system("TUNSETLINK")
        }
    }
}
