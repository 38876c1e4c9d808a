/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_EVENTS_H
#define CNL_EVENTS_H

#include "cnl_message.h"

#pragma clang assume_nonnull begin

/* A socket that listens to the kernel's announcements and never asks. Reads do not block. */
typedef struct cnl_events cnl_events;

/* What has happened on the socket since it was opened. */
typedef struct cnl_events_counters {
    uint64_t messages;  /* handed out */
    uint64_t overruns;  /* ENOBUFS: the kernel dropped announcements */
    uint64_t spoofed;   /* datagrams whose sender was not the kernel: dropped */
    uint64_t truncated; /* datagrams larger than the read buffer: treated as an overrun */
    uint64_t malformed; /* messages whose length overruns their datagram: the rest was dropped */
} cnl_events_counters;

/* Opens one; NULL with a filled fault when that fails. The caller closes it. */
cnl_events *_Nullable cnl_events_open(cnl_fault *fault);

void cnl_events_close(cnl_events *events);

/* Joins one multicast group (RTNLGRP_...). Returns 0 or a negative errno: a sandbox may refuse. */
int cnl_events_join(cnl_events *events, uint32_t group);

/* Asks for a receive buffer of `bytes`, by force where the process may (CAP_NET_ADMIN), else as far as
 * net.core.rmem_max allows. Returns the effective size, which the kernel counts double, or a negative
 * errno; *forced says which way it went. */
int64_t cnl_events_set_buffer(cnl_events *events, uint32_t bytes, bool *forced);

/* The descriptor, to wait on. It stays the handle's. */
int cnl_events_descriptor(const cnl_events *events);

/* Looks without reading, which is cheaper. Returns 1 when something is queued, 0 when nothing is, -ENOBUFS
 * when announcements were lost (which the kernel tells only once), or another negative errno. */
int cnl_events_look(cnl_events *events);

/* Reads one datagram. Returns 1 when one was read, 0 when none is queued, -ENOBUFS when announcements were lost
 * (drain until 0, then ask again), or another negative errno. */
int cnl_events_receive(cnl_events *events);

/* Hands out the next message of the datagram last read, valid until the next read; false after the last. */
bool cnl_events_next(cnl_events *events, cnl_message *message);

cnl_events_counters cnl_events_read_counters(const cnl_events *events);

#pragma clang assume_nonnull end

#endif
