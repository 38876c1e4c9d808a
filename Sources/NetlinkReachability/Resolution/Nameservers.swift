// SPDX-License-Identifier: Apache-2.0

/// The name servers that the resolver of a host asks.
package enum Nameservers {
    /// Lists the name servers; `nil` where they are unknown, as in a recording.
    package typealias Source = @Sendable () -> [IPAddress]?

    /// The resolver's file on every Linux, and the one in which systemd-resolved names the servers behind its
    /// own address.
    private static let file = "/etc/resolv.conf"
    static let resolvedFile = "/run/systemd/resolve/resolv.conf"

    /// How many of the file's servers the C library asks (MAXNS of `resolv.h`).
    private static let limit = 3

    /// Reads the system's files at each call.
    package static let system: Source = { inUse(resolvConf: file, resolvedConf: resolvedFile) }

    /// Reads the files as the C library does; `nil` when the process has no descriptor for them.
    ///
    /// An address of systemd-resolved (127.0.0.53, 127.0.0.54) is replaced by the servers that it asks, where
    /// they can be read. Any other server on this host is kept. Without a server the C library asks 127.0.0.1.
    package static func inUse(resolvConf: String, resolvedConf: String) -> [IPAddress]? {
        let configuration = ResolverConfiguration.read(resolvConf: resolvConf)
        // A process without descriptors cannot read the file, which says nothing about the servers.
        if configuration.errors.contains(where: { $0.isExhaustion }) { return nil }
        let servers = configuration.nameservers
        let named = servers.isEmpty ? [.loopbackV4] : Array(servers.prefix(limit))
        guard named.contains(where: isResolved) else { return named }
        let resolved = ResolverConfiguration.read(resolvConf: resolvedConf)
        guard resolved.errors.isEmpty else { return named }
        return named.filter { !isResolved($0) } + resolved.nameservers
    }

    private static func isResolved(_ address: IPAddress) -> Bool {
        address == IPAddress(127, 0, 0, 53) || address == IPAddress(127, 0, 0, 54)
    }
}
