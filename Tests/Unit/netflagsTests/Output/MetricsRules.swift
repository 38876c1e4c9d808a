// SPDX-License-Identifier: Apache-2.0

/// What is wrong with metrics by the rules of the two text formats, as a reader without a tool finds it.
enum MetricsRules {
    /// A sample: its series, its value and its time stamp.
    struct Sample: Equatable {
        let name: String
        let labels: String
        let value: Double
        let time: Double?
        var series: String { name + labels }
    }

    /// Reads a line that is a sample.
    static func sample(_ line: Substring) -> Sample? {
        let end =
            line.lastIndex(of: "}").map { line.index(after: $0) } ?? line.firstIndex(of: " ") ?? line.endIndex
        let start = line.firstIndex(of: "{").map { min($0, end) } ?? end
        let words = line[end...].split(separator: " ", omittingEmptySubsequences: false)
        guard (2...3).contains(words.count), words[0].isEmpty, let value = Double(words[1]) else {
            return nil
        }
        let time = words.dropFirst(2).first.map { Double($0) }
        if case .some(nil) = time { return nil }
        return Sample(
            name: String(line[..<start]), labels: String(line[start..<end]), value: value, time: time ?? nil)
    }

    static func samples(_ text: String) -> [Sample] {
        text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap(sample)
    }

    /// Each violation, in words.
    static func violations(_ text: String, isOpenMetrics: Bool = false) -> [String] {
        var found: [String] = []
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        if lines.popLast() != "" { found.append("no newline at the end") }
        if isOpenMetrics, lines.popLast() != "# EOF" { found.append("no # EOF at the end") }
        var (families, family, type): (Set<Substring>, Substring, Substring) = ([], "", "")
        var (series, last): (Set<String>, Sample?) = ([], nil)
        for line in lines {
            let words = line.split(separator: " ", maxSplits: 3)
            if line.hasPrefix("# HELP ") {
                (family, type) = (words[2], "")
                if !families.insert(family).inserted { found.append("two headers: \(line)") }
                if words.count < 4 { found.append("no help: \(line)") }
            } else if line.hasPrefix("# TYPE ") {
                if words[2] != family { found.append("a type without its help: \(line)") }
                type = words[3]
            } else if let sample = sample(line) {
                let isCounter = type == "counter"
                let name = isOpenMetrics && isCounter ? "\(family)_total" : String(family)
                if type.isEmpty || sample.name != name { found.append("not below its header: \(line)") }
                if isCounter != sample.name.hasSuffix("_total") {
                    found.append("the name of a counter: \(line)")
                }
                if isCounter, sample.value < 0 { found.append("a negative counter: \(line)") }
                if isOpenMetrics != (sample.time != nil) { found.append("the time of a sample: \(line)") }
                if let last, last.series == sample.series {
                    if last.time ?? 0 >= sample.time ?? 0 { found.append("not a later sample: \(line)") }
                    if isCounter, last.value > sample.value { found.append("a counter goes back: \(line)") }
                } else if !series.insert(sample.series).inserted {
                    found.append("a series in two parts: \(line)")
                }
                last = sample
            } else {
                found.append("no sample: \(line)")
            }
        }
        return found
    }
}
