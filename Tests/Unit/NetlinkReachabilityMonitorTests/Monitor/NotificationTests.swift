// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import RoutingModel
import Testing

@testable import NetlinkReachability

/// Lays messages out as the kernel does: host byte order, everything on 4 bytes.
private struct MessageBytes {
    private var payload: [UInt8]

    /// Starts with the fixed part of a message.
    init(_ fixed: [UInt8]) {
        payload = fixed
    }

    func attribute(_ type: UInt16, _ value: [UInt8]) -> Self {
        var copy = self
        copy.payload += bytes(UInt16(4 + value.count)) + bytes(type) + value
        copy.payload += [UInt8](repeating: 0, count: (4 - value.count % 4) % 4)
        return copy
    }

    /// What a message of this kind touches.
    func change(type: UInt16) -> KernelNotification? {
        let header =
            bytes(UInt32(16 + payload.count)) + bytes(type) + [0, 0] + [UInt8](repeating: 0, count: 8)
        let message = header + payload
        return withUnsafeTemporaryAllocation(byteCount: message.count, alignment: 8) { memory in
            memory.copyBytes(from: message)
            return NetlinkMessage(UnsafeRawBufferPointer(memory))?.notification
        }
    }
}

private func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number) { Array($0) }
}

/// The fixed part of a route message.
private func route(family: UInt8, length: UInt8) -> MessageBytes {
    MessageBytes([family, length, 0, 0, 254, 3, 0, 1] + bytes(UInt32(0)))
}

/// A message about an interface, whole unless attributes are left out.
private func link(family: UInt8 = 0, flags: UInt32, isWhole: Bool = true) -> MessageBytes {
    let fixed = [family, 0] + bytes(UInt16(1)) + bytes(Int32(2)) + bytes(flags) + bytes(UInt32.max)
    let named = MessageBytes(fixed).attribute(3, Array("eth0\0".utf8))
    return isWhole ? named.attribute(16, [6]).attribute(4, bytes(UInt32(1_500))) : named
}

struct NotificationTests {
    /// IFF_UP, IFF_RUNNING and IFF_LOWER_UP.
    private static let working: UInt32 = 0x1_0041

    @Test(arguments: [24, 25] as [UInt16])
    func `a route message touches its prefix`(type: UInt16) throws {
        let v4 = IPPrefix("192.0.2.0/24")
        let message = route(family: 2, length: 24).attribute(1, [192, 0, 2, 0])
        // The kernel notifies of the removal of an IPv4 route before it removes the route.
        #expect(message.change(type: type) == (type == 25 ? .routeRemoval(v4) : .route(v4)))
        let v6 = route(family: 10, length: 32).attribute(
            1, [0x20, 1, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 12))
        #expect(v6.change(type: type) == .route(IPPrefix("2001:db8::/32")))
    }

    @Test func `a default route touches everything of its family`() {
        #expect(route(family: 2, length: 0).change(type: 24) == .route(.allV4))
        #expect(route(family: 10, length: 0).change(type: 25) == .route(.allV6))
    }

    @Test(arguments: [128, 129, 28] as [UInt8])
    func `a route of another family touches nothing`(family: UInt8) {
        #expect(route(family: family, length: 32).attribute(1, [192, 0, 2, 0]).change(type: 24) == nil)
    }

    @Test func `a cut route message touches nothing`() {
        #expect(MessageBytes([2, 24]).change(type: 24) == nil)
        #expect(MessageBytes([]).change(type: 24) == nil)
    }

    @Test(
        arguments: [
            (0x1_0041, false), (0x1_0043, false), (0x1003, true), (0x1002, true), (0x1_0003, true), (0, true),
        ] as [(UInt32, Bool)]
    )
    func `an interface without its flags is a loss`(flags: UInt32, isLoss: Bool) {
        #expect(link(flags: flags).change(type: 16) == .link(isLoss: isLoss))
    }

    @Test func `the removal of an interface is a loss, whatever its flags`() {
        #expect(link(flags: Self.working).change(type: 17) == .link(isLoss: true))
    }

    @Test(arguments: [7, 10] as [UInt8], [16, 17] as [UInt16])
    func `a link message of a bridge or of IPv6 touches nothing`(family: UInt8, type: UInt16) {
        #expect(link(family: family, flags: Self.working).change(type: type) == nil)
    }

    @Test func `a part of a link message, as for a Wi-Fi scan, touches nothing`() {
        #expect(link(flags: Self.working, isWhole: false).change(type: 16) == nil)
    }

    @Test(
        arguments: [
            (20, .address(isLoss: false)), (21, .address(isLoss: true)), (32, .rule), (33, .rule),
            (80, .settings), (81, .settings), (104, .nexthop(isLoss: false)), (105, .nexthop(isLoss: true)),
            (28, nil), (52, nil), (1, nil), (3, nil),
        ] as [(UInt16, KernelNotification?)]
    )
    func `the kind of a message decides what it affects`(type: UInt16, change: KernelNotification?) {
        #expect(MessageBytes([UInt8](repeating: 0, count: 16)).change(type: type) == change)
    }
}
