/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_OUTCOME_H
#define CNL_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/* How a request to the kernel ended. libnl's codes cannot express it: -NLE_FAILURE stands for ENETUNREACH and
 * EHOSTUNREACH alike, and -NLE_NOMEM for a lost notification. */
typedef enum cnl_outcome {
    CNL_ANSWERED = 0, /* the kernel answered */
    CNL_REFUSED = 1,  /* the kernel answered with an errno: see cnl_fault.number */
    CNL_FAILED = 2    /* there is no usable answer: a system call failed, the time ran out, a message was cut.
                         Close the handle and open another one: an answer may still arrive on this one. */
} cnl_outcome;

/* What went wrong. Filled when the outcome is not CNL_ANSWERED. */
typedef struct cnl_fault {
    int number;     /* errno, positive */
    int libnl;      /* libnl's code (NLE_...), positive, when libnl refused; else 0 */
    char text[192]; /* the kernel's message (extended acknowledgement), NUL-terminated, or empty */
} cnl_fault;

/* The release of the loaded libnl, which can be newer than its headers. */
typedef struct cnl_libnl_release {
    int major, minor, micro;
} cnl_libnl_release;

cnl_libnl_release cnl_libnl_version(void);

#pragma clang assume_nonnull end

#endif
