/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_OUTCOME_H
#define CNL_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/* How a conversation with the kernel ended. libnl's own codes cannot say it: it gives -NLE_FAILURE for
 * ENETUNREACH and EHOSTUNREACH alike, and -NLE_NOMEM for a lost event. */
typedef enum cnl_outcome {
    CNL_ANSWERED = 0, /* the kernel answered */
    CNL_REFUSED = 1,  /* the kernel answered with an errno: see cnl_fault.number */
    CNL_FAILED = 2    /* no usable answer: a system call failed, time ran out, a message was cut.
                         Close the handle and open another one: answers may still be under way. */
} cnl_outcome;

/* What went wrong. Filled only when the outcome is not CNL_ANSWERED. */
typedef struct cnl_fault {
    int number;     /* errno, positive */
    int libnl;      /* libnl's code (NLE_...), positive, where libnl refused; else 0 */
    char text[192]; /* the kernel's own words (extended acknowledgement), NUL-terminated, or empty */
} cnl_fault;

/* The release of the libnl that runs, which can be newer than its headers. */
typedef struct cnl_libnl_release {
    int major, minor, micro;
} cnl_libnl_release;

cnl_libnl_release cnl_libnl_version(void);

/* libnl's words for one of its codes. Static storage. */
const char *cnl_libnl_message(int code);

#pragma clang assume_nonnull end

#endif
