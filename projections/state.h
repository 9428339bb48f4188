/* state.h - What a record is at one position (spec/folds.md, "Records"). Pure. */
#ifndef PROJECTIONS_STATE_H
#define PROJECTIONS_STATE_H

#include "base/bytes.h"
#include "oplog/id.h"

/* X(NAME, number, name, who has its statuses) */
#define RECORD_TYPE_TABLE(X)                                                                       \
    X(EVIDENCE, 1, "evidence")                                                                     \
    X(ENTITY, 2, "entity")                                                                         \
    X(CLAIM, 3, "claim")                                                                           \
    X(EPISODE, 4, "episode")                                                                       \
    X(ACTION, 5, "action")                                                                         \
    X(ARTIFACT, 6, "artifact")                                                                     \
    X(JOB, 7, "job")                                                                               \
    X(EXECUTION, 8, "execution")                                                                   \
    X(RULE, 9, "rule")                                                                             \
    X(LANE, 10, "lane")                                                                            \
    X(ROUTE, 11, "route")                                                                          \
    X(SERIAL, 12, "serial")                                                                        \
    X(COORDINATOR, 13, "coordinator")

enum record_type {
#define RECORD_ENUM(name, number, word) RECORD_##name = (number),
    RECORD_TYPE_TABLE(RECORD_ENUM)
#undef RECORD_ENUM
};

/* Those that no machine of fsm/ has. */
enum { EVIDENCE_PRESENT, EVIDENCE_TOMBSTONED };
enum { ENTITY_PRESENT };
enum { ARTIFACT_FRESH, ARTIFACT_STALE, ARTIFACT_EVICTED };
enum { LANE_ALLOWED, LANE_BLOCKED, LANE_CONFIRM };
enum { SERIAL_FREE, SERIAL_BUSY };
enum { SETTING_SET };

#define STATE_PINNED 1u
#define STATE_HIDDEN 2u
#define STATE_BY_USER 4u  /* The user set its status. */
#define STATE_CASCADED 8u /* This entry is of a cascade. */

#define STATE_BYTES_MAX 64u

struct state {
    uint8_t type;
    uint8_t status;
    uint8_t flags;
    struct op_id by; /* What these mean depends on the type. All zero: not there. */
    struct op_id origin;
    uint32_t number;
    uint64_t until;
    struct op_id maker;
};

static inline bool op_id_is_set(const struct op_id *id)
{
    static const struct op_id none;
    return memcmp(id->b, none.b, sizeof(none.b)) != 0;
}

static inline bool op_id_equal(const struct op_id *a, const struct op_id *b)
{
    return op_id_compare(a, b) == 0;
}

/* The bytes of a state; returns how many. */
size_t state_pack(const struct state *state, uint8_t out[STATE_BYTES_MAX]);

/* ERR_CORRUPT for bytes that state_pack does not make. */
int state_unpack(struct bytes in, struct state *out) ERR_MUST_CHECK;

bool state_equal(const struct state *a, const struct state *b);

/* Is what rests on a record in this state on nothing? NULL: there is none. */
bool state_is_invalid(const struct state *state);

/* Can a creation rest on records of a type? */
bool record_type_supports(uint8_t type);

/* The words of the contract; NULL for a number from elsewhere. */
const char *record_type_name(uint8_t type);
const char *state_status_name(uint8_t type, uint8_t status);

/* The status of that name; false if the type has none. */
bool state_status_parse(uint8_t type, struct bytes name, uint8_t *out);

/* The position of the op that made the record with an id. */
static inline const struct op_id *state_maker(const struct state *state, const struct op_id *id)
{
    return op_id_is_set(&state->maker) ? &state->maker : id;
}

/* What stands in the digest of the folds for a record: added up modulo 2^256. */
struct digest {
    uint8_t b[32];
};

void digest_add(struct digest *digest, const struct op_id *id, const struct op_id *version,
                const struct state *state);
void digest_subtract(struct digest *digest, const struct op_id *id, const struct op_id *version,
                     const struct state *state);

#endif
