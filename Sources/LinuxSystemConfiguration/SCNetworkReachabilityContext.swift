// SPDX-License-Identifier: Apache-2.0

public import CoreFoundation
public import LinuxSystemConfiguration.SCNetworkReachability

/// Called with a target whose flags have changed.
///
/// A C function: it captures nothing, and gets its state through `info`.
///
/// - Parameters:
///   - target: The target.
///   - flags: Its current flags.
///   - info: The context's `info`, or the pointer that its `retain` returned.
public typealias SCNetworkReachabilityCallBack =
    @Sendable @convention(c) (
        _ target: SCNetworkReachability, _ flags: SCNetworkReachabilityFlags, _ info: UnsafeMutableRawPointer?
    ) -> Void

/// The pointer that a callback gets besides the flags, and the functions that keep it valid.
///
/// `retain` is called when the callback is set and before each call. `release` is called after each call, and when
/// the callback is replaced or the target is deallocated. The calls are balanced. Neither is called while a lock is
/// held, or without an `info`.
public struct SCNetworkReachabilityContext {
    /// Retains `info`.
    public typealias Retain = @Sendable @convention(c) (_ info: UnsafeRawPointer) -> UnsafeRawPointer
    /// Releases `info`.
    public typealias Release = @Sendable @convention(c) (_ info: UnsafeRawPointer) -> Void
    /// Describes `info`: no C function, because ``CFString`` is not a C type on Linux.
    public typealias CopyDescription = @Sendable (_ info: UnsafeRawPointer) -> Unmanaged<CFString>

    /// The version of this structure: 0.
    public var version: CFIndex
    /// The pointer that the callback gets.
    public var info: UnsafeMutableRawPointer?
    /// Retains `info`; without it, the program keeps `info` valid.
    public var retain: Retain?
    /// Releases `info`.
    public var release: Release?
    /// Describes `info`; it is stored and never called, as on Apple's platforms.
    public var copyDescription: CopyDescription?

    /// Creates a context.
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

    /// Creates an empty context.
    public init() {
        self.init(version: 0, info: nil, retain: nil, release: nil, copyDescription: nil)
    }
}
