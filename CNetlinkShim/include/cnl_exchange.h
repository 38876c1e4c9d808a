/* SPDX-License-Identifier: Apache-2.0 */

/* Reads answers from datagrams. Declared here for tests that pass bytes. */

#ifndef CNL_EXCHANGE_H
#define CNL_EXCHANGE_H

#include "cnl_query.h"

#pragma clang assume_nonnull begin

typedef struct cnl_exchange cnl_exchange;

/* Builds the request at an index in the socket's message. Returns false if the request does not fit. */
typedef bool (*cnl_request_builder)(cnl_query *query, const cnl_exchange *exchange, unsigned index);

/* Takes a message that answers the request at an index, and after the last message clears the request's bits. Returns 0
 * or a negative errno. */
typedef int (*cnl_answer_taker)(cnl_exchange *exchange, unsigned index, const struct nlmsghdr *message);

/* Up to 64 requests of one datagram, until they are answered. The masks have a bit for each request. */
struct cnl_exchange {
    uint32_t first, port; /* the sequence number of the first request when it was last sent, and the port of all */
    bool is_dump;         /* whether one request has many messages as its answer, and is not repeated */
    uint64_t unanswered;
    uint64_t awaited;     /* the requests that were sent and have no answer yet */
    cnl_request_builder _Nullable build; /* NULL if the caller has built the request */
    cnl_answer_taker take;
};

/* Takes the answers in a datagram. Returns the number of messages taken or a negative errno, -EBADMSG if one is cut. */
int cnl_exchange_read(cnl_exchange *exchange, const void *bytes, size_t length);

/* A request other than a lookup, and its answer. */
typedef struct cnl_request {
    cnl_exchange exchange;
    cnl_message_handler handler;
    void *_Nullable context;
    bool is_interrupted;
    cnl_error status; /* of the kernel at the end of the answer; its number is 0 for success */
} cnl_request;

/* Calls the handler with the messages of the answer, up to NLMSG_DONE or NLMSG_ERROR. */
int cnl_request_take(cnl_exchange *exchange, unsigned index, const struct nlmsghdr *message);

#pragma clang assume_nonnull end

#endif
