/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include "cnl_internal.h"

int cnl_parse_address(const void *bytes, size_t length, cnl_address *address) {
    struct nlattr *table[IFA_MAX + 1];
    memset(address, 0, sizeof(*address));
    int status = cnl_parse_message(bytes, length, RTM_NEWADDR, sizeof(struct ifaddrmsg), table, IFA_MAX, NULL);
    if (status != 0) {
        return status;
    }
    const struct ifaddrmsg *body = nlmsg_data(bytes);
    size_t size = cnl_address_size(body->ifa_family);
    if (size == 0) {
        return -ENOMSG;
    }
    if (body->ifa_prefixlen > size * 8) {
        return -EBADMSG;
    }
    address->family = body->ifa_family;
    address->prefix_length = body->ifa_prefixlen;
    address->scope = body->ifa_scope;
    address->index = body->ifa_index;
    /* The header has the lowest eight flags only; IFA_FLAGS has all. */
    address->flags = body->ifa_flags;
    address->has_local = table[IFA_LOCAL] != NULL;
    address->has_address = table[IFA_ADDRESS] != NULL;
    struct ifa_cacheinfo times = {0};
    const cnl_number numbers[] = {
        {IFA_FLAGS, &address->flags, sizeof(address->flags), NULL},
        {IFA_CACHEINFO, &times, sizeof(times), &address->has_created},
    };
    bool whole = cnl_copy_address(table[IFA_LOCAL], address->family, address->local) &&
                 cnl_copy_address(table[IFA_ADDRESS], address->family, address->address) &&
                 cnl_copy_numbers(table, numbers, CNL_COUNT(numbers));
    address->created = times.cstamp;
    return whole ? 0 : -EBADMSG;
}
