// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability
internal import RoutingModel

extension Recording {
    /// The times of the first and the last entry; `nil` if no entry has a time.
    ///
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.unreadableRecording` if the recording
    ///   cannot be opened.
    public func span() throws(ReachabilityError) -> ClosedRange<Time>? {
        var stream = try attempt { () throws(RecordingError) in try self.stream() }
        var times: (first: Time, last: Time)?
        while let stamp = stream.next({ $0.time }) {
            guard let stamp else { continue }
            times = (times?.first ?? stamp, stamp)
        }
        return times.map { $0.first...$0.last }
    }

    /// The time of the first entry that has one; `nil` if none has a time.
    package func firstTime() throws(ReachabilityError) -> Time? {
        var stream = try attempt { () throws(RecordingError) in try self.stream() }
        while let stamp = stream.next({ $0.time }) {
            if let stamp { return stamp }
        }
        return nil
    }

    /// The boots of the host whose network is dumped, in order; empty if they are not known.
    package func boots() throws(ReachabilityError) -> [Boot] {
        var stream = try attempt { () throws(RecordingError) in try self.stream() }
        var boots: [Boot] = []
        while let isDump = stream.next({ if case .annotation(.dumpEnds) = $0.content { true } else { false } }
        ) {
            guard isDump, let boot = stream.boot, boots.last?.identifier != boot.identifier else { continue }
            boots.append(boot)
        }
        return boots
    }

    /// The network at an instant.
    ///
    /// - Parameter time: The instant; `nil` for the end of the recording.
    /// - Returns: A source that answers every query within the process, as `NetworkSource.recording(path:)` does.
    ///   Its `NetworkSource.damage` contains the places where the recording could not be read.
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.unreadableRecording` if the recording
    ///   cannot be opened, or has no complete dump before its damage.
    public func source(at time: Time? = nil) throws(ReachabilityError) -> NetworkSource {
        NetworkSource(routing: try routing(at: time), resolver: SystemResolver.shared)
    }

    /// The network at an instant, as a source of facts.
    ///
    /// - Parameters:
    ///   - time: The instant; `nil` for the end of the recording.
    ///   - origins: The time from which to record who requested changes; `nil` to record nothing.
    /// - Returns: The network.
    /// - Throws: An error if the recording cannot be opened, or has no complete dump before its damage.
    package func routing(
        at time: Time? = nil,
        notingOriginsSince origins: Time? = nil
    ) throws(ReachabilityError) -> RecordedRouting {
        try attempt { () throws(RecordingError) in
            let start = [origins, time].compactMap(\.self).min() ?? Time(microsecondsSince1970: .max)
            return try RecordedRouting(
                try stream(from: start), at: time, notingOrigins: origins != nil)
        }
    }

    /// Evaluates queries over the recorded time, as the live monitor does.
    ///
    /// - Parameters:
    ///   - queries: The queries to evaluate. A recording contains neither names nor name servers. Of events, it
    ///     contains only that the machine slept and that notifications were lost.
    ///   - start: Changes before this time are not reported; `nil` for the first dump.
    ///   - end: Changes after this time are not reported; `nil` for the end of the recording.
    ///   - yieldsEvents: Whether there is also a step for each notification. Without queries, these and the marks
    ///     are the only steps.
    /// - Returns: The replay, before its first step.
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.invalidHost` if a query is about a name,
    ///   `ReachabilityError.Code.unreadableRecording` if the recording cannot be opened.
    public func replay<Value>(
        of queries: [NetworkQuery<Value>],
        from start: Time? = nil,
        to end: Time? = nil,
        yieldsEvents: Bool = false
    ) throws(ReachabilityError) -> Replay<Value> {
        for query in queries {
            if let name = query.name { throw .recordedName(name) }
        }
        let stream = try attempt { () throws(RecordingError) in try self.stream(from: start) }
        let monitor = ReplayMonitor(
            DrivenMonitor(queries), from: start, to: end, yieldsEvents: yieldsEvents)
        return Replay(stream, monitor)
    }

    /// Opens the recording at a dump that ends before a time.
    private func stream(from start: Time? = nil) throws(RecordingError) -> RecordingStream {
        guard let descriptor else { return try RecordingStream(path: path, from: start) }
        return RecordingStream(descriptor: descriptor, path: path)
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

// MARK: - Sources

extension NetworkSource {
    /// A recorded network: the routing state of a host at the end of a recording.
    ///
    /// ```swift
    /// let source = try NetworkSource.recording(path: "router.rtnl")   // written by `netflags record`
    /// let reachability = try NetworkReachability(target: .host("192.0.2.7"), source: source)
    /// print(try await reachability.flags())
    /// ```
    ///
    /// The recording is read once. ``Recording`` has the network at earlier times, and the changes. Every query is
    /// answered within the process, without a netlink socket. A query that the recording does not decide fails with
    /// `ReachabilityError.Code.undecided`.
    ///
    /// A recording contains no names: this host's resolver resolves them at the time of the query. Rules that match
    /// on the user see the user of this process, unless `ReachabilityOptions.user` is set.
    ///
    /// - Parameter path: A file or directory of `netflags record`, or a file of `rtmon` or `ip monitor file`.
    /// - Returns: The source, which keeps no descriptor open.
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.unreadableRecording` if the file cannot
    ///   be opened, or has no complete dump before its ``damage``. The message contains the byte position and the
    ///   reason.
    public static func recording(path: String) throws(ReachabilityError) -> NetworkSource {
        try Recording(path: path).source()
    }

    /// Where the recording of this source could not be read; empty for an undamaged recording and for the live
    /// kernel.
    ///
    /// The network is that before the damage, or that of a later file of a directory.
    public var damage: [Recording.Damage] {
        (facts.routing as? RecordedRouting)?.damage ?? []
    }
}
