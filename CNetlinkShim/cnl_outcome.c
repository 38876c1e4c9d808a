/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <netlink/errno.h>
#include <netlink/version.h>

#include "cnl_internal.h"

cnl_outcome cnl_fail(cnl_fault *fault, int number) {
    memset(fault, 0, sizeof(*fault));
    fault->number = number;
    return CNL_FAILED;
}

/* libnl maps several errnos to one code, so the errno of the failed call is used. */
cnl_outcome cnl_fail_libnl(cnl_fault *fault, int libnl_code) {
    int number = errno;
    memset(fault, 0, sizeof(*fault));
    fault->number = number != 0 ? number : EIO;
    fault->libnl = libnl_code < 0 ? -libnl_code : libnl_code;
    return CNL_FAILED;
}

/* NLMSG_ERROR holds a header, an errno, the request's header, without NLM_F_CAPPED the request's payload, and with
 * NLM_F_ACK_TLVS attributes with the kernel's message. */
cnl_outcome cnl_refuse(cnl_fault *fault, const struct nlmsghdr *error) {
    const struct nlmsgerr *body = nlmsg_data(error);
    size_t payload = error->nlmsg_len - NLMSG_HDRLEN;

    memset(fault, 0, sizeof(*fault));
    if (payload < sizeof(*body)) {
        return cnl_fail(fault, EBADMSG);
    }
    fault->number = -body->error;
    if (!(error->nlmsg_flags & NLM_F_ACK_TLVS)) {
        return CNL_REFUSED;
    }
    size_t skip = sizeof(*body);
    if (!(error->nlmsg_flags & NLM_F_CAPPED) && body->msg.nlmsg_len >= NLMSG_HDRLEN) {
        skip += NLMSG_ALIGN(body->msg.nlmsg_len) - NLMSG_HDRLEN;
    }
    if (skip > payload) {
        return CNL_REFUSED;
    }
    struct nlattr *table[NLMSGERR_ATTR_MAX + 1];
    const struct nlattr *head = (const struct nlattr *)((const char *)body + skip);
    if (cnl_parse_run(head, payload - skip, table, NLMSGERR_ATTR_MAX, NULL) == 0 && table[NLMSGERR_ATTR_MSG]) {
        size_t length = (size_t)nla_len(table[NLMSGERR_ATTR_MSG]);
        if (length >= sizeof(fault->text)) {
            length = sizeof(fault->text) - 1;
        }
        memcpy(fault->text, nla_data(table[NLMSGERR_ATTR_MSG]), length);
    }
    return CNL_REFUSED;
}

cnl_libnl_release cnl_libnl_version(void) {
    return (cnl_libnl_release){.major = nl_ver_maj, .minor = nl_ver_min, .micro = nl_ver_mic};
}
