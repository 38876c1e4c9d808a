// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import NetlinkReachability
internal import RoutingModel

/// The switches in sysfs with which a user turns radios off, for example with rfkill(8).
struct RadioSwitches: Sendable {
    /// The sysfs folder of device classes.
    var classes = "/sys/class"

    /// Returns why a path is unsatisfied, as far as radio switches explain it.
    ///
    /// - Parameters:
    ///   - interfaces: The interfaces of this host.
    ///   - isAdmitted: Returns whether the path can use interfaces of a type.
    /// - Returns: The reason; a Wi-Fi switch comes first.
    func reason(
        _ interfaces: [NetworkInterface],
        _ isAdmitted: (NWInterface.InterfaceType) -> Bool
    ) -> NWPath.UnsatisfiedReason {
        let wifi = interfaces.filter { $0.type == .wifi }.map(\.name)
        let isWiFiOff = wifi.allSatisfy { areOff(switches(in: "\(classes)/net/\($0)/phy80211")) }
        if isAdmitted(.wifi), !wifi.isEmpty, isWiFiOff { return .wifiDenied }
        // In sysfs, modems are not below their network interfaces.
        if isAdmitted(.cellular), interfaces.contains(where: { $0.type == .cellular }),
            areOff(switches(in: "\(classes)/rfkill").filter { text("\($0)/type") == "wwan" })
        {
            return .cellularDenied
        }
        return .notAvailable
    }

    private func switches(in folder: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.hasPrefix("rfkill") }.map { "\(folder)/\($0)" }
    }

    private func areOff(_ switches: [String]) -> Bool {
        !switches.isEmpty && switches.allSatisfy { text("\($0)/soft") == "1" || text("\($0)/hard") == "1" }
    }

    private func text(_ path: String) -> String? {
        (try? String(contentsOfFile: path, encoding: .utf8))?.split(whereSeparator: \.isWhitespace).first.map(
            String.init)
    }
}

extension RadioSwitches {
    /// Returns the reason for this host.
    func reason(_ isAdmitted: (NWInterface.InterfaceType) -> Bool) -> NWPath.UnsatisfiedReason {
        let routing = NetworkSource.kernel.facts.routing
        guard let links = try? routing.links() else { return .notAvailable }
        let facts = links.compactMap { try? routing.facts(aboutInterface: $0.index, detail: .reason) }
        return reason(facts.map { NetworkInterface($0) }, isAdmitted)
    }
}
