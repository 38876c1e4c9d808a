/* SPDX-License-Identifier: Apache-2.0 */

/* What the shim's own files share. Not part of its face. */

#ifndef CNL_INTERNAL_H
#define CNL_INTERNAL_H

#include <linux/netlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <string.h>

#include "CNetlinkShim.h"

#pragma clang assume_nonnull begin

/* The kernel sizes dump datagrams to the largest read it has seen, at most about 32 KiB. */
#define CNL_READ_SIZE (64 * 1024)

/* Fills a fault and returns CNL_FAILED or CNL_REFUSED. */
cnl_outcome cnl_fail(cnl_fault *fault, int number);
cnl_outcome cnl_fail_libnl(cnl_fault *fault, int libnl_code);
cnl_outcome cnl_refuse(cnl_fault *fault, const struct nlmsghdr *error);

/* Checks type and length of a whole message and sorts its attributes into `table` (maximum + 1 places).
 * Unknown ones are counted in *unknown when it is given. Returns 0 or -EBADMSG. */
int cnl_sort_attributes(const void *bytes, size_t length, size_t fixed, struct nlattr *_Nullable *_Nonnull table,
                        int maximum, unsigned *_Nullable unknown);

/* The same for attributes nested in one attribute, or for a bare run of them. */
int cnl_sort_nested(const struct nlattr *nest, struct nlattr *_Nullable *_Nonnull table, int maximum);
int cnl_sort_run(const struct nlattr *_Nullable head, size_t length, struct nlattr *_Nullable *_Nonnull table,
                 int maximum, unsigned *_Nullable unknown);

/* Copies a fixed-size attribute out. False when it is shorter than that. */
bool cnl_copy(const struct nlattr *attribute, void *target, size_t size);

/* A number to copy out of an attribute where there is one; *present then becomes true. */
typedef struct cnl_number {
    int attribute;
    void *target;
    size_t size;
    bool *_Nullable present;
} cnl_number;

/* Copies numbers out of sorted attributes. False when one is too short. */
bool cnl_copy_numbers(struct nlattr *_Nullable const *_Nonnull table, const cnl_number *numbers, size_t count);

/* Copies an IPv4 or IPv6 address out. False when its length does not fit the family. */
bool cnl_copy_address(const struct nlattr *attribute, uint8_t family, uint8_t target[_Nonnull 16]);

/* Copies a string out; the attribute may lack its NUL. False when it does not fit. */
bool cnl_copy_string(const struct nlattr *attribute, char *target, size_t size);

/* The address length of a family in bytes, 0 for other families. */
size_t cnl_address_size(uint8_t family);

/* One datagram from the kernel. Returns its length, -EAGAIN, -ENOBUFS, another negative errno, -EMSGSIZE
 * when it was larger than the buffer, or CNL_STRANGER when its sender was not the kernel. */
#define CNL_STRANGER (-4096) /* beyond every errno: a sandbox can answer the call itself with EPERM */
ssize_t cnl_receive(int descriptor, void *buffer, size_t size);

#pragma clang assume_nonnull end

#endif
