/* query.h - What the records say, now or as of a position (spec/queries.md).
 *
 * Reads only, inside the caller's transaction, and never a clock. as_of is the position up to which
 * ops count, itself included; NULL: all of them. It is borrowed as long as what was begun with it.
 * "Not there" is ERR_UNKNOWN_ID, which also ends the walks. */
#ifndef PROJECTIONS_QUERY_H
#define PROJECTIONS_QUERY_H

#include "base/value.h"
#include "fsm/fsm.h"
#include "oplog/log.h"
#include "projections/links.h"
#include "projections/records.h"

/* Ops ----------------------------------------------------------------------------------- */

/* What the op that stands at a position says. */
struct said {
    struct op_id at;
    struct op_hash part; /* The first half of its hash. */
    struct place place;
    uint32_t kind;
    uint32_t author_ix;
    struct op_author author;
    struct value fields; /* A map in the arena; empty where the payload is not here. */
    struct op_id makes;  /* The record that a creation makes, or would make. */
};

int said_at(struct txn *txn, struct arena *arena, const struct op_id *at,
            struct said *out) ERR_MUST_CHECK;

/* The id in a field of it; false if there is none. */
bool said_id(const struct said *said, const char *field, struct op_id *out);

/* Did the folds apply it? */
static inline bool said_counts(const struct said *said)
{
    return said->place.outcome.state == VERDICT_APPLIED;
}

/* Records ------------------------------------------------------------------------------- */

/* The last entry of a record up to a position. */
int record_as_of(struct txn *txn, const struct op_id *as_of, const struct op_id *id,
                 struct entry *out) ERR_MUST_CHECK;

/* The entry after out->at, which is moved on; all zero to begin. */
int history_next(struct txn *txn, const struct op_id *as_of, const struct op_id *id,
                 struct entry *out) ERR_MUST_CHECK;

/* The op that made it: of a setting, the one that first set it. */
int record_maker(struct txn *txn, struct arena *arena, const struct op_id *id,
                 const struct state *state, struct said *out) ERR_MUST_CHECK;

/* Records of a type in ascending order of their ids. */
#define STATUS_ANY UINT8_MAX
#define STATUSES_MAX FSM_MAX

struct record_walk {
    struct txn *txn;
    const struct op_id *as_of;
    uint8_t type;
    uint8_t status;
    uint8_t first; /* Of the statuses that are walked through side by side, … */
    uint8_t count; /* … and how many there are. */
    struct op_id at[STATUSES_MAX];
    bool ended[STATUSES_MAX];
};

void records_walk(struct txn *txn, const struct op_id *as_of, uint8_t type, uint8_t status,
                  struct record_walk *out);
int records_next(struct record_walk *walk, struct op_id *id, struct entry *out) ERR_MUST_CHECK;

/* What all of them come to up to a position. now is told by the tally, at no cost. */
int digest_as_of(struct txn *txn, const struct op_id *as_of, struct digest *digest,
                 uint64_t *records) ERR_MUST_CHECK;

/* Ops in the log up to a position. */
int ops_as_of(struct txn *txn, const struct op_id *as_of, uint64_t *out) ERR_MUST_CHECK;

/* What rests on what ---------------------------------------------------------------------- */

/* The supports that a creation names: an array in the arena. */
const struct value *supports_of(const struct said *maker);
struct op_id support_at(const struct value *supports, uint32_t i);

/* The records that rest on one, in the order in which they were made. */
struct dependent_walk {
    struct txn *txn;
    const struct op_id *as_of;
    struct op_id on;
    struct reader reader;
};

void dependents_walk(struct txn *txn, const struct op_id *as_of, const struct op_id *on,
                     struct dependent_walk *out);
int dependents_next(struct dependent_walk *walk, struct op_id *id,
                    struct entry *out) ERR_MUST_CHECK;

/* Did the record become an invalid support by the op at a position? */
int record_fell(struct txn *txn, const struct op_id *id, const struct op_id *at,
                bool *out) ERR_MUST_CHECK;

/* Keys ------------------------------------------------------------------------------------- */

/* Records that were made under the same key with another content; maker is that of the one. */
struct same_key_walk {
    struct record_walk records;
    const struct said *maker;
    struct op_id id;
    struct arena arena;
};

void same_key_walk(struct txn *txn, const struct op_id *as_of, const struct op_id *id,
                   const struct state *state, const struct said *maker, struct same_key_walk *out);
int same_key_next(struct same_key_walk *walk, struct op_id *id, struct entry *out) ERR_MUST_CHECK;
void same_key_end(struct same_key_walk *walk);

#endif
