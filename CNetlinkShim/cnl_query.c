/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <linux/netconf.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "cnl_internal.h"

struct cnl_query {
    struct nl_sock *socket;
    struct nl_msg *request; /* built anew for each question, allocated once */
    int descriptor;
    uint32_t port;
    uint32_t sequence;
    bool is_strict;
    char buffer[CNL_READ_SIZE] __attribute__((aligned(8)));
};

enum {
    CNL_ATTEMPTS = 3,          /* of a single question; each waits for the socket's patience */
    CNL_STALE_DATAGRAMS = 256, /* late answers to earlier questions that one wait passes over */
    CNL_REQUEST_SIZE = 512,
};

static bool cnl_query_set_up(cnl_query *query, cnl_fault *fault) {
    int status = nl_connect(query->socket, NETLINK_ROUTE);
    if (status < 0) {
        cnl_fail_libnl(fault, status);
        return false;
    }
    query->descriptor = nl_socket_get_fd(query->socket);
    query->port = nl_socket_get_local_port(query->socket);
    /* From here on the kernel itself turns away datagrams that other processes send to this port
     * (ECONNREFUSED for them), so that a reply needs no check of its sender. */
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    if (connect(query->descriptor, (struct sockaddr *)&kernel, sizeof(kernel)) != 0) {
        cnl_fail(fault, errno);
        return false;
    }
    int yes = 1;
    /* Without these the kernel answers all the same: looser checks, no words with its errors. */
    query->is_strict =
        setsockopt(query->descriptor, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &yes, sizeof(yes)) == 0;
    (void)setsockopt(query->descriptor, SOL_NETLINK, NETLINK_EXT_ACK, &yes, sizeof(yes));
    (void)setsockopt(query->descriptor, SOL_NETLINK, NETLINK_CAP_ACK, &yes, sizeof(yes));
    /* libnl shrinks the receive buffer to 64 KiB; a dump likes two datagrams under way. */
    (void)nl_socket_set_buffer_size(query->socket, 256 * 1024, 32 * 1024);
    if (cnl_query_set_patience(query, 1000) != 0) {
        cnl_fail(fault, errno);
        return false;
    }
    return true;
}

cnl_query *cnl_query_open(cnl_fault *fault) {
    cnl_query *query = malloc(sizeof(*query));
    if (!query) {
        cnl_fail(fault, ENOMEM);
        return NULL;
    }
    /* All but the read buffer, which would only be touched for nothing. */
    memset(query, 0, offsetof(cnl_query, buffer));
    query->socket = nl_socket_alloc();
    query->request = nlmsg_alloc_size(CNL_REQUEST_SIZE);
    if (!query->socket || !query->request) {
        cnl_fail(fault, ENOMEM);
        cnl_query_close(query);
        return NULL;
    }
    if (!cnl_query_set_up(query, fault)) {
        cnl_query_close(query);
        return NULL;
    }
    return query;
}

void cnl_query_close(cnl_query *query) {
    nlmsg_free(query->request);
    nl_socket_free(query->socket);
    free(query);
}

bool cnl_query_is_strict(const cnl_query *query) {
    return query->is_strict;
}

uint32_t cnl_query_port(const cnl_query *query) {
    return query->port;
}

int cnl_query_set_patience(cnl_query *query, uint32_t milliseconds) {
    struct timeval limit = {.tv_sec = milliseconds / 1000, .tv_usec = (milliseconds % 1000) * 1000};
    return setsockopt(query->descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 ? 0 : -errno;
}

/* Starts a request over in the one message that the handle keeps. */
static bool cnl_query_begin(cnl_query *query, uint16_t type, uint16_t flags, const void *body, size_t size) {
    struct nlmsghdr *header = nlmsg_hdr(query->request);
    memset(header, 0, sizeof(*header));
    header->nlmsg_len = NLMSG_HDRLEN;
    header->nlmsg_type = type;
    header->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
    header->nlmsg_pid = query->port;
    return nlmsg_append(query->request, (void *)body, size, NLMSG_ALIGNTO) == 0;
}

/* Sends the prepared request under a new sequence number. Not with nl_sendto(), which names the kernel's
 * address with each datagram although the socket is connected to it. Returns 0 or a negative errno. */
static int cnl_query_send(cnl_query *query) {
    struct nlmsghdr *header = nlmsg_hdr(query->request);
    header->nlmsg_seq = ++query->sequence;
    ssize_t length;
    do {
        length = send(query->descriptor, header, header->nlmsg_len, 0);
    } while (length < 0 && errno == EINTR);
    return length < 0 ? -errno : 0;
}

/* True for a message that answers the request last sent: late answers to earlier ones are passed over. */
static bool cnl_query_owns(const cnl_query *query, const cnl_message *message) {
    return message->sequence == query->sequence && message->port == query->port && message->type != NLMSG_NOOP;
}

/* Reads one datagram. Returns its length, -EAGAIN when patience ran out, or another negative errno. */
static ssize_t cnl_query_read(cnl_query *query) {
    ssize_t length;
    do {
        /* With MSG_TRUNC the kernel returns the datagram's whole length, also when it did not fit. */
        length = recv(query->descriptor, query->buffer, sizeof(query->buffer), MSG_TRUNC);
    } while (length < 0 && errno == EINTR);
    if (length < 0) {
        return -errno;
    }
    return (size_t)length > sizeof(query->buffer) ? -EMSGSIZE : length;
}

/* Finds the answer in what was read. Returns 1 and the message, 0 when it is not there, or -EBADMSG. */
static int cnl_query_find(cnl_query *query, size_t length, cnl_message *answer) {
    size_t offset = 0;
    while (offset < length) {
        size_t step = cnl_message_first(query->buffer + offset, length - offset, answer);
        if (step == 0) {
            return -EBADMSG;
        }
        if (cnl_query_owns(query, answer)) {
            return 1;
        }
        offset += step;
    }
    return 0;
}

/* Asks the prepared question and waits for its one answer. */
static cnl_outcome cnl_query_ask(cnl_query *query, cnl_message *answer, cnl_fault *fault) {
    for (int attempt = 0; attempt < CNL_ATTEMPTS; attempt++) {
        int status = cnl_query_send(query);
        if (status < 0) {
            return cnl_fail(fault, -status);
        }
        for (int stale = 0; stale < CNL_STALE_DATAGRAMS; stale++) {
            ssize_t length = cnl_query_read(query);
            if (length == -EAGAIN) {
                break;
            }
            if (length < 0) {
                return cnl_fail(fault, (int)-length);
            }
            status = cnl_query_find(query, (size_t)length, answer);
            if (status < 0) {
                return cnl_fail(fault, -status);
            }
            if (status > 0) {
                return answer->type == NLMSG_ERROR ? cnl_refuse(fault, answer->bytes) : CNL_ANSWERED;
            }
        }
    }
    return cnl_fail(fault, ETIMEDOUT);
}

/* Reads an answer into a structure of its own. Returns 0 or a negative errno. */
typedef int (*cnl_reader)(const cnl_message *message, void *answer);

static int cnl_read_route(const cnl_message *message, void *answer) {
    return cnl_parse_route(message->bytes, message->length, answer);
}

static int cnl_read_link(const cnl_message *message, void *answer) {
    return cnl_parse_link(message->bytes, message->length, answer);
}

static int cnl_read_nexthop(const cnl_message *message, void *answer) {
    return cnl_parse_nexthop(message->bytes, message->length, answer);
}

/* Asks the prepared question and reads its answer. */
static cnl_outcome cnl_query_ask_for(cnl_query *query, cnl_reader read, void *answer, cnl_fault *fault) {
    cnl_message message;
    cnl_outcome outcome = cnl_query_ask(query, &message, fault);
    if (outcome != CNL_ANSWERED) {
        return outcome;
    }
    int status = read(&message, answer);
    return status == 0 ? CNL_ANSWERED : cnl_fail(fault, -status);
}

/* MARK: lookups */

static bool cnl_put_route_selectors(struct nl_msg *message, const cnl_route_request *request) {
    int size = (int)cnl_address_size(request->family);
    uint16_t source_port = __builtin_bswap16(request->source_port);
    uint16_t destination_port = __builtin_bswap16(request->destination_port);
    return nla_put(message, RTA_DST, size, request->destination) == 0 &&
           (!request->has_source || nla_put(message, RTA_SRC, size, request->source) == 0) &&
           (!request->output_interface || nla_put_u32(message, RTA_OIF, request->output_interface) == 0) &&
           (!request->input_interface || nla_put_u32(message, RTA_IIF, request->input_interface) == 0) &&
           (!request->has_mark || nla_put_u32(message, RTA_MARK, request->mark) == 0) &&
           (!request->has_uid || nla_put_u32(message, RTA_UID, request->uid) == 0) &&
           (!request->has_ip_protocol || nla_put_u8(message, RTA_IP_PROTO, request->ip_protocol) == 0) &&
           (!request->source_port || nla_put_u16(message, RTA_SPORT, source_port) == 0) &&
           (!request->destination_port || nla_put_u16(message, RTA_DPORT, destination_port) == 0);
}

cnl_outcome cnl_query_route(cnl_query *query, const cnl_route_request *request, cnl_route *answer,
                            cnl_fault *fault) {
    size_t size = cnl_address_size(request->family);
    if (size == 0) {
        cnl_fail(fault, EAFNOSUPPORT);
        return CNL_REFUSED;
    }
    struct rtmsg body = {
        .rtm_family = request->family,
        .rtm_dst_len = (uint8_t)(size * 8),
        .rtm_src_len = request->has_source ? (uint8_t)(size * 8) : 0,
        .rtm_tos = request->tos,
    };
    body.rtm_flags = request->asks_for_entry ? RTM_F_FIB_MATCH : 0;
    if (request->family == AF_INET) {
        /* Without it IPv4 always names the main table. IPv6 names the right one, and refuses the flag. */
        body.rtm_flags |= RTM_F_LOOKUP_TABLE;
    }
    if (!cnl_query_begin(query, RTM_GETROUTE, 0, &body, sizeof(body)) ||
        !cnl_put_route_selectors(query->request, request)) {
        return cnl_fail(fault, ENOMEM);
    }
    return cnl_query_ask_for(query, cnl_read_route, answer, fault);
}

cnl_outcome cnl_query_link(cnl_query *query, uint32_t index, const char *name, cnl_link *answer,
                           cnl_fault *fault) {
    struct ifinfomsg body = {.ifi_family = AF_UNSPEC, .ifi_index = (int)index};
    bool whole = cnl_query_begin(query, RTM_GETLINK, 0, &body, sizeof(body)) &&
                 nla_put_u32(query->request, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS) == 0;
    if (whole && index == 0) {
        const char *wanted = name ? name : "";
        int attribute = strlen(wanted) < IFNAMSIZ ? IFLA_IFNAME : IFLA_ALT_IFNAME;
        whole = nla_put_string(query->request, attribute, wanted) == 0;
    }
    if (!whole) {
        return cnl_fail(fault, ENAMETOOLONG);
    }
    return cnl_query_ask_for(query, cnl_read_link, answer, fault);
}

cnl_outcome cnl_query_nexthop(cnl_query *query, uint32_t id, cnl_nexthop *answer, cnl_fault *fault) {
    struct nhmsg body = {.nh_family = AF_UNSPEC};
    if (!cnl_query_begin(query, RTM_GETNEXTHOP, 0, &body, sizeof(body)) ||
        nla_put_u32(query->request, NHA_ID, id) != 0) {
        return cnl_fail(fault, ENOMEM);
    }
    return cnl_query_ask_for(query, cnl_read_nexthop, answer, fault);
}

/* MARK: dumps */

/* Each type of dump has a header of its own, which a strict kernel checks; 0 for a type that is not dumped. */
static size_t cnl_dump_header_size(uint16_t type) {
    switch (type) {
    case RTM_GETLINK:
        return sizeof(struct ifinfomsg);
    case RTM_GETADDR:
        return sizeof(struct ifaddrmsg);
    case RTM_GETROUTE:
        return sizeof(struct rtmsg);
    case RTM_GETRULE:
        return sizeof(struct fib_rule_hdr);
    case RTM_GETNEXTHOP:
        return sizeof(struct nhmsg);
    case RTM_GETNEIGH:
        return sizeof(struct ndmsg);
    case RTM_GETNETCONF:
        return sizeof(struct netconfmsg);
    default:
        return 0;
    }
}

static bool cnl_query_begin_dump(cnl_query *query, const cnl_dump_request *request) {
    union {
        uint8_t family; /* all of them begin with it */
        struct ifinfomsg link;
        struct ifaddrmsg address;
        struct rtmsg route;
        struct fib_rule_hdr rule;
        struct nhmsg nexthop;
        struct ndmsg neighbour;
        struct netconfmsg settings;
    } body;
    size_t size = cnl_dump_header_size(request->type);
    if (size == 0) {
        return false;
    }
    memset(&body, 0, sizeof(body));
    body.family = request->family;
    if (request->type == RTM_GETADDR) {
        body.address.ifa_index = request->interface_index;
    }
    if (!cnl_query_begin(query, request->type, NLM_F_DUMP, &body, size)) {
        return false;
    }
    if (request->type == RTM_GETLINK) {
        return nla_put_u32(query->request, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS) == 0;
    }
    bool filters_table = request->type == RTM_GETROUTE && request->table != 0 && query->is_strict;
    return !filters_table || nla_put_u32(query->request, RTA_TABLE, request->table) == 0;
}

static bool cnl_is_cached_exception(const cnl_message *message) {
    if (message->type != RTM_NEWROUTE || message->length < NLMSG_HDRLEN + sizeof(struct rtmsg)) {
        return false;
    }
    const struct rtmsg *body = nlmsg_data((const struct nlmsghdr *)message->bytes);
    return (body->rtm_flags & RTM_F_CLONED) != 0;
}

/* NLMSG_DONE carries the errno with which the dump ended, negative, or 0. */
static cnl_outcome cnl_dump_end(const cnl_message *message, cnl_fault *fault) {
    int status = 0;
    if (message->length >= NLMSG_HDRLEN + sizeof(status)) {
        memcpy(&status, (const char *)message->bytes + NLMSG_HDRLEN, sizeof(status));
    }
    if (status < 0) {
        cnl_fail(fault, -status);
        return CNL_REFUSED;
    }
    return CNL_ANSWERED;
}

/* Hands out the messages of one datagram. *ended tells that the dump is over, with the outcome returned. */
static cnl_outcome cnl_dump_datagram(cnl_query *query, size_t length, cnl_message_handler handler, void *context,
                                     cnl_dump_report *report, bool *ended, cnl_fault *fault) {
    cnl_message message;
    for (size_t offset = 0, step; offset < length; offset += step) {
        step = cnl_message_first(query->buffer + offset, length - offset, &message);
        if (step == 0) {
            *ended = true;
            return cnl_fail(fault, EBADMSG);
        }
        if (!cnl_query_owns(query, &message)) {
            continue;
        }
        report->is_interrupted |= (message.flags & NLM_F_DUMP_INTR) != 0;
        report->is_filtered |= (message.flags & NLM_F_DUMP_FILTERED) != 0;
        if (message.type == NLMSG_DONE || message.type == NLMSG_ERROR) {
            *ended = true;
            return message.type == NLMSG_DONE ? cnl_dump_end(&message, fault) : cnl_refuse(fault, message.bytes);
        }
        if (!cnl_is_cached_exception(&message)) {
            report->messages += 1;
            handler(&message, context);
        }
    }
    return CNL_ANSWERED;
}

cnl_outcome cnl_query_dump(cnl_query *query, const cnl_dump_request *request, cnl_message_handler handler,
                           void *context, cnl_dump_report *report, cnl_fault *fault) {
    memset(report, 0, sizeof(*report));
    if (!cnl_query_begin_dump(query, request)) {
        return cnl_fail(fault, EINVAL);
    }
    int status = cnl_query_send(query);
    if (status < 0) {
        return cnl_fail(fault, -status);
    }
    for (;;) {
        ssize_t length = cnl_query_read(query);
        if (length < 0) {
            return cnl_fail(fault, length == -EAGAIN ? ETIMEDOUT : (int)-length);
        }
        bool ended = false;
        cnl_outcome outcome =
            cnl_dump_datagram(query, (size_t)length, handler, context, report, &ended, fault);
        if (ended) {
            return outcome;
        }
    }
}
