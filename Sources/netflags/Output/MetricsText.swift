// SPDX-License-Identifier: Apache-2.0

/// Metrics in the text format of Prometheus.
///
/// The samples of a metric must be adjacent, so all are written at the end, metric by metric.
struct MetricsText {
    /// A metric.
    struct Metric {
        enum Kind: String {
            case gauge, counter
        }

        let name: String
        let kind: Kind
        let help: String

        init(_ name: String, _ help: String, _ kind: Kind = .gauge) {
            (self.name, self.kind, self.help) = (name, kind, help)
        }

        /// The lines before the samples.
        func header(name: String) -> String { "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n" }
    }

    private let metrics: [Metric]
    private var samples: [String: ByteBuffer] = [:]

    /// Starts without samples.
    ///
    /// - Parameter metrics: The metrics, in their order; one without samples is left out.
    init(_ metrics: [Metric]) {
        self.metrics = metrics
    }

    /// Adds a sample.
    ///
    /// - Parameters:
    ///   - name: The metric.
    ///   - labels: The labels with their values.
    ///   - value: The value as text.
    mutating func add(_ name: String, _ labels: [(String, String)], _ value: String) {
        samples[name, default: ByteBuffer()].append("\(name)\(Self.labels(labels)) \(value)\n")
    }

    /// Writes the metrics that have samples.
    func write(to buffer: inout ByteBuffer) {
        for metric in metrics {
            guard let samples = samples[metric.name] else { continue }
            buffer.append(metric.header(name: metric.name))
            buffer.append(bytes: samples.bytes)
        }
    }

    /// Labels in braces; nothing for none.
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

    /// What a label writes for characters that mean something in it.
    private static let escapes: [UInt8: String] = [
        UInt8(ascii: "\\"): "\\\\", UInt8(ascii: "\""): "\\\"", UInt8(ascii: "\n"): "\\n",
    ]
}
