// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import SystemSupport
internal import TestSupport

/// A network namespace of the running kernel, which threads of a test enter.
///
/// The namespace initially has a loopback interface that is up. It ends with this object and everything opened in it.
/// Packets do not leave the namespace.
package final class LiveNetwork: Sendable {
    /// Why a namespace cannot be made, or a shell script cannot be run.
    package struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// What failed, and what to do.
        package let description: String
    }

    /// Why this process can make no network namespace, and what to do; `nil` if it can.
    ///
    /// Making a namespace needs `CAP_SYS_ADMIN`, which root has, and every user in a user namespace.
    package static let blocker: String? = {
        do throws(Failure) {
            _ = try LiveNetwork()
            return nil
        } catch {
            return error.description
        }
    }()

    /// `CLONE_NEWNET`, which Glibc's headers hide without GNU extensions.
    private static let network: Int32 = 0x4000_0000

    private let descriptor: Int32

    /// Makes a network namespace.
    ///
    /// - Throws: ``Failure`` if this process may not make one.
    package init() throws(Failure) {
        typealias Unshare = @convention(c) (Int32) -> Int32
        do {
            descriptor = try OwnThread.run {
                guard let unshare = dlsym(nil, "unshare"),
                    unsafeBitCast(unshare, to: Unshare.self)(Self.network) == 0,
                    case let descriptor = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC),
                    descriptor >= 0
                else {
                    throw Failure(
                        description: "cannot make a network namespace: \(SystemCallError.message(errno)): "
                            + "run the tests as root, or with `unshare -Ur swift test`")
                }
                return descriptor
            }
        } catch {
            throw Failure(description: "\(error)")
        }
        try shell("ip link set lo up")
    }

    deinit {
        close(descriptor)
    }

    /// Runs a closure on a new thread in the namespace, and waits for its end.
    ///
    /// Sockets that the closure opens and processes that it starts stay in the namespace.
    ///
    /// - Parameter body: The closure.
    /// - Returns: What the closure returns.
    /// - Throws: The error of the closure, or an error if no thread can be started.
    package func run<Value>(_ body: () throws -> Value) throws -> Value {
        typealias SetNamespace = @convention(c) (Int32, Int32) -> Int32
        return try OwnThread.run {
            guard let setns = dlsym(nil, "setns"),
                unsafeBitCast(setns, to: SetNamespace.self)(descriptor, Self.network) == 0
            else {
                throw Failure(description: "cannot enter the namespace: \(SystemCallError.message(errno))")
            }
            return try body()
        }
    }

    /// Runs a shell script in the namespace, up to the first command that fails.
    ///
    /// - Parameter script: The script, such as `ip route add default via 192.0.2.1`.
    /// - Returns: The script's output and error output.
    /// - Throws: ``Failure`` with the output if a command fails.
    @discardableResult
    package func shell(_ script: String) throws(Failure) -> String {
        let (status, output): (Int32, String)
        do {
            (status, output) = try run {
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
