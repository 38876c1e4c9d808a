// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import SystemSupport

/// Calls over varlink: JSON with a final NUL, over a Unix stream socket.
enum Varlink {
    /// The time limit for a manager's answer.
    static let limit = Duration.seconds(1)
    /// The longest answer that is read, in bytes: enough for a host with thousands of interfaces.
    static let sizeLimit = 64 << 20

    /// Calls a method without parameters.
    ///
    /// - Parameters:
    ///   - method: The method with its interface.
    ///   - path: The path of the socket.
    ///   - limit: How long the manager may take.
    /// - Returns: The parameters.
    /// - Throws: The error of the manager, or of the connection.
    static func call(
        _ method: String, at path: String, within limit: Duration = limit
    ) throws(ManagerError) -> BusValue {
        let deadline = ContinuousClock.now + limit
        let descriptor = try connect(path)
        defer { close(descriptor) }
        // A request is smaller than the buffer of a new socket, so it is sent at once.
        let request = Array("{\"method\":\"\(method)\",\"parameters\":{}}\0".utf8)
        guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw ManagerError(number: errno)
        }
        let reply = try decode(try answer(descriptor, deadline))
        if let name = reply["error"]?.text { throw ManagerError(number: EBADMSG, name: name, message: name) }
        guard let parameters = reply["parameters"] else { throw ManagerError(number: EBADMSG) }
        return parameters
    }

    /// Decodes JSON.
    ///
    /// - Throws: An error with the decoder's words.
    static func decode(_ bytes: [UInt8]) throws(ManagerError) -> BusValue {
        do {
            return try JSONDecoder().decode(BusValue.self, from: Data(bytes))
        } catch {
            throw ManagerError(number: EBADMSG, message: "an answer of another form: \(error)")
        }
    }

    private static func connect(_ path: String) throws(ManagerError) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw ManagerError(number: ENAMETOOLONG)
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw ManagerError(number: errno) }
        let status = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else {
            let number = errno
            close(descriptor)
            // The queue of a listener that hangs is full.
            throw ManagerError(number: number == EAGAIN ? ETIMEDOUT : number)
        }
        return descriptor
    }

    /// Reads up to the NUL.
    private static func answer(
        _ descriptor: Int32, _ deadline: ContinuousClock.Instant
    ) throws(ManagerError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < sizeLimit {
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { throw ManagerError(number: ETIMEDOUT) }
            waitForDescriptor(descriptor, POLLIN, atMost: left)
            var number: Int32 = 0
            let piece = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
                let status = recv(descriptor, buffer.baseAddress, buffer.count, 0)
                if status < 0 { number = errno } else { count = status }
            }
            if number == EAGAIN || number == EINTR { continue }
            guard number == 0 else { throw ManagerError(number: number) }
            guard !piece.isEmpty else { throw ManagerError(number: ECONNRESET) }
            if let end = piece.firstIndex(of: 0) { return bytes + piece[..<end] }
            bytes += piece
        }
        throw ManagerError(number: EMSGSIZE)
    }
}
