// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import NetlinkRoute
internal import RoutingModel
internal import SystemSupport

extension SimulatedNetwork {
    /// How fast a recording is played.
    public enum Pace: Hashable, Sendable {
        /// As it was recorded, on the network's clock: ``SimulatedNetwork/advance(by:within:)`` plays it.
        case recorded
        /// Step by step, with ``SimulatedNetwork/playNextStep()``.
        case manual
    }

    /// Makes a network that plays a recording: `netflags record --events` writes one.
    ///
    /// ```swift
    /// let network = try SimulatedNetwork(playing: "roaming.rtnl")
    /// let reachability = try NetworkReachability(target: .defaultPath, source: network.source)
    /// try reachability.start { flags in print(flags.letters) }
    /// while network.remainingStepCount > 0 { try await network.advance(by: .seconds(1)) }
    /// ```
    ///
    /// It begins with the first dump, when the clock is where it is now. Each notification is a step, and each later
    /// dump is one as a whole. What the recording does not tell is undecided and never guessed, as with
    /// `NetworkSource.recording(path:)`. It holds no names: give them with ``change(_:)``, which can change nothing
    /// else but failures here. ``apply(_:)`` ends the playback.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - pace: How fast it is played.
    ///   - clock: The network's time.
    /// - Throws: ``SimulationError`` with the code ``SimulationError/Code/unreadableRecording`` when the file cannot
    ///   be read or is malformed anywhere.
    public convenience init(
        playing path: String,
        pace: Pace = .recorded,
        clock: ManualClock = ManualClock()
    ) throws(SimulationError) {
        let player = try RecordingPlayer(path: path)
        self.init(clock: clock)
        begin(player)
        playNextStep()
        if pace == .recorded { scheduleStep(of: player, since: clock.now) }
    }

    /// Plays the next step of a recording, whatever its time.
    ///
    /// ```swift
    /// while network.playNextStep() { try await network.settle() }
    /// ```
    ///
    /// - Returns: Whether there was one; also false when the network plays none.
    @discardableResult
    public func playNextStep() -> Bool {
        player.map { playStep(of: $0) } ?? false
    }

    /// How many steps of a recording are left to be played; 0 when the network plays none.
    public var remainingStepCount: Int { player?.count ?? 0 }

    private func scheduleStep(of player: RecordingPlayer, since start: ManualClock.Instant) {
        guard let offset = player.nextOffset else { return }
        clock.schedule(at: start.advanced(by: offset)) { [weak self] in
            guard let self, self.player === player else { return }
            self.playStep(of: player)
            self.scheduleStep(of: player, since: start)
        }
    }

    // MARK: Steps

    /// The recording that is played; `nil` for none.
    var player: RecordingPlayer? { state.withLock { $0.player } }

    /// Plays a recording from now on.
    func begin(_ player: RecordingPlayer) {
        state.withLock { $0.player = player }
    }

    /// Plays a step; false when there was none, or it could not be read.
    @discardableResult
    func playStep(of player: RecordingPlayer) -> Bool {
        do {
            guard let step = try player.play() else { return false }
            state.withLock { state in
                guard state.player === player else { return }
                state.recorded = step.routing
                state.host.show(step.routing.routing)
                if step.isOverrun {
                    simulation.feeds.overrun()
                } else {
                    simulation.feeds.notify(step.notifications)
                }
            }
            return true
        } catch {
            state.withLock { $0.failure = error }
            return false
        }
    }
}
