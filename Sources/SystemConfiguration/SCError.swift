// SPDX-License-Identifier: Apache-2.0

// The names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

internal import CSystemConfiguration

/// Nothing went wrong.
public let kSCStatusOK = 0
/// Something failed that no other code tells: here, the kernel or a thread.
public let kSCStatusFailed = 1001
/// An argument is none that the function takes, or does not go with what was called before.
public let kSCStatusInvalidArgument = 1002
/// Never used on Linux.
public let kSCStatusAccessError = 1003
/// Never used on Linux.
public let kSCStatusNoKey = 1004
/// The question could not be asked or answered, which is not the same as no.
public let kSCStatusReachabilityUnknown = 4001

/// The code of the last failure in the calling thread.
///
/// Each function of this module sets it when it fails, and none takes it back when it succeeds.
///
/// - Returns: One of the `kSCStatus...` codes; 0 in a thread in which nothing has failed.
@discardableResult
public func SCError() -> Int32 {
    csc_last_error()
}

/// The words for a code.
///
/// - Parameter status: A `kSCStatus...` code, or an errno.
/// - Returns: English text that is constant and nobody's to free.
@discardableResult
public func SCErrorString(_ status: Int32) -> UnsafePointer<CChar> {
    csc_error_string(status)
}

/// Notes a failure of the calling thread.
///
/// - Returns: What functions return that fail.
func fail(_ status: Int) -> Bool {
    csc_set_last_error(Int32(status))
    return false
}
