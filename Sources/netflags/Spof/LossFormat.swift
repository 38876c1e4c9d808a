// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// The output of `netflags spof`: a table a target, or a JSON object for each loss.
struct LossFormat {
    let isJSON: Bool
    let isColoured: Bool

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
        buffer.append(printable: "\(target): \(answer.failure?.description ?? answer.reason)")
        buffer.append(UInt8(ascii: "\n"))
        let width = losses.map(\.description.columns).max() ?? 0
        for loss in losses {
            buffer.append(spaces: 2)
            buffer.append(cell: loss.kind.rawValue, width: 7)
            buffer.append(cell: loss.description, width: width)
            let colour: Colour? = loss.outcome == .lost ? .red : .green
            if loss.outcome == .none {
                buffer.append(loss.outcome.rawValue)
            } else {
                buffer.append(cell: loss.outcome.rawValue, width: 8, in: isColoured ? colour : nil)
                buffer.append(printable: loss.reason)
            }
            buffer.append(UInt8(ascii: "\n"))
        }
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
