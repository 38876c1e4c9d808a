/* SPDX-License-Identifier: Apache-2.0 */

/* The kernel's structures and constants (RTM_, RTA_, IFLA_, NLM_F_, RTNLGRP_, ...), which Swift sees through this
 * module. linux/ipv6.h and linux/if.h are left out because they clash with glibc's headers. */

#ifndef CNL_KERNEL_H
#define CNL_KERNEL_H

#include <linux/fib_rules.h>
#include <linux/genetlink.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/inet_diag.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <linux/netlink.h>
#include <linux/nexthop.h>
#include <linux/nl80211.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/wireguard.h>

#endif
