/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE

#include "ccl_columns.h"

#include <langinfo.h>
#include <locale.h>
#include <pthread.h>
#include <string.h>
#include <wchar.h>

static locale_t ccl_widths;

static void ccl_open_widths(void) {
    ccl_widths = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (ccl_widths != (locale_t)0) {
        if (strcmp(nl_langinfo_l(CODESET, ccl_widths), "UTF-8") == 0) return;
        freelocale(ccl_widths);
    }
    ccl_widths = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

int ccl_columns(uint32_t character) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ccl_open_widths);
    if (ccl_widths == (locale_t)0) return 1;
    locale_t old = uselocale(ccl_widths);
    int columns = wcwidth((wchar_t)character);
    uselocale(old);
    return columns < 0 ? 1 : columns;
}
