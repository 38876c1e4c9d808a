// SPDX-License-Identifier: Apache-2.0

// A process that lives in a network namespace of its own and answers the tests' queries there.
//
// It reads one command a line from its standard input and writes one answer a line, both as fields with tabs
// between them, until its input ends. With arguments it takes them as one command, answers and ends:
// a process that has nothing cached.

internal import Glibc
internal import TestNamespaces

/// Writes a line to the standard output, at once.
func write(_ fields: [String]) {
    var rest = Array((Fields.line(fields) + "\n").utf8)[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Glibc.write(1, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { exit(1) }
        rest = rest.dropFirst(count)
    }
}

var probe = Probe()
let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.isEmpty {
    write(["ready"])
    while let line = readLine() {
        write(probe.answer(Fields.read(line)))
    }
} else {
    write(probe.answer(arguments))
}
