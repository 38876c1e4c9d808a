// SPDX-License-Identifier: Apache-2.0

/// The name servers that the resolver of a host asks.
package enum Nameservers {
    /// Tells the name servers; `nil` where nothing is known of them, as in a recording.
    package typealias Source = @Sendable () -> [IPAddress]?

    /// The resolver's file on every Linux, and the one in which systemd-resolved names the servers behind its
    /// own address.
    private static let file = "/etc/resolv.conf"
    static let resolvedFile = "/run/systemd/resolve/resolv.conf"

    /// How many of the file's servers the C library asks (MAXNS of `resolv.h`).
    private static let limit = 3

    /// Those of the system, as its files are now.
    static let system: Source = { inUse(resolvConf: file, resolvedConf: resolvedFile) }

    /// Reads the files.
    ///
    /// An address of systemd-resolved's own (127.0.0.53, 127.0.0.54) stands for the servers that it asks, where
    /// they can be read. Any other server on this host is taken at its word.
    package static func inUse(resolvConf: String, resolvedConf: String) -> [IPAddress] {
        let configuration = ResolverConfiguration.read(resolvConf: resolvConf)
        let named = configuration.nameservers.prefix(limit).compactMap { IPAddress($0) }
        guard named.contains(where: isResolved) else { return named }
        let resolved = ResolverConfiguration.read(resolvConf: resolvedConf)
        guard resolved.troubles.isEmpty else { return named }
        return named.filter { !isResolved($0) } + resolved.nameservers.compactMap { IPAddress($0) }
    }

    private static func isResolved(_ address: IPAddress) -> Bool {
        address == IPAddress(127, 0, 0, 53) || address == IPAddress(127, 0, 0, 54)
    }
}
