/* keyset.h - Keys, each once, in the order they were added; for the files of oplog/ only. */
#ifndef OPLOG_KEYSET_H
#define OPLOG_KEYSET_H

#include "base/bytes.h"
#include "ucan/token.h"

/* Zero it to begin. Never more than half of the slots are taken. */
struct key_set {
    struct ucan_key *keys;
    uint32_t *slots; /* Places in keys, from 1; 0 is empty. */
    uint32_t count;
    uint32_t cap; /* Of slots; keys has room for half as many. */
};

/* *place, unless place is NULL, is where the key is. ERR_NO_MEMORY. */
int key_set_add(struct key_set *set, const struct ucan_key *key, uint32_t *place) ERR_MUST_CHECK;
void key_set_free(struct key_set *set);

#endif
