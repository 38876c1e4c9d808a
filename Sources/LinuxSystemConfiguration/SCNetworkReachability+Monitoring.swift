// SPDX-License-Identifier: Apache-2.0

// The names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import CoreFoundation
public import Dispatch
public import LinuxSystemConfiguration.SCNetworkReachability
internal import NetlinkReachability

/// Returns a target's flags without waiting for a resolver.
///
/// - A scheduled target has the last flags of the monitor. This needs no system call.
/// - Other targets are evaluated now, in a few microseconds. A name has the flags of the default path. A name that
///   does not exist is therefore reachable if there is a default path.
///
/// - Parameters:
///   - target: The target.
///   - flags: Receives the flags; 0 means that the target is not reachable.
/// - Returns: Whether the flags could be determined. If not, `SCError()` is `kSCStatusReachabilityUnknown`.
@discardableResult
public func SCNetworkReachabilityGetFlags(
    _ target: SCNetworkReachability,
    _ flags: UnsafeMutablePointer<SCNetworkReachabilityFlags>
) -> Bool {
    do {
        flags.pointee = SCNetworkReachabilityFlags(rawValue: try target.handle.flags().rawValue)
        return true
    } catch {
        return fail(kSCStatusReachabilityUnknown)
    }
}

/// Sets, replaces or removes a target's callback, before or after the target is scheduled.
///
/// A callback that is set later gets the call that is due: see ``SCNetworkReachabilitySetDispatchQueue(_:_:)``.
///
/// - Parameters:
///   - target: The target.
///   - callout: The callback; `nil` removes it.
///   - context: The context of the callback, which is copied.
/// - Returns: True.
@discardableResult
public func SCNetworkReachabilitySetCallback(
    _ target: SCNetworkReachability,
    _ callout: SCNetworkReachabilityCallBack?,
    _ context: UnsafeMutablePointer<SCNetworkReachabilityContext>?
) -> Bool {
    target.handle.setClient(callout.map { CallbackClient($0, context?.pointee) })
    return true
}

/// Sets a callback that has the C type, which is not `@Sendable`.
///
/// - Parameters:
///   - target: The target.
///   - callout: The callback.
///   - context: The context of the callback, which is copied.
/// - Returns: True.
@discardableResult
@_disfavoredOverload
public func SCNetworkReachabilitySetCallback(
    _ target: SCNetworkReachability,
    _ callout:
        @convention(c) (SCNetworkReachability, SCNetworkReachabilityFlags, UnsafeMutableRawPointer?) -> Void,
    _ context: UnsafeMutablePointer<SCNetworkReachabilityContext>?
) -> Bool {
    // A C function captures nothing, and setting it as a callback allows calls on other threads, which is the meaning
    // of `@Sendable`. Both types are the same pointer.
    let sendable = unsafeBitCast(callout, to: SCNetworkReachabilityCallBack.self)
    return SCNetworkReachabilitySetCallback(target, sendable, context)
}

/// Schedules a target on a queue, or unschedules it.
///
/// The callback is called on that queue, one call at a time, with every change of the flags, and never twice in a row
/// with the same flags. For an address, the first call comes with the first change. For a name, the first call comes
/// when the name is resolved, unless `SCNetworkReachabilityGetFlags` has returned the same flags. After a call with
/// `nil` on a serial queue itself, the callback is not called again. Elsewhere, a call that has begun may still be
/// running.
///
/// A scheduled target is retained.
///
/// - Parameters:
///   - target: The target.
///   - queue: The queue; `nil` unschedules the target.
/// - Returns: Whether the target was scheduled or unscheduled. If not, `SCError()` is `kSCStatusInvalidArgument` if
///   the target is already scheduled or, with `nil`, is on no queue; `kSCStatusFailed` if no netlink socket or thread
///   can be created.
@discardableResult
public func SCNetworkReachabilitySetDispatchQueue(
    _ target: SCNetworkReachability,
    _ queue: DispatchQueue?
) -> Bool {
    let status =
        if let queue { target.handle.schedule(on: queue) } else { target.handle.unscheduleFromQueue() }
    return status == kSCStatusOK || fail(status)
}

/// Schedules a target on a run loop, in a mode.
///
/// The callback is called under the conditions of ``SCNetworkReachabilitySetDispatchQueue(_:_:)``, by the run loop
/// while it runs in that mode. A target can be on several run loops and in several modes; one of them performs each
/// call. A target that was scheduled twice must be unscheduled twice.
///
/// - Parameters:
///   - target: The target.
///   - runLoop: The run loop.
///   - runLoopMode: The mode, such as `CFRunLoopMode.defaultMode.rawValue`.
/// - Returns: Whether the target was scheduled. If not, `SCError()` is `kSCStatusInvalidArgument` if the target is
///   on a queue or the mode is not a string; `kSCStatusFailed` if no netlink socket or thread can be created.
@discardableResult
public func SCNetworkReachabilityScheduleWithRunLoop(
    _ target: SCNetworkReachability,
    _ runLoop: CFRunLoop,
    _ runLoopMode: AnyObject
) -> Bool {
    guard let mode = RunLoopModeName(runLoopMode) else { return fail(kSCStatusInvalidArgument) }
    let status = target.handle.schedule(on: runLoop, mode)
    return status == kSCStatusOK || fail(status)
}

/// Unschedules a target from a run loop, in a mode.
///
/// - Parameters:
///   - target: The target.
///   - runLoop: The run loop.
///   - runLoopMode: The mode.
/// - Returns: Whether the target was scheduled there. If not, `SCError()` is `kSCStatusInvalidArgument`.
@discardableResult
public func SCNetworkReachabilityUnscheduleFromRunLoop(
    _ target: SCNetworkReachability,
    _ runLoop: CFRunLoop,
    _ runLoopMode: AnyObject
) -> Bool {
    guard let mode = RunLoopModeName(runLoopMode) else { return fail(kSCStatusInvalidArgument) }
    let status = target.handle.unschedule(from: runLoop, mode)
    return status == kSCStatusOK || fail(status)
}
