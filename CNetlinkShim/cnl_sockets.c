/* SPDX-License-Identifier: Apache-2.0 */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>

#include "cnl_internal.h"

/* The states of sockets that have two ends and can still send. */
#define CNL_CONNECTED                                                                                             \
    (1U << TCP_ESTABLISHED | 1U << TCP_SYN_SENT | 1U << TCP_FIN_WAIT1 | 1U << TCP_FIN_WAIT2 | 1U << TCP_CLOSE_WAIT | \
     1U << TCP_LAST_ACK | 1U << TCP_CLOSING)

int cnl_parse_socket(const void *bytes, size_t length, cnl_socket *answer) {
    struct nlattr *table[INET_DIAG_MARK + 1];
    const struct nlmsghdr *header = bytes;
    if (length < NLMSG_HDRLEN || cnl_parse_attributes(bytes, length, sizeof(struct inet_diag_msg), table,
                                                      INET_DIAG_MARK, NULL) != 0) {
        return -EBADMSG;
    }
    const struct inet_diag_msg *body = nlmsg_data(header);
    if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY || cnl_address_size(body->idiag_family) == 0) {
        return -ENOMSG;
    }
    memset(answer, 0, sizeof(*answer));
    answer->family = body->idiag_family;
    answer->state = body->idiag_state;
    answer->local_port = ntohs(body->id.idiag_sport);
    answer->remote_port = ntohs(body->id.idiag_dport);
    answer->bound_interface = body->id.idiag_if;
    answer->uid = body->idiag_uid;
    answer->inode = body->idiag_inode;
    answer->cookie = (uint64_t)body->id.idiag_cookie[1] << 32 | body->id.idiag_cookie[0];
    memcpy(answer->local, body->id.idiag_src, cnl_address_size(body->idiag_family));
    memcpy(answer->remote, body->id.idiag_dst, cnl_address_size(body->idiag_family));
    const cnl_number numbers[] = {
        {INET_DIAG_TOS, &answer->tos, sizeof(answer->tos), NULL},
        {INET_DIAG_TCLASS, &answer->traffic_class, sizeof(answer->traffic_class), NULL},
        {INET_DIAG_MARK, &answer->mark, sizeof(answer->mark), NULL},
    };
    return cnl_copy_numbers(table, numbers, sizeof(numbers) / sizeof(numbers[0])) ? 0 : -EBADMSG;
}

typedef struct cnl_socket_listing {
    cnl_socket_handler handler;
    void *context;
    bool is_malformed;
} cnl_socket_listing;

static void cnl_take_socket(const cnl_message *message, void *context) {
    cnl_socket_listing *listing = context;
    cnl_socket socket;
    int status = cnl_parse_socket(message->bytes, message->length, &socket);
    if (status == 0) {
        listing->handler(&socket, listing->context);
    }
    listing->is_malformed |= status == -EBADMSG;
}

cnl_outcome cnl_sockets_list(uint8_t family, uint8_t protocol, cnl_socket_handler handler, void *context,
                             cnl_fault *fault) {
    struct inet_diag_req_v2 body = {
        .sdiag_family = family,
        .sdiag_protocol = protocol,
        .idiag_ext = 1U << (INET_DIAG_TOS - 1) | 1U << (INET_DIAG_TCLASS - 1),
        .idiag_states = CNL_CONNECTED,
        .id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE},
    };
    cnl_channel *channel = cnl_channel_open(NETLINK_SOCK_DIAG, fault);
    if (!channel) {
        return CNL_FAILED;
    }
    cnl_socket_listing listing = {.handler = handler, .context = context};
    struct nl_msg *message = nlmsg_alloc_simple(SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP);
    cnl_outcome outcome;
    if (!message || nlmsg_append(message, &body, sizeof(body), NLMSG_ALIGNTO) != 0) {
        outcome = cnl_fail(fault, ENOMEM);
    } else {
        outcome = cnl_channel_ask(channel, message, cnl_take_socket, &listing, fault);
    }
    nlmsg_free(message);
    cnl_channel_close(channel);
    return outcome == CNL_ANSWERED && listing.is_malformed ? cnl_fail(fault, EBADMSG) : outcome;
}
