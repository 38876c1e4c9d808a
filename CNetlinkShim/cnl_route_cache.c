/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <netlink/cache.h>
#include <netlink/route/route.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "cnl_internal.h"

struct cnl_route_cache {
    struct nl_sock *socket;
    struct nl_cache *cache;
    struct nl_msg *message; /* of the last route read */
};

cnl_route_cache *cnl_route_cache_open(cnl_error *error) {
    cnl_route_cache *cache = calloc(1, sizeof(*cache));
    if (!cache || !(cache->socket = nl_socket_alloc())) {
        cnl_fail(error, ENOMEM);
        cnl_route_cache_close(cache);
        return NULL;
    }
    errno = 0;
    int status = nl_connect(cache->socket, NETLINK_ROUTE);
    if (status >= 0) {
        /* A direct call keeps libnl-route linked: linkers drop a library without a referenced symbol. */
        status = rtnl_route_alloc_cache(cache->socket, AF_UNSPEC, 0, &cache->cache);
    }
    if (status < 0) {
        cnl_fail_libnl(error, status);
        cnl_route_cache_close(cache);
        return NULL;
    }
    return cache;
}

int cnl_route_cache_next(cnl_route_cache *cache, void **position, cnl_route *route) {
    struct nl_object *object = *position;
    while ((object = object ? nl_cache_get_next(object) : nl_cache_get_first(cache->cache))) {
        *position = object;
        struct rtnl_route *found = (struct rtnl_route *)object;
        int family = rtnl_route_get_family(found);
        if (family != AF_INET && family != AF_INET6) {
            continue;
        }
        nlmsg_free(cache->message);
        cache->message = NULL;
        /* The message that would add the route has all nexthops, and cnl_parse_route() can read it. */
        int status = rtnl_route_build_add_request(found, 0, &cache->message);
        if (status < 0) {
            return status == -NLE_NOMEM ? -ENOMEM : -EBADMSG;
        }
        struct nlmsghdr *message = nlmsg_hdr(cache->message);
        return cnl_parse_route(message, message->nlmsg_len, route) == 0 ? 1 : -EBADMSG;
    }
    return 0;
}

void cnl_route_cache_close(cnl_route_cache *cache) {
    if (!cache) {
        return;
    }
    nlmsg_free(cache->message);
    nl_cache_free(cache->cache);
    nl_socket_free(cache->socket);
    free(cache);
}
