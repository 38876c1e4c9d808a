/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CCL_COLUMNS_H
#define CCL_COLUMNS_H

#include <stdint.h>

/* Returns the columns of a character on a terminal, by wcwidth(3); 1 for a character that it does not know.
 *
 * The text of this program is UTF-8 in every locale. The widths are those of the environment's locale if that is UTF-8,
 * else of C.UTF-8; where both are missing every character has one column. Can be called from any thread, and leaves
 * the locale of the process alone. */
int ccl_columns(uint32_t character);

#endif
