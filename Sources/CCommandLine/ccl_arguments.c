/* SPDX-License-Identifier: Apache-2.0 */

#include "ccl_arguments.h"

static int ccl_count;
static char *const *ccl_values;

/* glibc passes the arguments of main() to each constructor. */
__attribute__((constructor)) static void ccl_store_arguments(int count, char **values) {
    ccl_count = count;
    ccl_values = values;
}

int ccl_argument_count(void) {
    return ccl_count;
}

const char *ccl_argument(int index) {
    return ccl_values[index];
}
