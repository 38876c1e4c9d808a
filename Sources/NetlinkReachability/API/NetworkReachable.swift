// SPDX-License-Identifier: Apache-2.0

/// Decides whether a program can use the network for a target now, without asking anybody.
///
/// That is so when the target is reachable and either no connection is required, or one is made by itself
/// (on traffic or on demand) without somebody's help.
///
/// ```swift
/// let flags = try NetworkReachability(host: "example.com").flags()
/// if isNetworkReachable(flags: flags) { upload() }
/// ```
///
/// The counterpart on Apple's side is the function of the same purpose that programs wrote around
/// `SCNetworkReachabilityGetFlags`.
///
/// - Parameter flags: The flags of the target.
/// - Returns: Whether packets will leave towards the target.
public func isNetworkReachable(flags: ReachabilityFlags) -> Bool {
    let needsConnection = flags.contains(.connectionRequired)
    let connectsByItself = !flags.isDisjoint(with: [.connectionOnTraffic, .connectionOnDemand])
    let needsSomebody = flags.contains(.interventionRequired)
    return flags.contains(.reachable) && (!needsConnection || (connectsByItself && !needsSomebody))
}
