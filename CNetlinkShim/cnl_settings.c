/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <linux/netconf.h>
#include <linux/rtnetlink.h>

#include "cnl_internal.h"

/* A switch, which the kernel sends as a 32-bit number. */
static bool cnl_parse_switch(const struct nlattr *_Nullable attribute, bool *value, bool *present) {
    int32_t number = 0;
    if (!attribute) {
        return true;
    }
    if (!cnl_copy(attribute, &number, sizeof(number))) {
        return false;
    }
    *value = number != 0;
    *present = true;
    return true;
}

int cnl_parse_settings(const void *bytes, size_t length, cnl_settings *settings) {
    struct nlattr *table[NETCONFA_MAX + 1];
    memset(settings, 0, sizeof(*settings));
    if (cnl_sort_attributes(bytes, length, sizeof(struct netconfmsg), table, NETCONFA_MAX, NULL) != 0) {
        return -EBADMSG;
    }
    const struct nlmsghdr *header = bytes;
    if (header->nlmsg_type != RTM_NEWNETCONF) {
        /* RTM_DELNETCONF goes with the interface. */
        return -ENOMSG;
    }
    const struct netconfmsg *body = nlmsg_data(header);
    if (cnl_address_size(body->ncm_family) == 0 || !table[NETCONFA_IFINDEX]) {
        return -ENOMSG;
    }
    settings->family = body->ncm_family;
    bool whole = cnl_copy(table[NETCONFA_IFINDEX], &settings->index, sizeof(settings->index)) &&
                 cnl_parse_switch(table[NETCONFA_FORWARDING], &settings->forwards, &settings->has_forwards) &&
                 cnl_parse_switch(table[NETCONFA_IGNORE_ROUTES_WITH_LINKDOWN], &settings->ignores_linkdown,
                                  &settings->has_ignores_linkdown);
    return whole ? 0 : -EBADMSG;
}
