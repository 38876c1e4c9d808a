/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CCL_ARGUMENTS_H
#define CCL_ARGUMENTS_H

#pragma clang assume_nonnull begin

/* The arguments of the process, as the kernel passed them to main().
 *
 * Swift's CommandLine.arguments reads /proc/self/cmdline and is empty where /proc is not mounted. The strings
 * live as long as the process; the caller must not free them. */

/* Returns the number of arguments, the program's name included. */
int ccl_argument_count(void);

/* Returns an argument, from 0 to ccl_argument_count() - 1. */
const char *ccl_argument(int index);

#pragma clang assume_nonnull end

#endif
