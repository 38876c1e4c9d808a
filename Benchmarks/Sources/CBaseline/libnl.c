/* SPDX-License-Identifier: Apache-2.0 */

#include <arpa/inet.h>
#include <errno.h>
#include <netlink/cache.h>
#include <netlink/route/route.h>
#include <netlink/socket.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "CBaseline.h"

struct baseline_libnl {
    struct nl_sock *socket;
    struct nl_cache *cache;
};

baseline_libnl *baseline_libnl_open(bool wants_cache) {
    baseline_libnl *opened = calloc(1, sizeof(*opened));
    if (opened && (!(opened->socket = nl_socket_alloc()) || nl_connect(opened->socket, NETLINK_ROUTE) != 0 ||
                   (wants_cache && rtnl_route_alloc_cache(opened->socket, AF_INET, 0, &opened->cache) != 0))) {
        baseline_libnl_close(opened);
        return NULL;
    }
    return opened;
}

void baseline_libnl_close(baseline_libnl *opened) {
    nl_cache_free(opened->cache);
    nl_socket_free(opened->socket);
    free(opened);
}

int baseline_libnl_lookups(baseline_libnl *opened, uint32_t address, int count) {
    uint32_t bytes = htonl(address);
    struct nl_addr *target = nl_addr_build(AF_INET, &bytes, sizeof(bytes));
    int status = target ? 0 : -ENOMEM;
    for (int asked = 0; asked < count && status == 0; asked++) {
        struct rtnl_route *route = NULL;
        status = rtnl_route_lookup(opened->socket, target, &route) == 0 ? 0 : -EIO;
        rtnl_route_put(route);
    }
    nl_addr_put(target);
    return status;
}

int baseline_libnl_matches(baseline_libnl *opened, uint32_t address, int count) {
    uint32_t bytes = htonl(address);
    struct nl_addr *target = nl_addr_build(AF_INET, &bytes, sizeof(bytes));
    int longest = -1;
    for (int asked = 0; target && asked < count; asked++) {
        longest = -1;
        for (struct nl_object *object = nl_cache_get_first(opened->cache); object;
             object = nl_cache_get_next(object)) {
            const struct nl_addr *prefix = rtnl_route_get_dst((struct rtnl_route *)object);
            int length = (int)nl_addr_get_prefixlen(prefix);
            if (length > longest && nl_addr_cmp_prefix(prefix, target) == 0) {
                longest = length;
            }
        }
    }
    nl_addr_put(target);
    return target ? longest : -ENOMEM;
}
