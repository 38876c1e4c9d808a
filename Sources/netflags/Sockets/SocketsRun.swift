// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// A run of `netflags sockets` without `--watch`.
struct SocketsRun {
    private let list: SocketList
    private let filter: SocketFilter?
    private let style: SocketLines.Style

    init(_ list: SocketList, _ filter: SocketFilter?, _ style: SocketLines.Style) {
        (self.list, self.filter, self.style) = (list, filter, style)
    }

    /// Evaluates the sockets while they are listed, so that their number takes no memory.
    func run() throws -> ExitStatus {
        var status = ExitStatus.success
        var lines = SocketLines(style, isTimed: false, for: .standard)
        var buffer = ByteBuffer()
        var statuses = try SocketStatuses(list.source)
        try list.read { sockets in
            for (socket, result) in zip(sockets, statuses.results(of: sockets)) {
                guard filter?.admits(result) ?? true else { continue }
                status = status.worse(result.exitStatus)
                lines.write(socket, result, to: &buffer)
            }
            lines.flush(to: &buffer)
            try Output.standard.deliver(&buffer)
        }
        return status
    }
}
