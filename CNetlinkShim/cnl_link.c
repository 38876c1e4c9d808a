/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "cnl_internal.h"

/* Reads entry `place` (from 0) of a sysctl array of IFLA_AF_SPEC. */
static bool cnl_conf_value(const struct nlattr *array, size_t place, bool *value) {
    int32_t number;
    if ((size_t)nla_len(array) < (place + 1) * sizeof(number)) {
        return false;
    }
    memcpy(&number, (const char *)nla_data(array) + place * sizeof(number), sizeof(number));
    *value = number != 0;
    return true;
}

static int cnl_parse_conf(const struct nlattr *nest, cnl_link *link) {
    struct nlattr *families[AF_INET6 + 1];
    int status = cnl_parse_nested(nest, families, AF_INET6);
    if (status == 0 && families[AF_INET]) {
        struct nlattr *table[IFLA_INET_MAX + 1];
        status = cnl_parse_nested(families[AF_INET], table, IFLA_INET_MAX);
        /* The kernel numbers IPv4 settings from 1 and IPv6 settings from 0. */
        if (status == 0 && table[IFLA_INET_CONF]) {
            link->has_ipv4_conf = cnl_conf_value(table[IFLA_INET_CONF], IPV4_DEVCONF_IGNORE_ROUTES_WITH_LINKDOWN - 1,
                                                 &link->ipv4_ignores_linkdown);
        }
    }
    if (status == 0 && families[AF_INET6]) {
        struct nlattr *table[IFLA_INET6_MAX + 1];
        status = cnl_parse_nested(families[AF_INET6], table, IFLA_INET6_MAX);
        if (status == 0 && table[IFLA_INET6_CONF]) {
            link->has_ipv6_conf =
                cnl_conf_value(table[IFLA_INET6_CONF], DEVCONF_IGNORE_ROUTES_WITH_LINKDOWN,
                               &link->ipv6_ignores_linkdown) &&
                cnl_conf_value(table[IFLA_INET6_CONF], DEVCONF_FORWARDING, &link->ipv6_forwards);
        }
    }
    return status;
}

static int cnl_parse_link_info(const struct nlattr *nest, cnl_link *link) {
    struct nlattr *table[IFLA_INFO_MAX + 1];
    if (cnl_parse_nested(nest, table, IFLA_INFO_MAX) != 0 ||
        !cnl_copy_string(table[IFLA_INFO_KIND], link->kind, sizeof(link->kind)) ||
        !cnl_copy_string(table[IFLA_INFO_SLAVE_KIND], link->port_kind, sizeof(link->port_kind))) {
        return -EBADMSG;
    }
    if (table[IFLA_INFO_DATA] && strcmp(link->kind, "vrf") == 0) {
        struct nlattr *data[IFLA_VRF_MAX + 1];
        if (cnl_parse_nested(table[IFLA_INFO_DATA], data, IFLA_VRF_MAX) != 0) {
            return -EBADMSG;
        }
        link->has_vrf_table =
            data[IFLA_VRF_TABLE] && cnl_copy(data[IFLA_VRF_TABLE], &link->vrf_table, sizeof(link->vrf_table));
    }
    return 0;
}

int cnl_parse_link(const void *bytes, size_t length, cnl_link *link) {
    struct nlattr *table[IFLA_MAX + 1];
    memset(link, 0, sizeof(*link));
    int status = cnl_parse_message(bytes, length, RTM_NEWLINK, sizeof(struct ifinfomsg), table, IFLA_MAX, NULL);
    if (status != 0) {
        return status;
    }
    const struct ifinfomsg *body = nlmsg_data(bytes);
    link->family = body->ifi_family;
    link->index = (uint32_t)body->ifi_index;
    link->flags = body->ifi_flags;
    link->hardware_type = body->ifi_type;
    link->has_lower_namespace = table[IFLA_LINK_NETNSID] != NULL;
    link->has_mtu = table[IFLA_MTU] != NULL;
    const cnl_number numbers[] = {
        {IFLA_OPERSTATE, &link->operational_state, 1, &link->has_operational_state},
        {IFLA_CARRIER, &link->carrier, 1, &link->has_carrier},
        {IFLA_LINK, &link->lower, 4, &link->has_lower},
        {IFLA_MASTER, &link->master, 4, &link->has_master},
        {IFLA_GROUP, &link->group, 4, NULL},
    };
    if (!cnl_copy_numbers(table, numbers, CNL_COUNT(numbers)) ||
        !cnl_copy_string(table[IFLA_IFNAME], link->name, sizeof(link->name)) ||
        (table[IFLA_LINKINFO] && cnl_parse_link_info(table[IFLA_LINKINFO], link) != 0)) {
        return -EBADMSG;
    }
    /* In an AF_BRIDGE message IFLA_AF_SPEC is another structure under the same number. */
    if (link->family == AF_UNSPEC && table[IFLA_AF_SPEC] && cnl_parse_conf(table[IFLA_AF_SPEC], link) != 0) {
        return -EBADMSG;
    }
    return 0;
}
