/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/nl80211.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "cnl_internal.h"

/* A generic netlink socket. libnl's helpers for it are in libnl-genl-3, another package; the messages used here
 * need libnl's core only. */
typedef struct cnl_generic {
    struct nl_sock *socket;
    uint32_t sequence;
    char buffer[CNL_READ_SIZE] __attribute__((aligned(8)));
} cnl_generic;

enum {
    CNL_FOREIGN_DATAGRAMS = 256, /* datagrams of other processes that one request skips */
    CNL_DUMPS = 3,               /* attempts of a dump that is interrupted */
};

/* A request, and what takes its answers. */
typedef struct cnl_generic_request {
    uint16_t type;
    uint16_t flags; /* NLM_F_DUMP or NLM_F_ACK: something has to end the answers */
    uint8_t command;
    int attribute;
    const void *_Nullable value;
    int size;
    cnl_message_handler handler;
    void *context;
} cnl_generic_request;

static cnl_outcome cnl_generic_send(cnl_generic *generic, const cnl_generic_request *request, cnl_fault *fault) {
    struct nl_msg *message = nlmsg_alloc_size(256);
    if (!message) {
        return cnl_fail(fault, ENOMEM);
    }
    struct genlmsghdr body = {.cmd = request->command, .version = 1};
    struct nlmsghdr *header = nlmsg_hdr(message);
    header->nlmsg_type = request->type;
    header->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | request->flags);
    header->nlmsg_seq = ++generic->sequence;
    header->nlmsg_pid = nl_socket_get_local_port(generic->socket);
    cnl_outcome outcome = CNL_ANSWERED;
    if (nlmsg_append(message, &body, sizeof(body), NLMSG_ALIGNTO) != 0 ||
        (request->value && nla_put(message, request->attribute, request->size, request->value) != 0)) {
        outcome = cnl_fail(fault, ENOMEM);
    } else {
        errno = 0;
        int status = nl_sendto(generic->socket, header, header->nlmsg_len);
        if (status < 0) {
            outcome = cnl_fail_libnl(fault, status);
        }
    }
    nlmsg_free(message);
    return outcome;
}

/* Reads the answers to the last request up to its end. */
static cnl_outcome cnl_generic_receive(cnl_generic *generic, cnl_dump *dump, cnl_fault *fault) {
    cnl_outcome outcome = CNL_ANSWERED;
    int foreign = 0;
    while (!dump->ended) {
        ssize_t length =
            cnl_receive(nl_socket_get_fd(generic->socket), generic->buffer, sizeof(generic->buffer));
        if (length == CNL_UNTRUSTED && ++foreign < CNL_FOREIGN_DATAGRAMS) {
            continue;
        }
        if (length < 0) {
            bool is_late = length == -EAGAIN || length == CNL_UNTRUSTED;
            return cnl_fail(fault, is_late ? ETIMEDOUT : (int)-length);
        }
        outcome = cnl_dump_read(dump, generic->buffer, (size_t)length, fault);
    }
    return outcome;
}

/* Sends a request and reads its answers, again if they were interrupted. */
static cnl_outcome cnl_generic_ask(cnl_generic *generic, const cnl_generic_request *request, cnl_fault *fault) {
    for (int attempt = 0; attempt < CNL_DUMPS; attempt++) {
        cnl_outcome outcome = cnl_generic_send(generic, request, fault);
        if (outcome != CNL_ANSWERED) {
            return outcome;
        }
        cnl_dump dump = {
            .sequence = generic->sequence,
            .port = nl_socket_get_local_port(generic->socket),
            .handler = request->handler,
            .context = request->context,
        };
        outcome = cnl_generic_receive(generic, &dump, fault);
        if (outcome != CNL_ANSWERED || !dump.interrupted) {
            return outcome;
        }
    }
    return cnl_fail(fault, EAGAIN);
}

/* Leaves the family 0 if the answer has none. */
static void cnl_take_family(const cnl_message *message, void *context) {
    struct nlattr *table[CTRL_ATTR_MAX + 1];
    if (cnl_parse_attributes(message->bytes, message->length, sizeof(struct genlmsghdr), table, CTRL_ATTR_MAX,
                            NULL) == 0 &&
        table[CTRL_ATTR_FAMILY_ID]) {
        (void)cnl_copy(table[CTRL_ATTR_FAMILY_ID], context, sizeof(uint16_t));
    }
}

int cnl_parse_wireless(const void *bytes, size_t length, uint32_t *interface_index) {
    struct nlattr *table[NL80211_ATTR_IFINDEX + 1];
    if (cnl_parse_attributes(bytes, length, sizeof(struct genlmsghdr), table, NL80211_ATTR_IFINDEX, NULL) != 0) {
        return -EBADMSG;
    }
    if (!table[NL80211_ATTR_IFINDEX]) {
        return -ENOMSG; /* a P2P device */
    }
    return cnl_copy(table[NL80211_ATTR_IFINDEX], interface_index, sizeof(*interface_index)) ? 0 : -EBADMSG;
}

int cnl_parse_station(const void *bytes, size_t length, int8_t *signal) {
    struct nlattr *table[NL80211_ATTR_STA_INFO + 1];
    struct nlattr *station[NL80211_STA_INFO_SIGNAL + 1];
    if (cnl_parse_attributes(bytes, length, sizeof(struct genlmsghdr), table, NL80211_ATTR_STA_INFO, NULL) != 0) {
        return -EBADMSG;
    }
    if (!table[NL80211_ATTR_STA_INFO]) {
        return -ENOMSG;
    }
    if (cnl_parse_nested(table[NL80211_ATTR_STA_INFO], station, NL80211_STA_INFO_SIGNAL) != 0) {
        return -EBADMSG;
    }
    if (!station[NL80211_STA_INFO_SIGNAL]) {
        return -ENOMSG; /* the driver does not report it */
    }
    return cnl_copy(station[NL80211_STA_INFO_SIGNAL], signal, sizeof(*signal)) ? 0 : -EBADMSG;
}

/* A dump of nl80211. */
typedef struct cnl_wireless_dump {
    uint8_t command;
    uint32_t interface_index; /* 0 for all */
    cnl_message_handler handler;
    void *context;
    const bool *is_malformed; /* set by the handler */
} cnl_wireless_dump;

typedef struct cnl_listing {
    cnl_wireless_handler handler;
    void *context;
    bool is_malformed;
} cnl_listing;

static void cnl_take_interface(const cnl_message *message, void *context) {
    cnl_listing *listing = context;
    uint32_t index;
    int status = cnl_parse_wireless(message->bytes, message->length, &index);
    if (status == 0) {
        listing->handler(index, listing->context);
    }
    listing->is_malformed |= status == -EBADMSG;
}

typedef struct cnl_signal {
    int8_t value;
    bool is_known;
    bool is_malformed;
} cnl_signal;

/* The first station counts: a client has one, its access point. */
static void cnl_take_station(const cnl_message *message, void *context) {
    cnl_signal *signal = context;
    int8_t value;
    int status = cnl_parse_station(message->bytes, message->length, &value);
    if (status == 0 && !signal->is_known) {
        signal->value = value;
        signal->is_known = true;
    }
    signal->is_malformed |= status == -EBADMSG;
}

static cnl_outcome cnl_generic_run(cnl_generic *generic, const cnl_wireless_dump *dump, cnl_fault *fault) {
    errno = 0;
    int status = nl_connect(generic->socket, NETLINK_GENERIC);
    if (status < 0) {
        return cnl_fail_libnl(fault, status);
    }
    struct timeval limit = {.tv_sec = 1};
    if (setsockopt(nl_socket_get_fd(generic->socket), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0) {
        return cnl_fail(fault, errno);
    }
    uint16_t family = 0;
    cnl_generic_request naming = {
        .type = GENL_ID_CTRL,
        .flags = NLM_F_ACK,
        .command = CTRL_CMD_GETFAMILY,
        .attribute = CTRL_ATTR_FAMILY_NAME,
        .value = NL80211_GENL_NAME,
        .size = sizeof(NL80211_GENL_NAME),
        .handler = cnl_take_family,
        .context = &family,
    };
    cnl_outcome outcome = cnl_generic_ask(generic, &naming, fault);
    if (outcome != CNL_ANSWERED) {
        return outcome;
    }
    if (family == 0) {
        return cnl_fail(fault, EBADMSG);
    }
    cnl_generic_request dumping = {
        .type = family,
        .flags = NLM_F_DUMP,
        .command = dump->command,
        .attribute = NL80211_ATTR_IFINDEX,
        .value = dump->interface_index ? &dump->interface_index : NULL,
        .size = sizeof(dump->interface_index),
        .handler = dump->handler,
        .context = dump->context,
    };
    outcome = cnl_generic_ask(generic, &dumping, fault);
    return outcome == CNL_ANSWERED && *dump->is_malformed ? cnl_fail(fault, EBADMSG) : outcome;
}

/* Runs a dump through a socket of its own. */
static cnl_outcome cnl_generic_open_and_run(const cnl_wireless_dump *dump, cnl_fault *fault) {
    cnl_generic *generic = malloc(sizeof(*generic));
    if (!generic) {
        return cnl_fail(fault, ENOMEM);
    }
    generic->sequence = 0;
    generic->socket = nl_socket_alloc();
    cnl_outcome outcome = generic->socket ? cnl_generic_run(generic, dump, fault) : cnl_fail(fault, ENOMEM);
    nl_socket_free(generic->socket);
    free(generic);
    return outcome;
}

cnl_outcome cnl_wireless_list(cnl_wireless_handler handler, void *context, cnl_fault *fault) {
    cnl_listing listing = {.handler = handler, .context = context};
    cnl_wireless_dump dump = {
        .command = NL80211_CMD_GET_INTERFACE,
        .handler = cnl_take_interface,
        .context = &listing,
        .is_malformed = &listing.is_malformed,
    };
    return cnl_generic_open_and_run(&dump, fault);
}

cnl_outcome cnl_wireless_signal(uint32_t interface_index, int8_t *value, bool *is_known, cnl_fault *fault) {
    cnl_signal signal = {.is_known = false};
    cnl_wireless_dump dump = {
        .command = NL80211_CMD_GET_STATION,
        .interface_index = interface_index,
        .handler = cnl_take_station,
        .context = &signal,
        .is_malformed = &signal.is_malformed,
    };
    cnl_outcome outcome = cnl_generic_open_and_run(&dump, fault);
    *value = signal.value;
    *is_known = signal.is_known;
    return outcome;
}
