/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The C face over libnl: sockets, messages, attributes, the route dump and the event socket.
 *
 * Why C: libnl's message and attribute walkers are macros and static inlines over flexible arrays, its
 * error codes fold different errnos into one, and none of its pointers carries nullability. This face gives
 * Swift opaque handles and plain structs instead.
 *
 * Rules that hold for all of it:
 * - No global state. A handle may be used by one thread at a time; different handles by different threads.
 * - Whoever opens or fills a handle closes or frees it, once. Nothing else is owned by the caller.
 * - Addresses are 16 bytes in network order, an IPv4 address in the first four. Numbers are in host order.
 * - Every parser takes the bytes that are there, never reads behind them, and refuses a message that is cut
 *   or whose attributes overrun it. Attributes it does not know are skipped.
 */

#ifndef CNETLINKSHIM_H
#define CNETLINKSHIM_H

#include "cnl_kernel.h"
#include "cnl_outcome.h"
#include "cnl_message.h"
#include "cnl_query.h"
#include "cnl_events.h"
#include "cnl_route_cache.h"
#include "cnl_wireless.h"

#endif
