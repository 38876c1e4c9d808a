/* SPDX-License-Identifier: Apache-2.0 */

/* The kernel's constants (RTM_, RTA_, NLM_F_, RTNLGRP_, FR_ACT_, FIB_RULE_, NETCONFA_), which Swift sees through
 * this module. */

#ifndef CNL_KERNEL_H
#define CNL_KERNEL_H

#include <linux/fib_rules.h>
#include <linux/netconf.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#endif
