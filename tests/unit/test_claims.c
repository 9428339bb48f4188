/* test_claims.c - What is known, and who may say so: stories for the rules of evidence, claims,
 * episodes, actions, artifacts and entities (spec/claims.md, spec/folds.md; ATTACKS 1, 4, 9, 11,
 * 16, 17, 20).
 *
 * The numbers in brackets are those of the rules at the end of spec/claims.md. */
#include "tests/unit/support_stories.h"

#include "oplog/compact.h"
#include "projections/claimquery.h"
#include "projections/entities.h"
#include "projections/precondition.h"

/* A claim of some confidence. */
static uint32_t guess(struct story *s, uint32_t by, const char *object, uint32_t ppm)
{
    return tell(s, by, KIND_CreateClaim,
                "'subject':'ann','predicate':'likes','object':'%s','confidence':%u", object, ppm);
}

static uint32_t set_rule(struct story *s, const char *rule, uint32_t value)
{
    return tell(s, THE_USER, KIND_SetMeshRules, "'rules':{'%s':%u}", rule, value);
}

static uint32_t set_lane(struct story *s, uint32_t claim, const char *value)
{
    return tell(s, THE_USER, KIND_UserAssert, "'about':@%u,'assert':'lane','value':'%s'", claim,
                value);
}

static uint32_t edit(struct story *s, uint32_t claim, const char *value)
{
    return tell(s, THE_USER, KIND_UserAssert, "'about':@%u,'assert':'edit','value':'%s'", claim,
                value);
}

static uint32_t unpin(struct story *s, uint32_t record)
{
    return tell(s, THE_USER, KIND_UserAssert, "'about':@%u,'assert':'pin','value':false", record);
}

static void expect_number(const struct story *s, uint32_t claim, uint32_t want)
{
    assert_count("confidence", state_of(s, claim).number, want);
}

/* What a claim says now. */
static const char *object_of(const struct story *s, uint32_t op)
{
    struct arena arena;
    struct said maker;
    struct claim_words words;
    struct state state = state_of(s, op);
    char *object = support_alloc(64);
    struct txn *txn = begin_read(s->store[0]);
    arena_init(&arena, LIMIT_TREE_BYTES);
    assert_ok(record_maker(txn, &arena, &s->world->op[op].record, &state, &maker));
    assert_ok(claim_words(txn, &arena, &state, &maker, &words));
    assert_true(words.object.len < 64);
    memcpy(object, words.object.data, words.object.len);
    arena_free(&arena);
    txn_abort(txn);
    return object;
}

/* Evidence ---------------------------------------------------------------------------- */

static void evidence_is_taken_in_and_withdrawn(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t mail = evidence(s, MACHINE);
    uint32_t tea = claim(s, MACHINE, "tea", ON(mail));
    uint32_t gone = tombstone(s, OTHER, mail);
    uint32_t again = tombstone(s, OTHER, mail);
    uint32_t of_claim = tombstone(s, MACHINE, tea);
    happens(s);
    expect_applied(s, gone);
    expect_refused(s, again, "fsm no_move");
    expect_refused(s, of_claim, "unknown_target wrong_type");
    expect_history(s, mail, "Present > Tombstoned");
}

/* Without its content nobody knows what an evidence is, nor its id; so also what rests on it. */
static void what_is_withheld_waits(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t mail = evidence(s, MACHINE);
    uint32_t tea = claim(s, MACHINE, "tea", ON(mail));
    uint32_t gone = tombstone(s, MACHINE, mail);
    withhold(s, mail);
    happens(s);
    expect_outcome(s, mail, "pending payload_absent");
    expect_refused(s, gone, "unknown_target target_void");
    expect_history(s, tea, "Stale");
    comes_whole(s, mail);
    happens(s);
    expect_applied(s, mail);
    expect_applied(s, gone);
    expect_history(s, tea, "Claim > Stale");
}

/* Making claims ----------------------------------------------------------------------- */

/* [C1, C8]: Hint below the threshold, Claim from there on; the least of several confidences. */
static void confidence_decides_how_a_claim_begins(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t hint = guess(s, MACHINE, "tea", 499999);
    uint32_t believed = guess(s, MACHINE, "milk", 500000);
    uint32_t sure = claim(s, MACHINE, "rum", NOTHING);
    uint32_t least = tell(s, MACHINE, KIND_CreateClaim,
                          "'text':'x','confidence':{'ear':900000,'eye':300000}");
    uint32_t by_user = guess(s, THE_USER, "gin", 1);
    happens(s);
    expect_history(s, hint, "Hint");
    expect_history(s, believed, "Claim");
    expect_history(s, sure, "Claim");
    expect_number(s, sure, 1000000);
    expect_history(s, least, "Hint");
    expect_number(s, least, 300000);
    expect_history(s, by_user, "Hint");
}

/* [C1, C2]: the mesh sets the threshold; it counts from the position of its op on. */
static void the_threshold_is_a_rule_of_the_mesh(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t before = guess(s, MACHINE, "tea", 600000);
    at(s, 10000);
    uint32_t after = guess(s, MACHINE, "milk", 600000);
    uint32_t promoted = set_status(s, MACHINE, after, "Claim");
    happens(s);
    expect_history(s, after, "Claim");
    expect_refused(s, promoted, "fsm no_move");
    at(s, 5000);
    uint32_t rule = set_rule(s, "claim_threshold", 700000);
    at(s, 20000);
    uint32_t lowered = set_rule(s, "claim_threshold", 0);
    uint32_t at_last = set_status(s, MACHINE, after, "Claim");
    uint32_t not_hers = tell(s, MACHINE, KIND_SetMeshRules, "'rules':{'claim_threshold':1}");
    happens(s);
    expect_applied(s, rule);
    expect_applied(s, lowered);
    expect_refused(s, not_hers, "owner_only");
    expect_refused(s, promoted, "fsm below_threshold");
    expect_applied(s, at_last);
    expect_history(s, before, "Claim");
    expect_history(s, after, "Hint > Claim");
}

/* [C2, C8]: below the threshold no machine brings a Hint out; confidence alone moves nothing. */
static void a_hint_comes_out_above_the_threshold(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t hint = guess(s, MACHINE, "tea", 100000);
    uint32_t too_early = set_status(s, OTHER, hint, "Claim");
    uint32_t by_user = set_status(s, THE_USER, hint, "Claim");
    uint32_t surer = set_confidence(s, MACHINE, hint, 800000);
    uint32_t now = set_status(s, OTHER, hint, "Claim");
    uint32_t again = set_status(s, OTHER, hint, "Claim");
    uint32_t doubt = set_confidence(s, MACHINE, hint, 1);
    uint32_t same = set_confidence(s, OTHER, hint, 1);
    happens(s);
    expect_refused(s, too_early, "fsm below_threshold");
    expect_refused(s, by_user, "fsm below_threshold");
    expect_applied(s, surer);
    expect_applied(s, now);
    expect_refused(s, again, "fsm no_move");
    expect_applied(s, doubt);
    expect_applied(s, same);
    expect_history(s, hint, "Hint > Claim");
    expect_number(s, hint, 1);
    expect_entries(s, hint, 4);
}

/* [C3, C9, C10]: of the statuses that an update can name two can be set by it. */
static void an_update_sets_no_other_status(void **state)
{
    (void)state;
    static const char *const others[] = {"Hint", "Fact", "Rejected", "Superseded", "Stale"};
    uint32_t op[COUNT_OF(others)];
    struct story *s = story_begin();
    uint32_t tea = claim(s, MACHINE, "tea", NOTHING);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        op[i] = set_status(s, i % 2 == 0 ? MACHINE : THE_USER, tea, others[i]);
    }
    happens(s);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        expect_refused(s, op[i], "fsm status_not_settable");
    }
    expect_history(s, tea, "Claim");
}

/* Disputes ---------------------------------------------------------------------------- */

/* [C5]: the same subject and predicate, another object, made before. */
static void a_dispute_needs_a_conflict(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, MACHINE, "tea", NOTHING);
    uint32_t same = claim(s, OTHER, "tea", NOTHING);
    uint32_t elsewhere = tell(s, MACHINE, KIND_CreateClaim,
                              "'subject':'ann','predicate':'hates','object':'milk'");
    uint32_t text = tell(s, MACHINE, KIND_CreateClaim, "'text':'milk','domain':'ann'");
    uint32_t hint = guess(s, MACHINE, "rum", 1);
    uint32_t of_hint = set_status(s, MACHINE, hint, "Disputed");
    uint32_t by_hint = set_status(s, MACHINE, tea, "Disputed");
    uint32_t alone = set_status(s, MACHINE, elsewhere, "Disputed");
    uint32_t without_lane = set_status(s, MACHINE, text, "Disputed");
    happens(s);
    expect_refused(s, of_hint, "fsm no_move");
    expect_applied(s, by_hint);
    expect_refused(s, alone, "fsm no_conflict");
    expect_refused(s, without_lane, "fsm no_conflict");
    expect_history(s, tea, "Claim > Disputed");
    expect_history(s, same, "Claim");
}

/* [C5]: what became of the other does not matter, only that it was made; and when. */
static void a_conflict_may_come_late_or_be_over(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, MACHINE, "tea", NOTHING);
    at(s, 20000);
    uint32_t dispute = set_status(s, MACHINE, tea, "Disputed");
    at(s, 30000);
    uint32_t too_late = claim(s, OTHER, "rum", NOTHING);
    happens(s);
    expect_refused(s, dispute, "fsm no_conflict");
    expect_history(s, too_late, "Claim");
    at(s, 10000);
    uint32_t milk = claim(s, OTHER, "milk", NOTHING);
    (void)reject(s, milk);
    happens(s);
    expect_applied(s, dispute);
    expect_history(s, tea, "Claim > Disputed");
    (void)revoke(s, OTHER, NOTHING);
    happens(s);
    expect_refused(s, dispute, "fsm no_conflict");
    expect_history(s, tea, "Claim");
}

/* [C9]: a replacement or the user ends a dispute; no machine says that it is over. */
static void a_machine_does_not_end_a_dispute(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, MACHINE, "tea", NOTHING);
    uint32_t milk = claim(s, MACHINE, "milk", NOTHING);
    (void)set_status(s, MACHINE, tea, "Disputed");
    (void)set_status(s, MACHINE, milk, "Disputed");
    uint32_t over = set_status(s, MACHINE, tea, "Claim");
    uint32_t again = set_status(s, MACHINE, tea, "Disputed");
    (void)supersede(s, MACHINE, milk, tea);
    (void)confirm(s, tea);
    happens(s);
    expect_refused(s, over, "fsm no_move");
    expect_refused(s, again, "fsm no_move");
    expect_history(s, tea, "Claim > Disputed > Fact");
    expect_history(s, milk, "Claim > Disputed > Superseded");
}

/* [C5]: ATTACKS 1. The first claim is later found to be disputed by the second, which rests on it.
 * Its own entry comes after the other's creation, which reads it: taking records one by one in
 * ascending order goes wrong, taking ops does not. */
static void records_in_the_order_of_their_ids(void **state)
{
    (void)state;
    struct story *s = story_begin();
    at(s, 30000);
    uint32_t ground = claim(s, MACHINE, "tea", NOTHING);
    uint32_t other = claim(s, OTHER, "milk", ON(ground));
    uint32_t dispute = set_status(s, MACHINE, ground, "Disputed");
    uint32_t no = reject(s, ground);
    happens(s);
    expect_applied(s, dispute);
    expect_applied(s, no);
    expect_history(s, ground, "Claim > Disputed > Rejected");
    expect_history(s, other, "Claim > Stale");
    at(s, 31500);
    uint32_t early = supersede(s, OTHER, ground, ground);
    uint32_t between = reject(s, other);
    happens(s);
    expect_refused(s, early, "fsm no_replacement");
    expect_applied(s, between);
    expect_history(s, other, "Claim > Rejected");
}

/* Superseding ------------------------------------------------------------------------- */

/* [C6]: by a claim that was made before, and another one. */
static void what_replaces_must_be_another_claim(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, MACHINE, "tea", NOTHING);
    uint32_t mail = evidence(s, MACHINE);
    at(s, 50000);
    uint32_t later = claim(s, MACHINE, "milk", NOTHING);
    at(s, 20000);
    uint32_t itself = supersede(s, MACHINE, tea, tea);
    uint32_t by_mail = supersede(s, MACHINE, tea, mail);
    uint32_t by_later = supersede(s, MACHINE, tea, later);
    at(s, 60000);
    uint32_t in_time = supersede(s, MACHINE, tea, later);
    happens(s);
    expect_refused(s, itself, "fsm no_replacement");
    expect_refused(s, by_mail, "fsm no_replacement");
    expect_refused(s, by_later, "fsm no_replacement");
    expect_applied(s, in_time);
    expect_history(s, tea, "Claim > Superseded");
    struct op_id by = state_of(s, tea).by;
    assert_memory_equal(&by, &s->world->op[later].record, sizeof(by));
}

/* [C6]: from every status but Fact and Rejected, also once more, by whatever became invalid. */
static void a_machine_supersedes_what_is_not_the_users(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = claim(s, MACHINE, "water", NOTHING);
    uint32_t hint = guess(s, MACHINE, "tea", 1);
    uint32_t stale = claim(s, MACHINE, "milk", ON(ground));
    (void)reject(s, ground);
    uint32_t first = supersede(s, MACHINE, hint, stale);
    uint32_t second = supersede(s, OTHER, hint, ground);
    uint32_t third = supersede(s, OTHER, stale, hint);
    uint32_t of_rejected = supersede(s, MACHINE, ground, hint);
    happens(s);
    expect_applied(s, first);
    expect_applied(s, second);
    expect_applied(s, third);
    expect_refused(s, of_rejected, "frozen user_decided");
    expect_history(s, hint, "Hint > Superseded");
    expect_history(s, stale, "Claim > Stale > Superseded");
    struct op_id by = state_of(s, hint).by;
    assert_memory_equal(&by, &s->world->op[ground].record, sizeof(by));
}

/* [C6, F8, F9]: a user may, also what is a Fact or rejected; then it is the user's. */
static void a_user_supersedes_anything(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t fresh = claim(s, MACHINE, "water", NOTHING);
    uint32_t fact = claim(s, MACHINE, "tea", NOTHING);
    uint32_t rejected = claim(s, MACHINE, "milk", NOTHING);
    (void)confirm(s, fact);
    (void)reject(s, rejected);
    uint32_t one = supersede(s, THE_USER, fact, fresh);
    uint32_t two = supersede(s, OTHER_USER, rejected, fresh);
    uint32_t three = supersede(s, MACHINE, fact, rejected);
    happens(s);
    expect_applied(s, one);
    expect_applied(s, two);
    expect_refused(s, three, "frozen user_decided");
    expect_history(s, fact, "Claim > Fact > Superseded");
    expect_history(s, rejected, "Claim > Rejected > Superseded");
    expect_flags(s, fact, STATE_BY_USER);
}

/* [C6]: the claim that replaces arrives after what it replaces was superseded by it. */
static void a_replacement_comes_late(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, MACHINE, "tea", NOTHING);
    uint32_t milk = claim(s, MACHINE, "milk", NOTHING);
    withhold_all(s, milk);
    uint32_t op = supersede(s, MACHINE, tea, milk);
    happens(s);
    expect_refused(s, op, "fsm no_replacement");
    comes_whole(s, milk);
    happens(s);
    expect_applied(s, op);
    expect_history(s, tea, "Claim > Superseded");
}

/* What users say ---------------------------------------------------------------------- */

/* [C3, F7]: from every status, and only by a user. */
static void a_user_confirms_whatever_became_of_a_claim(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = claim(s, MACHINE, "water", NOTHING);
    uint32_t hint = guess(s, MACHINE, "tea", 1);
    uint32_t disputed = claim(s, MACHINE, "milk", NOTHING);
    uint32_t superseded = claim(s, MACHINE, "rum", NOTHING);
    uint32_t stale = claim(s, MACHINE, "gin", ON(ground));
    (void)set_status(s, MACHINE, disputed, "Disputed");
    (void)supersede(s, MACHINE, superseded, disputed);
    (void)reject(s, ground);
    const uint32_t all[] = {ground, hint, disputed, superseded, stale};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        (void)confirm(s, all[i]);
    }
    happens(s);
    expect_history(s, ground, "Claim > Rejected > Fact");
    expect_history(s, hint, "Hint > Fact");
    expect_history(s, disputed, "Claim > Disputed > Fact");
    expect_history(s, superseded, "Claim > Superseded > Fact");
    expect_history(s, stale, "Claim > Stale > Fact");
    expect_flags(s, stale, STATE_BY_USER);
    struct op_id by = state_of(s, superseded).by; /* What is not set stays. */
    assert_memory_equal(&by, &s->world->op[disputed].record, sizeof(by));
}

/* [C4, F5, F8]: and rejects it; that stays until the user says otherwise. */
static void a_user_rejects_whatever_became_of_a_claim(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t fact = claim(s, MACHINE, "tea", NOTHING);
    uint32_t hint = guess(s, MACHINE, "milk", 1);
    (void)confirm(s, fact);
    (void)reject(s, fact);
    (void)reject(s, hint);
    uint32_t again = reject(s, hint);
    uint32_t machine = set_status(s, MACHINE, hint, "Claim");
    uint32_t other = set_status(s, MACHINE, fact, "Disputed");
    uint32_t surer = set_confidence(s, MACHINE, hint, 900000);
    happens(s);
    expect_applied(s, again);
    expect_refused(s, machine, "frozen user_decided");
    expect_refused(s, other, "frozen user_decided");
    expect_applied(s, surer); /* Sets no status. */
    expect_history(s, fact, "Claim > Fact > Rejected");
    expect_history(s, hint, "Hint > Rejected");
    expect_entries(s, hint, 3);
}

/* [F10]: whoever may do everything, but under a condition, is no user. */
static void only_users_assert(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, MACHINE, "tea", NOTHING);
    uint32_t by_machine = asserts(s, MACHINE, "confirm", tea);
    uint32_t by_stranger = asserts(s, STRANGER, "reject", tea);
    uint32_t by_user = asserts(s, OTHER_USER, "confirm", tea);
    happens(s);
    expect_refused(s, by_machine, "not_user_bearing");
    expect_outcome(s, by_stranger, "pending not_admitted");
    expect_applied(s, by_user);
    expect_history(s, tea, "Claim > Fact");
}

/* A user's word counts for the content that the user has seen. */
static void a_word_is_about_what_was_seen(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, MACHINE, "tea", NOTHING);
    uint32_t milk = claim(s, MACHINE, "milk", NOTHING);
    uint32_t other = tell(s, THE_USER, KIND_UserAssert, "'about':@%u,'hash':#%u,'assert':'confirm'",
                          tea, milk);
    uint32_t blind = tell(s, THE_USER, KIND_UserAssert, "'about':@%u,'assert':'hide'", tea);
    happens(s);
    expect_refused(s, other, "unknown_target other_content");
    expect_applied(s, blind);
    expect_history(s, tea, "Claim");
    expect_flags(s, tea, STATE_HIDDEN);
}

/* A second confirm, a pin of what is pinned: applied, and nothing is written down. */
static void what_changes_nothing_leaves_no_entry(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, MACHINE, "tea", NOTHING);
    (void)confirm(s, tea);
    uint32_t again = asserts(s, OTHER_USER, "confirm", tea);
    (void)asserts(s, THE_USER, "pin", tea);
    uint32_t pinned = asserts(s, THE_USER, "pin", tea);
    happens(s);
    expect_applied(s, again);
    expect_applied(s, pinned);
    expect_entries(s, tea, 3);
    expect_flags(s, tea, STATE_BY_USER | STATE_PINNED);
}

/* The old claim is replaced by what the user says instead: a Fact from the first. */
static void an_edit_makes_a_fact(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t mail = evidence(s, MACHINE);
    uint32_t tea = claim(s, MACHINE, "tea", ON(mail));
    uint32_t above = claim(s, MACHINE, "green tea", ON(tea));
    uint32_t milk = edit(s, tea, "milk");
    uint32_t rum = edit(s, milk, "rum");
    uint32_t other = claim(s, MACHINE, "tea", NOTHING);
    uint32_t dispute = set_status(s, MACHINE, other, "Disputed");
    uint32_t touched = supersede(s, MACHINE, rum, other);
    (void)tombstone(s, THE_USER, mail); /* The edit rests on nothing. */
    happens(s);
    expect_history(s, tea, "Claim > Superseded > Stale");
    expect_history(s, above, "Claim > Stale");
    expect_history(s, milk, "Fact > Superseded");
    expect_history(s, rum, "Fact");
    expect_flags(s, rum, STATE_BY_USER);
    assert_text("what it says", object_of(s, rum), "rum");
    struct op_id origin = state_of(s, rum).origin;
    assert_memory_equal(&origin, &s->world->op[tea].record, sizeof(origin));
    expect_applied(s, dispute);
    expect_refused(s, touched, "frozen fact_frozen");
}

/* What a kind of record has no use for. */
static void not_every_word_is_for_every_record(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t mail = evidence(s, MACHINE);
    uint32_t trip = episode(s, MACHINE, NOTHING);
    uint32_t job = tell(s, MACHINE, KIND_ScheduleJob, "'kind':'look'");
    uint32_t ann = tell(s, MACHINE, KIND_CreateEntity, "'name':'Ann'");
    uint32_t snapshot = artifact(s, MACHINE, NOTHING);
    uint32_t execution = tell(s, MACHINE, KIND_ClaimWork, "'job':@%u", job);
    const uint32_t refused[] = {
        confirm(s, mail),
        asserts(s, THE_USER, "pin", mail),
        edit(s, trip, "a tour"),
        set_lane(s, trip, "block"),
        asserts(s, THE_USER, "hide", job),
        asserts(s, THE_USER, "hide", execution),
        reject(s, ann),
        asserts(s, THE_USER, "pin", snapshot),
    };
    uint32_t hidden = asserts(s, THE_USER, "hide", mail);
    (void)asserts(s, THE_USER, "hide", ann);
    (void)asserts(s, THE_USER, "hide", snapshot);
    happens(s);
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        expect_refused(s, refused[i], "fsm not_for_type");
    }
    expect_applied(s, hidden);
    expect_flags(s, mail, STATE_HIDDEN);
    expect_flags(s, ann, STATE_HIDDEN);
    expect_flags(s, snapshot, STATE_HIDDEN);
}

/* Precedence -------------------------------------------------------------------------- */

/* [F6]: a pin holds off every machine, whatever it wants; the user works on, and lets go. */
static void a_pin_holds_off_machines(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = guess(s, MACHINE, "tea", 900000);
    uint32_t milk = claim(s, MACHINE, "milk", NOTHING);
    uint32_t trip = episode(s, MACHINE, NOTHING);
    uint32_t call = action(s, MACHINE, NOTHING);
    (void)asserts(s, THE_USER, "pin", tea);
    (void)asserts(s, THE_USER, "pin", trip);
    (void)asserts(s, THE_USER, "pin", call);
    const uint32_t refused[] = {
        set_status(s, MACHINE, tea, "Disputed"),
        set_confidence(s, MACHINE, tea, 1),
        supersede(s, OTHER, tea, milk),
        tell(s, MACHINE, KIND_UpdateEpisode, "'episode':@%u,'title':'a tour'", trip),
        set_status(s, MACHINE, trip, "Archived"),
        set_status(s, MACHINE, call, "Expired"),
    };
    uint32_t by_user = set_confidence(s, THE_USER, tea, 7);
    (void)unpin(s, tea);
    uint32_t free = set_status(s, MACHINE, tea, "Disputed");
    (void)asserts(s, THE_USER, "pin", tea);
    uint32_t no = reject(s, tea);
    happens(s);
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        expect_refused(s, refused[i], "frozen pinned");
    }
    expect_applied(s, by_user);
    expect_applied(s, free);
    expect_applied(s, no);
    expect_flags(s, tea, STATE_BY_USER); /* A rejected claim is not pinned any more. */
    expect_history(s, trip, "Active");
    expect_history(s, call, "Proposed");
}

/* [F2]: of several rules that refuse, the gravest is named. */
static void a_fact_is_frozen_before_it_is_pinned(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, MACHINE, "tea", NOTHING);
    uint32_t rum = claim(s, MACHINE, "rum", NOTHING);
    (void)asserts(s, THE_USER, "pin", tea);
    (void)confirm(s, tea);
    (void)reject(s, rum);
    (void)asserts(s, THE_USER, "pin", rum);
    uint32_t fact = set_status(s, MACHINE, tea, "Stale");
    uint32_t pinned = set_status(s, MACHINE, rum, "Stale");
    happens(s);
    expect_refused(s, fact, "frozen fact_frozen");
    expect_refused(s, pinned, "frozen pinned");
}

/* [F9, F6]: what a user has set, no machine sets again; the title is not a status. */
static void a_users_status_stays(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t trip = episode(s, MACHINE, NOTHING);
    uint32_t call = action(s, MACHINE, NOTHING);
    (void)set_status(s, THE_USER, trip, "Stale");
    (void)set_status(s, THE_USER, call, "Dismissed");
    uint32_t archived = set_status(s, MACHINE, trip, "Archived");
    uint32_t both = tell(s, MACHINE, KIND_UpdateEpisode,
                         "'episode':@%u,'status':'Archived','title':'a tour'", trip);
    uint32_t title = tell(s, MACHINE, KIND_UpdateEpisode, "'episode':@%u,'title':'a walk'", trip);
    uint32_t executing = set_status(s, MACHINE, call, "Executing");
    uint32_t expired = set_status(s, OTHER, call, "Expired");
    happens(s);
    expect_refused(s, archived, "frozen user_decided");
    expect_refused(s, both, "frozen user_decided");
    expect_applied(s, title);
    expect_refused(s, executing, "frozen user_decided");
    expect_refused(s, expired, "frozen user_decided");
    expect_history(s, trip, "Active > Stale");
    expect_history(s, call, "Proposed > Dismissed");
    struct op_id origin = state_of(s, trip).origin;
    assert_memory_equal(&origin, &s->world->op[title].made->id, sizeof(origin));
}

/* [F9]: the user's word comes late and sorts before the machine's, which is undone by it. */
static void a_users_status_that_comes_late_stays_too(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t trip = episode(s, MACHINE, NOTHING);
    at(s, 20000);
    uint32_t archived = set_status(s, MACHINE, trip, "Archived");
    happens(s);
    expect_history(s, trip, "Active > Archived");
    at(s, 10000);
    (void)confirm(s, trip);
    happens(s);
    expect_refused(s, archived, "frozen user_decided");
    expect_history(s, trip, "Active");
}

/* [F9, F6]: titles and confidences are no status: the last counts, unless a pin keeps them. */
static void the_last_confidence_counts(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, MACHINE, "tea", NOTHING);
    uint32_t trip = episode(s, MACHINE, NOTHING);
    (void)set_confidence(s, THE_USER, tea, 1);
    (void)tell(s, THE_USER, KIND_UpdateEpisode, "'episode':@%u,'title':'a tour'", trip);
    uint32_t raised = set_confidence(s, MACHINE, tea, 2);
    uint32_t title = tell(s, MACHINE, KIND_UpdateEpisode, "'episode':@%u,'title':'a walk'", trip);
    (void)asserts(s, THE_USER, "pin", tea);
    uint32_t pinned = set_confidence(s, MACHINE, tea, 3);
    happens(s);
    expect_applied(s, raised);
    expect_applied(s, title);
    expect_refused(s, pinned, "frozen pinned");
    expect_number(s, tea, 2);
}

/* [F9]: what the user approved is carried out by machines, to its end and not aside. */
static void machines_carry_out_what_was_approved(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t call = action(s, MACHINE, NOTHING);
    uint32_t asked = set_status(s, MACHINE, call, "Approved");
    uint32_t unasked = set_status(s, MACHINE, call, "Executing");
    (void)set_status(s, THE_USER, call, "Approved");
    uint32_t aside = set_status(s, MACHINE, call, "Expired");
    uint32_t skipped = set_status(s, MACHINE, call, "Completed");
    uint32_t goes = set_status(s, MACHINE, call, "Executing");
    uint32_t ends = set_status(s, OTHER, call, "Failed");
    uint32_t too_late = reject(s, call);
    uint32_t again = confirm(s, call);
    uint32_t walk = action(s, MACHINE, NOTHING);
    (void)set_status(s, THE_USER, walk, "Approved");
    (void)set_status(s, THE_USER, walk, "Executing");
    (void)set_status(s, MACHINE, walk, "Completed");
    happens(s);
    expect_refused(s, asked, "fsm by_user_only");
    expect_refused(s, unasked, "fsm no_move");
    expect_refused(s, aside, "frozen user_decided");
    expect_refused(s, skipped, "frozen user_decided");
    expect_applied(s, goes);
    expect_applied(s, ends);
    expect_refused(s, too_late, "fsm no_move");
    expect_refused(s, again, "fsm no_move");
    expect_history(s, call, "Proposed > Approved > Executing > Failed");
    expect_flags(s, call, 0);
    expect_history(s, walk, "Proposed > Approved > Executing > Completed");
}

/* [F7, F8]: the user confirms what was rejected, and rejects what was confirmed. */
static void the_last_word_of_the_user_counts(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t call = action(s, MACHINE, NOTHING);
    uint32_t trip = episode(s, MACHINE, NOTHING);
    uint32_t proposed = set_status(s, THE_USER, call, "Proposed");
    (void)reject(s, call);
    uint32_t approved = set_status(s, THE_USER, call, "Approved");
    (void)confirm(s, call);
    (void)reject(s, trip);
    uint32_t back = set_status(s, MACHINE, trip, "Active");
    (void)confirm(s, trip);
    uint32_t archived = set_status(s, MACHINE, trip, "Archived");
    (void)set_status(s, OTHER_USER, trip, "Archived");
    (void)set_status(s, OTHER_USER, trip, "Active");
    happens(s);
    expect_refused(s, proposed, "fsm status_not_settable");
    expect_refused(s, approved, "fsm no_move");
    expect_history(s, call, "Proposed > Rejected > Approved");
    expect_refused(s, back, "frozen user_decided");
    expect_refused(s, archived, "frozen user_decided");
    expect_history(s, trip, "Active > Stale > Active > Archived > Active");
}

/* An archived episode is brought back by a machine only while its grounds are sound, and a title
 * goes with a status that is refused. */
static void an_episode_comes_back_on_sound_grounds(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t mail = evidence(s, MACHINE);
    uint32_t trip = episode(s, MACHINE, ON(mail));
    uint32_t tour = episode(s, MACHINE, ON(mail));
    (void)set_status(s, MACHINE, trip, "Archived");
    uint32_t back = set_status(s, MACHINE, trip, "Active");
    (void)tombstone(s, MACHINE, mail);
    (void)set_status(s, THE_USER, tour, "Archived");
    uint32_t both = tell(s, MACHINE, KIND_UpdateEpisode,
                         "'episode':@%u,'status':'Archived','title':'a walk'", trip);
    uint32_t by_user = set_status(s, THE_USER, tour, "Active");
    happens(s);
    expect_applied(s, back);
    expect_refused(s, both, "fsm by_user_only");
    expect_applied(s, by_user);
    expect_history(s, trip, "Active > Archived > Active > Stale");
    expect_history(s, tour, "Active > Stale > Archived > Active");
    struct op_id origin = state_of(s, trip).origin;
    assert_false(op_id_is_set(&origin));
}

/* Lanes ------------------------------------------------------------------------------- */

/* [C8]: what waits for the user begins as a Hint and stays one until the user speaks. */
static void a_lane_that_waits_for_the_user(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, MACHINE, "tea", NOTHING);
    uint32_t lane = set_lane(s, tea, "confirm");
    uint32_t milk = claim(s, MACHINE, "milk", NOTHING);
    uint32_t by_user = claim(s, THE_USER, "rum", NOTHING);
    uint32_t elsewhere = tell(s, MACHINE, KIND_CreateClaim,
                              "'subject':'ann','predicate':'hates','object':'gin'");
    uint32_t promoted = set_status(s, MACHINE, milk, "Claim");
    uint32_t by_her = set_status(s, THE_USER, milk, "Claim");
    happens(s);
    expect_applied(s, lane);
    expect_history(s, tea, "Claim");
    expect_refused(s, promoted, "fsm lane_confirm");
    expect_applied(s, by_her);
    expect_history(s, milk, "Hint > Claim");
    expect_history(s, by_user, "Claim");
    expect_history(s, elsewhere, "Claim");
}

static void a_lane_that_is_blocked(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, MACHINE, "tea", NOTHING);
    (void)set_lane(s, tea, "block");
    uint32_t milk = claim(s, MACHINE, "milk", NOTHING);
    uint32_t by_user = claim(s, THE_USER, "rum", NOTHING);
    uint32_t above = tell(s, MACHINE, KIND_CreateClaim, "'text':'x','supports':[@%u]", milk);
    uint32_t same = set_lane(s, tea, "block");
    (void)set_lane(s, tea, "allow");
    uint32_t again = claim(s, MACHINE, "gin", NOTHING);
    happens(s);
    expect_refused(s, milk, "fsm lane_blocked");
    expect_status(s, milk, "none");
    expect_history(s, above, "Stale"); /* Its support was refused: an op, and no record. */
    expect_history(s, by_user, "Claim");
    expect_applied(s, same);
    expect_history(s, again, "Claim");
}

/* A claim with text is in the lane of its domain, if it has one. An edited claim is in that of
 * where it came from. */
static void lanes_of_texts_and_of_edits(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t text = tell(s, MACHINE, KIND_CreateClaim, "'text':'a','domain':'health'");
    uint32_t free = tell(s, MACHINE, KIND_CreateClaim, "'text':'b'");
    uint32_t edited = edit(s, text, "c");
    uint32_t lane = set_lane(s, edited, "block");
    uint32_t none = set_lane(s, free, "block");
    uint32_t blocked = tell(s, MACHINE, KIND_CreateClaim, "'text':'d','domain':'health'");
    happens(s);
    expect_applied(s, lane);
    expect_refused(s, none, "fsm no_lane");
    expect_refused(s, blocked, "fsm lane_blocked");
}

/* Artifacts and entities -------------------------------------------------------------- */

static void an_artifact_is_evicted_once(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t snapshot = artifact(s, MACHINE, NOTHING);
    uint32_t gone = tell(s, OTHER, KIND_EvictArtifact, "'artifact':@%u", snapshot);
    uint32_t again = tell(s, OTHER, KIND_EvictArtifact, "'artifact':@%u", snapshot);
    happens(s);
    expect_applied(s, gone);
    expect_refused(s, again, "fsm no_move");
    expect_history(s, snapshot, "Fresh > Evicted");
}

static uint32_t entity(struct story *s, const char *name)
{
    return tell(s, MACHINE, KIND_CreateEntity, "'name':'%s'", name);
}

static void an_entity_is_merged_into_another(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ann = entity(s, "Ann");
    uint32_t anna = entity(s, "Anna");
    uint32_t trip = episode(s, MACHINE, NOTHING);
    uint32_t itself = merge(s, MACHINE, ann, ann);
    uint32_t wrong = merge(s, MACHINE, ann, trip);
    uint32_t merged = merge(s, MACHINE, anna, ann);
    uint32_t split = tell(s, MACHINE, KIND_SplitEntity, "'entity':@%u,'names':['Anna']", ann);
    uint32_t alias = tell(s, MACHINE, KIND_AddEntityAlias, "'entity':@%u,'name':'A.'", split);
    at(s, 50000);
    uint32_t later = entity(s, "Later");
    at(s, 20000);
    uint32_t too_early = merge(s, MACHINE, ann, later);
    uint32_t void_one = merge(s, MACHINE, ann, itself);
    happens(s);
    expect_refused(s, itself, "fsm itself");
    expect_refused(s, wrong, "unknown_target wrong_type");
    expect_applied(s, merged);
    expect_applied(s, split);
    expect_applied(s, alias);
    expect_status(s, split, "Present");
    expect_refused(s, too_early, "unknown_target no_target");
    expect_refused(s, void_one, "unknown_target target_void");
    expect_entries(s, ann, 2);
}

/* What an entity leads to, at last. */
static struct op_id leads_to(const struct story *s, uint32_t op)
{
    struct arena arena;
    struct entity found;
    struct txn *txn = begin_read(s->store[0]);
    arena_init(&arena, LIMIT_TREE_BYTES);
    assert_ok(entity_read(txn, &arena, NULL, &s->world->op[op].record, &found));
    arena_free(&arena);
    txn_abort(txn);
    return found.leads_to;
}

/* ATTACKS 20: merges in a circle. The one that would close it is passed over. */
static void a_circle_of_merges_leads_somewhere(void **state)
{
    (void)state;
    struct story *s = story_begin();
    const uint32_t ring[] = {entity(s, "a"), entity(s, "b"), entity(s, "c")};
    for (size_t i = 0; i < COUNT_OF(ring); i++) {
        uint32_t merged = merge(s, MACHINE, ring[i], ring[(i + 1) % COUNT_OF(ring)]);
        happens(s);
        expect_applied(s, merged);
    }
    for (size_t i = 0; i < COUNT_OF(ring); i++) {
        struct op_id last = leads_to(s, ring[i]);
        assert_memory_equal(&last, &s->world->op[ring[2]].record, sizeof(last));
    }
}

/* [F9]: the machine's merge was there first, and the user's, the other way round, counts first. */
static void a_users_merge_counts_first(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ann = entity(s, "Ann");
    uint32_t anna = entity(s, "Anna");
    (void)merge(s, MACHINE, ann, anna);
    happens(s);
    struct op_id last = leads_to(s, ann);
    assert_memory_equal(&last, &s->world->op[anna].record, sizeof(last));
    (void)merge(s, THE_USER, anna, ann);
    happens(s);
    last = leads_to(s, anna);
    assert_memory_equal(&last, &s->world->op[ann].record, sizeof(last));
}

/* Keys -------------------------------------------------------------------------------- */

/* ATTACKS 16: equal key and equal content are one record, whoever made it first. */
static void one_key_and_one_content_are_one_record(void **state)
{
    (void)state;
    struct story *s = story_begin();
    const char *visit = "'source_type':'calendar','source_anchor':'item 7','content':$,'size':1";
    uint32_t by_phone = tell(s, MACHINE, KIND_IngestEvidence, "%s", visit);
    uint32_t by_laptop = tell(s, OTHER, KIND_IngestEvidence, "%s", visit);
    uint32_t tea = claim(s, MACHINE, "tea", ON(by_laptop));
    uint32_t gone = tombstone(s, MACHINE, by_phone);
    uint32_t again = tell(s, OTHER, KIND_IngestEvidence, "%s", visit);
    happens(s);
    assert_memory_equal(&s->world->op[by_phone].record, &s->world->op[by_laptop].record, 16);
    expect_applied(s, by_laptop);
    expect_applied(s, again);
    expect_applied(s, gone);
    expect_history(s, by_laptop, "Present > Tombstoned");
    expect_history(s, tea, "Claim > Stale");
    expect_entries(s, by_phone, 2);
}

/* ATTACKS 16: equal key and other content are two records, whoever dates back. */
static void one_key_and_two_contents_are_two_records(void **state)
{
    (void)state;
    struct story *s = story_begin();
    at(s, 20000);
    uint32_t one = tell(s, MACHINE, KIND_CreateClaim, "'text':'tea','idempotency_key':'k'");
    uint32_t two = tell(s, OTHER, KIND_CreateClaim, "'text':'milk','idempotency_key':'k'");
    uint32_t yes = confirm(s, one);
    happens(s);
    expect_history(s, one, "Claim > Fact");
    expect_history(s, two, "Claim");
    at(s, 5000);
    uint32_t squatter = tell(s, OTHER, KIND_CreateClaim, "'text':'rum','idempotency_key':'k'");
    uint32_t same = tell(s, OTHER, KIND_CreateClaim, "'text':'tea','idempotency_key':'k'");
    happens(s);
    expect_applied(s, squatter);
    expect_applied(s, same);
    expect_applied(s, yes);
    expect_history(s, one, "Claim > Fact");
    expect_history(s, squatter, "Claim");
    assert_true(memcmp(&s->world->op[squatter].record, &s->world->op[one].record, 16) != 0);
    struct op_id maker = state_of(s, one).maker;
    assert_memory_equal(&maker, &s->world->op[same].made->id, sizeof(maker));
    (void)revoke(s, OTHER, NOTHING);
    happens(s);
    maker = state_of(s, one).maker;
    assert_memory_equal(&maker, &s->world->op[one].made->id, sizeof(maker));
    expect_history(s, one, "Claim > Fact");
}

/* A keyed record is not named by the op that made it. */
static void a_keyed_record_has_one_name(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ann = tell(s, MACHINE, KIND_CreateEntity, "'name':'Ann','idempotency_key':'k'");
    uint32_t by_position = tell(s, MACHINE, KIND_AddEntityAlias, "'entity':^%u,'name':'A.'", ann);
    uint32_t by_name = tell(s, MACHINE, KIND_AddEntityAlias, "'entity':@%u,'name':'A.'", ann);
    happens(s);
    expect_refused(s, by_position, "unknown_target target_void");
    expect_applied(s, by_name);
}

/* The hash in the user's word may be that of any op that makes the record, and of no other. */
static void a_word_may_name_any_maker(void **state)
{
    (void)state;
    struct story *s = story_begin();
    const char *text = "'text':'tea','idempotency_key':'k'";
    uint32_t one = tell(s, MACHINE, KIND_CreateClaim, "%s", text);
    uint32_t two = tell(s, OTHER, KIND_CreateClaim, "%s", text);
    uint32_t change = set_confidence(s, MACHINE, one, 7);
    uint32_t by_change = tell(s, THE_USER, KIND_UserAssert,
                              "'about':@%u,'hash':#%u,'assert':'confirm'", one, change);
    uint32_t by_second = asserts(s, THE_USER, "pin", two);
    happens(s);
    expect_refused(s, by_change, "unknown_target other_content");
    expect_applied(s, by_second);
    expect_history(s, one, "Claim");
    expect_flags(s, one, STATE_PINNED);
}

/* Versions ---------------------------------------------------------------------------- */

static uint32_t surer(struct story *s, uint32_t claim, uint32_t ppm, uint32_t version)
{
    return tell(s, MACHINE, KIND_UpdateClaimConfidence,
                "'claim':@%u,'confidence':%u,'if_version':^%u", claim, ppm, version);
}

static void a_version_is_taken_once(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, MACHINE, "tea", NOTHING);
    uint32_t milk = claim(s, MACHINE, "milk", NOTHING);
    uint32_t first = surer(s, tea, 1, tea);
    uint32_t second = surer(s, tea, 2, tea);
    uint32_t third = surer(s, tea, 3, first);
    uint32_t of_other = surer(s, tea, 4, milk);
    uint32_t of_refused = surer(s, tea, 5, second);
    happens(s);
    expect_applied(s, first);
    expect_refused(s, second, "stale_version version_taken");
    expect_applied(s, third);
    expect_refused(s, of_other, "stale_version version_gone");
    expect_refused(s, of_refused, "stale_version version_gone");
    expect_number(s, tea, 3);
}

/* A late rule of the mesh refuses the op that left a version. Who names it has none to stand on,
 * although the claim is the same just before as it was. */
static void a_version_goes_with_its_entry(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t hint = guess(s, MACHINE, "tea", 400000);
    (void)set_confidence(s, MACHINE, hint, 600000);
    at(s, 20000);
    uint32_t promoted = set_status(s, MACHINE, hint, "Claim");
    (void)confirm(s, hint);
    uint32_t named = tell(s, THE_USER, KIND_UserAssert,
                          "'about':@%u,'assert':'pin','if_version':^%u", hint, promoted);
    happens(s);
    expect_applied(s, named);
    at(s, 10000);
    (void)set_rule(s, "claim_threshold", 700000);
    happens(s);
    expect_refused(s, promoted, "fsm below_threshold");
    expect_history(s, hint, "Hint > Fact");
    expect_refused(s, named, "stale_version version_gone");
}

/* Who takes a version comes late, and goes with its author; in between another op has changed the
 * claim, so that the one that named the same version sees no difference but this. */
static void a_version_is_taken_late_and_given_back(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, MACHINE, "tea", NOTHING);
    at(s, 20000);
    (void)set_confidence(s, MACHINE, tea, 1);
    uint32_t named = surer(s, tea, 2, tea);
    happens(s);
    expect_applied(s, named);
    at(s, 10000);
    uint32_t rival = tell(s, OTHER, KIND_UpdateClaimConfidence,
                          "'claim':@%u,'confidence':3,'if_version':^%u", tea, tea);
    happens(s);
    expect_applied(s, rival);
    expect_refused(s, named, "stale_version version_taken");
    (void)revoke(s, OTHER, NOTHING);
    happens(s);
    expect_applied(s, named);
    expect_number(s, tea, 2);
}

/* ATTACKS 11: a hundred ops each name the one before. One that comes late and names none takes
 * nothing from them; one that names the first's version takes the place of the second, and then the
 * rest has nothing to stand on. */
static void versions_do_not_fall_like_dominoes(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, MACHINE, "tea", NOTHING);
    uint32_t last = tea;
    uint32_t op[100];
    at(s, 10000);
    for (uint32_t i = 0; i < COUNT_OF(op); i++) {
        op[i] = last = surer(s, tea, i, last);
    }
    happens(s);
    expect_number(s, tea, 99);
    at(s, 10500);
    uint32_t harmless = set_confidence(s, OTHER, tea, 500);
    happens(s);
    expect_applied(s, harmless);
    for (uint32_t i = 0; i < COUNT_OF(op); i++) {
        expect_applied(s, op[i]);
    }
    expect_number(s, tea, 99);
    at(s, 10600);
    uint32_t rival = surer(s, tea, 501, op[0]);
    happens(s);
    expect_applied(s, rival);
    expect_refused(s, op[1], "stale_version version_taken");
    expect_refused(s, op[99], "stale_version version_gone");
    expect_number(s, tea, 501);
}

/* What an author is told who names a version now. */
static const char *told(const struct story *s, uint32_t op)
{
    struct arena arena;
    struct value fields;
    enum fold_rule rule;
    const struct world_op *wrote = &s->world->op[op];
    struct txn *txn = begin_read(s->store[0]);
    arena_init(&arena, LIMIT_TREE_BYTES);
    assert_ok(payload_fields(&arena, wrote->payload, &fields));
    assert_ok(version_holds(txn, wrote->kind, &fields, &rule));
    arena_free(&arena);
    txn_abort(txn);
    return rule == RULE_NONE ? "holds" : rule_code((uint8_t)rule);
}

/* ATTACKS 11: a cascade makes a version, named after its cause. Who writes after it must have seen
 * it; what was written elsewhere, without knowing of it, is not lost. */
static void a_cascade_makes_a_version(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = claim(s, MACHINE, "tea", NOTHING);
    uint32_t above = claim(s, MACHINE, "green tea", ON(ground));
    uint32_t no = reject(s, ground);
    happens(s);
    uint32_t unknowing = surer(s, above, 1, above);
    uint32_t knowing = surer(s, above, 2, no);
    assert_text("before the cascade", told(s, unknowing), "version_taken");
    assert_text("after the cascade", told(s, knowing), "holds");
    happens(s);
    expect_applied(s, unknowing);
    expect_applied(s, knowing);
    expect_number(s, above, 2);
}

/* The mesh sets a version of the folds that this program does not know: they end there, and come to
 * life again where that never was. */
static void the_folds_end_at_a_version_that_is_not_known(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t before = claim(s, MACHINE, "tea", NOTHING);
    at(s, 10000);
    uint32_t set = tell(s, OTHER_USER, KIND_SetMeshRules, "'rules':{'fold_version':2}");
    uint32_t after = claim(s, MACHINE, "milk", NOTHING);
    (void)reject(s, before);
    happens(s);
    expect_applied(s, set);
    expect_outcome(s, after, "pending version_unknown");
    expect_status(s, after, "none");
    expect_history(s, before, "Claim");
    (void)revoke(s, OTHER_USER, NOTHING);
    happens(s);
    expect_history(s, after, "Claim");
    expect_history(s, before, "Claim > Rejected");
}

/* Twins ------------------------------------------------------------------------------- */

/* ATTACKS 4: the camera makes a claim, the user confirms it, and then the camera signs another one
 * in its place. */
static void a_twin_does_not_change_a_fact(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, MACHINE, "tea", NOTHING);
    (void)confirm(s, tea);
    happens(s);
    uint32_t twin = tell_twin(s, tea, "'subject':'ann','predicate':'likes','object':'gin'");
    happens(s);
    expect_applied(s, tea);
    expect_outcome(s, twin, "void twin");
    expect_history(s, tea, "Claim > Fact");
    assert_text("what it says", object_of(s, tea), "tea");
    (void)revoke(s, MACHINE, NOTHING);
    happens(s);
    expect_history(s, tea, "Claim > Fact");
    assert_text("what it says", object_of(s, tea), "tea");
}

/* ATTACKS 4: two users confirm one each; the earlier word has it, also when it comes late, and when
 * the author of both is revoked. */
static void of_two_twins_the_earlier_word_has_it(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, MACHINE, "tea", NOTHING);
    uint32_t gin = tell_twin(s, tea, "'subject':'ann','predicate':'likes','object':'gin'");
    at(s, 20000);
    uint32_t for_tea = asserts(s, THE_USER, "confirm", tea);
    (void)revoke(s, MACHINE, NOTHING);
    happens(s);
    assert_text("what it says", object_of(s, tea), "tea");
    expect_history(s, tea, "Claim > Fact");
    at(s, 10000);
    uint32_t for_gin = asserts(s, OTHER_USER, "confirm", gin);
    happens(s);
    expect_applied(s, for_gin);
    expect_refused(s, for_tea, "unknown_target other_content");
    assert_text("what it says", object_of(s, tea), "gin");
    expect_history(s, gin, "Claim > Fact");
}

/* ATTACKS 4: which claim stands does not hang on what the folds make of the word for it; else a
 * Confirm whose version holds only if it does not count would have two answers. */
static void a_word_with_a_version_has_one_answer(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, MACHINE, "tea", NOTHING);
    uint32_t gin = tell_twin(s, tea, "'subject':'ann','predicate':'likes','object':'gin'");
    uint32_t yes = tell(s, THE_USER, KIND_UserAssert,
                        "'about':@%u,'hash':#%u,'assert':'confirm','if_version':^0", tea, tea);
    uint32_t later = tell(s, OTHER_USER, KIND_UserAssert,
                          "'about':@%u,'hash':#%u,'assert':'confirm','if_version':^%u", gin, gin,
                          gin);
    happens(s);
    expect_applied(s, tea);
    expect_outcome(s, gin, "void twin");
    expect_refused(s, yes, "stale_version version_gone");
    expect_refused(s, later, "unknown_target other_content");
    expect_history(s, tea, "Claim");
    assert_text("what it says", object_of(s, tea), "tea");
}

/* [N11]: ATTACKS 17. The camera is revoked: what the user confirmed stays, the rest was never
 * said; through a cut, what leads to its head stays too. */
static void the_proposer_is_revoked(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t confirmed = claim(s, MACHINE, "tea", NOTHING);
    uint32_t kept = claim(s, MACHINE, "milk", NOTHING);
    uint32_t lost = claim(s, MACHINE, "gin", NOTHING);
    uint32_t above = claim(s, OTHER, "hot tea", ON(confirmed));
    uint32_t on_lost = claim(s, OTHER, "cold gin", ON(lost));
    (void)confirm(s, confirmed);
    happens(s);
    (void)revoke(s, MACHINE, ON(kept));
    happens(s);
    expect_history(s, kept, "Claim");
    expect_outcome(s, lost, "void revoked");
    (void)revoke(s, MACHINE, NOTHING);
    happens(s);
    expect_history(s, confirmed, "Claim > Fact");
    expect_history(s, above, "Claim");
    expect_outcome(s, kept, "void revoked");
    expect_status(s, kept, "none");
    expect_status(s, lost, "none");
    expect_history(s, on_lost, "Stale");
}

/* Erasure ----------------------------------------------------------------------------- */

/* ATTACKS 9: one store has seen the item and erased it, others never saw it: all records are equal.
 * The bytes go; the eraser is revoked after that, and the item is one that nobody has any more. */
static void erased_and_rebuilt(void **state)
{
    (void)state;
    struct compact_result result;
    struct story *s = story_begin();
    uint32_t mail = evidence(s, MACHINE);
    uint32_t tea = claim(s, MACHINE, "tea", ON(mail));
    uint32_t call = action(s, MACHINE, ON(tea));
    happens(s);
    expect_history(s, call, "Proposed");
    uint32_t gone = erase(s, OTHER_USER, mail);
    withhold_all(s, mail);
    happens(s);
    expect_outcome(s, mail, "void erased");
    expect_history(s, call, "Rejected");
    assert_ok(compact_store(s->store[0], NOW_MS, true, &result));
    assert_count("erased", result.erased, 1);
    (void)revoke(s, OTHER_USER, NOTHING);
    happens(s);
    expect_outcome(s, gone, "void revoked");
    expect_outcome(s, mail, "pending payload_absent");
    expect_history(s, tea, "Stale");
}

/* ATTACKS 9: a stolen device erases everything, and is revoked while the bytes are there. */
static void what_a_stolen_device_erased_is_back(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t mail = evidence(s, MACHINE);
    uint32_t tea = claim(s, MACHINE, "tea", ON(mail));
    uint32_t fact = claim(s, MACHINE, "milk", NOTHING);
    (void)confirm(s, fact);
    happens(s);
    at(s, 500); /* Dated back, by a fork. */
    (void)erase(s, OTHER_USER, mail);
    (void)erase(s, OTHER_USER, tea);
    (void)erase(s, OTHER_USER, fact);
    happens(s);
    expect_status(s, tea, "none");
    expect_status(s, fact, "none");
    (void)revoke(s, OTHER_USER, NOTHING);
    happens(s);
    expect_status(s, mail, "Present");
    expect_history(s, tea, "Claim");
    expect_history(s, fact, "Claim > Fact");
}

/* ATTACKS 9: the same item comes in again after it was erased: all that make it are void. */
static void an_erased_item_does_not_come_in_again(void **state)
{
    (void)state;
    struct story *s = story_begin();
    const char *visit = "'source_type':'calendar','source_anchor':'item 7','content':$,'size':1";
    uint32_t item = tell(s, MACHINE, KIND_IngestEvidence, "%s", visit);
    (void)erase(s, THE_USER, item);
    uint32_t again = tell(s, OTHER, KIND_IngestEvidence, "%s", visit);
    uint32_t other = evidence(s, OTHER);
    happens(s);
    expect_outcome(s, item, "void erased");
    expect_outcome(s, again, "void erased");
    expect_status(s, item, "none");
    expect_status(s, other, "Present");
}

#define TEST(name) cmocka_unit_test_teardown(name, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(evidence_is_taken_in_and_withdrawn),
        TEST(what_is_withheld_waits),
        TEST(confidence_decides_how_a_claim_begins),
        TEST(the_threshold_is_a_rule_of_the_mesh),
        TEST(a_hint_comes_out_above_the_threshold),
        TEST(an_update_sets_no_other_status),
        TEST(a_dispute_needs_a_conflict),
        TEST(a_conflict_may_come_late_or_be_over),
        TEST(a_machine_does_not_end_a_dispute),
        TEST(records_in_the_order_of_their_ids),
        TEST(what_replaces_must_be_another_claim),
        TEST(a_machine_supersedes_what_is_not_the_users),
        TEST(a_user_supersedes_anything),
        TEST(a_replacement_comes_late),
        TEST(a_user_confirms_whatever_became_of_a_claim),
        TEST(a_user_rejects_whatever_became_of_a_claim),
        TEST(only_users_assert),
        TEST(a_word_is_about_what_was_seen),
        TEST(what_changes_nothing_leaves_no_entry),
        TEST(an_edit_makes_a_fact),
        TEST(not_every_word_is_for_every_record),
        TEST(a_pin_holds_off_machines),
        TEST(a_fact_is_frozen_before_it_is_pinned),
        TEST(a_users_status_stays),
        TEST(a_users_status_that_comes_late_stays_too),
        TEST(the_last_confidence_counts),
        TEST(machines_carry_out_what_was_approved),
        TEST(the_last_word_of_the_user_counts),
        TEST(an_episode_comes_back_on_sound_grounds),
        TEST(a_lane_that_waits_for_the_user),
        TEST(a_lane_that_is_blocked),
        TEST(lanes_of_texts_and_of_edits),
        TEST(an_artifact_is_evicted_once),
        TEST(an_entity_is_merged_into_another),
        TEST(a_circle_of_merges_leads_somewhere),
        TEST(a_users_merge_counts_first),
        TEST(one_key_and_one_content_are_one_record),
        TEST(one_key_and_two_contents_are_two_records),
        TEST(a_keyed_record_has_one_name),
        TEST(a_word_may_name_any_maker),
        TEST(a_version_is_taken_once),
        TEST(a_version_goes_with_its_entry),
        TEST(a_version_is_taken_late_and_given_back),
        TEST(versions_do_not_fall_like_dominoes),
        TEST(a_cascade_makes_a_version),
        TEST(the_folds_end_at_a_version_that_is_not_known),
        TEST(a_twin_does_not_change_a_fact),
        TEST(of_two_twins_the_earlier_word_has_it),
        TEST(a_word_with_a_version_has_one_answer),
        TEST(the_proposer_is_revoked),
        TEST(erased_and_rebuilt),
        TEST(what_a_stolen_device_erased_is_back),
        TEST(an_erased_item_does_not_come_in_again),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
