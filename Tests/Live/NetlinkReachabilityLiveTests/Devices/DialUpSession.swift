// SPDX-License-Identifier: Apache-2.0

import TestNamespaces

/// Two `pppd` that talk over a pseudo terminal: one in the namespace of a host, the other in that of its peer.
final class DialUpSession {
    private let host: TestNamespace
    private let peer: TestNamespace
    private let processFile: String

    /// Starts the dialling side.
    ///
    /// - Parameters:
    ///   - host: Where the interface `ppp0` appears.
    ///   - options: Options of the dialling `pppd`.
    /// - Throws: When it cannot be started.
    init(_ host: TestNamespace, _ options: String...) throws {
        self.host = host
        peer = try host.makePeer()
        processFile = "/run/ppp-test-\(host.processIdentifier)"
        let common =
            "noauth local nodetach lcp-echo-interval 0 ip-up-script /bin/true ip-down-script /bin/true"
        let answering =
            "nsenter -t \(peer.processIdentifier) -n pppd notty \(common) 10.8.0.1:10.8.0.2 nodefaultroute"
        let dialling = "pppd pty '\(answering)' \(common) \(options.joined(separator: " "))"
        let script = "mkdir -p /run/pppd/lock; \(dialling) >\(processFile).log 2>&1 & echo $! >\(processFile)"
        try host.shell(script)
    }

    /// Ends the session, and with it the interface.
    func hangUp() throws {
        try host.shell("kill $(cat \(processFile))")
    }

    deinit {
        _ = try? host.shell("kill $(cat \(processFile)); rm -f \(processFile) \(processFile).log")
    }
}
