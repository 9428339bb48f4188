#include "oplog/keyset.h"

#include <stdlib.h>

#define FIRST_CAP 64u

static uint32_t slot_of(const struct key_set *set, const struct ucan_key *key)
{
    uint32_t i = (uint32_t)(be_get(key->b, 8) % set->cap);
    while (set->slots[i] != 0 &&
           memcmp(set->keys[set->slots[i] - 1].b, key->b, sizeof(*key)) != 0) {
        i = (i + 1) % set->cap;
    }
    return i;
}

static int grow(struct key_set *set)
{
    if (set->cap > UINT32_MAX / 2) {
        return ERR_NO_MEMORY;
    }
    struct key_set larger = {.count = set->count, .cap = set->cap == 0 ? FIRST_CAP : set->cap * 2};
    larger.slots = calloc(larger.cap, sizeof(*larger.slots));
    larger.keys = realloc(set->keys, larger.cap / 2 * sizeof(*larger.keys));
    if (larger.keys != NULL) {
        set->keys = larger.keys;
    }
    if (larger.slots == NULL || larger.keys == NULL) {
        free(larger.slots);
        return ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < set->count; i++) {
        larger.slots[slot_of(&larger, &larger.keys[i])] = i + 1;
    }
    free(set->slots);
    *set = larger;
    return 0;
}

int key_set_add(struct key_set *set, const struct ucan_key *key, uint32_t *place)
{
    int rv = set->count >= set->cap / 2 ? grow(set) : 0;
    if (rv != 0) {
        return rv;
    }
    uint32_t slot = slot_of(set, key);
    if (set->slots[slot] == 0) {
        set->keys[set->count++] = *key;
        set->slots[slot] = set->count;
    }
    if (place != NULL) {
        *place = set->slots[slot] - 1;
    }
    return 0;
}

void key_set_free(struct key_set *set)
{
    free(set->keys);
    free(set->slots);
    *set = (struct key_set){0};
}
