// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel
package import SystemSupport

extension Recorder {
    /// The first and the longest pause before a retry after a write error.
    private static let retryPauses = (first: Duration.seconds(1), last: Duration.seconds(60))

    /// Writes dumps and notifications into a directory, until it is stopped.
    ///
    /// An error after the first dump does not end the recording: writing is retried until it succeeds, and the
    /// missing part is marked. Without notifications, the thread sleeps.
    ///
    /// - Parameters:
    ///   - rotation: The directory.
    ///   - stop: When to stop.
    ///   - sleep: Detects that the machine slept; `nil` if that is not possible.
    ///   - notice: Called with each error, and with `nil` when the recording resumes.
    /// - Returns: The contents of the recording.
    /// - Throws: An error before the first dump is written, or the error of the last retry at the end.
    package mutating func record(
        into rotation: inout RecordingRotation,
        until stop: RecordingStop,
        sleep: SleepWatch? = SleepWatch(),
        notice: (ReachabilityError?) -> Void = { _ in }
    ) throws(ReachabilityError) -> RecordingSummary {
        if let watchError { throw watchError }
        summary = RecordingSummary()
        unprivileged = UnprivilegedChanges(limit: rotation.limit)
        try beginFile(&rotation, nil)
        var wait = RecordingWait(stop, sleep)
        var (pause, retry) = (Self.retryPauses.first, ContinuousClock.now)
        var firstError: ReachabilityError?
        while true {
            let wake = try wait.next(
                events: firstError == nil ? eventDescriptors : [],
                until: firstError == nil ? [rotation.syncDue, dumpDue].compactMap(\.self).min() : retry,
                &lastLook
            )
            if wake == .stop { break }
            do {
                if let lost = firstError {
                    guard wake == .timeout else { continue }
                    try resume(&rotation, after: lost)
                    (firstError, pause) = (nil, Self.retryPauses.first)
                    notice(nil)
                } else {
                    try handle(wake, &rotation, &wait)
                }
            } catch {
                // The kernel does not know about the error: notifications are queued or lost.
                if firstError == nil { notice(error) }
                firstError = firstError ?? error
                rotation.abandon()
                retry = .now + pause
                pause = min(pause * 2, Self.retryPauses.last)
            }
        }
        if let firstError { try resume(&rotation, after: firstError) }
        rotation.isEnding = true
        try recordClosingDump(into: &rotation)
        let now = clock.now
        try attempt { () throws(RecordingError) in
            try rotation.append(.end, at: now)
            try rotation.end()
        }
        summary.bytes = rotation.byteCount
        return summary
    }

    private mutating func handle(
        _ wake: RecordingWait.Wake,
        _ rotation: inout RecordingRotation,
        _ wait: inout RecordingWait
    ) throws(ReachabilityError) {
        switch wake {
        case .events, .clockSet:
            // After a loss, a dump was written already. Another one now would cause the next loss.
            if try recordEvents(into: &rotation, &wait), rotation.isFull {
                try beginFile(&rotation, .continued)
            }
        case .timeout:
            // The recorder can have been stopped until now.
            try recordEvents(into: &rotation, &wait)
            if let due = dumpDue, due <= .now, try hasRoomForDump(&rotation) {
                try rotation.isFull ? beginFile(&rotation, .continued) : recordDump(into: &rotation)
            }
            try attempt { () throws(RecordingError) in try rotation.sync() }
        case .resumed(let duration): try recordSleep(duration, into: &rotation)
        case .stop, .hangUp: break
        }
    }

    /// Whether a dump that is due can be made.
    ///
    /// Dumps for the lifetimes of routes have a budget.
    private mutating func hasRoomForDump(_ rotation: inout RecordingRotation) throws(ReachabilityError)
        -> Bool
    {
        guard let due = lifetimes.due, due <= .now else { return true }
        var bytes: [UInt8] = []
        let time = clock.now
        bytes.appendStamped(time) { statement in
            if !unprivileged.chargeDump(to: &statement) { lifetimes.forget() }
        }
        try attempt { () throws(RecordingError) in try rotation.append(bytes) }
        return lifetimes.due != nil
    }

    /// Begins the next file.
    ///
    /// The notifications that arrived during its dump are in the previous file. If the dump has outgrown the limit,
    /// changes continue in that file as long as there is space.
    private mutating func beginFile(
        _ rotation: inout RecordingRotation,
        _ reason: RecordingAnnotation?
    ) throws(ReachabilityError) {
        try recordDump(into: &rotation) { (rotation, snapshot) throws(RecordingError) in
            if reason == .continued, !rotation.hasRoom(for: snapshot) { return }
            try rotation.begin(reason, snapshot)
        }
    }

    /// Opens the directory again after an error, and begins a file that states the error.
    private mutating func resume(
        _ rotation: inout RecordingRotation,
        after error: ReachabilityError
    ) throws(ReachabilityError) {
        try attempt { () throws(RecordingError) in try rotation.reopen() }
        // Notifications that were received in between are in no file.
        while try readEvents() == .changes { dropPending() }
        dropPending()
        try beginFile(&rotation, .unwritten(number: error.number == 0 ? EIO : error.number))
    }
}
