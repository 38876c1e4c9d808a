/* SPDX-License-Identifier: Apache-2.0 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

#include "cnl_internal.h"

static bool cnl_put_selectors(struct nl_msg *message, const cnl_route_request *request) {
    int size = (int)cnl_address_size(request->family);
    uint16_t source_port = htons(request->source_port);
    uint16_t destination_port = htons(request->destination_port);
    return nla_put(message, RTA_DST, size, request->destination) == 0 &&
           (!request->has_source || nla_put(message, RTA_SRC, size, request->source) == 0) &&
           (!request->output_interface || nla_put_u32(message, RTA_OIF, request->output_interface) == 0) &&
           (!request->input_interface || nla_put_u32(message, RTA_IIF, request->input_interface) == 0) &&
           (!request->mark || nla_put_u32(message, RTA_MARK, request->mark) == 0) &&
           (!request->has_uid || nla_put_u32(message, RTA_UID, request->uid) == 0) &&
           (!request->ip_protocol || nla_put_u8(message, RTA_IP_PROTO, request->ip_protocol) == 0) &&
           (!request->source_port || nla_put_u16(message, RTA_SPORT, source_port) == 0) &&
           (!request->destination_port || nla_put_u16(message, RTA_DPORT, destination_port) == 0);
}

/* The lookups of one datagram. */
typedef struct cnl_batch {
    cnl_exchange exchange;
    const cnl_route_request *requests;
    size_t offset;             /* the caller's index of the first lookup */
    uint64_t without_protocol; /* the lookups to send without a protocol, because the kernel refuses the default, UDP */
    cnl_route_handler handler;
    void *context;
} cnl_batch;

static bool cnl_batch_build(cnl_query *query, const cnl_exchange *exchange, unsigned index) {
    const cnl_batch *batch = (const cnl_batch *)exchange;
    cnl_route_request request = batch->requests[index];
    if (request.family == AF_INET6 && !request.ip_protocol && !(batch->without_protocol >> index & 1)) {
        /* Without a protocol, IPv6 looks up protocol 0, and IPv4 looks up UDP. */
        request.ip_protocol = IPPROTO_UDP;
    }
    uint8_t bits = (uint8_t)(cnl_address_size(request.family) * 8);
    struct rtmsg body = {
        .rtm_family = request.family,
        .rtm_dst_len = bits,
        .rtm_src_len = request.has_source ? bits : 0,
        .rtm_tos = request.tos,
    };
    body.rtm_flags = request.wants_entry ? RTM_F_FIB_MATCH : 0;
    if (request.family == AF_INET) {
        /* Without the flag, IPv4 always reports the main table. IPv6 reports the right table and refuses the flag. */
        body.rtm_flags |= RTM_F_LOOKUP_TABLE;
    }
    cnl_query_begin(query, RTM_GETROUTE, 0, &body, sizeof(body));
    return !query->is_too_long && cnl_put_selectors(query->request, &request);
}

/* Until the first rule is added, the local and main tables share one tree, and IPv4 reports main for both. The kernel
 * adds its own local and broadcast entries to local or to a VRF's table, never to main. */
static void cnl_correct_table(cnl_route *answer) {
    if (answer->table == RT_TABLE_MAIN && answer->protocol == RTPROT_KERNEL &&
        (answer->type == RTN_LOCAL || answer->type == RTN_BROADCAST)) {
        answer->table = RT_TABLE_LOCAL;
    }
}

static bool cnl_has_flow(const cnl_route_request *request) {
    return request->ip_protocol || request->source_port || request->destination_port;
}

/* Calls the handler with the answer to a lookup. */
static int cnl_batch_take(cnl_exchange *exchange, unsigned index, const struct nlmsghdr *message) {
    cnl_batch *batch = (cnl_batch *)exchange;
    uint64_t bit = (uint64_t)1 << index;
    cnl_error refusal;
    cnl_route route;
    bool is_refused = message->nlmsg_type == NLMSG_ERROR;
    if (is_refused) {
        /* The kernel does not acknowledge a lookup. */
        if (!cnl_read_status(message, &refusal) || refusal.number == 0) {
            return -EBADMSG;
        }
    } else {
        int status = cnl_parse_route(message, message->nlmsg_len, &route);
        if (status < 0) {
            return status;
        }
        cnl_correct_table(&route);
    }
    exchange->awaited &= ~bit;
    const cnl_route_request *request = &batch->requests[index];
    if (is_refused && refusal.number == EOPNOTSUPP && request->family == AF_INET6 && !cnl_has_flow(request) &&
        !(batch->without_protocol & bit)) {
        /* The lookup is sent again. */
        batch->without_protocol |= bit;
        return 0;
    }
    exchange->unanswered &= ~bit;
    batch->handler(batch->offset + index, is_refused ? NULL : &route, is_refused ? &refusal : NULL, batch->context);
    return 0;
}

/* Sends lookups with one datagram. */
static bool cnl_query_batch(cnl_query *query, cnl_batch batch, size_t count, cnl_error *error) {
    batch.exchange = (cnl_exchange){
        .unanswered = UINT64_MAX >> (CNL_REQUESTS - count),
        .build = cnl_batch_build,
        .take = cnl_batch_take,
    };
    return cnl_exchange_run(query, &batch.exchange, error);
}

/* Stores the errno of a refusal; 0 for an answer. */
static void cnl_note_refusal(size_t index, const cnl_route *route, const cnl_error *refusal, void *context) {
    (void)index;
    (void)route;
    *(int *)context = refusal ? refusal->number : 0;
}

/* Fails unless the kernel evaluates RTA_IP_PROTO and the ports, which it ignores before Linux 4.17. A newer kernel
 * refuses a protocol that it cannot look up. A strict kernel is always newer. */
static bool cnl_query_check_flow(cnl_query *query, cnl_error *error) {
    static const char text[] = "this kernel ignores the protocol and the ports of a lookup: Linux 4.17 is needed";
    if (query->transport.is_strict || query->knows_flows) {
        return true;
    }
    const cnl_route_request probe = {.family = AF_INET, .ip_protocol = IPPROTO_RAW, .destination = {127, 0, 0, 1}};
    int refusal = 0;
    cnl_batch batch = {.requests = &probe, .handler = cnl_note_refusal, .context = &refusal};
    if (!cnl_query_batch(query, batch, 1, error)) {
        return false;
    }
    query->knows_flows = refusal == EOPNOTSUPP;
    if (!query->knows_flows) {
        cnl_fail(error, EOPNOTSUPP);
        memcpy(error->text, text, sizeof(text));
    }
    return query->knows_flows;
}

bool cnl_query_routes(cnl_query *query, const cnl_route_request *requests, size_t count, cnl_route_handler handler,
                      void *context, cnl_error *error) {
    for (size_t i = 0; i < count; i++) {
        if (cnl_address_size(requests[i].family) == 0) {
            return cnl_fail(error, EAFNOSUPPORT);
        }
        if (cnl_has_flow(&requests[i]) && !cnl_query_check_flow(query, error)) {
            return false;
        }
    }
    for (size_t offset = 0; offset < count; offset += CNL_REQUESTS) {
        size_t rest = count - offset;
        cnl_batch batch = {.requests = requests + offset, .offset = offset, .handler = handler, .context = context};
        if (!cnl_query_batch(query, batch, rest < CNL_REQUESTS ? rest : CNL_REQUESTS, error)) {
            return false;
        }
    }
    return true;
}
