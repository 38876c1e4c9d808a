// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability

/// Everything that `netflags check` was asked, understood.
struct CheckQuestion: Hashable {
    /// What answers look like.
    enum Format: String, CaseIterable {
        case text
        case json
        case prometheus
    }

    /// The targets as given; `-` stands for those on standard input.
    var targets: [String]
    var options = ReachabilityOptions()
    var format = Format.text
    var explains = false
    /// The recording to ask, `-` for standard input; `nil` for the kernel.
    var recording: String?

    /// Asks, and writes the answers to standard output.
    func answer() -> ExitStatus {
        let places: [Place]
        do {
            places = try understood()
        } catch {
            complain(error.message)
            return .usage
        }
        let source: NetworkSource?
        do {
            source = try chosenSource()
        } catch {
            complain("\(error)")
            return .undetermined
        }
        return switch format {
        case .text: run(places, source, TextOutput(self, isColoured: TextOutput.wantsColour(.standard)))
        case .json: run(places, source, JSONOutput(explains: explains))
        case .prometheus: run(places, source, PrometheusOutput())
        }
    }

    /// The recording, else the kernel, looked up once for all targets.
    ///
    /// Where there is no kernel to be had, each target says so.
    private func chosenSource() throws(ReachabilityError) -> NetworkSource? {
        guard let recording else { return try? NetworkSource.kernel() }
        return try .recording(path: recording == "-" ? "/dev/stdin" : recording)
    }

    private func run(
        _ places: [Place],
        _ source: NetworkSource?,
        _ format: some AnswerFormat
    ) -> ExitStatus {
        var run = CheckRun(question: self, source: source, format: format)
        return run.run(places)
    }
}

// MARK: - Targets

extension CheckQuestion {
    /// What an argument stands for.
    enum Place: Hashable {
        case target(String, ReachabilityTarget)
        case standardInput
    }

    /// Reads all targets, before any is asked about.
    func understood() throws(UsageFault) -> [Place] {
        guard targets.count(where: { $0 == "-" }) <= 1 else {
            throw UsageFault("standard input can be read once: give - once")
        }
        guard recording != "-" || !targets.contains("-") else {
            throw UsageFault("standard input is the recording or the targets: give a file for one of them")
        }
        guard format != .prometheus || !targets.contains("-") else {
            throw UsageFault("metrics are for targets that stay the same: give them as arguments, not as -")
        }
        var places: [Place] = []
        for text in targets {
            places.append(try Self.place(text))
        }
        return places
    }

    private static func place(_ text: String) throws(UsageFault) -> Place {
        if text == "-" { return .standardInput }
        do {
            return .target(text, try target(text))
        } catch {
            throw UsageFault("\(error)")
        }
    }

    /// Reads a target: a host, or `default`. A host of that name is asked about as `default.`
    static func target(_ text: String) throws(ReachabilityError) -> ReachabilityTarget {
        text == "default" ? .defaultPath : try .host(text)
    }
}
