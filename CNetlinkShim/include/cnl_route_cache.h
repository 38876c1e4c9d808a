/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_ROUTE_CACHE_H
#define CNL_ROUTE_CACHE_H

#include "cnl_error.h"

#pragma clang assume_nonnull begin

/* Counts the routes of each family in libnl's route cache (rtnl_route_alloc_cache), without the kernel's own cached
 * exceptions. It loads the cache through a socket of its own, and serves for comparison only: the key of libnl 3.7
 * merges routes that differ in nexthop, scope or type, and the time to load grows with the square of the number of
 * routes. Returns false and fills the error on failure. */
bool cnl_route_cache_count(size_t *ipv4, size_t *ipv6, cnl_error *error);

#pragma clang assume_nonnull end

#endif
