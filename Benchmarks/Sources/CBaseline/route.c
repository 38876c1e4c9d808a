/* SPDX-License-Identifier: Apache-2.0 */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "CBaseline.h"
#include "read_route.h"

int baseline_open(void) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (descriptor < 0) {
        return -errno;
    }
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    int yes = 1;
    if (connect(descriptor, (struct sockaddr *)&kernel, sizeof(kernel)) != 0) {
        int number = errno;
        close(descriptor);
        return -number;
    }
    (void)setsockopt(descriptor, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &yes, sizeof(yes));
    return descriptor;
}

uint64_t baseline_read_route(const struct nlmsghdr *header, int *interface) {
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
            if (attribute->rta_type == RTA_OIF) {
                *interface = (int)number;
            }
            break;
        default:
            break;
        }
    }
    return sum;
}

typedef struct lookup {
    struct nlmsghdr header;
    struct rtmsg body;
    struct rtattr attribute;
    uint32_t destination;
} lookup;

static lookup lookup_of(uint32_t address, bool wants_entry) {
    return (lookup){
        .header = {.nlmsg_len = sizeof(lookup), .nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST},
        .body = {.rtm_family = AF_INET, .rtm_dst_len = 32, .rtm_flags = wants_entry ? RTM_F_FIB_MATCH : 0},
        .attribute = {.rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = RTA_DST},
        .destination = htonl(address),
    };
}

static int read_answer(int descriptor) {
    char buffer[4096] __attribute__((aligned(NLMSG_ALIGNTO)));
    ssize_t length = recv(descriptor, buffer, sizeof(buffer), 0);
    if (length < 0) {
        return -errno;
    }
    const struct nlmsghdr *header = (const struct nlmsghdr *)buffer;
    if (!NLMSG_OK(header, (size_t)length)) {
        return -EBADMSG;
    }
    if (header->nlmsg_type == NLMSG_ERROR) {
        return ((const struct nlmsgerr *)NLMSG_DATA(header))->error;
    }
    if (header->nlmsg_type != RTM_NEWROUTE) {
        return -EBADMSG;
    }
    int interface = 0;
    (void)baseline_read_route(header, &interface);
    return interface;
}

int baseline_route(int descriptor, uint32_t address, bool wants_entry) {
    lookup request = lookup_of(address, wants_entry);
    if (send(descriptor, &request, sizeof(request), 0) < 0) {
        return -errno;
    }
    return read_answer(descriptor);
}

int baseline_connection(int descriptor, uint32_t local, uint32_t address) {
    struct {
        lookup own, entry, new, present;
        struct rtattr attribute;
        uint32_t source;
    } request = {
        .own = lookup_of(local, true),
        .entry = lookup_of(address, true),
        .new = lookup_of(address, false),
        .present = lookup_of(address, true),
        .attribute = {.rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = RTA_SRC},
        .source = htonl(local),
    };
    request.present.body.rtm_src_len = 32;
    request.present.header.nlmsg_len += RTA_LENGTH(sizeof(uint32_t));
    if (send(descriptor, &request, sizeof(request), 0) < 0) {
        return -errno;
    }
    int own = read_answer(descriptor);
    int entry = read_answer(descriptor);
    int new = read_answer(descriptor);
    int present = read_answer(descriptor);
    return own < 0 ? own : present < 0 ? present : present << 16 | (entry >= 0 && new > 0 ? new : 0);
}

int baseline_packets(int descriptor, uint32_t address, uint32_t step, int width, int count) {
    enum { LARGEST = 32 };
    lookup requests[2 * LARGEST];
    int answer = 0;
    for (int asked = 0; asked < count && answer >= 0;) {
        int rest = count - asked;
        int addresses = rest < width ? rest : width;
        addresses = addresses < LARGEST ? addresses : LARGEST;
        for (int i = 0; i < addresses; i++) {
            uint32_t destination = address + step * (uint32_t)(asked + i);
            requests[2 * i] = lookup_of(destination, true);
            requests[2 * i + 1] = lookup_of(destination, false);
        }
        if (send(descriptor, requests, 2 * (size_t)addresses * sizeof(lookup), 0) < 0) {
            return -errno;
        }
        for (int i = 0; i < 2 * addresses && answer >= 0; i++) {
            answer = read_answer(descriptor);
        }
        asked += addresses;
    }
    return answer;
}

int baseline_routes(int descriptor, uint32_t address, bool wants_entry, int count) {
    int answer = 0;
    for (int asked = 0; asked < count && answer >= 0; asked++) {
        answer = baseline_route(descriptor, address, wants_entry);
    }
    return answer;
}

int baseline_links(int descriptor, int index, int count) {
    struct {
        struct nlmsghdr header;
        struct ifinfomsg body;
        struct rtattr attribute;
        uint32_t mask;
    } request = {
        .header = {.nlmsg_len = sizeof(request), .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST},
        .body = {.ifi_index = index},
        .attribute = {.rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = IFLA_EXT_MASK},
        .mask = RTEXT_FILTER_SKIP_STATS,
    };
    char buffer[8192] __attribute__((aligned(NLMSG_ALIGNTO)));
    for (int asked = 0; asked < count; asked++) {
        if (send(descriptor, &request, sizeof(request), 0) < 0) {
            return -errno;
        }
        ssize_t length = recv(descriptor, buffer, sizeof(buffer), 0);
        if (length < 0) {
            return -errno;
        }
        const struct nlmsghdr *header = (const struct nlmsghdr *)buffer;
        if (!NLMSG_OK(header, (size_t)length) || header->nlmsg_type != RTM_NEWLINK) {
            return -EBADMSG;
        }
    }
    return 0;
}
