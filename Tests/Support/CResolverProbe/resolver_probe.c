/* SPDX-License-Identifier: Apache-2.0 */

#include "resolver_probe.h"

#include <netinet/in.h>
#include <resolv.h>
#include <string.h>

int resolver_probe_servers(void *memory) {
    struct sockaddr_in6 *servers = memory;
    struct __res_state state;
    memset(&state, 0, sizeof(state));
    memset(servers, 0, 3 * sizeof(servers[0]));
    if (res_ninit(&state) != 0) {
        return -1;
    }
    int count = state.nscount < 3 ? state.nscount : 3;
    for (int index = 0; index < count; index++) {
        /* An IPv6 server is beside the list, whose entry has no family then. */
        if (state._u._ext.nsaddrs[index]) {
            servers[index] = *state._u._ext.nsaddrs[index];
        } else {
            memcpy(&servers[index], &state.nsaddr_list[index], sizeof(state.nsaddr_list[index]));
        }
    }
    res_nclose(&state);
    return count;
}
