#include "projections/schema.h"

#include <assert.h>
#include <stdio.h>

#include "base/limits.h"
#include "oplog/kinds.h"

/* Types ----------------------------------------------------------------------------------- */

/* Those of spec/ops.md, then the narrower ones of single fields. */
enum type {
    ID,
    HASH,
    KEY,
    NAME,
    TEXT,
    COUNT,
    CONFIDENCE,
    IDS,
    NAMES,
    FLAG,
    ANY,

    PPM,
    FROM_ONE,
    SIZE,
    LEASE,
    ATTEMPTS,
    RULES,
    CLAIM_STATUS,
    EPISODE_STATUS,
    ACTION_STATUS,
    ASSERTION,
    LANE,
    COMMIT,
};

struct shape {
    bool (*fits)(const struct shape *shape, const struct value *value);
    uint64_t min;      /* Of a number, of the bytes of a text, of the items of an array. */
    uint64_t max;      /* Likewise. */
    enum type item;    /* Of arrays. */
    const char *is;    /* For people, after "must be". */
    const char *words; /* What may stand there, with ", " between. */
};

static bool fits_type(enum type type, const struct value *value);

static bool is_within(const struct shape *shape, uint64_t number)
{
    return number >= shape->min && number <= shape->max;
}

static bool fits_bytes(const struct shape *shape, const struct value *value)
{
    return value->type == VALUE_BYTES && is_within(shape, value->bytes.len);
}

static bool fits_text(const struct shape *shape, const struct value *value)
{
    return value->type == VALUE_TEXT && is_within(shape, value->bytes.len);
}

static bool fits_number(const struct shape *shape, const struct value *value)
{
    return value->type == VALUE_INT && value->integer >= 0 &&
           is_within(shape, (uint64_t)value->integer);
}

static bool fits_flag(const struct shape *shape, const struct value *value)
{
    (void)shape;
    return value->type == VALUE_BOOL;
}

static bool fits_any(const struct shape *shape, const struct value *value)
{
    (void)shape;
    return value->type != VALUE_NULL;
}

static bool fits_word(const struct shape *shape, const struct value *value)
{
    if (value->type != VALUE_TEXT) {
        return false;
    }
    for (const char *word = shape->words; *word != 0; word += strspn(word, ", ")) {
        size_t len = strcspn(word, ",");
        if (bytes_equal(value->bytes, bytes_of(word, len))) {
            return true;
        }
        word += len;
    }
    return false;
}

/* Different ones of a type that has bytes. Arrays are short: all pairs may be compared. */
static bool fits_list(const struct shape *shape, const struct value *value)
{
    if (value->type != VALUE_ARRAY || !is_within(shape, value->count)) {
        return false;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        if (!fits_type(shape->item, &value->items[i])) {
            return false;
        }
        for (uint32_t j = 0; j < i; j++) {
            if (bytes_equal(value->items[i].bytes, value->items[j].bytes)) {
                return false;
            }
        }
    }
    return true;
}

/* A map with so many names, each with anything. */
static bool fits_names(const struct shape *shape, const struct value *value)
{
    if (value->type != VALUE_MAP || !is_within(shape, value->count)) {
        return false;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        size_t len = value->entries[i].key.len;
        if (len == 0 || len > LIMIT_FIELD_NAME) {
            return false;
        }
    }
    return true;
}

static bool fits_confidence(const struct shape *shape, const struct value *value)
{
    if (value->type != VALUE_MAP) {
        return fits_type(PPM, value);
    }
    if (!fits_names(shape, value)) {
        return false;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        if (!fits_type(PPM, &value->entries[i].value)) {
            return false;
        }
    }
    return true;
}

/* clang-format off */
static const struct shape shapes[] = {
    [ID]         = {fits_bytes, 16, 16, 0, "an id of 16 bytes", NULL},
    [HASH]       = {fits_bytes, 32, 32, 0, "a hash of 32 bytes", NULL},
    [KEY]        = {fits_bytes, 32, 32, 0, "a key of 32 bytes", NULL},
    [NAME]       = {fits_text, 1, LIMIT_FIELD_NAME, 0, "a text of 1 to 256 bytes", NULL},
    [TEXT]       = {fits_text, 1, LIMIT_FIELD_TEXT, 0, "a text of 1 to 16384 bytes", NULL},
    [COUNT]      = {fits_number, 0, LIMIT_FIELD_COUNT, 0,
                    "a whole number from 0 to 9007199254740992", NULL},
    [CONFIDENCE] = {fits_confidence, 1, LIMIT_CONFIDENCES, 0,
                    "from 0 to 1000000 ppm, or a map of 1 to 16 names, each with such a number",
                    NULL},
    [IDS]        = {fits_list, 0, LIMIT_FIELD_IDS, ID,
                    "an array of at most 256 different ids of 16 bytes", NULL},
    [NAMES]      = {fits_list, 1, LIMIT_FIELD_NAMES, NAME,
                    "an array of 1 to 64 different texts, each of 1 to 256 bytes", NULL},
    [FLAG]       = {fits_flag, 0, 0, 0, "true or false", NULL},
    [ANY]        = {fits_any, 0, 0, 0, "any value but null", NULL},

    [PPM]        = {fits_number, 0, LIMIT_PPM, 0, "a whole number from 0 to 1000000", NULL},
    [FROM_ONE]   = {fits_number, 1, LIMIT_FIELD_COUNT, 0,
                    "a whole number from 1 to 9007199254740992", NULL},
    [SIZE]       = {fits_number, 0, LIMIT_BLOB, 0, "a whole number from 0 to 1073741824", NULL},
    [LEASE]      = {fits_number, LIMIT_LEASE_MIN_MS, LIMIT_LEASE_MS, 0,
                    "a whole number from 1000 to 604800000", NULL},
    [ATTEMPTS]   = {fits_number, 1, LIMIT_ATTEMPTS, 0, "a whole number from 1 to 1000", NULL},
    [RULES]      = {fits_names, 1, LIMIT_RULES, 0,
                    "a map of 1 to 64 names, each of 1 to 256 bytes", NULL},

    [CLAIM_STATUS]   = {fits_word, 0, 0, 0, "one of ",
                        "Hint, Claim, Fact, Disputed, Rejected, Superseded, Stale"},
    [EPISODE_STATUS] = {fits_word, 0, 0, 0, "one of ", "Active, Stale, Archived"},
    [ACTION_STATUS]  = {fits_word, 0, 0, 0, "one of ",
                        "Proposed, Approved, Executing, Completed, Failed, Rejected, Dismissed, "
                        "Expired"},
    [ASSERTION]      = {fits_word, 0, 0, 0, "one of ", "confirm, reject, edit, pin, hide, lane"},
    [LANE]           = {fits_word, 0, 0, 0, "one of ", "block, confirm, allow"},
    [COMMIT]         = {fits_word, 0, 0, 0, "one of ", "any, coordinator"},
};
/* clang-format on */

static bool fits_type(enum type type, const struct value *value)
{
    return shapes[type].fits(&shapes[type], value);
}

/* Fields ---------------------------------------------------------------------------------- */

enum need { NEEDED, OPTIONAL };

struct field {
    uint32_t kind;
    const char *name;
    enum type type;
    enum need need;
};

/* What changes something may say which version it has seen, what makes something which key keeps it
 * from being made twice. */
#define CHANGES(kind)                                                                              \
    {                                                                                              \
        (kind), "if_version", ID, OPTIONAL                                                         \
    }
#define MAKES(kind)                                                                                \
    {                                                                                              \
        (kind), "idempotency_key", NAME, OPTIONAL                                                  \
    }

/* The rows of a kind stand together. The test of this file compares them with spec/ops.md. */
static const struct field fields_of_kinds[] = {
    {KIND_SetMeshRules, "rules", RULES, NEEDED},
    CHANGES(KIND_SetMeshRules),

    {KIND_DesignateCoordinator, "node", KEY, NEEDED},
    CHANGES(KIND_DesignateCoordinator),

    {KIND_RouteKind, "kind", NAME, NEEDED},
    {KIND_RouteKind, "node", KEY, OPTIONAL},
    CHANGES(KIND_RouteKind),

    {KIND_Erase, "record", ID, NEEDED},
    {KIND_Erase, "ops", ANY, NEEDED},
    CHANGES(KIND_Erase),

    {KIND_IngestEvidence, "source_type", NAME, NEEDED},
    {KIND_IngestEvidence, "source_anchor", TEXT, OPTIONAL},
    {KIND_IngestEvidence, "content", HASH, NEEDED},
    {KIND_IngestEvidence, "size", SIZE, NEEDED},
    {KIND_IngestEvidence, "media", NAME, OPTIONAL},

    {KIND_TombstoneEvidence, "evidence", ID, NEEDED},
    {KIND_TombstoneEvidence, "reason", TEXT, OPTIONAL},
    CHANGES(KIND_TombstoneEvidence),

    {KIND_CreateEntity, "name", NAME, NEEDED},
    {KIND_CreateEntity, "entity_type", NAME, OPTIONAL},
    MAKES(KIND_CreateEntity),

    {KIND_AddEntityAlias, "entity", ID, NEEDED},
    {KIND_AddEntityAlias, "name", NAME, NEEDED},
    CHANGES(KIND_AddEntityAlias),

    {KIND_MergeEntities, "entity", ID, NEEDED},
    {KIND_MergeEntities, "into", ID, NEEDED},
    CHANGES(KIND_MergeEntities),

    {KIND_SplitEntity, "entity", ID, NEEDED},
    {KIND_SplitEntity, "names", NAMES, NEEDED},
    CHANGES(KIND_SplitEntity),

    {KIND_CreateClaim, "subject", TEXT, OPTIONAL},
    {KIND_CreateClaim, "predicate", NAME, OPTIONAL},
    {KIND_CreateClaim, "object", TEXT, OPTIONAL},
    {KIND_CreateClaim, "text", TEXT, OPTIONAL},
    {KIND_CreateClaim, "domain", NAME, OPTIONAL},
    {KIND_CreateClaim, "confidence", CONFIDENCE, OPTIONAL},
    {KIND_CreateClaim, "supports", IDS, OPTIONAL},
    {KIND_CreateClaim, "created_by", TEXT, OPTIONAL},
    MAKES(KIND_CreateClaim),

    {KIND_UpdateClaimStatus, "claim", ID, NEEDED},
    {KIND_UpdateClaimStatus, "status", CLAIM_STATUS, NEEDED},
    CHANGES(KIND_UpdateClaimStatus),

    {KIND_UpdateClaimConfidence, "claim", ID, NEEDED},
    {KIND_UpdateClaimConfidence, "confidence", CONFIDENCE, NEEDED},
    CHANGES(KIND_UpdateClaimConfidence),

    {KIND_SupersedeClaim, "claim", ID, NEEDED},
    {KIND_SupersedeClaim, "by", ID, NEEDED},
    CHANGES(KIND_SupersedeClaim),

    {KIND_UserAssert, "about", ID, NEEDED},
    {KIND_UserAssert, "hash", HASH, OPTIONAL},
    {KIND_UserAssert, "assert", ASSERTION, NEEDED},
    {KIND_UserAssert, "value", ANY, OPTIONAL},
    CHANGES(KIND_UserAssert),

    {KIND_CreateEpisode, "title", TEXT, NEEDED},
    {KIND_CreateEpisode, "started_ms", COUNT, OPTIONAL},
    {KIND_CreateEpisode, "ended_ms", COUNT, OPTIONAL},
    {KIND_CreateEpisode, "supports", IDS, OPTIONAL},
    MAKES(KIND_CreateEpisode),

    {KIND_UpdateEpisode, "episode", ID, NEEDED},
    {KIND_UpdateEpisode, "status", EPISODE_STATUS, OPTIONAL},
    {KIND_UpdateEpisode, "title", TEXT, OPTIONAL},
    CHANGES(KIND_UpdateEpisode),

    {KIND_CreateSuggestedAction, "title", TEXT, NEEDED},
    {KIND_CreateSuggestedAction, "action_type", NAME, OPTIONAL},
    {KIND_CreateSuggestedAction, "expires_ms", COUNT, OPTIONAL},
    {KIND_CreateSuggestedAction, "supports", IDS, OPTIONAL},
    MAKES(KIND_CreateSuggestedAction),

    {KIND_UpdateActionStatus, "action", ID, NEEDED},
    {KIND_UpdateActionStatus, "status", ACTION_STATUS, NEEDED},
    CHANGES(KIND_UpdateActionStatus),

    {KIND_CreateArtifact, "artifact_type", NAME, NEEDED},
    {KIND_CreateArtifact, "content", HASH, OPTIONAL},
    {KIND_CreateArtifact, "size", SIZE, OPTIONAL},
    {KIND_CreateArtifact, "media", NAME, OPTIONAL},
    {KIND_CreateArtifact, "supports", IDS, OPTIONAL},
    MAKES(KIND_CreateArtifact),

    {KIND_EvictArtifact, "artifact", ID, NEEDED},
    CHANGES(KIND_EvictArtifact),

    {KIND_ScheduleJob, "kind", NAME, NEEDED},
    {KIND_ScheduleJob, "payload", ANY, OPTIONAL},
    {KIND_ScheduleJob, "lease_ms", LEASE, OPTIONAL},
    {KIND_ScheduleJob, "timeout_ms", COUNT, OPTIONAL},
    {KIND_ScheduleJob, "attempts", ATTEMPTS, OPTIONAL},
    {KIND_ScheduleJob, "serial_key", NAME, OPTIONAL},
    {KIND_ScheduleJob, "commit", COMMIT, OPTIONAL},
    MAKES(KIND_ScheduleJob),

    {KIND_ClaimWork, "job", ID, NEEDED},
    {KIND_ClaimWork, "lease_ms", LEASE, OPTIONAL},
    {KIND_ClaimWork, "renews", ID, OPTIONAL},
    CHANGES(KIND_ClaimWork),

    {KIND_StartWork, "job", ID, NEEDED},
    {KIND_StartWork, "execution", ID, NEEDED},
    CHANGES(KIND_StartWork),

    {KIND_CommitWork, "job", ID, NEEDED},
    {KIND_CommitWork, "execution", ID, NEEDED},
    {KIND_CommitWork, "output", ANY, OPTIONAL},
    {KIND_CommitWork, "elapsed_ms", COUNT, OPTIONAL},
    CHANGES(KIND_CommitWork),

    {KIND_CompleteJob, "job", ID, NEEDED},
    {KIND_CompleteJob, "execution", ID, OPTIONAL},
    {KIND_CompleteJob, "output", ANY, OPTIONAL},
    CHANGES(KIND_CompleteJob),

    {KIND_YieldWork, "job", ID, NEEDED},
    {KIND_YieldWork, "execution", ID, NEEDED},
    {KIND_YieldWork, "reason", TEXT, OPTIONAL},
    CHANGES(KIND_YieldWork),

    {KIND_ExpireWork, "job", ID, NEEDED},
    {KIND_ExpireWork, "execution", ID, NEEDED},
    CHANGES(KIND_ExpireWork),

    {KIND_FailWork, "job", ID, NEEDED},
    {KIND_FailWork, "execution", ID, NEEDED},
    {KIND_FailWork, "error", TEXT, OPTIONAL},
    {KIND_FailWork, "final", FLAG, OPTIONAL},
    CHANGES(KIND_FailWork),

    {KIND_CancelJob, "job", ID, NEEDED},
    {KIND_CancelJob, "reason", TEXT, OPTIONAL},
    CHANGES(KIND_CancelJob),
};

#define FIELD_COUNT (sizeof(fields_of_kinds) / sizeof(fields_of_kinds[0]))

/* Say why; of, then "needs the field" or ":", then the part. Texts of the program, never a peer's.
 */
static int fail_field(struct schema_why *why, const char *of, const char *part, bool is_here,
                      const struct shape *shape)
{
    (void)snprintf(why->text, sizeof(why->text), "%s%s%s%s%s%s.", of,
                   is_here ? ": " : " needs the field ", part, is_here ? " must be " : ": ",
                   shape->is, shape->words == NULL ? "" : shape->words);
    return ERR_BAD_PAYLOAD;
}

static int fail(struct schema_why *why, const char *sentence)
{
    (void)snprintf(why->text, sizeof(why->text), "%s", sentence);
    return ERR_BAD_PAYLOAD;
}

static int check_field(const struct value *fields, const char *of, const struct field *field,
                       struct schema_why *why)
{
    const struct value *value = value_get(fields, field->name);
    if (value == NULL ? field->need == OPTIONAL : fits_type(field->type, value)) {
        return 0;
    }
    return fail_field(why, of, field->name, value != NULL, &shapes[field->type]);
}

/* What no type says ----------------------------------------------------------------------- */

static int check_rules(const struct value *fields, struct schema_why *why)
{
    static const struct field known[] = {
        {KIND_SetMeshRules, "claim_threshold", PPM, OPTIONAL},
        {KIND_SetMeshRules, "erase_grace", COUNT, OPTIONAL},
        {KIND_SetMeshRules, "fold_version", FROM_ONE, OPTIONAL},
        {KIND_SetMeshRules, "lease", COUNT, OPTIONAL},
        {KIND_SetMeshRules, "max_skew", COUNT, OPTIONAL},
    };
    const struct value *rules = value_get(fields, "rules");
    int rv = 0;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) && rv == 0; i++) {
        rv = check_field(rules, "SetMeshRules", &known[i], why);
    }
    return rv;
}

static int check_claim(const struct value *fields, struct schema_why *why)
{
    static const char *const parts[] = {"subject", "predicate", "object"};
    size_t count = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        count += value_get(fields, parts[i]) != NULL ? 1 : 0;
    }
    bool is_text = value_get(fields, "text") != NULL;
    return count == (is_text ? 0 : sizeof(parts) / sizeof(parts[0]))
               ? 0
               : fail(why, "CreateClaim needs the fields subject, predicate and object, or the "
                           "field text, and not both.");
}

static int check_episode(const struct value *fields, struct schema_why *why)
{
    return value_get(fields, "status") != NULL || value_get(fields, "title") != NULL
               ? 0
               : fail(why, "UpdateEpisode needs the field status or the field title.");
}

static int check_assertion(const struct value *fields, struct schema_why *why)
{
    static const struct {
        const char *assertion;
        const char *of;
        struct field value;
    } with_value[] = {
        {"edit", "UserAssert edit", {KIND_UserAssert, "value", TEXT, NEEDED}},
        {"pin", "UserAssert pin", {KIND_UserAssert, "value", FLAG, OPTIONAL}},
        {"hide", "UserAssert hide", {KIND_UserAssert, "value", FLAG, OPTIONAL}},
        {"lane", "UserAssert lane", {KIND_UserAssert, "value", LANE, NEEDED}},
    };
    const struct value *assertion = value_get(fields, "assert");
    for (size_t i = 0; i < sizeof(with_value) / sizeof(with_value[0]); i++) {
        if (value_is_text(assertion, with_value[i].assertion)) {
            return check_field(fields, with_value[i].of, &with_value[i].value, why);
        }
    }
    return value_get(fields, "value") == NULL
               ? 0
               : fail(why, "UserAssert confirm and reject must not have the field value.");
}

/* Of fields that have their types. */
static int check_kind(uint32_t kind, const struct value *fields, struct schema_why *why)
{
    switch (kind) {
    case KIND_SetMeshRules:
        return check_rules(fields, why);
    case KIND_CreateClaim:
        return check_claim(fields, why);
    case KIND_UpdateEpisode:
        return check_episode(fields, why);
    case KIND_UserAssert:
        return check_assertion(fields, why);
    default:
        return 0;
    }
}

/* Entry points ---------------------------------------------------------------------------- */

int ops_check(uint32_t kind, const struct value *fields, struct schema_why *why)
{
    struct schema_why unread;
    why = why == NULL ? &unread : why;
    why->text[0] = 0;

    const struct field *end = fields_of_kinds + FIELD_COUNT;
    const struct field *field = fields_of_kinds;
    while (field < end && field->kind != kind) {
        field++;
    }
    if (field == end) {
        return 0;
    }
    const char *name = kind_name(kind);
    if (fields->type != VALUE_MAP) {
        (void)snprintf(why->text, sizeof(why->text), "%s: the payload must be a map of fields.",
                       name);
        return ERR_BAD_PAYLOAD;
    }
    for (; field < end && field->kind == kind; field++) {
        int rv = check_field(fields, name, field, why);
        if (rv != 0) {
            return rv;
        }
    }
    return check_kind(kind, fields, why);
}

enum field_bytes ops_field_bytes(uint32_t kind, struct bytes name)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const struct field *field = &fields_of_kinds[i];
        if (field->kind != kind || !bytes_equal(name, bytes_of_text(field->name))) {
            continue;
        }
        switch (field->type) {
        case ID:
        case IDS:
            return FIELD_ID;
        case HASH:
            return FIELD_HASH;
        case KEY:
            return FIELD_KEY;
        default:
            return FIELD_OTHER;
        }
    }
    return FIELD_OTHER;
}

uint32_t confidence_of(const struct value *confidence)
{
    assert(fits_type(CONFIDENCE, confidence));
    if (confidence->type == VALUE_INT) {
        return (uint32_t)confidence->integer;
    }
    int64_t least = LIMIT_PPM;
    for (uint32_t i = 0; i < confidence->count; i++) {
        int64_t one = confidence->entries[i].value.integer;
        least = one < least ? one : least;
    }
    return (uint32_t)least;
}
