/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "cnl_internal.h"

enum {
    CNL_ATTEMPTS = 3,          /* of one request; each waits for the socket's timeout */
    CNL_STALE_DATAGRAMS = 256, /* the most datagrams without an awaited answer that an attempt or a catch-up skips */
    CNL_NOTIFICATIONS = 256,   /* the most datagrams of notifications that one read records */
    CNL_MESSAGE_SIZE = 512,
};

/* Uses send(): nl_sendto() passes the kernel's address with each datagram although the socket is connected. */
static int cnl_socket_send(void *context, const void *bytes, size_t size) {
    ssize_t length;
    do {
        length = send(((cnl_query *)context)->descriptor, bytes, size, 0);
    } while (length < 0 && errno == EINTR);
    return length < 0 ? -errno : 0;
}

static long cnl_socket_receive(void *context, void *buffer, size_t size, int flags, struct sockaddr_nl *sender) {
    return cnl_receive(((cnl_query *)context)->descriptor, buffer, size, flags, sender);
}

static bool cnl_query_set_up(cnl_query *query, int protocol, int timeout, cnl_error *error) {
    errno = 0;
    int status = nl_connect(query->socket, protocol);
    if (status < 0) {
        return cnl_fail_libnl(error, status);
    }
    int descriptor = query->descriptor = nl_socket_get_fd(query->socket);
    /* On a connected socket, the kernel refuses datagrams of other processes (ECONNREFUSED for them), so the sender of
     * a reply needs no check. */
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    struct timeval limit = {.tv_sec = timeout / 1000, .tv_usec = timeout % 1000 * 1000};
    if (connect(descriptor, (struct sockaddr *)&kernel, sizeof(kernel)) != 0 ||
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0) {
        return cnl_fail(error, errno);
    }
    int yes = 1;
    /* Old kernels lack these options: they check less, and send no text with an error. */
    query->transport = (cnl_transport){
        .send = cnl_socket_send,
        .receive = cnl_socket_receive,
        .context = query,
        .port = nl_socket_get_local_port(query->socket),
        .is_strict = setsockopt(descriptor, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &yes, sizeof(yes)) == 0,
    };
    (void)setsockopt(descriptor, SOL_NETLINK, NETLINK_EXT_ACK, &yes, sizeof(yes));
    (void)setsockopt(descriptor, SOL_NETLINK, NETLINK_CAP_ACK, &yes, sizeof(yes));
    /* libnl shrinks the receive buffer to 64 KiB; dumps are faster with two datagrams queued. */
    (void)nl_socket_set_buffer_size(query->socket, 256 * 1024, 32 * 1024);
    return true;
}

static cnl_query *cnl_query_allocate(cnl_error *error) {
    cnl_query *query = malloc(sizeof(*query));
    if (!query) {
        cnl_fail(error, ENOMEM);
        return NULL;
    }
    /* Clears everything except the buffers, whose pages are not needed yet. */
    memset(query, 0, offsetof(cnl_query, requests));
    query->socket = nl_socket_alloc();
    query->request = nlmsg_alloc_size(CNL_MESSAGE_SIZE);
    if (query->socket && query->request) {
        return query;
    }
    cnl_fail(error, ENOMEM);
    cnl_query_close(query);
    return NULL;
}

cnl_query *cnl_query_open(int protocol, int timeout, cnl_error *error) {
    cnl_query *query = cnl_query_allocate(error);
    if (query && !cnl_query_set_up(query, protocol, timeout, error)) {
        cnl_query_close(query);
        return NULL;
    }
    return query;
}

cnl_query *cnl_query_open_over(const cnl_transport *transport, cnl_error *error) {
    cnl_query *query = cnl_query_allocate(error);
    if (query) {
        query->transport = *transport;
    }
    return query;
}

void cnl_query_close(cnl_query *query) {
    nlmsg_free(query->request);
    nl_socket_free(query->socket);
    free(query);
}

void cnl_query_trace(cnl_query *query, cnl_trace trace, void *context) {
    query->trace = trace;
    query->trace_context = context;
}

bool cnl_query_is_strict(const cnl_query *query) {
    return query->transport.is_strict;
}

bool cnl_query_follow(cnl_query *query, uint32_t group) {
    return nl_socket_add_membership(query->socket, (int)group) == 0;
}

/* Records a notification. */
static void cnl_query_note(const struct nlmsghdr *message, void *context) {
    cnl_query_changes *changes = context;
    changes->rules |= message->nlmsg_type == RTM_NEWRULE || message->nlmsg_type == RTM_DELRULE;
}

/* Records that anything may have changed. */
static void cnl_query_note_loss(cnl_query *query) {
    query->changes = (cnl_query_changes){.any = true, .rules = true};
}

ssize_t cnl_query_read(cnl_query *query, int flags) {
    for (int notifications = 0; notifications < CNL_NOTIFICATIONS; notifications++) {
        struct sockaddr_nl sender;
        ssize_t length =
            query->transport.receive(query->transport.context, query->buffer, CNL_READ_SIZE, flags, &sender);
        if (length < 0) {
            if (length == -ENOBUFS) {
                cnl_query_note_loss(query);
            }
            return length;
        }
        bool is_whole = length <= CNL_READ_SIZE;
        if (query->trace) {
            query->trace(query->trace_context, false, query->buffer, is_whole ? (size_t)length : CNL_READ_SIZE);
        }
        /* The kernel's answers come to this socket alone. */
        if (sender.nl_pid == 0 && sender.nl_groups == 0) {
            return is_whole ? length : -EMSGSIZE;
        }
        query->changes.any = true;
        /* An unreadable notification counts as lost. */
        if (!is_whole || cnl_for_each_message(query->buffer, (size_t)length, cnl_query_note, &query->changes) != 0) {
            cnl_query_note_loss(query);
        }
    }
    /* Notifications can arrive as fast as they are read. The notifications that are still queued count as lost. */
    cnl_query_note_loss(query);
    return -ENOBUFS;
}

int cnl_query_catch_up(cnl_query *query) {
    /* After an overrun, the kernel sends nothing until the queue is empty, so one overrun does not end the catch-up. */
    int overruns = 0;
    for (int stale = 0; stale < CNL_STALE_DATAGRAMS && overruns < 2; stale++) {
        ssize_t length = cnl_query_read(query, MSG_DONTWAIT);
        if (length == -EAGAIN) {
            return 0;
        }
        if (length == -ENOBUFS) {
            overruns++;
        } else if (length < 0) {
            return (int)length;
        }
    }
    cnl_query_note_loss(query);
    return 0;
}

cnl_query_changes cnl_query_take_changes(cnl_query *query) {
    cnl_query_changes changes = query->changes;
    query->changes = (cnl_query_changes){0};
    return changes;
}

/* MARK: requests and their answers */

/* Sends the requests that have no answer, under new sequence numbers. Returns 0 or a negative errno. */
static int cnl_exchange_send(cnl_query *query, cnl_exchange *exchange) {
    size_t size = 0;
    exchange->port = query->transport.port;
    exchange->first = query->sequence + 1;
    exchange->awaited = exchange->unanswered;
    query->sequence += CNL_REQUESTS;
    struct nlmsghdr *header = nlmsg_hdr(query->request);
    for (unsigned index = 0; index < CNL_REQUESTS && exchange->unanswered >> index; index++) {
        if (!(exchange->unanswered >> index & 1)) {
            continue;
        }
        if ((exchange->build && !exchange->build(query, exchange, index)) ||
            header->nlmsg_len > sizeof(query->requests) - size) {
            return -EMSGSIZE;
        }
        header->nlmsg_seq = exchange->first + index;
        memcpy(query->requests + size, header, header->nlmsg_len);
        size += NLMSG_ALIGN(header->nlmsg_len);
    }
    if (query->trace) {
        query->trace(query->trace_context, true, query->requests, size);
    }
    return query->transport.send(query->transport.context, query->requests, size);
}

/* A datagram while its messages are read. */
typedef struct cnl_reading {
    cnl_exchange *exchange;
    int result; /* the number of messages taken, or a negative errno */
} cnl_reading;

static void cnl_exchange_take(const struct nlmsghdr *message, void *context) {
    cnl_reading *reading = context;
    cnl_exchange *exchange = reading->exchange;
    /* Late answers to earlier requests have other sequence numbers. */
    uint32_t index = message->nlmsg_seq - exchange->first;
    if (reading->result < 0 || message->nlmsg_pid != exchange->port || message->nlmsg_type == NLMSG_NOOP ||
        index >= CNL_REQUESTS || !(exchange->awaited >> index & 1)) {
        return;
    }
    int status = exchange->take(exchange, index, message);
    reading->result = status < 0 ? status : reading->result + 1;
}

int cnl_exchange_read(cnl_exchange *exchange, const void *bytes, size_t length) {
    cnl_reading reading = {.exchange = exchange};
    int status = cnl_for_each_message(bytes, length, cnl_exchange_take, &reading);
    return status < 0 ? status : reading.result;
}

/* Reads the awaited answers, until the timeout or until answers are lost. Returns 0 or a negative errno. */
static int cnl_exchange_receive(cnl_query *query, cnl_exchange *exchange) {
    int flags = 0;
    for (int stale = 0; exchange->awaited && stale < CNL_STALE_DATAGRAMS;) {
        ssize_t length = cnl_query_read(query, flags);
        if (length == -EAGAIN) {
            return 0;
        }
        int taken = 0;
        if (length == -ENOBUFS) {
            /* Notifications filled the buffer, so answers may be lost. Answers to lookups are queued by now or lost, as
             * the kernel queues nothing until the buffer is empty. It continues a dump when there is room again. */
            flags = exchange->is_dump ? 0 : MSG_DONTWAIT;
        } else {
            taken = length < 0 ? (int)length : cnl_exchange_read(exchange, query->buffer, (size_t)length);
        }
        if (taken < 0) {
            return taken;
        }
        stale = taken > 0 ? 0 : stale + 1;
    }
    return 0;
}

bool cnl_exchange_run(cnl_query *query, cnl_exchange *exchange, cnl_error *error) {
    int attempts = exchange->is_dump ? 1 : CNL_ATTEMPTS;
    for (int attempt = 0; exchange->unanswered && attempt < attempts; attempt++) {
        int status = cnl_exchange_send(query, exchange);
        if (status == 0) {
            status = cnl_exchange_receive(query, exchange);
        }
        if (status < 0) {
            return cnl_fail(error, -status);
        }
    }
    return !exchange->unanswered || cnl_fail(error, ETIMEDOUT);
}

/* MARK: requests other than lookups */

void cnl_query_begin(cnl_query *query, uint16_t type, uint16_t flags, const void *body, size_t size) {
    struct nlmsghdr *header = nlmsg_hdr(query->request);
    *header = (struct nlmsghdr){
        .nlmsg_len = NLMSG_HDRLEN,
        .nlmsg_type = type,
        .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
        .nlmsg_pid = query->transport.port,
    };
    query->is_too_long = nlmsg_append(query->request, (void *)body, size, NLMSG_ALIGNTO) != 0;
}

void cnl_query_put(cnl_query *query, uint16_t type, const void *value, size_t size) {
    query->is_too_long |= nla_put(query->request, type, (int)size, value) != 0;
}

int cnl_request_take(cnl_exchange *exchange, unsigned index, const struct nlmsghdr *message) {
    (void)index;
    cnl_request *request = (cnl_request *)exchange;
    bool is_status = message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR;
    request->is_interrupted |= (message->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
    if (is_status && !cnl_read_status(message, &request->status)) {
        return -EBADMSG;
    }
    if (!is_status) {
        request->handler(message, request->context);
    }
    if (is_status || !exchange->is_dump) {
        exchange->unanswered = exchange->awaited = 0;
    }
    return 0;
}

bool cnl_query_ask(cnl_query *query, cnl_message_handler handler, void *context, bool *interrupted, cnl_error *error) {
    if (query->is_too_long) {
        return cnl_fail(error, ENAMETOOLONG);
    }
    cnl_request request = {
        .exchange = {.is_dump = (nlmsg_hdr(query->request)->nlmsg_flags & NLM_F_DUMP) != 0,
                     .unanswered = 1,
                     .take = cnl_request_take},
        .handler = handler,
        .context = context,
    };
    bool is_answered = cnl_exchange_run(query, &request.exchange, error);
    *interrupted = request.is_interrupted;
    if (is_answered) {
        *error = request.status;
    }
    return is_answered && error->number == 0;
}

void cnl_query_wipe(cnl_query *query) {
    explicit_bzero(query->buffer, sizeof(query->buffer));
}
