// SPDX-License-Identifier: Apache-2.0

// One-off queries as many posts write them. Nothing but SystemConfiguration is imported: it brings the rest.

import SystemConfiguration

/// The decision, from the flags.
public func isNetworkReachable(with flags: SCNetworkReachabilityFlags) -> Bool {
    let isReachable = flags.contains(.reachable)
    let needsConnection = flags.contains(.connectionRequired)
    let canConnectAutomatically = flags.contains(.connectionOnDemand) || flags.contains(.connectionOnTraffic)
    let canConnectWithoutUser = canConnectAutomatically && !flags.contains(.interventionRequired)
    return isReachable && (!needsConnection || canConnectWithoutUser)
}

/// A zeroed `sockaddr_in`, rebound.
public func isConnectedToNetwork() -> Bool {
    var zeroAddress = sockaddr_in()
    zeroAddress.sin_len = UInt8(MemoryLayout.size(ofValue: zeroAddress))
    zeroAddress.sin_family = sa_family_t(AF_INET)
    let target = withUnsafePointer(to: &zeroAddress) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { zeroSockAddress in
            SCNetworkReachabilityCreateWithAddress(kCFAllocatorDefault, zeroSockAddress)
        }
    }
    var flags = SCNetworkReachabilityFlags()
    guard let target, SCNetworkReachabilityGetFlags(target, &flags) else { return false }
    let isReachable = (flags.rawValue & UInt32(kSCNetworkFlagsReachable)) != 0
    let needsConnection = (flags.rawValue & UInt32(kSCNetworkFlagsConnectionRequired)) != 0
    return isReachable && !needsConnection
}

/// The memberwise form, with a length.
public func isConnectedByMemberwiseAddress() -> Bool {
    var address = sockaddr_in(
        sin_len: 0, sin_family: 0, sin_port: 0, sin_addr: in_addr(s_addr: 0),
        sin_zero: (0, 0, 0, 0, 0, 0, 0, 0))
    address.sin_len = UInt8(MemoryLayout.size(ofValue: address))
    address.sin_family = sa_family_t(AF_INET)
    guard
        let target = withUnsafePointer(
            to: &address,
            { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    SCNetworkReachabilityCreateWithAddress(nil, $0)
                }
            })
    else { return false }
    var flags: SCNetworkReachabilityFlags = []
    if SCNetworkReachabilityGetFlags(target, &flags) == false { return false }
    return isNetworkReachable(with: flags)
}

/// The link-local network: "local Wi-Fi".
public func isOnLocalNetwork() -> Bool {
    var address = sockaddr_in()
    bzero(&address, MemoryLayout<sockaddr_in>.size)
    address.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(IN_LINKLOCALNETNUM).bigEndian
    let target = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            SCNetworkReachabilityCreateWithAddress(nil, $0)
        }
    }
    var flags = SCNetworkReachabilityFlags()
    guard let target, SCNetworkReachabilityGetFlags(target, &flags) else { return false }
    return flags.contains([.reachable, .isDirect])
}

/// A name, with the error as a number and in words.
public func isReachable(host: String) -> (Bool, error: String?) {
    guard let target = SCNetworkReachabilityCreateWithName(kCFAllocatorDefault, host) else {
        let code = SCError()
        let isArgument = code == kSCStatusInvalidArgument
        return (false, isArgument ? String(cString: SCErrorString(code)) : "code \(code)")
    }
    var flags = SCNetworkReachabilityFlags(rawValue: 0)
    SCNetworkReachabilityGetFlags(target, &flags)
    return (flags.contains(.reachable), nil)
}

extension SCNetworkReachability {
    /// The flags of a target, as an extension.
    var currentFlags: SCNetworkReachabilityFlags? {
        var flags = SCNetworkReachabilityFlags()
        return SCNetworkReachabilityGetFlags(self, &flags) ? flags : nil
    }
}
