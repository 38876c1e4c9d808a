/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The other side of the benchmarks: the same questions as a C programmer would ask them by hand, with system
 * calls and the kernel's own headers only, as little work as the answer allows. Also libnl's route cache.
 *
 * Numbers below 0 are negative errnos throughout.
 */

#ifndef CBASELINE_H
#define CBASELINE_H

#include <stdbool.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/* Opens a bare NETLINK_ROUTE socket with strict checking on. The caller closes it with close(). */
int baseline_open(void);

/* RTM_GETROUTE for an IPv4 address (host byte order) through a socket kept open: one send, one recv into a
 * buffer on the stack, a walk over the attributes. With `wants_entry` the table's entry is asked for
 * (RTM_F_FIB_MATCH), else the leg chosen. Returns the outgoing interface's index. */
int baseline_route(int descriptor, uint32_t address, bool wants_entry);

/* `count` round trips, one after the other; stops at the first that fails. Returns the last answer. */
int baseline_routes(int descriptor, uint32_t address, bool wants_entry, int count);

/* Runs `work` on `threads` threads at once and returns the nanoseconds from the moment when all were ready
 * until the last was done. */
int64_t baseline_at_once(int threads, void (*work)(int thread, void *_Nullable context), void *_Nullable context);

/* `count` round trips on each of `threads` threads at once, every thread through a socket of its own that was
 * opened before. Returns the nanoseconds that they took. */
int64_t baseline_routes_at_once(int threads, uint32_t address, bool wants_entry, int count);

/* Dumps the IPv4 routes of every table through a socket kept open, in reads of 32 KiB, and walks over the
 * attributes of each. Returns their number; *checksum keeps the compiler from dropping the walk. */
int64_t baseline_dump(int descriptor, uint64_t *checksum);

/* Loads libnl's own route cache (rtnl_route_alloc_cache, IPv4) through a socket of its own and frees it.
 * Returns how many routes it kept. */
int64_t baseline_libnl_cache(void);

#pragma clang assume_nonnull end

#endif
