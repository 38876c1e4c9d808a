/* SPDX-License-Identifier: Apache-2.0 */

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "cnl_internal.h"

/* RTA_VIA: a family and an address, for a gateway of another family than the route's. */
static bool cnl_parse_via(const struct nlattr *attribute, cnl_nexthop *nexthop) {
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
    nexthop->gateway_family = (uint8_t)family;
    memcpy(nexthop->gateway, (const char *)nla_data(attribute) + sizeof(family), size);
    return true;
}

static bool cnl_parse_gateway(struct nlattr *const *table, uint8_t family, cnl_nexthop *nexthop) {
    if (table[RTA_GATEWAY]) {
        nexthop->gateway_family = family;
    }
    return cnl_copy_address(table[RTA_GATEWAY], family, nexthop->gateway) &&
           (!table[RTA_VIA] || cnl_parse_via(table[RTA_VIA], nexthop));
}

/* Reads the attributes. `route` has the fields of the header. */
static bool cnl_read_route(struct nlattr *const *table, cnl_route *route) {
    struct rta_cacheinfo lifetime = {0};
    const cnl_number numbers[] = {
        {RTA_TABLE, &route->table, 4, NULL},
        {RTA_PRIORITY, &route->priority, 4, NULL},
        {RTA_NH_ID, &route->nexthop_id, 4, NULL},
        {RTA_OIF, &route->nexthop.interface_index, 4, NULL},
        {RTA_PREF, &route->preference, 1, NULL},
        {RTA_CACHEINFO, &lifetime, sizeof(lifetime), &route->has_lifetime},
    };
    bool whole = cnl_copy_numbers(table, numbers, CNL_COUNT(numbers)) &&
                 cnl_copy_address(table[RTA_DST], route->family, route->destination) &&
                 cnl_copy_address(table[RTA_SRC], route->family, route->source) &&
                 cnl_copy_address(table[RTA_PREFSRC], route->family, route->preferred_source) &&
                 cnl_parse_gateway(table, route->family, &route->nexthop);
    route->has_preferred_source = table[RTA_PREFSRC] != NULL;
    route->expires = lifetime.rta_expires;
    return whole;
}

/* Points at RTA_MULTIPATH and checks all nexthops in it. */
static int cnl_read_nexthops(const struct nlattr *attribute, cnl_route *route) {
    route->nexthops = nla_data(attribute);
    route->nexthops_length = (uint32_t)nla_len(attribute);
    uint32_t offset = 0;
    cnl_nexthop nexthop;
    int status;
    while ((status = cnl_route_next_nexthop(route, &offset, &nexthop)) > 0) {
    }
    return status;
}

int cnl_parse_route(const void *bytes, size_t length, cnl_route *route) {
    struct nlattr *table[RTA_MAX + 1];
    memset(route, 0, sizeof(*route));
    int status = cnl_parse_message(bytes, length, RTM_NEWROUTE, sizeof(struct rtmsg), table, RTA_MAX, NULL);
    if (status != 0) {
        return status;
    }
    const struct rtmsg *body = nlmsg_data(bytes);
    size_t size = cnl_address_size(body->rtm_family);
    if (size == 0) {
        /* MPLS, multicast routing or another family. */
        return -ENOMSG;
    }
    if (body->rtm_dst_len > size * 8 || body->rtm_src_len > size * 8) {
        return -EBADMSG;
    }
    route->family = body->rtm_family;
    route->destination_length = body->rtm_dst_len;
    route->source_length = body->rtm_src_len;
    route->tos = body->rtm_tos;
    route->table = body->rtm_table;
    route->protocol = body->rtm_protocol;
    route->scope = body->rtm_scope;
    route->type = body->rtm_type;
    route->flags = body->rtm_flags;
    route->nexthop.weight = 1;
    route->nexthop.flags = (uint8_t)(route->flags & 0xff);
    if (!cnl_read_route(table, route)) {
        return -EBADMSG;
    }
    return table[RTA_MULTIPATH] ? cnl_read_nexthops(table[RTA_MULTIPATH], route) : 0;
}

int cnl_parse_destination(const void *bytes, size_t length, cnl_destination *destination) {
    cnl_message message;
    /* libnl counts in ints. */
    if (cnl_message_first(bytes, length, &message) == 0 || message.length > INT_MAX ||
        message.length < NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct rtmsg))) {
        return -EBADMSG;
    }
    const struct rtmsg *body = nlmsg_data(bytes);
    size_t size = cnl_address_size(body->rtm_family);
    if (size == 0 || (message.type != RTM_NEWROUTE && message.type != RTM_DELROUTE)) {
        return -ENOMSG;
    }
    *destination = (cnl_destination){.family = body->rtm_family, .length = body->rtm_dst_len};
    struct nlattr *attribute = nlmsg_find_attr((struct nlmsghdr *)bytes, sizeof(*body), RTA_DST);
    bool whole = body->rtm_dst_len <= size * 8 && (attribute || body->rtm_dst_len == 0) &&
                 cnl_copy_address(attribute, body->rtm_family, destination->address);
    return whole ? 0 : -EBADMSG;
}

/* MARK: entries */

static bool cnl_read_gateway(uint8_t family, const void *bytes, size_t length, cnl_entry *entry) {
    size_t size = cnl_address_size(family);
    if (size == 0 || length < size) {
        return false;
    }
    entry->gateway_family = family;
    if (family == AF_INET) {
        uint32_t word;
        memcpy(&word, bytes, sizeof(word));
        entry->gateway_low = be32toh(word);
    } else {
        uint64_t words[2];
        memcpy(words, bytes, sizeof(words));
        entry->gateway_high = be64toh(words[0]);
        entry->gateway_low = be64toh(words[1]);
    }
    return true;
}

static bool cnl_read_entry_attribute(uint16_t type, const void *value, size_t length, uint8_t family,
                                     cnl_entry *entry) {
    uint16_t via;
    switch (type) {
    case RTA_OIF:
        if (length < sizeof(entry->interface_index)) {
            return false;
        }
        memcpy(&entry->interface_index, value, sizeof(entry->interface_index));
        return true;
    case RTA_GATEWAY:
        return length == cnl_address_size(family) && cnl_read_gateway(family, value, length, entry);
    case RTA_VIA:
        if (length < sizeof(via)) {
            return false;
        }
        memcpy(&via, value, sizeof(via));
        return via <= UINT8_MAX &&
               cnl_read_gateway((uint8_t)via, (const char *)value + sizeof(via), length - sizeof(via), entry);
    case RTA_MULTIPATH:
        entry->is_single = false;
        return true;
    default:
        return true;
    }
}

/* Reads the attributes itself: a question to the kernel takes little longer than the calls into libnl that a table of
 * all attributes takes. */
int cnl_parse_entry(const void *bytes, size_t length, cnl_entry *entry) {
    const size_t fixed = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct rtmsg));
    cnl_message message;
    if (cnl_message_first(bytes, length, &message) == 0 || message.length < fixed) {
        return -EBADMSG;
    }
    const struct rtmsg *body = (const struct rtmsg *)((const char *)bytes + NLMSG_HDRLEN);
    if (message.type != RTM_NEWROUTE || cnl_address_size(body->rtm_family) == 0) {
        return -ENOMSG;
    }
    *entry = (cnl_entry){.type = body->rtm_type,
                         .protocol = body->rtm_protocol,
                         .flags = (uint8_t)(body->rtm_flags & 0xff),
                         .is_single = true};
    const char *place = (const char *)bytes + fixed;
    size_t rest = message.length - fixed;
    while (rest > 0) {
        struct nlattr head;
        if (rest < sizeof(head)) {
            return -EBADMSG;
        }
        memcpy(&head, place, sizeof(head));
        if (head.nla_len < sizeof(head) || head.nla_len > rest ||
            !cnl_read_entry_attribute(head.nla_type & NLA_TYPE_MASK, place + NLA_HDRLEN, head.nla_len - NLA_HDRLEN,
                                      body->rtm_family, entry)) {
            return -EBADMSG;
        }
        size_t step = NLA_ALIGN(head.nla_len);
        step = step < rest ? step : rest;
        place += step;
        rest -= step;
    }
    entry->is_single = entry->is_single && entry->interface_index != 0;
    return 0;
}

int cnl_route_next_nexthop(const cnl_route *route, uint32_t *offset, cnl_nexthop *nexthop) {
    if (!route->nexthops || *offset >= route->nexthops_length) {
        return 0;
    }
    const char *place = (const char *)route->nexthops + *offset;
    size_t rest = route->nexthops_length - *offset;
    struct rtnexthop head;
    if (rest < sizeof(head)) {
        return -EBADMSG;
    }
    memcpy(&head, place, sizeof(head));
    if (head.rtnh_len < sizeof(head) || head.rtnh_len > rest) {
        return -EBADMSG;
    }
    memset(nexthop, 0, sizeof(*nexthop));
    nexthop->interface_index = (uint32_t)head.rtnh_ifindex;
    nexthop->flags = head.rtnh_flags;
    /* The kernel sends the weight minus one. */
    nexthop->weight = (uint16_t)(head.rtnh_hops + 1);

    struct nlattr *table[RTA_MAX + 1];
    const struct nlattr *attributes = (const struct nlattr *)(place + RTNH_LENGTH(0));
    size_t length = head.rtnh_len - RTNH_LENGTH(0);
    if (cnl_parse_run(attributes, length, table, RTA_MAX, NULL) != 0 ||
        !cnl_parse_gateway(table, route->family, nexthop)) {
        return -EBADMSG;
    }
    *offset += RTNH_ALIGN(head.rtnh_len);
    return 1;
}
