/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The C interface over libnl: sockets, requests, attributes, routes and libnl's route cache.
 *
 * Why C: libnl's message and attribute walkers are macros and static inlines over flexible arrays, its error
 * codes fold different errnos into one, and its pointers carry no nullability. This interface gives Swift opaque
 * handles and plain structs.
 *
 * For all functions:
 * - There is no global state. One thread at a time may use a handle; different threads may use different handles.
 * - The caller closes each handle that it opens, once. The caller owns nothing else.
 * - A function that sends a request or opens a handle returns false or NULL on failure, and fills the error. A function
 *   that reads bytes returns a negative errno on failure.
 * - Addresses are 16 bytes in network order, an IPv4 address in the first four. Numbers are in host order.
 * - A parser never reads beyond its input. It rejects a truncated message and a message whose attributes overrun it,
 *   and skips unknown attributes.
 */

#ifndef CNETLINKSHIM_H
#define CNETLINKSHIM_H

#include "cnl_events.h"
#include "cnl_exchange.h"
#include "cnl_error.h"
#include "cnl_kernel.h"
#include "cnl_message.h"
#include "cnl_query.h"
#include "cnl_route_cache.h"

#endif
