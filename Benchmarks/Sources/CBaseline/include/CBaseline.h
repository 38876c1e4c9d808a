/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The other side of the benchmarks: the same queries as a C programmer would ask them by hand, with system
 * calls and the kernel's own headers only, as little work as the answer allows. Also libnl's lookup.
 *
 * Numbers below 0 are negative errnos throughout.
 */

#ifndef CBASELINE_H
#define CBASELINE_H

#include <stdbool.h>
#include <stdint.h>

struct nl_sock;

#pragma clang assume_nonnull begin

/* Opens a bare NETLINK_ROUTE socket with strict checking on. The caller closes it with close(). */
int baseline_open(void);

/* RTM_GETROUTE for an IPv4 address (host byte order) through a socket kept open: one send, one recv into a
 * buffer on the stack, a walk over the attributes. With `wants_entry` the table's entry is asked for
 * (RTM_F_FIB_MATCH), else the leg chosen. Returns the outgoing interface's index. */
int baseline_route(int descriptor, uint32_t address, bool wants_entry);

/* Four queries in one datagram, as a connection has them: the entries of its local address, of its packets and of those
 * of a new connection, and the route that these get. Returns a number that differs when an interface does, or the errno
 * of the local address or of the connection's packets. */
int baseline_connection(int descriptor, uint32_t local, uint32_t address);

/* `count` round trips, one after the other; stops at the first that fails. Returns the last answer. */
int baseline_routes(int descriptor, uint32_t address, bool wants_entry, int count);

/* `count` packets, `width` in one send, at most 32, each to an address that is `step` above that of the one before. Each
 * is two queries, the entry and the route of the packet itself; their answers are read one by one. Returns the last. */
int baseline_packets(int descriptor, uint32_t address, uint32_t step, int width, int count);

/* RTM_GETLINK for an interface without its statistics, `count` times. Returns 0. */
int baseline_links(int descriptor, int index, int count);

/* Dumps the IPv4 routes of every table through a socket kept open, in reads of 32 KiB, and walks over the
 * attributes of each. Returns their number; *checksum keeps the compiler from dropping the walk. */
int64_t baseline_dump(int descriptor, uint64_t *checksum);

/* Opens a socket of libnl; NULL on failure. */
struct nl_sock *_Nullable baseline_libnl_open(void);

/* Asks the kernel about an IPv4 address with rtnl_route_lookup, `count` times. Returns 0. */
int baseline_libnl_lookups(struct nl_sock *opened, uint32_t address, int count);

/* Gives the allocator's free memory back to the kernel, so that what is measured next is all there is. */
void baseline_return_memory(void);

/* Nanoseconds of the monotonic clock. */
int64_t baseline_now(void);

/* Adds or deletes an unreachable IPv4 route of the main table through a socket of baseline_open(). Returns 0. */
int baseline_change(int descriptor, bool adds, uint32_t prefix, int length);

/* A thread that waits in epoll, reads notifications, asks RTM_GETROUTE for one address and calls `notify` when the
 * answer is another one; NULL on failure. With a local address other than 0 it asks in one datagram what becomes of a
 * connection: whether the local address is this host's, where its packets go, and where those of a new one would. The kernel sends the notification of an IPv4 route's removal before it
 * removes the route, so a loop that asks once can miss a change. */
typedef struct baseline_watch baseline_watch;

baseline_watch *_Nullable baseline_watch_start(uint32_t local, uint32_t address,
                                               void (*notify)(void *_Nullable context),
                                               void *_Nullable context);

/* Ends it; `descriptor` is a socket to wake it up with. */
void baseline_watch_stop(baseline_watch *watch, int descriptor);

#pragma clang assume_nonnull end

#endif
