/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CSYS_EPOLL_H
#define CSYS_EPOLL_H

#include <stdint.h>

#pragma clang assume_nonnull begin

/* Descriptors that one thread waits for, made known to the kernel once: it then tells which of them is ready
 * without a look at the others. The caller closes the set with close(). */

/* An epoll instance without descriptors. Returns a negative errno on failure. */
int csys_epoll_open(void);

/* Adds a descriptor under a place from 0 to 31. Returns 0 or a negative errno. */
int csys_epoll_add(int set, int descriptor, uint32_t place);

/* Takes a descriptor out again. One that is closed for good leaves by itself. */
void csys_epoll_remove(int set, int descriptor);

/* Waits until a descriptor can be read, at most so many milliseconds; -1 for ever. Returns one bit for each
 * place that is ready, and none when time ran out or a signal came. */
uint32_t csys_epoll_wait(int set, int milliseconds);

#pragma clang assume_nonnull end

#endif
