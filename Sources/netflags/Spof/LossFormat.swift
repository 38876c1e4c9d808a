// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// The output of `netflags spof`: a table a target, or a JSON object for each loss.
struct LossFormat {
    let isJSON: Bool

    func write(
        _ target: String,
        _ answer: TargetDifference.Answer,
        _ losses: [Loss],
        to buffer: inout ByteBuffer
    ) {
        guard !isJSON else {
            for loss in losses { buffer.line { members(of: loss, target, &$0) } }
            return
        }
        buffer.line(printable: "\(target): \(answer.failure?.description ?? answer.reason)")
        var table = TextTable(widths: [9, 0, 8], for: .standard)
        for loss in losses {
            table.add("  \(loss.kind.rawValue)")
            table.add(loss.description)
            if loss.outcome == .none {
                table.add(loss.outcome.rawValue)
            } else {
                table.add(loss.outcome.rawValue, in: loss.outcome == .lost ? .red : .green)
                table.add(loss.reason)
            }
            table.endRow(isWhole: true)
        }
        table.flush(to: &buffer)
    }

    private func members(of loss: Loss, _ target: String, _ json: inout ByteBuffer) {
        json.member("target", target)
        json.member("kind", loss.kind.rawValue)
        json.member("description", loss.description)
        json.member("outcome", loss.outcome.rawValue)
        json.member("old", object: loss.old) { $1.members($0, reason: $0.reason) }
        json.member("new", object: loss.new) { $1.members($0, reason: loss.reason) }
    }
}
