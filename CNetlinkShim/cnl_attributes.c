/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <limits.h>

#include "cnl_internal.h"

cnl_run cnl_run_of(const void *head, size_t length) {
    /* libnl counts in ints and would skip the rest silently. */
    return (cnl_run){.next = head, .remaining = (int)length, .is_cut = length > INT_MAX};
}

const struct nlattr *cnl_run_next(cnl_run *run) {
    if (run->is_cut || run->remaining <= 0) {
        return NULL;
    }
    const struct nlattr *attribute = (const struct nlattr *)run->next;
    /* nla_ok() also refuses a header that overruns the rest, where nla_parse() would ignore the rest and accept half a
     * message. */
    if (!nla_ok(attribute, run->remaining)) {
        run->is_cut = true;
        return NULL;
    }
    int step = NLA_ALIGN(attribute->nla_len);
    step = step < run->remaining ? step : run->remaining;
    run->next += step;
    run->remaining -= step;
    return attribute;
}

int cnl_parse_attributes(const void *bytes, size_t length, cnl_attributes *attributes) {
    memset(attributes, 0, sizeof(*attributes));
    cnl_run run = cnl_run_of(bytes, length);
    const struct nlattr *attribute;
    while ((attribute = cnl_run_next(&run))) {
        size_t type = (size_t)cnl_attribute_type(attribute);
        if (type < CNL_COUNT(attributes->by_type)) {
            attributes->by_type[type] = attribute;
        }
        if (type > attributes->highest_type) {
            attributes->highest_type = (uint16_t)type;
        }
    }
    return run.is_cut ? -EBADMSG : 0;
}

int cnl_next_attribute(const void *bytes, size_t length, size_t *offset, const struct nlattr **attribute) {
    cnl_run run = cnl_run_of((const char *)bytes + *offset, length - *offset);
    *attribute = cnl_run_next(&run);
    *offset = length - (size_t)run.remaining;
    return run.is_cut ? -EBADMSG : *attribute != NULL;
}

int cnl_for_each_message(const void *bytes, size_t length, cnl_message_handler handler, void *context) {
    int rest = (int)length;
    struct nlmsghdr *message = (struct nlmsghdr *)bytes;
    for (; nlmsg_ok(message, rest); message = nlmsg_next(message, &rest)) {
        handler(message, context);
    }
    return rest > 0 ? -EBADMSG : 0;
}
