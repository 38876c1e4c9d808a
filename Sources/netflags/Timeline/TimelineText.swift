// SPDX-License-Identifier: Apache-2.0

import NetlinkRecording

/// A timeline for a terminal: one bar for each target, fitted to the width of the terminal.
struct TimelineText {
    private static let widestTarget = 39
    /// The least width of a bar; on a narrower terminal, the rows are wider than the terminal.
    private static let narrowestBar = 10

    let timeline: Timeline
    /// The width of a row.
    let width: Int
    let isColoured: Bool

    /// Writes the axis, the bars and the legend.
    func write(to buffer: inout ByteBuffer) {
        let label = min(
            Self.widestTarget, timeline.lanes.map { $0.target.columns }.max() ?? 0)
        let shares = timeline.lanes.map { $0.shareText ?? "" }
        let share = shares.map(\.utf8.count).max() ?? 0
        let bar = max(Self.narrowestBar, width - label - share - 4)
        buffer.append(spaces: label + 2)
        buffer.append(axis(bar))
        buffer.append("\n")
        for (lane, text) in zip(timeline.lanes, shares) {
            let columns = buffer.append(printable: lane.target)
            buffer.append(spaces: max(0, label - columns) + 2)
            draw(lane, bar, to: &buffer)
            buffer.append(spaces: 2 + share - text.utf8.count)
            buffer.append(text)
            buffer.append("\n")
        }
        buffer.append(spaces: label + 2)
        let used = Set(timeline.lanes.flatMap { $0.intervals.map(\.state) })
        let legend = Timeline.State.allCases.filter(used.contains).map(\.style)
            .map { "\($0.character) \($0.words)" }
        buffer.append(legend.joined(separator: "   "))
        buffer.append("\n")
    }

    // MARK: Bars

    /// The labels of the axis; the first is the date and time of the start.
    private func axis(_ bar: Int) -> String {
        let first = "\(timeline.start.date) \(timeline.start.clock(8))"
        var line = Array(first.unicodeScalars)
        for tick in TimeAxis(from: timeline.start, to: timeline.end, atMost: max(1, bar / 12)).ticks {
            let column = Int(place(of: tick.time, bar))
            guard column >= line.count + 2, column + tick.label.utf8.count <= bar else { continue }
            line += Array(repeating: " ", count: column - line.count)
            line += Array(tick.label.unicodeScalars)
        }
        return String(String.UnicodeScalarView(line))
    }

    /// The position of a time in a bar with a number of columns.
    private func place(of time: Recording.Time, _ bar: Int) -> Double {
        timeline.start.duration(to: time) / timeline.duration * Double(bar)
    }

    private func draw(_ lane: Timeline.Lane, _ bar: Int, to buffer: inout ByteBuffer) {
        var states = [Timeline.State?](repeating: nil, count: bar)
        for interval in lane.intervals {
            let first = min(Int(place(of: interval.start, bar)), bar - 1)
            // The end is not part of the interval.
            let last = min(Int(place(of: interval.end, bar).rounded(.up)), bar) - 1
            for place in first...max(first, last)
            where (states[place]?.rawValue ?? -1) < interval.state.rawValue {
                states[place] = interval.state
            }
        }
        var run = states[...]
        while let state = run.first {
            let count = run.prefix { $0 == state }.count
            let text = String(repeating: state?.style.character ?? " ", count: count)
            buffer.append(in: isColoured ? state?.style.colour : nil) { $0.append(text) }
            run = run.dropFirst(count)
        }
    }

    // MARK: Losses

    /// Writes a line for each loss: the time, the targets, the first cause and its effect, and the duration.
    func writeLosses(to buffer: inout ByteBuffer) {
        let needsDate = timeline.start.date != timeline.end.date
        for loss in losses {
            let time = (needsDate ? "\(loss.time.date) " : "") + loss.time.clock(8)
            let text = "\(loss.targets.joined(separator: ", ")): \(loss.words)"
            buffer.line(time, text, indentation: time.utf8.count + 1)
        }
    }

    /// The losses; targets that became unreachable and reachable together share one loss.
    private var losses: [(time: Recording.Time, targets: [String], words: String)] {
        var losses: [(time: Recording.Time, targets: [String], words: String)] = []
        for lane in timeline.lanes {
            for interval in lane.losses + lane.silences {
                let time = interval.cause?.time ?? interval.start
                let isOpen = interval.end == timeline.end
                let parts = [
                    interval.cause?.text, interval.effect ?? interval.reason,
                    isOpen ? "\(interval.duration.words), to the end" : interval.duration.words,
                ]
                let words = parts.compactMap(\.self).joined(separator: "; ")
                if let place = losses.firstIndex(where: { $0.time == time && $0.words == words }) {
                    losses[place].targets.append(lane.target)
                } else {
                    losses.append((time, [lane.target], words))
                }
            }
        }
        return losses.sorted { $0.time < $1.time }
    }
}

extension Timeline.State {
    /// The appearance of a state: its words, the character and colour of a bar of text, and the height of a bar in a
    /// picture as a fraction of 1.
    var style: (words: String, character: Character, colour: Colour?, height: Double) {
        switch self {
        case .reachable: ("reachable", "█", .green, 1)
        case .silent: ("routed and silent", "░", .magenta, 0.85)
        case .needsConnection: ("needs a connection", "▒", .magenta, 0.7)
        case .unreachable: ("not reachable", "·", .red, 0.3)
        case .undetermined: ("undecided", "?", .magenta, 0.5)
        case .unrecorded: ("not recorded", "~", nil, 0.5)
        }
    }
}
