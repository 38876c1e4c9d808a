/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CSYS_EVENTFD_H
#define CSYS_EVENTFD_H

#include <stdint.h>

#pragma clang assume_nonnull begin

/* What a waiting thread needs and Swift's Glibc module does not offer. The caller closes the descriptors with
 * close(). */

/* An eventfd: readable once somebody has written 8 bytes to it. Returns a negative errno on failure. */
int csys_eventfd_open(void);

/* Makes an eventfd readable, from any thread. */
void csys_eventfd_signal(int descriptor);

/* Reads an eventfd empty, so that it can be waited on again. */
void csys_eventfd_reset(int descriptor);

/* A timerfd that becomes readable when the real-time clock is set, which the kernel also does when the
 * machine wakes up from sleep (timerfd_resume() in the kernel). Returns a negative errno on failure. */
int csys_clock_watch_open(void);

/* Reads a clock watch and arms it again. */
void csys_clock_watch_reset(int descriptor);

/* Names the calling thread, in at most 15 bytes; a longer name is cut. */
void csys_thread_name(const char *name);

#pragma clang assume_nonnull end

#endif
