// SPDX-License-Identifier: Apache-2.0

import Duel
import Glibc
import NetlinkReachability
import NetlinkRecording
import NetlinkRoute

// `replaying write FILE ROUTES EVENTS` writes a recording. `replaying read FILE [TARGETS]` replays it.

let words = CommandLine.arguments.dropFirst()
do {
    switch (words.count, words.first) {
    case (4, "write"):
        var story = StormRecording(routes: Int(words[3]) ?? 0, events: Int(words[4]) ?? 0)
        try story.write(to: words[2])
    case (2...3, "read"):
        try read(words[2], targets: words.count == 3 ? Int(words[3]) ?? 100 : 100)
    default:
        fail("write FILE ROUTES EVENTS | read FILE [TARGETS]")
    }
} catch {
    fail("\(error)")
}

func read(_ path: String, targets count: Int) throws {
    var random = Random(seed: 7)
    let targets =
        [.defaultPath] + (1..<max(1, count)).map { _ in ReachabilityTarget.address(random.nextAddress()) }
    let recording = Recording(path: path)
    let clock = ContinuousClock()

    let (begin, beginCPU) = (clock.now, processorTime())
    var replay = try recording.replay(targets: targets)
    while try replay.next() != nil {}
    let (time, cpu) = (clock.now - begin, processorTime() - beginCPU)
    guard let start = replay.start, let end = replay.end else { return fail("the recording has no time") }
    let span = end.duration(since: start)
    // StormRecording has an event every millisecond.
    let rate = Double(span.components.seconds) * 1_000 / (cpu / .seconds(1))
    let name = "replay for \(targets.count) targets over \(span.components.seconds) s"
    try Table.print(Row(name, time / .seconds(1), unit: "s"))
    try Table.print(Row("\(name), of a processor", rate, unit: "events a second", goal: .replayRate))

    var slowest = Duration.zero
    let instants = 5
    for place in 1...instants {
        let instant = start.advanced(by: span * (2 * place - 1) / (2 * instants))
        let begin = clock.now
        _ = try recording.source(at: instant)
        slowest = max(slowest, clock.now - begin)
    }
    try Table.print(
        Row("the network at one of \(instants) instants, at most", slowest / .seconds(1), unit: "s"))
    try Table.print(
        Row("peak memory of the replay", Double(try peakMemory()) * 1_024 / 1_000_000, unit: "MB"))
}

/// The processor time of this process.
func processorTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}

/// The peak of this process's memory, in KiB.
func peakMemory() throws -> Int {
    guard let file = fopen("/proc/self/status", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, Int32(line.count), file) != nil {
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if text.hasPrefix("VmHWM:") { return Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0 }
    }
    return 0
}

func fail(_ text: String) {
    let message = "replaying: \(text)\n"
    write(STDERR_FILENO, message, message.utf8.count)
    exit(1)
}
