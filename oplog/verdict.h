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

struct verdict {
    uint8_t state;
    uint8_t reason;
};

static inline bool verdict_is_erased(const struct verdict *verdict)
{
    return verdict->state == VERDICT_VOID && verdict->reason == REASON_ERASED;
}

/* The words of the contract; NULL for REASON_NONE and for a number from elsewhere. */
const char *verdict_state_code(uint8_t state);
const char *reason_code(uint8_t reason);

#endif
