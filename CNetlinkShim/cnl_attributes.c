/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <limits.h>
#include <sys/socket.h>

#include "cnl_internal.h"

bool cnl_attributes_open(cnl_attributes *run, const void *head, size_t length) {
    /* libnl counts in ints and would skip the rest silently. */
    *run = (cnl_attributes){.next = head, .remaining = (int)length, .is_cut = length > INT_MAX};
    return !run->is_cut;
}

const struct nlattr *cnl_attributes_next(cnl_attributes *run) {
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

int cnl_parse_run(const struct nlattr *head, size_t length, struct nlattr **table, int maximum, unsigned *unknown) {
    memset(table, 0, sizeof(struct nlattr *) * (size_t)(maximum + 1));
    if (unknown) {
        *unknown = 0;
    }
    cnl_attributes run;
    cnl_attributes_open(&run, head, length);
    const struct nlattr *attribute;
    while ((attribute = cnl_attributes_next(&run))) {
        int type = cnl_attribute_type(attribute);
        if (type <= maximum) {
            table[type] = (struct nlattr *)attribute;
        } else if (unknown) {
            *unknown += 1;
        }
    }
    return run.is_cut ? -EBADMSG : 0;
}

int cnl_parse_nested(const struct nlattr *nest, struct nlattr **table, int maximum) {
    return cnl_parse_run(nla_data(nest), cnl_attribute_length(nest), table, maximum, NULL);
}

int cnl_parse_attributes(const void *bytes, size_t length, size_t fixed, struct nlattr **table, int maximum,
                         unsigned *unknown) {
    cnl_message message;
    if (cnl_message_first(bytes, length, &message) == 0 || message.length < NLMSG_HDRLEN + fixed) {
        return -EBADMSG;
    }
    size_t offset = NLMSG_HDRLEN + NLMSG_ALIGN(fixed);
    size_t rest = message.length > offset ? message.length - offset : 0;
    return cnl_parse_run((const struct nlattr *)((const char *)bytes + offset), rest, table, maximum, unknown);
}

int cnl_parse_message(const void *bytes, size_t length, uint16_t type, size_t fixed, struct nlattr **table,
                      int maximum, unsigned *unknown) {
    int status = cnl_parse_attributes(bytes, length, fixed, table, maximum, unknown);
    const struct nlmsghdr *header = bytes;
    if (status == 0 && header->nlmsg_type != type && header->nlmsg_type != type + 1) {
        return -ENOMSG;
    }
    return status;
}

bool cnl_copy(const struct nlattr *attribute, void *target, size_t size) {
    if (cnl_attribute_length(attribute) < size) {
        return false;
    }
    memcpy(target, cnl_attribute_value(attribute), size);
    return true;
}

bool cnl_copy_numbers(struct nlattr *const *table, const cnl_number *numbers, size_t count) {
    for (const cnl_number *number = numbers; number < numbers + count; number++) {
        const struct nlattr *attribute = table[number->attribute];
        if (!attribute) {
            continue;
        }
        if (!cnl_copy(attribute, number->target, number->size)) {
            return false;
        }
        if (number->present) {
            *number->present = true;
        }
    }
    return true;
}

size_t cnl_address_size(uint8_t family) {
    return family == AF_INET ? 4 : family == AF_INET6 ? 16 : 0;
}

bool cnl_copy_address(const struct nlattr *attribute, uint8_t family, uint8_t target[16]) {
    if (!attribute) {
        return true;
    }
    size_t size = cnl_address_size(family);
    return size != 0 && cnl_attribute_length(attribute) == size && cnl_copy(attribute, target, size);
}

bool cnl_copy_string(const struct nlattr *attribute, char *target, size_t size) {
    if (!attribute) {
        return true;
    }
    size_t length = strnlen(cnl_attribute_value(attribute), cnl_attribute_length(attribute));
    if (length >= size) {
        return false;
    }
    memcpy(target, cnl_attribute_value(attribute), length);
    target[length] = '\0';
    return true;
}

size_t cnl_message_first(const void *bytes, size_t available, cnl_message *message) {
    struct nlmsghdr header;
    if (available < sizeof(header)) {
        return 0;
    }
    memcpy(&header, bytes, sizeof(header));
    if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > available) {
        return 0;
    }
    message->bytes = bytes;
    message->length = header.nlmsg_len;
    message->type = header.nlmsg_type;
    message->flags = header.nlmsg_flags;
    message->sequence = header.nlmsg_seq;
    message->port = header.nlmsg_pid;
    size_t step = NLMSG_ALIGN((size_t)header.nlmsg_len);
    return step < available ? step : available;
}
