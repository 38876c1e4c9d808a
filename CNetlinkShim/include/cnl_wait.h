/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_WAIT_H
#define CNL_WAIT_H

#include "cnl_outcome.h"

#pragma clang assume_nonnull begin

/* Descriptors that one thread waits for, made known to the kernel once: it then tells which of them is ready
 * without a look at the others. The caller closes the set with close(). */

/* An epoll instance without descriptors. Returns a negative errno on failure. */
int cnl_wait_open(void);

/* Adds a descriptor under a place from 0 to 31. Returns 0 or a negative errno. */
int cnl_wait_add(int set, int descriptor, uint32_t place);

/* Takes a descriptor out again. One that is closed for good leaves by itself. */
void cnl_wait_remove(int set, int descriptor);

/* Waits until a descriptor can be read, at most so many milliseconds; -1 for ever. Returns one bit for each
 * place that is ready, and none when time ran out or a signal came. */
uint32_t cnl_wait_for_any(int set, int milliseconds);

#pragma clang assume_nonnull end

#endif
