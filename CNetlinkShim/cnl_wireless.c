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

typedef cnl_outcome (*cnl_generic_handler)(const cnl_message *message, void *context, cnl_fault *fault);

static cnl_outcome cnl_generic_send(cnl_generic *generic, uint16_t type, uint8_t command, uint16_t flags,
                                    int attribute, const void *_Nullable value, int size, cnl_fault *fault) {
    struct nl_msg *message = nlmsg_alloc_size(256);
    if (!message) {
        return cnl_fail(fault, ENOMEM);
    }
    struct genlmsghdr body = {.cmd = command, .version = 1};
    struct nlmsghdr *header = nlmsg_hdr(message);
    header->nlmsg_type = type;
    header->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
    header->nlmsg_seq = ++generic->sequence;
    header->nlmsg_pid = nl_socket_get_local_port(generic->socket);
    cnl_outcome outcome = CNL_ANSWERED;
    if (nlmsg_append(message, &body, sizeof(body), NLMSG_ALIGNTO) != 0 ||
        (value && nla_put(message, attribute, size, value) != 0)) {
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

/* Reads answers: one message, or all messages of a dump up to NLMSG_DONE. */
static cnl_outcome cnl_generic_receive(cnl_generic *generic, bool is_dump, cnl_generic_handler handler,
                                       void *context, cnl_fault *fault) {
    for (;;) {
        ssize_t length =
            cnl_receive(nl_socket_get_fd(generic->socket), generic->buffer, sizeof(generic->buffer));
        if (length == CNL_UNTRUSTED) {
            continue;
        }
        if (length < 0) {
            return cnl_fail(fault, length == -EAGAIN ? ETIMEDOUT : (int)-length);
        }
        cnl_message message;
        for (size_t offset = 0, step; offset < (size_t)length; offset += step) {
            step = cnl_message_first(generic->buffer + offset, (size_t)length - offset, &message);
            if (step == 0) {
                return cnl_fail(fault, EBADMSG);
            }
            if (message.sequence != generic->sequence || message.type == NLMSG_NOOP) {
                continue;
            }
            if (message.type == NLMSG_ERROR) {
                return cnl_refuse(fault, message.bytes);
            }
            if (message.type == NLMSG_DONE) {
                return CNL_ANSWERED;
            }
            cnl_outcome outcome = handler(&message, context, fault);
            if (outcome != CNL_ANSWERED || !is_dump) {
                return outcome;
            }
        }
    }
}

static cnl_outcome cnl_take_family(const cnl_message *message, void *context, cnl_fault *fault) {
    uint16_t *family = context;
    struct nlattr *table[CTRL_ATTR_MAX + 1];
    if (cnl_parse_attributes(message->bytes, message->length, sizeof(struct genlmsghdr), table, CTRL_ATTR_MAX,
                            NULL) != 0 ||
        !table[CTRL_ATTR_FAMILY_ID] || !cnl_copy(table[CTRL_ATTR_FAMILY_ID], family, sizeof(*family))) {
        return cnl_fail(fault, EBADMSG);
    }
    return CNL_ANSWERED;
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

/* A dump of nl80211, and what takes its messages. */
typedef struct cnl_generic_dump {
    uint8_t command;
    uint32_t interface_index; /* 0 for all */
    cnl_generic_handler handler;
    void *context;
} cnl_generic_dump;

typedef struct cnl_listing {
    cnl_wireless_handler handler;
    void *context;
} cnl_listing;

static cnl_outcome cnl_take_interface(const cnl_message *message, void *context, cnl_fault *fault) {
    const cnl_listing *listing = context;
    uint32_t index;
    int status = cnl_parse_wireless(message->bytes, message->length, &index);
    if (status == 0) {
        listing->handler(index, listing->context);
    }
    return status == -EBADMSG ? cnl_fail(fault, EBADMSG) : CNL_ANSWERED;
}

typedef struct cnl_signal {
    int8_t value;
    bool is_known;
} cnl_signal;

/* The first station counts: a client has one, its access point. */
static cnl_outcome cnl_take_station(const cnl_message *message, void *context, cnl_fault *fault) {
    cnl_signal *signal = context;
    int8_t value;
    int status = cnl_parse_station(message->bytes, message->length, &value);
    if (status == 0 && !signal->is_known) {
        *signal = (cnl_signal){.value = value, .is_known = true};
    }
    return status == -EBADMSG ? cnl_fail(fault, EBADMSG) : CNL_ANSWERED;
}

static cnl_outcome cnl_generic_run(cnl_generic *generic, const cnl_generic_dump *dump, cnl_fault *fault) {
    uint16_t family = 0;
    errno = 0;
    int status = nl_connect(generic->socket, NETLINK_GENERIC);
    if (status < 0) {
        return cnl_fail_libnl(fault, status);
    }
    struct timeval limit = {.tv_sec = 1};
    if (setsockopt(nl_socket_get_fd(generic->socket), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0) {
        return cnl_fail(fault, errno);
    }
    cnl_outcome outcome = cnl_generic_send(generic, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0, CTRL_ATTR_FAMILY_NAME,
                                           NL80211_GENL_NAME, sizeof(NL80211_GENL_NAME), fault);
    if (outcome == CNL_ANSWERED) {
        outcome = cnl_generic_receive(generic, false, cnl_take_family, &family, fault);
    }
    if (outcome == CNL_ANSWERED) {
        outcome = cnl_generic_send(generic, family, dump->command, NLM_F_DUMP, NL80211_ATTR_IFINDEX,
                                   dump->interface_index ? &dump->interface_index : NULL,
                                   sizeof(dump->interface_index), fault);
    }
    if (outcome == CNL_ANSWERED) {
        outcome = cnl_generic_receive(generic, true, dump->handler, dump->context, fault);
    }
    return outcome;
}

/* Runs a dump through a socket of its own. */
static cnl_outcome cnl_generic_open_and_run(const cnl_generic_dump *dump, cnl_fault *fault) {
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
    cnl_generic_dump dump = {
        .command = NL80211_CMD_GET_INTERFACE, .handler = cnl_take_interface, .context = &listing};
    return cnl_generic_open_and_run(&dump, fault);
}

cnl_outcome cnl_wireless_signal(uint32_t interface_index, int8_t *value, bool *is_known, cnl_fault *fault) {
    cnl_signal signal = {.is_known = false};
    cnl_generic_dump dump = {.command = NL80211_CMD_GET_STATION,
                             .interface_index = interface_index,
                             .handler = cnl_take_station,
                             .context = &signal};
    cnl_outcome outcome = cnl_generic_open_and_run(&dump, fault);
    *value = signal.value;
    *is_known = signal.is_known;
    return outcome;
}
