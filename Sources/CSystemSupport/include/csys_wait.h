/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CSYS_WAIT_H
#define CSYS_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/* System calls for threads that Swift's Glibc module does not declare. The caller closes the descriptors
 * with close(). */

/* Opens an eventfd, which is readable after a signal. Returns a negative errno on failure. */
int csys_eventfd_open(void);

/* Makes an eventfd readable, from any thread. */
void csys_eventfd_signal(int descriptor);

/* Clears the signals of an eventfd. */
void csys_eventfd_reset(int descriptor);

/* Opens a timerfd that becomes readable when the real-time clock is set, which the kernel also does when the
 * machine resumes from sleep (timerfd_resume() in the kernel). Returns a negative errno on failure. */
int csys_clock_watch_open(void);

/* Clears a clock watch and arms it again. */
void csys_clock_watch_reset(int descriptor);

/* Names the calling thread, in at most 15 bytes; a longer name is truncated. */
void csys_thread_name(const char *name);

/* Whether two threads have the same descriptors. It is false where the kernel or a sandbox does not say. */
bool csys_threads_share_files(int32_t first, int32_t second);

#pragma clang assume_nonnull end

#endif
