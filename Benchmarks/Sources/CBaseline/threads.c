/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "CBaseline.h"

enum { THREAD_LIMIT = 64 };

struct worker {
    pthread_barrier_t *start;
    void (*work)(int, void *);
    void *context;
    int thread;
};

static void *start(void *context) {
    struct worker *worker = context;
    pthread_barrier_wait(worker->start);
    worker->work(worker->thread, worker->context);
    return NULL;
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t baseline_at_once(int threads, void (*work)(int thread, void *context), void *context) {
    if (threads < 1 || threads > THREAD_LIMIT) {
        return -EINVAL;
    }
    pthread_t ids[THREAD_LIMIT];
    struct worker workers[THREAD_LIMIT];
    pthread_barrier_t barrier;
    int status = pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
    if (status != 0) {
        return -status;
    }
    for (int thread = 0; thread < threads; thread++) {
        workers[thread] = (struct worker){&barrier, work, context, thread};
        if (pthread_create(&ids[thread], NULL, start, &workers[thread]) != 0) {
            /* Those that did start wait at the barrier for ever: there is no way back. */
            abort();
        }
    }
    int64_t began = now();
    pthread_barrier_wait(&barrier);
    for (int thread = 0; thread < threads; thread++) {
        pthread_join(ids[thread], NULL);
    }
    int64_t took = now() - began;
    pthread_barrier_destroy(&barrier);
    return took;
}

struct round_trips {
    int descriptors[THREAD_LIMIT];
    int answers[THREAD_LIMIT];
    uint32_t address;
    bool wants_entry;
    int count;
};

static void ask(int thread, void *context) {
    struct round_trips *trips = context;
    trips->answers[thread] =
        baseline_routes(trips->descriptors[thread], trips->address, trips->wants_entry, trips->count);
}

int64_t baseline_routes_at_once(int threads, uint32_t address, bool wants_entry, int count) {
    struct round_trips trips = {.address = address, .wants_entry = wants_entry, .count = count};
    int64_t result = threads < 1 || threads > THREAD_LIMIT ? -EINVAL : 0;
    int opened = 0;
    while (result == 0 && opened < threads) {
        int descriptor = baseline_open();
        if (descriptor < 0) {
            result = descriptor;
        } else {
            trips.descriptors[opened++] = descriptor;
        }
    }
    if (result == 0) {
        result = baseline_at_once(threads, ask, &trips);
        for (int thread = 0; thread < threads; thread++) {
            result = trips.answers[thread] < 0 ? trips.answers[thread] : result;
        }
    }
    for (int thread = 0; thread < opened; thread++) {
        close(trips.descriptors[thread]);
    }
    return result;
}
