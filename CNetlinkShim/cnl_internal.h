/* SPDX-License-Identifier: Apache-2.0 */

/* Shared by the shim's own files. */

#ifndef CNL_INTERNAL_H
#define CNL_INTERNAL_H

#include <linux/netlink.h>
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

/* The most lookups that one datagram carries: few enough that their answers fit into the receive buffer, and that 64
 * bits have one for each. */
#define CNL_LOOKUPS 64

/* The size of a lookup with all selectors: 112 bytes. */
#define CNL_LOOKUP_SIZE 128

/* MARK: outcomes */

/* Fill a fault and return CNL_FAILED or CNL_REFUSED. */
cnl_outcome cnl_fail(cnl_fault *fault, int number);
cnl_outcome cnl_fail_libnl(cnl_fault *fault, int libnl_code);
cnl_outcome cnl_refuse(cnl_fault *fault, const struct nlmsghdr *error);

/* MARK: attributes */

/* A run of attributes, read one after the other. */
typedef struct cnl_attributes {
    const char *_Nullable next;
    int remaining;
    bool is_cut; /* whether a header or a value overran the run */
} cnl_attributes;

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

/* Starts a run. Returns false where it is longer than libnl can count. */
bool cnl_attributes_open(cnl_attributes *run, const void *_Nullable head, size_t length);

/* Returns the next attribute; NULL at the end, and where the run is cut. */
const struct nlattr *_Nullable cnl_attributes_next(cnl_attributes *run);

/* Parses the attributes of a whole message behind its fixed part of `fixed` bytes into `table` (maximum + 1
 * entries), and counts those above `maximum` in *unknown. Returns 0, -EBADMSG, or -ENOMSG when the message is
 * neither of `type` nor of its removal, type + 1. */
int cnl_parse_message(const void *bytes, size_t length, uint16_t type, size_t fixed,
                      struct nlattr *_Nullable *_Nonnull table, int maximum, unsigned *_Nullable unknown);

/* Parses the attributes of a message of any type, as cnl_parse_message() does. */
int cnl_parse_attributes(const void *bytes, size_t length, size_t fixed, struct nlattr *_Nullable *_Nonnull table,
                         int maximum, unsigned *_Nullable unknown);

/* Parse the attributes that are nested in one attribute, and a run of attributes, as cnl_parse_message() does. */
int cnl_parse_nested(const struct nlattr *nest, struct nlattr *_Nullable *_Nonnull table, int maximum);
int cnl_parse_run(const struct nlattr *_Nullable head, size_t length, struct nlattr *_Nullable *_Nonnull table,
                  int maximum, unsigned *_Nullable unknown);

/* Copies a value of fixed size. Returns false when the attribute is shorter. */
bool cnl_copy(const struct nlattr *attribute, void *target, size_t size);

/* A number to copy if the attribute exists; *present then becomes true. */
typedef struct cnl_number {
    int attribute;
    void *target;
    size_t size;
    bool *_Nullable present;
} cnl_number;

/* Copies numbers out of parsed attributes. Returns false when one is too short. */
bool cnl_copy_numbers(struct nlattr *_Nullable const *_Nonnull table, const cnl_number *numbers, size_t count);

/* Copies an address if the attribute exists. Returns false when its length does not fit the family. */
bool cnl_copy_address(const struct nlattr *_Nullable attribute, uint8_t family, uint8_t target[_Nonnull 16]);

/* Copies a string if the attribute exists, with or without its NUL. Returns false when it does not fit. */
bool cnl_copy_string(const struct nlattr *_Nullable attribute, char *target, size_t size);

/* The address length of a family in bytes, 0 for other families. */
size_t cnl_address_size(uint8_t family);

/* MARK: sockets */

/* Reads one datagram from the kernel. Returns its length, -EMSGSIZE when it was larger than the buffer,
 * CNL_UNTRUSTED when the kernel is not its sender, or another negative errno. */
ssize_t cnl_receive(int descriptor, void *buffer, size_t size);

/* A socket of a netlink protocol other than NETLINK_ROUTE, for a few requests. */
typedef struct cnl_channel cnl_channel;

/* Opens a socket. Returns NULL and fills the fault on failure. The caller closes it. */
cnl_channel *_Nullable cnl_channel_open(int protocol, cnl_fault *fault);

void cnl_channel_close(cnl_channel *channel);

/* Sends a request with NLM_F_DUMP or NLM_F_ACK and calls the handler with each answer. A dump that was interrupted is
 * repeated, so the handler can be called with an entry more than once. EAGAIN: it was interrupted each time. */
cnl_outcome cnl_channel_ask(cnl_channel *channel, struct nl_msg *message, cnl_message_handler handler,
                            void *_Nullable context, cnl_fault *fault);

struct cnl_query {
    struct nl_sock *socket;
    struct nl_msg *request; /* allocated once, rebuilt for each request */
    int descriptor;
    uint32_t port;
    uint32_t sequence;
    bool is_strict;
    bool knows_flows; /* known to evaluate RTA_IP_PROTO and ports */
    bool has_changes; /* whether `changes` holds anything */
    cnl_query_changes changes;
    char lookups[CNL_LOOKUPS * CNL_LOOKUP_SIZE] __attribute__((aligned(8))); /* of one datagram */
    char buffer[CNL_READ_SIZE] __attribute__((aligned(8)));
};

/* Starts a new request. Returns false when it does not fit. */
bool cnl_query_begin(cnl_query *query, uint16_t type, uint16_t flags, const void *body, size_t size);

/* Sends the request under a new sequence number. Returns 0 or a negative errno. */
int cnl_query_send(cnl_query *query);

/* Reads one datagram that is not a notification, and notes the notifications ahead of it. Returns its length, -EAGAIN
 * after the timeout, -ENOBUFS when datagrams were lost or more notifications are queued than one read notes, or another
 * negative errno. The flags are those of recv(). */
ssize_t cnl_query_read(cnl_query *query, int flags);

/* Whether a message answers the request with a sequence number. Late answers to earlier requests do not. */
bool cnl_query_owns(const cnl_query *query, uint32_t sequence, const cnl_message *message);

#pragma clang assume_nonnull end

#endif
