/* SPDX-License-Identifier: Apache-2.0 */

/* The umbrella of the system library target: it exists so that pkg-config's flags reach the C target. */

#ifndef CLIBNL_LIBNL_H
#define CLIBNL_LIBNL_H

#include <netlink/netlink.h>

#endif
