/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_ROUTE_CACHE_H
#define CNL_ROUTE_CACHE_H

#include "cnl_message.h"

#pragma clang assume_nonnull begin

/* libnl's route cache (rtnl_route_alloc_cache): a copy of all routes of a network namespace, as programs that use libnl
 * see them.
 *
 * Use the cache to compare such a program with the kernel. It is not an exact copy of the kernel's tables: of routes
 * with the same key it keeps one. The key of libnl 3.7 is the family, the table, the type of service, the destination
 * and the metric, so that routes which differ only in nexthop, scope or type are merged. The loading time grows with
 * the square of the number of routes. The cache does not follow changes. */
typedef struct cnl_route_cache cnl_route_cache;

/* Opens a socket in the calling thread's network namespace and loads the cache. Returns NULL and fills the error on
 * failure. */
cnl_route_cache *_Nullable cnl_route_cache_open(cnl_error *error);

/* Reads the next IPv4 or IPv6 route: start with *position = NULL. libnl's routes lack lifetimes, router preferences and
 * nexthop objects. The route is valid until the next call with this cache. Returns 1 with a route, 0 at the end,
 * -ENOMEM, or -EBADMSG for a route that libnl cannot write as a message; the next call continues after this route. */
int cnl_route_cache_next(cnl_route_cache *cache, void *_Nullable *_Nonnull position, cnl_route *route);

/* Closes the socket and frees the cache with everything in it. */
void cnl_route_cache_close(cnl_route_cache *_Nullable cache);

#pragma clang assume_nonnull end

#endif
