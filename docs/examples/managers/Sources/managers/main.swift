// SPDX-License-Identifier: Apache-2.0

// Prints what the managers of the network say and the path with its cost, now and at each change, until it is ended.

import Glibc
import LinuxNetwork
import NetlinkReachability
import NetworkManagers

// Written at once, also to a pipe.
@Sendable func show(_ line: String) {
    print(line)
    fflush(nil)
}

@Sendable func words<Value>(_ fact: ManagerFact<Value>, _ text: (Value) -> String) -> String {
    switch fact {
    case .known(let value, let source): "\(text(value)) (\(source))"
    case .unknown: "unknown"
    }
}

@Sendable func show(_ facts: ManagerFacts) {
    if facts.interfaces.isEmpty { show("no manager says anything") }
    for interface in facts.interfaces.values.sorted(by: { $0.index < $1.index }) where interface.name != "lo"
    {
        let parts = [
            words(interface.metering, \.rawValue),
            "connectivity \(words(interface.connectivity, \.rawValue))",
            "connection \(words(interface.connection, \.name))",
            "servers \(words(interface.nameservers) { $0.map(\.description).joined(separator: " ") })",
            "domains \(words(interface.domains) { $0.map(\.name).joined(separator: " ") })",
            "portal \(words(interface.captivePortal) { $0 })",
            "NAT64 \(words(interface.nat64Prefixes) { $0.map(\.description).joined(separator: " ") })",
        ]
        show("\(interface.name): \(parts.joined(separator: ", "))")
    }
}

let source = NetworkSource.kernel
let managers = try ManagerMonitor(source: source)
let observation = try source.observe(managers.query) { result in
    if case .success(let facts) = result, !facts.isPending { show(facts) }
}
// Longer than a manager that hangs is waited for, so that the states are known.
_ = try? await source.wait(for: managers.query, timeout: .seconds(10)) { !$0.isPending }
for name in ManagerName.allCases { show("\(name): \(managers.facts.state(of: name))") }
// By Apple's name the managers are asked without a line of code.
let monitor = NWPathMonitor()
monitor.pathUpdateHandler = { show("NWPath: \($0.isExpensive ? "expensive" : "free")") }
monitor.start(queue: .global())
for try await path in source.updates(of: .path(metering: managers.metering)) {
    show("path: \(path)")
    // Known once a packet was sent to the gateway. It locates the user: not for a log.
    if CommandLine.arguments.contains("--identity"), let identity = try await source.value(of: .identity()) {
        show("identity: \(identity)")
    }
    if CommandLine.arguments.contains("--once") { exit(0) }
}
