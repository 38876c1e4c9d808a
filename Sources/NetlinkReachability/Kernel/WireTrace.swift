// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
internal import SystemSupport

/// Writes a line to standard error for each netlink message that a socket sends or reads: the time of
/// CLOCK_MONOTONIC, the direction, the header, and the operation.
///
/// A line has no payload, and thus no WireGuard keys.
final class WireTrace {
    /// Whether the environment variable `NETFLAGS_TRACE` is `netlink`.
    private static let isOn = getenv("NETFLAGS_TRACE").map { String(cString: $0) } == "netlink"

    /// The operation that the messages belong to.
    var operation = "notifications"
    private let netlinkProtocol: Int32

    /// Returns `nil` if no trace is requested.
    init?(_ netlinkProtocol: Int32) {
        guard Self.isOn else { return nil }
        self.netlinkProtocol = netlinkProtocol
    }

    /// Writes the messages that a query socket sends and reads.
    ///
    /// The trace has to outlive the socket.
    func attach(to query: OpaquePointer) {
        let trace: cnl_trace = { context, isSent, bytes, size in
            guard let context else { return }
            let trace = Unmanaged<WireTrace>.fromOpaque(context).takeUnretainedValue()
            NetlinkMessage.forEach(in: UnsafeRawBufferPointer(start: bytes, count: size)) {
                trace.write($0, isSent: isSent)
            }
        }
        cnl_query_trace(query, trace, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Writes the line of a message.
    func write(_ message: NetlinkMessage, isSent: Bool) {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let fraction = String(time.tv_nsec / 1_000 + 1_000_000).dropFirst()
        let header = message.traced(netlinkProtocol)
        let line = "\(time.tv_sec).\(fraction) \(isSent ? ">" : "<") \(header) (\(operation))\n"
        // A failure to write the trace is ignored.
        _ = FileBytes.write(Array(line.utf8), to: STDERR_FILENO)
    }
}

extension NetlinkMessage {
    /// The names of rtnetlink objects, by the message type divided by four (RTM_NEWLINK, ...).
    private static let objects = [
        4: "LINK", 5: "ADDR", 6: "ROUTE", 7: "NEIGH", 8: "RULE", 20: "NETCONF", 26: "NEXTHOP",
    ]
    private static let verbs = ["NEW", "DEL", "GET", "SET"]

    /// The header in words: `RTM_NEWROUTE seq=4 port=971 flags=0x2 bytes=96`, and the text of an error.
    fileprivate func traced(_ netlinkProtocol: Int32) -> String {
        let name = name(netlinkProtocol)
        let sequence = bytes.loadUnaligned(as: nlmsghdr.self).nlmsg_seq
        let header = "seq=\(sequence) port=\(port) flags=0x\(String(flags, radix: 16)) bytes=\(bytes.count)"
        guard [NLMSG_ERROR, NLMSG_DONE].contains(Int32(type)), let status = try? body(Int32.self), status < 0
        else { return "\(name) \(header)" }
        return "\(name) \(header): \(SystemCallError.message(-status))"
    }

    private func name(_ netlinkProtocol: Int32) -> String {
        switch (Int32(type), netlinkProtocol) {
        case (NLMSG_NOOP, _): return "NLMSG_NOOP"
        case (NLMSG_ERROR, _): return "NLMSG_ERROR"
        case (NLMSG_DONE, _): return "NLMSG_DONE"
        case (_, NETLINK_ROUTE):
            let object = Self.objects[Int(type) / 4].map { "RTM_\(Self.verbs[Int(type) % 4])\($0)" }
            return object ?? "NETLINK_ROUTE type=\(type)"
        case (_, NETLINK_GENERIC): return "NETLINK_GENERIC type=\(type)"
        case (_, NETLINK_SOCK_DIAG): return "NETLINK_SOCK_DIAG type=\(type)"
        default: return "type=\(type)"
        }
    }
}
