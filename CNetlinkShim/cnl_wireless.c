/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/nl80211.h>

#include "cnl_internal.h"

/* libnl's helpers for generic netlink are in libnl-genl-3, another package; the messages used here need libnl's core
 * only. */
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

static cnl_outcome cnl_generic_ask(cnl_channel *channel, const cnl_generic_request *request, cnl_fault *fault) {
    struct nl_msg *message = nlmsg_alloc_size(256);
    if (!message) {
        return cnl_fail(fault, ENOMEM);
    }
    struct genlmsghdr body = {.cmd = request->command, .version = 1};
    nlmsg_hdr(message)->nlmsg_type = request->type;
    nlmsg_hdr(message)->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | request->flags);
    cnl_outcome outcome;
    if (nlmsg_append(message, &body, sizeof(body), NLMSG_ALIGNTO) != 0 ||
        (request->value && nla_put(message, request->attribute, request->size, request->value) != 0)) {
        outcome = cnl_fail(fault, ENOMEM);
    } else {
        outcome = cnl_channel_ask(channel, message, request->handler, request->context, fault);
    }
    nlmsg_free(message);
    return outcome;
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

static cnl_outcome cnl_generic_run(cnl_channel *channel, const cnl_wireless_dump *dump, cnl_fault *fault) {
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
    cnl_outcome outcome = cnl_generic_ask(channel, &naming, fault);
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
    outcome = cnl_generic_ask(channel, &dumping, fault);
    return outcome == CNL_ANSWERED && *dump->is_malformed ? cnl_fail(fault, EBADMSG) : outcome;
}

/* Runs a dump through a socket of its own. */
static cnl_outcome cnl_generic_open_and_run(const cnl_wireless_dump *dump, cnl_fault *fault) {
    cnl_channel *channel = cnl_channel_open(NETLINK_GENERIC, fault);
    if (!channel) {
        return CNL_FAILED;
    }
    cnl_outcome outcome = cnl_generic_run(channel, dump, fault);
    cnl_channel_close(channel);
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
