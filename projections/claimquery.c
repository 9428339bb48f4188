#include "projections/claimquery.h"

#include <stdlib.h>

#include "projections/ids.h"

/* Words --------------------------------------------------------------------------------- */

static struct bytes field(const struct value *fields, const char *key)
{
    struct bytes text;
    return value_get_text(fields, key, &text) ? text : bytes_of("", 0);
}

static void read_words(const struct value *fields, struct claim_words *out)
{
    *out = (struct claim_words){.subject = field(fields, "subject"),
                                .predicate = field(fields, "predicate"),
                                .object = field(fields, "object"),
                                .text = field(fields, "text"),
                                .domain = field(fields, "domain")};
}

int claim_words(struct txn *txn, struct arena *arena, const struct state *state,
                const struct said *maker, struct claim_words *out)
{
    struct entry from;
    struct said origin;
    read_words(&maker->fields, out);
    if (!op_id_is_set(&state->origin)) {
        return 0;
    }
    int rv = record_now(txn, &state->origin, &from);
    if (rv == 0) {
        rv = record_maker(txn, arena, &state->origin, &from.state, &origin);
    }
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
    }
    read_words(&origin.fields, out);
    struct bytes value = field(&maker->fields, "value");
    if (out->text.len > 0) {
        out->text = value;
    } else {
        out->object = value;
    }
    return 0;
}

/* Lanes --------------------------------------------------------------------------------- */

/* The claim that an op in a lane has made. */
static int made_by(struct txn *txn, struct arena *arena, const struct op_id *at, struct op_id *out)
{
    struct entry entry;
    struct said said;
    int rv = record_now(txn, at, &entry);
    *out = *at;
    if (rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    arena_reset(arena);
    rv = said_at(txn, arena, at, &said);
    if (rv == 0) {
        *out = said.makes;
    }
    return rv;
}

static int compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct op_id));
}

static int read_lane(struct txn *txn, const struct op_id *lane, struct buf *ids)
{
    struct lane_walk members;
    struct arena arena;
    struct op_id id;
    int rv;
    arena_init(&arena, LIMIT_TREE_BYTES);
    lanes_walk(lane, &members);
    while ((rv = lanes_next(txn, &members)) == 0) {
        rv = members.is_void ? 0 : made_by(txn, &arena, &members.at, &id);
        if (rv != 0) {
            break;
        }
        if (!members.is_void) {
            buf_put(ids, id.b, sizeof(id.b));
        }
    }
    arena_free(&arena);
    if (rv == ERR_UNKNOWN_ID) {
        rv = buf_error(ids);
    }
    if (rv == 0 && ids->len > 0) {
        qsort(ids->data, ids->len / sizeof(id), sizeof(id), compare_ids);
    }
    return rv;
}

/* Walks --------------------------------------------------------------------------------- */

int claims_walk(struct txn *txn, const struct op_id *as_of, const struct claim_filter *filter,
                struct claim_walk *out)
{
    out->filter = *filter;
    out->next = 0;
    out->by_lane = filter->subject_count == 1 && filter->predicate != NULL;
    buf_init(&out->ids, SIZE_MAX / 2);
    records_walk(txn, as_of, RECORD_CLAIM, filter->status, &out->records);
    if (!out->by_lane) {
        return 0;
    }
    struct op_id lane = lane_id(filter->subjects[0], *filter->predicate);
    return read_lane(txn, &lane, &out->ids);
}

void claims_end(struct claim_walk *walk)
{
    buf_free(&walk->ids);
}

/* The next claim of the lane that was there, and so, as of the position. */
static int next_of_lane(struct claim_walk *walk, struct op_id *id, struct entry *out)
{
    while (walk->next < walk->ids.len) {
        memcpy(id->b, walk->ids.data + walk->next, sizeof(id->b));
        walk->next += sizeof(id->b);
        int rv = record_as_of(walk->records.txn, walk->records.as_of, id, out);
        bool fits = rv == 0 &&
                    (walk->filter.status == STATUS_ANY || walk->filter.status == out->state.status);
        if (fits || (rv != 0 && rv != ERR_UNKNOWN_ID)) {
            return rv;
        }
    }
    return ERR_UNKNOWN_ID;
}

static bool fits(const struct claim_filter *filter, const struct claim_words *words)
{
    bool is_one = filter->subject_count == 0;
    for (uint32_t i = 0; !is_one && i < filter->subject_count; i++) {
        is_one = words->subject.len > 0 && bytes_equal(words->subject, filter->subjects[i]);
    }
    return is_one &&
           (filter->predicate == NULL || bytes_equal(words->predicate, *filter->predicate));
}

int claims_next(struct claim_walk *walk, struct arena *arena, struct claim *out)
{
    struct txn *txn = walk->records.txn;
    int rv;
    do {
        rv = walk->by_lane ? next_of_lane(walk, &out->id, &out->entry)
                           : records_next(&walk->records, &out->id, &out->entry);
        arena_reset(arena);
        if (rv == 0) {
            rv = record_maker(txn, arena, &out->id, &out->entry.state, &out->maker);
        }
        if (rv == 0) {
            rv = claim_words(txn, arena, &out->entry.state, &out->maker, &out->words);
        }
    } while (rv == 0 && !fits(&walk->filter, &out->words));
    return rv;
}
