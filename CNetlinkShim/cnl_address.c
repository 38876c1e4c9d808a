/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include "cnl_internal.h"

static bool cnl_parse_lifetimes(const struct nlattr *attribute, cnl_address *address) {
    struct ifa_cacheinfo info;
    if (!cnl_copy(attribute, &info, sizeof(info))) {
        return false;
    }
    address->has_lifetimes = true;
    address->preferred_lifetime = info.ifa_prefered;
    address->valid_lifetime = info.ifa_valid;
    return true;
}

int cnl_parse_address(const void *bytes, size_t length, cnl_address *address) {
    struct nlattr *table[IFA_MAX + 1];
    memset(address, 0, sizeof(*address));
    if (cnl_sort_attributes(bytes, length, sizeof(struct ifaddrmsg), table, IFA_MAX, NULL) != 0) {
        return -EBADMSG;
    }
    const struct nlmsghdr *header = bytes;
    if (header->nlmsg_type != RTM_NEWADDR && header->nlmsg_type != RTM_DELADDR) {
        return -ENOMSG;
    }
    const struct ifaddrmsg *body = nlmsg_data(header);
    size_t size = cnl_address_size(body->ifa_family);
    if (size == 0) {
        return -ENOMSG;
    }
    if (body->ifa_prefixlen > size * 8) {
        return -EBADMSG;
    }
    address->is_removed = header->nlmsg_type == RTM_DELADDR;
    address->family = body->ifa_family;
    address->prefix_length = body->ifa_prefixlen;
    address->scope = body->ifa_scope;
    address->index = body->ifa_index;
    /* The header has only eight bits of them; the attribute has all. */
    address->flags = body->ifa_flags;

    address->has_local = table[IFA_LOCAL] != NULL;
    address->has_address = table[IFA_ADDRESS] != NULL;
    address->has_broadcast = table[IFA_BROADCAST] != NULL;
    address->has_priority = table[IFA_RT_PRIORITY] != NULL;
    bool whole =
        (!table[IFA_LOCAL] || cnl_copy_address(table[IFA_LOCAL], address->family, address->local)) &&
        (!table[IFA_ADDRESS] || cnl_copy_address(table[IFA_ADDRESS], address->family, address->address)) &&
        (!table[IFA_BROADCAST] || cnl_copy_address(table[IFA_BROADCAST], address->family, address->broadcast)) &&
        (!table[IFA_FLAGS] || cnl_copy(table[IFA_FLAGS], &address->flags, sizeof(address->flags))) &&
        (!table[IFA_RT_PRIORITY] || cnl_copy(table[IFA_RT_PRIORITY], &address->priority, sizeof(address->priority))) &&
        (!table[IFA_CACHEINFO] || cnl_parse_lifetimes(table[IFA_CACHEINFO], address));
    return whole ? 0 : -EBADMSG;
}
