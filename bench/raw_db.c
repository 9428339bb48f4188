#include "bench/raw_db.h"

#include <assert.h>
#include <errno.h>
#include <lmdb.h>
#include <stdlib.h>

#include "base/limits.h"
#include "bench/folder.h"
#include "bench/rng.h"
#include "oplog/op.h"

#define FOLDER "raw"
#define GETS_BETWEEN_LOOKS 256u

#define KEYED_EVERY 5u /* Of the ops of the corpus, one in five makes a keyed record. */

/* As many as a store of the log has; the first six take rows. */
enum {
    LOG,
    ORDER,
    CHAINS,
    HEADS,
    AUTHORS,
    MAKERS,
    META,
    AUTHOR_KEYS,
    WAITING,
    ABANDONS,
    PARKED,
    DBS
};

static const char *const names[DBS] = {"log",     "order",    "chains", "heads",
                                       "authors", "makers",   "meta",   "author_keys",
                                       "waiting", "abandons", "parked"};

struct raw_db {
    struct path path;
    MDB_env *env;
    MDB_dbi dbi[DBS];
    struct rng rng;
    uint64_t rows;
    uint8_t head[36]; /* The key of the head row that the next one replaces. */
    size_t log_len;   /* Of an op that is signed. */
    uint8_t *log;
};

static int put(struct raw_db *db, MDB_txn *txn, int to, void *key, size_t key_len, void *value,
               size_t value_len)
{
    MDB_val k = {.mv_size = key_len, .mv_data = key};
    MDB_val v = {.mv_size = value_len, .mv_data = value};
    return mdb_put(txn, db->dbi[to], &k, &v, to == LOG ? MDB_APPEND : 0);
}

/* A number that ascends, then what looks like part of a hash. */
static void make_key(struct raw_db *db, uint8_t *key, size_t number_len, size_t len)
{
    memset(key, 0, number_len);
    be_put(key + number_len - 8, 8, db->rows);
    for (size_t i = number_len; i < len; i += 8) {
        be_put(key + i, 8, rng_next(&db->rng));
    }
}

/* Named after a hash, it comes anywhere. */
static int put_maker(struct raw_db *db, MDB_txn *txn)
{
    uint8_t key[40];
    uint8_t value[4] = {0};
    for (size_t i = 0; i < sizeof(key); i += 8) {
        be_put(key + i, 8, rng_next(&db->rng));
    }
    return put(db, txn, MAKERS, key, sizeof(key), value, sizeof(value));
}

/* The rows of one op: spec/store.md has their sizes. */
static int put_op(struct raw_db *db, MDB_txn *txn, size_t log_len)
{
    uint8_t log[8];
    uint8_t order[32];
    uint8_t value[10] = {0};
    make_key(db, log, 8, sizeof(log));
    make_key(db, order, 16, sizeof(order));
    int rv = put(db, txn, LOG, log, sizeof(log), db->log, log_len);
    if (rv == 0) {
        rv = put(db, txn, ORDER, order, sizeof(order), value, 10);
    }
    if (rv == 0 && db->rows % KEYED_EVERY == 0) {
        rv = put_maker(db, txn);
    }
    db->rows++;
    return rv;
}

/* The rows of one segment: its run, and its last op as the head. */
static int end_segment(struct raw_db *db, MDB_txn *txn)
{
    uint8_t run[28];
    uint8_t head[sizeof(db->head)];
    uint8_t author[32] = {1};
    uint8_t value[32] = {0};
    make_key(db, run, 12, sizeof(run));
    make_key(db, head, 12, sizeof(head));
    MDB_val before = {.mv_size = sizeof(db->head), .mv_data = db->head};
    int rv = mdb_del(txn, db->dbi[HEADS], &before, NULL);
    if (rv == 0 || rv == MDB_NOTFOUND) { /* There is none the first time. */
        rv = put(db, txn, HEADS, head, sizeof(head), value, sizeof(value));
    }
    memcpy(db->head, head, sizeof(head));
    if (rv == 0) {
        rv = put(db, txn, CHAINS, run, sizeof(run), value, 10);
    }
    return rv != 0 ? rv : put(db, txn, AUTHORS, author, sizeof(author), value, 16);
}

static int commit_ops(struct raw_db *db, uint64_t count, size_t log_len)
{
    MDB_txn *txn;
    int rv = mdb_txn_begin(db->env, NULL, 0, &txn);
    if (rv != 0) {
        return rv;
    }
    for (uint64_t i = 1; i <= count && rv == 0; i++) {
        rv = put_op(db, txn, log_len);
        if (rv == 0 && (i % LIMIT_SEGMENT_OPS == 0 || i == count)) {
            rv = end_segment(db, txn);
        }
    }
    if (rv != 0) {
        mdb_txn_abort(txn);
        return rv;
    }
    return mdb_txn_commit(txn);
}

static int open_env(struct raw_db *db, uint64_t rows)
{
    uint64_t map = LIMIT_MAP_START;
    while (map / 4 < rows * (db->log_len + 256)) {
        map *= 2;
    }
    int rv = mdb_env_create(&db->env);
    if (rv == 0) {
        rv = mdb_env_set_mapsize(db->env, map);
    }
    if (rv == 0) {
        rv = mdb_env_set_maxdbs(db->env, LIMIT_DATABASES);
    }
    if (rv == 0) {
        rv = mdb_env_set_maxreaders(db->env, LIMIT_READERS);
    }
    return rv != 0 ? rv : mdb_env_open(db->env, db->path.text, MDB_NOTLS, 0600);
}

static int open_dbs(struct raw_db *db)
{
    MDB_txn *txn;
    int rv = mdb_txn_begin(db->env, NULL, 0, &txn);
    if (rv != 0) {
        return rv;
    }
    for (int i = 0; i < DBS && rv == 0; i++) {
        rv = mdb_dbi_open(txn, names[i], MDB_CREATE, &db->dbi[i]);
    }
    if (rv != 0) {
        mdb_txn_abort(txn);
        return rv;
    }
    return mdb_txn_commit(txn);
}

/* In groups as a node's own ops come, so that free pages lie about as they do in its store. */
static int fill(struct raw_db *db, uint64_t rows)
{
    int rv = 0;
    while (db->rows < rows && rv == 0) {
        uint64_t left = rows - db->rows;
        rv = commit_ops(db, left < FILL_GROUP ? left : FILL_GROUP, db->log_len - OP_SIG_BYTES);
    }
    return rv;
}

int raw_db_ready(struct run *run)
{
    if (run->db != NULL) {
        return 0;
    }
    struct raw_db *db = calloc(1, sizeof(*db));
    if (db == NULL) {
        return ERR_NO_MEMORY;
    }
    /* An op that is committed alone is signed; a row has five bytes before it. */
    db->log_len = run->totals.op_bytes / run->totals.ops + OP_SIG_BYTES + 5;
    db->log = calloc(1, db->log_len);
    int rv = db->log == NULL ? ERR_NO_MEMORY : folder_make(run->options->dir, FOLDER, &db->path);
    if (rv == 0) {
        rv = err_from_errno(open_env(db, run->ops));
    }
    if (rv == 0) {
        rv = err_from_errno(open_dbs(db));
    }
    if (rv == 0) {
        rv = err_from_errno(fill(db, run->ops));
    }
    if (rv != 0) {
        raw_db_close(db);
        return rv;
    }
    run->db = db;
    return 0;
}

void raw_db_close(struct raw_db *db)
{
    if (db == NULL) {
        return;
    }
    mdb_env_close(db->env);
    if (db->path.text[0] != 0) {
        folder_remove(&db->path);
    }
    free(db->log);
    free(db);
}

int raw_db_commits(struct raw_db *db, double seconds, double *per_s)
{
    double start = seconds_now();
    double spent = 0;
    uint64_t done = 0;
    int rv = 0;
    while (spent < seconds && rv == 0) {
        rv = commit_ops(db, 1, db->log_len);
        done++;
        spent = seconds_now() - start;
    }
    *per_s = (double)done / spent;
    return err_from_errno(rv);
}

/* The sum keeps the reads from being optimised away. */
static int get_random(struct raw_db *db, MDB_txn *txn, unsigned *sum)
{
    uint8_t key[8];
    be_put(key, sizeof(key), rng_next(&db->rng) % db->rows);
    MDB_val k = {.mv_size = sizeof(key), .mv_data = key};
    MDB_val v;
    int rv = mdb_get(txn, db->dbi[LOG], &k, &v);
    if (rv == 0) {
        *sum += *(const uint8_t *)v.mv_data;
    }
    return rv;
}

int raw_db_gets(struct raw_db *db, double seconds, double *per_s)
{
    MDB_txn *txn;
    int rv = mdb_txn_begin(db->env, NULL, MDB_RDONLY, &txn);
    if (rv != 0) {
        return err_from_errno(rv);
    }
    double start = seconds_now();
    double spent = 0;
    uint64_t done = 0;
    unsigned sum = 0;
    while (spent < seconds && rv == 0) {
        for (unsigned i = 0; i < GETS_BETWEEN_LOOKS && rv == 0; i++) {
            rv = get_random(db, txn, &sum);
        }
        done += GETS_BETWEEN_LOOKS;
        spent = seconds_now() - start;
    }
    mdb_txn_abort(txn);
    assert(sum == 0); /* All rows are zeros. */
    *per_s = (double)done / spent;
    return err_from_errno(rv);
}
