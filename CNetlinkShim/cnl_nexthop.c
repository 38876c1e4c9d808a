/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <sys/socket.h>

#include "cnl_internal.h"

int cnl_parse_nexthop_object(const void *bytes, size_t length, cnl_nexthop_object *object) {
    struct nlattr *table[NHA_MAX + 1];
    memset(object, 0, sizeof(*object));
    int status = cnl_parse_message(bytes, length, RTM_NEWNEXTHOP, sizeof(struct nhmsg), table, NHA_MAX, NULL);
    if (status != 0) {
        return status;
    }
    const struct nhmsg *body = nlmsg_data(bytes);
    object->is_blackhole = table[NHA_BLACKHOLE] != NULL;
    object->is_fdb = table[NHA_FDB] != NULL;
    object->nexthop.weight = 1;
    object->nexthop.flags = (uint8_t)(body->nh_flags & 0xff);
    object->nexthop.gateway_family = table[NHA_GATEWAY] ? body->nh_family : AF_UNSPEC;
    const cnl_number numbers[] = {
        {NHA_ID, &object->id, 4, NULL},
        {NHA_OIF, &object->nexthop.interface_index, 4, NULL},
    };
    bool whole = cnl_copy_numbers(table, numbers, CNL_COUNT(numbers)) &&
                 cnl_copy_address(table[NHA_GATEWAY], body->nh_family, object->nexthop.gateway);
    if (whole && table[NHA_GROUP]) {
        object->group = nla_data(table[NHA_GROUP]);
        object->group_length = (uint32_t)nla_len(table[NHA_GROUP]);
        whole = object->group_length % sizeof(struct nexthop_grp) == 0;
    }
    return whole ? 0 : -EBADMSG;
}

int cnl_nexthop_object_next_member(const cnl_nexthop_object *object, uint32_t *offset, uint32_t *id,
                                   uint16_t *weight) {
    struct nexthop_grp member;
    if (!object->group || object->group_length < sizeof(member) ||
        *offset > object->group_length - sizeof(member)) {
        return 0;
    }
    const unsigned char *bytes = (const unsigned char *)object->group + *offset;
    memcpy(&member, bytes, sizeof(member));
    *id = member.id;
    /* The kernel sends the weight minus one. Since Linux 6.12 its high byte follows, which older headers call resvd1
     * and newer ones weight_high. */
    const unsigned high = bytes[offsetof(struct nexthop_grp, weight) + 1];
    *weight = (uint16_t)((high << 8 | member.weight) + 1);
    *offset += sizeof(member);
    return 1;
}
