/* SPDX-License-Identifier: Apache-2.0 */

#ifndef RESOLVER_PROBE_H
#define RESOLVER_PROBE_H

/* Reads /etc/resolv.conf by the C library, and copies the name servers that it asks, up to three: each in a `struct
 * sockaddr_in6`. Returns their number, or -1 when the C library cannot read the file.
 *
 * The header includes none of the C library's: Swift would take this module for the one that defines their types. */
int resolver_probe_servers(void *servers);

#endif
