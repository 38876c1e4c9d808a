// SPDX-License-Identifier: Apache-2.0

import Glibc

// The figures of the monitor. Words choose parts: latency, handles. `targets=N` measures changes with N handles.

let parts = CommandLine.arguments.dropFirst()

do {
    let host = try Host()
    if parts.isEmpty || parts.contains("latency") { try Latency(host: host).run() }
    if parts.isEmpty || parts.contains("handles") { try ManyHandles(host: host).run() }
    for part in parts where part.hasPrefix("targets=") {
        try ManyHandles(host: host).grow(to: Int(part.dropFirst("targets=".count)) ?? 1)
    }
} catch {
    let message = "monitoring: \(error)\n"
    write(STDERR_FILENO, message, message.utf8.count)
    exit(1)
}
