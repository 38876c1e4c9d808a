// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRecording
internal import SystemSupport

extension SimulatedNetwork {
    /// The pace of a recording.
    public enum Pace: Hashable, Sendable {
        /// At the recorded times on the network's clock: ``SimulatedNetwork/advance(by:within:)`` plays the steps.
        case recorded
        /// Step by step, with ``SimulatedNetwork/playNextStep()``.
        case manual
    }

    /// Creates a network that plays a recording of `netflags record --events`.
    ///
    /// ```swift
    /// let network = try SimulatedNetwork(playing: "roaming.rtnl")
    /// let reachability = NetworkReachability(target: .defaultPath, source: network.source)
    /// let observation = try reachability.observe { print((try? $0.get())?.letters ?? "unknown") }
    /// while network.remainingStepCount > 0 { try await network.advance(by: .seconds(1)) }
    /// ```
    ///
    /// The first dump is played at the present instant of the clock. Each notification and each later dump is a step.
    /// Queries that the recording does not answer are undecided, as with `NetworkSource.recording(path:)`. A recording
    /// contains no names: set names with ``change(_:)``, which can change only names and failures during playback.
    /// ``apply(_:)`` ends the playback.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - pace: The pace.
    ///   - clock: The clock.
    /// - Throws: ``SimulationError`` with the code ``SimulationError/Code/unreadableRecording`` when the file cannot
    ///   be read or is malformed anywhere.
    public convenience init(
        playing path: String,
        pace: Pace = .recorded,
        clock: ManualClock = ManualClock()
    ) throws(SimulationError) {
        let player = try RecordingPlayer(path: path)
        self.init(clock: clock)
        state.withLock { $0.player = player }
        playNextStep()
        if pace == .recorded { scheduleStep(of: player, since: clock.now) }
    }

    /// Plays the next step of a recording without regard to its time.
    ///
    /// ```swift
    /// while network.playNextStep() { try await network.settle() }
    /// ```
    ///
    /// - Returns: Whether a step was played; false when the network plays no recording.
    @discardableResult
    public func playNextStep() -> Bool {
        player.map { playStep(of: $0) } ?? false
    }

    /// The number of remaining steps; 0 when the network plays no recording.
    public var remainingStepCount: Int { player?.count ?? 0 }

    private func scheduleStep(of player: RecordingPlayer, since start: ManualClock.Instant) {
        guard let offset = player.nextOffset else { return }
        clock.schedule(at: start.advanced(by: offset)) { [weak self] _ in
            guard let self, self.player === player else { return }
            self.playStep(of: player)
            self.scheduleStep(of: player, since: start)
        }
    }

    // MARK: Steps

    /// The recording being played; `nil` for none.
    private var player: RecordingPlayer? { state.withLock { $0.player } }

    /// Plays a step; returns false after the last step, or if the step cannot be read.
    @discardableResult
    private func playStep(of player: RecordingPlayer) -> Bool {
        do {
            guard let step = try player.play() else { return false }
            state.withLock { state in
                guard state.player === player else { return }
                state.recorded = step.routing
                state.host.show(step.routing.routing)
                if step.isOverrun {
                    feeds.overrun()
                } else {
                    feeds.notify(step.notifications)
                }
            }
            return true
        } catch {
            state.withLock { $0.failure = error }
            return false
        }
    }
}
