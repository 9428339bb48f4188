/* What is claimed, and what is said of it. */
#include "node/act.h"
#include "node/command.h"
#include "oplog/kinds.h"

int run_claim_add(struct call *call)
{
    static const char *const texts[] = {"subject", "predicate", "object",
                                        "text",    "domain",    "created_by"};
    struct act act;
    act_begin(&act, call, KIND_CreateClaim);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        act_text(&act, texts[i], texts[i]);
    }
    act_json(&act, "confidence", "confidence");
    act_supports(&act);
    act_creates(&act);
    return act_end(&act);
}

/* What a user says of it, and nothing more. */
static int assert_it(struct call *call, const char *assertion)
{
    struct act act;
    act_begin(&act, call, KIND_UserAssert);
    act_assert(&act, assertion);
    act_text(&act, "value", "value");
    return act_end(&act);
}

int run_claim_confirm(struct call *call)
{
    return assert_it(call, "confirm");
}

int run_claim_reject(struct call *call)
{
    return assert_it(call, "reject");
}

int run_claim_pin(struct call *call)
{
    return assert_it(call, "pin");
}

int run_claim_hide(struct call *call)
{
    return assert_it(call, "hide");
}

int run_claim_edit(struct call *call)
{
    return assert_it(call, "edit");
}

int run_claim_lane(struct call *call)
{
    return assert_it(call, "lane");
}

int run_claim_supersede(struct call *call)
{
    struct act act;
    act_begin(&act, call, KIND_SupersedeClaim);
    act_about(&act, "claim");
    act_record(&act, "by", "by");
    return act_end(&act);
}

int run_claim_status(struct call *call)
{
    struct act act;
    act_begin(&act, call, KIND_UpdateClaimStatus);
    act_about(&act, "claim");
    act_text(&act, "status", "status");
    return act_end(&act);
}

int run_claim_confidence(struct call *call)
{
    struct act act;
    act_begin(&act, call, KIND_UpdateClaimConfidence);
    act_about(&act, "claim");
    act_json(&act, "confidence", "confidence");
    return act_end(&act);
}
