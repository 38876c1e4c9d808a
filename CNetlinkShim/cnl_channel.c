/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "cnl_internal.h"

enum {
    CNL_FOREIGN_DATAGRAMS = 256, /* datagrams of other processes that one request skips */
    CNL_DUMPS = 3,               /* attempts of a dump that is interrupted */
};

struct cnl_channel {
    struct nl_sock *socket;
    uint32_t sequence;
    char buffer[CNL_READ_SIZE] __attribute__((aligned(8)));
};

static cnl_outcome cnl_channel_connect(cnl_channel *channel, int protocol, cnl_fault *fault) {
    if (!channel->socket) {
        return cnl_fail(fault, ENOMEM);
    }
    errno = 0;
    int status = nl_connect(channel->socket, protocol);
    if (status < 0) {
        return cnl_fail_libnl(fault, status);
    }
    struct timeval limit = {.tv_sec = 1};
    if (setsockopt(nl_socket_get_fd(channel->socket), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0) {
        return cnl_fail(fault, errno);
    }
    return CNL_ANSWERED;
}

cnl_channel *cnl_channel_open(int protocol, cnl_fault *fault) {
    cnl_channel *channel = malloc(sizeof(*channel));
    if (!channel) {
        cnl_fail(fault, ENOMEM);
        return NULL;
    }
    channel->sequence = 0;
    channel->socket = nl_socket_alloc();
    if (cnl_channel_connect(channel, protocol, fault) == CNL_ANSWERED) {
        return channel;
    }
    cnl_channel_close(channel);
    return NULL;
}

void cnl_channel_close(cnl_channel *channel) {
    nl_socket_free(channel->socket);
    free(channel);
}

static cnl_outcome cnl_channel_send(cnl_channel *channel, struct nl_msg *message, cnl_fault *fault) {
    struct nlmsghdr *header = nlmsg_hdr(message);
    header->nlmsg_seq = ++channel->sequence;
    header->nlmsg_pid = nl_socket_get_local_port(channel->socket);
    errno = 0;
    int status = nl_sendto(channel->socket, header, header->nlmsg_len);
    return status < 0 ? cnl_fail_libnl(fault, status) : CNL_ANSWERED;
}

/* Reads the answers to the last request up to its end. */
static cnl_outcome cnl_channel_receive(cnl_channel *channel, cnl_dump *dump, cnl_fault *fault) {
    cnl_outcome outcome = CNL_ANSWERED;
    int foreign = 0;
    while (!dump->ended) {
        ssize_t length =
            cnl_receive(nl_socket_get_fd(channel->socket), channel->buffer, sizeof(channel->buffer));
        if (length == CNL_UNTRUSTED && ++foreign < CNL_FOREIGN_DATAGRAMS) {
            continue;
        }
        if (length < 0) {
            bool is_late = length == -EAGAIN || length == CNL_UNTRUSTED;
            return cnl_fail(fault, is_late ? ETIMEDOUT : (int)-length);
        }
        outcome = cnl_dump_read(dump, channel->buffer, (size_t)length, fault);
    }
    return outcome;
}

cnl_outcome cnl_channel_ask(cnl_channel *channel, struct nl_msg *message, cnl_message_handler handler, void *context,
                            cnl_fault *fault) {
    for (int attempt = 0; attempt < CNL_DUMPS; attempt++) {
        cnl_outcome outcome = cnl_channel_send(channel, message, fault);
        if (outcome != CNL_ANSWERED) {
            return outcome;
        }
        cnl_dump dump = {
            .sequence = channel->sequence,
            .port = nl_socket_get_local_port(channel->socket),
            .handler = handler,
            .context = context,
        };
        outcome = cnl_channel_receive(channel, &dump, fault);
        if (outcome != CNL_ANSWERED || !dump.interrupted) {
            return outcome;
        }
    }
    return cnl_fail(fault, EAGAIN);
}
