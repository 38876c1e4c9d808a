/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_ROUTE_CACHE_H
#define CNL_ROUTE_CACHE_H

#include "cnl_query.h"

#pragma clang assume_nonnull begin

/* The kernel's routes as it dumped them, one message after the other: nothing merged, nothing lost. */
typedef struct cnl_route_cache cnl_route_cache;

/* Fills one through the query's socket. A dump that the kernel says was interrupted is started again, at
 * most five times; one that stays so is kept and marked. NULL with a filled fault on failure. The caller
 * frees it. `family` and `table` filter; AF_UNSPEC and 0 take all. */
cnl_route_cache *_Nullable cnl_route_cache_fill(cnl_query *query, uint8_t family, uint32_t table,
                                                cnl_fault *fault);

void cnl_route_cache_free(cnl_route_cache *cache);

size_t cnl_route_cache_count(const cnl_route_cache *cache);

/* Bytes that the messages take. */
size_t cnl_route_cache_size(const cnl_route_cache *cache);

/* True when every attempt was interrupted by a change of the table. */
bool cnl_route_cache_is_interrupted(const cnl_route_cache *cache);

/* Walks the routes in the kernel's order: start with *offset = 0. Returns 1 with a route, 0 at the end,
 * a negative errno for a message that does not parse (the offset is moved past it). `route->legs` is valid
 * as long as the cache. */
int cnl_route_cache_next(const cnl_route_cache *cache, size_t *offset, cnl_route *route);

/* libnl's own route cache (rtnl_route_alloc_cache), for comparison only: with libnl 3.7 its key merges
 * routes that differ in nexthop, scope or type, and loading takes quadratic time. */
typedef struct cnl_libnl_routes cnl_libnl_routes;

/* Loads it through a socket of its own; NULL with a filled fault on failure. The caller frees it. */
cnl_libnl_routes *_Nullable cnl_libnl_routes_load(cnl_fault *fault);

void cnl_libnl_routes_free(cnl_libnl_routes *routes);

/* Routes of one family (AF_INET, AF_INET6) that libnl kept, route-cache exceptions left out. */
size_t cnl_libnl_routes_count(const cnl_libnl_routes *routes, uint8_t family);

#pragma clang assume_nonnull end

#endif
