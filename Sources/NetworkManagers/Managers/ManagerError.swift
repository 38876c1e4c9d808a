// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import SystemSupport

/// Why something was not answered by a manager.
struct ManagerError: Error, Hashable {
    /// The errno, positive.
    var number: Int32
    /// The error's name over D-Bus or varlink; empty if the failure is not an answer.
    var name = ""
    /// The manager's words.
    var message = ""

    /// Throws the error of a call of sd-bus, which returns a negative errno.
    @discardableResult
    static func check(_ status: Int32) throws(ManagerError) -> Int32 {
        guard status >= 0 else { throw ManagerError(number: -status) }
        return status
    }

    /// An answer of another type.
    static let otherType = ManagerError(number: EBADMSG, message: "an answer of another type than expected")

    /// What the error says about the manager that was asked.
    var state: ManagerFacts.State {
        switch name.split(separator: ".").last {
        case "ServiceUnknown", "NameHasNoOwner", "UnknownMethod", "UnknownInterface", "UnknownObject",
            "MethodNotFound", "InterfaceNotFound":
            return .absent
        case "NoReply", "Timeout", "TimedOut": return .silent
        default: break
        }
        switch number {
        case ENOENT, ECONNREFUSED, ENOTCONN, ECONNRESET, ENOTDIR: return .absent
        case ETIMEDOUT: return .silent
        default: return .refused(message.isEmpty ? SystemCallError.message(number) : message)
        }
    }
}
