// SPDX-License-Identifier: Apache-2.0

import PathsOnly

#if canImport(Network)
    import Network

    /// Where it runs.
    public func transport() -> String { "\(NWConnection(host: "192.0.2.1", port: 443, using: .tcp))" }
#else
    /// Where it runs.
    public func transport() -> String { "sockets" }
#endif

/// The status of the path, in the words of the library.
public func pathStatus() -> String { currentStatus() }
