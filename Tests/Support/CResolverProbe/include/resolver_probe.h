/* SPDX-License-Identifier: Apache-2.0 */

#ifndef RESOLVER_PROBE_H
#define RESOLVER_PROBE_H

#include <netinet/in.h>

/* Reads /etc/resolv.conf by the C library, and copies the name servers that it asks, up to three. Returns their number,
 * or -1 when the C library cannot read the file. */
int resolver_probe_servers(struct sockaddr_in6 servers[3]);

#endif
