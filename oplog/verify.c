#include "oplog/verify.h"

#include <pthread.h>
#include <stdlib.h>

#include "oplog/db.h"
#include "oplog/pool.h"

#define CHUNK 4096u /* Ops that one thread checks at a time, in one read transaction. */
#define CHUNKS_AT_ONCE 8u

static const char unreadable[] = "unreadable";     /* The bytes are no op. */
static const char altered[] = "altered";           /* They are not the bytes that were stored. */
static const char not_in_order[] = "not_in_order"; /* Its row in the order is gone. */
static const char not_in_chain[] = "not_in_chain"; /* Its row in the author's chain is gone. */
static const char bad_payload[] = "bad_digest";    /* The payload does not fit the header. */
static const char lost_prev[] = "lost_prev";       /* An op it follows is not there. */
static const char stale_head[] = "stale_head";     /* An op it follows still counts as a head. */
static const char lost_head[] = "lost_head";       /* Nothing follows it, and it is no head. */
static const char bad_signature[] = "bad_signature";
static const char missing[] = "missing";       /* Its arrival number has no op. */
static const char bad_author[] = "bad_author"; /* Its author is not known. */
static const char bad_index[] = "bad_index";   /* Rows that belong to no op. */
static const char bad_page[] = "bad_page";     /* A page of the file that is no good. */
static const char bad_row[] = "bad_row";       /* A row that does not fit its check. */

struct check {
    struct store *store;
    uint64_t first; /* Of the chunks being checked. */
    uint64_t total;
    pthread_mutex_t lock;
    struct buf found; /* struct damage */
    int error;        /* The first failure to read. */
};

static void record(struct check *check, const struct damage *damage)
{
    pthread_mutex_lock(&check->lock);
    buf_put(&check->found, damage, sizeof(*damage));
    pthread_mutex_unlock(&check->lock);
}

static void fail(struct check *check, int error)
{
    pthread_mutex_lock(&check->lock);
    check->error = check->error == 0 ? error : check->error;
    pthread_mutex_unlock(&check->lock);
}

/* How many ops have arrived. The last row of the log tells, and where that was lost, the heads do:
 * the last op that arrived is one. Neither is believed beyond what the databases have rows for. */
static int arrivals(struct txn *txn, uint64_t *out)
{
    struct db_cursor *cursor;
    struct bytes key = {0};
    struct bytes value;
    uint64_t log;
    uint64_t order;
    int rv = db_count(txn, DB_log, &log);
    if (rv == 0) {
        rv = db_count(txn, DB_order, &order);
    }
    if (rv == 0) {
        rv = db_cursor(txn, DB_log, &cursor);
    }
    if (rv != 0) {
        return rv;
    }
    uint64_t most = log > order ? log : order;
    uint64_t bad_rows = 0;
    rv = db_step(cursor, MDB_LAST, &key, &value);
    if (rv != 0 && rv != ERR_UNKNOWN_ID && rv != ERR_CORRUPT) {
        return rv;
    }
    uint64_t last = rv == 0 && key.len == 8 ? be_get(key.data, 8) : 0;
    *out = rv == ERR_CORRUPT ? log : rv != 0 ? 0 : last < most ? last + 1 : most;
    rv = db_cursor(txn, DB_heads, &cursor);
    if (rv == 0) {
        rv = db_step_good(cursor, MDB_FIRST, &key, &value, &bad_rows);
    }
    for (; rv == 0; rv = db_step_good(cursor, MDB_NEXT, &key, &value, &bad_rows)) {
        uint64_t n = value.len == 32 ? be_get(value.data + 24, 8) : 0;
        *out = n >= *out && n < order ? n + 1 : *out;
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* One thread's walk through a chunk, with the last op of each of a few authors at hand. */
struct pass {
    struct check *check;
    struct txn *txn;
    uint64_t total; /* What has arrived as of this transaction. */
    uint32_t last_ix;
    bool has_last;
    struct op_hash last;
    struct log_run run; /* The one of the op before. */
};

static void damaged(struct pass *pass, uint64_t n, const char *problem)
{
    struct damage damage = {.n = n, .problem = problem};
    record(pass->check, &damage);
}

static void damaged_database(struct check *check, const char *problem, const char *database)
{
    struct damage damage = {.n = check->total, .problem = problem, .database = database};
    record(check, &damage);
}

static void damaged_op(struct pass *pass, const struct row *row, const struct op_hash *hash,
                       const char *problem)
{
    struct damage damage = {.n = row->n, .problem = problem, .has_id = true, .has_hash = true};
    damage.id = row->op.id;
    damage.hash = *hash;
    damage.seq = row->op.seq;
    damage.has_author = author_key(pass->txn, row->author_ix, &damage.author) == 0;
    record(pass->check, &damage);
}

/* The problem with the ops that this one follows, or NULL. */
static const char *check_prevs(struct pass *pass, const struct row *row)
{
    for (uint32_t i = 0; i < row->op.prev_count; i++) {
        const struct op_hash *prev = op_prev(&row->op, i);
        bool just_seen = pass->has_last && pass->last_ix == row->author_ix &&
                         op_hash_equal(prev, &pass->last);
        if (!just_seen) {
            uint64_t n;
            int rv = run_find(pass->txn, row->author_ix, row->op.seq - 1, prev, &n);
            if (rv == ERR_UNKNOWN_ID && row->op.prev_count > 1) {
                rv = run_search(pass->txn, row->author_ix, row->op.seq - 1, prev, &n);
            }
            if (rv != 0) {
                return lost_prev;
            }
        }
        struct head head;
        if (head_get(pass->txn, row->author_ix, prev, &head) == 0) {
            return stale_head;
        }
    }
    return NULL;
}

/* Is the op in the run that its author's chain has for it? */
static bool in_chain(struct pass *pass, const struct row *row, const struct op_hash *hash)
{
    struct log_run *run = &pass->run;
    bool same = run->author_ix == row->author_ix && row->n - run->n < run->count &&
                row->op.seq - run->seq == row->n - run->n;
    if (!same && run_of(pass->txn, row->author_ix, row->op.seq, row->n, run) != 0) {
        run->count = 0;
        return false;
    }
    return row->n != run->n || memcmp(run->hash_part, hash->b, sizeof(run->hash_part)) == 0;
}

/* Does an op of the log follow this one? Only the first op of a run can. */
static bool is_followed(struct pass *pass, const struct row *row, const struct op_hash *hash)
{
    uint8_t from[12];
    struct db_cursor *cursor;
    struct bytes key;
    struct bytes value;
    struct log_run run;
    struct row first;
    uint64_t bad_rows = 0;
    be_put(from, 4, row->author_ix);
    be_put(from + 4, 8, row->op.seq + 1);
    int rv = db_cursor(pass->txn, DB_chains, &cursor);
    if (rv == 0) {
        rv = db_seek_good(cursor, bytes_of(from, sizeof(from)), &key, &value, &bad_rows);
    }
    for (; rv == 0; rv = db_step_good(cursor, MDB_NEXT, &key, &value, &bad_rows)) {
        if (run_read(key, value, &run) != 0 || log_row(pass->txn, run.n, &first) != 0) {
            continue; /* Named elsewhere. */
        }
        if (run.author_ix != row->author_ix) {
            return false;
        }
        for (uint32_t i = 0; i < first.op.prev_count; i++) {
            if (op_hash_equal(op_prev(&first.op, i), hash)) {
                return true;
            }
        }
    }
    return false;
}

/* The last op of a run is a head, or something follows it. */
static bool is_lost_head(struct pass *pass, const struct row *row, const struct op_hash *hash)
{
    struct head head;
    return row->n == pass->run.n + pass->run.count - 1 &&
           head_get(pass->txn, row->author_ix, hash, &head) != 0 && !is_followed(pass, row, hash);
}

/* Why can a row not be read? */
static const char *lost_with_page(struct pass *pass, uint64_t n)
{
    uint8_t key[8];
    be_put(key, sizeof(key), n);
    return db_page_is_bad(pass->txn, DB_log, bytes_of(key, sizeof(key))) ? bad_page : unreadable;
}

static void check_op(struct pass *pass, uint64_t n)
{
    struct row row;
    struct place place;
    enum payload_state state;
    int rv = log_row(pass->txn, n, &row);
    if (rv != 0) {
        damaged(pass, n, rv == ERR_UNKNOWN_ID ? missing : lost_with_page(pass, n));
        return;
    }
    struct op_hash hash = op_hash(&row.op);
    const char *problem = NULL;
    if (order_get(pass->txn, &row.op.id, &hash, &place) != 0 || place.n != n) {
        damaged(pass, n, altered);
        return;
    }
    if (!in_chain(pass, &row, &hash)) {
        problem = not_in_chain;
    } else if (op_check_payload(&row.op, &state) != 0 || state != row.payload_state) {
        problem = bad_payload;
    } else {
        problem = check_prevs(pass, &row);
    }
    if (problem == NULL && is_lost_head(pass, &row, &hash)) {
        problem = lost_head;
    }
    if (problem != NULL) {
        damaged_op(pass, &row, &hash, problem);
    }
    pass->has_last = true;
    pass->last_ix = row.author_ix;
    pass->last = hash;
}

/* Begin to read. The one cursor that lookups need is opened at once: afterwards a lookup can fail
 * for want of a row, but not for want of memory. */
static int begin_pass(struct pass *pass)
{
    struct db_cursor *cursor;
    int rv = txn_begin_read(pass->check->store, &pass->txn);
    if (rv == 0) {
        rv = db_cursor(pass->txn, DB_chains, &cursor);
        if (rv != 0) {
            txn_abort(pass->txn);
        }
    }
    return rv;
}

static void check_chunk(void *ctx, size_t i)
{
    struct check *check = ctx;
    struct pass pass = {.check = check};
    int rv = begin_pass(&pass);
    if (rv != 0) {
        fail(check, rv);
        return;
    }
    uint64_t from = check->first + i * CHUNK;
    uint64_t to = from + CHUNK < check->total ? from + CHUNK : check->total;
    for (uint64_t n = from; n < to; n++) {
        check_op(&pass, n);
    }
    txn_abort(pass.txn);
}

static int check_log(struct check *check, struct pool *pool, const struct verify_report *report)
{
    while (check->first < check->total && check->error == 0) {
        uint64_t left = check->total - check->first;
        uint64_t chunks = (left + CHUNK - 1) / CHUNK;
        chunks = chunks < CHUNKS_AT_ONCE ? chunks : CHUNKS_AT_ONCE;
        pool_begin(pool, check_chunk, check, chunks);
        pool_wait(pool);
        check->first += chunks * CHUNK;
        if (report->progress != NULL) {
            uint64_t done = check->first < check->total ? check->first : check->total;
            report->progress(report->ctx, done, check->total);
        }
    }
    return check->error;
}

/* Pages --------------------------------------------------------------------------------- */

static const char free_list[] = "free pages";
static const char all_databases[] = "databases";

/* What is lost with a page of the log is named op by op. */
static int note_fault(void *ctx, const struct page_fault *fault)
{
    struct check *check = ctx;
    const char *database = fault->database.data == NULL ? free_list : all_databases;
    for (int db = 0; db < DB_COUNT; db++) {
        if (bytes_equal(fault->database, bytes_of_text(db_name((enum db)db)))) {
            database = db_name((enum db)db);
            if (db == DB_log && fault->bounded) {
                return 0;
            }
        }
    }
    damaged_database(check, bad_page, database);
    return 0;
}

static int check_pages(struct check *check)
{
    struct txn *txn;
    struct pages_visitor visitor = {.ctx = check, .fault = note_fault};
    int rv = txn_begin_read(check->store, &txn);
    if (rv != 0) {
        return rv;
    }
    rv = pages_walk(guard_pages(txn->guard), &visitor);
    txn_abort(txn);
    return rv;
}

/* Heads, counts ------------------------------------------------------------------------ */

static void check_head(struct pass *pass, const struct author *author, const struct head *head)
{
    struct row row;
    struct place place;
    if (head->n >= pass->total) {
        struct damage damage = {.n = head->n,
                                .problem = stale_head,
                                .has_author = true,
                                .author = author->key,
                                .seq = head->seq,
                                .has_id = true,
                                .id = head->id,
                                .has_hash = true,
                                .hash = head->hash};
        record(pass->check, &damage);
        return;
    }
    if (log_row(pass->txn, head->n, &row) != 0) {
        return; /* Named already, as missing or unreadable. */
    }
    struct op_hash hash = op_hash(&row.op);
    if (order_get(pass->txn, &row.op.id, &hash, &place) != 0) {
        return; /* Named already, as altered or not in the order. */
    }
    if (!op_hash_equal(&hash, &head->hash)) {
        damaged_op(pass, &row, &hash, stale_head);
    } else if (op_verify(&row.op, &author->key, store_mesh(pass->check->store)) != 0) {
        damaged_op(pass, &row, &hash, bad_signature);
    }
}

/* The author's heads, as many as can be read. */
static int check_heads(struct pass *pass, const struct author *author, uint32_t *count)
{
    uint8_t from[4];
    struct db_cursor *cursor;
    struct bytes key;
    struct bytes value;
    uint64_t bad_rows = 0;
    be_put(from, sizeof(from), author->ix);
    int rv = db_cursor(pass->txn, DB_heads, &cursor);
    if (rv == 0) {
        rv = db_seek_good(cursor, bytes_of(from, sizeof(from)), &key, &value, &bad_rows);
    }
    for (; rv == 0; rv = db_step_good(cursor, MDB_NEXT, &key, &value, &bad_rows)) {
        struct head head;
        if (key.len < 4 || be_get(key.data, 4) != author->ix) {
            break;
        }
        ++*count;
        if (head_read(key, value, &head) == 0) {
            check_head(pass, author, &head);
        }
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int check_author(struct pass *pass, const struct author *author)
{
    struct op_author key;
    uint32_t heads = 0;
    int rv = check_heads(pass, author, &heads);
    if (rv != 0) {
        return rv;
    }
    rv = author_key(pass->txn, author->ix, &key);
    if (rv != 0 || heads == 0 || memcmp(key.b, author->key.b, sizeof(key.b)) != 0) {
        struct damage damage = {.n = pass->check->total,
                                .problem = bad_author,
                                .has_author = true,
                                .author = author->key};
        record(pass->check, &damage);
    }
    return rv == ERR_UNKNOWN_ID || rv == ERR_CORRUPT ? 0 : rv;
}

/* The ops of all runs. */
static int count_in_runs(struct txn *txn, uint64_t *out)
{
    struct db_cursor *cursor;
    struct bytes key = {0};
    struct bytes value;
    uint64_t bad_rows = 0;
    *out = 0;
    int rv = db_cursor(txn, DB_chains, &cursor);
    if (rv == 0) {
        rv = db_step_good(cursor, MDB_FIRST, &key, &value, &bad_rows);
    }
    for (; rv == 0; rv = db_step_good(cursor, MDB_NEXT, &key, &value, &bad_rows)) {
        struct log_run run = {0};
        (void)!run_read(key, value, &run); /* An unreadable row counts as no ops. */
        *out += run.count;
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Every op has its rows; if the counts agree, there are no others. Where an op has been named,
 * they need not. */
static int check_counts(struct pass *pass, uint64_t author_ops)
{
    uint64_t log;
    uint64_t order;
    uint64_t chains;
    int rv = count_in_runs(pass->txn, &chains);
    if (rv == 0) {
        rv = db_count(pass->txn, DB_log, &log);
    }
    if (rv == 0) {
        rv = db_count(pass->txn, DB_order, &order);
    }
    if (rv == 0 && pass->check->found.len == 0 &&
        (order != log || chains != log || author_ops != log)) {
        damaged(pass, pass->check->total, bad_index);
    }
    return rv;
}

/* Every row of every database but the log, whose rows are ops and have been read: does it fit its
 * check? */
static int check_rows(struct pass *pass, enum db db)
{
    struct db_cursor *cursor;
    struct bytes key = {0};
    struct bytes value;
    uint64_t bad_rows = 0;
    int rv = db_cursor(pass->txn, db, &cursor);
    if (rv == 0) {
        rv = db_step_good(cursor, MDB_FIRST, &key, &value, &bad_rows);
    }
    while (rv == 0) {
        rv = db_step_good(cursor, MDB_NEXT, &key, &value, &bad_rows);
    }
    for (uint64_t i = 0; i < bad_rows; i++) {
        damaged_database(pass->check, bad_row, db_name(db));
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int check_all_rows(struct pass *pass)
{
    int rv = 0;
    for (int db = 0; db < DB_COUNT && rv == 0; db++) {
        rv = db == DB_log ? 0 : check_rows(pass, (enum db)db);
    }
    return rv;
}

/* All authors that can be read; *ops counts theirs. */
static int check_each_author(struct pass *pass, uint64_t *authors, uint64_t *ops)
{
    struct db_cursor cursor;
    struct bytes key = {0};
    struct bytes value;
    struct author author;
    uint64_t bad_rows = 0;
    int rv = db_cursor_open(pass->txn, DB_authors, &cursor);
    if (rv != 0) {
        return rv;
    }
    rv = db_step_good(&cursor, MDB_FIRST, &key, &value, &bad_rows);
    while (rv == 0) {
        ++*authors;
        if (author_read(key, value, &author) == 0) {
            *ops += author.ops;
            rv = check_author(pass, &author);
        }
        if (rv == 0) {
            rv = db_step_good(&cursor, MDB_NEXT, &key, &value, &bad_rows);
        }
    }
    db_cursor_close(&cursor);
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int check_authors(struct check *check, struct verify_totals *out)
{
    struct pass pass = {.check = check};
    uint64_t ops = 0;
    int rv = txn_begin_read(check->store, &pass.txn);
    if (rv != 0) {
        return rv;
    }
    rv = arrivals(pass.txn, &pass.total); /* More, where another process writes meanwhile. */
    if (rv == 0) {
        rv = check_each_author(&pass, &out->authors, &ops);
    }
    if (rv == 0) {
        rv = check_all_rows(&pass);
    }
    if (rv == 0) {
        rv = check_counts(&pass, ops);
    }
    txn_abort(pass.txn);
    return rv;
}

/* Reporting ---------------------------------------------------------------------------- */

static int compare_damage(const void *a, const void *b)
{
    const struct damage *left = a;
    const struct damage *right = b;
    return left->n < right->n ? -1 : left->n > right->n;
}

/* The first damaged op that arrived as n or later. */
static struct damage *first_from(struct damage *found, size_t count, uint64_t n)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (found[middle].n < n) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return found + low;
}

/* Name the ops whose bytes no longer tell who they were: the indexes still know. */
static int name_by_runs(struct txn *txn, struct damage *found, size_t count)
{
    struct db_cursor *cursor;
    struct bytes key = {0};
    struct bytes value;
    uint64_t bad_rows = 0;
    int rv = db_cursor(txn, DB_chains, &cursor);
    if (rv == 0) {
        rv = db_step_good(cursor, MDB_FIRST, &key, &value, &bad_rows);
    }
    for (; rv == 0; rv = db_step_good(cursor, MDB_NEXT, &key, &value, &bad_rows)) {
        struct log_run run;
        if (run_read(key, value, &run) != 0) {
            continue;
        }
        struct damage *damage = first_from(found, count, run.n);
        for (; damage < found + count && damage->n - run.n < run.count; damage++) {
            if (!damage->has_author) {
                damage->seq = run.seq + (damage->n - run.n);
                damage->has_author = author_key(txn, run.author_ix, &damage->author) == 0;
            }
        }
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int name_by_order(struct txn *txn, struct damage *found, size_t count)
{
    struct db_cursor *cursor;
    struct bytes key = {0};
    struct bytes value;
    uint64_t bad_rows = 0;
    int rv = db_cursor(txn, DB_order, &cursor);
    if (rv == 0) {
        rv = db_step_good(cursor, MDB_FIRST, &key, &value, &bad_rows);
    }
    for (; rv == 0; rv = db_step_good(cursor, MDB_NEXT, &key, &value, &bad_rows)) {
        if (value.len < 8 || key.len < sizeof(found->id.b)) {
            continue;
        }
        uint64_t n = be_get(value.data, 8);
        struct damage *damage = first_from(found, count, n);
        for (; damage < found + count && damage->n == n; damage++) {
            if (!damage->has_id) {
                memcpy(damage->id.b, key.data, sizeof(damage->id.b));
                damage->has_id = true;
            }
        }
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* What the order does not know at all is not altered: it has lost its row there. */
static void name_by_bytes(struct txn *txn, struct damage *found, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct row row;
        if (found[i].problem == altered && !found[i].has_id &&
            log_row(txn, found[i].n, &row) == 0) {
            found[i].problem = not_in_order;
            found[i].id = row.op.id;
            found[i].hash = op_hash(&row.op);
            found[i].has_id = true;
            found[i].has_hash = true;
        }
    }
}

static int identify(struct check *check, struct damage *found, size_t count)
{
    struct txn *txn;
    int rv = txn_begin_read(check->store, &txn);
    if (rv != 0) {
        return rv;
    }
    rv = name_by_runs(txn, found, count);
    if (rv == 0) {
        rv = name_by_order(txn, found, count);
    }
    if (rv == 0) {
        name_by_bytes(txn, found, count);
    }
    txn_abort(txn);
    return rv;
}

static int report_damage(struct check *check, const struct verify_report *report,
                         struct verify_totals *out)
{
    struct damage *found = (struct damage *)(void *)check->found.data;
    size_t count = check->found.len / sizeof(*found);
    int rv = buf_error(&check->found);
    if (rv != 0 || count == 0) {
        return rv;
    }
    qsort(found, count, sizeof(*found), compare_damage);
    rv = identify(check, found, count);
    for (size_t i = 0; i < count && rv == 0; i++) {
        report->damage(report->ctx, &found[i]);
        out->damaged++;
    }
    return rv;
}

static int count_ops(struct check *check)
{
    struct txn *txn;
    int rv = txn_begin_read(check->store, &txn);
    if (rv != 0) {
        return rv;
    }
    rv = arrivals(txn, &check->total);
    txn_abort(txn);
    return rv;
}

int verify_store(struct store *store, unsigned threads, const struct verify_report *report,
                 struct verify_totals *out)
{
    struct check check = {.store = store};
    struct pool *pool = NULL;
    *out = (struct verify_totals){0};
    int rv = count_ops(&check);
    if (rv != 0) {
        return rv;
    }
    rv = pool_create(threads, &pool);
    if (rv != 0) {
        return rv;
    }
    pthread_mutex_init(&check.lock, NULL);
    buf_init(&check.found, SIZE_MAX);
    out->ops = check.total;
    rv = check_pages(&check);
    if (rv == 0) {
        rv = check_log(&check, pool, report);
    }
    if (rv == 0) {
        rv = check_authors(&check, out);
    }
    if (rv == 0) {
        rv = report_damage(&check, report, out);
    }
    buf_free(&check.found);
    pthread_mutex_destroy(&check.lock);
    pool_free(pool);
    return rv;
}
