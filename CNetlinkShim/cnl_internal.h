/* SPDX-License-Identifier: Apache-2.0 */

/* Shared by the shim's own files. */

#ifndef CNL_INTERNAL_H
#define CNL_INTERNAL_H

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <string.h>

#include "CNetlinkShim.h"

#pragma clang assume_nonnull begin

#define CNL_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The kernel sizes dump datagrams to the largest read it has seen, at most about 32 KiB. */
#define CNL_READ_SIZE (64 * 1024)

/* The most requests in one datagram: the answers to lookups fit into the receive buffer, and 64 bits have a bit for
 * each request. */
#define CNL_REQUESTS 64

/* The average size of a request in one datagram. A lookup with all selectors has 112 bytes. */
#define CNL_REQUEST_SIZE 128

/* MARK: errors */

/* Both fill an error and return false. */
bool cnl_fail(cnl_error *error, int number);
bool cnl_fail_libnl(cnl_error *error, int libnl_code);

/* Reads NLMSG_ERROR or NLMSG_DONE: the errno, 0 for success, and the kernel's text. Returns false if the message is
 * truncated or its number is not an errno. */
bool cnl_read_status(const struct nlmsghdr *message, cnl_error *error);

/* MARK: attributes */

/* Consecutive attributes, read one by one. */
typedef struct cnl_run {
    const char *_Nullable next;
    int remaining;
    bool is_cut; /* whether a header or a value overran the run */
} cnl_run;

/* Starts a run. A run longer than libnl can count is cut. */
cnl_run cnl_run_of(const void *_Nullable head, size_t length);

/* Returns the next attribute; NULL at the end, and if the run is cut. */
const struct nlattr *_Nullable cnl_run_next(cnl_run *run);

/* The type, the length and the value of an attribute. Calls of libnl's functions for them would take half of the time
 * of reading a reply. */
static inline int cnl_attribute_type(const struct nlattr *attribute) {
    return attribute->nla_type & NLA_TYPE_MASK;
}

static inline size_t cnl_attribute_length(const struct nlattr *attribute) {
    return (size_t)(attribute->nla_len - NLA_HDRLEN);
}

static inline const void *cnl_attribute_value(const struct nlattr *attribute) {
    return (const char *)attribute + NLA_HDRLEN;
}

/* The length of an address in bytes; 0 for other families than IPv4 and IPv6. */
static inline size_t cnl_address_size(uint8_t family) {
    return family == AF_INET ? 4 : family == AF_INET6 ? 16 : 0;
}

/* MARK: sockets */

/* Calls the handler with each message of a datagram. Returns 0, or -EBADMSG if the rest is malformed. */
int cnl_for_each_message(const void *bytes, size_t length, cnl_message_handler handler, void *_Nullable context);

/* Reads one datagram of a socket, like cnl_transport.receive. The kernel is the sender with nl_pid 0. A datagram from
 * the kernel to no group is an answer. */
ssize_t cnl_receive(int descriptor, void *buffer, size_t size, int flags, struct sockaddr_nl *sender);

struct cnl_query {
    struct nl_sock *_Nullable socket;
    struct nl_msg *_Nullable request; /* allocated once, rebuilt for each request */
    int descriptor; /* of the transport's socket, if the transport is one */
    cnl_transport transport;
    cnl_trace _Nullable trace;
    void *_Nullable trace_context;
    uint32_t sequence;
    bool is_too_long; /* whether an attribute did not fit into the request */
    bool knows_flows; /* whether the kernel is known to evaluate RTA_IP_PROTO and ports */
    cnl_query_changes changes;
    char requests[CNL_REQUESTS * CNL_REQUEST_SIZE] __attribute__((aligned(8))); /* of one datagram */
    char buffer[CNL_READ_SIZE] __attribute__((aligned(8)));
};

/* Reads one datagram that is not a notification, and records the notifications ahead of it, with flags of recv().
 * Returns the length of the datagram, -EAGAIN after the timeout, -ENOBUFS if datagrams were lost or more notifications
 * are queued than one read records, or another negative errno. */
ssize_t cnl_query_read(cnl_query *query, int flags);

/* Sends requests and reads their answers, up to three times for lost or late answers. Returns false if a request stays
 * without an answer. */
bool cnl_exchange_run(cnl_query *query, cnl_exchange *exchange, cnl_error *error);

#pragma clang assume_nonnull end

#endif
