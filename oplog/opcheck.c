#include "oplog/opcheck.h"

#include "oplog/db.h"

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
const char problem_bad_page[] = "bad_page";
const char problem_bad_row[] = "bad_row";
const char problem_bad_index[] = "bad_index";

int opcheck_begin(struct op_check *check, struct store *store)
{
    struct db_cursor *cursor;
    check->store = store;
    int rv = txn_begin_read(store, &check->txn);
    if (rv == 0) {
        rv = db_cursor(check->txn, DB_chains, &cursor);
        if (rv != 0) {
            txn_abort(check->txn);
        }
    }
    return rv;
}

void opcheck_end(struct op_check *check)
{
    txn_abort(check->txn);
}

/* Arrivals ------------------------------------------------------------------------------- */

int opcheck_log_end(struct txn *txn, uint64_t *out)
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
    rv = db_step(cursor, MDB_LAST, &key, &value);
    if (rv != 0 && rv != ERR_UNKNOWN_ID && rv != ERR_CORRUPT) {
        return rv;
    }
    uint64_t last = rv == 0 && key.len == 8 ? be_get(key.data, 8) : 0;
    *out = rv == ERR_CORRUPT ? log : rv != 0 ? 0 : last < most ? last + 1 : most;
    return 0;
}

struct arrivals {
    uint64_t order; /* Rows of the order. */
    uint64_t end;
};

static int raise_by_head(void *ctx, struct bytes key, struct bytes value)
{
    struct arrivals *arrivals = ctx;
    (void)key;
    uint64_t n = value.len == 32 ? be_get(value.data + 24, 8) : 0;
    if (n >= arrivals->end && n < arrivals->order) {
        arrivals->end = n + 1;
    }
    return 0;
}

int opcheck_arrivals(struct txn *txn, struct rows *heads, uint64_t max, uint64_t *end)
{
    struct arrivals arrivals;
    int rv = opcheck_log_end(txn, &arrivals.end);
    if (rv == 0) {
        rv = db_count(txn, DB_order, &arrivals.order);
    }
    if (rv != 0) {
        return rv;
    }
    arrivals.end = arrivals.end > *end ? arrivals.end : *end;
    rv = rows_walk(txn, DB_heads, heads, max, raise_by_head, &arrivals);
    *end = arrivals.end;
    return rv;
}

/* Ops ------------------------------------------------------------------------------------ */

static void damaged_op(struct op_check *check, const struct row *row, const struct op_hash *hash,
                       const char *problem)
{
    struct damage damage = {.n = row->n, .problem = problem, .has_id = true, .has_hash = true};
    damage.id = row->op.id;
    damage.hash = *hash;
    damage.seq = row->op.seq;
    damage.has_author = author_key(check->txn, row->author_ix, &damage.author) == 0;
    check->found(check->ctx, &damage);
}

/* The problem with the ops that this one follows, or NULL. */
static const char *check_prevs(struct op_check *check, const struct row *row)
{
    const struct op_trail *trail = &check->trail;
    for (uint32_t i = 0; i < row->op.prev_count; i++) {
        const struct op_hash *prev = op_prev(&row->op, i);
        bool just_seen = trail->has_last && trail->last_ix == row->author_ix &&
                         op_hash_equal(prev, &trail->last);
        if (!just_seen) {
            uint64_t n;
            int rv = run_find(check->txn, row->author_ix, row->op.seq - 1, prev, &n);
            if (rv == ERR_UNKNOWN_ID && row->op.prev_count > 1) {
                rv = run_search(check->txn, row->author_ix, row->op.seq - 1, prev, &n);
            }
            if (rv != 0) {
                return lost_prev;
            }
        }
        struct head head;
        if (head_get(check->txn, row->author_ix, prev, &head) == 0) {
            return stale_head;
        }
    }
    return NULL;
}

/* Is the op in the run that its author's chain has for it? */
static bool in_chain(struct op_check *check, const struct row *row, const struct op_hash *hash)
{
    struct log_run *run = &check->trail.run;
    bool same = run->author_ix == row->author_ix && row->n - run->n < run->count &&
                row->op.seq - run->seq == row->n - run->n;
    if (!same && run_of(check->txn, row->author_ix, row->op.seq, row->n, run) != 0) {
        run->count = 0;
        return false;
    }
    return row->n != run->n || memcmp(run->hash_part, hash->b, sizeof(run->hash_part)) == 0;
}

/* Does an op of the log follow this one? Only the first op of a run can. */
static bool is_followed(struct op_check *check, const struct row *row, const struct op_hash *hash)
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
    int rv = db_cursor(check->txn, DB_chains, &cursor);
    if (rv == 0) {
        rv = db_seek_good(cursor, bytes_of(from, sizeof(from)), &key, &value, &bad_rows);
    }
    for (; rv == 0; rv = db_step_good(cursor, MDB_NEXT, &key, &value, &bad_rows)) {
        if (run_read(key, value, &run) != 0 || log_row(check->txn, run.n, &first) != 0) {
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
static bool is_lost_head(struct op_check *check, const struct row *row, const struct op_hash *hash)
{
    const struct log_run *run = &check->trail.run;
    struct head head;
    return row->n == run->n + run->count - 1 &&
           head_get(check->txn, row->author_ix, hash, &head) != 0 && !is_followed(check, row, hash);
}

/* Why can a row not be read? */
static const char *lost_with_page(struct txn *txn, uint64_t n)
{
    uint8_t key[8];
    be_put(key, sizeof(key), n);
    return db_page_is_bad(txn, DB_log, bytes_of(key, sizeof(key))) ? problem_bad_page : unreadable;
}

/* The problem with an op whose bytes are those that the order knows, or NULL. */
static const char *check_stored(struct op_check *check, const struct row *row,
                                const struct op_hash *hash)
{
    enum payload_state state;
    const char *problem = NULL;
    if (!in_chain(check, row, hash)) {
        return not_in_chain; /* So no op after it may count it as seen. */
    }
    if (op_check_payload(&row->op, &state) != 0 || state != row->payload_state) {
        problem = bad_payload;
    } else {
        problem = check_prevs(check, row);
    }
    if (problem == NULL && is_lost_head(check, row, hash)) {
        problem = lost_head;
    }
    check->trail.has_last = true;
    check->trail.last_ix = row->author_ix;
    check->trail.last = *hash;
    return problem;
}

/* The problem with an op, or NULL. *known: its bytes tell who it is, row and hash are set. */
static const char *op_problem(struct op_check *check, uint64_t n, struct row *row,
                              struct op_hash *hash, bool *known)
{
    struct place place;
    *known = false;
    int rv = log_row(check->txn, n, row);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? missing : lost_with_page(check->txn, n);
    }
    *hash = op_hash(&row->op);
    if (order_get(check->txn, &row->op.id, hash, &place) != 0 || place.n != n) {
        return altered;
    }
    *known = true;
    return check_stored(check, row, hash);
}

void opcheck_op(struct op_check *check, uint64_t n)
{
    struct row row;
    struct op_hash hash;
    bool known;
    const char *problem = op_problem(check, n, &row, &hash, &known);
    if (problem != NULL && known) {
        damaged_op(check, &row, &hash, problem);
    } else if (problem != NULL) {
        check->found(check->ctx, &(struct damage){.n = n, .problem = problem});
    }
}

/* Heads, authors, rows ------------------------------------------------------------------- */

static void damaged_head(struct op_check *check, const struct head *head,
                         const struct op_author *author)
{
    struct damage damage = {.n = head->n,
                            .problem = stale_head,
                            .has_author = author != NULL,
                            .seq = head->seq,
                            .has_id = true,
                            .id = head->id,
                            .has_hash = true,
                            .hash = head->hash};
    if (author != NULL) {
        damage.author = *author;
    }
    check->found(check->ctx, &damage);
}

int opcheck_head(void *ctx, struct bytes key, struct bytes value)
{
    struct op_check *check = ctx;
    struct head head;
    struct op_author author;
    struct row row;
    struct op_hash hash;
    bool known;
    if (key.len < 4 || head_read(key, value, &head) != 0) {
        return 0;
    }
    bool has_author = author_key(check->txn, (uint32_t)be_get(key.data, 4), &author) == 0;
    if (head.n >= check->total) {
        damaged_head(check, &head, has_author ? &author : NULL);
        return 0;
    }
    if (op_problem(check, head.n, &row, &hash, &known) != NULL) {
        return 0; /* Named already. */
    }
    if (!op_hash_equal(&hash, &head.hash)) {
        damaged_op(check, &row, &hash, stale_head);
    } else if (has_author && op_verify(&row.op, &author, store_mesh(check->store)) != 0) {
        damaged_op(check, &row, &hash, bad_signature);
    } /* An author without name is named for that. */
    return 0;
}

/* Has the author a head that can be read? */
static int has_head(struct txn *txn, uint32_t ix, bool *out)
{
    uint8_t from[4];
    struct db_cursor *cursor;
    struct bytes key;
    struct bytes value;
    uint64_t bad_rows = 0;
    be_put(from, sizeof(from), ix);
    int rv = db_cursor(txn, DB_heads, &cursor);
    if (rv == 0) {
        rv = db_seek_good(cursor, bytes_of(from, sizeof(from)), &key, &value, &bad_rows);
    }
    *out = rv == 0 && key.len >= 4 && be_get(key.data, 4) == ix;
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

int opcheck_author(void *ctx, struct bytes key, struct bytes value)
{
    struct op_check *check = ctx;
    struct author author;
    struct op_author named;
    bool has;
    if (author_read(key, value, &author) != 0) {
        return 0;
    }
    int rv = has_head(check->txn, author.ix, &has);
    if (rv != 0) {
        return rv;
    }
    rv = author_key(check->txn, author.ix, &named);
    if (rv != 0 && rv != ERR_UNKNOWN_ID && rv != ERR_CORRUPT) {
        return rv;
    }
    if (rv != 0 || !has || memcmp(named.b, author.key.b, sizeof(named.b)) != 0) {
        struct damage damage = {
            .n = check->total, .problem = bad_author, .has_author = true, .author = author.key};
        check->found(check->ctx, &damage);
    }
    return 0;
}

static int pass_over(void *ctx, struct bytes key, struct bytes value)
{
    (void)ctx;
    (void)key;
    (void)value;
    return 0;
}

int opcheck_rows(struct txn *txn, enum db db, struct rows *rows, uint64_t max)
{
    return rows_walk(txn, db, rows, max, pass_over, NULL);
}

/* Names ---------------------------------------------------------------------------------- */

struct naming {
    struct txn *txn;
    struct damage *found;
    size_t count;
};

/* The first damaged op that arrived as n or later. */
static struct damage *first_from(const struct naming *naming, uint64_t n)
{
    size_t low = 0;
    size_t high = naming->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (naming->found[middle].n < n) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return naming->found + low;
}

static int name_by_run(void *ctx, struct bytes key, struct bytes value)
{
    const struct naming *naming = ctx;
    const struct damage *end = naming->found + naming->count;
    struct log_run run;
    if (run_read(key, value, &run) != 0) {
        return 0;
    }
    struct damage *damage = first_from(naming, run.n);
    for (; damage < end && damage->n - run.n < run.count; damage++) {
        if (!damage->has_author) {
            damage->seq = run.seq + (damage->n - run.n);
            damage->has_author = author_key(naming->txn, run.author_ix, &damage->author) == 0;
        }
    }
    return 0;
}

int opcheck_name_by_runs(struct txn *txn, struct rows *rows, uint64_t max, struct damage found[],
                         size_t count)
{
    struct naming naming = {.txn = txn, .found = found, .count = count};
    return rows_walk(txn, DB_chains, rows, max, name_by_run, &naming);
}

static int name_by_place(void *ctx, struct bytes key, struct bytes value)
{
    const struct naming *naming = ctx;
    const struct damage *end = naming->found + naming->count;
    if (value.len < 8 || key.len < sizeof(end->id.b)) {
        return 0;
    }
    uint64_t n = be_get(value.data, 8);
    struct damage *damage = first_from(naming, n);
    for (; damage < end && damage->n == n; damage++) {
        if (!damage->has_id) {
            memcpy(damage->id.b, key.data, sizeof(damage->id.b));
            damage->has_id = true;
        }
    }
    return 0;
}

int opcheck_name_by_order(struct txn *txn, struct rows *rows, uint64_t max, struct damage found[],
                          size_t count)
{
    struct naming naming = {.txn = txn, .found = found, .count = count};
    return rows_walk(txn, DB_order, rows, max, name_by_place, &naming);
}

void opcheck_name_by_bytes(struct txn *txn, struct damage found[], size_t count)
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
