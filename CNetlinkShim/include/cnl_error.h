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
    /* The kernel's message (extended acknowledgement), that of libnl if it failed without an errno, or empty. It ends
     * with NUL. */
    char text[192];
    /* The offset in the request, from its header on, of the attribute that the kernel refuses; 0 where it names none. */
    uint32_t attribute_offset;
} cnl_error;

/* The release of the loaded libnl, which can be newer than its headers. */
typedef struct cnl_libnl_release {
    int major, minor, micro;
} cnl_libnl_release;

cnl_libnl_release cnl_libnl_version(void);

#pragma clang assume_nonnull end

#endif
