/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <netlink/cache.h>
#include <netlink/route/route.h>
#include <netlink/socket.h>
#include <sys/socket.h>

#include "CBaseline.h"

int64_t baseline_libnl_cache(void) {
    struct nl_sock *socket = nl_socket_alloc();
    struct nl_cache *cache = NULL;
    int64_t routes = -ENOMEM;
    if (socket && nl_connect(socket, NETLINK_ROUTE) == 0) {
        routes = rtnl_route_alloc_cache(socket, AF_INET, 0, &cache) == 0 ? nl_cache_nitems(cache) : -EIO;
    }
    nl_cache_free(cache);
    nl_socket_free(socket);
    return routes;
}
