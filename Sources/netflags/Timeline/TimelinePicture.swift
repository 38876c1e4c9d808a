// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording

/// A timeline as an independent picture (SVG 1.1).
///
/// The states differ in height and pattern as well as in colour. The colours follow `prefers-color-scheme`.
struct TimelinePicture {
    private enum Size {
        static let width = 960.0
        static let margin = 16.0
        static let character = 7.3
        static let shareWidth = 56.0
        static let markerWidth = 22.0
        static let line = 20.0
        /// Longer targets are cut.
        static let longestTarget = 40
        /// The number of listed events; further events are only counted.
        static let listedEvents = 100
        /// The number of levels for markers that are too close to each other; further markers overlap.
        static let levels = 4
    }

    private let timeline: Timeline
    /// The name of the recording.
    private let source: String
    private let events: [ChangeCause]
    private let left: Double
    private let right = Size.width - Size.margin - Size.shareWidth
    /// The height of a lane, and the height of its bar.
    private let row: Double
    private let bar: Double

    init(_ timeline: Timeline, source: String) {
        self.timeline = timeline
        self.source = source
        events = timeline.events
        let longest = timeline.lanes.map { $0.target.unicodeScalars.count }.max() ?? 0
        left = Size.margin + Double(min(longest, Size.longestTarget)) * Size.character + 12
        row = timeline.lanes.count > 16 ? 17 : 28
        bar = row - (timeline.lanes.count > 16 ? 5 : 8)
    }

    // MARK: Places

    private var top: Double { 104 }
    private var bottom: Double { top + Double(timeline.lanes.count) * row }
    private var eventTop: Double { bottom + 14 }
    private var listTop: Double { eventTop + Double(levelCount) * Size.line + 22 }
    private var listed: ArraySlice<ChangeCause> { events.prefix(Size.listedEvents) }

    private var height: Double {
        let lines = listed.count + (events.count > listed.count ? 1 : 0)
        return (events.isEmpty ? bottom + 8 : listTop + Double(lines) * Size.line) + Size.margin
    }

    private func x(_ time: Recording.Time) -> Double {
        let share = timeline.start.duration(to: time) / timeline.duration
        return left + min(max(share, 0), 1) * (right - left)
    }

    /// The level of each listed event's marker, chosen so that markers do not overlap.
    private var levels: [Int] {
        var ends = Array(repeating: -Double.infinity, count: Size.levels)
        return listed.map { event in
            let place = x(event.time) - Size.markerWidth / 2
            let level = ends.firstIndex { $0 <= place } ?? ends.indices.min { ends[$0] < ends[$1] } ?? 0
            ends[level] = place + Size.markerWidth
            return level
        }
    }

    private var levelCount: Int { (levels.max() ?? 0) + 1 }

    // MARK: Writing

    /// The text with which each picture begins.
    static let beginning = "<svg "

    func write(to buffer: inout ByteBuffer) {
        let (width, height) = (number(Size.width), number(height))
        buffer.append(Self.beginning)
        buffer.append("xmlns=\"http://www.w3.org/2000/svg\" width=\"\(width)\" height=\"\(height)\" ")
        buffer.append("viewBox=\"0 0 \(width) \(height)\" role=\"img\" ")
        buffer.append("aria-labelledby=\"netflags-title netflags-desc\">\n")
        buffer.append(XML.element("title", "id=\"netflags-title\"", title) + "\n")
        buffer.append(XML.element("desc", "id=\"netflags-desc\"", description) + "\n")
        buffer.append(Self.style + Self.patterns)
        buffer.append("<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n")
        buffer.append(head + axis)
        for (place, lane) in timeline.lanes.enumerated() { buffer.append(drawn(lane, at: place)) }
        if !events.isEmpty { buffer.append(markers + list) }
        buffer.append("</svg>\n")
    }

    private var title: String { "Reachability in \(source)" }

    private var span: String {
        let (start, end) = (timeline.start, timeline.end)
        let last = start.date == end.date ? end.clock(8) : "\(end.date) \(end.clock(8))"
        return "\(start.date) \(start.clock(8)) to \(last) UTC, \(timeline.duration.words)"
    }

    /// The picture in words, for readers who cannot see it.
    private var description: String {
        var sentences = [span + "."]
        for lane in timeline.lanes {
            let losses = lane.losses
            var words = "\(lane.target): "
            if losses.isEmpty {
                words += "reachable all the time"
            } else {
                let lost = losses.reduce(Duration.zero) { $0 + $1.duration }
                words += "not reachable \(losses.count == 1 ? "once" : "\(losses.count) times")"
                words += ", \(lost.words)"
                if let cause = losses.first?.cause { words += ", first when \(cause.text)" }
            }
            let missing = lane.intervals.filter { $0.state == .unrecorded }
                .reduce(Duration.zero) { $0 + $1.duration }
            if missing > .zero { words += "; \(missing.words) not recorded" }
            let silences = lane.silences.reduce(Duration.zero) { $0 + $1.duration }
            if silences > .zero { words += "; \(silences.words) routed and silent" }
            sentences.append(words + ".")
        }
        return sentences.joined(separator: " ")
    }

    // MARK: Head

    private var head: String {
        let room = Int((Size.width - 2 * Size.margin) / 9)
        var drawn = text(Self.cut(title, room), Size.margin, 26, "class=\"head\"")
        drawn += text(span, Size.margin, 46, "class=\"faint\"")
        var place = Size.margin
        let used = Set(timeline.lanes.flatMap { $0.intervals.map(\.state) })
        for state in Timeline.State.allCases where used.contains(state) {
            drawn += "<rect \(attributes(state, place, 56, 22, 14))/>\n"
            drawn += text(state.style.words, place + 28, 67, "class=\"faint\"")
            place += 28 + Double(state.style.words.count) * Size.character + 18
        }
        return drawn
    }

    private var axis: String {
        let limit = Int((right - left) / 90)
        let ticks = TimeAxis(from: timeline.start, to: timeline.end, atMost: limit).ticks.map { tick in
            let place = x(tick.time)
            // A label at the edge would be cut or overlap the next column.
            let anchor = place < left + 20 ? "start" : place > right - 20 ? "end" : "middle"
            return line(place, top - 6, place, bottom + 4, "grid")
                + text(tick.label, place, top - 11, "class=\"faint\" text-anchor=\"\(anchor)\"")
        }
        return ticks.joined() + line(left, bottom + 4, right, bottom + 4, "axis")
    }

    // MARK: Lanes

    private func drawn(_ lane: Timeline.Lane, at place: Int) -> String {
        let y = top + Double(place) * row + (row - bar) / 2
        // Short intervals are drawn last, so that their neighbours do not cover them.
        let ordered = lane.intervals.sorted { $0.state.rawValue < $1.state.rawValue }
        let bars = ordered.map { interval in
            let start = x(interval.start)
            let width = max(x(interval.end) - start, 2)
            let rect = attributes(interval.state, min(start, right - width), y, width, bar)
            return "<rect \(rect)>\(XML.element("title", "", Self.words(interval, lane.target)))</rect>\n"
        }
        let name = Self.cut(lane.target, Size.longestTarget)
        let share = lane.shareText.map {
            text($0, Size.width - Size.margin, y + bar / 2 + 4, "class=\"faint\" text-anchor=\"end\"")
        }
        return text(name, left - 10, y + bar / 2 + 4, "text-anchor=\"end\"")
            + "<g>\n\(bars.joined())</g>\n\(share ?? "")"
    }

    private static func words(_ interval: Timeline.Interval, _ target: String) -> String {
        var words = "\(target): \(interval.state.style.words), "
        words += "\(interval.start.clock(8)) to \(interval.end.clock(8)) (\(interval.duration.words))"
        words += "; \(interval.answer?.failure?.description ?? interval.reason)"
        if let cause = interval.cause { words += "; \(cause.time.clock(8)) \(cause.text)" }
        return words
    }

    /// The attributes of a bar for a state: a lower bar is worse, and each state has its own pattern.
    private func attributes(
        _ state: Timeline.State, _ x: Double, _ y: Double, _ width: Double, _ height: Double
    ) -> String {
        let drawn = max(5, (height * state.style.height).rounded())
        return "class=\"\(state)\" x=\"\(number(x))\" y=\"\(number(y + height - drawn))\" "
            + "width=\"\(number(width))\" height=\"\(number(drawn))\""
    }

    // MARK: Events

    /// The numbers of the events below the lanes.
    private var markers: String {
        let middle = eventTop + 9
        let drawn = zip(listed, levels).enumerated().map { place, marked in
            let (x, y) = (x(marked.0.time), middle + Double(marked.1) * Size.line)
            return line(x, top, x, y - 8, "event") + marker(marked.0, "\(place + 1)", x, y)
        }
        return text("events", left - 10, middle + 4, "class=\"faint\" text-anchor=\"end\"") + drawn.joined()
    }

    /// The list of the events, in words.
    private var list: String {
        let room = Int((Size.width - 2 * Size.margin - 120) / Size.character)
        let drawn = listed.enumerated().map { place, event in
            let y = listTop + Double(place) * Size.line
            return marker(event, "\(place + 1)", Size.margin + 11, y - 4)
                + text(event.time.clock(8), Size.margin + 32, y, "class=\"faint\"")
                + text(Self.cut(event.text, room), Size.margin + 120, y, "")
        }
        guard events.count > listed.count else { return drawn.joined() }
        let y = listTop + Double(listed.count) * Size.line
        let more = "and \(events.count - listed.count) more"
        return drawn.joined() + text(more, Size.margin + 32, y, "class=\"faint\"")
    }

    /// A number in a shape that shows the kind of the event.
    private func marker(_ event: ChangeCause, _ label: String, _ x: Double, _ y: Double) -> String {
        let points = event.symbol.outline.map { "\(number(x + $0.0)),\(number(y + $0.1))" }
        return "<g class=\"\(event.symbol == .recording ? "mark" : "cause")\">"
            + XML.element("title", "", "\(event.time.clock(8)) \(event.text)")
            + "<polygon points=\"\(points.joined(separator: " "))\"/>"
            + XML.text(label, x, y + 3.5, "class=\"number\" text-anchor=\"middle\"") + "</g>\n"
    }

    private func text(_ text: String, _ x: Double, _ y: Double, _ attributes: String) -> String {
        XML.text(text, x, y, attributes) + "\n"
    }

    private func line(_ x: Double, _ y: Double, _ otherX: Double, _ otherY: Double, _ name: String) -> String
    {
        "<path class=\"\(name)\" d=\"M\(number(x)) \(number(y))L\(number(otherX)) \(number(otherY))\"/>\n"
    }

    private static func cut(_ text: String, _ room: Int) -> String {
        let scalars = text.unicodeScalars
        return scalars.count <= room ? text : String(String.UnicodeScalarView(scalars.prefix(room - 1))) + "…"
    }
}

/// Elements of XML 1.0.
private enum XML {
    /// An element that contains text alone.
    ///
    /// - Parameters:
    ///   - name: The name of the element.
    ///   - attributes: The attributes of the element, as written.
    ///   - text: The text, which this function escapes.
    /// - Returns: The element.
    static func element(_ name: String, _ attributes: String, _ text: String) -> String {
        "<\(name)\(attributes.isEmpty ? "" : " ")\(attributes)>\(escaped(text))</\(name)>"
    }

    /// A text of a picture at a position.
    static func text(_ text: String, _ x: Double, _ y: Double, _ attributes: String) -> String {
        let place = "x=\"\(Int(x.rounded()))\" y=\"\(Int(y.rounded()))\""
        return element("text", place + (attributes.isEmpty ? "" : " ") + attributes, text)
    }

    /// The text with the special characters of XML escaped.
    ///
    /// Characters that XML cannot contain, and characters that change the direction of the following text, are
    /// replaced.
    private static func escaped(_ text: String) -> String {
        // The only other characters that XML 1.0 excludes.
        let excluded: Set<Unicode.Scalar> = ["\u{FFFE}", "\u{FFFF}"]
        let scalars = text.unicodeScalars.map { excluded.contains($0) ? "\u{FFFD}" : $0 }
        var plain = ByteBuffer()
        plain.append(printable: String(String.UnicodeScalarView(scalars)))
        return String(decoding: plain.bytes, as: UTF8.self).escaped(entities)
    }

    private static let entities: [UInt8: String] = [
        UInt8(ascii: "<"): "&lt;", UInt8(ascii: ">"): "&gt;", UInt8(ascii: "&"): "&amp;",
        UInt8(ascii: "\""): "&quot;",
    ]
}

/// A number with at most one digit after the decimal point.
private func number(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
}

extension ChangeCause.Symbol {
    /// The corners of a marker around its centre: each kind has its own shape.
    fileprivate var outline: [(Double, Double)] {
        switch self {
        case .link: [(-10, -8), (10, -8), (10, 8), (-10, 8)]
        case .address: [(-10, -4), (-6, -8), (6, -8), (10, -4), (10, 4), (6, 8), (-6, 8), (-10, 4)]
        case .route: [(-11, 0), (-6, -8), (6, -8), (11, 0), (6, 8), (-6, 8)]
        case .rule: [(-11, 8), (-7, -8), (7, -8), (11, 8)]
        case .other: [(-7, -8), (11, -8), (7, 8), (-11, 8)]
        case .recording: [(-10, -8), (10, -8), (7, 0), (10, 8), (-10, 8), (-7, 0)]
        }
    }
}

// MARK: - Style

extension TimelinePicture {
    private static let style = """
        <style>
        text{font:12px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;fill:#1f2328}
        .head{font-weight:bold;font-size:15px}
        .faint{fill:#59636e}
        .number{font-size:10px;fill:#1f2328}
        .paper{fill:#ffffff}
        .grid{stroke:#d1d9e0}
        .axis{stroke:#59636e}
        .event{stroke:#59636e;stroke-dasharray:1 3}
        .cause polygon{fill:#ddf4ff;stroke:#0969da}
        .mark polygon{fill:#fff8c5;stroke:#9a6700}
        .reachable{fill:#2da44e}
        .silent{fill:url(#netflags-lines);stroke:#8250df}
        .needsConnection{fill:url(#netflags-dots);stroke:#9a6700}
        .unreachable{fill:url(#netflags-stripes);stroke:#cf222e}
        .undetermined{fill:url(#netflags-checks);stroke:#8250df}
        .unrecorded{fill:none;stroke:#59636e;stroke-dasharray:3 2}
        .ink-dots{fill:#9a6700}
        .ink-stripes{stroke:#cf222e;stroke-width:3}
        .ink-checks{fill:#8250df}
        .ink-lines{stroke:#8250df}
        @media (prefers-color-scheme:dark){
        text{fill:#f0f6fc}
        .faint{fill:#9198a1}
        .number{fill:#f0f6fc}
        .paper{fill:#0d1117}
        .grid{stroke:#2f3742}
        .axis,.event,.unrecorded{stroke:#9198a1}
        .cause polygon{fill:#0c2d6b;stroke:#4493f8}
        .mark polygon{fill:#4b2900;stroke:#d29922}
        .reachable{fill:#3fb950}
        .needsConnection{stroke:#d29922}
        .unreachable{stroke:#ff7b72}
        .silent,.undetermined{stroke:#bc8cff}
        .ink-dots{fill:#d29922}
        .ink-stripes{stroke:#ff7b72}
        .ink-checks{fill:#bc8cff}
        .ink-lines{stroke:#bc8cff}
        }
        </style>

        """

    private static let patterns = """
        <defs>
        <pattern id="netflags-stripes" width="6" height="6" patternUnits="userSpaceOnUse" \
        patternTransform="rotate(45)"><path class="ink-stripes" d="M0 0V6"/></pattern>
        <pattern id="netflags-dots" width="6" height="6" patternUnits="userSpaceOnUse">\
        <circle class="ink-dots" cx="3" cy="3" r="1.6"/></pattern>
        <pattern id="netflags-lines" width="4" height="4" patternUnits="userSpaceOnUse">\
        <path class="ink-lines" d="M0 1H4"/></pattern>
        <pattern id="netflags-checks" width="8" height="8" patternUnits="userSpaceOnUse">\
        <path class="ink-checks" d="M0 0H4V4H0ZM4 4H8V8H4Z"/></pattern>
        </defs>

        """
}

// MARK: - Time axis

/// Round times on the axis of a timeline, in UTC.
struct TimeAxis {
    let ticks: [(time: Recording.Time, label: String)]

    /// The steps between ticks, in milliseconds: each divides the next longer unit.
    private static let steps: [Int64] =
        [1, 2, 5, 10, 20, 50, 100, 200, 500]
        + [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200].map {
            $0 * 1_000
        }
        + [1, 2, 7, 14, 28, 56, 112, 365, 3_650, 36_500].map { $0 * day }
    private static let day: Int64 = 86_400_000

    /// Selects the ticks of a span.
    ///
    /// - Parameters:
    ///   - start: The start of the span.
    ///   - end: The end of the span.
    ///   - limit: The greatest number of ticks.
    init(from start: Recording.Time, to end: Recording.Time, atMost limit: Int) {
        let (first, last) = (start.milliseconds, end.milliseconds)
        let step = Self.steps.first { (last - first) / $0 < Int64(max(limit, 1)) } ?? (last - first + 1)
        let times = stride(from: (first + step - 1) / step * step, through: last, by: Int(step))
        ticks = times.prefix(limit + 1).map { milliseconds in
            let time = Recording.Time(microsecondsSince1970: milliseconds * 1_000)
            return (time, Self.label(time, step))
        }
    }

    private static func label(_ time: Recording.Time, _ step: Int64) -> String {
        if step >= day { return time.date }
        // A label at midnight is the date of the new day.
        if step >= 60_000 {
            return time.milliseconds % day == 0 ? String(time.date.dropFirst(5)) : time.clock(5)
        }
        return time.clock(step < 1_000 ? 12 : 8)
    }
}

extension Recording.Time {
    fileprivate var milliseconds: Int64 { microsecondsSince1970 / 1_000 }
}
