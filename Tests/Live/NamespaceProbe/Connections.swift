// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkReachability
internal import SystemSupport

/// Connected sockets to an echo server, what the library says of each, and whether the other end receives its data: TCP
/// has it acknowledged, and a datagram comes back.
struct Connections {
    /// A connected socket.
    private struct Entry {
        let descriptor: Int32
        let isTCP: Bool
        /// The connection was reset or has timed out.
        var isBroken = false
        /// Follows the connection once its status is asked for.
        var observation: NetworkObservation<ConnectionStatus>?
    }

    /// The port of the echo server.
    static let port: UInt16 = 7_777
    /// How long a connection that is expected to fail is waited for.
    private static let patience = Duration.milliseconds(60)
    /// How long a connection that is expected to succeed is waited for, after TCP has repeated its data.
    private static let endurance = Duration.seconds(6)

    private var entries: [Int: Entry] = [:]
    private var count = 0
    private var token: UInt64 = 0

    /// IPPROTO_MPTCP of Linux 5.6, which older headers lack.
    private static let multipath: Int32 = 262

    /// Connects a socket: `tcp|mptcp|udp ADDRESS`, then `from=ADDRESS`, `device=NAME`, `class=NUMBER` (IPV6_TCLASS),
    /// `transparent=1` (IP_TRANSPARENT) and `mark=NUMBER`.
    ///
    /// - Returns: The number of the connection and its description.
    mutating func connect(_ fields: [String]) throws -> [String] {
        guard fields.count >= 2 else { throw Probe.Failure("connect tcp|mptcp|udp ADDRESS [key=value]") }
        let isMultipath = fields[0] == "mptcp"
        let isTCP = fields[0] != "udp"
        let isIPv6 = fields[1].contains(":")
        let kind = Int32((isTCP ? SOCK_STREAM : SOCK_DGRAM).rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(isIPv6 ? AF_INET6 : AF_INET, kind, isMultipath ? Self.multipath : 0)
        guard descriptor >= 0 else { throw Probe.Failure.system("socket") }
        for field in fields.dropFirst(2) {
            let value = String(field.drop { $0 != "=" }.dropFirst())
            switch field.prefix(5) {
            case "from=": try Self.call("bind", value, port: 0) { bind(descriptor, $0, $1) }
            case "devic":
                guard
                    setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, value, socklen_t(value.utf8.count))
                        == 0
                else { throw Probe.Failure.system("SO_BINDTODEVICE") }
            case "trans": try Self.set(descriptor, Int32(IPPROTO_IP), IP_TRANSPARENT, Int32(value) ?? 0)
            case "class": try Self.set(descriptor, Int32(IPPROTO_IPV6), IPV6_TCLASS, Int32(value) ?? 0)
            default: try Self.set(descriptor, SOL_SOCKET, SO_MARK, Int32(value) ?? 0)
            }
        }
        try Self.call("connect", fields[1], port: Self.port) { Glibc.connect(descriptor, $0, $1) }
        if isTCP, !isMultipath {
            try Self.set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
            // TCP_THIN_LINEAR_TIMEOUTS: the first repetitions come without longer and longer pauses.
            try Self.set(descriptor, Int32(IPPROTO_TCP), 16, 1)
        }
        count += 1
        entries[count] = Entry(descriptor: descriptor, isTCP: isTCP)
        // A socket that is bound to an interface without an address has none either.
        let connection = try? NetworkConnection(fileDescriptor: descriptor)
        return ["\(count)", connection.map { "\($0)" } ?? "no connection"]
    }

    /// Closes a connection.
    mutating func disconnect(_ fields: [String]) throws {
        guard let entry = entries.removeValue(forKey: try number(fields.first)) else { return }
        close(entry.descriptor)
    }

    /// What the library says of a connection.
    ///
    /// The state is `undecided` for a bound IPv6 socket whose destination another interface's route serves, where rules
    /// compare source addresses: RTM_GETROUTE cannot be asked about such a socket (docs/flag-rules.md).
    ///
    /// - Returns: The state, the reason, its sentence, the interface and the source address of a better path, and the
    ///   states of the subflows.
    func status(_ fields: [String]) throws -> [String] {
        guard let entry = entries[try number(fields.first)] else { throw Probe.Failure("no such connection") }
        let connection: NetworkConnection
        do {
            connection = try NetworkConnection(fileDescriptor: entry.descriptor)
        } catch {
            // The kernel has given it up.
            return ["broken", "\(error.number)", "\(error)", "", "", ""]
        }
        let answer = Result { () throws(ReachabilityError) in
            try NetworkSource.kernel.blockingValue(of: .status(of: connection))
        }
        if case .failure(let error) = answer, error.code == .undecided {
            return ["undecided", "", "\(error)", "", "", ""]
        }
        let status = try answer.get()
        let better = status.betterPath
        return [
            status.state.rawValue, "\(status.reason.code)", "\(status)", better?.interface?.name ?? "",
            better?.sourceAddress?.description ?? "",
            status.subflows.map(\.state.rawValue).joined(separator: " "),
        ]
    }

    /// What an observation of the connection says.
    mutating func watched(_ fields: [String]) throws -> [String] {
        let number = try number(fields.first)
        guard let entry = entries[number] else { throw Probe.Failure("no such connection") }
        let observation: NetworkObservation<ConnectionStatus>
        if let known = entry.observation {
            observation = known
        } else {
            let connection = try NetworkConnection(fileDescriptor: entry.descriptor)
            observation = try NetworkSource.kernel.observe(.status(of: connection)) { _ in }
        }
        entries[number]?.observation = observation
        return ["\(observation.current.map { "\($0)" } ?? "nothing yet")"]
    }

    /// Sends data on all connections, and waits until it is received: long for those that are given.
    ///
    /// The data that a server sends back proves less: its TCP repeats that after pauses of its own, of which this host
    /// knows nothing.
    ///
    /// - Returns: The numbers of the connections whose data was received, then `broken`, and those that broke.
    mutating func exchange(_ fields: [String]) throws -> [String] {
        let expected = try Set(fields.map { try number($0) })
        token += 1
        // TCP doubles the pause before each repetition (`tcp_retransmit_timer`), also while a route drops its packets:
        // once there is a route again, data leaves when that pause is over.
        let endurance = Self.endurance + (expected.compactMap(retransmissionTimeout).max() ?? .zero)
        var missing = Set(entries.keys)
        for number in missing { send(number) }
        let start = ContinuousClock.now
        var lastRepetition = start
        while !missing.isEmpty {
            let now = ContinuousClock.now
            let isUrgent = !missing.isDisjoint(with: expected)
            guard now - start < (isUrgent ? endurance : Self.patience) else { break }
            if now - lastRepetition > .milliseconds(50) {
                // Nothing repeats a lost datagram.
                for number in missing where entries[number]?.isTCP == false { send(number) }
                lastRepetition = now
            }
            for number in missing where isReceived(number) { missing.remove(number) }
            missing.subtract(entries.filter(\.value.isBroken).keys)
            poll(nil, 0, 1)
        }
        let broken = entries.filter(\.value.isBroken).keys.sorted()
        return entries.keys.sorted().filter { !missing.contains($0) && !broken.contains($0) }.map(String.init)
            + ["broken"] + broken.map(String.init)
    }

    /// The pause before the next repetition on a TCP connection; `nil` for others.
    private func retransmissionTimeout(_ number: Int) -> Duration? {
        guard let entry = entries[number], entry.isTCP else { return nil }
        var info = tcp_info()
        var size = socklen_t(MemoryLayout<tcp_info>.size)
        let status = getsockopt(entry.descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &size)
        guard status == 0 else { return nil }
        return .microseconds(Int64(info.tcpi_rto))
    }

    private mutating func send(_ number: Int) {
        guard let entry = entries[number] else { return }
        let sent = withUnsafeBytes(of: token) {
            Glibc.send(entry.descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
        }
        if sent < 0, entry.isTCP, errno != EAGAIN { entries[number]?.isBroken = true }
    }

    /// Whether the other end has received everything that was sent.
    private mutating func isReceived(_ number: Int) -> Bool {
        guard let entry = entries[number] else { return false }
        var buffer = [UInt8](repeating: 0, count: 4_096)
        var isBack = false
        while true {
            let count = recv(entry.descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count < 0, errno == EAGAIN { break }
            if entry.isTCP, count <= 0 {
                entries[number]?.isBroken = true
                return false
            }
            let value = buffer.withUnsafeBytes { $0.load(as: UInt64.self) }
            if count == MemoryLayout.size(ofValue: token), value == token { isBack = true }
        }
        guard entry.isTCP else { return isBack }
        var unacknowledged: Int32 = 0
        return ioctl(entry.descriptor, UInt(TIOCOUTQ), &unacknowledged) == 0 && unacknowledged == 0
    }

    private func number(_ text: String?) throws -> Int {
        guard let number = text.flatMap({ Int($0) }) else {
            throw Probe.Failure("\(text ?? "") is not a number")
        }
        return number
    }

    // MARK: The server

    /// Starts a thread that sends back what TCP connections and datagrams to ``port`` contain; with `mptcp` MPTCP
    /// connections, too.
    static func serve(_ fields: [String]) throws {
        let stream = try listener(SOCK_STREAM, fields.first == "mptcp" ? multipath : 0)
        let datagrams = try listener(SOCK_DGRAM)
        guard listen(stream, 64) == 0 else { throw Probe.Failure.system("listen") }
        let isStarted = BackgroundThread.start("echo") { echo(stream, datagrams) }
        guard isStarted else { throw Probe.Failure("no thread") }
    }

    private static func listener(_ kind: __socket_type, _ ipProtocol: Int32 = 0) throws -> Int32 {
        let descriptor = socket(AF_INET6, Int32(kind.rawValue | SOCK_CLOEXEC.rawValue), ipProtocol)
        guard descriptor >= 0 else { throw Probe.Failure.system("socket") }
        try call("bind", "::", port: port) { bind(descriptor, $0, $1) }
        if kind == SOCK_DGRAM {
            // The answer has the address that the query was sent to.
            try set(descriptor, Int32(IPPROTO_IPV6), IPV6_RECVPKTINFO, 1)
        }
        return descriptor
    }

    private static func echo(_ stream: Int32, _ datagrams: Int32) {
        var clients: [Int32] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            var waits = ([stream, datagrams] + clients).map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            poll(&waits, nfds_t(waits.count), -1)
            for wait in waits where wait.revents != 0 {
                if wait.fd == stream {
                    let client = accept(stream, nil, nil)
                    if client >= 0 { clients.append(client) }
                } else if wait.fd == datagrams {
                    echoDatagram(datagrams)
                } else {
                    let count = recv(wait.fd, &buffer, buffer.count, 0)
                    if count > 0, Glibc.send(wait.fd, buffer, count, Int32(MSG_NOSIGNAL)) == count {
                        continue
                    }
                    close(wait.fd)
                    clients.removeAll { $0 == wait.fd }
                }
            }
        }
    }

    /// Sends a datagram back from the address that it was sent to, which recvmsg(2) has with it.
    private static func echoDatagram(_ descriptor: Int32) {
        var (name, payload) = (sockaddr_storage(), [UInt8](repeating: 0, count: 64))
        var control = [UInt64](repeating: 0, count: 32)
        withUnsafeMutableBytes(of: &name) { name in
            payload.withUnsafeMutableBytes { payload in
                control.withUnsafeMutableBytes { control in
                    var vector = iovec(iov_base: payload.baseAddress, iov_len: payload.count)
                    withUnsafeMutablePointer(to: &vector) { vector in
                        var message = msghdr(
                            msg_name: name.baseAddress, msg_namelen: socklen_t(name.count), msg_iov: vector,
                            msg_iovlen: 1, msg_control: control.baseAddress, msg_controllen: control.count,
                            msg_flags: 0)
                        let count = recvmsg(descriptor, &message, 0)
                        guard count > 0 else { return }
                        vector.pointee.iov_len = count
                        // The interface of the query is not that of the answer: the routes select it.
                        if message.msg_controllen >= 36, let control = message.msg_control {
                            let isLinkLocal = (control + 16).load(as: UInt8.self) == 0xFE
                            if !isLinkLocal { (control + 32).storeBytes(of: 0, as: UInt32.self) }
                        }
                        sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL))
                    }
                }
            }
        }
    }

    // MARK: System calls

    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) throws {
        var value = value
        guard setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
            throw Probe.Failure.system("setsockopt")
        }
    }

    /// Passes an address and a port to a system call.
    private static func call(
        _ name: String,
        _ address: String,
        port: UInt16,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws {
        var status: Int32 = -1
        if address.contains(":") {
            var value = sockaddr_in6()
            value.sin6_family = sa_family_t(AF_INET6)
            value.sin6_port = port.bigEndian
            let parts = address.split(separator: "%")
            guard inet_pton(AF_INET6, String(parts[0]), &value.sin6_addr) == 1 else {
                throw Probe.Failure("no address: \(address)")
            }
            if parts.count > 1 { value.sin6_scope_id = if_nametoindex(String(parts[1])) }
            status = withUnsafePointer(to: &value) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<sockaddr_in6>.size))
                }
            }
        } else {
            var value = sockaddr_in()
            value.sin_family = sa_family_t(AF_INET)
            value.sin_port = port.bigEndian
            guard inet_pton(AF_INET, address, &value.sin_addr) == 1 else {
                throw Probe.Failure("no address: \(address)")
            }
            status = withUnsafePointer(to: &value) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        guard status == 0 else { throw Probe.Failure.system("\(name) \(address)") }
    }
}
