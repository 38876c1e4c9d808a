/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_WIRELESS_H
#define CNL_WIRELESS_H

#include <stdbool.h>

#include "cnl_message.h"

#pragma clang assume_nonnull begin

typedef void (*cnl_wireless_handler)(uint32_t interface_index, void *_Nullable context);

/* Lists the Wi-Fi interfaces of this network namespace (NL80211_CMD_GET_INTERFACE) through a socket of its own.
 * CNL_REFUSED with ENOENT means that the kernel has no nl80211. */
cnl_outcome cnl_wireless_list(cnl_wireless_handler handler, void *_Nullable context, cnl_fault *fault);

/* Reads the interface index out of one message of the NL80211_CMD_GET_INTERFACE dump. Returns 0, -ENOMSG for a
 * device without a network interface, or -EBADMSG. */
int cnl_parse_wireless(const void *bytes, size_t length, uint32_t *interface_index);

/* Reads the signal of an interface in dBm: that of the access point it uses (NL80211_CMD_GET_STATION). *is_known is
 * false on return if no station or driver reports one. CNL_REFUSED with ENOENT means that the kernel has no nl80211. */
cnl_outcome cnl_wireless_signal(uint32_t interface_index, int8_t *signal, bool *is_known, cnl_fault *fault);

/* Reads the signal out of one message of the NL80211_CMD_GET_STATION dump. Returns 0, -ENOMSG for a station without
 * one, or -EBADMSG. */
int cnl_parse_station(const void *bytes, size_t length, int8_t *signal);

#pragma clang assume_nonnull end

#endif
