/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "cnl_internal.h"

struct cnl_events {
    struct nl_sock *socket;
    int descriptor;
    size_t offset; /* of the next message in the buffer */
    size_t length; /* of the datagram in the buffer */
    char buffer[CNL_READ_SIZE] __attribute__((aligned(8)));
};

/* With MSG_TRUNC the kernel returns the length of a datagram even if it did not fit. */
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
        /* The port in a message's header is no proof: another process can write to this port or group. */
        return CNL_UNTRUSTED;
    }
    return (size_t)length > size ? -EMSGSIZE : length;
}

cnl_events *cnl_events_open(cnl_fault *fault) {
    cnl_events *events = malloc(sizeof(*events));
    if (!events) {
        cnl_fail(fault, ENOMEM);
        return NULL;
    }
    memset(events, 0, offsetof(cnl_events, buffer));
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
    /* libnl shrinks the kernel's default of 208 KiB to 64 KiB, which holds 28 link notifications. */
    bool forced;
    (void)cnl_events_set_buffer(events, 212992 / 2, &forced);
    return events;
}

void cnl_events_close(cnl_events *events) {
    nl_socket_free(events->socket);
    free(events);
}

int cnl_events_join(cnl_events *events, uint32_t group) {
    errno = 0;
    int status = nl_socket_add_membership(events->socket, (int)group);
    /* libnl folds errnos into its own codes; the failed setsockopt() has just set the real one. */
    return status >= 0 ? 0 : errno != 0 ? -errno : -EINVAL;
}

int64_t cnl_events_set_buffer(cnl_events *events, uint32_t bytes, bool *forced) {
    int wanted = bytes > INT32_MAX / 2 ? INT32_MAX / 2 : (int)bytes;
    *forced = setsockopt(events->descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &wanted, sizeof(wanted)) == 0;
    /* Without the privilege the kernel clamps the size without an error, so it is read back. */
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

int cnl_events_next(cnl_events *events, cnl_message *message) {
    if (events->offset >= events->length) {
        return 0;
    }
    size_t step = cnl_message_first(events->buffer + events->offset, events->length - events->offset, message);
    if (step == 0) {
        events->offset = events->length;
        return -EBADMSG;
    }
    events->offset += step;
    return 1;
}

int cnl_events_receive(cnl_events *events) {
    events->offset = 0;
    events->length = 0;
    ssize_t length = cnl_receive(events->descriptor, events->buffer, sizeof(events->buffer));
    if (length < 0) {
        return length == -EAGAIN ? 0 : (int)length;
    }
    events->length = (size_t)length;
    return 1;
}
