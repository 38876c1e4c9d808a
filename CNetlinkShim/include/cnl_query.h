/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_QUERY_H
#define CNL_QUERY_H

#include "cnl_message.h"

#pragma clang assume_nonnull begin

/* A socket for requests, with strict checking and extended acknowledgements if the kernel supports them. It waits for
 * an answer until a timeout. It stays in the network namespace in which it was opened. After fork(), use it in one of
 * the processes only. Close it if a request gets no answer: the answer may still arrive. */
typedef struct cnl_query cnl_query;

/* Opens a socket of a netlink protocol (NETLINK_ROUTE, NETLINK_GENERIC, NETLINK_SOCK_DIAG). A request has up to three
 * attempts, each with this timeout in milliseconds; 0 waits forever. Returns NULL and fills the error on failure. The
 * caller closes the socket. */
cnl_query *_Nullable cnl_query_open(int protocol, int timeout, cnl_error *error);

/* How datagrams are sent to the kernel and received from it. */
typedef struct cnl_transport {
    /* Sends a datagram. Returns 0 or a negative errno. */
    int (*send)(void *_Nullable context, const void *bytes, size_t size);
    /* Reads a datagram into a buffer, with flags of recv(). Returns the length of the datagram, which exceeds the
     * buffer's if it was truncated, or a negative errno: -EAGAIN after the timeout. */
    long (*receive)(void *_Nullable context, void *buffer, size_t size, int flags, struct sockaddr_nl *sender);
    void *_Nullable context;
    uint32_t port;  /* of the answers */
    bool is_strict; /* whether the kernel checks requests strictly */
} cnl_transport;

/* Opens a query that uses a transport in place of a socket, for tests without a kernel. */
cnl_query *_Nullable cnl_query_open_over(const cnl_transport *transport, cnl_error *error);

void cnl_query_close(cnl_query *query);

/* Receives each datagram that is sent or was read. The bytes are valid during the call. */
typedef void (*cnl_trace)(void *_Nullable context, bool is_sent, const void *bytes, size_t size);

/* Calls a function with each datagram from now on. */
void cnl_query_trace(cnl_query *query, cnl_trace trace, void *_Nullable context);

/* Whether the kernel checks requests strictly (4.20 and later). Such a kernel filters dumps, and leaves out cached
 * exceptions. */
bool cnl_query_is_strict(const cnl_query *query);

/* MARK: notifications */

/* Joins a group (RTNLGRP_...). The notification of a change is queued ahead of the answers that the kernel gives after
 * the change. Returns false on failure. */
bool cnl_query_follow(cnl_query *query, uint32_t group);

/* The changes that were notified ahead of the answers read so far. */
typedef struct cnl_query_changes {
    bool any;   /* any change */
    bool rules; /* of policy rules; also set if notifications were lost or are not read yet */
} cnl_query_changes;

/* Returns the changes since the last call. */
cnl_query_changes cnl_query_take_changes(cnl_query *query);

/* Reads the queued notifications without waiting, up to a limit; the rest counts as lost. Returns 0 or a negative
 * errno. */
int cnl_query_catch_up(cnl_query *query);

/* MARK: lookups */

/* A route lookup for one packet, which this host sends or which arrives. */
typedef struct cnl_route_request {
    uint8_t family; /* AF_INET or AF_INET6 */
    uint8_t tos;
    uint8_t ip_protocol; /* 0 for UDP */
    bool wants_entry;    /* RTM_F_FIB_MATCH: the table's entry with all nexthops, not the chosen nexthop */
    bool has_source, has_uid;
    uint32_t output_interface; /* 0 for any */
    uint32_t input_interface;  /* RTA_IIF: the interface of arrival, 0 for a packet of this host */
    uint32_t mark;
    uint32_t uid; /* without has_uid, the kernel uses the caller's uid */
    uint16_t source_port, destination_port; /* host order, 0 for none */
    uint8_t destination[16];
    uint8_t source[16];
} cnl_route_request;

/* Receives the answer to the lookup at an index: a route that is valid during the call, or NULL and the error of the
 * kernel's refusal. */
typedef void (*cnl_route_handler)(size_t index, const cnl_route *_Nullable route, const cnl_error *_Nullable refusal,
                                  void *_Nullable context);

/* Sends RTM_GETROUTE for each packet, up to 64 in one datagram. Calls the handler once for each lookup, in any order.
 * A lookup whose answer is lost or late is sent again. Returns false if a lookup stays without an answer.
 *
 * A protocol or port is never ignored. The call fails with EOPNOTSUPP if the kernel ignores them (before Linux 4.17). A
 * newer kernel refuses a lookup with EOPNOTSUPP if it cannot look up the protocol. */
bool cnl_query_routes(cnl_query *query, const cnl_route_request *requests, size_t count, cnl_route_handler handler,
                      void *_Nullable context, cnl_error *error);

/* MARK: other requests */

/* Starts a request of a type (RTM_GETLINK, ...) with the fixed part of its message. NLM_F_DUMP requests all entries of
 * a table. */
void cnl_query_begin(cnl_query *query, uint16_t type, uint16_t flags, const void *body, size_t size);

/* Adds an attribute to the request. */
void cnl_query_put(cnl_query *query, uint16_t type, const void *value, size_t size);

/* Sends the request and calls the handler with the message that answers it, or with each message of the dump. Checks
 * only the length of a message. Sends a request again if its answer is lost or late, but not a dump. Sets *interrupted
 * if the table changed during the dump (NLM_F_DUMP_INTR): entries can be missing or duplicated. Returns false on
 * failure, with the kernel's errno if the kernel refused the request. */
bool cnl_query_ask(cnl_query *query, cnl_message_handler handler, void *_Nullable context, bool *interrupted,
                   cnl_error *error);

/* Overwrites the last answers, which can contain secrets. */
void cnl_query_wipe(cnl_query *query);

#pragma clang assume_nonnull end

#endif
