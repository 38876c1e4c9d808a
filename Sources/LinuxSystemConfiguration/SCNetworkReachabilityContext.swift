// SPDX-License-Identifier: Apache-2.0

public import CoreFoundation
public import LinuxSystemConfiguration.SCNetworkReachability

/// The type of callbacks, which are called with a target whose flags have changed.
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

/// The `info` pointer of a callback, and the functions that keep it valid.
///
/// `retain` is called when the callback is set and before each call. `release` is called after each call, and when
/// the callback is replaced or the target is deallocated. The calls are balanced. Neither function is called while a
/// lock is held, or without an `info`.
public struct SCNetworkReachabilityContext {
    /// Retains `info`.
    public typealias Retain = @Sendable @convention(c) (_ info: UnsafeRawPointer) -> UnsafeRawPointer
    /// Releases `info`.
    public typealias Release = @Sendable @convention(c) (_ info: UnsafeRawPointer) -> Void
    /// Describes `info`.
    ///
    /// This is not a C function, because ``CFString`` is not a C type on Linux.
    public typealias CopyDescription = @Sendable (_ info: UnsafeRawPointer) -> Unmanaged<CFString>

    /// The version of this structure: 0.
    public var version: CFIndex
    /// The pointer that is passed to the callback.
    public var info: UnsafeMutableRawPointer?
    /// Retains `info`.
    ///
    /// Without this function, the program keeps `info` valid.
    public var retain: Retain?
    /// Releases `info`.
    public var release: Release?
    /// Describes `info`.
    ///
    /// As on Apple's platforms, the function is stored and never called.
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
