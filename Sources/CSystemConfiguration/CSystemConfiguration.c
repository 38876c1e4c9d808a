// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "CSystemConfiguration.h"

#include <string.h>

static _Thread_local int32_t last_error;

int32_t csc_last_error(void) {
    return last_error;
}

void csc_set_last_error(int32_t code) {
    last_error = code;
}

static const struct {
    int32_t code;
    const char *text;
} messages[] = {
    {0, "Success"},
    {1001, "Failed"},
    {1002, "Invalid argument"},
    {1003, "Permission denied"},
    {1004, "No such key"},
    {1005, "Key exists"},
    {1006, "Locked"},
    {1007, "Lock required"},
    {2001, "No session with the configuration store"},
    {2002, "No configuration store"},
    {2003, "Notifications are active already"},
    {3001, "No session with the preferences"},
    {3002, "Preferences are being updated"},
    {3003, "No configuration file"},
    {3004, "Dangling link"},
    {3005, "Stale access to the preferences"},
    {3006, "Too many links"},
    {4001, "Reachability cannot be determined"},
    {5001, "No network service"},
    {5002, "Connection event ignored"},
};

const char *csc_error_string(int32_t code) {
    for (size_t place = 0; place < sizeof(messages) / sizeof(messages[0]); place++) {
        if (messages[place].code == code) {
            return messages[place].text;
        }
    }
    // Unlike strerror(), it has constant messages only.
    const char *text = code > 0 ? strerrordesc_np(code) : NULL;
    return text ? text : "Unknown error";
}
