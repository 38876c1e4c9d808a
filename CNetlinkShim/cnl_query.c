/* SPDX-License-Identifier: Apache-2.0 */

#include <endian.h>
#include <errno.h>
#include <linux/if.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "cnl_internal.h"

enum {
    CNL_ATTEMPTS = 3,          /* of one request; each waits for the socket's timeout */
    CNL_STALE_DATAGRAMS = 256, /* late answers to earlier requests that one attempt skips */
    CNL_NOTIFICATIONS = 256,   /* datagrams of notifications that one read notes */
    CNL_REQUEST_SIZE = 512,
    CNL_TIMEOUT_SECONDS = 1,
};

static bool cnl_query_set_up(cnl_query *query, cnl_fault *fault) {
    int status = nl_connect(query->socket, NETLINK_ROUTE);
    if (status < 0) {
        cnl_fail_libnl(fault, status);
        return false;
    }
    query->descriptor = nl_socket_get_fd(query->socket);
    query->port = nl_socket_get_local_port(query->socket);
    /* On a connected socket the kernel refuses datagrams from other processes (ECONNREFUSED for them), so the
     * sender of a reply needs no check. */
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    if (connect(query->descriptor, (struct sockaddr *)&kernel, sizeof(kernel)) != 0) {
        cnl_fail(fault, errno);
        return false;
    }
    int yes = 1;
    /* Old kernels lack these options. They check less and send no message with an error. */
    query->is_strict =
        setsockopt(query->descriptor, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &yes, sizeof(yes)) == 0;
    (void)setsockopt(query->descriptor, SOL_NETLINK, NETLINK_EXT_ACK, &yes, sizeof(yes));
    (void)setsockopt(query->descriptor, SOL_NETLINK, NETLINK_CAP_ACK, &yes, sizeof(yes));
    /* libnl shrinks the receive buffer to 64 KiB; dumps are faster with two datagrams queued. */
    (void)nl_socket_set_buffer_size(query->socket, 256 * 1024, 32 * 1024);
    struct timeval limit = {.tv_sec = CNL_TIMEOUT_SECONDS};
    if (setsockopt(query->descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0) {
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
    /* All but the buffers, whose pages are not needed yet. */
    memset(query, 0, offsetof(cnl_query, lookups));
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

bool cnl_query_begin(cnl_query *query, uint16_t type, uint16_t flags, const void *body, size_t size) {
    struct nlmsghdr *header = nlmsg_hdr(query->request);
    memset(header, 0, sizeof(*header));
    header->nlmsg_len = NLMSG_HDRLEN;
    header->nlmsg_type = type;
    header->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
    header->nlmsg_pid = query->port;
    return nlmsg_append(query->request, (void *)body, size, NLMSG_ALIGNTO) == 0;
}

/* Uses send(): nl_sendto() passes the kernel's address with each datagram although the socket is connected. */
int cnl_query_send(cnl_query *query) {
    struct nlmsghdr *header = nlmsg_hdr(query->request);
    header->nlmsg_seq = ++query->sequence;
    ssize_t length;
    do {
        length = send(query->descriptor, header, header->nlmsg_len, 0);
    } while (length < 0 && errno == EINTR);
    return length < 0 ? -errno : 0;
}

bool cnl_query_owns(const cnl_query *query, uint32_t sequence, const cnl_message *message) {
    return message->sequence == sequence && message->port == query->port && message->type != NLMSG_NOOP;
}

bool cnl_query_follow(cnl_query *query, uint32_t group) {
    return nl_socket_add_membership(query->socket, (int)group) == 0;
}

static void cnl_query_note_link(cnl_query_changes *changes, int index) {
    for (unsigned i = 0; i < changes->link_count; i++) {
        if (changes->links[i] == (uint32_t)index) {
            return;
        }
    }
    if (changes->link_count == CNL_COUNT(changes->links)) {
        changes->is_incomplete = true;
        return;
    }
    changes->links[changes->link_count++] = (uint32_t)index;
}

/* Notes the notifications of a datagram. One that cannot be read counts as a lost one. */
static void cnl_query_note(cnl_query *query, size_t length) {
    cnl_query_changes *changes = &query->changes;
    query->has_changes = true;
    cnl_message message;
    for (size_t offset = 0, step; offset < length; offset += step) {
        step = cnl_message_first(query->buffer + offset, length - offset, &message);
        if (step == 0) {
            changes->is_incomplete = true;
            return;
        }
        if (message.type == RTM_NEWRULE || message.type == RTM_DELRULE) {
            changes->rules = true;
        } else if (message.length >= NLMSG_HDRLEN + sizeof(struct ifinfomsg) &&
                   (message.type == RTM_NEWLINK || message.type == RTM_DELLINK)) {
            const struct ifinfomsg *link = nlmsg_data((const struct nlmsghdr *)message.bytes);
            cnl_query_note_link(changes, link->ifi_index);
        }
    }
}

/* Notes that anything may have changed. */
static void cnl_query_note_loss(cnl_query *query) {
    query->has_changes = true;
    query->changes.is_incomplete = true;
}

ssize_t cnl_query_read(cnl_query *query, int flags) {
    for (int notifications = 0; notifications < CNL_NOTIFICATIONS; notifications++) {
        struct sockaddr_nl sender;
        socklen_t size = sizeof(sender);
        ssize_t length;
        do {
            length = recvfrom(query->descriptor, query->buffer, sizeof(query->buffer), MSG_TRUNC | flags,
                              (struct sockaddr *)&sender, &size);
        } while (length < 0 && errno == EINTR);
        if (length < 0) {
            if (errno == ENOBUFS) {
                cnl_query_note_loss(query);
            }
            return -errno;
        }
        bool is_whole = (size_t)length <= sizeof(query->buffer);
        /* The kernel's answers come to this socket alone. */
        if (size == sizeof(sender) && sender.nl_pid == 0 && sender.nl_groups == 0) {
            return is_whole ? length : -EMSGSIZE;
        }
        cnl_query_note(query, is_whole ? (size_t)length : sizeof(query->buffer));
    }
    /* They can arrive as fast as they are read. What is still queued counts as lost. */
    cnl_query_note_loss(query);
    return -ENOBUFS;
}

int cnl_query_catch_up(cnl_query *query) {
    /* After an overrun the kernel sends nothing until the queue is empty, so one overrun does not end it. */
    int overruns = 0;
    for (int stale = 0; stale < CNL_STALE_DATAGRAMS && overruns < 2; stale++) {
        ssize_t length = cnl_query_read(query, MSG_DONTWAIT);
        if (length == -EAGAIN) {
            return 0;
        }
        if (length == -ENOBUFS) {
            overruns++;
        } else if (length < 0) {
            return (int)length;
        }
    }
    cnl_query_note_loss(query);
    return 0;
}

bool cnl_query_has_changes(const cnl_query *query) {
    return query->has_changes;
}

bool cnl_query_take_changes(cnl_query *query, cnl_query_changes *changes) {
    if (!query->has_changes) {
        return false;
    }
    *changes = query->changes;
    query->has_changes = false;
    memset(&query->changes, 0, sizeof(query->changes));
    return true;
}

/* Finds the answer to a request in a datagram. Returns 1 with the message, 0 without, or -EBADMSG. */
static int cnl_query_find(cnl_query *query, uint32_t sequence, size_t length, cnl_message *answer) {
    size_t offset = 0;
    while (offset < length) {
        size_t step = cnl_message_first(query->buffer + offset, length - offset, answer);
        if (step == 0) {
            return -EBADMSG;
        }
        if (cnl_query_owns(query, sequence, answer)) {
            return 1;
        }
        offset += step;
    }
    return 0;
}

/* Sends the request and waits for its one answer. */
static cnl_outcome cnl_query_ask(cnl_query *query, cnl_message *answer, cnl_fault *fault) {
    for (int attempt = 0; attempt < CNL_ATTEMPTS; attempt++) {
        int status = cnl_query_send(query);
        if (status < 0) {
            return cnl_fail(fault, -status);
        }
        int flags = 0;
        for (int stale = 0; stale < CNL_STALE_DATAGRAMS; stale++) {
            ssize_t length = cnl_query_read(query, flags);
            if (length == -EAGAIN) {
                break;
            }
            if (length == -ENOBUFS) {
                /* Notifications filled the buffer, and the answer may be lost with them. It came at once or not at
                 * all, and the kernel sends another one only when the buffer is empty. */
                flags = MSG_DONTWAIT;
                continue;
            }
            if (length < 0) {
                return cnl_fail(fault, (int)-length);
            }
            status = cnl_query_find(query, query->sequence, (size_t)length, answer);
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

/* Parses an answer. Returns 0 or a negative errno. */
typedef int (*cnl_reader)(const cnl_message *message, void *answer);

static int cnl_read_link(const cnl_message *message, void *answer) {
    return cnl_parse_link(message->bytes, message->length, answer);
}

static int cnl_read_nexthop_object(const cnl_message *message, void *answer) {
    return cnl_parse_nexthop_object(message->bytes, message->length, answer);
}

/* Sends the request and parses its answer. */
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
    uint16_t source_port = htons(request->source_port);
    uint16_t destination_port = htons(request->destination_port);
    return nla_put(message, RTA_DST, size, request->destination) == 0 &&
           (!request->has_source || nla_put(message, RTA_SRC, size, request->source) == 0) &&
           (!request->output_interface || nla_put_u32(message, RTA_OIF, request->output_interface) == 0) &&
           (!request->mark || nla_put_u32(message, RTA_MARK, request->mark) == 0) &&
           (!request->has_uid || nla_put_u32(message, RTA_UID, request->uid) == 0) &&
           (!request->ip_protocol || nla_put_u8(message, RTA_IP_PROTO, request->ip_protocol) == 0) &&
           (!request->source_port || nla_put_u16(message, RTA_SPORT, source_port) == 0) &&
           (!request->destination_port || nla_put_u16(message, RTA_DPORT, destination_port) == 0);
}

/* Builds a lookup with exactly the protocol and ports of the request. Returns false when it does not fit. */
static bool cnl_query_build_lookup(cnl_query *query, const cnl_route_request *request) {
    uint8_t bits = (uint8_t)(cnl_address_size(request->family) * 8);
    struct rtmsg body = {
        .rtm_family = request->family,
        .rtm_dst_len = bits,
        .rtm_src_len = request->has_source ? bits : 0,
        .rtm_tos = request->tos,
    };
    body.rtm_flags = request->wants_entry ? RTM_F_FIB_MATCH : 0;
    if (request->family == AF_INET) {
        /* Without the flag IPv4 always names the main table. IPv6 names the right one and refuses the flag. */
        body.rtm_flags |= RTM_F_LOOKUP_TABLE;
    }
    return cnl_query_begin(query, RTM_GETROUTE, 0, &body, sizeof(body)) &&
           cnl_put_route_selectors(query->request, request);
}

/* Until the first rule is added local and main share one tree, and IPv4 names main for both. The kernel adds its
 * own local and broadcast entries to local or to a VRF's table, never to main. */
static void cnl_correct_table(cnl_route *answer) {
    if (answer->table == RT_TABLE_MAIN && answer->protocol == RTPROT_KERNEL &&
        (answer->type == RTN_LOCAL || answer->type == RTN_BROADCAST)) {
        answer->table = RT_TABLE_LOCAL;
    }
}

/* Lookups of one datagram; the masks have a bit for each. */
typedef struct cnl_batch {
    const cnl_route_request *requests;
    size_t count, offset;      /* lookups, and the index of the first one among those of the caller */
    uint32_t first;            /* the sequence number of the first lookup when it was last sent */
    uint64_t unanswered;
    uint64_t awaited;          /* those that were sent and whose answer has not come */
    uint64_t without_protocol; /* those whose protocol the kernel cannot look up although the caller gave none */
    cnl_route_handler handler;
    void *context;
} cnl_batch;

static bool cnl_has_flow(const cnl_route_request *request) {
    return request->ip_protocol || request->source_port || request->destination_port;
}

/* Sends the lookups that have no answer, under new sequence numbers. Returns 0 or a negative errno. */
static int cnl_batch_send(cnl_query *query, cnl_batch *batch) {
    size_t size = 0;
    batch->first = query->sequence + 1;
    query->sequence += (uint32_t)batch->count;
    for (size_t i = 0; i < batch->count; i++) {
        if (!(batch->unanswered >> i & 1)) {
            continue;
        }
        cnl_route_request packet = batch->requests[i];
        if (packet.family == AF_INET6 && !packet.ip_protocol && !(batch->without_protocol >> i & 1)) {
            /* IPv6 takes a lookup without a protocol for protocol 0, IPv4 for UDP. */
            packet.ip_protocol = IPPROTO_UDP;
        }
        struct nlmsghdr *header = nlmsg_hdr(query->request);
        if (!cnl_query_build_lookup(query, &packet) || header->nlmsg_len > CNL_LOOKUP_SIZE) {
            return -EMSGSIZE;
        }
        header->nlmsg_seq = batch->first + (uint32_t)i;
        memcpy(query->lookups + size, header, header->nlmsg_len);
        size += NLMSG_ALIGN(header->nlmsg_len);
    }
    batch->awaited = batch->unanswered;
    ssize_t length;
    do {
        length = send(query->descriptor, query->lookups, size, 0);
    } while (length < 0 && errno == EINTR);
    return length < 0 ? -errno : 0;
}

/* Hands out the answer to a lookup. Returns 0 or a negative errno. */
static int cnl_batch_take(cnl_batch *batch, size_t index, const cnl_message *answer) {
    const cnl_route_request *request = &batch->requests[index];
    uint64_t bit = (uint64_t)1 << index;
    batch->awaited &= ~bit;
    if (answer->type == NLMSG_ERROR) {
        cnl_fault fault;
        if (cnl_refuse(&fault, answer->bytes) != CNL_REFUSED) {
            return -fault.number;
        }
        if (fault.number == EOPNOTSUPP && request->family == AF_INET6 && !cnl_has_flow(request) &&
            !(batch->without_protocol & bit)) {
            batch->without_protocol |= bit;
            return 0;
        }
        batch->unanswered &= ~bit;
        batch->handler(batch->offset + index, NULL, &fault, batch->context);
        return 0;
    }
    cnl_route route;
    int status = cnl_parse_route(answer->bytes, answer->length, &route);
    if (status < 0) {
        return status;
    }
    cnl_correct_table(&route);
    batch->unanswered &= ~bit;
    batch->handler(batch->offset + index, &route, NULL, batch->context);
    return 0;
}

/* Takes the answers in a datagram. Returns how many there are, or a negative errno. */
static int cnl_batch_read(cnl_query *query, cnl_batch *batch, size_t length) {
    int taken = 0;
    cnl_message message;
    for (size_t place = 0, step; place < length; place += step) {
        step = cnl_message_first(query->buffer + place, length - place, &message);
        if (step == 0) {
            return -EBADMSG;
        }
        uint32_t index = message.sequence - batch->first;
        /* Late answers to what was sent before have other sequence numbers. */
        if (index >= batch->count || !(batch->awaited >> index & 1) ||
            !cnl_query_owns(query, message.sequence, &message)) {
            continue;
        }
        int status = cnl_batch_take(batch, index, &message);
        if (status < 0) {
            return status;
        }
        taken++;
    }
    return taken;
}

/* Waits for the answers that are awaited, until the time runs out or answers are lost. Returns 0 or a negative errno. */
static int cnl_batch_receive(cnl_query *query, cnl_batch *batch) {
    int flags = 0;
    for (int stale = 0; batch->awaited && stale < CNL_STALE_DATAGRAMS;) {
        ssize_t length = cnl_query_read(query, flags);
        if (length == -EAGAIN) {
            return 0;
        }
        int taken = 0;
        if (length == -ENOBUFS) {
            /* Notifications filled the buffer, and answers may be lost with them. They came at once or not at all, and
             * the kernel sends others only when the buffer is empty. */
            flags = MSG_DONTWAIT;
        } else {
            taken = length < 0 ? (int)length : cnl_batch_read(query, batch, (size_t)length);
        }
        if (taken < 0) {
            return taken;
        }
        stale += taken == 0;
    }
    return 0;
}

static cnl_outcome cnl_query_batch(cnl_query *query, cnl_batch *batch, cnl_fault *fault) {
    batch->unanswered = batch->count == CNL_LOOKUPS ? UINT64_MAX : ((uint64_t)1 << batch->count) - 1;
    for (int attempt = 0; batch->unanswered && attempt < CNL_ATTEMPTS; attempt++) {
        int status = cnl_batch_send(query, batch);
        if (status == 0) {
            status = cnl_batch_receive(query, batch);
        }
        if (status < 0) {
            return cnl_fail(fault, -status);
        }
    }
    return batch->unanswered ? cnl_fail(fault, ETIMEDOUT) : CNL_ANSWERED;
}

/* Notes the errno of a refusal; 0 for an answer. */
static void cnl_note_refusal(size_t index, const cnl_route *route, const cnl_fault *refusal, void *context) {
    (void)index;
    (void)route;
    *(int *)context = refusal ? refusal->number : 0;
}

/* Fails unless the kernel evaluates RTA_IP_PROTO and the ports, which it ignores before Linux 4.17. One that knows
 * them refuses a protocol that it cannot look up, and a strict kernel is newer. */
static cnl_outcome cnl_query_check_flow(cnl_query *query, cnl_fault *fault) {
    static const char text[] = "this kernel ignores the protocol and the ports of a lookup: Linux 4.17 is needed";
    if (query->is_strict || query->knows_flows) {
        return CNL_ANSWERED;
    }
    const cnl_route_request probe = {.family = AF_INET, .ip_protocol = IPPROTO_RAW, .destination = {127, 0, 0, 1}};
    int refusal = 0;
    cnl_batch batch = {.requests = &probe, .count = 1, .handler = cnl_note_refusal, .context = &refusal};
    cnl_outcome outcome = cnl_query_batch(query, &batch, fault);
    if (outcome != CNL_ANSWERED) {
        return outcome;
    }
    query->knows_flows = refusal == EOPNOTSUPP;
    if (query->knows_flows) {
        return CNL_ANSWERED;
    }
    cnl_fail(fault, EOPNOTSUPP);
    memcpy(fault->text, text, sizeof(text));
    return CNL_FAILED;
}

cnl_outcome cnl_query_routes(cnl_query *query, const cnl_route_request *requests, size_t count,
                             cnl_route_handler handler, void *context, cnl_fault *fault) {
    for (size_t i = 0; i < count; i++) {
        if (cnl_address_size(requests[i].family) == 0) {
            return cnl_fail(fault, EAFNOSUPPORT);
        }
        if (cnl_has_flow(&requests[i]) && cnl_query_check_flow(query, fault) != CNL_ANSWERED) {
            return CNL_FAILED;
        }
    }
    for (size_t offset = 0; offset < count; offset += CNL_LOOKUPS) {
        size_t rest = count - offset;
        cnl_batch batch = {.requests = requests + offset,
                           .count = rest < CNL_LOOKUPS ? rest : CNL_LOOKUPS,
                           .offset = offset,
                           .handler = handler,
                           .context = context};
        cnl_outcome outcome = cnl_query_batch(query, &batch, fault);
        if (outcome != CNL_ANSWERED) {
            return outcome;
        }
    }
    return CNL_ANSWERED;
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

cnl_outcome cnl_query_nexthop_object(cnl_query *query, uint32_t id, cnl_nexthop_object *answer,
                                     cnl_fault *fault) {
    struct nhmsg body = {.nh_family = AF_UNSPEC};
    if (!cnl_query_begin(query, RTM_GETNEXTHOP, 0, &body, sizeof(body)) ||
        nla_put_u32(query->request, NHA_ID, id) != 0) {
        return cnl_fail(fault, ENOMEM);
    }
    return cnl_query_ask_for(query, cnl_read_nexthop_object, answer, fault);
}
