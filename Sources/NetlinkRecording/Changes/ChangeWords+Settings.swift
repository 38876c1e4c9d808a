// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// Settings, in the words of sysctl(8).

extension ChangeWords {
    mutating func settingActions() throws(KernelRefusal) -> [HostChange.Action] {
        while skip("-w") || skip("-q") {}
        var actions: [HostChange.Action] = []
        repeat {
            actions.append(.setting(try setting(try read("a setting"))))
        } while next != nil
        return actions
    }

    /// Parses a setting such as `net.ipv4.conf.eth0.rp_filter=1`.
    ///
    /// It can have slashes in place of the dots, or a slash for each dot in the name of the interface.
    private func setting(_ text: String) throws(KernelRefusal) -> HostChange.SettingRequest {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
            String.init)
        let separator = text.first { $0 == "." || $0 == "/" } ?? "."
        var names = parts[0].split(separator: separator).map(String.init)
        if separator == "." {
            names = names.map { String($0.map { $0 == "/" ? "." : $0 }) }
        }
        if names == ["net", "ipv4", "ip_forward"] { names = ["net", "ipv4", "conf", "all", "forwarding"] }
        let family = ["ipv4": IPAddress.Family.v4, "ipv6": .v6][names.dropFirst().first ?? ""]
        guard names.count == 5, names[0] == "net", names[2] == "conf", let family, parts.count == 2,
            let name = HostChange.SettingRequest.Name.all(family).first(where: { $0.rawValue == names[4] }),
            let value = UInt8(parts[1]), value <= (name == .reversePathFilter ? 2 : 1)
        else {
            throw Self.unknown(
                text,
                """
                net.ipv4.ip_forward, forwarding or rp_filter of net.ipv4.conf.INTERFACE, or forwarding, disable_ipv6 or \
                force_forwarding of net.ipv6.conf.INTERFACE with =VALUE
                """)
        }
        return HostChange.SettingRequest(family: family, device: names[3], name: name, value: value)
    }
}
