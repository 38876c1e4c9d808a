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

/* Joins one multicast group (RTNLGRP_...). Returns 0, or a negative errno, for example if a sandbox refuses. */
int cnl_events_join(cnl_events *events, uint32_t group);

/* The descriptor to wait on. The handle owns it. */
int cnl_events_descriptor(const cnl_events *events);

/* The status for a datagram that the kernel did not send. No errno can be this status: a sandbox can return EPERM. */
#define CNL_UNTRUSTED (-4096)

/* Reads one datagram and calls the handler with its messages. Returns 1 for a datagram and 0 if none is queued;
 * -EBADMSG if the datagram is malformed after the messages handed over; -ENOBUFS if notifications were lost and
 * -EMSGSIZE if the datagram did not fit into the buffer (read until 0, then refresh everything); CNL_UNTRUSTED if the
 * datagram was dropped because of its sender; or another negative errno. */
int cnl_events_receive(cnl_events *events, cnl_message_handler handler, void *_Nullable context);

#pragma clang assume_nonnull end

#endif
