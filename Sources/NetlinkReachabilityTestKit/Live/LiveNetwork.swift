// SPDX-License-Identifier: Apache-2.0

internal import Glibc
public import NetlinkReachability

/// A network namespace of the running kernel, for a test that wants the kernel's own answers.
///
/// ```swift
/// @Test(.enabled(if: LiveNetwork.blocker == nil, "\(LiveNetwork.blocker ?? "")"))
/// func lamp() throws {
///     let network = try LiveNetwork()
///     try network.shell("ip link add eth0 type veth peer name cable; ip link set cable up; ip link set eth0 up")
///     try network.shell("ip addr add 192.0.2.2/24 dev eth0")
///     let reachability = try NetworkReachability(host: "192.0.2.7", source: network.source)
///     #expect(try reachability.blockingFlags().contains(.isDirect))
/// }
/// ```
///
/// The namespace starts with a loopback interface that is up. It ends with this object and what was opened in it.
/// Packets do not leave it. Names have no addresses in it: `NetworkSource.resolving(with:)` adds them.
///
/// A ``SimulatedNetwork`` needs no privilege and no real time. Use it unless the kernel itself is part of the test.
public final class LiveNetwork: Sendable {
    /// Why a namespace cannot be made, or a shell script cannot be run.
    public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// What failed, and what to do.
        public let description: String
    }

    /// Why this process can make no network namespace, and what to do; `nil` if it can.
    ///
    /// The right to make one is `CAP_SYS_ADMIN`, which root has, and every user in a user namespace.
    public static let blocker: String? = {
        do throws(Failure) {
            _ = try LiveNetwork()
            return nil
        } catch {
            return error.description
        }
    }()

    /// The kernel of the namespace, for the code under test on any thread.
    public let source: NetworkSource
    private let namespace: NamespaceDescriptor

    /// Makes a network namespace.
    ///
    /// - Throws: ``Failure`` if this process may not make one.
    public init() throws(Failure) {
        let namespace = try NamespaceDescriptor()
        self.namespace = namespace
        do {
            source = try namespace.source().resolving(with: NoNames())
        } catch {
            throw Failure(description: "\(error)")
        }
        try shell("ip link set lo up")
    }

    /// The namespace as a path of this process, for `ip link set NAME netns PATH`.
    public var path: String { "/proc/\(getpid())/fd/\(namespace.descriptor)" }

    /// Runs a closure on a thread in the namespace, and waits for it.
    ///
    /// Sockets that the closure opens and processes that it starts are in the namespace, and stay there.
    ///
    /// - Parameter body: The closure.
    /// - Returns: What the closure returns.
    /// - Throws: What the closure throws, or ``Failure`` if no thread can be started.
    public func run<Value>(_ body: () throws -> Value) throws -> Value {
        try namespace.run(body)
    }

    /// Runs a shell script in the namespace, up to the first command that fails.
    ///
    /// - Parameter script: The script, such as `ip route add default via 192.0.2.1`.
    /// - Returns: What it writes to its output and its error output.
    /// - Throws: ``Failure`` with the output if a command fails.
    @discardableResult
    public func shell(_ script: String) throws(Failure) -> String {
        let (status, output): (Int32, String)
        do {
            (status, output) = try namespace.run {
                guard let stream = popen("exec 2>&1 </dev/null; set -e; \(script)", "r") else {
                    return (-1, "no shell can be started")
                }
                var bytes: [UInt8] = []
                while case let byte = fgetc(stream), byte != EOF {
                    bytes.append(UInt8(truncatingIfNeeded: byte))
                }
                return (pclose(stream), String(decoding: bytes, as: UTF8.self))
            }
        } catch {
            throw Failure(description: "\(error)")
        }
        guard status == 0 else { throw Failure(description: "\(script): \(output)") }
        return output
    }
}
