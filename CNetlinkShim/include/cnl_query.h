/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_QUERY_H
#define CNL_QUERY_H

#include "cnl_message.h"

#pragma clang assume_nonnull begin

/* A socket for requests. It uses strict checking and extended acknowledgements where the kernel
 * has them, and waits one second for an answer. It stays in the network namespace in which it was opened. Use it
 * on one side of a fork() only. */
typedef struct cnl_query cnl_query;

/* Opens a socket. Returns NULL and fills the fault on failure. The caller closes the socket. */
cnl_query *_Nullable cnl_query_open(cnl_fault *fault);

void cnl_query_close(cnl_query *query);

/* Whether the kernel checks requests strictly (4.20 and later): it then filters dumps and leaves cached exceptions
 * out of them. */
bool cnl_query_is_strict(const cnl_query *query);

/* Joins a group (RTNLGRP_...): its notifications queue up with the answers, each ahead of the answers that the kernel
 * gives after the change. Returns false on failure. */
bool cnl_query_follow(cnl_query *query, uint32_t group);

/* What notifications said that arrived ahead of the answers read so far. */
typedef struct cnl_query_changes {
    bool is_incomplete; /* some were lost, not read yet or are not listed: anything may have changed */
    bool rules;         /* a policy rule */
    uint8_t link_count;
    uint32_t links[16]; /* indexes of interfaces */
} cnl_query_changes;

/* Whether something was notified since the last call of cnl_query_take_changes(). */
bool cnl_query_has_changes(const cnl_query *query);

/* Returns the changes since the last call. Returns false where nothing was notified. */
bool cnl_query_take_changes(cnl_query *query, cnl_query_changes *changes);

/* Reads the notifications that are queued, without waiting and up to a bound; where more are queued, the changes are
 * incomplete. Returns 0 or a negative errno. */
int cnl_query_catch_up(cnl_query *query);

/* A route lookup for one packet of this host. */
typedef struct cnl_route_request {
    uint8_t family; /* AF_INET or AF_INET6 */
    uint8_t tos;
    uint8_t ip_protocol; /* 0 for UDP */
    bool wants_entry;    /* RTM_F_FIB_MATCH: the table's entry with all nexthops, not the nexthop chosen */
    bool has_source, has_uid;
    uint32_t output_interface; /* 0 for any */
    uint32_t mark;
    uint32_t uid; /* without has_uid the kernel uses the caller's */
    uint16_t source_port, destination_port; /* host order, 0 for none */
    uint8_t destination[16];
    uint8_t source[16];
} cnl_route_request;

/* Receives the answer to the lookup at an index: a route, which is valid during the call, or NULL and the fault with
 * which the kernel refused the lookup. */
typedef void (*cnl_route_handler)(size_t index, const cnl_route *_Nullable route, const cnl_fault *_Nullable refusal,
                                  void *_Nullable context);

/* RTM_GETROUTE for each of some packets, up to 64 in one datagram. Calls the handler once for each lookup, in any
 * order. A lookup whose answer is lost or late is sent again. Returns CNL_ANSWERED, or CNL_FAILED when lookups are left
 * without an answer.
 *
 * A protocol or port is never ignored: a kernel that does not know them (before Linux 4.17) makes the call fail with
 * EOPNOTSUPP, one that cannot look up the protocol refuses the lookup with EOPNOTSUPP. */
cnl_outcome cnl_query_routes(cnl_query *query, const cnl_route_request *requests, size_t count,
                             cnl_route_handler handler, void *_Nullable context, cnl_fault *fault);

/* RTM_GETLINK for one interface: by index, or by name or alternative name when the index is 0. */
cnl_outcome cnl_query_link(cnl_query *query, uint32_t index, const char *_Nullable name,
                           cnl_link *answer, cnl_fault *fault);

/* RTM_GETNEXTHOP for one nexthop object. `answer->group` is valid until the next call on this handle. */
cnl_outcome cnl_query_nexthop_object(cnl_query *query, uint32_t id, cnl_nexthop_object *answer, cnl_fault *fault);

/* What to dump. Only a strict socket filters. Without one the kernel sends everything, and the handler has to
 * filter. */
typedef struct cnl_dump_request {
    uint16_t type;  /* RTM_GETLINK, RTM_GETADDR, RTM_GETROUTE, RTM_GETRULE, RTM_GETNEXTHOP, RTM_GETNEIGH,
                       RTM_GETNETCONF */
    uint8_t family; /* AF_UNSPEC for all */
    uint32_t interface_index; /* addresses of one interface, 0 for all */
} cnl_dump_request;

/* Dumps a table and calls the handler with each message, without NLMSG_DONE and without cached exceptions
 * (RTM_F_CLONED). Only the length of a message is checked. Sets *interrupted when the table changed during the
 * dump (NLM_F_DUMP_INTR). */
cnl_outcome cnl_query_dump(cnl_query *query, const cnl_dump_request *request,
                           cnl_message_handler handler, void *_Nullable context,
                           bool *interrupted, cnl_fault *fault);

#pragma clang assume_nonnull end

#endif
