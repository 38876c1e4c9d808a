// SPDX-License-Identifier: Apache-2.0

internal import LinuxSystemConfiguration.SCNetworkReachability

/// A callback with its context, retained for as long as this object lives.
///
/// A call in progress retains the object, so `info` stays valid even if another thread removes the callback
/// meanwhile.
final class CallbackClient: Sendable {
    private let callout: SCNetworkReachabilityCallBack
    private let retain: SCNetworkReachabilityContext.Retain?
    private let release: SCNetworkReachabilityContext.Release?
    // The pointer is not dereferenced here. It is passed to the program's functions, which must accept any thread
    // according to the contract of the callback.
    private nonisolated(unsafe) let info: UnsafeMutableRawPointer?

    init(_ callout: @escaping SCNetworkReachabilityCallBack, _ context: SCNetworkReachabilityContext?) {
        self.callout = callout
        retain = context?.retain
        release = context?.release
        info = Self.retained(context?.info, by: context?.retain)
    }

    deinit {
        if let info { release?(info) }
    }

    /// Calls the callback.
    ///
    /// Like Apple, retains `info` before the call and releases it after the call.
    func call(_ target: SCNetworkReachability, _ flags: SCNetworkReachabilityFlags) {
        let info = Self.retained(info, by: retain)
        callout(target, flags, info)
        if retain != nil, let info { release?(info) }
    }

    /// The pointer that `retain` returned.
    ///
    /// The functions accept no null pointer.
    private static func retained(
        _ info: UnsafeMutableRawPointer?,
        by retain: SCNetworkReachabilityContext.Retain?
    ) -> UnsafeMutableRawPointer? {
        guard let info, let retain else { return info }
        return UnsafeMutableRawPointer(mutating: retain(info))
    }
}
