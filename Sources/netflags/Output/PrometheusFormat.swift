// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// Metrics of answers in Prometheus' text format, for the textfile collector of node_exporter.
///
/// All metrics are written at the end, by one flush. A target given twice is written once: a series may have one
/// sample.
struct PrometheusFormat: LineFormat {
    private var metrics = MetricsText([
        .init("netflags_answered", "Whether the target could be evaluated."),
        .init("netflags_reachable", "Whether packets can leave towards the target."),
        .init(
            "netflags_path_info", "Why packets can or cannot leave, and their address, interface and gateway."
        ),
    ])
    private var targets: Set<String> = []

    mutating func write(_ line: TargetLine, to buffer: inout ByteBuffer) {
        guard targets.insert(line.target).inserted else { return }
        let target = ("target", line.target)
        metrics.add("netflags_answered", [target], line.outcome?.report == nil ? "0" : "1")
        guard let report = line.outcome?.report else { return }
        metrics.add("netflags_reachable", [target], report.isReachable ? "1" : "0")
        let labels = [
            target,
            ("code", report.reason.code.description),
            ("address", report.address?.description ?? ""),
            ("interface", report.interface?.name ?? ""),
            ("interface_type", report.interface?.type.rawValue ?? ""),
            ("gateway", report.gateway?.description ?? ""),
        ]
        metrics.add("netflags_path_info", labels, "1")
    }

    mutating func flush(to buffer: inout ByteBuffer) {
        metrics.write(to: &buffer)
    }
}
