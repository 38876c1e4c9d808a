// SPDX-License-Identifier: Apache-2.0

import Glibc

// The figures of the monitor. The first word on the command line is the path of netflags, the others choose
// parts: latency, draining, current, handles, waiting. `targets=N` measures changes with N handles.

let words = CommandLine.arguments.dropFirst()
let parts = words.dropFirst()

func wants(_ part: String) -> Bool {
    parts.isEmpty || parts.contains(part)
}

do {
    let host = try Host()
    if wants("latency") {
        try Latency.frequent(host).run()
        if !parts.contains("hot") { try Latency.rare(host).run() }
    }
    if wants("draining") { try Draining(host: host).run() }
    if wants("current") { try CurrentFlagsRead().run() }
    if wants("handles") { try ManyHandles(host: host).run() }
    for part in parts where part.hasPrefix("targets=") {
        try ManyHandles(host: host).grow(to: Int(part.dropFirst("targets=".count)) ?? 1)
    }
    if wants("waiting") { try Waiting(host: host, netflags: words.first ?? "").run() }
} catch {
    let message = "monitoring: \(error)\n"
    write(STDERR_FILENO, message, message.utf8.count)
    exit(1)
}
