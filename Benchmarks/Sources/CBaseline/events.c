/* SPDX-License-Identifier: Apache-2.0 */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "CBaseline.h"
#include "read_route.h"

enum { READ_SIZE = 32768 };

void baseline_return_memory(void) {
    (void)malloc_trim(0);
}

int64_t baseline_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int baseline_change(int descriptor, bool adds, uint32_t prefix, int length) {
    struct {
        struct nlmsghdr header;
        struct rtmsg body;
        struct rtattr attribute;
        uint32_t destination;
    } change = {
        .header = {.nlmsg_len = sizeof(change),
                   .nlmsg_type = adds ? RTM_NEWROUTE : RTM_DELROUTE,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | (adds ? NLM_F_CREATE | NLM_F_EXCL : 0)},
        .body = {.rtm_family = AF_INET,
                 .rtm_dst_len = (unsigned char)length,
                 .rtm_table = RT_TABLE_MAIN,
                 .rtm_protocol = adds ? RTPROT_STATIC : RTPROT_UNSPEC,
                 .rtm_scope = adds ? RT_SCOPE_UNIVERSE : RT_SCOPE_NOWHERE,
                 .rtm_type = RTN_UNREACHABLE},
        .attribute = {.rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = RTA_DST},
        .destination = htonl(prefix),
    };
    if (send(descriptor, &change, sizeof(change), 0) < 0) {
        return -errno;
    }
    char buffer[4096] __attribute__((aligned(NLMSG_ALIGNTO)));
    ssize_t length_read = recv(descriptor, buffer, sizeof(buffer), 0);
    if (length_read < 0) {
        return -errno;
    }
    const struct nlmsghdr *header = (const struct nlmsghdr *)buffer;
    if (!NLMSG_OK(header, (size_t)length_read) || header->nlmsg_type != NLMSG_ERROR) {
        return -EBADMSG;
    }
    return ((const struct nlmsgerr *)NLMSG_DATA(header))->error;
}

/* --- Notifications --------------------------------------------------------------------------------------- */

static int open_listener(void) {
    static const int groups[] = {RTNLGRP_LINK,        RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV4_RULE,
                                 RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV6_ROUTE,  RTNLGRP_IPV6_RULE};
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    struct sockaddr_nl any = {.nl_family = AF_NETLINK};
    int buffer = 8 << 20;
    if (descriptor < 0) {
        return -errno;
    }
    if (bind(descriptor, (struct sockaddr *)&any, sizeof(any)) != 0) {
        int number = errno;
        close(descriptor);
        return -number;
    }
    for (size_t place = 0; place < sizeof(groups) / sizeof(groups[0]); place++) {
        (void)setsockopt(descriptor, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &groups[place], sizeof(groups[place]));
    }
    (void)setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer));
    return descriptor;
}

/* Reads all notifications that wait. Returns how many. */
static int64_t drain(int descriptor, uint64_t *checksum) {
    static _Thread_local char buffer[READ_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    int64_t messages = 0;
    int interface = 0;
    while (true) {
        ssize_t length = recv(descriptor, buffer, sizeof(buffer), MSG_DONTWAIT);
        if (length < 0) {
            return errno == EAGAIN ? messages : -errno;
        }
        size_t rest = (size_t)length;
        for (struct nlmsghdr *header = (struct nlmsghdr *)buffer; NLMSG_OK(header, rest);
             header = NLMSG_NEXT(header, rest)) {
            messages += 1;
            if (header->nlmsg_type == RTM_NEWROUTE || header->nlmsg_type == RTM_DELROUTE) {
                *checksum += baseline_read_route(header, &interface);
            }
        }
    }
}

/* --- The loop that a C programmer would write ------------------------------------------------------------ */

struct baseline_watch {
    pthread_t thread;
    int events;
    int queries;
    int epoll;
    uint32_t local;
    uint32_t address;
    atomic_bool is_over;
    int last;
    void (*notify)(void *context);
    void *context;
};

static int ask(const baseline_watch *watch) {
    return watch->local ? baseline_connection(watch->queries, watch->local, watch->address)
                        : baseline_packets(watch->queries, watch->address, 0, 1, 1);
}

static void *watch(void *context) {
    baseline_watch *watch = context;
    uint64_t checksum = 0;
    while (true) {
        struct epoll_event ready;
        if (epoll_wait(watch->epoll, &ready, 1, -1) < 0 && errno != EINTR) {
            return NULL;
        }
        if (atomic_load(&watch->is_over)) {
            return NULL;
        }
        if (drain(watch->events, &checksum) == 0) {
            continue;
        }
        int answer = ask(watch);
        if (answer != watch->last) {
            watch->last = answer;
            watch->notify(watch->context);
        }
    }
}

baseline_watch *baseline_watch_start(uint32_t local, uint32_t address, void (*notify)(void *context),
                                     void *context) {
    baseline_watch *started = calloc(1, sizeof(*started));
    if (!started) {
        return NULL;
    }
    started->events = open_listener();
    started->queries = baseline_open();
    started->epoll = epoll_create1(EPOLL_CLOEXEC);
    started->local = local;
    started->address = address;
    started->notify = notify;
    started->context = context;
    started->last = ask(started);
    struct epoll_event interest = {.events = EPOLLIN};
    if (epoll_ctl(started->epoll, EPOLL_CTL_ADD, started->events, &interest) != 0 ||
        pthread_create(&started->thread, NULL, watch, started) != 0) {
        free(started);
        return NULL;
    }
    return started;
}

void baseline_watch_stop(baseline_watch *started, int descriptor) {
    atomic_store(&started->is_over, true);
    /* Any notification wakes it up. */
    (void)baseline_change(descriptor, true, 0xc6120000, 24);
    (void)baseline_change(descriptor, false, 0xc6120000, 24);
    pthread_join(started->thread, NULL);
    close(started->events);
    close(started->queries);
    close(started->epoll);
    free(started);
}
