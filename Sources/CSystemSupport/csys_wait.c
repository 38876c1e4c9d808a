/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE

#include "csys_wait.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

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
