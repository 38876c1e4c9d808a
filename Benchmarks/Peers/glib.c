/* SPDX-License-Identifier: Apache-2.0 */

/*
 * glib ADDRESS COUNT: asks GLib's g_network_monitor_can_reach for an address as often, after a first time, and prints the
 * nanoseconds that it took. The status is 1 if GLib cannot reach it.
 */

#include <gio/gio.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int count, char *arguments[]) {
    GSocketConnectable *target =
        count == 3 ? G_SOCKET_CONNECTABLE(g_inet_socket_address_new_from_string(arguments[1], 443)) : NULL;
    if (!target) {
        fprintf(stderr, "usage: glib ADDRESS COUNT\n");
        return 64;
    }
    /* The monitor that reads rtnetlink, as on a host without NetworkManager. */
    g_setenv("GIO_USE_NETWORK_MONITOR", "netlink", TRUE);
    GNetworkMonitor *monitor = g_network_monitor_get_default();
    if (g_strcmp0(G_OBJECT_TYPE_NAME(monitor), "GNetworkMonitorNetlink") != 0) {
        fprintf(stderr, "glib: the monitor is a %s\n", G_OBJECT_TYPE_NAME(monitor));
        return 1;
    }
    gboolean is_reachable = g_network_monitor_can_reach(monitor, target, NULL, NULL);
    long long began = now();
    for (long asked = atol(arguments[2]); asked > 0; asked--) {
        GError *error = NULL;
        (void)g_network_monitor_can_reach(monitor, target, NULL, &error);
        g_clear_error(&error);
    }
    printf("%lld\n", now() - began);
    return is_reachable ? 0 : 1;
}
