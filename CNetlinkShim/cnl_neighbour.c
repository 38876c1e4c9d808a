/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "cnl_internal.h"

int cnl_parse_neighbour(const void *bytes, size_t length, cnl_neighbour *neighbour) {
    struct nlattr *table[NDA_MAX + 1];
    memset(neighbour, 0, sizeof(*neighbour));
    int status = cnl_parse_message(bytes, length, RTM_NEWNEIGH, sizeof(struct ndmsg), table, NDA_MAX, NULL);
    if (status != 0) {
        return status;
    }
    const struct ndmsg *body = nlmsg_data(bytes);
    if (cnl_address_size(body->ndm_family) == 0 || !table[NDA_DST]) {
        /* Another kind of entry, such as one of a bridge's forwarding table. */
        return -ENOMSG;
    }
    neighbour->family = body->ndm_family;
    neighbour->state = body->ndm_state;
    neighbour->interface_index = (uint32_t)body->ndm_ifindex;
    return cnl_copy_address(table[NDA_DST], neighbour->family, neighbour->destination) ? 0 : -EBADMSG;
}
