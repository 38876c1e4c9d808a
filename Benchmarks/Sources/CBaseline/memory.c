/* SPDX-License-Identifier: Apache-2.0 */

#include <malloc.h>

#include "CBaseline.h"

void baseline_return_memory(void) {
    (void)malloc_trim(0);
}
