#include "node/refusal.h"

static const struct {
    uint8_t rule;
    const char *sentence;
} rule_sentences[] = {
    {RULE_FACT_FROZEN, "The claim is a Fact: only the user can change it."},
    {RULE_PINNED, "The user has pinned it: only the user can change it."},
    {RULE_USER_DECIDED, "The user has decided what it is: only the user can change that."},
    {RULE_NO_MOVE, "There is no such move from the status that it had."},
    {RULE_BELOW_THRESHOLD, "Its confidence is below the threshold of the mesh for claims."},
    {RULE_NO_CONFLICT,
     "No other claim with the same subject and predicate and another object was made before."},
    {RULE_NO_REPLACEMENT, "What it names as the replacement is no other claim made before."},
    {RULE_BY_USER_ONLY, "Only the user can do that."},
    {RULE_LANE_BLOCKED, "The user has blocked what machines claim in this lane."},
    {RULE_NO_LANE, "The claim is in no lane: it has neither subject and predicate nor a domain."},
    {RULE_STATUS_NOT_SETTABLE, "An op of this kind cannot set that status."},
    {RULE_NOT_FOR_TYPE, "That cannot be said of a record of this type."},
    {RULE_ITSELF, "It would be joined with itself."},
    {RULE_LANE_CONFIRM, "What machines claim in this lane waits until the user confirms it."},
    {RULE_LEASE_HELD, "The lease on it has not ended."},
    {RULE_LEASE_OVER, "The lease had ended."},
    {RULE_NOT_HOLDER, "The execution is another node's."},
    {RULE_ALREADY_COMMITTED, "Work on this job was committed already."},
    {RULE_NOT_COMMITTED, "No work on this job was committed, and nobody holds it."},
    {RULE_ROUTED_ELSEWHERE, "Jobs of this kind are routed to another node."},
    {RULE_SERIAL_BUSY, "Another job with the same serial key is being worked on."},
    {RULE_NO_TARGET, "There is no record with the id that it names."},
    {RULE_TARGET_VOID, "The op that would have made the record it names does not count."},
    {RULE_WRONG_TYPE, "The record that it names is of another type."},
    {RULE_SUPPORT_MISSING, "There is no record with the id of one of its supports."},
    {RULE_SUPPORT_TYPE, "One of its supports is a record that nothing can rest on."},
    {RULE_OTHER_CONTENT, "The hash is not that of an op that made the record."},
    {RULE_VERSION_GONE, "The record never had the version that it names."},
    {RULE_VERSION_TAKEN, "Another op has changed that version of the record already."},
};

static const struct {
    uint8_t reason;
    const char *sentence;
} reason_sentences[] = {
    {REASON_DEP_MISSING, "An op that it depends on is not here yet."},
    {REASON_NOT_ADMITTED, "No chain of tokens leads from the root of the mesh to its author yet."},
    {REASON_FUTURE_DATED, "It is dated ahead of this machine's clock, and waits until then."},
    {REASON_PAYLOAD_ABSENT, "Its content is not here, or not the part that decides."},
    {REASON_KIND_UNKNOWN, "This program does not know its kind: a newer one may."},
    {REASON_VERSION_UNKNOWN, "This program does not know its form: a newer one may."},
    {REASON_SCHEMA, "Its content is not what its kind needs."},
    {REASON_NO_GRANT, "No token of its author allows what it does."},
    {REASON_POLICY, "The policies of its author's tokens do not hold for it."},
    {REASON_NOT_IN_FORCE, "No token of its author was in force when it was written."},
    {REASON_OWNER_ONLY, "Only an owner of the mesh may write its kind."},
    {REASON_NOT_USER_BEARING, "Only who holds /assert without a policy may write its kind."},
    {REASON_UNKNOWN_TARGET, "What it is about is not here."},
    {REASON_FROZEN, "The user has decided about what it is about."},
    {REASON_FSM, "What it is about has no such move."},
    {REASON_STALE_VERSION, "What it is about has changed since the version that it names."},
    {REASON_LIMIT, "It is over a limit."},
    {REASON_REVOKED, "Its author's token was revoked, and the cut does not reach it."},
    {REASON_TWIN, "Another op has the same id, so neither counts."},
    {REASON_ERASED, "It was erased."},
    {REASON_ABANDONED, "Its author gave it up."},
};

const char *rule_sentence(uint8_t rule)
{
    for (size_t i = 0; i < sizeof(rule_sentences) / sizeof(rule_sentences[0]); i++) {
        if (rule_sentences[i].rule == rule) {
            return rule_sentences[i].sentence;
        }
    }
    return NULL;
}

const char *reason_sentence(uint8_t reason)
{
    for (size_t i = 0; i < sizeof(reason_sentences) / sizeof(reason_sentences[0]); i++) {
        if (reason_sentences[i].reason == reason) {
            return reason_sentences[i].sentence;
        }
    }
    return "This program does not know the reason: a newer one may.";
}

bool verdict_refuses(const struct verdict *verdict)
{
    bool is_refused = verdict->state == VERDICT_REJECTED || verdict->state == VERDICT_VOID;
    return is_refused && verdict->reason != REASON_NOT_IN_FORCE;
}

int call_refuse(struct call *call, const struct verdict *verdict)
{
    const char *sentence = rule_sentence(verdict->rule);
    const char *code = rule_code(verdict->rule);
    int rv = sentence == NULL
                 ? call_fail(call, ERR_REFUSED, "%s Nothing was signed.",
                             reason_sentence(verdict->reason))
                 : call_fail(call, ERR_REFUSED, "%s (The rule is %s.) Nothing was signed.",
                             sentence, code);
    call->refusal = *verdict;
    return rv;
}
