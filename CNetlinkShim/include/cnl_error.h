/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_FAULT_H
#define CNL_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/* What went wrong: the kernel refused a request, or there is no usable answer (a system call failed, the time ran out,
 * a message was cut). libnl's codes cannot express it: -NLE_FAILURE stands for ENETUNREACH and EHOSTUNREACH alike, and
 * -NLE_NOMEM for a lost notification. */
typedef struct cnl_error {
    int number;     /* errno, positive */
    int libnl;      /* libnl's code (NLE_...), positive, when libnl refused; else 0 */
    char text[192]; /* the kernel's message (extended acknowledgement), NUL-terminated, or empty */
} cnl_error;

/* The release of the loaded libnl, which can be newer than its headers. */
typedef struct cnl_libnl_release {
    int major, minor, micro;
} cnl_libnl_release;

cnl_libnl_release cnl_libnl_version(void);

#pragma clang assume_nonnull end

#endif
