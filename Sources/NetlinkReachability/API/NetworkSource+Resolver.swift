// SPDX-License-Identifier: Apache-2.0

extension NetworkSource {
    /// The same network with another resolver for names.
    ///
    /// The new source has a monitor of its own, which resolves names through the resolver. Handles of both sources can
    /// be used side by side.
    ///
    /// - Parameter resolver: Resolves the names of all targets of the new source.
    /// - Returns: The new source.
    public func resolving(with resolver: some NameResolver) -> NetworkSource {
        NetworkSource(
            routing: facts.routing,
            resolver: CustomResolver(base: resolver),
            clock: monitor.clock,
            resolverFiles: monitor.resolverFiles,
            work: monitor.work,
            nameservers: facts.nameservers,
            changes: monitor.opening
        )
    }
}
