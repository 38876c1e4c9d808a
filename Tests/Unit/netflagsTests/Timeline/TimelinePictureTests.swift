// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import Testing

@testable import netflags

struct TimelinePictureTests {
    /// A picture of so many targets with every state and events that are near to each other.
    private static func picture(_ count: Int, _ name: (Int) -> String = { "198.51.100.\($0)" }) -> String {
        let states: [(Int64, Timeline.State)] = [
            (0, .reachable), (100, .unreachable), (101, .reachable), (103, .undetermined),
            (104, .unreachable),
            (200, .needsConnection), (300, .unrecorded), (400, .reachable),
        ]
        let lanes = (0..<count).map { Sample.lane(name($0), states, until: 3_600) }
        var buffer = ByteBuffer()
        TimelinePicture(Sample.timeline(lanes, until: 3_600), source: "a & b <c>").write(to: &buffer)
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    @Test func `it is well-formed, with names that hold markup and control characters`() throws {
        let elements = try SVGElement.parse(Self.picture(2) { "</text>&\"'\u{1B}\u{FFFE}\u{202E}\($0)" })
        #expect(elements.first?.name == "svg")
        let labels = elements.filter { $0.name == "text" }.map(\.text)
        #expect(labels.contains { $0.hasPrefix("&lt;/text&gt;&amp;&quot;'\u{FFFD}\u{FFFD}\u{FFFD}") })
    }

    @Test func `screen readers have a title and a description of each target`() throws {
        let elements = try SVGElement.parse(Self.picture(3))
        let root = try #require(elements.first)
        #expect(root["role"] == "img")
        let names = try #require(root["aria-labelledby"]).split(separator: " ")
        let texts = names.compactMap { name in elements.first { $0["id"] == String(name) } }
        #expect(texts.map(\.name) == ["title", "desc"])
        #expect(texts[0].text == "Reachability in a &amp; b &lt;c&gt;")
        for number in 0..<3 {
            let description =
                "198.51.100.\(number): not reachable 2 times, 1 min 37 s, first when event 100; 1 min 40 s not recorded."
            #expect(texts[1].text.contains(description), "\(texts[1].text)")
        }
    }

    @Test(arguments: [1, 3, 40]) func `every bar lies in the picture and has a title`(count: Int) throws {
        let elements = try SVGElement.parse(Self.picture(count))
        let root = try #require(elements.first)
        let (width, height) = try (root.number("width"), root.number("height"))
        let bars = elements.filter { $0.name == "rect" && $0["class"] != "paper" }
        // Five states in the legend.
        #expect(bars.count == count * 8 + 5)
        for bar in bars {
            #expect(try bar.number("x") >= 0 && bar.number("x") + bar.number("width") <= width)
            #expect(try bar.number("y") >= 0 && bar.number("y") + bar.number("height") <= height)
            #expect(try bar.number("width") >= 2)
        }
        #expect(elements.count { $0.name == "title" && $0.text.hasPrefix("198.51.100.0: ") } == 8)
    }

    @Test func `states differ in height or pattern as well as in colour, in both schemes`() throws {
        let picture = Self.picture(1)
        let elements = try SVGElement.parse(picture)
        let style = try #require(elements.first { $0.name == "style" }).text
        let schemes = style.split(separator: "@media (prefers-color-scheme:dark)", maxSplits: 1)
        try #require(schemes.count == 2)
        let legend = elements.filter { $0.name == "rect" && $0["class"] != "paper" }.prefix(5)
        var shapes: Set<String> = []
        for bar in legend {
            let name = try #require(bar["class"])
            let rule = try #require(schemes[0].split(separator: "\n").first { $0.hasPrefix(".\(name){") })
            let fill = rule.split { "{;".contains($0) }.first { $0.hasPrefix("fill:") } ?? ""
            shapes.insert("\(bar["height"] ?? "") \(fill.hasPrefix("fill:#") ? "plain" : fill)")
            #expect(schemes[1].contains(".\(name)"), "\(name)")
        }
        #expect(shapes.count == 5)
    }

    @Test(arguments: [1, 3, 16, 17, 40]) func `no label covers another one or is cut by the edge`(count: Int)
        throws
    {
        let elements = try SVGElement.parse(
            Self.picture(count) { "2001:db8:1234:5678:9abc:def0:1234:\(1_000 + $0)" })
        let width = try #require(elements.first).number("width")
        let height = try #require(elements.first).number("height")
        let boxes = try elements.filter { $0.name == "text" }.map { try $0.box() }
        for (place, box) in boxes.enumerated() {
            #expect(box.left >= 0 && box.right <= width && box.bottom <= height, "\(box)")
            for other in boxes[(place + 1)...] { #expect(!box.covers(other), "\(box) \(other)") }
        }
    }

    @Test func `each event has a mark in its lane and a line in the list`() throws {
        let elements = try SVGElement.parse(Self.picture(3))
        #expect(elements.count { $0.name == "polygon" } == 2 * 7)
        for second in [100, 101, 103, 104, 200, 300, 400] {
            #expect(elements.contains { $0.name == "text" && $0.text == "event \(second)" })
        }
    }

    @Test func `of a thousand events the first hundred are listed and the others counted`() throws {
        let states = (0..<1_000).map { (Int64($0), $0 % 2 == 0 ? Timeline.State.reachable : .unreachable) }
        var buffer = ByteBuffer()
        let timeline = Sample.timeline([Sample.lane("a", states, until: 1_000)], until: 1_000)
        TimelinePicture(timeline, source: "file").write(to: &buffer)
        let elements = try SVGElement.parse(String(decoding: buffer.bytes, as: UTF8.self))
        #expect(elements.count { $0.name == "polygon" } == 200)
        #expect(elements.contains { $0.text == "and 899 more" })
    }
}

/// An element of a picture: enough of XML to look at one.
struct SVGElement {
    struct Malformed: Error {
        let place: String
    }

    /// The space that a text takes, in a font whose characters are 7.3 wide.
    struct Box {
        let left, right, top, bottom: Double

        func covers(_ other: Box) -> Bool {
            left < other.right && other.left < right && top < other.bottom && other.top < bottom
        }
    }

    let name: String
    private(set) var attributes: [String: String] = [:]
    private(set) var text = ""

    subscript(name: String) -> String? { attributes[name] }

    func number(_ name: String) throws -> Double {
        guard let number = attributes[name].flatMap(Double.init) else { throw Malformed(place: name) }
        return number
    }

    func box() throws -> Box {
        let size = ["number": 6.1, "head": 9.1][self["class"] ?? ""] ?? 7.3
        // An escaped character takes the place of one.
        let length = text.split(separator: ";", omittingEmptySubsequences: false)
            .reduce(-1) { $0 + $1.prefix { $0 != "&" }.count + 1 }
        let width = Double(length) * size
        let (x, y) = try (number("x"), number("y"))
        let left = ["end": x - width, "middle": x - width / 2][self["text-anchor"] ?? ""] ?? x
        return Box(left: left, right: left + width, top: y - 9, bottom: y + 2)
    }

    /// Parses all elements in order; throws where tags do not match, or a character should be escaped.
    static func parse(_ text: String) throws -> [SVGElement] {
        var elements: [SVGElement] = []
        var open: [Int] = []
        var rest = text[...]
        while let start = rest.firstIndex(of: "<") {
            if let last = open.last { elements[last].text += rest[..<start] }
            guard let end = rest[start...].firstIndex(of: ">") else { throw Malformed(place: "the end") }
            let tag = rest[rest.index(after: start)..<end]
            rest = rest[rest.index(after: end)...]
            if tag.first == "/" {
                guard let last = open.popLast(), elements[last].name == tag.dropFirst() else {
                    throw Malformed(place: String(tag))
                }
                continue
            }
            elements.append(try SVGElement(tag))
            if tag.last != "/" { open.append(elements.count - 1) }
        }
        guard open.isEmpty else { throw Malformed(place: "open elements") }
        for scalar in text.unicodeScalars where scalar.value < 0x20 && scalar != "\n" || scalar == "\u{FFFE}"
        {
            throw Malformed(place: "U+\(scalar.value)")
        }
        return elements
    }

    private init(_ tag: Substring) throws {
        let body = tag.last == "/" ? tag.dropLast() : tag
        name = String(body.prefix { $0 != " " })
        var rest = body.dropFirst(name.count)
        while let first = rest.firstIndex(where: { $0 != " " }) {
            let parts = rest[first...].split(separator: "\"", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0].last == "=" else { throw Malformed(place: String(tag)) }
            attributes[String(parts[0].dropLast())] = String(parts[1])
            rest = parts[2]
        }
    }
}
