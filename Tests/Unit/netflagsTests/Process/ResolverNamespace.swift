// SPDX-License-Identifier: Apache-2.0

import TestNamespaces
import Testing

extension TestNamespace {
    /// A namespace with its own resolv.conf.
    static func withResolver(_ resolvConf: String) throws -> TestNamespace {
        let host = try TestNamespace(.networkAndMounts)
        for command in ["mount -t tmpfs none /mnt", "touch /mnt/resolv.conf"] {
            let result = try host.run(command.split(separator: " ").map(String.init))
            try #require(result.status == 0, "\(result.output)")
        }
        try host.command(["write", "/mnt/resolv.conf", resolvConf])
        // The mount replaces the file that a link leads to.
        let bind = try host.run(["sh", "-c", "mount --bind /mnt/resolv.conf $(readlink -f /etc/resolv.conf)"])
        try #require(bind.status == 0, "\(bind.output)")
        return host
    }

    /// A namespace with a wire, and a name server on it that never answers.
    static func withDeadResolver() throws -> TestNamespace {
        let host = try withResolver("nameserver 192.0.2.53\n")
        try host.wire("w0", "192.0.2.1/24")
        // Without the neighbour the kernel would report the name server as unreachable after some seconds.
        try host.ip("neigh add 192.0.2.53 lladdr 02:00:00:00:00:53 dev w0")
        return host
    }
}
