/* test_jobs.c - Who may work, and whose work counts: stories for the rules of jobs and their
 * executions (spec/jobs.md; ATTACKS 6).
 *
 * The numbers in brackets are those of the rules at the end of spec/jobs.md. */
#include "tests/unit/support_stories.h"

#include "projections/ids.h"

/* Leases in these stories, unless they say otherwise. */
#define LEASE_MS 10000u

/* A job of a kind, with further fields (",'attempts':1") or "". */
static uint32_t schedule(struct story *s, const char *kind, const char *more)
{
    return tell(s, MACHINE, KIND_ScheduleJob, "'kind':'%s','lease_ms':%u%s", kind, LEASE_MS, more);
}

static uint32_t take(struct story *s, uint32_t by, uint32_t job)
{
    return tell(s, by, KIND_ClaimWork, "'job':@%u", job);
}

static uint32_t renew(struct story *s, uint32_t by, uint32_t job, uint32_t execution)
{
    return tell(s, by, KIND_ClaimWork, "'job':@%u,'renews':@%u", job, execution);
}

/* One of the ops about an execution. */
static uint32_t work(struct story *s, uint32_t by, uint32_t kind, uint32_t job, uint32_t execution)
{
    return tell(s, by, kind, "'job':@%u,'execution':@%u", job, execution);
}

static uint32_t complete(struct story *s, uint32_t by, uint32_t job)
{
    return tell(s, by, KIND_CompleteJob, "'job':@%u", job);
}

static uint32_t cancel(struct story *s, uint32_t job)
{
    return tell(s, MACHINE, KIND_CancelJob, "'job':@%u", job);
}

static uint32_t fail_work(struct story *s, uint32_t by, uint32_t job, uint32_t execution)
{
    return work(s, by, KIND_FailWork, job, execution);
}

static uint32_t route(struct story *s, const char *kind, uint32_t node)
{
    return tell(s, THE_USER, KIND_RouteKind, "'kind':'%s','node':~%u", kind, node);
}

/* The execution that holds a job, or whose commit counts; NONE: nobody's. */
static void expect_execution(const struct story *s, const struct op_id *got, uint32_t want)
{
    static const struct op_id nobody;
    const struct op_id *id = want == NONE ? &nobody : &s->world->op[want].record;
    assert_memory_equal(got, id, sizeof(*id));
}

static void expect_holder(const struct story *s, uint32_t job, uint32_t want)
{
    struct state state = state_of(s, job);
    expect_execution(s, &state.by, want);
}

static void expect_commit(const struct story *s, uint32_t job, uint32_t want)
{
    struct state state = state_of(s, job);
    expect_execution(s, &state.origin, want);
}

static void expect_attempts(const struct story *s, uint32_t job, uint32_t want)
{
    assert_count("attempts", state_of(s, job).number, want);
}

/* When a lease ends, in ms of the story. */
static void expect_until(const struct story *s, uint32_t record, uint64_t want)
{
    assert_count("until", state_of(s, record).until, NOW_MS + want);
}

static void expect_serial(const struct story *s, const char *key, const char *want)
{
    struct entry entry;
    struct op_id id = serial_id(bytes_of_text(key));
    struct txn *txn = begin_read(s->store[0]);
    int rv = record_now(txn, &id, &entry);
    txn_abort(txn);
    assert_ok(rv);
    assert_text("serial", state_status_name(entry.state.type, entry.state.status), want);
}

/* The life of a job --------------------------------------------------------------------- */

/* [J1, J2, J4, J7]: from one end to the other. */
static void a_job_is_done(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t job = schedule(s, "look", "");
    at(s, 5000);
    uint32_t run = take(s, MACHINE, job);
    happens(s);
    expect_history(s, job, "Pending > Claimed");
    expect_holder(s, job, run);
    expect_attempts(s, job, 1);
    expect_until(s, job, 5000 + LEASE_MS);
    expect_until(s, run, 5000 + LEASE_MS);
    uint32_t start = work(s, MACHINE, KIND_StartWork, job, run);
    uint32_t commit = work(s, MACHINE, KIND_CommitWork, job, run);
    happens(s);
    expect_applied(s, start);
    expect_applied(s, commit);
    expect_history(s, job, "Pending > Claimed");
    expect_commit(s, job, run);
    uint32_t end = complete(s, OTHER, job);
    happens(s);
    expect_applied(s, end);
    expect_history(s, job, "Pending > Claimed > Completed");
    expect_history(s, run, "LEASED > IN_PROGRESS > COMMITTED > DONE");
    expect_holder(s, job, NONE);
}

/* [J4]: one op starts, commits and completes. */
static void a_job_is_done_in_one_op(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t job = schedule(s, "look", "");
    uint32_t nobody = complete(s, MACHINE, job);
    uint32_t run = take(s, MACHINE, job);
    uint32_t by_other = complete(s, OTHER, job);
    uint32_t end = complete(s, MACHINE, job);
    happens(s);
    expect_refused(s, nobody, "fsm not_committed");
    expect_refused(s, by_other, "fsm not_holder");
    expect_applied(s, end);
    expect_history(s, job, "Pending > Claimed > Completed");
    expect_history(s, run, "LEASED > DONE");
}

/* [J5]: whatever comes after. */
static void completed_is_the_end(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t job = schedule(s, "look", "");
    uint32_t run = take(s, MACHINE, job);
    (void)complete(s, MACHINE, job);
    uint32_t again = complete(s, MACHINE, job);
    uint32_t other = take(s, OTHER, job);
    uint32_t cancelled = cancel(s, job);
    uint32_t yielded = work(s, MACHINE, KIND_YieldWork, job, run);
    uint32_t failed = fail_work(s, MACHINE, job, run);
    uint32_t renewed = renew(s, MACHINE, job, run);
    uint32_t commit = work(s, OTHER, KIND_CommitWork, job, other);
    at(s, 100000);
    uint32_t expired = work(s, OTHER, KIND_ExpireWork, job, run);
    happens(s);
    expect_refused(s, again, "fsm no_move");
    expect_refused(s, other, "fsm already_committed");
    expect_refused(s, cancelled, "fsm already_committed");
    expect_refused(s, yielded, "fsm no_move");
    expect_refused(s, failed, "fsm no_move");
    expect_refused(s, renewed, "fsm no_move");
    expect_refused(s, commit, "fsm already_committed");
    expect_refused(s, expired, "fsm no_move");
    expect_history(s, job, "Pending > Claimed > Completed");
    expect_history(s, run, "LEASED > DONE");
    expect_history(s, other, "LEASED > ABORTED"); /* Told by its commit that it was too late. */
}

/* [J7, J2]: the lease is the holder's until it has ended, then anybody's. */
static void a_lease_is_held(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t job = schedule(s, "look", "");
    at(s, 5000);
    uint32_t run = take(s, MACHINE, job);
    at(s, 5000 + LEASE_MS - 1);
    uint32_t too_early = take(s, OTHER, job);
    at(s, 5000 + LEASE_MS - 1);
    uint32_t expired = work(s, OTHER, KIND_ExpireWork, job, run);
    at(s, 5000 + LEASE_MS);
    uint32_t next = take(s, OTHER, job);
    happens(s);
    expect_refused(s, too_early, "fsm lease_held");
    expect_history(s, too_early, "LEASED"); /* Its commit may count all the same. */
    assert_count("attempt", state_of(s, too_early).number, 1);
    expect_refused(s, expired, "fsm lease_held");
    expect_applied(s, next);
    expect_holder(s, job, next);
    expect_attempts(s, job, 2);
    expect_history(s, run, "LEASED > ABORTED");
}

/* [J3]: who holds it gives it back; once the lease is over anybody may. */
static void a_job_comes_back(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t job = schedule(s, "look", "");
    uint32_t first = take(s, MACHINE, job);
    uint32_t not_his = work(s, OTHER, KIND_YieldWork, job, first);
    uint32_t yielded = work(s, MACHINE, KIND_YieldWork, job, first);
    uint32_t again = work(s, MACHINE, KIND_YieldWork, job, first);
    at(s, 10000);
    uint32_t second = take(s, OTHER, job);
    at(s, 10000 + LEASE_MS);
    uint32_t expired = work(s, MACHINE, KIND_ExpireWork, job, second);
    uint32_t twice = work(s, MACHINE, KIND_ExpireWork, job, second);
    happens(s);
    expect_refused(s, not_his, "fsm not_holder");
    expect_applied(s, yielded);
    expect_refused(s, again, "fsm no_move");
    expect_applied(s, expired);
    expect_refused(s, twice, "fsm no_move");
    expect_history(s, job, "Pending > Claimed > Pending > Claimed > Pending");
    expect_history(s, first, "LEASED > ABORTED");
    expect_history(s, second, "LEASED > ABORTED");
    expect_holder(s, job, NONE);
    assert_count("until", state_of(s, job).until, 0);
}

/* [J3, J8]: tried again while there are attempts, and then it has failed. */
static void a_job_fails_at_last(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t job = schedule(s, "look", ",'attempts':2");
    uint32_t first = take(s, MACHINE, job);
    (void)fail_work(s, MACHINE, job, first);
    uint32_t second = take(s, OTHER, job);
    (void)fail_work(s, OTHER, job, second);
    uint32_t third = take(s, OTHER, job);
    uint32_t hopeless = schedule(s, "look", "");
    uint32_t only = take(s, MACHINE, hopeless);
    (void)tell(s, MACHINE, KIND_FailWork, "'job':@%u,'execution':@%u,'final':true", hopeless, only);
    happens(s);
    expect_history(s, job, "Pending > Claimed > Pending > Claimed > Failed");
    expect_refused(s, third, "fsm no_move");
    expect_history(s, hopeless, "Pending > Claimed > Failed");
    (void)cancel(s, job);
    happens(s);
    expect_history(s, job, "Pending > Claimed > Pending > Claimed > Failed > Cancelled");
}

/* [J8] */
static void a_job_is_cancelled(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t waiting = schedule(s, "look", "");
    uint32_t claimed = schedule(s, "look", "");
    uint32_t run = take(s, MACHINE, claimed);
    (void)cancel(s, waiting);
    (void)cancel(s, claimed);
    uint32_t again = cancel(s, waiting);
    uint32_t taken = take(s, OTHER, waiting);
    happens(s);
    expect_refused(s, again, "fsm no_move");
    expect_refused(s, taken, "fsm no_move");
    expect_history(s, waiting, "Pending > Cancelled");
    expect_history(s, claimed, "Pending > Claimed > Cancelled");
    expect_history(s, run, "LEASED"); /* Executions stay what they are… */
    uint32_t commit = work(s, MACHINE, KIND_CommitWork, claimed, run);
    (void)complete(s, OTHER, claimed);
    happens(s);
    expect_applied(s, commit); /* … and their work counts. */
    expect_history(s, claimed, "Pending > Claimed > Cancelled > Completed");
}

/* What counts --------------------------------------------------------------------------- */

/* [J4, J6]: who is Claimed does not decide whose commit counts. The first one does. */
static void a_claim_that_lost_may_commit_first(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t job = schedule(s, "look", "");
    uint32_t holder = take(s, MACHINE, job);
    uint32_t loser = take(s, OTHER, job);
    uint32_t commit = work(s, OTHER, KIND_CommitWork, job, loser);
    uint32_t second = work(s, MACHINE, KIND_CommitWork, job, holder);
    uint32_t third = take(s, OTHER, job);
    uint32_t wrong = work(s, MACHINE, KIND_CompleteJob, job, holder);
    uint32_t end = complete(s, MACHINE, job);
    happens(s);
    expect_refused(s, loser, "fsm lease_held");
    expect_applied(s, commit);
    expect_refused(s, second, "fsm already_committed");
    expect_refused(s, third, "fsm already_committed");
    expect_refused(s, wrong, "fsm already_committed");
    expect_applied(s, end);
    expect_history(s, loser, "LEASED > COMMITTED > DONE");
    expect_history(s, holder, "LEASED > ABORTED");
    expect_commit(s, job, loser);
    expect_history(s, job, "Pending > Claimed > Completed");
}

/* [J4, J6]: yielded by the one, committed by the other: the job is Pending, and done. */
static void a_pending_job_can_be_committed(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t job = schedule(s, "look", "");
    uint32_t holder = take(s, MACHINE, job);
    uint32_t loser = take(s, OTHER, job);
    (void)work(s, MACHINE, KIND_YieldWork, job, holder);
    (void)work(s, OTHER, KIND_CommitWork, job, loser);
    uint32_t not_any_more = take(s, MACHINE, job);
    (void)complete(s, MACHINE, job);
    happens(s);
    expect_refused(s, not_any_more, "fsm already_committed");
    expect_history(s, job, "Pending > Claimed > Pending > Completed");
}

/* [J3, J7]: giving back what one does not hold, or what was committed, frees nothing. */
static void only_the_holder_frees_a_job(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t job = schedule(s, "look", "");
    uint32_t other_job = schedule(s, "look", "");
    uint32_t holder = take(s, MACHINE, job);
    uint32_t loser = take(s, OTHER, job);
    uint32_t given_back = work(s, OTHER, KIND_YieldWork, job, loser);
    uint32_t failed = take(s, OTHER, job);
    (void)fail_work(s, OTHER, job, failed);
    uint32_t run = take(s, MACHINE, other_job);
    uint32_t quick = take(s, OTHER, other_job);
    (void)work(s, OTHER, KIND_CommitWork, other_job, quick);
    uint32_t after = work(s, MACHINE, KIND_YieldWork, other_job, run);
    happens(s);
    expect_applied(s, given_back);
    expect_history(s, loser, "LEASED > ABORTED");
    expect_history(s, failed, "LEASED > ABORTED");
    expect_history(s, job, "Pending > Claimed");
    expect_holder(s, job, holder);
    expect_applied(s, after);
    expect_history(s, run, "LEASED > ABORTED");
    expect_history(s, other_job, "Pending > Claimed");
}

/* An execution commits in its own time, once, by its node. */
static void a_commit_is_in_time(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t job = schedule(s, "look", "");
    uint32_t late_job = schedule(s, "look", "");
    at(s, 5000);
    uint32_t run = take(s, MACHINE, job);
    at(s, 5000);
    uint32_t late = take(s, MACHINE, late_job);
    uint32_t not_his = work(s, OTHER, KIND_CommitWork, job, run);
    uint32_t start = work(s, MACHINE, KIND_StartWork, job, run);
    uint32_t start_again = work(s, MACHINE, KIND_StartWork, job, run);
    at(s, 5000 + LEASE_MS - 1);
    uint32_t commit = work(s, MACHINE, KIND_CommitWork, job, run);
    at(s, 5000 + LEASE_MS);
    uint32_t again = work(s, MACHINE, KIND_CommitWork, job, run);
    uint32_t started_late = work(s, MACHINE, KIND_StartWork, late_job, late);
    uint32_t too_late = work(s, MACHINE, KIND_CommitWork, late_job, late);
    uint32_t completed_late = complete(s, MACHINE, late_job);
    uint32_t renewed_late = renew(s, MACHINE, late_job, late);
    happens(s);
    expect_refused(s, not_his, "fsm not_holder");
    expect_applied(s, start);
    expect_refused(s, start_again, "fsm no_move");
    expect_applied(s, commit);
    expect_refused(s, again, "fsm no_move");
    expect_refused(s, started_late, "fsm lease_over");
    expect_refused(s, too_late, "fsm lease_over");
    expect_refused(s, completed_late, "fsm lease_over");
    expect_refused(s, renewed_late, "fsm lease_over");
    expect_history(s, late, "LEASED");
    expect_commit(s, late_job, NONE);
}

/* What has ended does not commit. */
static void an_aborted_execution_commits_nothing(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t job = schedule(s, "look", "");
    uint32_t run = take(s, MACHINE, job);
    (void)work(s, MACHINE, KIND_YieldWork, job, run);
    uint32_t commit = work(s, MACHINE, KIND_CommitWork, job, run);
    uint32_t end = work(s, MACHINE, KIND_CompleteJob, job, run);
    happens(s);
    expect_refused(s, commit, "fsm no_move");
    expect_refused(s, end, "fsm no_move");
    expect_history(s, job, "Pending > Claimed > Pending");
}

/* An execution belongs to its job. */
static void what_is_named_must_fit(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, MACHINE, "tea", NOTHING);
    uint32_t job = schedule(s, "look", "");
    uint32_t other = schedule(s, "listen", "");
    uint32_t run = take(s, MACHINE, other);
    uint32_t of_claim = take(s, MACHINE, tea);
    uint32_t of_execution = take(s, MACHINE, run);
    uint32_t of_refused = take(s, MACHINE, of_claim);
    uint32_t renewed = renew(s, MACHINE, job, run);
    uint32_t started = work(s, MACHINE, KIND_StartWork, job, run);
    uint32_t ended = work(s, MACHINE, KIND_CompleteJob, job, tea);
    happens(s);
    expect_refused(s, of_claim, "unknown_target wrong_type");
    expect_refused(s, of_execution, "unknown_target wrong_type");
    expect_refused(s, of_refused, "unknown_target target_void");
    expect_refused(s, renewed, "unknown_target no_target");
    expect_refused(s, started, "unknown_target no_target");
    expect_refused(s, ended, "unknown_target no_target");
}

/* Leases -------------------------------------------------------------------------------- */

/* [J7]: a lease is renewed by its node while it lasts. Another's is not touched. */
static void a_lease_is_renewed(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t job = schedule(s, "look", "");
    at(s, 5000);
    uint32_t run = take(s, MACHINE, job);
    uint32_t loser = take(s, OTHER, job);
    uint32_t not_his = renew(s, OTHER, job, run);
    at(s, 9000);
    uint32_t renewed = renew(s, MACHINE, job, run);
    at(s, 12000);
    uint32_t of_loser = renew(s, OTHER, job, loser);
    at(s, 5000 + LEASE_MS);
    uint32_t too_early = take(s, OTHER, job);
    happens(s);
    expect_refused(s, not_his, "fsm not_holder");
    expect_applied(s, renewed);
    expect_applied(s, of_loser);
    expect_refused(s, too_early, "fsm lease_held");
    expect_until(s, job, 9000 + LEASE_MS);
    expect_until(s, run, 9000 + LEASE_MS);
    expect_until(s, loser, 12000 + LEASE_MS);
    expect_holder(s, job, run);
}

/* What the claim says, else the job, else the mesh, else a quarter of an hour. */
static void a_lease_lasts_as_somebody_says(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t of_job = schedule(s, "look", "");
    uint32_t open[4];
    for (size_t i = 0; i < COUNT_OF(open); i++) {
        open[i] = tell(s, MACHINE, KIND_ScheduleJob, "'kind':'look'");
    }
    at(s, 10000);
    uint32_t usual = take(s, MACHINE, open[0]);
    (void)tell(s, THE_USER, KIND_SetMeshRules, "'rules':{'lease':60000}");
    at(s, 20000);
    uint32_t by_mesh = take(s, MACHINE, open[1]);
    uint32_t by_job = take(s, MACHINE, of_job);
    uint32_t by_claim = tell(s, MACHINE, KIND_ClaimWork, "'job':@%u,'lease_ms':2000", open[2]);
    (void)tell(s, THE_USER, KIND_SetMeshRules, "'rules':{'lease':1}");
    at(s, 30000);
    uint32_t shortest = take(s, MACHINE, open[3]);
    happens(s);
    expect_until(s, usual, 10000 + 900000);
    expect_until(s, by_mesh, 20000 + 60000);
    expect_until(s, by_job, 21000 + LEASE_MS);
    expect_until(s, by_claim, 22000 + 2000);
    expect_until(s, shortest, 30000 + 1000);
}

/* Where and one at a time --------------------------------------------------------------- */

/* [J6] */
static void a_kind_is_routed_to_a_node(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t job = schedule(s, "look", "");
    uint32_t other = schedule(s, "listen", "");
    (void)route(s, "look", MACHINE);
    uint32_t elsewhere = take(s, OTHER, job);
    uint32_t another_kind = take(s, OTHER, other);
    uint32_t right = take(s, MACHINE, job);
    uint32_t not_hers = tell(s, OTHER, KIND_RouteKind, "'kind':'look','node':~%u", OTHER);
    (void)work(s, MACHINE, KIND_YieldWork, job, right);
    (void)tell(s, THE_USER, KIND_RouteKind, "'kind':'look'");
    uint32_t anybody = take(s, OTHER, job);
    happens(s);
    expect_refused(s, elsewhere, "fsm routed_elsewhere");
    expect_history(s, elsewhere, "LEASED");
    expect_applied(s, another_kind);
    expect_applied(s, right);
    expect_refused(s, not_hers, "owner_only");
    expect_applied(s, anybody);
}

/* [J6]: of the jobs with one key one is Claimed, until it is not or its lease is over. */
static void a_serial_key_lets_one_through(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t one = schedule(s, "look", ",'serial_key':'doc'");
    uint32_t two = schedule(s, "look", ",'serial_key':'doc'");
    uint32_t other = schedule(s, "look", ",'serial_key':'note'");
    at(s, 5000);
    uint32_t first = take(s, MACHINE, one);
    uint32_t busy = take(s, OTHER, two);
    uint32_t beside = take(s, OTHER, other);
    happens(s);
    expect_refused(s, busy, "fsm serial_busy");
    expect_applied(s, beside);
    expect_serial(s, "doc", "Busy");
    uint32_t yielded = work(s, MACHINE, KIND_YieldWork, one, first);
    at(s, 10000);
    uint32_t second = take(s, OTHER, two);
    uint32_t third = take(s, MACHINE, one);
    at(s, 10000 + LEASE_MS);
    uint32_t fourth = take(s, MACHINE, one);
    happens(s);
    expect_applied(s, yielded);
    expect_applied(s, second);
    expect_refused(s, third, "fsm serial_busy");
    expect_applied(s, fourth); /* The lease of the other is over. */
    (void)complete(s, MACHINE, one);
    happens(s);
    expect_serial(s, "doc", "Free");
}

/* What comes late (ATTACKS 6) ------------------------------------------------------------- */

/* A job that was done by OTHER, told from 60 s on. */
struct done {
    uint32_t job;
    uint32_t run;
    uint32_t commit;
    uint32_t end;
};

static struct done done_by(struct story *s, uint32_t by, const char *more)
{
    struct done done;
    at(s, 10000);
    done.job = schedule(s, "look", more);
    at(s, 60000);
    done.run = take(s, by, done.job);
    done.commit = work(s, by, KIND_CommitWork, done.job, done.run);
    done.end = complete(s, by, done.job);
    return done;
}

/* [J5]: ATTACKS 6. A claim that was made offline, and died there, arrives when all is over. */
static void a_late_claim_undoes_nothing(void **state)
{
    (void)state;
    struct story *s = story_begin();
    struct done done = done_by(s, OTHER, "");
    happens(s);
    expect_history(s, done.job, "Pending > Claimed > Completed");
    at(s, 55000);
    uint32_t late = take(s, MACHINE, done.job);
    happens(s);
    expect_applied(s, late);
    expect_refused(s, done.run, "fsm lease_held");
    expect_applied(s, done.commit);
    expect_applied(s, done.end);
    expect_status(s, done.job, "Completed");
    expect_status(s, late, "LEASED");
    expect_status(s, done.run, "DONE");
    expect_attempts(s, done.job, 1);
}

/* [J5]: ATTACKS 6. A route, and an older job of the same serial key that was claimed. */
static void a_late_route_or_serial_job_undoes_nothing(void **state)
{
    (void)state;
    struct story *s = story_begin();
    struct done done = done_by(s, OTHER, ",'serial_key':'doc'");
    happens(s);
    at(s, 20000);
    (void)route(s, "look", MACHINE);
    happens(s);
    expect_refused(s, done.run, "fsm routed_elsewhere");
    expect_status(s, done.job, "Completed");
    at(s, 5000);
    uint32_t older = schedule(s, "listen", ",'serial_key':'doc'");
    at(s, 58000);
    uint32_t run = take(s, MACHINE, older);
    happens(s);
    expect_applied(s, run);
    expect_status(s, done.job, "Completed");
    expect_status(s, done.run, "DONE");
}

/* [J5]: but an earlier commit does take the place of the one that counted. */
static void an_earlier_commit_counts(void **state)
{
    (void)state;
    struct story *s = story_begin();
    struct done done = done_by(s, OTHER, "");
    happens(s);
    at(s, 55000);
    uint32_t late = take(s, MACHINE, done.job);
    uint32_t commit = work(s, MACHINE, KIND_CommitWork, done.job, late);
    happens(s);
    expect_applied(s, commit);
    expect_refused(s, done.commit, "fsm already_committed");
    expect_commit(s, done.job, late);
    expect_status(s, done.run, "ABORTED");
    expect_status(s, done.job, "Completed"); /* CompleteJob by anybody, of what counts. */
    expect_status(s, late, "DONE");
}

/* [N11]: ATTACKS 6. A worker is revoked: through what it has done, and that stays; all of it, and
 * the job is to be done again. */
static void a_revoked_worker_leaves_what_the_cut_keeps(void **state)
{
    (void)state;
    struct story *s = story_begin();
    struct done done = done_by(s, OTHER, "");
    uint32_t waiting = schedule(s, "look", "");
    (void)revoke(s, OTHER, ON(done.run, done.commit, done.end));
    happens(s);
    expect_status(s, done.job, "Completed");
    at(s, 65000); /* It dates back: a claim and a commit for what waits. */
    uint32_t run = take(s, OTHER, waiting);
    uint32_t commit = work(s, OTHER, KIND_CommitWork, waiting, run);
    happens(s);
    expect_outcome(s, run, "void revoked");
    expect_outcome(s, commit, "void revoked");
    expect_status(s, waiting, "Pending");
    expect_status(s, done.job, "Completed");
    (void)revoke(s, OTHER, NOTHING);
    happens(s);
    expect_outcome(s, done.commit, "void revoked");
    expect_status(s, done.job, "Pending");
    expect_attempts(s, done.job, 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_is_done),
        TEST(a_job_is_done_in_one_op),
        TEST(completed_is_the_end),
        TEST(a_lease_is_held),
        TEST(a_job_comes_back),
        TEST(a_job_fails_at_last),
        TEST(a_job_is_cancelled),
        TEST(a_claim_that_lost_may_commit_first),
        TEST(a_pending_job_can_be_committed),
        TEST(only_the_holder_frees_a_job),
        TEST(a_commit_is_in_time),
        TEST(an_aborted_execution_commits_nothing),
        TEST(what_is_named_must_fit),
        TEST(a_lease_is_renewed),
        TEST(a_lease_lasts_as_somebody_says),
        TEST(a_kind_is_routed_to_a_node),
        TEST(a_serial_key_lets_one_through),
        TEST(a_late_claim_undoes_nothing),
        TEST(a_late_route_or_serial_job_undoes_nothing),
        TEST(an_earlier_commit_counts),
        TEST(a_revoked_worker_leaves_what_the_cut_keeps),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
