/* SPDX-License-Identifier: Apache-2.0 */

#include <stdint.h>

struct nlmsghdr;

/* Walks over the attributes of a route and reads those that every route has. Returns their sum, which keeps the compiler
 * from dropping the walk. */
uint64_t baseline_read_route(const struct nlmsghdr *header, int *interface);
