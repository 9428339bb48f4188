#include "oplog/verify.h"

#include <pthread.h>
#include <stdlib.h>

#include "oplog/db.h"
#include "oplog/opcheck.h"
#include "oplog/pool.h"

#define CHUNK 4096u /* Ops that one thread checks at a time, in one read transaction. */
#define CHUNKS_AT_ONCE 8u

struct check {
    struct store *store;
    uint64_t first; /* Of the chunks being checked. */
    uint64_t total;
    pthread_mutex_t lock;
    struct buf found; /* struct damage */
    int error;        /* The first failure to read. */
};

static void record(void *ctx, const struct damage *damage)
{
    struct check *check = ctx;
    pthread_mutex_lock(&check->lock);
    buf_put(&check->found, damage, sizeof(*damage));
    pthread_mutex_unlock(&check->lock);
}

static void damaged_database(struct check *check, const char *problem, const char *database)
{
    struct damage damage = {.n = check->total, .problem = problem, .database = database};
    record(check, &damage);
}

static void fail(struct check *check, int error)
{
    pthread_mutex_lock(&check->lock);
    check->error = check->error == 0 ? error : check->error;
    pthread_mutex_unlock(&check->lock);
}

static void check_chunk(void *ctx, size_t i)
{
    struct check *check = ctx;
    struct op_check ops = {.found = record, .ctx = check};
    int rv = opcheck_begin(&ops, check->store);
    if (rv != 0) {
        fail(check, rv);
        return;
    }
    uint64_t from = check->first + i * CHUNK;
    uint64_t to = from + CHUNK < check->total ? from + CHUNK : check->total;
    for (uint64_t n = from; n < to; n++) {
        opcheck_op(&ops, n);
    }
    opcheck_end(&ops);
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
    damaged_database(check, problem_bad_page, database);
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

/* Heads, authors, counts ----------------------------------------------------------------- */

/* What the rows of all runs and all authors add up to. */
struct sums {
    struct op_check *ops;
    uint64_t in_runs;
    uint64_t authors;
    uint64_t of_authors;
};

static int add_run(void *ctx, struct bytes key, struct bytes value)
{
    struct sums *sums = ctx;
    struct log_run run = {0};
    (void)!run_read(key, value, &run); /* An unreadable row counts as no ops. */
    sums->in_runs += run.count;
    return 0;
}

static int add_author(void *ctx, struct bytes key, struct bytes value)
{
    struct sums *sums = ctx;
    struct author author = {0};
    (void)!author_read(key, value, &author);
    sums->authors++;
    sums->of_authors += author.ops;
    return opcheck_author(sums->ops, key, value);
}

/* Every op has its rows; if the counts agree, there are no others. Where an op has been named,
 * they need not. */
static int check_counts(struct check *check, struct txn *txn, struct sums *sums)
{
    uint64_t log;
    uint64_t order;
    int rv = rows_walk(txn, DB_chains, &(struct rows){0}, ROWS_ALL, add_run, sums);
    if (rv == 0) {
        rv = db_count(txn, DB_log, &log);
    }
    if (rv == 0) {
        rv = db_count(txn, DB_order, &order);
    }
    if (rv == 0 && check->found.len == 0 &&
        (order != log || sums->in_runs != log || sums->of_authors != log)) {
        record(check, &(struct damage){.n = check->total, .problem = problem_bad_index});
    }
    return rv;
}

/* Every row of every database but the log, whose rows are ops and have been read: does it fit its
 * check? */
static int check_all_rows(struct check *check, struct txn *txn)
{
    int rv = 0;
    for (int db = 0; db < DB_COUNT && rv == 0; db++) {
        struct rows rows = {0};
        if (db != DB_log) {
            rv = opcheck_rows(txn, (enum db)db, &rows, ROWS_ALL);
        }
        for (uint64_t i = 0; i < rows.bad_rows; i++) {
            damaged_database(check, problem_bad_row, db_name((enum db)db));
        }
    }
    return rv;
}

static int check_indexes(struct check *check, struct verify_totals *out)
{
    struct op_check ops = {.found = record, .ctx = check};
    struct sums sums = {.ops = &ops};
    int rv = opcheck_begin(&ops, check->store);
    if (rv != 0) {
        return rv;
    }
    /* More have arrived where another process writes meanwhile. */
    rv = opcheck_arrivals(ops.txn, &(struct rows){0}, ROWS_ALL, &ops.total);
    if (rv == 0) {
        rv = rows_walk(ops.txn, DB_heads, &(struct rows){0}, ROWS_ALL, opcheck_head, &ops);
    }
    if (rv == 0) {
        rv = rows_walk(ops.txn, DB_authors, &(struct rows){0}, ROWS_ALL, add_author, &sums);
    }
    if (rv == 0) {
        rv = check_all_rows(check, ops.txn);
    }
    if (rv == 0) {
        rv = check_counts(check, ops.txn, &sums);
    }
    out->authors = sums.authors;
    opcheck_end(&ops);
    return rv;
}

/* Reporting ---------------------------------------------------------------------------- */

static int compare_damage(const void *a, const void *b)
{
    const struct damage *left = a;
    const struct damage *right = b;
    return left->n < right->n ? -1 : left->n > right->n;
}

static int identify(struct check *check, struct damage *found, size_t count)
{
    struct txn *txn;
    int rv = txn_begin_read(check->store, &txn);
    if (rv != 0) {
        return rv;
    }
    rv = opcheck_name_by_runs(txn, &(struct rows){0}, ROWS_ALL, found, count);
    if (rv == 0) {
        rv = opcheck_name_by_order(txn, &(struct rows){0}, ROWS_ALL, found, count);
    }
    if (rv == 0) {
        opcheck_name_by_bytes(txn, found, count);
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
    rv = opcheck_arrivals(txn, &(struct rows){0}, ROWS_ALL, &check->total);
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
        rv = check_indexes(&check, out);
    }
    if (rv == 0) {
        rv = report_damage(&check, report, out);
    }
    buf_free(&check.found);
    pthread_mutex_destroy(&check.lock);
    pool_free(pool);
    return rv;
}
