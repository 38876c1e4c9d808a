/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_ROUTE_CACHE_H
#define CNL_ROUTE_CACHE_H

#include "cnl_outcome.h"

#pragma clang assume_nonnull begin

/* libnl's route cache (rtnl_route_alloc_cache). It serves for comparison only: the key of libnl 3.7 merges routes
 * that differ in nexthop, scope or type, and the time to load grows with the square of the number of routes. */
typedef struct cnl_route_cache cnl_route_cache;

/* Loads the cache through a socket of its own. Returns NULL and fills the fault on failure. The caller frees the
 * cache. */
cnl_route_cache *_Nullable cnl_route_cache_load(cnl_fault *fault);

void cnl_route_cache_free(cnl_route_cache *cache);

/* The number of routes of a family (AF_INET, AF_INET6) in the cache, without the kernel's own cached exceptions. */
size_t cnl_route_cache_count(const cnl_route_cache *cache, uint8_t family);

#pragma clang assume_nonnull end

#endif
