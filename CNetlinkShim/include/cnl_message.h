/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_MESSAGE_H
#define CNL_MESSAGE_H

#include "cnl_outcome.h"

#pragma clang assume_nonnull begin

/* One netlink message: its header and all its bytes, header included. The bytes belong to whoever handed
 * the message out and are valid only until that call returns. */
typedef struct cnl_message {
    const void *bytes;
    uint32_t length;   /* as nlmsg_len says: header and payload, without padding */
    uint16_t type;     /* RTM_... or NLMSG_... */
    uint16_t flags;    /* NLM_F_... */
    uint32_t sequence;
    uint32_t port;     /* of the requester, also in an event: not the sender */
} cnl_message;

typedef void (*cnl_message_handler)(const cnl_message *message, void *_Nullable context);

/* Cuts the first message out of a run of messages. Returns the bytes to skip to the next one (padding
 * included, never more than `available`), or 0 when the bytes do not hold a whole message. */
size_t cnl_message_first(const void *bytes, size_t available, cnl_message *message);

/* The parsers. `bytes` is a whole message with its header, aligned to 4 bytes as netlink lays them out. They
 * return 0, or a negative errno:
 * -ENOMSG when it is a message of another type, -EBADMSG when it is cut or malformed. */

typedef struct cnl_link {
    uint32_t index;
    uint32_t flags;  /* IFF_... */
    uint32_t change; /* the flags that this message announces as changed */
    uint16_t hardware_type; /* ARPHRD_... */
    uint8_t family;  /* AF_UNSPEC for the link itself; AF_INET6 and AF_BRIDGE messages are partial */
    bool is_removed; /* RTM_DELLINK */
    bool has_operational_state, has_carrier, has_link_mode, has_lower, has_lower_namespace, has_master;
    bool has_group, has_mtu, has_vrf_table, has_wireless, has_ipv4_conf, has_ipv6_conf;
    uint8_t operational_state; /* IFLA_OPERSTATE */
    uint8_t carrier;           /* IFLA_CARRIER */
    uint8_t link_mode;         /* IFLA_LINKMODE */
    bool ipv4_ignores_linkdown; /* sysctl ignore_routes_with_linkdown of this interface */
    bool ipv6_ignores_linkdown;
    bool ipv6_forwards;         /* sysctl forwarding of this interface */
    bool ipv6_is_disabled;      /* sysctl disable_ipv6 of this interface */
    uint32_t lower;            /* IFLA_LINK: the interface below, 0 for none */
    int32_t lower_namespace;   /* IFLA_LINK_NETNSID: `lower` counts in that namespace */
    uint32_t master;           /* IFLA_MASTER */
    uint32_t group;            /* IFLA_GROUP */
    uint32_t mtu;              /* bytes */
    uint32_t vrf_table;        /* of a vrf */
    char name[16];             /* IFLA_IFNAME, empty where missing */
    char kind[56];             /* IFLA_INFO_KIND, empty where missing; the kernel allows 55 bytes */
    char port_kind[56];        /* IFLA_INFO_SLAVE_KIND, empty where missing */
} cnl_link;

int cnl_parse_link(const void *bytes, size_t length, cnl_link *link);

typedef struct cnl_address {
    uint8_t family, prefix_length, scope;
    bool is_removed; /* RTM_DELADDR */
    bool has_local, has_address, has_broadcast, has_lifetimes, has_priority;
    uint32_t flags; /* IFA_F_..., all 32 bits */
    uint32_t index; /* of the interface */
    uint32_t preferred_lifetime, valid_lifetime; /* seconds, UINT32_MAX for ever */
    uint32_t priority;
    uint8_t local[16];     /* IFA_LOCAL */
    uint8_t address[16];   /* IFA_ADDRESS: the peer on a point-to-point interface */
    uint8_t broadcast[16];
} cnl_address;

int cnl_parse_address(const void *bytes, size_t length, cnl_address *address);

/* A nexthop of a route, or a leg of a multipath route. */
typedef struct cnl_leg {
    uint32_t interface_index;
    uint16_t weight; /* 1 to 256 */
    uint8_t flags;   /* RTNH_F_... */
    uint8_t gateway_family; /* 0 for none; AF_INET6 below an IPv4 route is RTA_VIA */
    uint8_t gateway[16];
    uint16_t encapsulation; /* LWTUNNEL_ENCAP_..., 0 for none */
} cnl_leg;

typedef struct cnl_route {
    uint8_t family, destination_length, source_length, tos, scope, type, protocol;
    bool is_removed; /* RTM_DELROUTE */
    bool has_priority, has_preference, has_lifetime, has_input_interface, has_output_interface;
    bool has_preferred_source;
    uint8_t preference;    /* ICMPV6_ROUTER_PREF_...: 0 medium, 1 high, 3 low */
    uint32_t flags;        /* RTM_F_..., RTNH_F_... in the low byte */
    uint32_t table;
    uint32_t priority;     /* metric */
    uint32_t nexthop_id;   /* RTA_NH_ID, 0 for none */
    uint32_t input_interface;
    int32_t expires;       /* RTA_CACHEINFO rta_expires, USER_HZ ticks; 0 = never, negative = already over */
    uint32_t error;        /* RTA_CACHEINFO rta_error */
    uint8_t destination[16];
    uint8_t source[16];
    uint8_t preferred_source[16];
    cnl_leg nexthop;       /* the single nexthop; its interface_index is 0 when there are legs or none */
    const void *_Nullable legs; /* RTA_MULTIPATH inside the message's bytes, for cnl_route_next_leg() */
    uint32_t legs_length;
} cnl_route;

int cnl_parse_route(const void *bytes, size_t length, cnl_route *route);

/* Walks the legs: start with *offset = 0. Returns 1 with a leg, 0 at the end, -EBADMSG. The message's bytes
 * must still be there. */
int cnl_route_next_leg(const cnl_route *route, uint32_t *offset, cnl_leg *leg);

typedef struct cnl_rule {
    uint8_t family, destination_length, source_length, tos, action, protocol;
    bool is_removed;  /* RTM_DELRULE */
    bool is_inverted; /* FIB_RULE_INVERT: `not` */
    bool has_mark, has_suppress_prefix_length, has_suppress_group, has_uid_range, has_ip_protocol;
    bool has_source_ports, has_destination_ports, has_tunnel_id, has_dscp, is_l3mdev;
    bool has_unknown_selector; /* an attribute that this version does not know may select: do not guess */
    uint32_t flags;    /* FIB_RULE_... */
    uint32_t priority, table, target; /* target of a goto */
    uint32_t mark, mark_mask;
    int32_t suppress_prefix_length, suppress_group;
    uint32_t first_uid, last_uid;
    uint8_t ip_protocol, dscp, dscp_mask;
    uint16_t first_source_port, last_source_port, source_port_mask;
    uint16_t first_destination_port, last_destination_port, destination_port_mask;
    uint64_t tunnel_id;
    uint32_t flow_label, flow_label_mask;
    uint8_t destination[16], source[16];
    char input_name[16], output_name[16]; /* empty for none */
} cnl_rule;

int cnl_parse_rule(const void *bytes, size_t length, cnl_rule *rule);

typedef struct cnl_nexthop {
    uint32_t id;
    bool is_removed; /* RTM_DELNEXTHOP */
    bool is_blackhole, is_fdb;
    uint8_t scope, protocol;
    uint16_t group_type; /* NEXTHOP_GRP_TYPE_... */
    cnl_leg leg;         /* of a single nexthop */
    const void *_Nullable group; /* NHA_GROUP inside the message's bytes, for cnl_nexthop_next_member() */
    uint32_t group_length;
} cnl_nexthop;

int cnl_parse_nexthop(const void *bytes, size_t length, cnl_nexthop *nexthop);

/* Walks a group's members: start with *offset = 0. Returns 1 with a member, 0 at the end. */
int cnl_nexthop_next_member(const cnl_nexthop *nexthop, uint32_t *offset, uint32_t *id, uint16_t *weight);

typedef struct cnl_neighbour {
    uint8_t family, type;
    bool is_removed; /* RTM_DELNEIGH */
    uint16_t state; /* NUD_... */
    uint8_t flags;  /* NTF_... */
    uint32_t interface_index;
    uint8_t destination[16];
} cnl_neighbour;

int cnl_parse_neighbour(const void *bytes, size_t length, cnl_neighbour *neighbour);

/* Settings of one family, of an interface or of all: sysctls below net.ipv4.conf and net.ipv6.conf. */
typedef struct cnl_settings {
    uint8_t family;
    bool has_forwards, has_ignores_linkdown; /* an announcement holds what changed alone */
    bool forwards;         /* forwarding */
    bool ignores_linkdown; /* ignore_routes_with_linkdown */
    int32_t index;         /* of the interface; -1 for `all`, -2 for `default` */
} cnl_settings;

int cnl_parse_settings(const void *bytes, size_t length, cnl_settings *settings);

#pragma clang assume_nonnull end

#endif
