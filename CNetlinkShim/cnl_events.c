/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cnl_internal.h"

struct cnl_events {
    struct nl_sock *socket;
    int descriptor;
    int watch; /* an epoll handle on the descriptor, for cnl_events_look() */
    cnl_events_counters counters;
    size_t offset; /* of the next message in the buffer */
    size_t length; /* of the datagram there */
    char buffer[CNL_READ_SIZE] __attribute__((aligned(8)));
};

/* MSG_TRUNC makes the kernel return the whole length of a datagram that did not fit. */
ssize_t cnl_receive(int descriptor, void *buffer, size_t size) {
    struct sockaddr_nl sender;
    socklen_t sender_size = sizeof(sender);
    ssize_t length;
    do {
        length = recvfrom(descriptor, buffer, size, MSG_TRUNC, (struct sockaddr *)&sender, &sender_size);
    } while (length < 0 && errno == EINTR);
    if (length < 0) {
        return -errno;
    }
    if (sender_size != sizeof(sender) || sender.nl_family != AF_NETLINK || sender.nl_pid != 0) {
        /* Another process wrote to our port or group. The port in a message's header says nothing of it. */
        return CNL_STRANGER;
    }
    return (size_t)length > size ? -EMSGSIZE : length;
}

static bool cnl_events_watch(cnl_events *events) {
    struct epoll_event interest = {.events = EPOLLIN};
    events->watch = epoll_create1(EPOLL_CLOEXEC);
    return events->watch >= 0 && epoll_ctl(events->watch, EPOLL_CTL_ADD, events->descriptor, &interest) == 0;
}

cnl_events *cnl_events_open(cnl_fault *fault) {
    cnl_events *events = malloc(sizeof(*events));
    if (!events) {
        cnl_fail(fault, ENOMEM);
        return NULL;
    }
    memset(events, 0, offsetof(cnl_events, buffer));
    events->watch = -1;
    events->socket = nl_socket_alloc();
    if (!events->socket) {
        cnl_fail(fault, ENOMEM);
        cnl_events_close(events);
        return NULL;
    }
    int status = nl_connect(events->socket, NETLINK_ROUTE);
    if (status >= 0) {
        events->descriptor = nl_socket_get_fd(events->socket);
        status = nl_socket_set_nonblocking(events->socket);
    }
    if (status < 0) {
        cnl_fail_libnl(fault, status);
        cnl_events_close(events);
        return NULL;
    }
    if (!cnl_events_watch(events)) {
        cnl_fail(fault, errno);
        cnl_events_close(events);
        return NULL;
    }
    /* libnl shrinks the kernel's default of 208 KiB to 64 KiB, which 28 link announcements fill. */
    bool forced;
    (void)cnl_events_set_buffer(events, 212992 / 2, &forced);
    return events;
}

void cnl_events_close(cnl_events *events) {
    if (events->watch >= 0) {
        close(events->watch);
    }
    nl_socket_free(events->socket);
    free(events);
}

int cnl_events_join(cnl_events *events, uint32_t group) {
    errno = 0;
    int status = nl_socket_add_membership(events->socket, (int)group);
    /* libnl folds the errnos into its own codes; the setsockopt() that failed has just set the real one. */
    return status >= 0 ? 0 : errno != 0 ? -errno : -EINVAL;
}

int64_t cnl_events_set_buffer(cnl_events *events, uint32_t bytes, bool *forced) {
    int wanted = bytes > INT32_MAX / 2 ? INT32_MAX / 2 : (int)bytes;
    *forced = setsockopt(events->descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &wanted, sizeof(wanted)) == 0;
    /* Without the privilege the kernel clamps the request in silence: so the size is read back. */
    if (!*forced && setsockopt(events->descriptor, SOL_SOCKET, SO_RCVBUF, &wanted, sizeof(wanted)) != 0) {
        return -errno;
    }
    int effective = 0;
    socklen_t size = sizeof(effective);
    if (getsockopt(events->descriptor, SOL_SOCKET, SO_RCVBUF, &effective, &size) != 0) {
        return -errno;
    }
    return effective;
}

int cnl_events_descriptor(const cnl_events *events) {
    return events->descriptor;
}

/* epoll knows without asking the socket, for the price of entering the kernel alone; a read that finds nothing
 * costs twice that. Lost announcements make the socket ready too, and only a read tells which it is. */
int cnl_events_look(cnl_events *events) {
    struct epoll_event ready;
    if (epoll_wait(events->watch, &ready, 1, 0) == 0) {
        return 0;
    }
    if (recv(events->descriptor, NULL, 0, MSG_PEEK | MSG_DONTWAIT) >= 0) {
        return 1;
    }
    if (errno == ENOBUFS) {
        events->counters.overruns += 1;
    }
    return errno == EAGAIN ? 0 : -errno;
}

cnl_events_counters cnl_events_read_counters(const cnl_events *events) {
    return events->counters;
}

bool cnl_events_next(cnl_events *events, cnl_message *message) {
    if (events->offset >= events->length) {
        return false;
    }
    size_t step = cnl_message_first(events->buffer + events->offset, events->length - events->offset, message);
    if (step == 0) {
        events->counters.malformed += 1;
        events->offset = events->length;
        return false;
    }
    events->offset += step;
    events->counters.messages += 1;
    return true;
}

int cnl_events_receive(cnl_events *events) {
    events->offset = 0;
    events->length = 0;
    ssize_t length = cnl_receive(events->descriptor, events->buffer, sizeof(events->buffer));
    switch (length) {
    case -EAGAIN:
        return 0;
    case CNL_STRANGER:
        events->counters.spoofed += 1;
        return 1;
    case -ENOBUFS:
        events->counters.overruns += 1;
        return -ENOBUFS;
    case -EMSGSIZE:
        events->counters.truncated += 1;
        return -ENOBUFS;
    default:
        break;
    }
    if (length < 0) {
        return (int)length;
    }
    events->length = (size_t)length;
    return 1;
}
