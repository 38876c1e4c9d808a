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

/* The most requests that one datagram carries: few enough that the answers to lookups fit into the receive buffer, and
 * that 64 bits have one for each. */
#define CNL_REQUESTS 64

/* The average size of a request in one datagram. A lookup with all selectors has 112 bytes. */
#define CNL_REQUEST_SIZE 128

/* MARK: errors */

/* Fill an error and return false. */
bool cnl_fail(cnl_error *error, int number);
bool cnl_fail_libnl(cnl_error *error, int libnl_code);

/* Reads NLMSG_ERROR or NLMSG_DONE: the errno, 0 for success, and the kernel's text. Returns false when it is cut,
 * or its number is no errno. */
bool cnl_read_status(const struct nlmsghdr *message, cnl_error *error);

/* MARK: attributes */

/* A run of attributes, read one after the other. */
typedef struct cnl_run {
    const char *_Nullable next;
    int remaining;
    bool is_cut; /* whether a header or a value overran the run */
} cnl_run;

/* Starts a run. One that is longer than libnl can count is cut. */
cnl_run cnl_run_of(const void *_Nullable head, size_t length);

/* Returns the next attribute; NULL at the end, and where the run is cut. */
const struct nlattr *_Nullable cnl_run_next(cnl_run *run);

/* The type, the length and the value of an attribute. libnl's functions for them are calls into another library, which
 * take half of the time in which a reply is read. */
static inline int cnl_attribute_type(const struct nlattr *attribute) {
    return attribute->nla_type & NLA_TYPE_MASK;
}

static inline size_t cnl_attribute_length(const struct nlattr *attribute) {
    return (size_t)(attribute->nla_len - NLA_HDRLEN);
}

static inline const void *cnl_attribute_value(const struct nlattr *attribute) {
    return (const char *)attribute + NLA_HDRLEN;
}

/* The address length of a family in bytes, 0 for other families. */
static inline size_t cnl_address_size(uint8_t family) {
    return family == AF_INET ? 4 : family == AF_INET6 ? 16 : 0;
}

/* MARK: sockets */

/* Calls the handler with each message of a datagram. Returns 0, or -EBADMSG when the rest is malformed. */
int cnl_for_each_message(const void *bytes, size_t length, cnl_message_handler handler, void *_Nullable context);

/* Reads one datagram of a socket, as a cnl_transport does. The kernel is the sender whose nl_pid is 0; a datagram that
 * it sent to no group is an answer. */
ssize_t cnl_receive(int descriptor, void *buffer, size_t size, int flags, struct sockaddr_nl *sender);

struct cnl_query {
    struct nl_sock *_Nullable socket;
    struct nl_msg *_Nullable request; /* allocated once, rebuilt for each request */
    int descriptor; /* of the socket that the transport uses, if it is one */
    cnl_transport transport;
    cnl_trace _Nullable trace;
    void *_Nullable trace_context;
    uint32_t sequence;
    bool is_too_long; /* whether an attribute did not fit into the request */
    bool knows_flows; /* known to evaluate RTA_IP_PROTO and ports */
    cnl_query_changes changes;
    char requests[CNL_REQUESTS * CNL_REQUEST_SIZE] __attribute__((aligned(8))); /* of one datagram */
    char buffer[CNL_READ_SIZE] __attribute__((aligned(8)));
};

/* Reads one datagram that is not a notification, and notes the notifications ahead of it. Returns its length, -EAGAIN
 * after the timeout, -ENOBUFS when datagrams were lost or more notifications are queued than one read notes, or another
 * negative errno. The flags are those of recv(). */
ssize_t cnl_query_read(cnl_query *query, int flags);

/* Sends requests and reads their answers, up to three times for those that are lost or late. Returns false when a
 * request is left without its answer. */
bool cnl_exchange_run(cnl_query *query, cnl_exchange *exchange, cnl_error *error);

#pragma clang assume_nonnull end

#endif
