/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE

#include "csys_wait.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

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

int csys_eventfd_open(void) {
    int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return descriptor >= 0 ? descriptor : -errno;
}

/* The write fails only if 2^64 - 2 signals are pending: then the eventfd is readable anyway. */
void csys_eventfd_signal(int descriptor) {
    int before = errno;
    uint64_t one = 1;
    while (write(descriptor, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    errno = before;
}

void csys_eventfd_reset(int descriptor) {
    uint64_t count;
    while (read(descriptor, &count, sizeof(count)) < 0 && errno == EINTR) {
    }
}

/* The timer itself never expires: only changes of the clock make it readable. */
static int csys_clock_watch_arm(int descriptor) {
    struct itimerspec never = {.it_value = {.tv_sec = INT64_MAX / 1000000000}};
    int flags = TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET;
    return timerfd_settime(descriptor, flags, &never, NULL) == 0 ? 0 : -errno;
}

int csys_clock_watch_open(void) {
    int descriptor = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (descriptor < 0) {
        return -errno;
    }
    int status = csys_clock_watch_arm(descriptor);
    if (status < 0) {
        close(descriptor);
        return status;
    }
    return descriptor;
}

void csys_clock_watch_reset(int descriptor) {
    csys_eventfd_reset(descriptor);
    (void)csys_clock_watch_arm(descriptor);
}

void csys_thread_name(const char *name) {
    (void)prctl(PR_SET_NAME, name);
}

bool csys_threads_share_files(int32_t first, int32_t second) {
    return syscall(SYS_kcmp, first, second, KCMP_FILES, 0UL, 0UL) == 0;
}
