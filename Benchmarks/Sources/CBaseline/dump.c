/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "CBaseline.h"
#include "read_route.h"

int64_t baseline_dump(int descriptor, uint64_t *checksum) {
    struct {
        struct nlmsghdr header;
        struct rtmsg body;
    } request = {
        .header = {.nlmsg_len = sizeof(request),
                   .nlmsg_type = RTM_GETROUTE,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .body = {.rtm_family = AF_INET},
    };
    if (send(descriptor, &request, sizeof(request), 0) < 0) {
        return -errno;
    }
    int64_t routes = 0;
    int interface = 0;
    *checksum = 0;
    for (;;) {
        char buffer[32 * 1024] __attribute__((aligned(NLMSG_ALIGNTO)));
        ssize_t length = recv(descriptor, buffer, sizeof(buffer), 0);
        if (length < 0) {
            return -errno;
        }
        size_t rest = (size_t)length;
        for (const struct nlmsghdr *header = (const struct nlmsghdr *)buffer; NLMSG_OK(header, rest);
             header = NLMSG_NEXT(header, rest)) {
            if (header->nlmsg_type == NLMSG_DONE) {
                return routes;
            }
            if (header->nlmsg_type == NLMSG_ERROR) {
                return ((const struct nlmsgerr *)NLMSG_DATA(header))->error;
            }
            *checksum += baseline_read_route(header, &interface);
            routes += 1;
        }
    }
}
