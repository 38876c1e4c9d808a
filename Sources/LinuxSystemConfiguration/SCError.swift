// SPDX-License-Identifier: Apache-2.0

// The names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import CoreFoundation
internal import LinuxSystemConfiguration.SCNetworkReachability

public import protocol Foundation.LocalizedError
public import class Foundation.NSString

/// Success.
public let kSCStatusOK = 0
/// A failure without a code of its own: here, a failure of the kernel or of a thread.
public let kSCStatusFailed = 1001
/// An argument is invalid, or contradicts earlier calls.
public let kSCStatusInvalidArgument = 1002
/// Never used on Linux.
public let kSCStatusAccessError = 1003
/// Never used on Linux.
public let kSCStatusNoKey = 1004
/// Never used on Linux.
public let kSCStatusKeyExists = 1005
/// Never used on Linux.
public let kSCStatusLocked = 1006
/// Never used on Linux.
public let kSCStatusNeedLock = 1007
/// Never used on Linux.
public let kSCStatusNoStoreSession = 2001
/// Never used on Linux.
public let kSCStatusNoStoreServer = 2002
/// Never used on Linux.
public let kSCStatusNotifierActive = 2003
/// Never used on Linux.
public let kSCStatusNoPrefsSession = 3001
/// Never used on Linux.
public let kSCStatusPrefsBusy = 3002
/// Never used on Linux.
public let kSCStatusNoConfigFile = 3003
/// Never used on Linux.
public let kSCStatusNoLink = 3004
/// Never used on Linux.
public let kSCStatusStale = 3005
/// Never used on Linux.
public let kSCStatusMaxLink = 3006
/// The flags could not be determined, which does not mean that they are 0.
public let kSCStatusReachabilityUnknown = 4001
/// Never used on Linux.
public let kSCStatusConnectionNoService = 5001
/// Never used on Linux.
public let kSCStatusConnectionIgnore = 5002

/// The domain of the errors that ``SCCopyLastError()`` returns.
public var kCFErrorDomainSystemConfiguration: CFString { "com.apple.SystemConfiguration" as CFString }

/// Returns the code of the last failure in the calling thread.
///
/// Each function of this module sets the code on failure. No function resets it on success.
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

/// Returns the last failure in the calling thread as an error, with the code of ``SCError()``.
///
/// - Returns: An error in the domain ``kCFErrorDomainSystemConfiguration``, with the text of ``SCErrorString(_:)``.
public func SCCopyLastError() -> CFError {
    let code = SCError()
    var (keys, values) = (kCFTypeDictionaryKeyCallBacks, kCFTypeDictionaryValueCallBacks)
    let info = CFDictionaryCreateMutable(kCFAllocatorDefault, 1, &keys, &values)
    if let text = coreFoundationString(String(cString: SCErrorString(code))) {
        // The dictionary retains both objects.
        CFDictionarySetValue(
            info, Unmanaged.passUnretained(kCFErrorLocalizedDescriptionKey).toOpaque(),
            Unmanaged.passUnretained(text).toOpaque())
    }
    return CFErrorCreate(
        kCFAllocatorDefault, coreFoundationString("com.apple.SystemConfiguration"), CFIndex(code), info)
}

/// As in Apple's Foundation, a Core Foundation error can be thrown.
// The Foundation of Linux has no such conformance, and does not export the type.
// swift-format-ignore: AvoidRetroactiveConformances
extension CFError: @retroactive Error {}

// swift-format-ignore: AvoidRetroactiveConformances
extension CFError: @retroactive LocalizedError {
    /// The text of `CFErrorCopyDescription`.
    public var errorDescription: String? {
        // The Core Foundation of Linux has the strings of Foundation.
        CFErrorCopyDescription(self).map { unsafeBitCast($0, to: NSString.self) as String }
    }
}

private func coreFoundationString(_ text: String) -> CoreFoundation.CFString? {
    CFStringCreateWithCString(kCFAllocatorDefault, text, CFStringBuiltInEncodings.UTF8.rawValue)
}

/// Stores a failure of the calling thread.
///
/// - Returns: `false`, the result of failing functions.
func fail(_ status: Int) -> Bool {
    csc_set_last_error(Int32(status))
    return false
}
