// SPDX-License-Identifier: Apache-2.0

#include "CSystemConfiguration.h"

#include <string.h>

static _Thread_local int32_t last_error;

int32_t csc_last_error(void) {
    return last_error;
}

void csc_set_last_error(int32_t code) {
    last_error = code;
}

const char *csc_error_string(int32_t code) {
    switch (code) {
    case 0:
        return "Success";
    case 1001:
        return "Failed";
    case 1002:
        return "Invalid argument";
    case 1003:
        return "Permission denied";
    case 1004:
        return "No such key";
    case 1005:
        return "Key exists";
    case 1006:
        return "Locked";
    case 1007:
        return "Lock required";
    case 2001:
        return "No session with the configuration store";
    case 2002:
        return "No configuration store";
    case 2003:
        return "Notifications are active already";
    case 3001:
        return "No session with the preferences";
    case 3002:
        return "Preferences are being updated";
    case 3003:
        return "No configuration file";
    case 3004:
        return "Dangling link";
    case 3005:
        return "Stale access to the preferences";
    case 3006:
        return "Too many links";
    case 4001:
        return "Reachability cannot be determined";
    case 5001:
        return "No network service";
    case 5002:
        return "Connection event ignored";
    default:
        break;
    }
    // The C library has constant messages for the errno values that it knows; for others it writes into a buffer.
    if (code > 0 && code < 134) {
        return strerror(code);
    }
    return "Unknown error";
}
