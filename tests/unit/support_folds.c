#include "tests/unit/support_folds.h"

#include <sodium.h>

#include "oplog/authority.h"
#include "oplog/db.h"
#include "projections/fold.h"

/* What the folds write. */
static const enum db folded[] = {DB_records, DB_history,  DB_reads,   DB_marks,
                                 DB_lanes,   DB_versions, DB_statuses};

/* A hash of the rows of each, of the outcomes of the ops, and of what all comes to. */
struct folds {
    struct op_hash rows[COUNT_OF(folded)];
    struct op_hash outcomes;
    struct op_hash tally;
};

void folds_on(struct store *store)
{
    authority_on(store);
    projections_on(store);
}

struct store *folds_store_new(const struct mesh_id *mesh)
{
    struct store *store = store_new_of(mesh);
    folds_on(store);
    return store;
}

void folds_wipe(struct store *store)
{
    struct tally none = {0};
    store_wipe(store);
    struct txn *txn = begin_write(store);
    assert_ok(tally_put(txn, &none));
    assert_ok(txn_commit(txn));
}

/* libsodium's state wants 64 bytes of alignment, which the stack that ASan makes up does not give.
 */
static crypto_generichash_state hashing;

static void hash_begin(void)
{
    crypto_generichash_init(&hashing, NULL, 0, sizeof(struct op_hash));
}

static void hash_add(struct bytes bytes)
{
    uint8_t len[4];
    be_put(len, sizeof(len), bytes.len);
    crypto_generichash_update(&hashing, len, sizeof(len));
    crypto_generichash_update(&hashing, bytes.data, bytes.len);
}

static struct op_hash hash_end(void)
{
    struct op_hash hash;
    crypto_generichash_final(&hashing, hash.b, sizeof(hash.b));
    return hash;
}

static struct op_hash hash_database(struct txn *txn, enum db db)
{
    struct db_cursor cursor;
    struct bytes key;
    struct bytes value;
    hash_begin();
    assert_ok(db_cursor_open(txn, db, &cursor));
    int rv = db_seek(&cursor, bytes_of("", 1), &key, &value);
    while (rv == 0) {
        hash_add(key);
        hash_add(value);
        rv = db_step(&cursor, MDB_NEXT, &key, &value);
    }
    db_cursor_close(&cursor);
    assert_err(db_name(db), rv, ERR_UNKNOWN_ID);
    return hash_end();
}

static struct op_hash hash_outcomes(struct txn *txn)
{
    struct walk walk;
    struct walk_item item;
    hash_begin();
    int rv = walk_order(txn, NULL, &walk);
    while (rv == 0 && (rv = walk_next(&walk, &item)) == 0) {
        const struct verdict *outcome = &item.place.outcome;
        uint8_t what[] = {outcome->state, outcome->reason, outcome->rule};
        hash_add(bytes_of(item.hash.b, sizeof(item.hash.b)));
        hash_add(bytes_of(what, sizeof(what)));
    }
    walk_end(&walk);
    assert_err("walk_order", rv, ERR_UNKNOWN_ID);
    return hash_end();
}

static struct op_hash hash_tally(struct txn *txn)
{
    struct tally tally;
    uint8_t counts[16];
    assert_ok(tally_get(txn, &tally));
    be_put(counts, 8, tally.records);
    be_put(counts + 8, 8, tally.log);
    hash_begin();
    hash_add(bytes_of(tally.latest.b, sizeof(tally.latest.b)));
    hash_add(bytes_of(tally.digest.b, sizeof(tally.digest.b)));
    hash_add(bytes_of(counts, sizeof(counts)));
    return hash_end();
}

static void hash_folds(struct txn *txn, struct folds *out)
{
    for (size_t i = 0; i < COUNT_OF(folded); i++) {
        out->rows[i] = hash_database(txn, folded[i]);
    }
    out->outcomes = hash_outcomes(txn);
    out->tally = hash_tally(txn);
}

struct op_hash folds_sum(struct txn *txn)
{
    struct folds folds;
    hash_folds(txn, &folds);
    hash_begin();
    hash_add(bytes_of(&folds, sizeof(folds)));
    return hash_end();
}

static void assert_same(const char *why, const char *what, const struct op_hash *a,
                        const struct op_hash *b)
{
    if (!op_hash_equal(a, b)) {
        fail_msg("%s: a rebuild leaves other rows of %s", why, what);
    }
}

void assert_folds_are_a_rebuild(struct store *store, const char *why)
{
    struct folds was;
    struct folds is;
    struct txn *txn = begin_write(store);
    hash_folds(txn, &was);
    assert_ok(projections_rebuild(txn));
    hash_folds(txn, &is);
    txn_abort(txn);
    for (size_t i = 0; i < COUNT_OF(folded); i++) {
        assert_same(why, db_name(folded[i]), &was.rows[i], &is.rows[i]);
    }
    assert_same(why, "outcomes", &was.outcomes, &is.outcomes);
    assert_same(why, "the tally", &was.tally, &is.tally);
}
