/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include "cnl_internal.h"

/* The size of the fixed part that a strict kernel expects for a type of dump; 0 for a type without dumps. */
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
        uint8_t family; /* the first field of each */
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
    return request->type != RTM_GETLINK ||
           nla_put_u32(query->request, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS) == 0;
}

/* The handler of a dump of routes, which leaves cached exceptions out. */
typedef struct cnl_entries {
    cnl_message_handler handler;
    void *context;
} cnl_entries;

static bool cnl_is_cached_exception(const cnl_message *message) {
    if (message->length < NLMSG_HDRLEN + sizeof(struct rtmsg)) {
        return false;
    }
    const struct rtmsg *body = nlmsg_data((const struct nlmsghdr *)message->bytes);
    return (body->rtm_flags & RTM_F_CLONED) != 0;
}

static void cnl_take_entry(const cnl_message *message, void *context) {
    const cnl_entries *entries = context;
    if (!cnl_is_cached_exception(message)) {
        entries->handler(message, entries->context);
    }
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

cnl_outcome cnl_dump_read(cnl_dump *dump, const void *bytes, size_t length, cnl_fault *fault) {
    cnl_message message;
    for (size_t offset = 0, step; offset < length; offset += step) {
        step = cnl_message_first((const char *)bytes + offset, length - offset, &message);
        if (step == 0) {
            dump->ended = true;
            return cnl_fail(fault, EBADMSG);
        }
        if (message.sequence != dump->sequence || message.port != dump->port || message.type == NLMSG_NOOP) {
            continue;
        }
        dump->interrupted |= (message.flags & NLM_F_DUMP_INTR) != 0;
        if (message.type == NLMSG_DONE) {
            dump->ended = true;
            return cnl_dump_end(&message, fault);
        }
        if (message.type == NLMSG_ERROR) {
            dump->ended = true;
            cnl_outcome outcome = cnl_refuse(fault, message.bytes);
            return outcome == CNL_REFUSED && fault->number == 0 ? CNL_ANSWERED : outcome;
        }
        dump->handler(&message, dump->context);
    }
    return CNL_ANSWERED;
}

cnl_outcome cnl_query_dump(cnl_query *query, const cnl_dump_request *request, cnl_message_handler handler,
                           void *context, bool *interrupted, cnl_fault *fault) {
    *interrupted = false;
    if (!cnl_query_begin_dump(query, request)) {
        return cnl_fail(fault, EINVAL);
    }
    int status = cnl_query_send(query);
    if (status < 0) {
        return cnl_fail(fault, -status);
    }
    cnl_outcome outcome = CNL_ANSWERED;
    cnl_entries entries = {.handler = handler, .context = context};
    bool has_exceptions = request->type == RTM_GETROUTE;
    cnl_dump dump = {
        .sequence = query->sequence,
        .port = query->port,
        .handler = has_exceptions ? cnl_take_entry : handler,
        .context = has_exceptions ? &entries : context,
    };
    while (!dump.ended) {
        ssize_t length = cnl_query_read(query, 0);
        if (length == -ENOBUFS) {
            /* Notifications were lost, but the kernel goes on with a dump where there was no room. */
            continue;
        }
        if (length < 0) {
            return cnl_fail(fault, length == -EAGAIN ? ETIMEDOUT : (int)-length);
        }
        outcome = cnl_dump_read(&dump, query->buffer, (size_t)length, fault);
    }
    *interrupted = dump.interrupted;
    return outcome;
}
