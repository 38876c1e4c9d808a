/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CBASELINE_LIBNL_ROUTE_H
#define CBASELINE_LIBNL_ROUTE_H

#include <netlink/netlink.h>
#include <netlink/route/route.h>

#endif
