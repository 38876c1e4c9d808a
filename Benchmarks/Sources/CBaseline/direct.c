/* SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>

#include "CBaseline.h"

enum { ENTRIES = 1 << 24, BLOCK = 256 };

/* Set in an entry that leads to a block. */
static const uint32_t BLOCK_BIT = 1u << 31;

struct baseline_direct {
    uint32_t *entries;
    uint32_t *blocks;
    uint32_t count, capacity; /* of blocks */
};

baseline_direct *baseline_direct_new(void) {
    baseline_direct *table = calloc(1, sizeof(*table));
    if (table && !(table->entries = calloc(ENTRIES, sizeof(uint32_t)))) {
        free(table);
        return NULL;
    }
    return table;
}

void baseline_direct_free(baseline_direct *table) {
    free(table->entries);
    free(table->blocks);
    free(table);
}

/* The block of an entry, made from the entry's value where there is none yet; NULL without memory. */
static uint32_t *baseline_direct_block(baseline_direct *table, uint32_t *entry) {
    if (!(*entry & BLOCK_BIT)) {
        if (table->count == table->capacity) {
            uint32_t capacity = table->capacity ? table->capacity * 2 : 1024;
            uint32_t *blocks = realloc(table->blocks, (size_t)capacity * BLOCK * sizeof(uint32_t));
            if (!blocks) {
                return NULL;
            }
            table->blocks = blocks;
            table->capacity = capacity;
        }
        for (uint32_t place = 0; place < BLOCK; place++) {
            table->blocks[table->count * BLOCK + place] = *entry;
        }
        *entry = BLOCK_BIT | table->count++;
    }
    return table->blocks + (*entry & ~BLOCK_BIT) * BLOCK;
}

bool baseline_direct_add(baseline_direct *table, uint32_t address, uint32_t length, uint32_t value) {
    uint32_t *first = table->entries + (address >> 8);
    if (length <= 24) {
        for (uint32_t rest = 0; rest < 1u << (24 - length); rest++) {
            first[rest] = value;
        }
        return true;
    }
    uint32_t *block = baseline_direct_block(table, first);
    for (uint32_t rest = 0; block && rest < 1u << (32 - length); rest++) {
        block[(address & 0xff) + rest] = value;
    }
    return block != NULL;
}

int64_t baseline_direct_count(const baseline_direct *table, const uint32_t *addresses, int64_t count) {
    int64_t found = 0;
    for (int64_t place = 0; place < count; place++) {
        uint32_t value = table->entries[addresses[place] >> 8];
        if (value & BLOCK_BIT) {
            value = table->blocks[(value & ~BLOCK_BIT) * BLOCK + (addresses[place] & 0xff)];
        }
        found += value != 0;
    }
    return found;
}
