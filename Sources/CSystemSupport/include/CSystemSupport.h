/* SPDX-License-Identifier: Apache-2.0 */

/* System calls that Swift's Glibc module does not declare: eventfd, timerfd and prctl. */

#ifndef CSYSTEMSUPPORT_H
#define CSYSTEMSUPPORT_H

#include <features.h>

#if !defined(__GLIBC__)
#error "only the GNU C library is supported, not musl: docs/containers.md"
#endif

#include "csys_wait.h"

#endif
