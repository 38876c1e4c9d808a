// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// Metrics in Prometheus' text format, for the textfile collector of node_exporter.
///
/// The samples of a metric must be adjacent, so all metrics are written at the end. A target given twice is
/// written once: a series may have one sample.
struct PrometheusFormat: LineFormat {
    private var answered = ByteBuffer()
    private var reachable = ByteBuffer()
    private var flags = ByteBuffer()
    private var paths = ByteBuffer()
    private var targets: Set<String> = []

    mutating func write(_ line: TargetLine, to buffer: inout ByteBuffer) {
        guard targets.insert(line.target).inserted else { return }
        guard case .success(let report) = line.outcome else {
            return answered.sample("netflags_answered", [("target", line.target)], 0)
        }
        answered.sample("netflags_answered", [("target", line.target)], 1)
        reachable.sample("netflags_reachable", [("target", line.target)], report.isReachable ? 1 : 0)
        flags.sample("netflags_flags", [("target", line.target)], report.flags.rawValue)
        guard let interface = report.interface else { return }
        let labels = [
            ("target", line.target),
            ("address", report.address?.description ?? ""),
            ("interface", interface.name),
            ("interface_type", interface.type.rawValue),
            ("gateway", report.gateway?.description ?? ""),
        ]
        paths.sample("netflags_way_info", labels, 1)
    }

    mutating func finish(_ buffer: inout ByteBuffer) {
        buffer.metric("netflags_answered", "Whether the target could be evaluated.", answered)
        buffer.metric("netflags_reachable", "Whether packets can leave towards the target.", reachable)
        buffer.metric("netflags_flags", "The reachability flags as Apple's bits.", flags)
        buffer.metric(
            "netflags_way_info", "The address, interface and gateway of packets to the target.", paths)
    }
}

extension ByteBuffer {
    /// Writes a metric of the type gauge, unless it has no samples.
    fileprivate mutating func metric(_ name: String, _ help: String, _ samples: ByteBuffer) {
        guard !samples.bytes.isEmpty else { return }
        append("# HELP \(name) \(help)\n# TYPE \(name) gauge\n")
        append(contentsOf: samples)
    }

    fileprivate mutating func sample(_ name: String, _ labels: [(String, String)], _ value: UInt32) {
        append(name)
        append("{")
        for (place, label) in labels.enumerated() {
            if place > 0 { append(",") }
            append(label.0)
            append("=\"")
            append(labelValue: label.1)
            append("\"")
        }
        append("} \(value)\n")
    }

    private mutating func append(labelValue text: String) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): append("\\\\")
            case UInt8(ascii: "\""): append("\\\"")
            case UInt8(ascii: "\n"): append("\\n")
            default: append(byte)
            }
        }
    }
}
