/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_EVENTS_H
#define CNL_EVENTS_H

#include "cnl_message.h"

#pragma clang assume_nonnull begin

/* A socket that receives the kernel's notifications and sends nothing. Reads do not block. */
typedef struct cnl_events cnl_events;

/* Opens a socket of a netlink protocol (NETLINK_ROUTE, ...). Returns NULL and fills the error on failure. The caller
   closes the socket. */
cnl_events *_Nullable cnl_events_open(int protocol, cnl_error *error);

void cnl_events_close(cnl_events *events);

/* Joins one multicast group (RTNLGRP_...). Returns 0 or a negative errno: a sandbox may refuse. */
int cnl_events_join(cnl_events *events, uint32_t group);

/* The descriptor to wait on. The handle owns it. */
int cnl_events_descriptor(const cnl_events *events);

/* A datagram from another process than the kernel. Beyond every errno: a sandbox can answer the call with EPERM. */
#define CNL_UNTRUSTED (-4096)

/* Reads one datagram and calls the handler with its messages. Returns 1 when one was read and 0 when none is queued;
 * -EBADMSG when its rest, behind the messages handed over, is malformed; -ENOBUFS when notifications were lost and
 * -EMSGSIZE when the datagram did not fit into the buffer (read until 0, then refresh everything); CNL_UNTRUSTED when
 * the datagram was dropped because of its sender; or another negative errno. */
int cnl_events_receive(cnl_events *events, cnl_message_handler handler, void *_Nullable context);

#pragma clang assume_nonnull end

#endif
