// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// Metrics of answers in Prometheus' text format, for the textfile collector of node_exporter.
///
/// All metrics are written at the end, by one flush. A target given twice is written once, as a series may have one
/// sample only.
struct PrometheusFormat: LineFormat {
    private var metrics = MetricsText()
    private var targets: Set<String> = []

    mutating func write(_ line: TargetLine, to buffer: inout ByteBuffer) {
        guard targets.insert(line.target).inserted else { return }
        let (target, report) = (("target", line.target), line.outcome?.report)
        metrics.add(
            "netflags_answered", "Whether the target could be evaluated.", [target], report == nil ? "0" : "1"
        )
        guard let report else { return }
        metrics.add(
            "netflags_reachable", "Whether packets can leave towards the target.", [target],
            report.isReachable ? "1" : "0")
        let labels = [
            target,
            ("code", report.reason.code.description),
            ("address", report.address?.description ?? ""),
            ("interface", report.interface?.name ?? ""),
            ("interface_type", report.interface?.type.rawValue ?? ""),
            ("gateway", report.gateway?.description ?? ""),
        ]
        metrics.add(
            "netflags_path_info",
            "Why packets can or cannot leave, and their address, interface and gateway.", labels, "1")
        guard let evidence = try? line.evidence?.get() else { return }
        metrics.add(
            "netflags_answer_age_seconds", "The time since anything has answered on the path.", [target],
            evidence.lastAnswer.map { MetricsText.seconds(Int64($0 / .microseconds(1))) })
        metrics.add(
            "netflags_silent", "Whether packets can leave and nothing answers.", [target],
            evidence.isSilent ? "1" : "0")
    }

    mutating func flush(to buffer: inout ByteBuffer) {
        metrics.write(to: &buffer)
    }
}

/// Metrics in the text format of Prometheus.
///
/// The samples of a metric must be adjacent, so all are written at the end, metric by metric.
struct MetricsText {
    /// The type of a metric.
    enum Kind: String {
        case gauge, counter
    }

    /// The metrics that have samples, with their lines, in the order of their first samples.
    private var metrics: [(name: String, lines: ByteBuffer)] = []

    /// Adds a sample.
    ///
    /// - Parameters:
    ///   - name: The metric.
    ///   - help: The description of the metric.
    ///   - labels: The labels with their values.
    ///   - value: The value as text; `nil` adds nothing.
    ///   - kind: The type of the metric.
    mutating func add(
        _ name: String, _ help: String, _ labels: [(String, String)], _ value: String?, _ kind: Kind = .gauge
    ) {
        guard let value else { return }
        var index = metrics.firstIndex { $0.name == name } ?? metrics.endIndex
        if index == metrics.endIndex {
            metrics.append((name, ByteBuffer()))
            index = metrics.endIndex - 1
            metrics[index].lines.append(Self.header(name, help, kind))
        }
        metrics[index].lines.append("\(name)\(Self.labels(labels)) \(value)\n")
    }

    /// Writes the metrics.
    func write(to buffer: inout ByteBuffer) {
        for metric in metrics { buffer.append(bytes: metric.lines.bytes) }
    }

    /// The lines before the samples of a metric: `# HELP` and `# TYPE`.
    static func header(_ name: String, _ help: String, _ kind: Kind) -> String {
        "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n"
    }

    /// Labels in braces; empty without labels.
    static func labels(_ labels: [(String, String)]) -> String {
        let texts = labels.map { name, text in "\(name)=\"\(text.escaped(escapes))\"" }
        return texts.isEmpty ? "" : "{\(texts.joined(separator: ","))}"
    }

    /// Microseconds as seconds.
    static func seconds(_ microseconds: Int64) -> String {
        let (seconds, rest) = microseconds.magnitude.quotientAndRemainder(dividingBy: 1_000_000)
        let fraction = rest == 0 ? "" : "." + String(1_000_000 + rest).dropFirst()
        return (microseconds < 0 ? "-" : "") + String(seconds) + fraction
    }

    /// The escapes of the characters that have a meaning in a label.
    private static let escapes: [UInt8: String] = [
        UInt8(ascii: "\\"): "\\\\", UInt8(ascii: "\""): "\\\"", UInt8(ascii: "\n"): "\\n",
    ]
}

extension String {
    /// The text with some ASCII characters replaced by other texts.
    func escaped(_ escapes: [UInt8: String]) -> String {
        String(decoding: utf8.flatMap { escapes[$0].map { Array($0.utf8) } ?? [$0] }, as: UTF8.self)
    }
}
