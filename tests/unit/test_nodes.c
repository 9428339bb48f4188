/* test_nodes.c - How a node stands in its mesh, and what that does to the records that it makes:
 * stories for the rules of registration (spec/nodes.md).
 *
 * The numbers in brackets are those of the rules at the end of spec/nodes.md. */
#include "tests/unit/support_stories.h"

/* How a node stands at a time, in ms of the story. */
static const char *standing_of(const struct story *s, uint32_t key, uint64_t at_ms)
{
    static const char *const states[] = {"Pending", "Active", "Suspended", "Revoked"};
    struct ucan_key name;
    struct member member;
    memcpy(name.b, s->world->key[key].key.b, sizeof(name.b));
    struct txn *txn = begin_read(s->store[0]);
    assert_ok(member_at(txn, &name, BASE_S + (int64_t)(at_ms / 1000), &member));
    txn_abort(txn);
    return states[member.state];
}

#define expect_standing(story, key, at_ms, want)                                                   \
    assert_text("state of " #key, standing_of(story, key, at_ms), want)

/* [N1, N2, N3]: what a stranger wrote waits, and counts from its own time on once the token that
 * admits it has come. Nothing but that token was needed. */
static void a_stranger_is_admitted(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, STRANGER, "tea", NOTHING);
    uint32_t above = claim(s, MACHINE, "green tea", ON(tea));
    happens(s);
    expect_standing(s, STRANGER, 50000, "Pending");
    expect_outcome(s, tea, "pending not_admitted");
    expect_status(s, tea, "none");
    expect_history(s, above, "Stale");
    (void)admit(s, STRANGER, NULL);
    happens(s);
    expect_standing(s, STRANGER, 50000, "Active");
    expect_applied(s, tea);
    expect_history(s, tea, "Claim");
    expect_history(s, above, "Claim");
}

/* [N4]: as far as its tokens go, and no farther. */
static void a_node_does_what_it_was_given(void **state)
{
    (void)state;
    struct story *s = story_begin();
    (void)admit(s, STRANGER, &(struct world_token){.command = "/claim/create"});
    uint32_t tea = claim(s, STRANGER, "tea", NOTHING);
    uint32_t mail = evidence(s, STRANGER);
    uint32_t doubt = set_confidence(s, STRANGER, tea, 1);
    uint32_t yes = asserts(s, STRANGER, "confirm", tea);
    happens(s);
    expect_history(s, tea, "Claim");
    expect_refused(s, mail, "no_grant");
    expect_status(s, mail, "none");
    expect_refused(s, doubt, "no_grant");
    expect_refused(s, yes, "no_grant");
}

/* [N5, N6, N9, N10]: what is written while the token is over stays on the log and makes nothing,
 * until a renewal covers its time; then it is as if it had never been over. */
static void a_suspended_node_changes_nothing(void **state)
{
    (void)state;
    struct story *s = story_begin();
    (void)admit(s, STRANGER, &(struct world_token){.expiry = 20});
    at(s, 10000);
    uint32_t before = claim(s, STRANGER, "tea", NOTHING);
    at(s, 30000);
    uint32_t during = claim(s, STRANGER, "milk", NOTHING);
    uint32_t doubt = set_confidence(s, STRANGER, before, 1);
    uint32_t above = action(s, MACHINE, ON(during));
    at(s, 60000);
    uint32_t after = claim(s, STRANGER, "rum", NOTHING);
    happens(s);
    expect_standing(s, STRANGER, 10000, "Active");
    expect_standing(s, STRANGER, 30000, "Suspended");
    expect_history(s, before, "Claim");
    expect_entries(s, before, 1);
    expect_refused(s, during, "not_in_force");
    expect_refused(s, doubt, "not_in_force");
    expect_status(s, during, "none");
    expect_history(s, above, "Rejected");
    (void)admit(s, STRANGER, &(struct world_token){.not_before = 50, .expiry = 90});
    happens(s);
    expect_standing(s, STRANGER, 60000, "Active");
    expect_history(s, after, "Claim");
    expect_refused(s, during, "not_in_force"); /* Begun anew, not renewed. */
    (void)admit(s, STRANGER, &(struct world_token){.expiry = 90});
    happens(s);
    expect_standing(s, STRANGER, 30000, "Active");
    expect_history(s, during, "Claim");
    expect_entries(s, before, 2);
    expect_history(s, above, "Proposed");
}

/* [N7, N11]: a token is taken away; so is what was done with it, and what others built on that. A
 * node that was suspended can be revoked too. */
static void a_revoked_node_is_judged_anew(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, OTHER, "tea", NOTHING);
    uint32_t milk = claim(s, MACHINE, "milk", NOTHING);
    uint32_t doubt = set_confidence(s, OTHER, milk, 1);
    uint32_t above = episode(s, MACHINE, ON(tea));
    (void)admit(s, STRANGER, &(struct world_token){.expiry = 20});
    happens(s);
    expect_entries(s, milk, 2);
    expect_standing(s, STRANGER, 30000, "Suspended");
    (void)revoke(s, OTHER, NOTHING);
    (void)revoke(s, STRANGER, NOTHING);
    happens(s);
    expect_standing(s, OTHER, 1000, "Revoked");
    expect_standing(s, STRANGER, 30000, "Revoked");
    expect_outcome(s, tea, "void revoked");
    expect_outcome(s, doubt, "void revoked");
    expect_status(s, tea, "none");
    expect_entries(s, milk, 1);
    expect_history(s, above, "Stale");
}

/* [N8]: the key comes back by a new chain, by which all that it ever wrote is judged: what the new
 * one covers counts, the rest does not. */
static void a_revoked_node_is_readmitted(void **state)
{
    (void)state;
    struct story *s = story_begin();
    uint32_t tea = claim(s, OTHER, "tea", NOTHING);
    uint32_t mail = evidence(s, OTHER);
    at(s, 10000);
    uint32_t milk = claim(s, OTHER, "milk", NOTHING);
    (void)revoke(s, OTHER, NOTHING);
    happens(s);
    expect_status(s, milk, "none");
    (void)admit(s, OTHER, &(struct world_token){.command = "/claim", .not_before = 5});
    happens(s);
    expect_standing(s, OTHER, 10000, "Active");
    expect_history(s, milk, "Claim");
    expect_outcome(s, tea, "void revoked");
    expect_outcome(s, mail, "void revoked");
    (void)admit(s, OTHER, NULL);
    happens(s);
    expect_history(s, tea, "Claim");
    expect_history(s, mail, "Present");
}

#define TEST(name) cmocka_unit_test_teardown(name, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_stranger_is_admitted),           TEST(a_node_does_what_it_was_given),
        TEST(a_suspended_node_changes_nothing), TEST(a_revoked_node_is_judged_anew),
        TEST(a_revoked_node_is_readmitted),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
