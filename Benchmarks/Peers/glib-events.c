/* SPDX-License-Identifier: Apache-2.0 */

/* glib-events: prints a line for each signal network-changed of GLib's network monitor, until it is ended. */

#include <gio/gio.h>
#include <stdio.h>

static void print(GNetworkMonitor *monitor, gboolean is_available, gpointer data) {
    (void)monitor;
    (void)data;
    printf("network-changed %d\n", is_available);
    fflush(stdout);
}

int main(void) {
    /* The monitor that reads rtnetlink, as on a host without NetworkManager. */
    g_setenv("GIO_USE_NETWORK_MONITOR", "netlink", TRUE);
    GNetworkMonitor *monitor = g_network_monitor_get_default();
    g_signal_connect(monitor, "network-changed", G_CALLBACK(print), NULL);
    g_main_loop_run(g_main_loop_new(NULL, FALSE));
}
