#include "oplog/runs.h"

#include "base/limits.h"
#include "oplog/db.h"
#include "oplog/log.h"

/* Layout (spec/store.md):
 *   chains   author ix 4 ‖ first seq 8 ‖ first hash 16    first n 8 ‖ count 2 */
#define RUN_KEY 28u
#define RUN_VALUE 10u

int run_put(struct txn *txn, const struct log_run *run)
{
    uint8_t key[RUN_KEY];
    uint8_t value[RUN_VALUE];
    be_put(key, 4, run->author_ix);
    be_put(key + 4, 8, run->seq);
    memcpy(key + 12, run->hash_part, sizeof(run->hash_part));
    be_put(value, 8, run->n);
    be_put(value + 8, 2, run->count);
    return db_put(txn, DB_chains, bytes_of(key, sizeof(key)), bytes_of(value, sizeof(value)));
}

int run_read(struct bytes key, struct bytes value, struct log_run *out)
{
    if (key.len != RUN_KEY || value.len != RUN_VALUE) {
        return ERR_CORRUPT;
    }
    out->author_ix = (uint32_t)be_get(key.data, 4);
    out->seq = be_get(key.data + 4, 8);
    memcpy(out->hash_part, key.data + 12, sizeof(out->hash_part));
    out->n = be_get(value.data, 8);
    out->count = (uint32_t)be_get(value.data + 8, 2);
    return out->count >= 1 && out->count <= LIMIT_SEGMENT_OPS ? 0 : ERR_CORRUPT;
}

/* A walk downwards through one author's runs. */
struct descent {
    struct db_cursor *cursor;
    uint32_t author_ix;
    struct log_run run;
};

static int descent_read(struct descent *descent, int rv, struct bytes key, struct bytes value)
{
    if (rv == 0) {
        rv = run_read(key, value, &descent->run);
    }
    return rv == 0 && descent->run.author_ix != descent->author_ix ? ERR_UNKNOWN_ID : rv;
}

/* Begin at the last run that begins at or before a seq. */
static int descent_begin(struct txn *txn, uint32_t author_ix, uint64_t seq, struct descent *descent)
{
    uint8_t beyond[12];
    struct bytes key;
    struct bytes value;
    descent->author_ix = author_ix;
    be_put(beyond, 4, author_ix);
    be_put(beyond + 4, 8, seq + 1);
    int rv = db_cursor(txn, DB_chains, &descent->cursor);
    if (rv != 0) {
        return rv;
    }
    rv = db_seek(descent->cursor, bytes_of(beyond, sizeof(beyond)), &key, &value);
    if (rv == 0 || rv == ERR_UNKNOWN_ID) {
        rv = db_step(descent->cursor, rv == 0 ? MDB_PREV : MDB_LAST, &key, &value);
    }
    return descent_read(descent, rv, key, value);
}

static int descent_next(struct descent *descent)
{
    struct bytes key = {0};
    struct bytes value = {0};
    int rv = db_step(descent->cursor, MDB_PREV, &key, &value);
    return descent_read(descent, rv, key, value);
}

/* Can a run that begins here reach up to a seq? */
static bool can_reach(const struct log_run *run, uint64_t seq)
{
    return seq - run->seq < LIMIT_SEGMENT_OPS;
}

int run_of(struct txn *txn, uint32_t author_ix, uint64_t seq, uint64_t n, struct log_run *out)
{
    struct descent descent;
    int rv = descent_begin(txn, author_ix, seq, &descent);
    while (rv == 0 && can_reach(&descent.run, seq)) {
        uint64_t at = seq - descent.run.seq;
        if (at < descent.run.count && descent.run.n + at == n) {
            *out = descent.run;
            return 0;
        }
        rv = descent_next(&descent);
    }
    return rv == 0 ? ERR_UNKNOWN_ID : rv;
}

/* Does the op that arrived as n have exactly this hash? */
static int check_hash(struct txn *txn, uint64_t n, const struct op_hash *hash)
{
    struct row row;
    int rv = log_row(txn, n, &row);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
    }
    struct op_hash found = op_hash(&row.op);
    return op_hash_equal(&found, hash) ? 0 : ERR_UNKNOWN_ID;
}

static bool begins_with(const struct log_run *run, const struct op_hash *hash)
{
    return memcmp(run->hash_part, hash->b, sizeof(run->hash_part)) == 0;
}

int run_find(struct txn *txn, uint32_t author_ix, uint64_t seq, const struct op_hash *hash,
             uint64_t *n)
{
    struct descent descent;
    int rv = descent_begin(txn, author_ix, seq, &descent);
    while (rv == 0 && can_reach(&descent.run, seq)) {
        uint64_t at = seq - descent.run.seq;
        if (at < descent.run.count && (at > 0 || begins_with(&descent.run, hash))) {
            *n = descent.run.n + at;
            rv = check_hash(txn, *n, hash);
            if (rv != ERR_UNKNOWN_ID) {
                return rv;
            }
        }
        rv = descent_next(&descent);
    }
    return rv == 0 ? ERR_UNKNOWN_ID : rv;
}

/* Look for a hash in one run. The row knows the first op's, each further op names the one
 * before it, so only the last has to be hashed. */
static int search_run(struct txn *txn, const struct log_run *run, const struct op_hash *hash,
                      uint64_t *n)
{
    struct row row;
    *n = run->n;
    if (begins_with(run, hash)) {
        return check_hash(txn, *n, hash);
    }
    for (uint32_t i = 1; i < run->count; i++) {
        int rv = log_row(txn, run->n + i, &row);
        if (rv != 0 || row.author_ix != run->author_ix || row.op.prev_count != 1) {
            return rv == 0 || rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
        }
        if (op_hash_equal(op_prev(&row.op, 0), hash)) {
            *n = run->n + i - 1;
            return check_hash(txn, *n, hash);
        }
    }
    *n = run->n + run->count - 1;
    return run->count > 1 ? check_hash(txn, *n, hash) : ERR_UNKNOWN_ID;
}

int run_search(struct txn *txn, uint32_t author_ix, uint64_t max_seq, const struct op_hash *hash,
               uint64_t *n)
{
    struct descent descent;
    int rv = descent_begin(txn, author_ix, max_seq, &descent);
    while (rv == 0) {
        rv = search_run(txn, &descent.run, hash, n);
        if (rv != ERR_UNKNOWN_ID) {
            return rv;
        }
        rv = descent_next(&descent);
    }
    return rv;
}

int run_walk_next(struct txn *txn, struct run_walk *walk, struct log_run *out)
{
    struct db_cursor *cursor;
    struct bytes key;
    struct bytes value;
    if (!walk->begun) {
        be_put(walk->from, 4, walk->author_ix);
        walk->begun = true;
    }
    int rv = db_cursor(txn, DB_chains, &cursor);
    if (rv == 0) {
        rv = db_seek(cursor, bytes_of(walk->from, sizeof(walk->from)), &key, &value);
    }
    if (rv == 0) {
        rv = run_read(key, value, out);
    }
    if (rv != 0) {
        return rv;
    }
    memcpy(walk->from, key.data, sizeof(walk->from)); /* run_read has checked its length. */
    (void)be_increment(walk->from, sizeof(walk->from));
    return out->author_ix == walk->author_ix ? 0 : ERR_UNKNOWN_ID;
}
