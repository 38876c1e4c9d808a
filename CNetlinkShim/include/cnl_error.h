/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_FAULT_H
#define CNL_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/* A failure: the kernel refused a request, or there is no usable answer (a failed system call, a timeout, a truncated
 * message). libnl's codes are ambiguous: -NLE_FAILURE stands for ENETUNREACH and EHOSTUNREACH, and -NLE_NOMEM also for
 * lost notifications. */
typedef struct cnl_error {
    int number;     /* errno, positive */
    /* The kernel's message (extended acknowledgement), libnl's message for a failure without an errno, or empty; ends
     * with NUL. */
    char text[192];
    /* The offset of the refused attribute from the header of the request; 0 if the kernel names no attribute. */
    uint32_t attribute_offset;
} cnl_error;

/* The release of the loaded libnl, which can be newer than its headers. */
typedef struct cnl_libnl_release {
    int major, minor, micro;
} cnl_libnl_release;

cnl_libnl_release cnl_libnl_version(void);

#pragma clang assume_nonnull end

#endif
