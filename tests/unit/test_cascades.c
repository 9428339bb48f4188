/* test_cascades.c - What falls when a support is lost, and what does not: stories for the rules of
 * cascades and of what is frozen (spec/claims.md, at its end; spec/folds.md, "Cascades"; ATTACKS
 * 20).
 *
 * The numbers in brackets are those of the rules. */
#include "tests/unit/support_stories.h"

#include <sodium.h>

#include "tests/unit/support_folds.h"

/* Rejection --------------------------------------------------------------------------- */

/* [X1, X2, C4, C7]: whatever the distance. */
static void a_rejection_goes_through_three_levels(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = claim(s, MACHINE, "tea", NOTHING);
    uint32_t first = claim(s, MACHINE, "green tea", ON(ground));
    uint32_t second = claim(s, OTHER, "hot green tea", ON(first));
    uint32_t third = claim(s, MACHINE, "hot green tea at five", ON(second));
    uint32_t beside = claim(s, MACHINE, "milk", NOTHING);
    uint32_t no = reject(s, ground);
    happens(s);
    expect_applied(s, no);
    expect_history(s, ground, "Claim > Rejected");
    expect_history(s, first, "Claim > Stale");
    expect_history(s, second, "Claim > Stale");
    expect_history(s, third, "Claim > Stale");
    expect_history(s, beside, "Claim");
    expect_flags(s, ground, STATE_BY_USER);
    expect_flags(s, third, STATE_CASCADED);
}

/* [X2, X3, X4, X5]: each type in its own way, and what rests on them in turn. */
static void every_type_falls_as_its_machine_says(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = claim(s, MACHINE, "tea", NOTHING);
    uint32_t trip = episode(s, MACHINE, ON(ground));
    uint32_t call = action(s, MACHINE, ON(ground));
    uint32_t snapshot = artifact(s, MACHINE, ON(ground));
    uint32_t by_trip = claim(s, MACHINE, "trips", ON(trip));
    uint32_t by_snapshot = claim(s, MACHINE, "pictures", ON(snapshot));
    (void)reject(s, ground);
    happens(s);
    expect_history(s, trip, "Active > Stale");
    expect_history(s, call, "Proposed > Rejected");
    expect_history(s, snapshot, "Fresh > Stale");
    expect_history(s, by_trip, "Claim > Stale");
    expect_history(s, by_snapshot, "Claim > Stale");
}

/* [X5]: what went stale may be evicted; what was evicted stays so. */
static void a_stale_artifact_can_be_evicted(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = claim(s, MACHINE, "tea", NOTHING);
    uint32_t early = artifact(s, MACHINE, ON(ground));
    uint32_t late = artifact(s, MACHINE, ON(ground));
    uint32_t by_early = claim(s, MACHINE, "pictures", ON(early));
    (void)tell(s, MACHINE, KIND_EvictArtifact, "'artifact':@%u", early);
    (void)reject(s, ground);
    (void)tell(s, MACHINE, KIND_EvictArtifact, "'artifact':@%u", late);
    uint32_t again = tell(s, MACHINE, KIND_EvictArtifact, "'artifact':@%u", late);
    happens(s);
    expect_history(s, early, "Fresh > Evicted");
    expect_history(s, by_early, "Claim > Stale");
    expect_history(s, late, "Fresh > Stale > Evicted");
    expect_refused(s, again, "fsm no_move");
}

/* [X4]: what is proposed, approved or under way is stopped; what has happened stays. */
static void actions_fall_until_they_have_ended(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = claim(s, MACHINE, "tea", NOTHING);
    uint32_t approved = action(s, MACHINE, ON(ground));
    uint32_t executing = action(s, MACHINE, ON(ground));
    uint32_t completed = action(s, MACHINE, ON(ground));
    uint32_t failed = action(s, MACHINE, ON(ground));
    uint32_t dismissed = action(s, MACHINE, ON(ground));
    uint32_t expired = action(s, MACHINE, ON(ground));
    (void)set_status(s, THE_USER, approved, "Approved");
    (void)set_status(s, THE_USER, executing, "Approved");
    (void)set_status(s, THE_USER, completed, "Approved");
    (void)set_status(s, THE_USER, failed, "Approved");
    (void)set_status(s, THE_USER, dismissed, "Dismissed");
    (void)set_status(s, MACHINE, executing, "Executing");
    (void)set_status(s, MACHINE, completed, "Executing");
    (void)set_status(s, MACHINE, completed, "Completed");
    (void)set_status(s, MACHINE, failed, "Executing");
    (void)set_status(s, MACHINE, failed, "Failed");
    (void)set_status(s, MACHINE, expired, "Expired");
    (void)reject(s, ground);
    happens(s);
    expect_history(s, approved, "Proposed > Approved > Rejected");
    expect_history(s, executing, "Proposed > Approved > Executing > Rejected");
    expect_history(s, completed, "Proposed > Approved > Executing > Completed");
    expect_history(s, failed, "Proposed > Approved > Executing > Failed");
    expect_history(s, dismissed, "Proposed > Dismissed");
    expect_history(s, expired, "Proposed > Expired");
}

/* [X3]: an archived episode too. */
static void an_archived_episode_falls(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = claim(s, MACHINE, "tea", NOTHING);
    uint32_t trip = episode(s, MACHINE, ON(ground));
    (void)set_status(s, MACHINE, trip, "Archived");
    (void)reject(s, ground);
    uint32_t back = set_status(s, MACHINE, trip, "Active");
    happens(s);
    expect_history(s, trip, "Active > Archived > Stale");
    expect_refused(s, back, "fsm by_user_only");
}

/* [C7, X2]: a Hint, a Disputed and a Superseded claim fall; a Rejected one is the user's word. */
static void claims_of_every_status_fall_but_facts_and_rejected_ones(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = evidence(s, MACHINE);
    uint32_t hint = tell(s, MACHINE, KIND_CreateClaim,
                         "'text':'a guess','confidence':499999,'supports':[@%u]", ground);
    uint32_t believed = claim(s, MACHINE, "tea", ON(ground));
    uint32_t disputed = claim(s, MACHINE, "milk", ON(ground));
    uint32_t superseded = claim(s, MACHINE, "rum", ON(ground));
    uint32_t by_superseded = episode(s, MACHINE, ON(superseded));
    uint32_t fact = claim(s, MACHINE, "ale", ON(ground));
    uint32_t rejected = claim(s, MACHINE, "gin", ON(ground));
    (void)set_status(s, MACHINE, disputed, "Disputed");
    (void)supersede(s, MACHINE, superseded, believed);
    (void)confirm(s, fact);
    (void)reject(s, rejected);
    (void)tombstone(s, MACHINE, ground);
    happens(s);
    expect_history(s, ground, "Present > Tombstoned");
    expect_history(s, hint, "Hint > Stale");
    expect_history(s, believed, "Claim > Stale");
    expect_history(s, disputed, "Claim > Disputed > Stale");
    expect_history(s, superseded, "Claim > Superseded > Stale");
    expect_history(s, by_superseded, "Active > Stale");
    expect_history(s, fact, "Claim > Fact");
    expect_history(s, rejected, "Claim > Rejected");
}

/* [C6]: to be superseded is to be replaced, not to be wrong: what rests on it stands. */
static void superseding_is_no_loss(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t old = claim(s, MACHINE, "tea", NOTHING);
    uint32_t above = claim(s, MACHINE, "green tea", ON(old));
    uint32_t fresh = claim(s, MACHINE, "milk", NOTHING);
    (void)supersede(s, MACHINE, old, fresh);
    happens(s);
    expect_history(s, old, "Claim > Superseded");
    expect_history(s, above, "Claim");
}

/* Facts ------------------------------------------------------------------------------- */

/* [F4, F1]: what lies above the Fact rests on the user's word. */
static void a_rejection_stops_at_a_fact(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = claim(s, MACHINE, "tea", NOTHING);
    uint32_t fact = claim(s, MACHINE, "green tea", ON(ground));
    uint32_t above = claim(s, MACHINE, "hot green tea", ON(fact));
    uint32_t beside = claim(s, MACHINE, "black tea", ON(ground, fact));
    (void)confirm(s, fact);
    (void)reject(s, ground);
    happens(s);
    expect_history(s, fact, "Claim > Fact");
    expect_history(s, above, "Claim");
    expect_history(s, beside, "Claim > Stale");
}

/* [F5, X1]: the Fact itself may be rejected, and then what lies above it falls. */
static void a_rejected_fact_takes_along_what_rests_on_it(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t fact = claim(s, MACHINE, "tea", NOTHING);
    uint32_t above = claim(s, MACHINE, "green tea", ON(fact));
    (void)confirm(s, fact);
    uint32_t no = reject(s, fact);
    happens(s);
    expect_applied(s, no);
    expect_history(s, fact, "Claim > Fact > Rejected");
    expect_history(s, above, "Claim > Stale");
}

/* Evidence, a Fact on it, another Fact on that, a claim on both. */
struct tower {
    uint32_t ground;
    uint32_t fact;
    uint32_t higher;
    uint32_t top;
};

static struct tower tower_of(struct story *s)
{
    struct tower tower = {.ground = evidence(s, MACHINE)};
    tower.fact = claim(s, MACHINE, "tea", ON(tower.ground));
    tower.higher = claim(s, MACHINE, "green tea", ON(tower.fact));
    tower.top = claim(s, MACHINE, "hot green tea", ON(tower.higher));
    (void)confirm(s, tower.fact);
    (void)confirm(s, tower.higher);
    return tower;
}

/* [F3] */
static void a_users_tombstone_goes_through_facts(void **state)
{
    (void)state;
    struct story *s = story_begin();
    struct tower tower = tower_of(s);
    uint32_t gone = tombstone(s, THE_USER, tower.ground);
    happens(s);
    expect_applied(s, gone);
    expect_history(s, tower.fact, "Claim > Fact > Stale");
    expect_history(s, tower.higher, "Claim > Fact > Stale");
    expect_history(s, tower.top, "Claim > Stale");
    expect_flags(s, tower.fact, STATE_CASCADED);
}

/* [F3, F4] */
static void a_machines_tombstone_stops_at_a_fact(void **state)
{
    (void)state;
    struct story *s = story_begin();
    struct tower tower = tower_of(s);
    uint32_t gone = tombstone(s, MACHINE, tower.ground);
    uint32_t again = tombstone(s, THE_USER, tower.ground);
    happens(s);
    expect_applied(s, gone);
    expect_refused(s, again, "fsm no_move");
    expect_history(s, tower.ground, "Present > Tombstoned");
    expect_history(s, tower.fact, "Claim > Fact");
    expect_history(s, tower.top, "Claim");
    expect_flags(s, tower.fact, STATE_BY_USER);
}

/* [F3]: whose tombstone it was turns out later: a user's, sorting before the machine's, comes. */
static void an_earlier_tombstone_by_a_user_comes_late(void **state)
{
    (void)state;
    struct story *s = story_begin();
    struct tower tower = tower_of(s);
    at(s, 20000);
    uint32_t by_machine = tombstone(s, MACHINE, tower.ground);
    happens(s);
    expect_applied(s, by_machine);
    expect_history(s, tower.fact, "Claim > Fact");
    at(s, 10000);
    uint32_t by_user = tombstone(s, THE_USER, tower.ground);
    happens(s);
    expect_applied(s, by_user);
    expect_refused(s, by_machine, "fsm no_move");
    expect_history(s, tower.fact, "Claim > Fact > Stale");
    expect_history(s, tower.top, "Claim > Stale");
}

/* [F2, F1]: by name, and nothing changes. */
static void a_machine_does_not_touch_a_fact(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t fact = claim(s, MACHINE, "tea", NOTHING);
    uint32_t other = claim(s, MACHINE, "milk", NOTHING);
    (void)confirm(s, fact);
    uint32_t replaced = supersede(s, MACHINE, fact, other);
    uint32_t disputed = set_status(s, OTHER, fact, "Disputed");
    uint32_t doubted = set_confidence(s, MACHINE, fact, 1);
    happens(s);
    expect_refused(s, replaced, "frozen fact_frozen");
    expect_refused(s, disputed, "frozen fact_frozen");
    expect_refused(s, doubted, "frozen fact_frozen");
    expect_history(s, fact, "Claim > Fact");
    assert_count("confidence", state_of(s, fact).number, 1000000);
}

/* Order and time ---------------------------------------------------------------------- */

/* [C7, C1]: the tombstone sorts before the claims, and comes after them. */
static void a_late_tombstone_was_there_first(void **state)
{
    (void)state;
    struct story *s = story_begin();
    at(s, 1000);
    uint32_t ground = evidence(s, MACHINE);
    at(s, 10000);
    uint32_t first = claim(s, MACHINE, "tea", ON(ground));
    uint32_t fact = claim(s, MACHINE, "green tea", ON(first));
    uint32_t call = action(s, MACHINE, ON(first));
    uint32_t yes = confirm(s, fact);
    happens(s);
    expect_history(s, first, "Claim");
    expect_history(s, fact, "Claim > Fact");
    at(s, 5000);
    (void)tombstone(s, MACHINE, ground);
    happens(s);
    expect_history(s, first, "Stale");
    expect_history(s, fact, "Stale > Fact");
    expect_history(s, call, "Rejected");
    expect_applied(s, yes);
}

/* [C1, C10]: an invalid support is none, from the first. Being marked so is no cascade. */
static void what_is_made_on_an_invalid_support_begins_fallen(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = claim(s, MACHINE, "tea", NOTHING);
    uint32_t sound = claim(s, MACHINE, "milk", NOTHING);
    (void)reject(s, ground);
    uint32_t believed = claim(s, MACHINE, "green tea", ON(sound, ground));
    uint32_t by_user = claim(s, THE_USER, "white tea", ON(ground));
    uint32_t trip = episode(s, MACHINE, ON(ground));
    uint32_t call = action(s, MACHINE, ON(ground));
    uint32_t snapshot = artifact(s, MACHINE, ON(ground));
    uint32_t above = claim(s, MACHINE, "hot green tea", ON(believed));
    happens(s);
    expect_history(s, believed, "Stale");
    expect_history(s, by_user, "Stale");
    expect_history(s, trip, "Stale");
    expect_history(s, call, "Rejected");
    expect_history(s, snapshot, "Stale");
    expect_history(s, above, "Stale");
    expect_flags(s, believed, 0);
}

/* [F8, C10]: the user changes her mind; what went stale stays stale, and new claims may stand. */
static void confirming_again_revives_nothing_above(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = claim(s, MACHINE, "tea", NOTHING);
    uint32_t above = claim(s, MACHINE, "green tea", ON(ground));
    (void)reject(s, ground);
    uint32_t yes = confirm(s, ground);
    uint32_t after = claim(s, MACHINE, "black tea", ON(ground));
    uint32_t promoted = set_status(s, MACHINE, above, "Claim");
    happens(s);
    expect_applied(s, yes);
    expect_history(s, ground, "Claim > Rejected > Fact");
    expect_history(s, above, "Claim > Stale");
    expect_history(s, after, "Claim");
    expect_refused(s, promoted, "fsm no_move");
}

/* [X1]: but a confirmation that sorts before the rejection, and comes late, changes what it finds.
 */
static void a_confirmation_of_what_fell_comes_late(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = claim(s, MACHINE, "tea", NOTHING);
    uint32_t middle = claim(s, MACHINE, "green tea", ON(ground));
    uint32_t above = claim(s, MACHINE, "hot green tea", ON(middle));
    at(s, 20000);
    (void)reject(s, ground);
    happens(s);
    expect_history(s, above, "Claim > Stale");
    at(s, 10000);
    (void)confirm(s, middle);
    happens(s);
    expect_history(s, middle, "Claim > Fact");
    expect_history(s, above, "Claim");
}

/* [X1]: the claim had fallen before it was rejected, as a late tombstone shows: the rejection is no
 * loss any more, and the episode that the user had brought back in between stays. */
static void what_fell_before_does_not_fall_again(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = evidence(s, MACHINE);
    uint32_t tea = claim(s, MACHINE, "tea", ON(ground));
    uint32_t trip = episode(s, MACHINE, ON(tea));
    at(s, 20000);
    (void)set_status(s, THE_USER, trip, "Active");
    (void)reject(s, tea);
    happens(s);
    expect_history(s, trip, "Active > Stale");
    at(s, 10000);
    (void)tombstone(s, MACHINE, ground);
    happens(s);
    expect_history(s, tea, "Claim > Stale > Rejected");
    expect_history(s, trip, "Active > Stale > Active");
}

/* [X6]: the entries of a cascade are at the position of their cause, each once; no reader sees the
 * one without the other, since they come with one transaction. */
static void a_cascade_is_at_the_position_of_its_cause(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = claim(s, MACHINE, "tea", NOTHING);
    uint32_t first = claim(s, MACHINE, "green tea", ON(ground));
    uint32_t second = claim(s, MACHINE, "hot green tea", ON(first));
    uint32_t no = reject(s, ground);
    happens(s);
    struct entry entry;
    const uint32_t fallen[] = {ground, first, second};
    struct txn *txn = begin_read(s->store[0]);
    for (size_t i = 0; i < COUNT_OF(fallen); i++) {
        assert_ok(record_now(txn, &s->world->op[fallen[i]].record, &entry));
        assert_memory_equal(&entry.at, &s->world->op[no].made->id, sizeof(entry.at));
    }
    txn_abort(txn);
}

/* Shapes ------------------------------------------------------------------------------ */

/* [X1]: what rests on both sides of a diamond is visited once, by each cause. */
static void both_sides_of_a_diamond_fall_once(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = claim(s, MACHINE, "tea", NOTHING);
    uint32_t left = claim(s, MACHINE, "green tea", ON(ground));
    uint32_t right = claim(s, MACHINE, "hot tea", ON(ground));
    uint32_t top = claim(s, MACHINE, "hot green tea", ON(left, right, ground));
    uint32_t roof = episode(s, MACHINE, ON(top, left));
    (void)reject(s, ground);
    (void)reject(s, left);
    happens(s);
    expect_history(s, left, "Claim > Stale > Rejected");
    expect_history(s, top, "Claim > Stale");
    expect_history(s, roof, "Active > Stale");
    expect_entries(s, top, 2);
    expect_entries(s, roof, 2);
}

/* [X1, F4]: one side is held by a Fact, the other is not. */
static void one_side_of_a_diamond_is_enough(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = claim(s, MACHINE, "tea", NOTHING);
    uint32_t left = claim(s, MACHINE, "green tea", ON(ground));
    uint32_t right = claim(s, MACHINE, "hot tea", ON(ground));
    uint32_t top = claim(s, MACHINE, "hot green tea", ON(left, right));
    (void)confirm(s, left);
    (void)reject(s, ground);
    happens(s);
    expect_history(s, left, "Claim > Fact");
    expect_history(s, right, "Claim > Stale");
    expect_history(s, top, "Claim > Stale");
}

/* [X2]: a pin holds off machines, not the loss of what it rests on; it stays. */
static void a_pinned_claim_falls(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = evidence(s, MACHINE);
    uint32_t pinned = claim(s, MACHINE, "tea", ON(ground));
    uint32_t trip = episode(s, MACHINE, ON(pinned));
    (void)asserts(s, THE_USER, "pin", pinned);
    (void)asserts(s, THE_USER, "pin", trip);
    (void)tombstone(s, MACHINE, ground);
    uint32_t raised = set_confidence(s, MACHINE, pinned, 1);
    happens(s);
    expect_history(s, pinned, "Claim > Stale");
    expect_history(s, trip, "Active > Stale");
    expect_flags(s, pinned, STATE_PINNED | STATE_CASCADED);
    expect_refused(s, raised, "frozen pinned");
}

/* [F6]: an episode has no Fact: what the user confirmed of it falls with its grounds, and what the
 * user rejected stays rejected. */
static void a_confirmed_episode_falls_with_its_grounds(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = claim(s, MACHINE, "tea", NOTHING);
    uint32_t trip = episode(s, MACHINE, ON(ground));
    uint32_t call = action(s, MACHINE, ON(ground));
    (void)confirm(s, trip);
    (void)confirm(s, call);
    (void)reject(s, ground);
    happens(s);
    expect_history(s, trip, "Active > Stale");
    expect_history(s, call, "Proposed > Approved > Rejected");
    expect_flags(s, trip, STATE_CASCADED);
}

/* What is lost otherwise ---------------------------------------------------------------- */

/* [C7, C10, F4]: what rests on what was erased is as if it had been made on nothing. An erasure is
 * no tombstone, whoever wrote it: a Fact stands on the user's word. */
static void an_erased_support_is_lost(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = evidence(s, MACHINE);
    uint32_t above = claim(s, MACHINE, "tea", ON(ground));
    uint32_t fact = claim(s, MACHINE, "milk", ON(ground));
    uint32_t higher = claim(s, MACHINE, "green tea", ON(above));
    (void)confirm(s, fact);
    happens(s);
    expect_history(s, higher, "Claim");
    uint32_t gone = erase(s, THE_USER, ground);
    uint32_t late = tombstone(s, MACHINE, ground);
    happens(s);
    expect_applied(s, gone);
    expect_outcome(s, ground, "void erased");
    expect_status(s, ground, "none");
    expect_history(s, above, "Stale");
    expect_history(s, higher, "Stale");
    expect_history(s, fact, "Stale > Fact");
    expect_refused(s, late, "unknown_target target_void");
}

/* [N11, C7]: what a revoked node wrote is void, and what others have built on it falls. */
static void the_support_of_a_revoked_author_is_lost(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = claim(s, OTHER, "tea", NOTHING);
    uint32_t kept = claim(s, OTHER, "milk", NOTHING);
    uint32_t above = claim(s, MACHINE, "green tea", ON(ground));
    uint32_t call = action(s, MACHINE, ON(above));
    uint32_t on_kept = claim(s, MACHINE, "hot milk", ON(kept));
    (void)confirm(s, kept);
    happens(s);
    expect_history(s, call, "Proposed");
    (void)revoke(s, OTHER, NOTHING);
    happens(s);
    expect_outcome(s, ground, "void revoked");
    expect_status(s, ground, "none");
    expect_history(s, above, "Stale");
    expect_history(s, call, "Rejected");
    expect_history(s, kept, "Claim > Fact");
    expect_history(s, on_kept, "Claim");
    (void)admit(s, OTHER, NULL);
    happens(s);
    expect_history(s, ground, "Claim");
    expect_history(s, above, "Claim");
    expect_history(s, call, "Proposed");
}

static uint32_t keyed_claim(struct story *s, uint32_t by, uint32_t ground)
{
    return tell(s, by, KIND_CreateClaim, "'text':'tea','idempotency_key':'k','supports':[@%u]",
                ground);
}

/* [N11]: two made one claim; the one who was first is revoked, and so the claim is of the second:
 * made when its support was gone already. */
static void a_keyed_claim_is_made_later_than_it_was(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = evidence(s, MACHINE);
    uint32_t early = keyed_claim(s, OTHER, ground);
    uint32_t trip = episode(s, MACHINE, ON(early));
    (void)tombstone(s, MACHINE, ground);
    uint32_t late = keyed_claim(s, MACHINE, ground);
    happens(s);
    expect_history(s, late, "Claim > Stale");
    expect_history(s, trip, "Active > Stale");
    (void)revoke(s, OTHER, NOTHING);
    happens(s);
    expect_history(s, late, "Stale");
    expect_entries(s, late, 1);
    expect_refused(s, trip, "unknown_target support_missing");
}

/* [X1, N11]: the rejection is void with its author, and nothing has fallen. */
static void a_rejection_by_who_was_revoked_never_was(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t ground = claim(s, MACHINE, "tea", NOTHING);
    uint32_t above = claim(s, MACHINE, "green tea", ON(ground));
    uint32_t no = asserts(s, OTHER_USER, "reject", ground);
    happens(s);
    expect_history(s, above, "Claim > Stale");
    (void)revoke(s, OTHER_USER, NOTHING);
    happens(s);
    expect_outcome(s, no, "void revoked");
    expect_history(s, ground, "Claim");
    expect_history(s, above, "Claim");
}

/* A support that never was one: refused, or of a kind of thing that nothing rests on. */
static void supports_must_be_there(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t entity = tell(s, MACHINE, KIND_CreateEntity, "'name':'Ann'");
    uint32_t job = tell(s, MACHINE, KIND_ScheduleJob, "'kind':'look'");
    uint32_t refused = supersede(s, MACHINE, entity, entity);
    at(s, 50000);
    uint32_t later = claim(s, MACHINE, "tea", NOTHING);
    at(s, 10000);
    uint32_t too_early = claim(s, MACHINE, "milk", ON(later));
    uint32_t on_entity = claim(s, MACHINE, "rum", ON(entity));
    uint32_t on_job = episode(s, MACHINE, ON(job));
    uint32_t on_refused = claim(s, MACHINE, "gin", ON(refused));
    happens(s);
    expect_refused(s, refused, "unknown_target wrong_type");
    expect_refused(s, too_early, "unknown_target support_missing");
    expect_refused(s, on_entity, "unknown_target support_type");
    expect_refused(s, on_job, "unknown_target support_type");
    expect_history(s, on_refused, "Stale");
}

/* Poison (ATTACKS 20) ------------------------------------------------------------------- */

#define FLOOD 1500u

static struct value id_value(const struct op_id *id)
{
    return value_bytes(bytes_of(id->b, sizeof(id->b)));
}

/* So many claims by OTHER, each on the one before it and all on one evidence: deep and wide. */
static void flood(const struct story *s, const struct op_id *ground, const struct made *ops[FLOOD])
{
    const struct made *before = s->world->op[OTHER - THE_USER].made;
    for (uint32_t i = 0; i < FLOOD; i++) {
        struct arena arena;
        struct value fields = value_map();
        struct value supports = value_array();
        struct draft draft = {.kind = KIND_CreateClaim, .mesh = root_mesh()};
        arena_init(&arena, LIMIT_TREE_BYTES);
        draft.wall_ms = NOW_MS + 10000 + i;
        value_push(&arena, &supports, id_value(ground));
        if (i > 0) {
            value_push(&arena, &supports, id_value(&before->id));
        }
        value_put(&arena, &fields, "text", value_text("x"));
        value_put(&arena, &fields, "supports", supports);
        draft.payload = payload_of_value(&fields, i);
        arena_free(&arena);
        ops[i] = before = make_next(&s->world->key[OTHER], before, &draft);
    }
}

static void offer_flood(const struct story *s, struct store *store, const struct made *ops[FLOOD])
{
    for (uint32_t i = 0; i < FLOOD; i += 250) {
        assert_ok(offer_ops(store, &s->world->key[OTHER], ops + i, 250));
    }
}

static struct op_hash sum_of(struct store *store)
{
    struct txn *txn = begin_read(store);
    struct op_hash sum = folds_sum(txn);
    txn_abort(txn);
    return sum;
}

/* [X1]: a cascade has no depth at which it gives up, nor a stack that overflows, and visits each
 * record once, whether the tombstone comes before or after what it makes fall. */
static void deep_and_wide_all_fall(void **state)
{
    (void)state;
    static const struct made *ops[FLOOD];
    struct entry entry;
    struct story *s = story_begin();
    uint32_t ground = evidence(s, MACHINE);
    happens(s);
    at(s, 60000);
    uint32_t gone = tombstone(s, THE_USER, ground);
    const struct test_author *user = &s->world->key[THE_USER];
    flood(s, &s->world->op[ground].record, ops);
    offer_flood(s, s->store[0], ops);
    assert_ok(offer_op(s->store[0], user, s->world->op[gone].made));
    assert_ok(offer_op(s->store[1], user, s->world->op[gone].made));
    offer_flood(s, s->store[1], ops);
    struct op_hash before = sum_of(s->store[0]);
    struct op_hash after = sum_of(s->store[1]);
    assert_memory_equal(&before, &after, sizeof(before));
    assert_folds_are_a_rebuild(s->store[0], "the tombstone comes last");
    struct txn *txn = begin_read(s->store[0]);
    for (uint32_t i = 0; i < FLOOD; i++) {
        assert_ok(record_now(txn, &ops[i]->id, &entry));
        assert_text("status", state_status_name(entry.state.type, entry.state.status), "Stale");
    }
    txn_abort(txn);
}

/* [C1]: an op may name 256 supports, and no more; each has to be there. */
static void too_many_supports_are_refused(void **state)
{
    (void)state;
    uint32_t op[2];
    struct story *s = story_begin();
    uint32_t ground = evidence(s, MACHINE);
    for (uint32_t more = 0; more < COUNT_OF(op); more++) {
        struct buf ids;
        buf_init(&ids, SIZE_MAX);
        for (uint32_t i = 1; i < LIMIT_FIELD_IDS + more; i++) {
            uint8_t id[16] = {0, 0, 0, 0, 0, 0, (uint8_t)(i / 256), (uint8_t)i};
            char text[32];
            sodium_bin2base64(text, sizeof(text), id, sizeof(id),
                              sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
            buf_put_text(&ids, ",{'/':{'bytes':'");
            buf_put_text(&ids, text);
            buf_put_text(&ids, "'}}");
        }
        buf_put(&ids, "", 1);
        op[more] = tell(s, MACHINE, KIND_CreateClaim, "'text':'x','supports':[@%u%s]", ground,
                        (const char *)ids.data);
        buf_free(&ids);
    }
    happens(s);
    expect_refused(s, op[0], "unknown_target support_missing");
    expect_refused(s, op[1], "schema");
}

#define TEST(name) cmocka_unit_test_teardown(name, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_rejection_goes_through_three_levels),
        TEST(every_type_falls_as_its_machine_says),
        TEST(a_stale_artifact_can_be_evicted),
        TEST(actions_fall_until_they_have_ended),
        TEST(an_archived_episode_falls),
        TEST(claims_of_every_status_fall_but_facts_and_rejected_ones),
        TEST(superseding_is_no_loss),
        TEST(a_rejection_stops_at_a_fact),
        TEST(a_rejected_fact_takes_along_what_rests_on_it),
        TEST(a_users_tombstone_goes_through_facts),
        TEST(a_machines_tombstone_stops_at_a_fact),
        TEST(an_earlier_tombstone_by_a_user_comes_late),
        TEST(a_machine_does_not_touch_a_fact),
        TEST(a_late_tombstone_was_there_first),
        TEST(what_is_made_on_an_invalid_support_begins_fallen),
        TEST(confirming_again_revives_nothing_above),
        TEST(a_confirmation_of_what_fell_comes_late),
        TEST(what_fell_before_does_not_fall_again),
        TEST(a_cascade_is_at_the_position_of_its_cause),
        TEST(both_sides_of_a_diamond_fall_once),
        TEST(one_side_of_a_diamond_is_enough),
        TEST(a_pinned_claim_falls),
        TEST(a_confirmed_episode_falls_with_its_grounds),
        TEST(an_erased_support_is_lost),
        TEST(the_support_of_a_revoked_author_is_lost),
        TEST(a_keyed_claim_is_made_later_than_it_was),
        TEST(a_rejection_by_who_was_revoked_never_was),
        TEST(supports_must_be_there),
        TEST(deep_and_wide_all_fall),
        TEST(too_many_supports_are_refused),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
