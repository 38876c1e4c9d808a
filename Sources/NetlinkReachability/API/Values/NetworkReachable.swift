// SPDX-License-Identifier: Apache-2.0

extension ReachabilityFlags {
    /// Whether a program can use the network for the target now, without help from a user.
    ///
    /// True when the flags contain ``reachable`` and either no connection is required, or the connection starts
    /// automatically, on traffic or on demand, and ``interventionRequired`` is not set.
    ///
    /// ```swift
    /// let flags = try NetworkReachability(host: "example.com").flags()
    /// if flags.isNetworkReachable { upload() }
    /// ```
    ///
    /// The flags describe this host's routing: a target can be network reachable and still not answer.
    public var isNetworkReachable: Bool {
        let startsAutomatically = !isDisjoint(with: [.connectionOnTraffic, .connectionOnDemand])
        let needsUser = contains(.interventionRequired)
        return contains(.reachable)
            && (!contains(.connectionRequired) || (startsAutomatically && !needsUser))
    }
}

/// Returns whether a program can use the network for a target now, without help from a user.
///
/// The same as ``ReachabilityFlags/isNetworkReachable``. Programs for Apple's platforms usually contain a function
/// with this signature around `SCNetworkReachabilityGetFlags`; they can keep their calls to it.
///
/// - Parameter flags: The flags of the target.
/// - Returns: Whether packets can leave for the target.
public func isNetworkReachable(flags: ReachabilityFlags) -> Bool {
    flags.isNetworkReachable
}
