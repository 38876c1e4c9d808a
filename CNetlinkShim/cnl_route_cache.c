/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <linux/rtnetlink.h>
#include <netlink/cache.h>
#include <netlink/route/route.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "cnl_internal.h"

struct cnl_route_cache {
    struct nl_sock *socket;
    struct nl_cache *_Nullable cache;
};

cnl_route_cache *cnl_route_cache_load(cnl_fault *fault) {
    cnl_route_cache *routes = calloc(1, sizeof(*routes));
    if (!routes || !(routes->socket = nl_socket_alloc())) {
        free(routes);
        cnl_fail(fault, ENOMEM);
        return NULL;
    }
    errno = 0;
    int status = nl_connect(routes->socket, NETLINK_ROUTE);
    if (status >= 0) {
        /* A direct call keeps libnl-route linked with linkers that drop a library that is only named. */
        status = rtnl_route_alloc_cache(routes->socket, AF_UNSPEC, 0, &routes->cache);
    }
    if (status < 0) {
        cnl_fail_libnl(fault, status);
        cnl_route_cache_free(routes);
        return NULL;
    }
    return routes;
}

void cnl_route_cache_free(cnl_route_cache *routes) {
    nl_cache_free(routes->cache);
    nl_socket_free(routes->socket);
    free(routes);
}

typedef struct cnl_counting {
    size_t count;
    uint8_t family;
} cnl_counting;

static void cnl_count_route(struct nl_object *object, void *context) {
    cnl_counting *counting = context;
    struct rtnl_route *route = (struct rtnl_route *)object;
    if (!(rtnl_route_get_flags(route) & RTM_F_CLONED) && rtnl_route_get_family(route) == counting->family) {
        counting->count += 1;
    }
}

size_t cnl_route_cache_count(const cnl_route_cache *routes, uint8_t family) {
    cnl_counting counting = {.count = 0, .family = family};
    nl_cache_foreach(routes->cache, cnl_count_route, &counting);
    return counting.count;
}
