/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

#include "cnl_internal.h"

/* Attributes that kernels newer than these headers may send (enum in linux/fib_rules.h). */
enum {
    CNL_FRA_DSCP = 25,
    CNL_FRA_FLOWLABEL = 26,
    CNL_FRA_FLOWLABEL_MASK = 27,
    CNL_FRA_SPORT_MASK = 28,
    CNL_FRA_DPORT_MASK = 29,
    CNL_FRA_DSCP_MASK = 30,
    CNL_FRA_MAX = 30,
};

static bool cnl_parse_rule_ports(struct nlattr *const *table, cnl_rule *rule) {
    struct fib_rule_port_range range;
    rule->source_port_mask = UINT16_MAX;
    rule->destination_port_mask = UINT16_MAX;
    if (table[FRA_SPORT_RANGE]) {
        if (!cnl_copy(table[FRA_SPORT_RANGE], &range, sizeof(range))) {
            return false;
        }
        rule->has_source_ports = true;
        rule->first_source_port = range.start;
        rule->last_source_port = range.end;
    }
    if (table[FRA_DPORT_RANGE]) {
        if (!cnl_copy(table[FRA_DPORT_RANGE], &range, sizeof(range))) {
            return false;
        }
        rule->has_destination_ports = true;
        rule->first_destination_port = range.start;
        rule->last_destination_port = range.end;
    }
    return (!table[CNL_FRA_SPORT_MASK] || cnl_copy(table[CNL_FRA_SPORT_MASK], &rule->source_port_mask, 2)) &&
           (!table[CNL_FRA_DPORT_MASK] || cnl_copy(table[CNL_FRA_DPORT_MASK], &rule->destination_port_mask, 2));
}

static bool cnl_parse_rule_marks(struct nlattr *const *table, cnl_rule *rule) {
    rule->has_mark = table[FRA_FWMARK] || table[FRA_FWMASK];
    /* A mark without a mask compares all its bits. */
    rule->mark_mask = UINT32_MAX;
    rule->dscp_mask = UINT8_MAX;
    rule->flow_label_mask = 0;
    rule->has_dscp = table[CNL_FRA_DSCP] != NULL;
    bool whole = (!table[FRA_FWMARK] || cnl_copy(table[FRA_FWMARK], &rule->mark, 4)) &&
                 (!table[FRA_FWMASK] || cnl_copy(table[FRA_FWMASK], &rule->mark_mask, 4)) &&
                 (!table[CNL_FRA_DSCP] || cnl_copy(table[CNL_FRA_DSCP], &rule->dscp, 1)) &&
                 (!table[CNL_FRA_DSCP_MASK] || cnl_copy(table[CNL_FRA_DSCP_MASK], &rule->dscp_mask, 1)) &&
                 (!table[CNL_FRA_FLOWLABEL] || cnl_copy(table[CNL_FRA_FLOWLABEL], &rule->flow_label, 4)) &&
                 (!table[CNL_FRA_FLOWLABEL_MASK] ||
                  cnl_copy(table[CNL_FRA_FLOWLABEL_MASK], &rule->flow_label_mask, 4));
    rule->flow_label = __builtin_bswap32(rule->flow_label);
    rule->flow_label_mask = __builtin_bswap32(rule->flow_label_mask);
    return whole;
}

static bool cnl_parse_rule_numbers(struct nlattr *const *table, cnl_rule *rule) {
    struct fib_rule_uid_range uids = {0, 0};
    uint64_t tunnel = 0;
    uint8_t l3mdev = 0;
    /* Suppressing is off at -1 (all ones), which old kernels leave out and newer ones spell out. */
    rule->suppress_prefix_length = -1;
    rule->suppress_group = -1;
    bool whole =
        (!table[FRA_PRIORITY] || cnl_copy(table[FRA_PRIORITY], &rule->priority, 4)) &&
        (!table[FRA_TABLE] || cnl_copy(table[FRA_TABLE], &rule->table, 4)) &&
        (!table[FRA_GOTO] || cnl_copy(table[FRA_GOTO], &rule->target, 4)) &&
        (!table[FRA_SUPPRESS_PREFIXLEN] ||
         cnl_copy(table[FRA_SUPPRESS_PREFIXLEN], &rule->suppress_prefix_length, 4)) &&
        (!table[FRA_SUPPRESS_IFGROUP] || cnl_copy(table[FRA_SUPPRESS_IFGROUP], &rule->suppress_group, 4)) &&
        (!table[FRA_L3MDEV] || cnl_copy(table[FRA_L3MDEV], &l3mdev, 1)) &&
        (!table[FRA_UID_RANGE] || cnl_copy(table[FRA_UID_RANGE], &uids, sizeof(uids))) &&
        (!table[FRA_PROTOCOL] || cnl_copy(table[FRA_PROTOCOL], &rule->protocol, 1)) &&
        (!table[FRA_IP_PROTO] || cnl_copy(table[FRA_IP_PROTO], &rule->ip_protocol, 1)) &&
        (!table[FRA_TUN_ID] || cnl_copy(table[FRA_TUN_ID], &tunnel, 8));
    rule->has_suppress_prefix_length = rule->suppress_prefix_length >= 0;
    rule->has_suppress_group = rule->suppress_group >= 0;
    rule->is_l3mdev = l3mdev != 0;
    rule->has_uid_range = table[FRA_UID_RANGE] != NULL;
    rule->first_uid = uids.start;
    rule->last_uid = uids.end;
    rule->has_ip_protocol = rule->ip_protocol != 0;
    rule->tunnel_id = __builtin_bswap64(tunnel);
    rule->has_tunnel_id = rule->tunnel_id != 0;
    return whole;
}

static bool cnl_parse_rule_names(struct nlattr *const *table, cnl_rule *rule) {
    return (!table[FRA_IIFNAME] || cnl_copy_string(table[FRA_IIFNAME], rule->input_name, sizeof(rule->input_name))) &&
           (!table[FRA_OIFNAME] || cnl_copy_string(table[FRA_OIFNAME], rule->output_name, sizeof(rule->output_name)));
}

int cnl_parse_rule(const void *bytes, size_t length, cnl_rule *rule) {
    struct nlattr *table[CNL_FRA_MAX + 1];
    unsigned unknown = 0;
    memset(rule, 0, sizeof(*rule));
    if (cnl_sort_attributes(bytes, length, sizeof(struct fib_rule_hdr), table, CNL_FRA_MAX, &unknown) != 0) {
        return -EBADMSG;
    }
    const struct nlmsghdr *header = bytes;
    if (header->nlmsg_type != RTM_NEWRULE && header->nlmsg_type != RTM_DELRULE) {
        return -ENOMSG;
    }
    const struct fib_rule_hdr *body = nlmsg_data(header);
    size_t size = cnl_address_size(body->family);
    if (size == 0) {
        /* The rules of multicast routing (families 128 and 129) come in the same dump. */
        return -ENOMSG;
    }
    if (body->dst_len > size * 8 || body->src_len > size * 8) {
        return -EBADMSG;
    }
    rule->is_removed = header->nlmsg_type == RTM_DELRULE;
    rule->family = body->family;
    rule->destination_length = body->dst_len;
    rule->source_length = body->src_len;
    rule->tos = body->tos;
    rule->table = body->table;
    rule->action = body->action;
    rule->flags = body->flags;
    rule->is_inverted = (body->flags & FIB_RULE_INVERT) != 0;
    rule->has_unknown_selector = unknown > 0;

    bool whole = (!table[FRA_DST] || cnl_copy_address(table[FRA_DST], rule->family, rule->destination)) &&
                 (!table[FRA_SRC] || cnl_copy_address(table[FRA_SRC], rule->family, rule->source)) &&
                 cnl_parse_rule_numbers(table, rule) && cnl_parse_rule_marks(table, rule) &&
                 cnl_parse_rule_ports(table, rule) && cnl_parse_rule_names(table, rule);
    return whole ? 0 : -EBADMSG;
}
