/* SPDX-License-Identifier: Apache-2.0 */

#include "csys_epoll.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <time.h>

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

/* An epoll instance can be waited for itself. What is ready is not known then, so everything may be. */
static uint32_t csys_epoll_wait_refused(int set, int milliseconds) {
    struct pollfd entry = {.fd = set, .events = POLLIN};
    int count = poll(&entry, 1, milliseconds);
    if (count < 0 && errno != EINTR) {
        struct timespec pause = {.tv_nsec = 100 * 1000 * 1000};
        (void)nanosleep(&pause, NULL);
        return UINT32_MAX;
    }
    return count > 0 ? UINT32_MAX : 0;
}

uint32_t csys_epoll_wait(int set, int milliseconds) {
    struct epoll_event ready[CSYS_READY_LIMIT];
    int count = epoll_wait(set, ready, CSYS_READY_LIMIT, milliseconds);
    if (count < 0 && errno != EINTR) return csys_epoll_wait_refused(set, milliseconds);
    uint32_t tokens = 0;
    for (int number = 0; number < count; number++) {
        tokens |= UINT32_C(1) << (ready[number].data.u32 & 31);
    }
    return tokens;
}
