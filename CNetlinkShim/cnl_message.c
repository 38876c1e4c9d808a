/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <limits.h>
#include <netlink/errno.h>
#include <netlink/version.h>
#include <stdio.h>
#include <sys/socket.h>

#include "cnl_internal.h"

/* MARK: errors */

bool cnl_fail(cnl_error *error, int number) {
    memset(error, 0, sizeof(*error));
    error->number = number;
    return false;
}

/* libnl maps several errnos to one code, so the errno of the failed call is used. */
bool cnl_fail_libnl(cnl_error *error, int libnl_code) {
    int number = errno;
    cnl_fail(error, number != 0 ? number : EIO);
    if (number == 0) {
        snprintf(error->text, sizeof(error->text), "%s", nl_geterror(libnl_code));
    }
    return false;
}

cnl_libnl_release cnl_libnl_version(void) {
    return (cnl_libnl_release){.major = nl_ver_maj, .minor = nl_ver_min, .micro = nl_ver_mic};
}

/* MARK: datagrams */

/* With MSG_TRUNC the kernel returns the length of a datagram even if it did not fit. */
ssize_t cnl_receive(int descriptor, void *buffer, size_t size, int flags, struct sockaddr_nl *sender) {
    socklen_t sender_size = sizeof(*sender);
    ssize_t length;
    do {
        length = recvfrom(descriptor, buffer, size, MSG_TRUNC | flags, (struct sockaddr *)sender, &sender_size);
    } while (length < 0 && errno == EINTR);
    if (length >= 0 && (sender_size != sizeof(*sender) || sender->nl_family != AF_NETLINK)) {
        sender->nl_pid = UINT32_MAX;
    }
    return length < 0 ? -errno : length;
}

int cnl_for_each_message(const void *bytes, size_t length, cnl_message_handler handler, void *context) {
    int rest = (int)length;
    struct nlmsghdr *message = (struct nlmsghdr *)bytes;
    for (; nlmsg_ok(message, rest); message = nlmsg_next(message, &rest)) {
        handler(message, context);
    }
    return rest > 0 ? -EBADMSG : 0;
}

/* MARK: attributes */

cnl_run cnl_run_of(const void *head, size_t length) {
    /* libnl counts in ints, and would silently skip the bytes beyond INT_MAX. */
    return (cnl_run){.next = head, .remaining = (int)length, .is_cut = length > INT_MAX};
}

const struct nlattr *cnl_run_next(cnl_run *run) {
    if (run->is_cut || run->remaining <= 0) {
        return NULL;
    }
    const struct nlattr *attribute = (const struct nlattr *)run->next;
    /* nla_ok() also rejects a header that overruns the remaining bytes. nla_parse() would ignore these bytes and accept
     * half a message. */
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

/* NLMSG_DONE contains a header and an errno. NLMSG_ERROR also contains the request's header, and without NLM_F_CAPPED
 * the request's payload. With NLM_F_ACK_TLVS, attributes with the kernel's text follow. */
bool cnl_read_status(const struct nlmsghdr *message, cnl_error *error) {
    const struct nlmsgerr *body = nlmsg_data(message);
    bool is_error = message->nlmsg_type == NLMSG_ERROR;
    size_t skip = is_error ? sizeof(*body) : sizeof(body->error);
    size_t payload = message->nlmsg_len - NLMSG_HDRLEN;
    cnl_fail(error, 0);
    /* The kernel's errors are negative errnos. */
    if (payload < skip || body->error > 0 || body->error == INT_MIN) {
        return false;
    }
    error->number = -body->error;
    if (is_error && !(message->nlmsg_flags & NLM_F_CAPPED) && body->msg.nlmsg_len >= NLMSG_HDRLEN) {
        skip += NLMSG_ALIGN(body->msg.nlmsg_len) - NLMSG_HDRLEN;
    }
    cnl_attributes attributes;
    if (!(message->nlmsg_flags & NLM_F_ACK_TLVS) || skip > payload ||
        cnl_parse_attributes((const char *)body + skip, payload - skip, &attributes) != 0) {
        return true;
    }
    const struct nlattr *text = attributes.by_type[NLMSGERR_ATTR_MSG];
    if (text) {
        nla_strlcpy(error->text, text, sizeof(error->text));
    }
    const struct nlattr *offset = attributes.by_type[NLMSGERR_ATTR_OFFS];
    if (offset && cnl_attribute_length(offset) >= sizeof(error->attribute_offset)) {
        memcpy(&error->attribute_offset, cnl_attribute_value(offset), sizeof(error->attribute_offset));
    }
    return true;
}

/* MARK: routes */

/* Copies a value of fixed size. Returns false if the attribute is shorter. */
static bool cnl_copy(const struct nlattr *attribute, void *target, size_t size) {
    if (cnl_attribute_length(attribute) < size) {
        return false;
    }
    memcpy(target, cnl_attribute_value(attribute), size);
    return true;
}

/* Copies an address. Returns false if its length does not match the family. */
static bool cnl_copy_address(const struct nlattr *attribute, uint8_t family, uint8_t target[16]) {
    size_t size = cnl_address_size(family);
    return size != 0 && cnl_attribute_length(attribute) == size && cnl_copy(attribute, target, size);
}

/* RTA_VIA: a family and an address, for a gateway of another family than the route's. */
static bool cnl_parse_via(const struct nlattr *attribute, cnl_nexthop *nexthop) {
    uint16_t family;
    size_t length = cnl_attribute_length(attribute);
    if (length < sizeof(family)) {
        return false;
    }
    memcpy(&family, cnl_attribute_value(attribute), sizeof(family));
    size_t size = cnl_address_size((uint8_t)family);
    if (family > UINT8_MAX || size == 0 || length - sizeof(family) < size) {
        return false;
    }
    nexthop->gateway_family = (uint8_t)family;
    memcpy(nexthop->gateway, (const char *)cnl_attribute_value(attribute) + sizeof(family), size);
    return true;
}

/* Reads an attribute that a route and each of its nexthops can have. */
static bool cnl_read_hop(const struct nlattr *attribute, uint8_t family, cnl_nexthop *nexthop) {
    switch (cnl_attribute_type(attribute)) {
    case RTA_GATEWAY:
        nexthop->gateway_family = family;
        return cnl_copy_address(attribute, family, nexthop->gateway);
    case RTA_VIA:
        return cnl_parse_via(attribute, nexthop);
    case RTA_ENCAP_TYPE:
        return cnl_copy(attribute, &nexthop->encapsulation, sizeof(nexthop->encapsulation));
    case RTA_ENCAP:
        nexthop->encapsulation_bytes = cnl_attribute_value(attribute);
        nexthop->encapsulation_length = (uint32_t)cnl_attribute_length(attribute);
        return true;
    default:
        return true;
    }
}

/* Points at RTA_MULTIPATH and checks all nexthops in it. */
static int cnl_read_nexthops(const struct nlattr *attribute, cnl_route *route) {
    route->nexthops = cnl_attribute_value(attribute);
    route->nexthops_length = (uint32_t)cnl_attribute_length(attribute);
    uint32_t offset = 0;
    cnl_nexthop nexthop;
    int status;
    while ((status = cnl_route_next_nexthop(route, &offset, &nexthop)) > 0) {
    }
    return status;
}

/* Reads the MTU in RTA_METRICS. Ignores a truncated one. */
static void cnl_read_metrics(const struct nlattr *attribute, cnl_route *route) {
    cnl_run run = cnl_run_of(cnl_attribute_value(attribute), cnl_attribute_length(attribute));
    const struct nlattr *metric;
    while ((metric = cnl_run_next(&run))) {
        if (cnl_attribute_type(metric) == RTAX_MTU) {
            cnl_copy(metric, &route->mtu, sizeof(route->mtu));
        }
    }
}

/* Reads one attribute. `route` has the fields of the header. */
static bool cnl_read_route(const struct nlattr *attribute, cnl_route *route) {
    struct rta_cacheinfo lifetime;
    switch (cnl_attribute_type(attribute)) {
    case RTA_DST:
        return cnl_copy_address(attribute, route->family, route->destination);
    case RTA_SRC:
        return cnl_copy_address(attribute, route->family, route->source);
    case RTA_PREFSRC:
        route->has_preferred_source = true;
        return cnl_copy_address(attribute, route->family, route->preferred_source);
    case RTA_TABLE:
        return cnl_copy(attribute, &route->table, sizeof(route->table));
    case RTA_PRIORITY:
        return cnl_copy(attribute, &route->priority, sizeof(route->priority));
    case RTA_NH_ID:
        return cnl_copy(attribute, &route->nexthop_id, sizeof(route->nexthop_id));
    case RTA_OIF:
        return cnl_copy(attribute, &route->nexthop.interface_index, sizeof(route->nexthop.interface_index));
    case RTA_PREF:
        return cnl_copy(attribute, &route->preference, sizeof(route->preference));
    case RTA_CACHEINFO:
        if (!cnl_copy(attribute, &lifetime, sizeof(lifetime))) {
            return false;
        }
        route->has_lifetime = true;
        route->expires = lifetime.rta_expires;
        return true;
    case RTA_METRICS:
        cnl_read_metrics(attribute, route);
        return true;
    case RTA_MULTIPATH:
        return cnl_read_nexthops(attribute, route) == 0;
    default:
        return cnl_read_hop(attribute, route->family, &route->nexthop);
    }
}

/* The length of the message before its attributes. */
#define CNL_ROUTE_HEAD (NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct rtmsg)))

/* Checks everything except the attributes. Returns 0, -ENOMSG or -EBADMSG. */
static int cnl_check_route(const struct nlmsghdr *message, size_t length) {
    /* libnl counts in ints. */
    if (length < CNL_ROUTE_HEAD || message->nlmsg_len < CNL_ROUTE_HEAD || message->nlmsg_len > length ||
        message->nlmsg_len > INT_MAX) {
        return -EBADMSG;
    }
    const struct rtmsg *body = nlmsg_data(message);
    size_t bits = cnl_address_size(body->rtm_family) * 8;
    if (bits == 0 || (message->nlmsg_type != RTM_NEWROUTE && message->nlmsg_type != RTM_DELROUTE)) {
        /* Another type of message, or another family such as MPLS or multicast routing. */
        return -ENOMSG;
    }
    return body->rtm_dst_len > bits || body->rtm_src_len > bits ? -EBADMSG : 0;
}

int cnl_parse_route(const void *bytes, size_t length, cnl_route *route) {
    memset(route, 0, sizeof(*route));
    const struct nlmsghdr *message = bytes;
    int status = cnl_check_route(message, length);
    if (status != 0) {
        return status;
    }
    const struct rtmsg *body = nlmsg_data(message);
    route->family = body->rtm_family;
    route->destination_length = body->rtm_dst_len;
    route->source_length = body->rtm_src_len;
    route->tos = body->rtm_tos;
    route->table = body->rtm_table;
    route->protocol = body->rtm_protocol;
    route->scope = body->rtm_scope;
    route->type = body->rtm_type;
    route->flags = body->rtm_flags;
    route->nexthop.weight = 1;
    route->nexthop.flags = (uint8_t)(route->flags & 0xff);
    cnl_run run = cnl_run_of((const char *)bytes + CNL_ROUTE_HEAD, message->nlmsg_len - CNL_ROUTE_HEAD);
    const struct nlattr *attribute;
    while ((attribute = cnl_run_next(&run))) {
        if (!cnl_read_route(attribute, route)) {
            return -EBADMSG;
        }
    }
    return run.is_cut ? -EBADMSG : 0;
}

int cnl_parse_destination(const void *bytes, size_t length, cnl_destination *destination) {
    int status = cnl_check_route(bytes, length);
    if (status != 0) {
        return status;
    }
    const struct rtmsg *body = nlmsg_data(bytes);
    *destination = (cnl_destination){.family = body->rtm_family, .length = body->rtm_dst_len};
    struct nlattr *attribute = nlmsg_find_attr((struct nlmsghdr *)bytes, sizeof(*body), RTA_DST);
    bool is_whole = attribute ? cnl_copy_address(attribute, body->rtm_family, destination->address)
                              : body->rtm_dst_len == 0;
    return is_whole ? 0 : -EBADMSG;
}

int cnl_route_next_nexthop(const cnl_route *route, uint32_t *offset, cnl_nexthop *nexthop) {
    if (!route->nexthops || *offset >= route->nexthops_length) {
        return 0;
    }
    const char *place = (const char *)route->nexthops + *offset;
    size_t rest = route->nexthops_length - *offset;
    struct rtnexthop head;
    if (rest < sizeof(head)) {
        return -EBADMSG;
    }
    memcpy(&head, place, sizeof(head));
    if (head.rtnh_len < sizeof(head) || head.rtnh_len > rest) {
        return -EBADMSG;
    }
    memset(nexthop, 0, sizeof(*nexthop));
    nexthop->interface_index = (uint32_t)head.rtnh_ifindex;
    nexthop->flags = head.rtnh_flags;
    /* The kernel sends the weight minus one. */
    nexthop->weight = (uint16_t)(head.rtnh_hops + 1);

    cnl_run run = cnl_run_of(place + RTNH_LENGTH(0), head.rtnh_len - RTNH_LENGTH(0));
    const struct nlattr *attribute;
    while ((attribute = cnl_run_next(&run))) {
        if (!cnl_read_hop(attribute, route->family, nexthop)) {
            return -EBADMSG;
        }
    }
    if (run.is_cut) {
        return -EBADMSG;
    }
    *offset += RTNH_ALIGN(head.rtnh_len);
    return 1;
}
