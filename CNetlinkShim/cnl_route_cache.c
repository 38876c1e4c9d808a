/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <linux/rtnetlink.h>
#include <netlink/cache.h>
#include <netlink/route/route.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "cnl_internal.h"

struct cnl_route_cache {
    char *_Nullable bytes; /* whole messages, each padded to 4 bytes */
    size_t size, capacity, count;
    bool is_interrupted;
};

/* What the dump's handler needs. */
typedef struct cnl_filling {
    cnl_route_cache *cache;
    uint8_t family;
    uint32_t table;
    bool is_out_of_memory;
} cnl_filling;

enum { CNL_DUMP_ATTEMPTS = 5 };

static bool cnl_route_cache_reserve(cnl_route_cache *cache, size_t more) {
    if (cache->capacity - cache->size >= more) {
        return true;
    }
    size_t capacity = cache->capacity < 16 * 1024 ? 16 * 1024 : cache->capacity * 2;
    while (capacity - cache->size < more) {
        capacity *= 2;
    }
    char *bytes = realloc(cache->bytes, capacity);
    if (!bytes) {
        return false;
    }
    cache->bytes = bytes;
    cache->capacity = capacity;
    return true;
}

/* A kernel without the family, or without filters, answers with everything it has. */
static bool cnl_filling_wants(const cnl_filling *filling, const cnl_message *message) {
    cnl_route route;
    if (cnl_parse_route(message->bytes, message->length, &route) != 0) {
        return false;
    }
    return route.family == filling->family && (filling->table == 0 || route.table == filling->table);
}

static void cnl_filling_take(const cnl_message *message, void *context) {
    cnl_filling *filling = context;
    cnl_route_cache *cache = filling->cache;
    size_t padded = NLMSG_ALIGN((size_t)message->length);
    if (filling->is_out_of_memory || !cnl_filling_wants(filling, message)) {
        return;
    }
    if (!cnl_route_cache_reserve(cache, padded)) {
        filling->is_out_of_memory = true;
        return;
    }
    memset(cache->bytes + cache->size + padded - NLMSG_ALIGNTO, 0, NLMSG_ALIGNTO);
    memcpy(cache->bytes + cache->size, message->bytes, message->length);
    cache->size += padded;
    cache->count += 1;
}

/* One family, whole: an interrupted attempt is thrown away and repeated, within bounds. */
static bool cnl_route_cache_fill_family(cnl_route_cache *cache, cnl_query *query, uint8_t family, uint32_t table,
                                        cnl_fault *fault) {
    const cnl_route_cache start = *cache;
    cnl_dump_request request = {.type = RTM_GETROUTE, .family = family, .table = table};
    for (int attempt = 1;; attempt++) {
        cnl_filling filling = {.cache = cache, .family = family, .table = table};
        cnl_dump_report report;
        cache->size = start.size;
        cache->count = start.count;
        cnl_outcome outcome = cnl_query_dump(query, &request, cnl_filling_take, &filling, &report, fault);
        if (outcome == CNL_REFUSED && fault->number == ENOENT && table != 0) {
            return true; /* the table does not exist: it has no routes */
        }
        if (outcome != CNL_ANSWERED) {
            return false;
        }
        if (filling.is_out_of_memory) {
            cnl_fail(fault, ENOMEM);
            return false;
        }
        if (!report.is_interrupted || attempt == CNL_DUMP_ATTEMPTS) {
            cache->is_interrupted |= report.is_interrupted;
            return true;
        }
    }
}

cnl_route_cache *cnl_route_cache_fill(cnl_query *query, uint8_t family, uint32_t table, cnl_fault *fault) {
    cnl_route_cache *cache = calloc(1, sizeof(*cache));
    if (!cache) {
        cnl_fail(fault, ENOMEM);
        return NULL;
    }
    /* Each family alone: a strict kernel checks the request for one family, not for all at once. */
    bool wants_ipv4 = family == AF_UNSPEC || family == AF_INET;
    bool wants_ipv6 = family == AF_UNSPEC || family == AF_INET6;
    if ((wants_ipv4 && !cnl_route_cache_fill_family(cache, query, AF_INET, table, fault)) ||
        (wants_ipv6 && !cnl_route_cache_fill_family(cache, query, AF_INET6, table, fault))) {
        cnl_route_cache_free(cache);
        return NULL;
    }
    return cache;
}

void cnl_route_cache_free(cnl_route_cache *cache) {
    free(cache->bytes);
    free(cache);
}

size_t cnl_route_cache_count(const cnl_route_cache *cache) {
    return cache->count;
}

size_t cnl_route_cache_size(const cnl_route_cache *cache) {
    return cache->size;
}

bool cnl_route_cache_is_interrupted(const cnl_route_cache *cache) {
    return cache->is_interrupted;
}

int cnl_route_cache_next(const cnl_route_cache *cache, size_t *offset, cnl_route *route) {
    cnl_message message;
    if (*offset >= cache->size) {
        return 0;
    }
    size_t step = cnl_message_first(cache->bytes + *offset, cache->size - *offset, &message);
    if (step == 0) {
        *offset = cache->size;
        return -EBADMSG;
    }
    *offset += step;
    int status = cnl_parse_route(message.bytes, message.length, route);
    return status == 0 ? 1 : status;
}

/* MARK: libnl's own cache */

struct cnl_libnl_routes {
    struct nl_sock *socket;
    struct nl_cache *cache;
};

cnl_libnl_routes *cnl_libnl_routes_load(cnl_fault *fault) {
    cnl_libnl_routes *routes = calloc(1, sizeof(*routes));
    if (!routes || !(routes->socket = nl_socket_alloc())) {
        free(routes);
        cnl_fail(fault, ENOMEM);
        return NULL;
    }
    errno = 0;
    int status = nl_connect(routes->socket, NETLINK_ROUTE);
    if (status >= 0) {
        /* A direct call: libnl-route stays linked even where the linker drops what only names refer to. */
        status = rtnl_route_alloc_cache(routes->socket, AF_UNSPEC, 0, &routes->cache);
    }
    if (status < 0) {
        cnl_fail_libnl(fault, status);
        cnl_libnl_routes_free(routes);
        return NULL;
    }
    return routes;
}

void cnl_libnl_routes_free(cnl_libnl_routes *routes) {
    if (routes->cache) {
        nl_cache_free(routes->cache);
    }
    nl_socket_free(routes->socket);
    free(routes);
}

typedef struct cnl_counting {
    size_t count;
    uint8_t family;
} cnl_counting;

static void cnl_count_route(struct nl_object *object, void *context) {
    cnl_counting *counting = context;
    struct rtnl_route *route = (struct rtnl_route *)object;
    if (!(rtnl_route_get_flags(route) & RTM_F_CLONED) && rtnl_route_get_family(route) == counting->family) {
        counting->count += 1;
    }
}

size_t cnl_libnl_routes_count(const cnl_libnl_routes *routes, uint8_t family) {
    cnl_counting counting = {.count = 0, .family = family};
    nl_cache_foreach(routes->cache, cnl_count_route, &counting);
    return counting.count;
}
