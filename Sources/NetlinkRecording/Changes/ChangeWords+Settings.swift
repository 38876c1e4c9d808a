// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// Settings, in the words of sysctl(8).

extension ChangeWords {
    mutating func settingActions() throws(KernelRefusal) -> [HostChange.Action] {
        while skip("-w") || skip("-q") {}
        var actions: [HostChange.Action] = []
        repeat {
            actions.append(.setting(try setting(try take("a setting"))))
        } while next != nil
        return actions
    }

    /// A setting such as `net.ipv4.conf.eth0.rp_filter=1`.
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
        guard names.count == 5, names[..<3] == ["net", "ipv4", "conf"], parts.count == 2,
            let name = HostChange.SettingRequest.Name(rawValue: names[4]),
            let value = UInt8(parts[1]), value <= (name == .forwarding ? 1 : 2)
        else {
            throw Self.unknown(
                text,
                "net.ipv4.ip_forward, net.ipv4.conf.INTERFACE.forwarding or net.ipv4.conf.INTERFACE.rp_filter with =VALUE"
            )
        }
        return HostChange.SettingRequest(device: names[3], name: name, value: value)
    }
}
