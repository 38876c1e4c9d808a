// SPDX-License-Identifier: Apache-2.0

internal import Glibc
public import NetlinkReachability
internal import RoutingModel

/// What `netflags record` wrote: the routing state of a host, and how it changed.
///
/// ```swift
/// let recording = Recording(path: "/var/lib/netflags")      // a file or a directory
/// var replay = try recording.replay(targets: [.defaultPath, .host("192.0.2.7")])
/// while let step = try replay.next() {
///     guard case .change(let change) = step else { continue }
///     print(change.time, change.result, change.causes.first?.description ?? "")
/// }
/// let before = try recording.source(at: replay.end)          // ask about the network of any instant
/// ```
///
/// A recording is read as a stream: memory depends on the size of the network, not on the length of the recording.
/// Each function reads it from its start, or from the file of a directory where its part begins. A pipe can be read
/// once.
///
/// A file that is damaged, or ends inside a message, is read up to there. A file without a whole dump before its damage
/// cannot be read; in a directory it is passed over. What is not recorded is not guessed: such spans have a ``Mark``,
/// and questions that the recording does not decide fail with `ReachabilityError.Code.undecided`.
public struct Recording: Hashable, Sendable {
    private enum Place: Hashable, Sendable {
        case path(String)
        case descriptor(Int32, name: String)
    }

    private let place: Place

    /// A file or a directory of `netflags record`.
    ///
    /// A file can also be one of `rtmon` or `ip monitor file`, or a packet capture of an nlmon device in pcap format.
    ///
    /// - Parameter path: The file or directory; nothing is opened yet.
    public init(path: String) {
        place = .path(path)
    }

    /// A recording that comes from an open descriptor, such as a pipe, and can be read once.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor, which stays the caller's and open.
    ///   - name: The name of the recording in errors.
    public init(descriptor: Int32, name: String) {
        place = .descriptor(descriptor, name: name)
    }

    /// The recording on standard input, which can be read once.
    public static let standardInput = Recording(descriptor: STDIN_FILENO, name: "stdin")

    /// The times of the first and the last entry; `nil` if no entry has a time.
    ///
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.unreadableRecording` if the recording
    ///   cannot be opened.
    public func span() throws(ReachabilityError) -> ClosedRange<Time>? {
        var stream = try stream()
        var times: (first: Time, last: Time)?
        while let stamp = stream.next({ $0.time }) {
            guard let stamp else { continue }
            times = (times?.first ?? stamp, stamp)
        }
        return times.map { $0.first...$0.last }
    }

    /// The network at an instant.
    ///
    /// - Parameter time: The instant; `nil` for the end of the recording.
    /// - Returns: A source that answers every question in process, as `NetworkSource.recording(path:)` does. Its
    ///   `NetworkSource.damage` says where the recording could not be read.
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.unreadableRecording` if the recording
    ///   cannot be opened, or has no whole dump before its damage.
    public func source(at time: Time? = nil) throws(ReachabilityError) -> NetworkSource {
        NetworkSource(routing: try routing(at: time), resolver: SystemResolver.shared)
    }

    /// The network at an instant, as a source of facts.
    package func routing(at time: Time? = nil) throws(ReachabilityError) -> RecordedRouting {
        let stream = try stream(from: time ?? Time(microsecondsSince1970: .max))
        do {
            return try RecordedRouting(stream, at: time)
        } catch {
            throw ReachabilityError(error)
        }
    }

    /// Evaluates targets over the recorded time, as the live monitor does.
    ///
    /// - Parameters:
    ///   - targets: Addresses and the default path. A recording contains no names.
    ///   - options: The socket that the questions are about.
    ///   - detail: How much a report contains.
    ///   - change: What counts as a change of a report.
    ///   - start: Nothing before this time is reported; `nil` for the first dump.
    ///   - end: Nothing after this time is reported; `nil` for the end of the recording.
    ///   - yieldsEvents: Whether there is a step for each notification too. Without targets, those are all steps
    ///     besides the marks.
    /// - Returns: The replay, before its first step.
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.invalidHost` if a target is a name,
    ///   `ReachabilityError.Code.unreadableRecording` if the recording cannot be opened.
    public func replay(
        targets: [ReachabilityTarget],
        options: ReachabilityOptions = ReachabilityOptions(),
        detail: ReachabilityReport.Detail = .brief,
        onChangeOf change: ReachabilityReport.Change = .flags,
        from start: Time? = nil,
        to end: Time? = nil,
        yieldsEvents: Bool = false
    ) throws(ReachabilityError) -> Replay {
        for target in targets {
            if case .host(let name) = target.kind { throw .recordedName(name) }
        }
        let stream = try stream(from: start)
        let monitor = DrivenMonitor(targets, options: options, detail: detail, changes: change)
        return Replay(stream, ReplayMonitor(monitor, from: start, to: end, yieldsEvents: yieldsEvents))
    }

    /// Opens the recording at a dump that ends before a time.
    private func stream(from start: Time? = nil) throws(ReachabilityError) -> RecordingStream {
        switch place {
        case .descriptor(let descriptor, let name): return RecordingStream(descriptor: descriptor, path: name)
        case .path(let path):
            do {
                return try RecordingStream(path: path, from: start)
            } catch {
                throw ReachabilityError(error)
            }
        }
    }
}

extension ReachabilityError {
    /// The error of a replay of a host name.
    package static func recordedName(_ name: String) -> ReachabilityError {
        ReachabilityError(
            .invalidHost,
            operation: "replay a recording",
            message: "a recording contains no names: give an address of \(name), or the default path"
        )
    }
}
