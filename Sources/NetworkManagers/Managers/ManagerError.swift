// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import SystemSupport

/// Why a manager did not answer a query.
struct ManagerError: Error, Hashable {
    /// The errno, positive.
    var number: Int32
    /// The error's name over D-Bus or varlink; empty if the failure is not an answer.
    var name = ""
    /// The manager's text.
    var message = ""

    /// Throws the error of an sd-bus call, which returns a negative errno.
    @discardableResult
    static func check(_ status: Int32) throws(ManagerError) -> Int32 {
        guard status >= 0 else { throw ManagerError(number: -status) }
        return status
    }

    /// The error for an answer of another type.
    static let otherType = ManagerError(number: EBADMSG, message: "an answer of another type than expected")

    /// The state of the manager that follows from the error.
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
