#include "oplog/scrub.h"

#include <assert.h>

/* What it costs to check an op, in rows of an index. */
#define ROWS_PER_OP 16u

/* Ops wait for their names until so many do, so that many share one walk through the indexes; and
 * there is always room for more. */
#define HELD_MOST (LIMIT_SCRUB_OPS / 2u)

void scrub_begin(struct scrub *scrub)
{
    *scrub = (struct scrub){.phase = SCRUB_ENDS};
}

static void hold(void *ctx, const struct damage *damage)
{
    struct scrub *scrub = ctx;
    assert(scrub->held_count < LIMIT_SCRUB_OPS); /* One for each op, head or author of a step. */
    scrub->held[scrub->held_count++] = *damage;
}

/* Phases: each does one step's worth and tells whether it has ended. ----------------------- */

static int step_ends(struct scrub *scrub, struct op_check *check, uint32_t ops, bool *ended)
{
    int rv = opcheck_arrivals(check->txn, &scrub->row, (uint64_t)ops * ROWS_PER_OP, &scrub->end);
    *ended = scrub->row.ended;
    return rv;
}

static int step_ops(struct scrub *scrub, struct op_check *check, uint32_t ops, bool *ended)
{
    if (scrub->next == scrub->end && !scrub->caught_up) {
        scrub->end = check->total;
        scrub->caught_up = true;
    }
    uint32_t room = LIMIT_SCRUB_OPS - scrub->held_count;
    uint64_t left = scrub->end - scrub->next;
    uint64_t count = ops < room ? ops : room;
    for (count = count < left ? count : left; count > 0; count--) {
        opcheck_op(check, scrub->next);
        scrub->next++;
    }
    *ended = scrub->next == scrub->end && scrub->caught_up;
    return 0;
}

static int step_name_runs(struct scrub *scrub, struct op_check *check, uint32_t ops, bool *ended)
{
    int rv = opcheck_name_by_runs(check->txn, &scrub->row, (uint64_t)ops * ROWS_PER_OP, scrub->held,
                                  scrub->held_count);
    *ended = scrub->row.ended;
    return rv;
}

static int step_name_order(struct scrub *scrub, struct op_check *check, uint32_t ops, bool *ended)
{
    int rv = opcheck_name_by_order(check->txn, &scrub->row, (uint64_t)ops * ROWS_PER_OP,
                                   scrub->held, scrub->held_count);
    *ended = scrub->row.ended;
    if (rv == 0 && *ended) {
        opcheck_name_by_bytes(check->txn, scrub->held, scrub->held_count);
    }
    return rv;
}

static int step_heads(struct scrub *scrub, struct op_check *check, uint32_t ops, bool *ended)
{
    int rv = rows_walk(check->txn, DB_heads, &scrub->row, ops, opcheck_head, check);
    *ended = scrub->row.ended;
    return rv;
}

static int step_authors(struct scrub *scrub, struct op_check *check, uint32_t ops, bool *ended)
{
    int rv = rows_walk(check->txn, DB_authors, &scrub->row, ops, opcheck_author, check);
    *ended = scrub->row.ended;
    return rv;
}

static int step_rows(struct scrub *scrub, struct op_check *check, uint32_t ops, bool *ended)
{
    int rv = opcheck_rows(check->txn, scrub->db, &scrub->row, (uint64_t)ops * ROWS_PER_OP);
    *ended = scrub->row.ended;
    return rv;
}

static int (*const steps[SCRUB_PHASES])(struct scrub *scrub, struct op_check *check, uint32_t ops,
                                        bool *ended) = {
    [SCRUB_ENDS] = step_ends,           [SCRUB_OPS] = step_ops,
    [SCRUB_NAME_RUNS] = step_name_runs, [SCRUB_NAME_ORDER] = step_name_order,
    [SCRUB_HEADS] = step_heads,         [SCRUB_AUTHORS] = step_authors,
    [SCRUB_ROWS] = step_rows,
};

/* Telling --------------------------------------------------------------------------------- */

/* Tell what is held; what has no name yet only if all. */
static void tell(struct scrub *scrub, const struct verify_report *report, bool all)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < scrub->held_count; i++) {
        const struct damage *damage = &scrub->held[i];
        if (all || (damage->has_id && damage->has_author)) {
            report->damage(report->ctx, damage);
        } else {
            scrub->held[kept++] = *damage;
        }
    }
    scrub->held_count = kept;
}

static void tell_bad_rows(struct scrub *scrub, const struct verify_report *report)
{
    struct damage damage = {
        .n = scrub->end, .problem = problem_bad_row, .database = db_name(scrub->db)};
    for (; scrub->row.bad_rows > 0; scrub->row.bad_rows--) {
        report->damage(report->ctx, &damage);
    }
}

static void tell_step(struct scrub *scrub, const struct verify_report *report, bool ended)
{
    switch (scrub->phase) {
    case SCRUB_OPS:
        tell(scrub, report, false);
        if (report->progress != NULL) {
            report->progress(report->ctx, scrub->next, scrub->end);
        }
        break;
    case SCRUB_NAME_RUNS:
        break;
    case SCRUB_NAME_ORDER:
        tell(scrub, report, ended);
        break;
    case SCRUB_ROWS:
        tell_bad_rows(scrub, report);
        break;
    default:
        tell(scrub, report, true);
        break;
    }
}

/* Steps ----------------------------------------------------------------------------------- */

/* What comes when a phase has ended; for OPS also when enough ops wait for their names. */
static enum scrub_phase phase_after(const struct scrub *scrub)
{
    switch (scrub->phase) {
    case SCRUB_ENDS:
    case SCRUB_NAME_ORDER:
        return SCRUB_OPS;
    case SCRUB_OPS:
        return scrub->held_count > 0 ? SCRUB_NAME_RUNS : SCRUB_HEADS;
    case SCRUB_NAME_RUNS:
        return SCRUB_NAME_ORDER;
    case SCRUB_HEADS:
        return SCRUB_AUTHORS;
    default:
        return SCRUB_ROWS;
    }
}

/* The rows of the log are ops and have been read. */
static enum db db_after(enum db db)
{
    return (enum db)(db + 1 == (int)DB_log ? db + 2 : db + 1);
}

/* A phase has ended. Was it the last of the round? */
static bool move_on(struct scrub *scrub)
{
    if (scrub->phase == SCRUB_ROWS) {
        scrub->db = db_after(scrub->db);
        if (scrub->db == DB_COUNT) {
            scrub_begin(scrub);
            return true;
        }
    }
    scrub->phase = phase_after(scrub);
    scrub->row = (struct rows){0};
    return false;
}

int scrub_step(struct store *store, struct scrub *scrub, uint32_t ops,
               const struct verify_report *report, bool *round_done)
{
    struct op_check check = {.trail = scrub->trail, .found = hold, .ctx = scrub};
    bool ended = false;
    assert(ops >= 1);
    assert(scrub->phase < SCRUB_PHASES);
    *round_done = false;
    int rv = opcheck_begin(&check, store);
    if (rv != 0) {
        return rv;
    }
    rv = opcheck_log_end(check.txn, &check.total);
    if (rv == 0) {
        check.total = check.total > scrub->end ? check.total : scrub->end;
        ops = ops < LIMIT_SCRUB_OPS ? ops : LIMIT_SCRUB_OPS;
        rv = steps[scrub->phase](scrub, &check, ops, &ended);
    }
    scrub->trail = check.trail;
    opcheck_end(&check);
    tell_step(scrub, report, ended && rv == 0);
    bool names_due = scrub->phase == SCRUB_OPS && scrub->held_count >= HELD_MOST;
    if (rv == 0 && (ended || names_due)) {
        *round_done = move_on(scrub);
    }
    return rv;
}
