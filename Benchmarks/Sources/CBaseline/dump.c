/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "CBaseline.h"

/* Walks over the attributes and reads those that every route has. */
static uint64_t read_route(const struct nlmsghdr *header) {
    uint64_t sum = ((const struct rtmsg *)NLMSG_DATA(header))->rtm_dst_len;
    int rest = (int)RTM_PAYLOAD(header);
    for (struct rtattr *attribute = RTM_RTA(NLMSG_DATA(header)); RTA_OK(attribute, rest);
         attribute = RTA_NEXT(attribute, rest)) {
        uint32_t number = 0;
        switch (attribute->rta_type) {
        case RTA_DST:
        case RTA_GATEWAY:
        case RTA_OIF:
        case RTA_TABLE:
        case RTA_PRIORITY:
            if (RTA_PAYLOAD(attribute) >= sizeof(number)) {
                memcpy(&number, RTA_DATA(attribute), sizeof(number));
            }
            sum += number;
            break;
        default:
            break;
        }
    }
    return sum;
}

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
            *checksum += read_route(header);
            routes += 1;
        }
    }
}
