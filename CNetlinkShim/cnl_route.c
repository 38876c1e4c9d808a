/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "cnl_internal.h"

/* RTA_VIA: a family and an address, for a gateway of another family than the route's. */
static bool cnl_parse_via(const struct nlattr *attribute, cnl_leg *leg) {
    uint16_t family;
    size_t length = (size_t)nla_len(attribute);
    if (length < sizeof(family)) {
        return false;
    }
    memcpy(&family, nla_data(attribute), sizeof(family));
    size_t size = cnl_address_size((uint8_t)family);
    if (family > UINT8_MAX || size == 0 || length - sizeof(family) < size) {
        return false;
    }
    leg->gateway_family = (uint8_t)family;
    memcpy(leg->gateway, (const char *)nla_data(attribute) + sizeof(family), size);
    return true;
}

static int cnl_parse_gateway(struct nlattr *const *table, uint8_t family, cnl_leg *leg) {
    if (table[RTA_GATEWAY]) {
        if (!cnl_copy_address(table[RTA_GATEWAY], family, leg->gateway)) {
            return -EBADMSG;
        }
        leg->gateway_family = family;
    }
    if (table[RTA_VIA] && !cnl_parse_via(table[RTA_VIA], leg)) {
        return -EBADMSG;
    }
    if (table[RTA_ENCAP_TYPE] &&
        !cnl_copy(table[RTA_ENCAP_TYPE], &leg->encapsulation, sizeof(leg->encapsulation))) {
        return -EBADMSG;
    }
    return 0;
}

static bool cnl_parse_route_numbers(struct nlattr *const *table, cnl_route *route) {
    const cnl_number numbers[] = {
        {RTA_TABLE, &route->table, 4, NULL},
        {RTA_PRIORITY, &route->priority, 4, &route->has_priority},
        {RTA_NH_ID, &route->nexthop_id, 4, NULL},
        {RTA_IIF, &route->input_interface, 4, &route->has_input_interface},
        {RTA_OIF, &route->nexthop.interface_index, 4, &route->has_output_interface},
        {RTA_PREF, &route->preference, 1, &route->has_preference},
    };
    return cnl_copy_numbers(table, numbers, sizeof(numbers) / sizeof(numbers[0]));
}

static bool cnl_parse_route_addresses(struct nlattr *const *table, cnl_route *route) {
    uint8_t family = route->family;
    route->has_preferred_source = table[RTA_PREFSRC] != NULL;
    return (!table[RTA_DST] || cnl_copy_address(table[RTA_DST], family, route->destination)) &&
           (!table[RTA_SRC] || cnl_copy_address(table[RTA_SRC], family, route->source)) &&
           (!table[RTA_PREFSRC] || cnl_copy_address(table[RTA_PREFSRC], family, route->preferred_source));
}

static bool cnl_parse_route_lifetime(const struct nlattr *attribute, cnl_route *route) {
    struct rta_cacheinfo info;
    if (!cnl_copy(attribute, &info, sizeof(info))) {
        return false;
    }
    route->has_lifetime = true;
    route->expires = info.rta_expires;
    route->error = info.rta_error;
    return true;
}

int cnl_parse_route(const void *bytes, size_t length, cnl_route *route) {
    struct nlattr *table[RTA_MAX + 1];
    memset(route, 0, sizeof(*route));
    if (cnl_sort_attributes(bytes, length, sizeof(struct rtmsg), table, RTA_MAX, NULL) != 0) {
        return -EBADMSG;
    }
    const struct nlmsghdr *header = bytes;
    if (header->nlmsg_type != RTM_NEWROUTE && header->nlmsg_type != RTM_DELROUTE) {
        return -ENOMSG;
    }
    const struct rtmsg *body = nlmsg_data(header);
    size_t size = cnl_address_size(body->rtm_family);
    if (size == 0) {
        /* MPLS, multicast routing and others that this shim does not speak. */
        return -ENOMSG;
    }
    if (body->rtm_dst_len > size * 8 || body->rtm_src_len > size * 8) {
        return -EBADMSG;
    }
    route->is_removed = header->nlmsg_type == RTM_DELROUTE;
    route->family = body->rtm_family;
    route->destination_length = body->rtm_dst_len;
    route->source_length = body->rtm_src_len;
    route->tos = body->rtm_tos;
    route->table = body->rtm_table;
    route->protocol = body->rtm_protocol;
    route->scope = body->rtm_scope;
    route->type = body->rtm_type;
    route->flags = body->rtm_flags;

    if (!cnl_parse_route_numbers(table, route) || !cnl_parse_route_addresses(table, route) ||
        (table[RTA_CACHEINFO] && !cnl_parse_route_lifetime(table[RTA_CACHEINFO], route)) ||
        cnl_parse_gateway(table, route->family, &route->nexthop) != 0) {
        return -EBADMSG;
    }
    route->nexthop.weight = 1;
    route->nexthop.flags = (uint8_t)(route->flags & 0xff);
    if (table[RTA_MULTIPATH]) {
        route->legs = nla_data(table[RTA_MULTIPATH]);
        route->legs_length = (uint32_t)nla_len(table[RTA_MULTIPATH]);
        uint32_t offset = 0;
        cnl_leg leg;
        int status;
        while ((status = cnl_route_next_leg(route, &offset, &leg)) > 0) {
        }
        return status;
    }
    return 0;
}

int cnl_route_next_leg(const cnl_route *route, uint32_t *offset, cnl_leg *leg) {
    if (!route->legs || *offset >= route->legs_length) {
        return 0;
    }
    const char *place = (const char *)route->legs + *offset;
    size_t rest = route->legs_length - *offset;
    struct rtnexthop head;
    if (rest < sizeof(head)) {
        return -EBADMSG;
    }
    memcpy(&head, place, sizeof(head));
    if (head.rtnh_len < sizeof(head) || head.rtnh_len > rest) {
        return -EBADMSG;
    }
    memset(leg, 0, sizeof(*leg));
    leg->interface_index = (uint32_t)head.rtnh_ifindex;
    leg->flags = head.rtnh_flags;
    /* The kernel keeps the weight less one in a byte. */
    leg->weight = (uint16_t)(head.rtnh_hops + 1);

    struct nlattr *table[RTA_MAX + 1];
    const struct nlattr *attributes = (const struct nlattr *)(place + RTNH_LENGTH(0));
    size_t length = head.rtnh_len - RTNH_LENGTH(0);
    if (cnl_sort_run(attributes, length, table, RTA_MAX, NULL) != 0 ||
        cnl_parse_gateway(table, route->family, leg) != 0) {
        return -EBADMSG;
    }
    *offset += RTNH_ALIGN(head.rtnh_len);
    return 1;
}
