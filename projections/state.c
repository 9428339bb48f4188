#include "projections/state.h"

#include <sodium.h>

#include "fsm/action.h"
#include "fsm/claim.h"
#include "fsm/episode.h"
#include "fsm/execution.h"
#include "fsm/job.h"

#define HAS_BY 1u
#define HAS_ORIGIN 2u
#define HAS_NUMBER 4u
#define HAS_UNTIL 8u
#define HAS_MAKER 16u
#define HEAD_BYTES 4u

size_t state_pack(const struct state *state, uint8_t out[STATE_BYTES_MAX])
{
    uint8_t *to = out + HEAD_BYTES;
    uint8_t has = 0;
    if (op_id_is_set(&state->by)) {
        has |= HAS_BY;
        memcpy(to, state->by.b, sizeof(state->by.b));
        to += sizeof(state->by.b);
    }
    if (op_id_is_set(&state->origin)) {
        has |= HAS_ORIGIN;
        memcpy(to, state->origin.b, sizeof(state->origin.b));
        to += sizeof(state->origin.b);
    }
    if (state->number != 0) {
        has |= HAS_NUMBER;
        be_put(to, 4, state->number);
        to += 4;
    }
    if (state->until != 0) {
        has |= HAS_UNTIL;
        be_put(to, 8, state->until);
        to += 8;
    }
    if (op_id_is_set(&state->maker)) {
        has |= HAS_MAKER;
        memcpy(to, state->maker.b, sizeof(state->maker.b));
        to += sizeof(state->maker.b);
    }
    out[0] = state->type;
    out[1] = state->status;
    out[2] = state->flags;
    out[3] = has;
    return (size_t)(to - out);
}

static int take_id(struct cursor *in, bool there, struct op_id *out)
{
    struct bytes body;
    int rv = there ? cursor_take(in, sizeof(out->b), &body) : 0;
    if (rv == 0 && there) {
        memcpy(out->b, body.data, body.len);
    }
    return rv;
}

static int take_number(struct cursor *in, bool there, size_t width, uint64_t *out)
{
    *out = 0;
    return there ? cursor_take_be(in, width, out) : 0;
}

int state_unpack(struct bytes in, struct state *out)
{
    uint64_t number;
    struct cursor left = cursor_over(in);
    struct bytes head;
    *out = (struct state){0};
    if (cursor_take(&left, HEAD_BYTES, &head) != 0) {
        return ERR_CORRUPT;
    }
    uint8_t has = head.data[3];
    out->type = head.data[0];
    out->status = head.data[1];
    out->flags = head.data[2];
    int rv = take_id(&left, has & HAS_BY, &out->by);
    if (rv == 0) {
        rv = take_id(&left, has & HAS_ORIGIN, &out->origin);
    }
    if (rv == 0) {
        rv = take_number(&left, has & HAS_NUMBER, 4, &number);
    }
    if (rv == 0) {
        out->number = (uint32_t)number;
        rv = take_number(&left, has & HAS_UNTIL, 8, &out->until);
    }
    if (rv == 0) {
        rv = take_id(&left, has & HAS_MAKER, &out->maker);
    }
    return rv == 0 && cursor_left(&left) == 0 ? 0 : ERR_CORRUPT;
}

bool state_equal(const struct state *a, const struct state *b)
{
    uint8_t left[STATE_BYTES_MAX];
    uint8_t right[STATE_BYTES_MAX];
    size_t left_len = state_pack(a, left);
    size_t right_len = state_pack(b, right);
    return bytes_equal(bytes_of(left, left_len), bytes_of(right, right_len));
}

bool state_is_invalid(const struct state *state)
{
    if (state == NULL) {
        return true;
    }
    switch (state->type) {
    case RECORD_EVIDENCE:
        return state->status == EVIDENCE_TOMBSTONED;
    case RECORD_CLAIM:
        return state->status == CLAIM_REJECTED || state->status == CLAIM_STALE;
    case RECORD_EPISODE:
        return state->status == EPISODE_STALE;
    case RECORD_ARTIFACT:
        return state->status == ARTIFACT_STALE || state->status == ARTIFACT_EVICTED;
    default:
        return false;
    }
}

bool record_type_supports(uint8_t type)
{
    return type == RECORD_EVIDENCE || type == RECORD_CLAIM || type == RECORD_EPISODE ||
           type == RECORD_ARTIFACT;
}

/* Names ------------------------------------------------------------------------------- */

const char *record_type_name(uint8_t type)
{
    switch (type) {
#define RECORD_NAME(name, number, word)                                                            \
    case RECORD_##name:                                                                            \
        return word;
        RECORD_TYPE_TABLE(RECORD_NAME)
#undef RECORD_NAME
    default:
        return NULL;
    }
}

/* The statuses of what has no machine, by type. */
static const char *const plain_names[][4] = {
    [RECORD_EVIDENCE] = {"Present", "Tombstoned"},
    [RECORD_ENTITY] = {"Present"},
    [RECORD_ARTIFACT] = {"Fresh", "Stale", "Evicted"},
    [RECORD_RULE] = {"Set"},
    [RECORD_LANE] = {"Allowed", "Blocked", "Confirm"},
    [RECORD_ROUTE] = {"Set"},
    [RECORD_SERIAL] = {"Free", "Busy"},
    [RECORD_COORDINATOR] = {"Set"},
};

#define PLAIN_MAX (sizeof(plain_names[0]) / sizeof(plain_names[0][0]))

static const struct fsm *machine_of(uint8_t type)
{
    switch (type) {
    case RECORD_CLAIM:
        return &claim_fsm;
    case RECORD_EPISODE:
        return &episode_fsm;
    case RECORD_ACTION:
        return &action_fsm;
    case RECORD_JOB:
        return &job_fsm;
    case RECORD_EXECUTION:
        return &execution_fsm;
    default:
        return NULL;
    }
}

const char *state_status_name(uint8_t type, uint8_t status)
{
    const struct fsm *machine = machine_of(type);
    if (machine != NULL) {
        return status < machine->states.count ? machine->states.at[status].name : NULL;
    }
    return record_type_name(type) != NULL && status < PLAIN_MAX ? plain_names[type][status] : NULL;
}

bool state_status_parse(uint8_t type, struct bytes name, uint8_t *out)
{
    for (uint8_t status = 0; state_status_name(type, status) != NULL; status++) {
        if (bytes_equal(name, bytes_of_text(state_status_name(type, status)))) {
            *out = status;
            return true;
        }
    }
    return false;
}

/* The digest -------------------------------------------------------------------------- */

static void record_hash(const struct op_id *id, const struct op_id *version,
                        const struct state *state, uint8_t out[32])
{
    static const char context[] = "meshlog state 1";
    uint8_t packed[STATE_BYTES_MAX];
    size_t len = state_pack(state, packed);
    crypto_generichash_state hash;
    crypto_generichash_init(&hash, NULL, 0, 32);
    crypto_generichash_update(&hash, (const uint8_t *)context, sizeof(context) - 1);
    crypto_generichash_update(&hash, id->b, sizeof(id->b));
    crypto_generichash_update(&hash, version->b, sizeof(version->b));
    crypto_generichash_update(&hash, packed, len);
    crypto_generichash_final(&hash, out, 32);
}

void digest_add(struct digest *digest, const struct op_id *id, const struct op_id *version,
                const struct state *state)
{
    uint8_t hash[32];
    record_hash(id, version, state, hash);
    sodium_add(digest->b, hash, sizeof(digest->b));
}

void digest_subtract(struct digest *digest, const struct op_id *id, const struct op_id *version,
                     const struct state *state)
{
    uint8_t hash[32];
    record_hash(id, version, state, hash);
    sodium_sub(digest->b, hash, sizeof(digest->b));
}
