/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "cnl_internal.h"

int cnl_parse_neighbour(const void *bytes, size_t length, cnl_neighbour *neighbour) {
    struct nlattr *table[NDA_MAX + 1];
    memset(neighbour, 0, sizeof(*neighbour));
    if (cnl_sort_attributes(bytes, length, sizeof(struct ndmsg), table, NDA_MAX, NULL) != 0) {
        return -EBADMSG;
    }
    const struct nlmsghdr *header = bytes;
    if (header->nlmsg_type != RTM_NEWNEIGH && header->nlmsg_type != RTM_DELNEIGH) {
        return -ENOMSG;
    }
    const struct ndmsg *body = nlmsg_data(header);
    if (cnl_address_size(body->ndm_family) == 0 || !table[NDA_DST]) {
        /* A bridge's forwarding entry, say. */
        return -ENOMSG;
    }
    neighbour->is_removed = header->nlmsg_type == RTM_DELNEIGH;
    neighbour->family = body->ndm_family;
    neighbour->type = body->ndm_type;
    neighbour->state = body->ndm_state;
    neighbour->flags = body->ndm_flags;
    neighbour->interface_index = (uint32_t)body->ndm_ifindex;
    return cnl_copy_address(table[NDA_DST], neighbour->family, neighbour->destination) ? 0 : -EBADMSG;
}
