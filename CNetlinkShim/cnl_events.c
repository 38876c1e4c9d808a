/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <stdlib.h>

#include "cnl_internal.h"

struct cnl_events {
    struct nl_sock *socket;
    char buffer[CNL_READ_SIZE] __attribute__((aligned(8)));
};

cnl_events *cnl_events_open(int protocol, cnl_error *error) {
    cnl_events *events = malloc(sizeof(*events));
    if (!events || !(events->socket = nl_socket_alloc())) {
        free(events);
        cnl_fail(error, ENOMEM);
        return NULL;
    }
    int status = nl_connect(events->socket, protocol);
    if (status >= 0) {
        status = nl_socket_set_nonblocking(events->socket);
    }
    if (status < 0) {
        cnl_fail_libnl(error, status);
        cnl_events_close(events);
        return NULL;
    }
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

int cnl_events_descriptor(const cnl_events *events) {
    return nl_socket_get_fd(events->socket);
}

int cnl_events_receive(cnl_events *events, cnl_message_handler handler, void *context) {
    struct sockaddr_nl sender;
    ssize_t length = cnl_receive(cnl_events_descriptor(events), events->buffer, CNL_READ_SIZE, 0, &sender);
    if (length < 0) {
        return length == -EAGAIN ? 0 : (int)length;
    }
    if (sender.nl_pid != 0) {
        /* Checks the sender's address: in a message's header, another process can write any port. */
        return CNL_UNTRUSTED;
    }
    if (length > CNL_READ_SIZE) {
        return -EMSGSIZE;
    }
    int status = cnl_for_each_message(events->buffer, (size_t)length, handler, context);
    return status < 0 ? status : 1;
}
