// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// Metrics in Prometheus' text format, for the textfile collector of node_exporter.
///
/// The samples of a metric must be adjacent, so all metrics are written at the end, by one flush. A target given twice
/// is written once: a series may have one sample.
struct PrometheusFormat: LineFormat {
    private static let metrics = [
        ("netflags_answered", "Whether the target could be evaluated."),
        ("netflags_reachable", "Whether packets can leave towards the target."),
        ("netflags_flags", "The reachability flags as Apple's bits."),
        ("netflags_path_info", "Why packets can or cannot leave, and their address, interface and gateway."),
    ]

    private var samples: [String: ByteBuffer] = [:]
    private var targets: Set<String> = []

    mutating func write(_ line: TargetLine, to buffer: inout ByteBuffer) {
        guard targets.insert(line.target).inserted else { return }
        let target = ("target", line.target)
        add("netflags_answered", [target], line.outcome?.report == nil ? 0 : 1)
        guard let report = line.outcome?.report else { return }
        add("netflags_reachable", [target], report.isReachable ? 1 : 0)
        add("netflags_flags", [target], report.flags.rawValue)
        let labels = [
            target,
            ("code", report.reason.code.description),
            ("address", report.address?.description ?? ""),
            ("interface", report.interface?.name ?? ""),
            ("interface_type", report.interface?.type.rawValue ?? ""),
            ("gateway", report.gateway?.description ?? ""),
        ]
        add("netflags_path_info", labels, 1)
    }

    private mutating func add(_ name: String, _ labels: [(String, String)], _ value: UInt32) {
        let texts = labels.map { name, text in "\(name)=\"\(text.escaped(Self.escapes))\"" }
        samples[name, default: ByteBuffer()].append("\(name){\(texts.joined(separator: ","))} \(value)\n")
    }

    /// What a label writes for characters that mean something in it.
    private static let escapes: [UInt8: String] = [
        UInt8(ascii: "\\"): "\\\\", UInt8(ascii: "\""): "\\\"", UInt8(ascii: "\n"): "\\n",
    ]

    mutating func flush(to buffer: inout ByteBuffer) {
        for (name, help) in Self.metrics {
            guard let samples = samples[name] else { continue }
            buffer.append("# HELP \(name) \(help)\n# TYPE \(name) gauge\n")
            buffer.append(bytes: samples.bytes)
        }
    }
}
