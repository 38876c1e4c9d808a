/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <linux/netconf.h>
#include <linux/rtnetlink.h>

#include "cnl_internal.h"

int cnl_parse_settings(const void *bytes, size_t length, cnl_settings *settings) {
    struct nlattr *table[NETCONFA_MAX + 1];
    memset(settings, 0, sizeof(*settings));
    int status =
        cnl_parse_message(bytes, length, RTM_NEWNETCONF, sizeof(struct netconfmsg), table, NETCONFA_MAX, NULL);
    if (status != 0) {
        return status;
    }
    const struct nlmsghdr *header = bytes;
    const struct netconfmsg *body = nlmsg_data(header);
    if (header->nlmsg_type != RTM_NEWNETCONF || cnl_address_size(body->ncm_family) == 0 || !table[NETCONFA_IFINDEX]) {
        /* RTM_DELNETCONF comes with the removal of the interface. */
        return -ENOMSG;
    }
    int32_t forwards = 0, ignores_linkdown = 0;
    const cnl_number numbers[] = {
        {NETCONFA_IFINDEX, &settings->index, 4, NULL},
        {NETCONFA_FORWARDING, &forwards, 4, &settings->has_forwards},
        {NETCONFA_IGNORE_ROUTES_WITH_LINKDOWN, &ignores_linkdown, 4, &settings->has_ignores_linkdown},
    };
    bool whole = cnl_copy_numbers(table, numbers, CNL_COUNT(numbers));
    settings->family = body->ncm_family;
    settings->forwards = forwards != 0;
    settings->ignores_linkdown = ignores_linkdown != 0;
    return whole ? 0 : -EBADMSG;
}
