/* SPDX-License-Identifier: Apache-2.0 */

#include <arpa/inet.h>
#include <errno.h>
#include <netlink/route/route.h>
#include <netlink/socket.h>

#include "CBaseline.h"

struct nl_sock *baseline_libnl_open(void) {
    struct nl_sock *opened = nl_socket_alloc();
    if (opened && nl_connect(opened, NETLINK_ROUTE) != 0) {
        nl_socket_free(opened);
        return NULL;
    }
    return opened;
}

int baseline_libnl_lookups(struct nl_sock *opened, uint32_t address, int count) {
    uint32_t bytes = htonl(address);
    struct nl_addr *target = nl_addr_build(AF_INET, &bytes, sizeof(bytes));
    int status = target ? 0 : -ENOMEM;
    for (int asked = 0; asked < count && status == 0; asked++) {
        struct rtnl_route *route = NULL;
        status = rtnl_route_lookup(opened, target, &route) == 0 ? 0 : -EIO;
        rtnl_route_put(route);
    }
    nl_addr_put(target);
    return status;
}
