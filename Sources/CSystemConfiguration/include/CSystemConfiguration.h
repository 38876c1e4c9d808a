// SPDX-License-Identifier: Apache-2.0

// The types of Apple's SCNetworkReachability that have to be C's own: only these can stand in the type of a
// function pointer that Swift calls @convention(c). Everything else is Swift, in Sources/SystemConfiguration.

#ifndef C_SYSTEM_CONFIGURATION_H
#define C_SYSTEM_CONFIGURATION_H

#include <stdint.h>

#pragma clang assume_nonnull begin

/// A reference that Swift counts: what is behind it is an object of Swift's, made in SCNetworkReachabilityCreate...
/// The attribute and the ending of the name make it a class in Swift, called SCNetworkReachability.
typedef const struct __attribute__((objc_bridge(id))) __SCNetworkReachability *SCNetworkReachabilityRef;

/// Apple's bits. Swift takes the common beginning away: .reachable, .isDirect and so on.
typedef enum __attribute__((flag_enum, enum_extensibility(open))) SCNetworkReachabilityFlags : uint32_t {
    kSCNetworkReachabilityFlagsTransientConnection = 1 << 0,
    kSCNetworkReachabilityFlagsReachable = 1 << 1,
    kSCNetworkReachabilityFlagsConnectionRequired = 1 << 2,
    kSCNetworkReachabilityFlagsConnectionOnTraffic = 1 << 3,
    kSCNetworkReachabilityFlagsInterventionRequired = 1 << 4,
    kSCNetworkReachabilityFlagsConnectionOnDemand = 1 << 5,
    kSCNetworkReachabilityFlagsIsLocalAddress = 1 << 16,
    kSCNetworkReachabilityFlagsIsDirect = 1 << 17,
    kSCNetworkReachabilityFlagsIsWWAN = 1 << 18,
    /// Another name of the same bit.
    kSCNetworkReachabilityFlagsConnectionAutomatic = kSCNetworkReachabilityFlagsConnectionOnTraffic,
} SCNetworkReachabilityFlags;

/// The calling thread's last error, behind SCError(): Swift has no thread-local variables.
int32_t csc_last_error(void);

/// Sets it.
void csc_set_last_error(int32_t code);

/// The words for one of this module's codes or for an errno. They are constant and nobody's to free.
const char *csc_error_string(int32_t code);

#pragma clang assume_nonnull end

#endif
