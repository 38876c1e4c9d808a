/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_MESSAGE_H
#define CNL_MESSAGE_H

#include "cnl_error.h"
#include "cnl_kernel.h"

#pragma clang assume_nonnull begin

/* Receives a complete message, which is valid during the call. */
typedef void (*cnl_message_handler)(const struct nlmsghdr *message, void *_Nullable context);

/* The attributes of a message or of a nested attribute. */
typedef struct cnl_attributes {
    const struct nlattr *_Nullable by_type[64]; /* the last one of each type; NULL for none */
    uint16_t highest_type;                      /* also of attributes beyond the table */
} cnl_attributes;

/* Reads the attributes that fill some bytes. Returns 0, or -EBADMSG if one is truncated. */
int cnl_parse_attributes(const void *_Nullable bytes, size_t length, cnl_attributes *attributes);

/* Walks attributes, several of which can have the same type: start with *offset = 0. Returns 1 with an attribute, 0
 * at the end, or -EBADMSG if one is truncated. */
int cnl_next_attribute(const void *_Nullable bytes, size_t length, size_t *offset,
                       const struct nlattr *_Nullable *_Nonnull attribute);

/* The parsers of routes. `bytes` is a whole message with its header at an address divisible by 4. Each returns 0,
 * -ENOMSG for a message of another type or family, or -EBADMSG for a truncated or malformed message. RTM_NEWROUTE and
 * RTM_DELROUTE have the same layout. */

/* One nexthop of a route. */
typedef struct cnl_nexthop {
    uint32_t interface_index;
    uint16_t weight; /* 1 to 256 */
    uint8_t flags;   /* RTNH_F_... */
    uint8_t gateway_family; /* 0 for none; AF_INET6 in an IPv4 route is RTA_VIA */
    uint8_t gateway[16];
    uint16_t encapsulation; /* RTA_ENCAP_TYPE, 0 for none */
    uint32_t encapsulation_length;
    const void *_Nullable encapsulation_bytes; /* RTA_ENCAP in the message's bytes */
} cnl_nexthop;

typedef struct cnl_route {
    uint8_t family, destination_length, source_length, tos, scope, type, protocol;
    bool has_lifetime, has_preferred_source;
    uint8_t preference;    /* ICMPV6_ROUTER_PREF_...: 0 medium, 1 high, 3 low */
    uint32_t flags;        /* RTM_F_..., RTNH_F_... in the low byte */
    uint32_t table;
    uint32_t priority;     /* metric */
    uint32_t nexthop_id;   /* RTA_NH_ID, 0 for none */
    uint32_t mtu;          /* RTAX_MTU of RTA_METRICS, 0 for none */
    int32_t expires;       /* RTA_CACHEINFO rta_expires, USER_HZ ticks; 0 = never, negative = expired */
    uint8_t destination[16];
    uint8_t source[16];
    uint8_t preferred_source[16];
    cnl_nexthop nexthop;   /* the single nexthop; its interface_index is 0 for a multipath route or none */
    const void *_Nullable nexthops; /* RTA_MULTIPATH in the message's bytes, for cnl_route_next_nexthop() */
    uint32_t nexthops_length;
} cnl_route;

int cnl_parse_route(const void *bytes, size_t length, cnl_route *route);

/* The destination of a route. Of most notifications, a monitor reads nothing else. */
typedef struct cnl_destination {
    uint8_t family, length; /* length in bits */
    uint8_t address[16];
} cnl_destination;

/* Parses the destination of a route. Neither reads nor checks other attributes. */
int cnl_parse_destination(const void *bytes, size_t length, cnl_destination *destination);

/* Walks the nexthops of a multipath route: start with *offset = 0. Returns 1 with a nexthop, 0 at the end, or
 * -EBADMSG. The message's bytes must still be valid. */
int cnl_route_next_nexthop(const cnl_route *route, uint32_t *offset, cnl_nexthop *nexthop);

#pragma clang assume_nonnull end

#endif
