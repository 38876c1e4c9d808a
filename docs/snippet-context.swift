// SPDX-License-Identifier: Apache-2.0

// What the examples of doc comments use without declaring it: docs/check-snippets compiles them with this file.

@_exported import Dispatch
@_exported import Glibc
@_exported import NetlinkRecording
@_exported import NetlinkReachability
@_exported import NetlinkReachabilityTestKit
@_exported import Network
@_exported import Testing
@_exported import Uplink

// Of a program.
public let peers: [IPAddress] = []
public let answers: [IPAddress] = []
public let address: NetlinkReachability.IPAddress = peers[0]
public let descriptor: Int32 = 3
public let text = "eth0"
public func upload() {}
public func reconnect() {}
public struct Pool: Sendable {
    public func closeIdleConnections() {}
    public func map<Value>(_ transform: (Client) -> Value) -> [Value] { [] }
}
public struct Client: Sendable {
    public let connection: NetworkConnection
    public func addresses(of name: String) async throws -> [NetlinkReachability.IPAddress] { [] }
}
public typealias RegistryClient = Client
public let connection = try! NetworkConnection(fileDescriptor: 3)
public let client = Client(connection: connection)
public let pool = Pool()
public struct Table: Sendable {
    public func lookUp(_ name: String) throws -> ReachabilityTarget.Resolution { .notFound }
}
public let table = Table()
public struct Logger: Sendable { public func debug(_ text: String) {} }
public let logger = Logger()
@MainActor public final class Label { public var text: String? }
@MainActor public let label = Label()

// Of the library.
public let source = NetworkSource.kernel
public let reachability = try! NetworkReachability(host: "example.com")
public let target = ReachabilityTarget.defaultPath
@MainActor public var options = ReachabilityOptions()
@MainActor public var observation: NetworkObservation<ReachabilityFlags>?
public let recording = Recording(path: "host.rtnl")

// Of a test.
public let network = SimulatedNetwork(.wifi)
public let indicator = try! UplinkIndicator(host: "example.com")
@MainActor public var host = network.host
