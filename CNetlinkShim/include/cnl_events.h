/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_EVENTS_H
#define CNL_EVENTS_H

#include "cnl_message.h"

#pragma clang assume_nonnull begin

/* A socket that receives the kernel's notifications and sends nothing. Reads do not block. */
typedef struct cnl_events cnl_events;

/* Opens a socket. Returns NULL and fills the fault on failure. The caller closes the socket. */
cnl_events *_Nullable cnl_events_open(cnl_fault *fault);

void cnl_events_close(cnl_events *events);

/* Joins one multicast group (RTNLGRP_...). Returns 0 or a negative errno: a sandbox may refuse. */
int cnl_events_join(cnl_events *events, uint32_t group);

/* Requests a receive buffer of `bytes`, by SO_RCVBUFFORCE if the process may (CAP_NET_ADMIN), else up to
 * net.core.rmem_max. Returns the effective size, which the kernel counts double, or a negative errno. Sets
 * *forced if the limit did not apply. */
int64_t cnl_events_set_buffer(cnl_events *events, uint32_t bytes, bool *forced);

/* The descriptor to wait on. The handle owns it. */
int cnl_events_descriptor(const cnl_events *events);

/* A datagram from another process than the kernel. Beyond every errno: a sandbox can answer the call with EPERM. */
#define CNL_UNTRUSTED (-4096)

/* Reads one datagram. Returns 1 when one was read and 0 when none is queued; -ENOBUFS when notifications were lost
 * and -EMSGSIZE when the datagram did not fit into the buffer (read until 0, then refresh everything);
 * CNL_UNTRUSTED when the datagram was dropped because of its sender; or another negative errno. */
int cnl_events_receive(cnl_events *events);

/* Gives the next message of the last datagram, valid until the next read. Returns 1, 0 at the end, or -EBADMSG
 * when the rest of the datagram is malformed. */
int cnl_events_next(cnl_events *events, cnl_message *message);

#pragma clang assume_nonnull end

#endif
