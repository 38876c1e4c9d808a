/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <limits.h>
#include <netlink/errno.h>
#include <netlink/version.h>
#include <stdio.h>

#include "cnl_internal.h"

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

/* NLMSG_DONE holds a header and an errno. NLMSG_ERROR holds also the request's header, and without NLM_F_CAPPED the
 * request's payload. With NLM_F_ACK_TLVS attributes with the kernel's text follow. */
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
    return true;
}

cnl_libnl_release cnl_libnl_version(void) {
    return (cnl_libnl_release){.major = nl_ver_maj, .minor = nl_ver_min, .micro = nl_ver_mic};
}
