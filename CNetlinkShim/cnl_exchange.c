/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>

#include "cnl_internal.h"

enum {
    CNL_ATTEMPTS = 3,          /* of one request; each waits for the socket's timeout */
    CNL_STALE_DATAGRAMS = 256, /* datagrams without an answer that one attempt skips between answers */
};

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
    return query->transport.send(query->transport.context, query->requests, size);
}

/* A datagram while its messages are read. */
typedef struct cnl_reading {
    cnl_exchange *exchange;
    int result; /* the messages taken, or a negative errno */
} cnl_reading;

static void cnl_exchange_take(const struct nlmsghdr *message, void *context) {
    cnl_reading *reading = context;
    cnl_exchange *exchange = reading->exchange;
    /* Late answers to what was sent before have other sequence numbers. */
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

/* Reads the answers that are awaited, until the time runs out or answers are lost. Returns 0 or a negative errno. */
static int cnl_exchange_receive(cnl_query *query, cnl_exchange *exchange) {
    int flags = 0;
    for (int stale = 0; exchange->awaited && stale < CNL_STALE_DATAGRAMS;) {
        ssize_t length = cnl_query_read(query, flags);
        if (length == -EAGAIN) {
            return 0;
        }
        int taken = 0;
        if (length == -ENOBUFS) {
            /* Notifications filled the buffer, and answers may be lost with them. They came at once or not at all, and
             * the kernel sends others only when the buffer is empty. It continues a dump when there is room again. */
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
