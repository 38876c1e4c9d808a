/* SPDX-License-Identifier: Apache-2.0 */

#include <endian.h>
#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

#include "cnl_internal.h"

/* Attributes of linux/fib_rules.h that the headers of this build may not have. */
enum {
    CNL_FRA_DSCP = 25,
    CNL_FRA_FLOWLABEL = 26,
    CNL_FRA_FLOWLABEL_MASK = 27,
    CNL_FRA_SPORT_MASK = 28,
    CNL_FRA_DPORT_MASK = 29,
    CNL_FRA_DSCP_MASK = 30,
    CNL_FRA_MAX = 30,
};

static bool cnl_parse_rule_selectors(struct nlattr *const *table, cnl_rule *rule) {
    struct fib_rule_uid_range uids = {0, 0};
    struct fib_rule_port_range sources = {0, 0}, destinations = {0, 0};
    uint64_t tunnel = 0;
    uint16_t source_mask = UINT16_MAX, destination_mask = UINT16_MAX;
    uint32_t flow_label_mask = 0;
    /* A mark or a DSCP without a mask compares all its bits. */
    rule->mark_mask = UINT32_MAX;
    rule->dscp_mask = UINT8_MAX;
    rule->has_mark = table[FRA_FWMARK] || table[FRA_FWMASK];
    const cnl_number numbers[] = {
        {FRA_FWMARK, &rule->mark, 4, NULL},
        {FRA_FWMASK, &rule->mark_mask, 4, NULL},
        {FRA_UID_RANGE, &uids, sizeof(uids), &rule->has_uid_range},
        {FRA_IP_PROTO, &rule->ip_protocol, 1, NULL},
        {FRA_SPORT_RANGE, &sources, sizeof(sources), &rule->has_source_ports},
        {FRA_DPORT_RANGE, &destinations, sizeof(destinations), &rule->has_destination_ports},
        {FRA_TUN_ID, &tunnel, 8, NULL},
        {CNL_FRA_DSCP, &rule->dscp, 1, &rule->has_dscp},
        {CNL_FRA_DSCP_MASK, &rule->dscp_mask, 1, NULL},
        {CNL_FRA_SPORT_MASK, &source_mask, 2, NULL},
        {CNL_FRA_DPORT_MASK, &destination_mask, 2, NULL},
        {CNL_FRA_FLOWLABEL_MASK, &flow_label_mask, 4, NULL},
    };
    bool whole = cnl_copy_numbers(table, numbers, CNL_COUNT(numbers));
    rule->first_uid = uids.start;
    rule->last_uid = uids.end;
    rule->first_source_port = sources.start;
    rule->last_source_port = sources.end;
    rule->first_destination_port = destinations.start;
    rule->last_destination_port = destinations.end;
    rule->tunnel_id = be64toh(tunnel);
    rule->has_unknown_selector |=
        source_mask != UINT16_MAX || destination_mask != UINT16_MAX || flow_label_mask != 0;
    return whole && cnl_copy_string(table[FRA_IIFNAME], rule->input_name, sizeof(rule->input_name)) &&
           cnl_copy_string(table[FRA_OIFNAME], rule->output_name, sizeof(rule->output_name));
}

static bool cnl_parse_rule_action(struct nlattr *const *table, cnl_rule *rule) {
    uint8_t l3mdev = 0;
    /* Old kernels leave the attributes out when nothing is suppressed, newer ones send -1. */
    rule->suppress_prefix_length = -1;
    rule->suppress_group = -1;
    const cnl_number numbers[] = {
        {FRA_PRIORITY, &rule->priority, 4, NULL},
        {FRA_TABLE, &rule->table, 4, NULL},
        {FRA_GOTO, &rule->target, 4, NULL},
        {FRA_SUPPRESS_PREFIXLEN, &rule->suppress_prefix_length, 4, NULL},
        {FRA_SUPPRESS_IFGROUP, &rule->suppress_group, 4, NULL},
        {FRA_L3MDEV, &l3mdev, 1, NULL},
    };
    bool whole = cnl_copy_numbers(table, numbers, CNL_COUNT(numbers));
    rule->is_l3mdev = l3mdev != 0;
    return whole;
}

int cnl_parse_rule(const void *bytes, size_t length, cnl_rule *rule) {
    struct nlattr *table[CNL_FRA_MAX + 1];
    unsigned unknown = 0;
    memset(rule, 0, sizeof(*rule));
    int status =
        cnl_parse_message(bytes, length, RTM_NEWRULE, sizeof(struct fib_rule_hdr), table, CNL_FRA_MAX, &unknown);
    if (status != 0) {
        return status;
    }
    const struct fib_rule_hdr *body = nlmsg_data(bytes);
    size_t size = cnl_address_size(body->family);
    if (size == 0) {
        /* The rules of multicast routing (RTNL_FAMILY_IPMR, RTNL_FAMILY_IP6MR) are in the same dump. */
        return -ENOMSG;
    }
    if (body->dst_len > size * 8 || body->src_len > size * 8) {
        return -EBADMSG;
    }
    rule->family = body->family;
    rule->destination_length = body->dst_len;
    rule->source_length = body->src_len;
    rule->tos = body->tos;
    rule->table = body->table;
    rule->action = body->action;
    rule->flags = body->flags;
    rule->has_unknown_selector = unknown > 0;

    bool whole = cnl_copy_address(table[FRA_DST], rule->family, rule->destination) &&
                 cnl_copy_address(table[FRA_SRC], rule->family, rule->source) &&
                 cnl_parse_rule_selectors(table, rule) && cnl_parse_rule_action(table, rule);
    return whole ? 0 : -EBADMSG;
}
