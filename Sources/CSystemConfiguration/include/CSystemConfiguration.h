// SPDX-License-Identifier: Apache-2.0

// The types of Apple's SCNetworkReachability that must be C types: only these can appear in the type of a function
// pointer that Swift declares @convention(c). Everything else is Swift, in Sources/SystemConfiguration.

#ifndef C_SYSTEM_CONFIGURATION_H
#define C_SYSTEM_CONFIGURATION_H

#include <stdint.h>

#pragma clang assume_nonnull begin

/// A reference that Swift counts, to a Swift object that SCNetworkReachabilityCreate... creates.
/// The attribute and the suffix of the name make it a class named SCNetworkReachability in Swift.
typedef const struct __attribute__((objc_bridge(id))) __SCNetworkReachability *SCNetworkReachabilityRef;

/// Apple's bits. Swift removes the common prefix: .reachable, .isDirect and so on.
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
    /// Another name for the same bit.
    kSCNetworkReachabilityFlagsConnectionAutomatic = kSCNetworkReachabilityFlagsConnectionOnTraffic,
} SCNetworkReachabilityFlags;

/// The calling thread's last error, behind SCError(): Swift has no thread-local variables.
int32_t csc_last_error(void);

/// Sets it.
void csc_set_last_error(int32_t code);

/// Returns the message for one of this module's codes or for an errno. The text is constant, and the caller does not
/// free it.
const char *csc_error_string(int32_t code);

#pragma clang assume_nonnull end

#endif
