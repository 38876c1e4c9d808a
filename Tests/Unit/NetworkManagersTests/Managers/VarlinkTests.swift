// SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport
import Testing

@testable import NetworkManagers

struct VarlinkTests {
    /// A listener that answers the first request with bytes, and closes the connection.
    private final class Server: Sendable {
        let path = "/tmp/varlink-test-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
        private let descriptor: Int32

        // Without an answer, it accepts nothing.
        init(_ answer: String?) throws {
            descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let status = withUnsafePointer(to: address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            try #require(status == 0 && listen(descriptor, 1) == 0)
            guard let answer else { return }
            let isRunning = BackgroundThread.start("varlink-test") { [descriptor] in
                let client = accept(descriptor, nil, nil)
                var request: [UInt8] = []
                while client >= 0, !request.contains(0) {
                    let (piece, number) = FileBytes.read(client, upTo: 1)
                    guard number == 0, !piece.isEmpty else { break }
                    request += piece
                }
                _ = write(client, answer, answer.utf8.count)
                close(client)
            }
            try #require(isRunning)
        }

        deinit {
            close(descriptor)
            unlink(path)
        }
    }

    private func call(_ server: Server, within limit: Duration = .seconds(60)) throws(ManagerError) -> String?
    {
        try Varlink.call("a.b.C", at: server.path, within: limit)["name"]?.text
    }

    @Test func `the parameters of an answer are decoded`() throws {
        #expect(try call(Server(#"{"parameters":{"name":"x","other":[1]}}"# + "\0")) == "x")
    }

    @Test func `a method that is not there means a manager that is too old`() {
        let error = #expect(throws: ManagerError.self) {
            try call(
                Server(#"{"error":"org.varlink.service.MethodNotFound","parameters":{"method":"a"}}"# + "\0"))
        }
        #expect(error?.state == .absent)
    }

    @Test func `another error is a refusal with its name`() {
        let error = #expect(throws: ManagerError.self) {
            try call(Server(#"{"error":"org.varlink.service.PermissionDenied"}"# + "\0"))
        }
        #expect(error?.state == .refused("org.varlink.service.PermissionDenied"))
    }

    @Test(arguments: ["", "{", "{}"])
    func `an answer without its end is that of a manager that has ended`(text: String) {
        let error = #expect(throws: ManagerError.self) { try call(Server(text)) }
        #expect(error?.state == .absent)
    }

    @Test func `a manager that does not answer is silent`() {
        let error = #expect(throws: ManagerError.self) {
            try call(Server(nil), within: .milliseconds(20))
        }
        #expect(error?.state == .silent)
    }

    @Test func `a socket that is not there is that of no manager`() {
        let error = #expect(throws: ManagerError.self) {
            try Varlink.call("a.b.C", at: "/nonexistent/socket")
        }
        #expect(error?.state == .absent)
    }
}
