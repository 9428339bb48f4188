#include "projections/idset.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>

#define CAP_FIRST 64u

static uint32_t slot_of(const struct id_set *set, const struct op_id *id)
{
    uint8_t hash[crypto_shorthash_BYTES];
    _Static_assert(sizeof(set->secret) == crypto_shorthash_KEYBYTES, "a secret is a key");
    crypto_shorthash(hash, id->b, sizeof(id->b), set->secret);
    return (uint32_t)be_get(hash, sizeof(hash)) & (set->cap - 1);
}

/* The slot of an id, or the empty one where it belongs. */
static uint32_t find_slot(const struct id_set *set, const struct op_id *id)
{
    uint32_t slot = slot_of(set, id);
    while (set->slots[slot] != 0 && op_id_compare(&set->ids[set->slots[slot] - 1], id) != 0) {
        slot = (slot + 1) & (set->cap - 1);
    }
    return slot;
}

static int grow(struct id_set *set)
{
    struct id_set wider = {.cap = set->cap == 0 ? CAP_FIRST : 2 * set->cap, .count = set->count};
    struct op_id *ids = realloc(set->ids, wider.cap / 2 * sizeof(*ids));
    if (ids == NULL) {
        return ERR_NO_MEMORY;
    }
    set->ids = ids;
    wider.ids = ids;
    randombytes_buf(wider.secret, sizeof(wider.secret));
    wider.slots = calloc(wider.cap, sizeof(*wider.slots));
    if (wider.slots == NULL) {
        return ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < set->count; i++) {
        wider.slots[find_slot(&wider, &ids[i])] = i + 1;
    }
    free(set->slots);
    *set = wider;
    return 0;
}

int id_set_add(struct id_set *set, const struct op_id *id, bool *added)
{
    int rv = 2 * set->count >= set->cap ? grow(set) : 0;
    *added = false;
    if (rv != 0) {
        return rv;
    }
    uint32_t slot = find_slot(set, id);
    if (set->slots[slot] == 0) {
        set->ids[set->count] = *id;
        set->slots[slot] = ++set->count;
        *added = true;
    }
    return 0;
}

bool id_set_has(const struct id_set *set, const struct op_id *id)
{
    return set->cap > 0 && set->slots[find_slot(set, id)] != 0;
}

uint32_t id_set_place(const struct id_set *set, const struct op_id *id)
{
    assert(id_set_has(set, id));
    return set->slots[find_slot(set, id)] - 1;
}

void id_set_free(struct id_set *set)
{
    free(set->ids);
    free(set->slots);
    *set = (struct id_set){0};
}
