/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_QUERY_H
#define CNL_QUERY_H

#include "cnl_message.h"

#pragma clang assume_nonnull begin

/* A socket for questions: no groups joined, strict checking and extended acknowledgements on where the
 * kernel has them, one second of patience, 64 KiB reads. It stays in the network namespace in which it was
 * opened and must not be used on both sides of a fork(). */
typedef struct cnl_query cnl_query;

/* Opens one; NULL with a filled fault when that fails. The caller closes it. */
cnl_query *_Nullable cnl_query_open(cnl_fault *fault);

void cnl_query_close(cnl_query *query);

/* True where the kernel checks requests strictly (4.20 and later): dumps can be filtered and hold no
 * route-cache exceptions. */
bool cnl_query_is_strict(const cnl_query *query);

/* The netlink port that the kernel answers to. */
uint32_t cnl_query_port(const cnl_query *query);

/* How long one answer may take, in milliseconds. The default is 1,000. */
int cnl_query_set_patience(cnl_query *query, uint32_t milliseconds);

/* A question to the routing table: which way would a packet to `destination` go? */
typedef struct cnl_route_request {
    uint8_t family; /* AF_INET or AF_INET6 */
    uint8_t tos;
    bool asks_for_entry; /* RTM_F_FIB_MATCH: the table's entry with all its legs, not the one leg chosen */
    bool has_source, has_mark, has_uid, has_ip_protocol;
    uint8_t ip_protocol;
    uint32_t output_interface; /* 0 for any */
    uint32_t input_interface;  /* 0 for a packet of this host */
    uint32_t mark, uid;        /* without a uid the kernel takes the caller's */
    uint16_t source_port, destination_port; /* host order, 0 for none */
    uint8_t destination[16];
    uint8_t source[16];
} cnl_route_request;

/* RTM_GETROUTE. `answer->legs` stays valid until the next call on this handle. */
cnl_outcome cnl_query_route(cnl_query *query, const cnl_route_request *request,
                            cnl_route *answer, cnl_fault *fault);

/* RTM_GETLINK for one interface: by index, or by name (also an alternative name) when the index is 0. */
cnl_outcome cnl_query_link(cnl_query *query, uint32_t index, const char *_Nullable name,
                           cnl_link *answer, cnl_fault *fault);

/* RTM_GETNEXTHOP for one nexthop object. `answer->group` stays valid until the next call on this handle. */
cnl_outcome cnl_query_nexthop(cnl_query *query, uint32_t id, cnl_nexthop *answer, cnl_fault *fault);

/* What to dump. Filters need a strict socket; without one the kernel answers with everything, so the
 * receiver of the messages must check again. */
typedef struct cnl_dump_request {
    uint16_t type;  /* RTM_GETLINK, RTM_GETADDR, RTM_GETROUTE, RTM_GETRULE, RTM_GETNEXTHOP, RTM_GETNEIGH */
    uint8_t family; /* AF_UNSPEC for all */
    uint32_t table; /* routes of one table, 0 for all */
    uint32_t interface_index; /* addresses of one interface, 0 for all */
} cnl_dump_request;

typedef struct cnl_dump_report {
    uint64_t messages;
    bool is_interrupted; /* NLM_F_DUMP_INTR: the table changed meanwhile */
    bool is_filtered;    /* NLM_F_DUMP_FILTERED: the kernel applied the request's filter */
} cnl_dump_report;

/* Dumps and hands out each message as it comes, without the closing NLMSG_DONE and without route-cache
 * exceptions (RTM_F_CLONED). The messages are not checked beyond their length. */
cnl_outcome cnl_query_dump(cnl_query *query, const cnl_dump_request *request,
                           cnl_message_handler handler, void *_Nullable context,
                           cnl_dump_report *report, cnl_fault *fault);

#pragma clang assume_nonnull end

#endif
