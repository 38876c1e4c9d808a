// SPDX-License-Identifier: Apache-2.0

// The names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import CSystemConfiguration
public import CoreFoundation
public import Dispatch
internal import NetlinkReachability

/// Finds out a target's flags, without ever waiting for a resolver.
///
/// - A target that is scheduled: the last flags that were found out, without a system call.
/// - A target that is not: an address is asked about now, a few microseconds; a name is judged by the default
///   path, so that also a name that does not exist is reachable while there is one.
///
/// - Parameters:
///   - target: The target.
///   - flags: Where they are written; 0 means that there is no way.
/// - Returns: Whether they could be found out; if not, `SCError()` is `kSCStatusReachabilityUnknown`.
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

/// Sets, replaces or takes away a target's callback, before or after the target is scheduled.
///
/// A callback that is set late is called with what the target owes: see ``SCNetworkReachabilitySetDispatchQueue``.
///
/// - Parameters:
///   - target: The target.
///   - callout: What is called; `nil` for nothing any more.
///   - context: What it gets besides, which is copied.
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

/// Sets a callback that a program keeps under the C type itself, which says nothing of threads.
///
/// - Parameters:
///   - target: The target.
///   - callout: What is called.
///   - context: What it gets besides, which is copied.
/// - Returns: True.
@discardableResult
@_disfavoredOverload
public func SCNetworkReachabilitySetCallback(
    _ target: SCNetworkReachability,
    _ callout:
        @convention(c) (SCNetworkReachability, SCNetworkReachabilityFlags, UnsafeMutableRawPointer?) -> Void,
    _ context: UnsafeMutablePointer<SCNetworkReachabilityContext>?
) -> Bool {
    // A C function captures nothing, and a program that sets one as a callback has it called on another thread:
    // that is what `@Sendable` says, and the two types are one pointer.
    let sendable = unsafeBitCast(callout, to: SCNetworkReachabilityCallBack.self)
    return SCNetworkReachabilitySetCallback(target, sendable, context)
}

/// Schedules a target on a queue, or takes it off.
///
/// The callback is called on that queue, one call after the other, with every change of the flags, and never twice
/// with the same. An address owes no call before its first change; a name owes one when it is resolved, unless
/// `SCNetworkReachabilityGetFlags` has told the same already. Once this has returned on the queue itself, which is
/// serial, with `nil`, nothing is called any more; elsewhere a call that has begun may still be running.
///
/// A scheduled target keeps itself alive.
///
/// - Parameters:
///   - target: The target.
///   - queue: The queue; `nil` to take the target off the one it is on.
/// - Returns: Whether it could be done; if not, `SCError()` is `kSCStatusInvalidArgument` when the target is
///   scheduled already, or with `nil` is on no queue; `kSCStatusFailed` when there is no netlink socket or thread to
///   be had.
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
/// The callback is called as ``SCNetworkReachabilitySetDispatchQueue`` says, by the run loop while it runs in that
/// mode. A target can be on several run loops and in several modes; one of them calls. On the same twice, it has to
/// be taken off twice.
///
/// - Parameters:
///   - target: The target.
///   - runLoop: The run loop.
///   - runLoopMode: The mode, such as `CFRunLoopMode.defaultMode.rawValue`.
/// - Returns: Whether it could be done; if not, `SCError()` is `kSCStatusInvalidArgument` when the target is on a
///   queue or the mode is no string; `kSCStatusFailed` when there is no netlink socket or thread to be had.
@discardableResult
public func SCNetworkReachabilityScheduleWithRunLoop(
    _ target: SCNetworkReachability,
    _ runLoop: CFRunLoop,
    _ runLoopMode: CFString
) -> Bool {
    guard let mode = RunLoopModeName(runLoopMode) else { return fail(kSCStatusInvalidArgument) }
    let status = target.handle.schedule(on: runLoop, mode)
    return status == kSCStatusOK || fail(status)
}

/// Takes a target off a run loop, in a mode.
///
/// - Parameters:
///   - target: The target.
///   - runLoop: The run loop.
///   - runLoopMode: The mode.
/// - Returns: Whether it was there; if not, `SCError()` is `kSCStatusInvalidArgument`.
@discardableResult
public func SCNetworkReachabilityUnscheduleFromRunLoop(
    _ target: SCNetworkReachability,
    _ runLoop: CFRunLoop,
    _ runLoopMode: CFString
) -> Bool {
    guard let mode = RunLoopModeName(runLoopMode) else { return fail(kSCStatusInvalidArgument) }
    let status = target.handle.unschedule(from: runLoop, mode)
    return status == kSCStatusOK || fail(status)
}
