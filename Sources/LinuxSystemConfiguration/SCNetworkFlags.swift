// SPDX-License-Identifier: Apache-2.0

public import LinuxSystemConfiguration.SCNetworkReachability

// The older names are numbers, so that `UInt32(kSCNetworkFlagsReachable)` compiles.

/// The bit of `.transientConnection`.
public let kSCNetworkFlagsTransientConnection = 1 << 0
/// The bit of `.reachable`.
public let kSCNetworkFlagsReachable = 1 << 1
/// The bit of `.connectionRequired`.
public let kSCNetworkFlagsConnectionRequired = 1 << 2
/// The bit of `.connectionOnTraffic`.
public let kSCNetworkFlagsConnectionAutomatic = 1 << 3
/// The bit of `.interventionRequired`.
public let kSCNetworkFlagsInterventionRequired = 1 << 4
/// The bit of `.isLocalAddress`.
public let kSCNetworkFlagsIsLocalAddress = 1 << 16
/// The bit of `.isDirect`.
public let kSCNetworkFlagsIsDirect = 1 << 17

// The names in C and Objective-C are flags.

/// C's name of `.transientConnection`.
public let kSCNetworkReachabilityFlagsTransientConnection = SCNetworkReachabilityFlags.transientConnection
/// C's name of `.reachable`.
public let kSCNetworkReachabilityFlagsReachable = SCNetworkReachabilityFlags.reachable
/// C's name of `.connectionRequired`.
public let kSCNetworkReachabilityFlagsConnectionRequired = SCNetworkReachabilityFlags.connectionRequired
/// C's name of `.connectionOnTraffic`.
public let kSCNetworkReachabilityFlagsConnectionOnTraffic = SCNetworkReachabilityFlags.connectionOnTraffic
/// C's name of `.interventionRequired`.
public let kSCNetworkReachabilityFlagsInterventionRequired = SCNetworkReachabilityFlags.interventionRequired
/// C's name of `.connectionOnDemand`.
public let kSCNetworkReachabilityFlagsConnectionOnDemand = SCNetworkReachabilityFlags.connectionOnDemand
/// C's name of `.isLocalAddress`.
public let kSCNetworkReachabilityFlagsIsLocalAddress = SCNetworkReachabilityFlags.isLocalAddress
/// C's name of `.isDirect`.
public let kSCNetworkReachabilityFlagsIsDirect = SCNetworkReachabilityFlags.isDirect
/// C's name of `.isWWAN`.
public let kSCNetworkReachabilityFlagsIsWWAN = SCNetworkReachabilityFlags.isWWAN
/// C's name of `.connectionAutomatic`.
public let kSCNetworkReachabilityFlagsConnectionAutomatic = SCNetworkReachabilityFlags.connectionAutomatic
