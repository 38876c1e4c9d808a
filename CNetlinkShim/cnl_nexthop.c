/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "cnl_internal.h"

int cnl_parse_nexthop(const void *bytes, size_t length, cnl_nexthop *nexthop) {
    struct nlattr *table[NHA_MAX + 1];
    memset(nexthop, 0, sizeof(*nexthop));
    if (cnl_sort_attributes(bytes, length, sizeof(struct nhmsg), table, NHA_MAX, NULL) != 0) {
        return -EBADMSG;
    }
    const struct nlmsghdr *header = bytes;
    if (header->nlmsg_type != RTM_NEWNEXTHOP && header->nlmsg_type != RTM_DELNEXTHOP) {
        return -ENOMSG;
    }
    const struct nhmsg *body = nlmsg_data(header);
    nexthop->is_removed = header->nlmsg_type == RTM_DELNEXTHOP;
    nexthop->scope = body->nh_scope;
    nexthop->protocol = body->nh_protocol;
    nexthop->is_blackhole = table[NHA_BLACKHOLE] != NULL;
    nexthop->is_fdb = table[NHA_FDB] != NULL;
    nexthop->leg.weight = 1;
    nexthop->leg.flags = (uint8_t)(body->nh_flags & 0xff);

    bool whole = (!table[NHA_ID] || cnl_copy(table[NHA_ID], &nexthop->id, 4)) &&
                 (!table[NHA_OIF] || cnl_copy(table[NHA_OIF], &nexthop->leg.interface_index, 4)) &&
                 (!table[NHA_GROUP_TYPE] || cnl_copy(table[NHA_GROUP_TYPE], &nexthop->group_type, 2)) &&
                 (!table[NHA_ENCAP_TYPE] || cnl_copy(table[NHA_ENCAP_TYPE], &nexthop->leg.encapsulation, 2));
    if (whole && table[NHA_GATEWAY]) {
        whole = cnl_copy_address(table[NHA_GATEWAY], body->nh_family, nexthop->leg.gateway);
        nexthop->leg.gateway_family = body->nh_family;
    }
    if (whole && table[NHA_GROUP]) {
        nexthop->group = nla_data(table[NHA_GROUP]);
        nexthop->group_length = (uint32_t)nla_len(table[NHA_GROUP]);
        whole = nexthop->group_length % sizeof(struct nexthop_grp) == 0;
    }
    return whole ? 0 : -EBADMSG;
}

int cnl_nexthop_next_member(const cnl_nexthop *nexthop, uint32_t *offset, uint32_t *id, uint16_t *weight) {
    struct nexthop_grp member;
    if (!nexthop->group || nexthop->group_length < sizeof(member) ||
        *offset > nexthop->group_length - sizeof(member)) {
        return 0;
    }
    memcpy(&member, (const char *)nexthop->group + *offset, sizeof(member));
    *id = member.id;
    /* Newer kernels put the high byte of the weight less one into the first reserved byte. */
    *weight = (uint16_t)(((uint16_t)member.resvd1 << 8 | member.weight) + 1);
    *offset += sizeof(member);
    return 1;
}
