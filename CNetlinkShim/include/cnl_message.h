/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_MESSAGE_H
#define CNL_MESSAGE_H

#include "cnl_outcome.h"

#pragma clang assume_nonnull begin

/* One netlink message: its header fields, and all its bytes with the header. The bytes are valid only as long as
 * the function that gives the message says. */
typedef struct cnl_message {
    const void *bytes;
    uint32_t length;   /* nlmsg_len: header and payload, without padding */
    uint16_t type;     /* RTM_... or NLMSG_... */
    uint16_t flags;    /* NLM_F_... */
    uint32_t sequence;
    uint32_t port;     /* of the requester, also in a notification; not the sender */
} cnl_message;

typedef void (*cnl_message_handler)(const cnl_message *message, void *_Nullable context);

/* Splits the first message off a run of messages. Returns the number of bytes up to the next message (padding
 * included, at most `available`), or 0 when the bytes do not hold a whole message. */
size_t cnl_message_first(const void *bytes, size_t available, cnl_message *message);

/* A dump, or another request with NLM_F_ACK, while its answers are read. */
typedef struct cnl_dump {
    uint32_t sequence, port; /* of the request; messages with others are skipped */
    bool interrupted;        /* what is dumped changed meanwhile (NLM_F_DUMP_INTR): entries can be missing or doubled */
    bool ended;
    cnl_message_handler handler;
    void *_Nullable context;
} cnl_dump;

/* Calls the handler with the messages of one datagram. `ended` is set at NLMSG_DONE or NLMSG_ERROR, then the outcome is
 * that of the dump. A malformed datagram ends it with CNL_FAILED. */
cnl_outcome cnl_dump_read(cnl_dump *dump, const void *bytes, size_t length, cnl_fault *fault);

/* The parsers. `bytes` is a whole message with its header at an address divisible by 4. Each returns 0, -ENOMSG for
 * a message of another type or family, or -EBADMSG for a message that is cut or malformed. RTM_NEW... and
 * RTM_DEL... have the same layout. */

typedef struct cnl_link {
    uint32_t index;
    uint32_t flags;         /* IFF_... */
    uint16_t hardware_type; /* ARPHRD_... */
    uint8_t family; /* AF_UNSPEC for the interface itself; AF_INET6 and AF_BRIDGE messages are partial */
    bool has_operational_state, has_carrier, has_lower, has_lower_namespace, has_master, has_mtu, has_vrf_table;
    bool has_ipv4_conf, has_ipv6_conf;
    uint8_t operational_state;  /* IFLA_OPERSTATE */
    uint8_t carrier;            /* IFLA_CARRIER */
    bool ipv4_ignores_linkdown; /* sysctl ignore_routes_with_linkdown of this interface */
    bool ipv6_ignores_linkdown;
    bool ipv6_forwards;         /* sysctl forwarding of this interface */
    uint32_t lower;             /* IFLA_LINK: the interface below; in another namespace if has_lower_namespace */
    uint32_t master;            /* IFLA_MASTER */
    uint32_t group;             /* IFLA_GROUP */
    uint32_t vrf_table;         /* of a VRF */
    char name[16];              /* IFLA_IFNAME, empty when missing */
    char kind[56];              /* IFLA_INFO_KIND, empty when missing; at most 55 bytes */
    char port_kind[56];         /* IFLA_INFO_SLAVE_KIND, empty when missing */
} cnl_link;

int cnl_parse_link(const void *bytes, size_t length, cnl_link *link);

typedef struct cnl_address {
    uint8_t family, prefix_length, scope;
    bool has_local, has_address, has_created;
    uint32_t flags;   /* IFA_F_..., all 32 bits */
    uint32_t index;   /* of the interface */
    uint32_t created; /* IFA_CACHEINFO: when it was added, in 1/100 s since the start; wraps after 497 days */
    uint8_t local[16];   /* IFA_LOCAL */
    uint8_t address[16]; /* IFA_ADDRESS: the peer on a point-to-point interface */
} cnl_address;

int cnl_parse_address(const void *bytes, size_t length, cnl_address *address);

/* One nexthop of a route. */
typedef struct cnl_nexthop {
    uint32_t interface_index;
    uint16_t weight; /* 1 to 256 */
    uint8_t flags;   /* RTNH_F_... */
    uint8_t gateway_family; /* 0 for none; AF_INET6 in an IPv4 route is RTA_VIA */
    uint8_t gateway[16];
} cnl_nexthop;

typedef struct cnl_route {
    uint8_t family, destination_length, source_length, tos, scope, type, protocol;
    bool has_lifetime, has_preferred_source;
    uint8_t preference;    /* ICMPV6_ROUTER_PREF_...: 0 medium, 1 high, 3 low */
    uint32_t flags;        /* RTM_F_..., RTNH_F_... in the low byte */
    uint32_t table;
    uint32_t priority;     /* metric */
    uint32_t nexthop_id;   /* RTA_NH_ID, 0 for none */
    int32_t expires;       /* RTA_CACHEINFO rta_expires, USER_HZ ticks; 0 = never, negative = expired */
    uint8_t destination[16];
    uint8_t source[16];
    uint8_t preferred_source[16];
    cnl_nexthop nexthop;   /* the single nexthop; its interface_index is 0 for a multipath route or none */
    const void *_Nullable nexthops; /* RTA_MULTIPATH in the message's bytes, for cnl_route_next_nexthop() */
    uint32_t nexthops_length;
} cnl_route;

int cnl_parse_route(const void *bytes, size_t length, cnl_route *route);

/* The destination of a route: all that a monitor reads of most notifications. */
typedef struct cnl_destination {
    uint8_t family, length; /* length in bits */
    uint8_t address[16];
} cnl_destination;

/* Parses the destination of a route; it neither reads nor checks the other attributes. */
int cnl_parse_destination(const void *bytes, size_t length, cnl_destination *destination);

/* Walks the nexthops of a multipath route: start with *offset = 0. Returns 1 with a nexthop, 0 at the end, or
 * -EBADMSG. The message's bytes must still be valid. */
int cnl_route_next_nexthop(const cnl_route *route, uint32_t *offset, cnl_nexthop *nexthop);

typedef struct cnl_rule {
    uint8_t family, destination_length, source_length, tos, action; /* FR_ACT_... */
    bool has_mark, has_uid_range, has_source_ports, has_destination_ports, has_dscp, is_l3mdev;
    bool has_unknown_selector; /* a selector that this shim does not read: the rule cannot be evaluated */
    uint32_t flags;            /* FIB_RULE_... */
    uint32_t priority, table, target; /* target of FR_ACT_GOTO */
    uint32_t mark, mark_mask;
    int32_t suppress_prefix_length, suppress_group; /* -1 for none */
    uint32_t first_uid, last_uid;
    uint8_t ip_protocol; /* 0 for any */
    uint8_t dscp, dscp_mask;
    uint16_t first_source_port, last_source_port;
    uint16_t first_destination_port, last_destination_port;
    uint64_t tunnel_id; /* 0 for any */
    uint8_t destination[16], source[16];
    char input_name[16], output_name[16]; /* empty for any */
} cnl_rule;

int cnl_parse_rule(const void *bytes, size_t length, cnl_rule *rule);

typedef struct cnl_nexthop_object {
    uint32_t id;
    bool is_blackhole, is_fdb;
    cnl_nexthop nexthop; /* of an object that is no group */
    const void *_Nullable group; /* NHA_GROUP in the message's bytes, for cnl_nexthop_object_next_member() */
    uint32_t group_length;
} cnl_nexthop_object;

int cnl_parse_nexthop_object(const void *bytes, size_t length, cnl_nexthop_object *object);

/* Walks the members of a group: start with *offset = 0. Returns 1 with a member, 0 at the end. */
int cnl_nexthop_object_next_member(const cnl_nexthop_object *object, uint32_t *offset, uint32_t *id,
                                   uint16_t *weight);

typedef struct cnl_neighbour {
    uint8_t family;
    uint16_t state; /* NUD_... */
    uint32_t interface_index;
    uint8_t destination[16];
} cnl_neighbour;

int cnl_parse_neighbour(const void *bytes, size_t length, cnl_neighbour *neighbour);

/* Sysctls below net.ipv4.conf or net.ipv6.conf. A notification holds only what changed. */
typedef struct cnl_settings {
    uint8_t family;
    bool has_forwards, has_ignores_linkdown;
    bool forwards;         /* forwarding */
    bool ignores_linkdown; /* ignore_routes_with_linkdown */
    int32_t index;         /* of the interface; NETCONFA_IFINDEX_ALL or NETCONFA_IFINDEX_DEFAULT */
} cnl_settings;

/* RTM_NEWNETCONF only: RTM_DELNETCONF is -ENOMSG. */
int cnl_parse_settings(const void *bytes, size_t length, cnl_settings *settings);

#pragma clang assume_nonnull end

#endif
