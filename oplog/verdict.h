/* verdict.h - What became of an op on this node, and why. */
#ifndef OPLOG_VERDICT_H
#define OPLOG_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

/* The numbers are stored: never change one. */
enum verdict_state {
    VERDICT_APPLIED = 0,
    VERDICT_PENDING = 1,
    VERDICT_REJECTED = 2,
    VERDICT_VOID = 3,
};

/* X(name, number, code) */
#define REASON_TABLE(X)                                                                            \
    X(DEP_MISSING, 1, "dep_missing")                                                               \
    X(NOT_ADMITTED, 2, "not_admitted")                                                             \
    X(FUTURE_DATED, 3, "future_dated")                                                             \
    X(PAYLOAD_ABSENT, 4, "payload_absent")                                                         \
    X(KIND_UNKNOWN, 5, "kind_unknown")                                                             \
    X(VERSION_UNKNOWN, 6, "version_unknown")                                                       \
    X(SCHEMA, 32, "schema")                                                                        \
    X(NO_GRANT, 33, "no_grant")                                                                    \
    X(POLICY, 34, "policy")                                                                        \
    X(NOT_IN_FORCE, 35, "not_in_force")                                                            \
    X(OWNER_ONLY, 36, "owner_only")                                                                \
    X(NOT_USER_BEARING, 37, "not_user_bearing")                                                    \
    X(UNKNOWN_TARGET, 38, "unknown_target")                                                        \
    X(FROZEN, 39, "frozen")                                                                        \
    X(FSM, 40, "fsm")                                                                              \
    X(STALE_VERSION, 41, "stale_version")                                                          \
    X(LIMIT, 42, "limit")                                                                          \
    X(REVOKED, 64, "revoked")                                                                      \
    X(TWIN, 65, "twin")                                                                            \
    X(ERASED, 66, "erased")                                                                        \
    X(ABANDONED, 67, "abandoned")

enum reason {
    REASON_NONE = 0,
#define REASON_ENUM(name, number, code) REASON_##name = (number),
    REASON_TABLE(REASON_ENUM)
#undef REASON_ENUM
};

/* Which rule of the folds refused an op (spec/claims.md, spec/jobs.md).
 * X(NAME, number, code) */
#define RULE_TABLE(X)                                                                              \
    X(FACT_FROZEN, 1, "fact_frozen")                                                               \
    X(PINNED, 2, "pinned")                                                                         \
    X(USER_DECIDED, 3, "user_decided")                                                             \
    X(NO_MOVE, 16, "no_move")                                                                      \
    X(BELOW_THRESHOLD, 17, "below_threshold")                                                      \
    X(NO_CONFLICT, 18, "no_conflict")                                                              \
    X(NO_REPLACEMENT, 19, "no_replacement")                                                        \
    X(BY_USER_ONLY, 20, "by_user_only")                                                            \
    X(LANE_BLOCKED, 21, "lane_blocked")                                                            \
    X(NO_LANE, 22, "no_lane")                                                                      \
    X(STATUS_NOT_SETTABLE, 23, "status_not_settable")                                              \
    X(NOT_FOR_TYPE, 24, "not_for_type")                                                            \
    X(ITSELF, 25, "itself")                                                                        \
    X(LANE_CONFIRM, 26, "lane_confirm")                                                            \
    X(LEASE_HELD, 32, "lease_held")                                                                \
    X(LEASE_OVER, 33, "lease_over")                                                                \
    X(NOT_HOLDER, 34, "not_holder")                                                                \
    X(ALREADY_COMMITTED, 35, "already_committed")                                                  \
    X(NOT_COMMITTED, 36, "not_committed")                                                          \
    X(ROUTED_ELSEWHERE, 37, "routed_elsewhere")                                                    \
    X(SERIAL_BUSY, 38, "serial_busy")                                                              \
    X(NO_TARGET, 48, "no_target")                                                                  \
    X(TARGET_VOID, 49, "target_void")                                                              \
    X(WRONG_TYPE, 50, "wrong_type")                                                                \
    X(SUPPORT_MISSING, 51, "support_missing")                                                      \
    X(SUPPORT_TYPE, 52, "support_type")                                                            \
    X(OTHER_CONTENT, 53, "other_content")                                                          \
    X(VERSION_GONE, 64, "version_gone")                                                            \
    X(VERSION_TAKEN, 65, "version_taken")

enum fold_rule {
    RULE_NONE = 0,
#define RULE_ENUM(name, number, code) RULE_##name = (number),
    RULE_TABLE(RULE_ENUM)
#undef RULE_ENUM
};

struct verdict {
    uint8_t state;
    uint8_t reason;
    uint8_t rule;
};

static inline bool verdict_equal(const struct verdict *a, const struct verdict *b)
{
    return a->state == b->state && a->reason == b->reason && a->rule == b->rule;
}

static inline bool verdict_is_erased(const struct verdict *verdict)
{
    return verdict->state == VERDICT_VOID && verdict->reason == REASON_ERASED;
}

/* Does the op stand in the control layer, whether or not what it depends on is here? */
static inline bool verdict_stands(const struct verdict *verdict)
{
    return verdict->state == VERDICT_APPLIED || verdict->reason == REASON_DEP_MISSING;
}

/* The words of the contract; NULL for REASON_NONE and for a number from elsewhere. */
const char *verdict_state_code(uint8_t state);
const char *reason_code(uint8_t reason);
const char *rule_code(uint8_t rule);

#endif
