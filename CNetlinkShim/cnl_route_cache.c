/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <netlink/cache.h>
#include <netlink/route/route.h>
#include <sys/socket.h>

#include "cnl_internal.h"

typedef struct cnl_counts {
    size_t ipv4, ipv6;
} cnl_counts;

static void cnl_count_route(struct nl_object *object, void *context) {
    cnl_counts *counts = context;
    struct rtnl_route *route = (struct rtnl_route *)object;
    bool counts_here = !(rtnl_route_get_flags(route) & RTM_F_CLONED);
    counts->ipv4 += counts_here && rtnl_route_get_family(route) == AF_INET;
    counts->ipv6 += counts_here && rtnl_route_get_family(route) == AF_INET6;
}

bool cnl_route_cache_count(size_t *ipv4, size_t *ipv6, cnl_error *error) {
    struct nl_sock *socket = nl_socket_alloc();
    if (!socket) {
        return cnl_fail(error, ENOMEM);
    }
    errno = 0;
    struct nl_cache *cache = NULL;
    int status = nl_connect(socket, NETLINK_ROUTE);
    if (status >= 0) {
        /* A direct call keeps libnl-route linked with linkers that drop a library that is only named. */
        status = rtnl_route_alloc_cache(socket, AF_UNSPEC, 0, &cache);
    }
    cnl_counts counts = {0, 0};
    if (status < 0) {
        cnl_fail_libnl(error, status);
    } else {
        nl_cache_foreach(cache, cnl_count_route, &counts);
    }
    *ipv4 = counts.ipv4;
    *ipv6 = counts.ipv6;
    nl_cache_free(cache);
    nl_socket_free(socket);
    return status >= 0;
}
