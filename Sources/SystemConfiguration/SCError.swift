// SPDX-License-Identifier: Apache-2.0

// The names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

internal import CSystemConfiguration

/// Success.
public let kSCStatusOK = 0
/// A failure without a code of its own: here, of the kernel or a thread.
public let kSCStatusFailed = 1001
/// An argument is invalid, or does not fit the calls before.
public let kSCStatusInvalidArgument = 1002
/// Never used on Linux.
public let kSCStatusAccessError = 1003
/// Never used on Linux.
public let kSCStatusNoKey = 1004
/// The flags could not be determined, which is not the same as flags of 0.
public let kSCStatusReachabilityUnknown = 4001

/// Returns the code of the last failure in the calling thread.
///
/// Each function of this module sets it on failure. No function resets it on success.
///
/// - Returns: One of the `kSCStatus...` codes; 0 if nothing has failed in this thread.
@discardableResult
public func SCError() -> Int32 {
    csc_last_error()
}

/// Returns the message for a code.
///
/// - Parameter status: A `kSCStatus...` code, or an errno.
/// - Returns: A constant English text. The caller does not free it.
@discardableResult
public func SCErrorString(_ status: Int32) -> UnsafePointer<CChar> {
    csc_error_string(status)
}

/// Stores a failure of the calling thread.
///
/// - Returns: The value that failing functions return.
func fail(_ status: Int) -> Bool {
    csc_set_last_error(Int32(status))
    return false
}
