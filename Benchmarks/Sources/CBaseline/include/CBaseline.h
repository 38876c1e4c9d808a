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

/* `count` questions, 64 in one send, each for an address that is `step` above that of the one before; their answers
 * are read one by one. Returns the last answer. */
int baseline_routes_together(int descriptor, uint32_t address, uint32_t step, bool wants_entry, int count);

/* RTM_GETLINK for an interface without its statistics, `count` times. Returns 0. */
int baseline_links(int descriptor, int index, int count);

/* Runs `work` on `threads` threads at once and returns the nanoseconds from the moment when all were ready
 * until the last was done. */
int64_t baseline_at_once(int threads, void (*work)(int thread, void *_Nullable context), void *_Nullable context);

/* `count` round trips on each of `threads` threads at once, every thread through a socket of its own that was
 * opened before. Returns the nanoseconds that they took. */
int64_t baseline_routes_at_once(int threads, uint32_t address, bool wants_entry, int count);

/* Dumps the IPv4 routes of every table through a socket kept open, in reads of 32 KiB, and walks over the
 * attributes of each. Returns their number; *checksum keeps the compiler from dropping the walk. */
int64_t baseline_dump(int descriptor, uint64_t *checksum);

/* A table of IPv4 prefixes as plain as it gets, and the quickest: 2^24 entries by the first 24 bits (64 MiB), and
 * 256 more for each of those with longer prefixes. Prefixes are added shortest first; 0 is no value. */
typedef struct baseline_direct baseline_direct;

baseline_direct *_Nullable baseline_direct_new(void);
void baseline_direct_free(baseline_direct *table);

/* Adds a prefix with a value from 1 to 2^31 - 1. Returns false when there is no memory. */
bool baseline_direct_add(baseline_direct *table, uint32_t address, uint32_t length, uint32_t value);

/* Looks `count` addresses (host byte order) up and returns how many had a prefix. */
int64_t baseline_direct_count(const baseline_direct *table, const uint32_t *addresses, int64_t count);

/* Loads libnl's own route cache (rtnl_route_alloc_cache, IPv4) through a socket of its own and frees it.
 * Returns how many routes it kept. */
int64_t baseline_libnl_cache(void);

/* A socket of libnl, and where it is wanted libnl's own route cache; NULL on failure. */
typedef struct baseline_libnl baseline_libnl;

baseline_libnl *_Nullable baseline_libnl_open(bool wants_cache);
void baseline_libnl_close(baseline_libnl *opened);

/* Asks the kernel about an IPv4 address with rtnl_route_lookup, `count` times. Returns 0. */
int baseline_libnl_lookups(baseline_libnl *opened, uint32_t address, int count);

/* Looks for the longest prefix of an address in the cache, which has no index: a walk over all routes, of every table,
 * `count` times. Returns its length, -1 where no route matches. */
int baseline_libnl_matches(baseline_libnl *opened, uint32_t address, int count);

/* Gives the allocator's free memory back to the kernel, so that what is measured next is all there is. */
void baseline_return_memory(void);

/* Nanoseconds of the monotonic clock. */
int64_t baseline_now(void);

/* Adds or deletes an IPv4 route of the main table through a socket of baseline_open(): through a gateway, or
 * unreachable when that is 0. Returns when the kernel had done it, in baseline_now()'s time. */
int64_t baseline_change(int descriptor, bool adds, uint32_t prefix, int length, uint32_t gateway);

/* The same for `count` unreachable prefixes one behind the other, many in one send. Returns 0. */
int baseline_changes(int descriptor, bool adds, uint32_t first, int length, int count);

/* Opens a bare socket that hears of links, addresses, routes and rules, with 8 MiB of buffer. */
int baseline_listen(void);

/* Reads until nothing is queued and walks over the attributes of each route. Returns the number of messages. */
int64_t baseline_drain(int descriptor, uint64_t *checksum);

/* A thread that waits in epoll, reads notifications, asks RTM_GETROUTE for one address and, when the answer is
 * another, notes the time or calls `tell` instead; NULL on failure. */
typedef struct baseline_watch baseline_watch;

baseline_watch *_Nullable baseline_watch_start(uint32_t address, void (*_Nullable tell)(void *_Nullable context),
                                               void *_Nullable context);

/* Waits for another answer and returns when it was there; 0 when none came within a second: the kernel announces
 * that an IPv4 route is gone before it takes it out, and a loop that asks once may have asked in between. */
int64_t baseline_watch_next(baseline_watch *watch);

/* Ends it; `descriptor` is a socket to wake it up with. */
void baseline_watch_stop(baseline_watch *watch, int descriptor);

#pragma clang assume_nonnull end

#endif
