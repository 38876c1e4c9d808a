// SPDX-License-Identifier: Apache-2.0

public import CSystemConfiguration
public import CoreFoundation

/// Called with a target whose flags have changed.
///
/// A C function: it captures nothing and gets what it needs through `info`.
///
/// - Parameters:
///   - target: The target.
///   - flags: Its flags now.
///   - info: The context's `info`, or what its `retain` made of that.
public typealias SCNetworkReachabilityCallBack =
    @Sendable @convention(c) (
        _ target: SCNetworkReachability, _ flags: SCNetworkReachabilityFlags, _ info: UnsafeMutableRawPointer?
    ) -> Void

/// What a callback gets besides the flags, and how that is kept alive.
///
/// `retain` is called when the callback is set and before each call, `release` after each call and when the
/// callback is replaced or the target goes away; they balance. Neither is called while a lock is held, nor without
/// an `info`.
public struct SCNetworkReachabilityContext {
    /// Keeps what `info` points to.
    public typealias Retain = @Sendable @convention(c) (_ info: UnsafeRawPointer) -> UnsafeRawPointer
    /// Lets go of it.
    public typealias Release = @Sendable @convention(c) (_ info: UnsafeRawPointer) -> Void
    /// Describes it.
    public typealias CopyDescription =
        @Sendable @convention(c) (_ info: UnsafeRawPointer) -> Unmanaged<CFString>

    /// The form of this structure; 0.
    public var version: CFIndex
    /// What the callback gets.
    public var info: UnsafeMutableRawPointer?
    /// Keeps `info`; without it, the program has to.
    public var retain: Retain?
    /// Lets go of `info`.
    public var release: Release?
    /// Describes `info`; it is kept and never called, as on Apple's platforms.
    public var copyDescription: CopyDescription?

    /// Makes a context.
    public init(
        version: CFIndex,
        info: UnsafeMutableRawPointer?,
        retain: Retain?,
        release: Release?,
        copyDescription: CopyDescription?
    ) {
        self.version = version
        self.info = info
        self.retain = retain
        self.release = release
        self.copyDescription = copyDescription
    }

    /// Makes a context without anything.
    public init() {
        self.init(version: 0, info: nil, retain: nil, release: nil, copyDescription: nil)
    }
}
