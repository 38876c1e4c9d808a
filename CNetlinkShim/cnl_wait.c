/* SPDX-License-Identifier: Apache-2.0 */

#include "cnl_wait.h"

#include <errno.h>
#include <sys/epoll.h>

enum { CNL_READY_AT_ONCE = 8 };

int cnl_wait_open(void) {
    int set = epoll_create1(EPOLL_CLOEXEC);
    return set >= 0 ? set : -errno;
}

int cnl_wait_add(int set, int descriptor, uint32_t place) {
    struct epoll_event interest = {.events = EPOLLIN, .data = {.u32 = place}};
    return epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &interest) == 0 ? 0 : -errno;
}

void cnl_wait_remove(int set, int descriptor) {
    (void)epoll_ctl(set, EPOLL_CTL_DEL, descriptor, NULL);
}

uint32_t cnl_wait_for_any(int set, int milliseconds) {
    struct epoll_event ready[CNL_READY_AT_ONCE];
    int count = epoll_wait(set, ready, CNL_READY_AT_ONCE, milliseconds);
    uint32_t places = 0;
    for (int number = 0; number < count; number++) {
        places |= UINT32_C(1) << (ready[number].data.u32 & 31);
    }
    return places;
}
