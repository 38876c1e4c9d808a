// SPDX-License-Identifier: Apache-2.0

#if canImport(SystemConfiguration) || canImport(Network)
    #error("Apple's names leak into targets that did not ask for them")
#endif
