/* test_fsm.c - State machines: what every table does, written out, and tables that are refused.
 *
 * Each machine stands here a second time, as a matrix of states and events. It is tried in every
 * state, with every event and every set of guards. */
#include "tests/unit/support.h"

#include <stdio.h>

#include "fsm/action.h"
#include "fsm/claim.h"
#include "fsm/draw.h"
#include "fsm/episode.h"
#include "fsm/execution.h"
#include "fsm/job.h"
#include "fsm/machines.h"
#include "fsm/node.h"

/* Matrices ------------------------------------------------------------------------------ */

/* The events, then for each state what each of them leads to: "-" nowhere, "A" to A, "a+b:A|B" to
 * A if the guards a and b hold, else to B. A matrix that is too wide stands as several, one below
 * the other. */
static const char node_matrix[] =
    "             appeared  observed  expired    renewed  revoked  readmitted "
    "(new)        Pending   -         -          -        -        -          "
    "Pending      -         Active    -          -        -        -          "
    "Active       -         -         Suspended  -        Revoked  -          "
    "Suspended    -         -         -          Active   Revoked  -          "
    "Revoked      -         -         -          -        -        Active     ";

static const char claim_matrix[] =
    "            created "
    "(new)       supported+above_threshold+may_surface:Claim|supported:Hint|Stale "
    "Hint        - "
    "Claim       - "
    "Fact        - "
    "Disputed    - "
    "Rejected    - "
    "Superseded  - "
    "Stale       - "

    "            promoted                           disputed           "
    "(new)       -                                  -                  "
    "Hint        above_threshold+may_surface:Claim  -                  "
    "Claim       -                                  conflict:Disputed  "
    "Fact        -                                  -                  "
    "Disputed    -                                  -                  "
    "Rejected    -                                  -                  "
    "Superseded  -                                  -                  "
    "Stale       -                                  -                  "

    "            superseded                      confirmed  rejected  invalidated  "
    "(new)       -                               -          -         -            "
    "Hint        replacement:Superseded          Fact       Rejected  Stale        "
    "Claim       replacement:Superseded          Fact       Rejected  Stale        "
    "Fact        replacement+by_user:Superseded  Fact       Rejected  -            "
    "Disputed    replacement:Superseded          Fact       Rejected  Stale        "
    "Rejected    replacement+by_user:Superseded  Fact       Rejected  -            "
    "Superseded  replacement:Superseded          Fact       Rejected  Stale        "
    "Stale       replacement:Superseded          Fact       Rejected  -            "

    "            invalidated_by_user "
    "(new)       - "
    "Hint        Stale "
    "Claim       Stale "
    "Fact        Stale "
    "Disputed    Stale "
    "Rejected    - "
    "Superseded  Stale "
    "Stale       - ";

static const char episode_matrix[] =
    "          created                 archived          reactivated "
    "(new)     supported:Active|Stale  -                 - "
    "Active    -                       Archived          by_user:Active "
    "Stale     -                       by_user:Archived  by_user:Active "
    "Archived  -                       by_user:Archived  supported:Active|by_user:Active "

    "          staled         confirmed  rejected  invalidated  invalidated_by_user "
    "(new)     -              -          -         -            - "
    "Active    Stale          Active     Stale     Stale        Stale "
    "Stale     by_user:Stale  Active     Stale     -            - "
    "Archived  Stale          Active     Stale     Stale        Stale ";

static const char action_matrix[] =
    "           created                      approved          executing  completed  failed  "
    "(new)      supported:Proposed|Rejected  -                 -          -          -       "
    "Proposed   -                            by_user:Approved  -          -          -       "
    "Approved   -                            by_user:Approved  Executing  -          -       "
    "Executing  -                            -                 -          Completed  Failed  "
    "Completed  -                            -                 -          -          -       "
    "Failed     -                            -                 -          -          -       "
    "Rejected   -                            -                 -          -          -       "
    "Dismissed  -                            by_user:Approved  -          -          -       "
    "Expired    -                            by_user:Approved  -          -          -       "

    "           rejected          dismissed          expired          confirmed  overruled  "
    "(new)      -                 -                  -                -          -          "
    "Proposed   by_user:Rejected  by_user:Dismissed  Expired          Approved   Rejected   "
    "Approved   by_user:Rejected  by_user:Dismissed  by_user:Expired  Approved   Rejected   "
    "Executing  by_user:Rejected  -                  -                -          Rejected   "
    "Completed  -                 -                  -                -          -          "
    "Failed     -                 -                  -                -          -          "
    "Rejected   by_user:Rejected  -                  -                Approved   Rejected   "
    "Dismissed  by_user:Rejected  by_user:Dismissed  -                Approved   Rejected   "
    "Expired    by_user:Rejected  by_user:Dismissed  by_user:Expired  Approved   Rejected   "

    "           invalidated  invalidated_by_user "
    "(new)      -            -                   "
    "Proposed   Rejected     Rejected            "
    "Approved   Rejected     Rejected            "
    "Executing  Rejected     Rejected            "
    "Completed  -            -                   "
    "Failed     -            -                   "
    "Rejected   -            -                   "
    "Dismissed  -            -                   "
    "Expired    -            -                   ";

static const char job_matrix[] =
    "           scheduled  claimed             yielded  expired             "
    "(new)      Pending    -                   -        -                   "
    "Pending    -          Claimed             -        -                   "
    "Claimed    -          lease_over:Claimed  Pending  lease_over:Pending  "
    "Completed  -          -                   -        -                   "
    "Failed     -          -                   -        -                   "
    "Cancelled  -          -                   -        -                   "

    "           failed                        completed            cancelled  "
    "(new)      -                             -                    -          "
    "Pending    -                             committed:Completed  Cancelled  "
    "Claimed    attempts_left:Pending|Failed  committed:Completed  Cancelled  "
    "Completed  -                             -                    -          "
    "Failed     -                             committed:Completed  Cancelled  "
    "Cancelled  -                             committed:Completed  -          ";

static const char execution_matrix[] =
    "             leased  started              committed          done  aborted  "
    "(new)        LEASED  -                    -                  -     -        "
    "LEASED       -       in_time:IN_PROGRESS  -                  -     ABORTED  "
    "IN_PROGRESS  -       -                    in_time:COMMITTED  -     ABORTED  "
    "COMMITTED    -       -                    -                  DONE  -        "
    "DONE         -       -                    -                  -     -        "
    "ABORTED      -       -                    -                  -     -        ";

static const struct {
    const struct fsm *machine;
    const char *matrix;
} expected[] = {
    {&node_fsm, node_matrix},     {&claim_fsm, claim_matrix}, {&episode_fsm, episode_matrix},
    {&action_fsm, action_matrix}, {&job_fsm, job_matrix},     {&execution_fsm, execution_matrix},
};

#define WORD_MAX 128

/* Take the text before the next of these letters. */
static void take(const char **at, const char *ends, char out[WORD_MAX])
{
    size_t len = strcspn(*at, ends);
    assert_true(len < WORD_MAX);
    memcpy(out, *at, len);
    out[len] = 0;
    *at += len;
}

static void next_word(const char **at, char out[WORD_MAX])
{
    *at += strspn(*at, " ");
    take(at, " ", out);
}

static unsigned guard_named(const struct fsm *machine, const char *name)
{
    for (unsigned i = 0; i < machine->guards.count; i++) {
        if (strcmp(machine->guards.at[i].name, name) == 0) {
            return i;
        }
    }
    fail_msg("%s has no guard %s", machine->name, name);
    return FSM_MAX;
}

/* Take the "a+b:" of an alternative, if it has one. */
static uint32_t take_guards(const struct fsm *machine, const char **at)
{
    uint32_t guards = 0;
    char name[WORD_MAX];
    bool named = (*at)[strcspn(*at, ":|")] == ':';
    while (named) {
        take(at, "+:", name);
        guards |= FSM_BIT(guard_named(machine, name));
        named = *(*at)++ == '+';
    }
    return guards;
}

/* What a cell says, as outcome_text says it; returns how many alternatives it has. */
static unsigned expect(const struct fsm *machine, const char *cell, uint32_t holding,
                       char out[WORD_MAX])
{
    unsigned count = 0;
    bool moved = false;
    if (strcmp(cell, "-") == 0) {
        strcpy(out, "-");
        return 0;
    }
    for (const char *at = cell; *at != 0; at += *at == '|' ? 1 : 0, count++) {
        uint32_t lacking = take_guards(machine, &at) & ~holding;
        char state[WORD_MAX];
        take(&at, "|", state);
        if (!moved && lacking == 0) {
            strcpy(out, state);
            moved = true;
        }
        for (unsigned i = 0; !moved && i < machine->guards.count; i++) {
            if (fsm_has(lacking, i)) {
                (void)snprintf(out, WORD_MAX, "!%s", machine->guards.at[i].name);
                break;
            }
        }
    }
    return count;
}

/* "-", the new state, or "!" and the guard that refused. */
static void outcome_text(const struct fsm *machine, struct fsm_outcome outcome, char out[WORD_MAX])
{
    switch (outcome.verdict) {
    case FSM_NO_MOVE:
        strcpy(out, "-");
        return;
    case FSM_MOVED:
        strcpy(out, fsm_state_name(machine, outcome.to));
        return;
    case FSM_REFUSED:
        (void)snprintf(out, WORD_MAX, "!%s", machine->guards.at[outcome.guard].name);
        return;
    }
}

/* So many moves stand in the table for a state and an event. */
static unsigned arrows_of(const struct fsm *machine, unsigned state, unsigned event)
{
    struct fsm_arrow arrow = {0};
    unsigned count = 0;
    while (fsm_next_arrow(machine, &arrow)) {
        count += arrow.from == state && machine->moves[arrow.move].event == event ? 1 : 0;
    }
    return count;
}

/* One cell, with every set of guards. */
static void compare_cell(const struct fsm *machine, unsigned state, unsigned event,
                         const char *cell)
{
    assert_true(machine->guards.count < 16);
    for (uint32_t holding = 0; holding < FSM_BIT(machine->guards.count); holding++) {
        char want[WORD_MAX];
        char got[WORD_MAX];
        unsigned count = expect(machine, cell, holding, want);
        outcome_text(machine, fsm_move(machine, state, event, holding), got);
        if (strcmp(got, want) != 0 || arrows_of(machine, state, event) != count) {
            fail_msg("%s: %s --%s--> with guards %x: got %s of %u moves, want %s of %u",
                     machine->name, fsm_state_name(machine, state), machine->events.at[event].name,
                     holding, got, arrows_of(machine, state, event), want, count);
        }
    }
}

/* The heading of a matrix that begins with the event first; returns the event after its last. */
static unsigned take_events(const struct fsm *machine, unsigned first, const char **at)
{
    char word[WORD_MAX];
    unsigned event = first;
    for (next_word(at, word); strcmp(word, "(new)") != 0; next_word(at, word), event++) {
        assert_true(event < machine->events.count);
        assert_text(machine->name, machine->events.at[event].name, word);
    }
    assert_true(event > first);
    return event;
}

static void compare(const struct fsm *machine, const char *matrix)
{
    char word[WORD_MAX];
    unsigned events = 0;
    for (unsigned first = 0; first < machine->events.count; first = events) {
        events = take_events(machine, first, &matrix);
        for (unsigned row = 0; row <= machine->states.count; row++) {
            unsigned state = row == 0 ? FSM_NEW : row - 1;
            if (state != FSM_NEW) {
                next_word(&matrix, word);
                assert_text(machine->name, fsm_state_name(machine, state), word);
            }
            for (unsigned event = first; event < events; event++) {
                next_word(&matrix, word);
                compare_cell(machine, state, event, word);
            }
        }
    }
    next_word(&matrix, word);
    assert_text(machine->name, word, "");
}

static void every_machine_is_its_matrix(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        print_message("  %s\n", expected[i].machine->name);
        compare(expected[i].machine, expected[i].matrix);
    }
}

/* That each is found says that no two have one name. */
static void every_machine_is_whole_and_found(void **state)
{
    (void)state;
    size_t count = 0;
    for (; fsm_machines[count] != NULL; count++) {
        const struct fsm *machine = fsm_machines[count];
        assert_true(count < COUNT_OF(expected));
        struct fsm_why why = {""};
        int rv = fsm_check(machine, &why);
        assert_err(why.text, rv, 0);
        assert_ptr_equal(fsm_find(bytes_of_text(machine->name)), machine);
        assert_ptr_equal(expected[count].machine, machine);
    }
    assert_int_equal(count, COUNT_OF(expected));
    assert_null(fsm_find(bytes_of_text("")));
    assert_null(fsm_find(bytes_of_text("nodes")));
    assert_null(fsm_find(bytes_of("node", 3)));
}

/* What the tables promise -------------------------------------------------------------------- */

#define CLAIM_IF(guard) FSM_BIT(CLAIM_GUARD_##guard)
#define EVERY_GUARD(machine) (FSM_BIT((machine)->guards.count) - 1)

/* Where something can be after any number of these events, one move after the other, when no guards
 * but these ever hold. */
static uint32_t reached(const struct fsm *machine, uint32_t from, uint32_t events, uint32_t guards)
{
    uint32_t before = 0;
    while (from != before) {
        struct fsm_arrow arrow = {0};
        before = from;
        while (fsm_next_arrow(machine, &arrow)) {
            const struct fsm_move *move = &machine->moves[arrow.move];
            if (fsm_has(from, arrow.from) && fsm_has(events, move->event) &&
                (move->guards & ~guards) == 0) {
                from |= FSM_BIT(move->to);
            }
        }
    }
    return from;
}

/* The events that lead to a state from another one. */
static uint32_t events_to(const struct fsm *machine, unsigned to)
{
    uint32_t events = 0;
    struct fsm_arrow arrow = {0};
    while (fsm_next_arrow(machine, &arrow)) {
        const struct fsm_move *move = &machine->moves[arrow.move];
        events |= move->to == to && arrow.from != to ? FSM_BIT(move->event) : 0;
    }
    return events;
}

/* A UserAssert's events are a user's in every state; of the others, what the guard says. */
static void only_users_move_what_users_decided(void **state)
{
    (void)state;
    uint32_t asserts = FSM_BIT(CLAIM_EVENT_CONFIRMED) | FSM_BIT(CLAIM_EVENT_REJECTED);
    uint32_t by_user = FSM_BIT(CLAIM_EVENT_INVALIDATED_BY_USER);
    uint32_t machines = EVERY_GUARD(&claim_fsm) & ~CLAIM_IF(BY_USER);
    uint32_t fact = FSM_BIT(CLAIM_FACT);
    uint32_t rejected = FSM_BIT(CLAIM_REJECTED);
    assert_int_equal(reached(&claim_fsm, fact, ~asserts & ~by_user, machines), fact);
    assert_int_equal(reached(&claim_fsm, rejected, ~asserts, machines), rejected);
    assert_int_equal(events_to(&claim_fsm, CLAIM_FACT), FSM_BIT(CLAIM_EVENT_CONFIRMED));
    assert_int_equal(events_to(&claim_fsm, CLAIM_REJECTED), FSM_BIT(CLAIM_EVENT_REJECTED));
    for (unsigned at = 0; at < claim_fsm.states.count; at++) { /* The user is always heard. */
        assert_int_equal(fsm_move(&claim_fsm, at, CLAIM_EVENT_CONFIRMED, 0).to, CLAIM_FACT);
        assert_int_equal(fsm_move(&claim_fsm, at, CLAIM_EVENT_REJECTED, 0).to, CLAIM_REJECTED);
    }
}

/* A claim can only get out of Hint with a confidence that is high enough, and where it may. */
static void below_the_threshold_nothing_surfaces(void **state)
{
    (void)state;
    uint32_t asserts = FSM_BIT(CLAIM_EVENT_CONFIRMED) | FSM_BIT(CLAIM_EVENT_REJECTED);
    uint32_t hidden = FSM_BIT(CLAIM_HINT) | FSM_BIT(CLAIM_SUPERSEDED) | FSM_BIT(CLAIM_STALE);
    static const uint32_t lacking[] = {CLAIM_IF(ABOVE_THRESHOLD), CLAIM_IF(MAY_SURFACE)};
    for (size_t i = 0; i < COUNT_OF(lacking); i++) {
        uint32_t holding = EVERY_GUARD(&claim_fsm) & ~lacking[i];
        uint32_t made = reached(&claim_fsm, FSM_BIT(FSM_NEW), ~asserts, holding);
        assert_int_equal(made, hidden | FSM_BIT(FSM_NEW));
    }
}

/* No machine makes something valid that has lost what it rests on, by whatever round about. */
static void nothing_revives_but_a_user(void **state)
{
    (void)state;
    uint32_t claim = FSM_BIT(CLAIM_EVENT_CONFIRMED) | FSM_BIT(CLAIM_EVENT_REJECTED);
    uint32_t episode = FSM_BIT(EPISODE_EVENT_CONFIRMED);
    uint32_t action = FSM_BIT(ACTION_EVENT_CONFIRMED);
    uint32_t stale = FSM_BIT(EPISODE_STALE);
    uint32_t away = FSM_BIT(EPISODE_ARCHIVED);
    uint32_t rejected = FSM_BIT(ACTION_REJECTED);
    uint32_t left = FSM_BIT(CLAIM_STALE) | FSM_BIT(CLAIM_SUPERSEDED);
    assert_int_equal(
        reached(&claim_fsm, left, ~claim, EVERY_GUARD(&claim_fsm) & ~CLAIM_IF(BY_USER)), left);
    assert_int_equal(reached(&episode_fsm, stale, ~episode, FSM_BIT(EPISODE_GUARD_SUPPORTED)),
                     stale);
    assert_int_equal(reached(&episode_fsm, away, ~episode, 0), away | stale);
    assert_int_equal(reached(&action_fsm, rejected, ~action, ~0u), rejected);
}

/* Each machine of records that rest on others, and the same two events in it. */
static const struct {
    const struct fsm *machine;
    unsigned invalidated, by_user;
    uint32_t valid, frozen;
} resting[] = {
    {&claim_fsm, CLAIM_EVENT_INVALIDATED, CLAIM_EVENT_INVALIDATED_BY_USER,
     FSM_BIT(CLAIM_HINT) | FSM_BIT(CLAIM_CLAIM) | FSM_BIT(CLAIM_FACT) | FSM_BIT(CLAIM_DISPUTED) |
         FSM_BIT(CLAIM_SUPERSEDED),
     FSM_BIT(CLAIM_FACT)},
    {&episode_fsm, EPISODE_EVENT_INVALIDATED, EPISODE_EVENT_INVALIDATED_BY_USER,
     FSM_BIT(EPISODE_ACTIVE) | FSM_BIT(EPISODE_ARCHIVED), 0},
    {&action_fsm, ACTION_EVENT_INVALIDATED, ACTION_EVENT_INVALIDATED_BY_USER,
     FSM_BIT(ACTION_PROPOSED) | FSM_BIT(ACTION_APPROVED) | FSM_BIT(ACTION_EXECUTING), 0},
};

/* Whatever is valid falls, at once and for good, and nothing else moves. Only facts withstand, and
 * not a user. No guards are asked: a cascade has none. */
static void a_cascade_takes_all_that_is_valid(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(resting); i++) {
        const struct fsm *machine = resting[i].machine;
        for (unsigned at = 0; at < machine->states.count; at++) {
            struct fsm_outcome cascade = fsm_move(machine, at, resting[i].invalidated, 0);
            struct fsm_outcome by_user = fsm_move(machine, at, resting[i].by_user, 0);
            bool valid = fsm_has(resting[i].valid, at);
            bool falls = valid && !fsm_has(resting[i].frozen, at);
            assert_int_equal(cascade.verdict, falls ? FSM_MOVED : FSM_NO_MOVE);
            assert_int_equal(by_user.verdict, valid ? FSM_MOVED : FSM_NO_MOVE);
            assert_false(valid && fsm_has(resting[i].valid, by_user.to));
            assert_false(falls && cascade.to != by_user.to);
        }
    }
}

/* Nothing is done that a user has not approved, and nothing that was done is changed. */
static void no_machine_acts_unasked(void **state)
{
    (void)state;
    uint32_t asserts = FSM_BIT(ACTION_EVENT_CONFIRMED) | FSM_BIT(ACTION_EVENT_OVERRULED);
    uint32_t supported = FSM_BIT(ACTION_GUARD_SUPPORTED);
    uint32_t executing = FSM_BIT(ACTION_EXECUTING);
    uint32_t ends = FSM_BIT(ACTION_COMPLETED) | FSM_BIT(ACTION_FAILED);
    uint32_t untouched = FSM_BIT(ACTION_PROPOSED) | FSM_BIT(ACTION_REJECTED) |
                         FSM_BIT(ACTION_EXPIRED) | FSM_BIT(FSM_NEW);
    assert_int_equal(reached(&action_fsm, FSM_BIT(FSM_NEW), ~asserts, supported), untouched);
    assert_int_equal(reached(&action_fsm, executing, ~asserts, supported),
                     executing | ends | FSM_BIT(ACTION_REJECTED));
    assert_int_equal(reached(&action_fsm, ends, ~0u, ~0u), ends);
}

/* What ends without a commit can end with one, never the other way round. */
static void a_job_ends_with_a_commit_that_counts(void **state)
{
    (void)state;
    uint32_t uncommitted = EVERY_GUARD(&job_fsm) & ~FSM_BIT(JOB_GUARD_COMMITTED);
    uint32_t completed = FSM_BIT(JOB_COMPLETED);
    assert_false(fsm_has(reached(&job_fsm, FSM_BIT(FSM_NEW), ~0u, uncommitted), JOB_COMPLETED));
    assert_int_equal(reached(&job_fsm, completed, ~0u, ~0u), completed);
    for (unsigned at = 0; at < job_fsm.states.count; at++) {
        struct fsm_outcome outcome = fsm_move(&job_fsm, at, JOB_EVENT_COMPLETED,
                                              FSM_BIT(JOB_GUARD_COMMITTED));
        assert_int_equal(outcome.verdict, at == JOB_COMPLETED ? FSM_NO_MOVE : FSM_MOVED);
    }
}

static void an_execution_commits_in_its_time_or_never(void **state)
{
    (void)state;
    uint32_t aborted = FSM_BIT(EXECUTION_ABORTED);
    uint32_t committed = FSM_BIT(EXECUTION_COMMITTED);
    uint32_t done = FSM_BIT(EXECUTION_DONE);
    uint32_t open = FSM_BIT(EXECUTION_LEASED) | FSM_BIT(EXECUTION_IN_PROGRESS);
    assert_int_equal(reached(&execution_fsm, open, ~0u, 0), open | aborted);
    assert_int_equal(reached(&execution_fsm, aborted, ~0u, ~0u), aborted);
    assert_int_equal(reached(&execution_fsm, committed, ~0u, ~0u), committed | done);
    assert_int_equal(
        reached(&execution_fsm, FSM_BIT(EXECUTION_LEASED), ~FSM_BIT(EXECUTION_EVENT_STARTED), ~0u),
        FSM_BIT(EXECUTION_LEASED) | aborted);
}

/* A machine with everything that a table can have ------------------------------------------ */

enum { DRAFT, OPEN, HELD, DONE, GONE, STATES };
enum { MADE, TAKEN, RETURNED, FINISHED, SOURCE_LOST, IMPORTED, EVENTS };
enum { CHECKED, BY_HOLDER, READY, GUARDS };

#define BY(guard) FSM_BIT(guard)

struct sample {
    struct fsm_word states[STATES];
    struct fsm_word events[EVENTS];
    struct fsm_word guards[GUARDS];
    struct fsm_move moves[10];
    struct fsm machine;
};

static void sample_make(struct sample *out)
{
    *out = (struct sample){
        .states = {{"Draft", ""}, {"Open", ""}, {"Held", ""}, {"Done", ""}, {"Gone", ""}},
        .events = {{"made", ""},
                   {"taken", ""},
                   {"returned", ""},
                   {"finished", ""},
                   {"source_lost", ""},
                   {"imported", ""}},
        .guards = {{"checked", ""}, {"by_holder", ""}, {"ready", ""}},
        .moves =
            {
                {FSM_BIT(FSM_NEW), MADE, OPEN, BY(READY)},
                {FSM_BIT(FSM_NEW), MADE, DRAFT, 0},
                {FSM_BIT(DRAFT), MADE, OPEN, BY(READY)},
                {FSM_BIT(DRAFT) | FSM_BIT(OPEN), TAKEN, HELD, 0},
                {FSM_BIT(HELD), TAKEN, HELD, BY(BY_HOLDER)},
                {FSM_BIT(HELD), RETURNED, OPEN, 0},
                {FSM_BIT(HELD), FINISHED, DONE, BY(BY_HOLDER) | BY(CHECKED)},
                {FSM_BIT(HELD), FINISHED, OPEN, BY(BY_HOLDER)},
                {FSM_BIT(DRAFT) | FSM_BIT(OPEN) | FSM_BIT(HELD), SOURCE_LOST, GONE, 0},
                {FSM_BIT(FSM_NEW), IMPORTED, OPEN, 0},
            },
    };
    out->machine = (struct fsm){
        .name = "sample",
        .about = "a machine of the tests",
        .states = FSM_WORDS(out->states),
        .events = FSM_WORDS(out->events),
        .guards = FSM_WORDS(out->guards),
        .terminal = FSM_BIT(DONE) | FSM_BIT(GONE),
        .moves = out->moves,
        .move_count = FSM_COUNT(out->moves),
    };
}

static const char sample_matrix[] =
    "       made             taken          returned finished      source_lost imported "
    "(new)  ready:Open|Draft -              -        -             -           Open     "
    "Draft  ready:Open       Held           -        -             Gone        -        "
    "Open   -                Held           -        -             Gone        -        "
    "Held   -                by_holder:Held Open     "
    "checked+by_holder:Done|by_holder:Open                         Gone        -        "
    "Done   -                -              -        -             -           -        "
    "Gone   -                -              -        -             -           -        ";

static void guards_decide(void **state)
{
    (void)state;
    struct sample s;
    struct fsm_why why = {""};
    sample_make(&s);
    int rv = fsm_check(&s.machine, &why);
    assert_err(why.text, rv, 0);
    compare(&s.machine, sample_matrix);
    assert_int_equal(fsm_initial(&s.machine), FSM_BIT(DRAFT) | FSM_BIT(OPEN));
    assert_int_equal(fsm_initial(&node_fsm), FSM_BIT(NODE_PENDING));
}

static void traces_read_as_sentences(void **state)
{
    (void)state;
    static const struct {
        unsigned state, event;
        uint32_t holding;
        const char *want;
    } cases[] = {
        {FSM_NEW, MADE, BY(READY), "sample: (new) --made--> Open"},
        {HELD, TAKEN, BY(BY_HOLDER), "sample: Held --taken--> Held"},
        {HELD, TAKEN, BY(CHECKED), "sample: Held --taken--> refused: by_holder"},
        {HELD, FINISHED, 0, "sample: Held --finished--> refused: by_holder"},
        {DONE, TAKEN, ~0u, "sample: Done --taken--> no such move"},
    };
    struct sample s;
    sample_make(&s);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[WORD_MAX] = "";
        struct buf out = buf_over(text, sizeof(text) - 1);
        struct fsm_outcome outcome = fsm_move(&s.machine, cases[i].state, cases[i].event,
                                              cases[i].holding);
        fsm_put_trace(&s.machine, cases[i].state, cases[i].event, &outcome, &out);
        assert_text("trace", text, cases[i].want);
    }
}

/* The life of a node, with what cannot happen in between. */
static void a_node_lives(void **state)
{
    (void)state;
    static const unsigned life[] = {
        NODE_EVENT_OBSERVED, NODE_EVENT_APPEARED,   NODE_EVENT_REVOKED, NODE_EVENT_OBSERVED,
        NODE_EVENT_EXPIRED,  NODE_EVENT_READMITTED, NODE_EVENT_RENEWED, NODE_EVENT_REVOKED,
        NODE_EVENT_RENEWED,  NODE_EVENT_READMITTED,
    };
    char text[1024] = "";
    struct buf out = buf_over(text, sizeof(text) - 1);
    unsigned at = FSM_NEW;
    for (size_t i = 0; i < COUNT_OF(life); i++) {
        struct fsm_outcome outcome = fsm_move(&node_fsm, at, life[i], 0);
        fsm_put_trace(&node_fsm, at, life[i], &outcome, &out);
        buf_put_text(&out, "\n");
        at = outcome.verdict == FSM_MOVED ? outcome.to : at;
    }
    assert_ok(buf_error(&out));
    assert_text("life", text,
                "node: (new) --observed--> no such move\n"
                "node: (new) --appeared--> Pending\n"
                "node: Pending --revoked--> no such move\n"
                "node: Pending --observed--> Active\n"
                "node: Active --expired--> Suspended\n"
                "node: Suspended --readmitted--> no such move\n"
                "node: Suspended --renewed--> Active\n"
                "node: Active --revoked--> Revoked\n"
                "node: Revoked --renewed--> no such move\n"
                "node: Revoked --readmitted--> Active\n");
}

/* Broken tables ---------------------------------------------------------------------------- */

/* The sample s with a change is refused, for this reason. */
#define assert_broken(want, ...)                                                                   \
    do {                                                                                           \
        struct sample s;                                                                           \
        struct fsm_why why_ = {""};                                                                \
        sample_make(&s);                                                                           \
        __VA_ARGS__;                                                                               \
        assert_err((want), fsm_check(&s.machine, &why_), ERR_MALFORMED);                           \
        assert_text("the reason", why_.text, (want));                                              \
    } while (0)

static void names_that_are_none(void **state)
{
    (void)state;
    assert_broken("it has no name", s.machine.name = NULL);
    assert_broken("it has no name", s.machine.name = "two words");
    assert_broken("it has no name", s.machine.about = NULL);
    assert_broken("state 2 has a name that is no word", s.states[HELD].name = NULL);
    assert_broken("state 2 has a name that is no word", s.states[HELD].name = "");
    assert_broken("event 1 has a name that is no word", s.events[TAKEN].name = "was taken");
    assert_broken("event 1 has a name that is no word", s.events[TAKEN].name = "\"taken\"");
    assert_broken("guard 2 has a name that is no word", s.guards[READY].name = "is-ready");
    assert_broken("state Held has nothing about it", s.states[HELD].about = NULL);
    assert_broken("event taken has nothing about it", s.events[TAKEN].about = NULL);
    assert_broken("guard checked has nothing about it", s.guards[CHECKED].about = NULL);
    assert_broken("state Draft is there twice", s.states[GONE].name = "Draft");
    assert_broken("event taken is there twice", s.events[RETURNED].name = "taken");
    assert_broken("guard checked is there twice", s.guards[READY].name = "checked");
}

static void moves_that_name_what_is_not_there(void **state)
{
    (void)state;
    assert_broken("move 3 begins nowhere", s.moves[3].from = 0);
    assert_broken("move 3 names a state that is not there", s.moves[3].from |= FSM_BIT(STATES));
    assert_broken("move 3 names a state that is not there", s.moves[3].to = STATES);
    assert_broken("move 3 names a state that is not there", s.moves[3].to = FSM_NEW);
    assert_broken("move 3 names a state that is not there", s.moves[3].to = 1000);
    assert_broken("move 3 names an event that is not there", s.moves[3].event = EVENTS);
    assert_broken("move 3 names an event that is not there", s.moves[3].event = 1000);
    assert_broken("move 3 names a guard that is not there", s.moves[3].guards = BY(GUARDS));
    assert_broken("move 0 names a guard that is not there", s.machine.guards.count = 0);
    assert_broken("a terminal state is not there", s.machine.terminal |= FSM_BIT(STATES));
    assert_broken("a terminal state is not there", s.machine.terminal |= FSM_BIT(FSM_NEW));
}

static void states_without_a_way(void **state)
{
    (void)state;
    assert_broken("state Open is terminal and can be left", s.machine.terminal |= FSM_BIT(OPEN));
    assert_broken("state Done cannot be left and is not terminal",
                  s.machine.terminal = FSM_BIT(GONE));
    assert_broken("state Done cannot be reached", s.moves[6].to = OPEN);
    assert_broken("state Draft cannot be reached", s.machine.move_count = 0);
    /* Held and Open lead to each other, but no creation to them. */
    assert_broken("state Open cannot be reached",
                  s.moves[0].to = s.moves[2].to = s.moves[9].to = DRAFT;
                  s.moves[3].from = FSM_BIT(OPEN));
    assert_broken("event returned is in no move", s.moves[5].event = FINISHED;
                  s.moves[5].from = FSM_BIT(OPEN));
    assert_broken("guard ready is in no move", s.moves[0].from = FSM_BIT(OPEN);
                  s.moves[0].guards = s.moves[2].guards = 0);
}

static void moves_that_are_never_taken(void **state)
{
    (void)state;
    assert_broken("move 1 is never taken from (new): move 0 is before it", s.moves[0].guards = 0);
    assert_broken("move 1 is never taken from (new): move 0 is before it",
                  s.moves[1].guards = BY(READY) | BY(CHECKED));
    assert_broken("move 7 is never taken from Held: move 6 is before it",
                  s.moves[6].guards = BY(BY_HOLDER));
    assert_broken("move 4 is never taken from Held: move 3 is before it",
                  s.moves[3].from |= FSM_BIT(HELD));
    assert_broken("move 8 is never taken from Open: move 5 is before it",
                  s.moves[5] = (struct fsm_move){FSM_BIT(OPEN), SOURCE_LOST, HELD, 0});
}

/* A chain of count states, with as many events and guards. Its last move stands first. */
static int check_chain(unsigned count, struct fsm_why *why)
{
    static struct fsm_word words[FSM_MAX + 1];
    static struct fsm_move moves[FSM_MAX + 1];
    static char names[FSM_MAX + 1][sizeof("n4294967295")];
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "n%u", i);
        words[i] = (struct fsm_word){names[i], ""};
        moves[count - 1 - i] = (struct fsm_move){
            .from = FSM_BIT(i == 0 ? FSM_NEW : i - 1), .event = i, .to = i, .guards = FSM_BIT(i)};
    }
    struct fsm_words all = {.at = words, .count = count};
    struct fsm machine = {.name = "chain",
                          .about = "",
                          .states = all,
                          .events = all,
                          .guards = all,
                          .terminal = FSM_BIT(count - 1),
                          .moves = moves,
                          .move_count = count};
    return fsm_check(&machine, why);
}

static void as_many_as_fit(void **state)
{
    (void)state;
    struct fsm_why why = {""};
    assert_err(why.text, check_chain(FSM_MAX - 1, &why), 0);
    assert_err(why.text, check_chain(FSM_MAX, &why), 0);
    assert_err("one too many", check_chain(FSM_MAX + 1, &why), ERR_MALFORMED);
    assert_text("the reason", why.text, "32 states, at most 31");
    assert_broken("32 events, at most 31", s.machine.events.count = FSM_MAX + 1);
    assert_broken("32 guards, at most 31", s.machine.guards.count = FSM_MAX + 1);
}

/* Pictures --------------------------------------------------------------------------------- */

static void assert_drawn(void (*draw)(const struct fsm *, struct buf *), const char *want)
{
    struct sample s;
    char text[2048] = "";
    struct buf out = buf_over(text, sizeof(text) - 1);
    sample_make(&s);
    draw(&s.machine, &out);
    assert_ok(buf_error(&out));
    assert_text("drawn", text, want);
}

static void pictures(void **state)
{
    (void)state;
    assert_drawn(fsm_draw_tree, "(new)\n"
                                "├─ made [ready] → Open\n"
                                "│  ├─ taken → Held\n"
                                "│  │  ├─ taken [by_holder] → Held …\n"
                                "│  │  ├─ returned → Open …\n"
                                "│  │  ├─ finished [checked and by_holder] → Done\n"
                                "│  │  ├─ finished [by_holder] → Open …\n"
                                "│  │  └─ source_lost → Gone\n"
                                "│  └─ source_lost → Gone\n"
                                "├─ made → Draft\n"
                                "│  ├─ made [ready] → Open …\n"
                                "│  ├─ taken → Held …\n"
                                "│  └─ source_lost → Gone\n"
                                "└─ imported → Open …\n");
    assert_drawn(fsm_draw_mermaid, "stateDiagram-v2\n"
                                   "    direction LR\n"
                                   "    [*] --> Open: made [ready]\n"
                                   "    [*] --> Draft: made\n"
                                   "    Draft --> Open: made [ready]\n"
                                   "    Draft --> Held: taken\n"
                                   "    Open --> Held: taken\n"
                                   "    Held --> Held: taken [by_holder]\n"
                                   "    Held --> Open: returned\n"
                                   "    Held --> Done: finished [checked and by_holder]\n"
                                   "    Held --> Open: finished [by_holder]\n"
                                   "    Draft --> Gone: source_lost\n"
                                   "    Open --> Gone: source_lost\n"
                                   "    Held --> Gone: source_lost\n"
                                   "    [*] --> Open: imported\n"
                                   "    Done --> [*]\n"
                                   "    Gone --> [*]\n");
    assert_drawn(fsm_draw_dot,
                 "digraph \"sample\" {\n"
                 "    rankdir=LR;\n"
                 "    node [shape=box, style=rounded, fontname=\"sans-serif\"];\n"
                 "    edge [fontname=\"sans-serif\", fontsize=10];\n"
                 "    \"(new)\" [shape=point, width=0.15];\n"
                 "    \"Draft\";\n"
                 "    \"Open\";\n"
                 "    \"Held\";\n"
                 "    \"Done\" [peripheries=2];\n"
                 "    \"Gone\" [peripheries=2];\n"
                 "    \"(new)\" -> \"Open\" [label=\"made [ready]\"];\n"
                 "    \"(new)\" -> \"Draft\" [label=\"made\"];\n"
                 "    \"Draft\" -> \"Open\" [label=\"made [ready]\"];\n"
                 "    \"Draft\" -> \"Held\" [label=\"taken\"];\n"
                 "    \"Open\" -> \"Held\" [label=\"taken\"];\n"
                 "    \"Held\" -> \"Held\" [label=\"taken [by_holder]\"];\n"
                 "    \"Held\" -> \"Open\" [label=\"returned\"];\n"
                 "    \"Held\" -> \"Done\" [label=\"finished [checked and by_holder]\"];\n"
                 "    \"Held\" -> \"Open\" [label=\"finished [by_holder]\"];\n"
                 "    \"Draft\" -> \"Gone\" [label=\"source_lost\"];\n"
                 "    \"Open\" -> \"Gone\" [label=\"source_lost\"];\n"
                 "    \"Held\" -> \"Gone\" [label=\"source_lost\"];\n"
                 "    \"(new)\" -> \"Open\" [label=\"imported\"];\n"
                 "}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_machine_is_its_matrix),
        cmocka_unit_test(every_machine_is_whole_and_found),
        cmocka_unit_test(only_users_move_what_users_decided),
        cmocka_unit_test(below_the_threshold_nothing_surfaces),
        cmocka_unit_test(nothing_revives_but_a_user),
        cmocka_unit_test(a_cascade_takes_all_that_is_valid),
        cmocka_unit_test(no_machine_acts_unasked),
        cmocka_unit_test(a_job_ends_with_a_commit_that_counts),
        cmocka_unit_test(an_execution_commits_in_its_time_or_never),
        cmocka_unit_test(guards_decide),
        cmocka_unit_test(traces_read_as_sentences),
        cmocka_unit_test(a_node_lives),
        cmocka_unit_test(names_that_are_none),
        cmocka_unit_test(moves_that_name_what_is_not_there),
        cmocka_unit_test(states_without_a_way),
        cmocka_unit_test(moves_that_are_never_taken),
        cmocka_unit_test(as_many_as_fit),
        cmocka_unit_test(pictures),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
