/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CNL_SOCKETS_H
#define CNL_SOCKETS_H

#include "cnl_message.h"

#pragma clang assume_nonnull begin

/* A TCP or UDP socket with two ends. */
typedef struct cnl_socket {
    uint8_t family;           /* AF_INET or AF_INET6, whose addresses can be IPv4-mapped */
    uint8_t state;            /* TCP_ESTABLISHED, ..., also for UDP */
    uint8_t tos;              /* type of service (IP_TOS) */
    uint8_t traffic_class;    /* IPV6_TCLASS, 0 for IPv4 */
    uint16_t local_port;      /* host order */
    uint16_t remote_port;     /* host order */
    uint32_t bound_interface; /* SO_BINDTODEVICE, and the scope of a link-local address; 0 for none */
    uint32_t mark;            /* SO_MARK, which the kernel shows to CAP_NET_ADMIN only; else 0 */
    uint32_t uid;
    uint32_t inode;           /* that of /proc/PID/fd */
    uint64_t cookie;          /* SO_COOKIE */
    uint8_t local[16], remote[16];
} cnl_socket;

typedef void (*cnl_socket_handler)(const cnl_socket *socket, void *_Nullable context);

/* Lists the connected sockets of a family and protocol (IPPROTO_TCP or IPPROTO_UDP) in this network namespace, through
 * a socket of its own (sock_diag). A dump that was interrupted is repeated: the handler then sees sockets again, with
 * the same cookie. CNL_REFUSED with ENOENT or EINVAL means that the kernel lacks inet_diag for the protocol. */
cnl_outcome cnl_sockets_list(uint8_t family, uint8_t protocol, cnl_socket_handler handler, void *_Nullable context,
                             cnl_fault *fault);

/* Reads one message of the dump. Returns 0, -ENOMSG for a message of another type or family, or -EBADMSG. */
int cnl_parse_socket(const void *bytes, size_t length, cnl_socket *socket);

#pragma clang assume_nonnull end

#endif
