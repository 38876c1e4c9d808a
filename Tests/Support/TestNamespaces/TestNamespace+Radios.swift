// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension TestNamespace {
    /// Moves a simulated radio to this namespace and another radio to a peer, until both namespaces end.
    ///
    /// - Returns: The names of the wireless interfaces in this namespace and in the peer's.
    package func takeRadios(with peer: TestNamespace) throws -> (own: String, peers: String) {
        let radios = try Capability.simulatedRadios()
        try take(radios[0])
        try peer.take(radios[1])
        return (try radioInterface(), try peer.radioInterface())
    }

    /// Moves a radio from the namespace of the test process to this namespace.
    private func take(_ radio: String) throws {
        try shell("nsenter -t \(getpid()) -n iw phy \(radio) set netns \(processIdentifier)")
    }

    private func radioInterface() throws -> String {
        let shown = try shell("iw dev | awk '$1 == \"Interface\" { print $2 }'")
        guard let name = shown.split(separator: "\n").first else { throw NamespaceFailure(shown) }
        return String(name)
    }

    /// Starts an access point for an open network.
    ///
    /// - Returns: The path of the log; the file with the process number is in the same folder.
    package func serve(_ ssid: String, on interface: String) throws -> String {
        let log = "/tmp/access-point-\(processIdentifier)"
        let settings = ["interface=\(interface)", "driver=nl80211", "ssid=\(ssid)", "hw_mode=g", "channel=1"]
        try shell(
            """
            printf '%s\\n' \(settings.joined(separator: " ")) >\(log).conf
            hostapd -B -P \(log).pid -f \(log) \(log).conf >/dev/null || { cat \(log); exit 1; }
            """)
        try wait(for: interface, state: "UP")
        return log
    }

    /// Associates a station, and repeats the attempt because a station can miss the first beacons.
    package func associate(_ station: String, with ssid: String) throws {
        for attempt in 0..<20 {
            try shell("iw dev \(station) connect -w \(ssid) 2412 || [ \(attempt) -lt 19 ]")
            if try ip("-o link show dev \(station)").contains("LOWER_UP") { break }
        }
        try wait(for: station, state: "UP")
    }
}
