/* SPDX-License-Identifier: Apache-2.0 */

#include "csys_epoll.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>

enum { CSYS_READY_LIMIT = 8 };

int csys_epoll_open(void) {
    int set = epoll_create1(EPOLL_CLOEXEC);
    return set >= 0 ? set : -errno;
}

int csys_epoll_add(int set, int descriptor, uint32_t token) {
    struct epoll_event interest = {.events = EPOLLIN, .data = {.u32 = token}};
    return epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &interest) == 0 ? 0 : -errno;
}

int csys_epoll_add_priority(int set, int descriptor, uint32_t token) {
    struct epoll_event interest = {.events = EPOLLPRI, .data = {.u32 = token}};
    return epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &interest) == 0 ? 0 : -errno;
}

void csys_epoll_remove(int set, int descriptor) {
    (void)epoll_ctl(set, EPOLL_CTL_DEL, descriptor, NULL);
}

uint32_t csys_epoll_wait(int set, int milliseconds) {
    struct epoll_event ready[CSYS_READY_LIMIT];
    int count = epoll_wait(set, ready, CSYS_READY_LIMIT, milliseconds);
    uint32_t tokens = 0;
    for (int number = 0; number < count; number++) {
        tokens |= UINT32_C(1) << (ready[number].data.u32 & 31);
    }
    return tokens;
}
