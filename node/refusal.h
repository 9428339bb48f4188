/* refusal.h - Why an op does not count, in a sentence for people. */
#ifndef NODE_REFUSAL_H
#define NODE_REFUSAL_H

#include "node/call.h"
#include "oplog/verdict.h"

/* What a rule of the folds says, as a sentence; NULL for RULE_NONE and a number from elsewhere. */
const char *rule_sentence(uint8_t rule);

/* What the reason of a verdict says where no rule does. Never NULL. */
const char *reason_sentence(uint8_t reason);

/* Would an own op with this verdict be in the log for nothing? Not while this node is Suspended:
 * what it writes waits for the renewal of its grant. */
bool verdict_refuses(const struct verdict *verdict);

/* Fail with a verdict: the error is its reason, and the rule goes with it. */
int call_refuse(struct call *call, const struct verdict *verdict) ERR_MUST_CHECK;

#endif
