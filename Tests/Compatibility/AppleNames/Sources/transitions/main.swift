// SPDX-License-Identifier: Apache-2.0

// Lets the default route of its own network namespace come and go under every way of watching, in both language
// modes, and prints their calls. It changes routes: tests start it below `unshare`.

import AppleCode5
import AppleCode6
import Foundation

/// The calls of every watcher, in order.
final class Journal: @unchecked Sendable {
    private let lock = NSLock()
    private var entries: [String: [Bool]] = [:]

    func note(_ name: String, _ isOnline: Bool) {
        lock.withLock { entries[name, default: []].append(isOnline) }
    }

    func all(_ names: [String], are expected: [Bool]) -> Bool {
        lock.withLock { names.allSatisfy { entries[$0] == expected } }
    }

    var text: String {
        lock.withLock {
            entries.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: "\n")
        }
    }
}

/// Runs `ip`, without Foundation's `Process`, which needs a loopback interface that is up.
func ip(_ arguments: String) {
    var words: [UnsafeMutablePointer<CChar>?] = "ip \(arguments)".split(separator: " ").map {
        strdup(String($0))
    }
    words.append(nil)
    var child: pid_t = 0
    var status: Int32 = -1
    guard posix_spawnp(&child, "ip", nil, nil, &words, environ) == 0, waitpid(child, &status, 0) == child,
        status == 0
    else { fatalError("ip \(arguments): \(status)") }
}

let journal = Journal()
var names: [String] = []

@MainActor func expect(_ step: String, _ expected: [Bool]) {
    let limit = Date() + 60
    while !journal.all(names, are: expected) {
        guard Date() < limit else { fatalError("\(step): not \(expected)\n\(journal.text)") }
        _ = RunLoop.main.run(mode: .default, before: Date() + 0.02)
    }
    print("\(step): \(names.count) watchers received \(expected.map { $0 ? "online" : "offline" })")
}

print("localhost without a network: \(AppleCode5.isReachable(host: "localhost").0)")
for command in [
    "link set lo up", "link add w0 type veth peer name w1", "link set w0 up", "link set w1 up",
    "addr add 192.0.2.2/24 dev w0",
] { ip(command) }

let watchers5 = try AppleCode5.startWatchers { journal.note("5 \($0)", $1) }
let watchers6 = try AppleCode6.startWatchers { journal.note("6 \($0)", $1) }
names = watchers5.map { "5 \($0.name)" } + watchers6.map { "6 \($0.name)" }
expect("at the start", [false])
print("queries: \(AppleCode5.isConnectedToNetwork()) \(AppleCode6.isConnectedByMemberwiseAddress())")
ip("route add default via 192.0.2.1")
expect("the default route comes", [false, true])
print("queries: \(AppleCode5.isConnectedToNetwork()) \(AppleCode6.isConnectedByMemberwiseAddress())")
print("local network: \(AppleCode5.isOnLocalNetwork()) \(AppleCode6.isOnLocalNetwork())")
print("an error: \(AppleCode6.isReachable(host: "").error ?? "none")")
ip("route del default")
expect("it goes", [false, true, false])

for watcher in watchers5 { watcher.stop() }
for watcher in watchers6 { watcher.stop() }
let late = try AppleCode6.startWatchers { journal.note("late \($0)", $1) }
let stopped = names
names = late.map { "late \($0.name)" }
expect("after a restart", [false])
ip("route add default via 192.0.2.1")
expect("it comes again", [false, true])
guard journal.all(stopped, are: [false, true, false]) else {
    fatalError("called after the end\n\(journal.text)")
}
print("after the end no watcher was called")
