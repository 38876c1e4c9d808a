/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_QUERY_H
#define CNL_QUERY_H

#include "cnl_message.h"

#pragma clang assume_nonnull begin

/* A socket for requests. It uses strict checking and extended acknowledgements where the kernel
 * has them, and waits for an answer until a timeout. It stays in the network namespace in which it was opened. Use it
 * on one side of a fork() only. Close it after a request failed without an answer: one may still arrive. */
typedef struct cnl_query cnl_query;

/* Opens a socket of a netlink protocol (NETLINK_ROUTE, NETLINK_GENERIC, NETLINK_SOCK_DIAG). It waits for an answer as
 * many milliseconds as the timeout says, or forever with 0, up to three times. Returns NULL and fills the error on
 * failure. The caller closes the socket. */
cnl_query *_Nullable cnl_query_open(int protocol, int timeout, cnl_error *error);

/* How datagrams are sent to the kernel and received from it. */
typedef struct cnl_transport {
    /* Sends a datagram. Returns 0 or a negative errno. */
    int (*send)(void *_Nullable context, const void *bytes, size_t size);
    /* Reads a datagram into a buffer. Returns its length, which exceeds the buffer's for one that was cut, or a negative
     * errno: -EAGAIN where none comes in time. The flags are those of recv(). */
    long (*receive)(void *_Nullable context, void *buffer, size_t size, int flags, struct sockaddr_nl *sender);
    void *_Nullable context;
    uint32_t port;  /* of the answers */
    bool is_strict; /* whether the kernel checks requests strictly */
} cnl_transport;

/* Exchanges datagrams by a transport in place of a socket: for tests without a kernel. */
cnl_query *_Nullable cnl_query_open_over(const cnl_transport *transport, cnl_error *error);

void cnl_query_close(cnl_query *query);

/* Receives each datagram that is sent or was read, valid during the call. */
typedef void (*cnl_trace)(void *_Nullable context, bool is_sent, const void *bytes, size_t size);

/* Calls a function with each further datagram. */
void cnl_query_trace(cnl_query *query, cnl_trace trace, void *_Nullable context);

/* Whether the kernel checks requests strictly (4.20 and later): it then filters dumps and leaves cached exceptions
 * out of them. */
bool cnl_query_is_strict(const cnl_query *query);

/* MARK: notifications */

/* Joins a group (RTNLGRP_...): its notifications queue up with the answers, each ahead of the answers that the kernel
 * gives after the change. Returns false on failure. */
bool cnl_query_follow(cnl_query *query, uint32_t group);

/* What was notified ahead of the answers read so far. */
typedef struct cnl_query_changes {
    bool any;   /* anything */
    bool rules; /* a policy rule, or what was lost or is not read yet */
} cnl_query_changes;

/* Returns the changes since the last call. */
cnl_query_changes cnl_query_take_changes(cnl_query *query);

/* Reads the notifications that are queued, without waiting and up to a bound; where more are queued, the rest
 * counts as lost. Returns 0 or a negative errno. */
int cnl_query_catch_up(cnl_query *query);

/* MARK: lookups */

/* A route lookup for one packet: of this host, or one that arrives. */
typedef struct cnl_route_request {
    uint8_t family; /* AF_INET or AF_INET6 */
    uint8_t tos;
    uint8_t ip_protocol; /* 0 for UDP */
    bool wants_entry;    /* RTM_F_FIB_MATCH: the table's entry with all nexthops, not the nexthop chosen */
    bool has_source, has_uid;
    uint32_t output_interface; /* 0 for any */
    uint32_t input_interface;  /* RTA_IIF: where the packet arrives, 0 for a packet of this host */
    uint32_t mark;
    uint32_t uid; /* without has_uid the kernel uses the caller's */
    uint16_t source_port, destination_port; /* host order, 0 for none */
    uint8_t destination[16];
    uint8_t source[16];
} cnl_route_request;

/* Receives the answer to the lookup at an index: a route, which is valid during the call, or NULL and the error with
 * which the kernel refused the lookup. */
typedef void (*cnl_route_handler)(size_t index, const cnl_route *_Nullable route, const cnl_error *_Nullable refusal,
                                  void *_Nullable context);

/* RTM_GETROUTE for each of some packets, up to 64 in one datagram. Calls the handler once for each lookup, in any
 * order. A lookup whose answer is lost or late is sent again. Returns false when lookups are left without an answer.
 *
 * A protocol or port is never ignored: a kernel that does not know them (before Linux 4.17) makes the call fail with
 * EOPNOTSUPP, one that cannot look up the protocol refuses the lookup with EOPNOTSUPP. */
bool cnl_query_routes(cnl_query *query, const cnl_route_request *requests, size_t count, cnl_route_handler handler,
                      void *_Nullable context, cnl_error *error);

/* MARK: other requests */

/* Starts a request of a type (RTM_GETLINK, ...) with the fixed part of its message. NLM_F_DUMP asks for all entries of
 * a table. */
void cnl_query_begin(cnl_query *query, uint16_t type, uint16_t flags, const void *body, size_t size);

/* Adds an attribute to the request. */
void cnl_query_put(cnl_query *query, uint16_t type, const void *value, size_t size);

/* Sends the request and calls the handler with the message that answers it, or those of the dump. Only the length of a
 * message is checked. A request whose answer is lost or late is sent again, but no dump. Sets *interrupted when what is
 * dumped changed meanwhile (NLM_F_DUMP_INTR): entries can be missing or doubled. Returns false, with the kernel's errno
 * when it refused the request. */
bool cnl_query_ask(cnl_query *query, cnl_message_handler handler, void *_Nullable context, bool *interrupted,
                   cnl_error *error);

/* Overwrites the last answers, for those that hold secrets. */
void cnl_query_wipe(cnl_query *query);

#pragma clang assume_nonnull end

#endif
