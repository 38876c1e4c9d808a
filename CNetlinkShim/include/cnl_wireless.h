/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_WIRELESS_H
#define CNL_WIRELESS_H

#include "cnl_message.h"

#pragma clang assume_nonnull begin

/* An interface of nl80211, the kernel's Wi-Fi configuration. */
typedef struct cnl_wireless_interface {
    uint32_t index;
    uint32_t type; /* NL80211_IFTYPE_...: 2 station, 3 access point, 6 monitor ... */
} cnl_wireless_interface;

typedef void (*cnl_wireless_handler)(const cnl_wireless_interface *interface, void *_Nullable context);

/* Lists the Wi-Fi interfaces of this network namespace over generic netlink, through a socket of its own.
 * CNL_REFUSED with ENOENT means that this kernel has no nl80211: there is no Wi-Fi. */
cnl_outcome cnl_wireless_list(cnl_wireless_handler handler, void *_Nullable context, cnl_fault *fault);

/* Reads one nl80211 answer (the messages of a NL80211_CMD_GET_INTERFACE dump). Returns 0, -ENOMSG when it
 * names no interface, or -EBADMSG. */
int cnl_parse_wireless(const void *bytes, size_t length, cnl_wireless_interface *interface);

#pragma clang assume_nonnull end

#endif
