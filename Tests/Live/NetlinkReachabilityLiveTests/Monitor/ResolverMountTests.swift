// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

/// /etc/resolv.conf as container engines provide it: a mount of its own, from a file elsewhere.
@Suite(.needs(.veth, .mounts))
struct ResolverMountTests {
    private static let reachable = "nameserver 192.0.2.53\n"
    private static let prohibited = "nameserver 198.51.100.53\n"

    private let host: TestNamespace

    /// Mounts a file with a name server that the host reaches, and starts to monitor the path.
    init() throws {
        host = try TestNamespace(.networkAndMounts)
        try host.shell("mount -t tmpfs none /mnt")
        try host.command(["write", "/mnt/resolv.conf", Self.reachable])
        try host.shell("mount --bind /mnt/resolv.conf /etc/resolv.conf")
        try host.wire("w0", "192.0.2.1/24")
        try host.ip("route add default via 192.0.2.254", "route add prohibit 198.51.100.53")
        try host.command(["watch-dns"])
        try expect(true)
    }

    /// Expects that a path with or without DNS is delivered within a second.
    private func expect(_ supportsDNS: Bool, at location: SourceLocation = #_sourceLocation) throws {
        let isDelivered = try host.command(["await-dns", supportsDNS ? "1" : "0"]) == ["1"]
        #expect(isDelivered, "a path with supportsDNS \(supportsDNS)", sourceLocation: location)
    }

    /// The engine writes through a name that the container does not have.
    @Test func `a file that is written in place elsewhere is read again`() throws {
        try host.command(["write", "/mnt/resolv.conf", Self.prohibited])
        try expect(false)
        try host.command(["write", "/mnt/resolv.conf", Self.reachable])
        try expect(true)
    }

    @Test func `a file that is written in place through its own name is read again`() throws {
        try host.command(["write", "/etc/resolv.conf", Self.prohibited])
        try expect(false)
    }

    @Test func `a file that is mounted over is read again, and so is the one below after an unmount`() throws
    {
        try host.command(["write", "/mnt/other", Self.prohibited])
        try host.shell("mount --bind /mnt/other /etc/resolv.conf")
        try expect(false)
        try host.shell("umount /etc/resolv.conf")
        try expect(true)
    }

    @Test func `a file that was mounted over is watched from then on`() throws {
        try host.command(["write", "/mnt/other", Self.prohibited])
        try host.shell("mount --bind /mnt/other /etc/resolv.conf")
        try expect(false)
        try host.command(["write", "/mnt/other", Self.reachable])
        try expect(true)
    }
}
