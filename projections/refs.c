#include "projections/refs.h"

#include "oplog/keyed.h"
#include "oplog/kinds.h"
#include "projections/claims.h"

static bool creates_record(uint32_t kind)
{
    switch (kind) {
    case KIND_IngestEvidence:
    case KIND_CreateEntity:
    case KIND_CreateClaim:
    case KIND_CreateEpisode:
    case KIND_CreateSuggestedAction:
    case KIND_CreateArtifact:
    case KIND_ScheduleJob:
        return true;
    default:
        return false;
    }
}

static bool field_id(const struct value *fields, const char *name, struct op_id *out)
{
    struct bytes bytes;
    if (!value_get_bytes(fields, name, &bytes) || bytes.len != sizeof(out->b)) {
        return false;
    }
    memcpy(out->b, bytes.data, bytes.len);
    return true;
}

static void read_supports(const struct value *fields, struct refs *out)
{
    const struct value *supports = out->creates ? value_get(fields, "supports") : NULL;
    out->support_count = supports == NULL ? 0 : supports->count;
    for (uint32_t i = 0; i < out->support_count; i++) {
        memcpy(out->supports[i].b, supports->items[i].bytes.data, sizeof(struct op_id));
    }
}

int refs_read(const struct row *row, const struct value *fields, struct refs *out)
{
    uint32_t kind = row->op.kind;
    enum keyed keyed = KEYED_NOT;
    const struct kind_rule *rule = kind_rule(kind);
    out->at = row->op.id;
    out->has_target = rule->target != NULL && field_id(fields, rule->target, &out->target);
    out->creates = creates_record(kind);
    out->made = out->at;
    out->has_version = !out->creates && field_id(fields, "if_version", &out->version);
    out->in_lane = kind == KIND_CreateClaim && claim_lane(fields, &out->lane);
    read_supports(fields, out);
    const char *key = keyed_field(kind);
    if (key == NULL || value_get(fields, key) == NULL) {
        out->keyed = false;
        return 0;
    }
    int rv = keyed_record(kind, row->op.payload, &keyed, &out->made);
    out->keyed = keyed == KEYED_YES;
    return rv;
}

int refs_link(struct txn *txn, const struct refs *refs)
{
    int rv = 0;
    struct reader reader = {.at = refs->at, .record = refs->made};
    if (refs->has_target) {
        rv = reads_put(txn, &refs->target, &reader);
    }
    reader.flags = LINK_SUPPORT | (refs->keyed ? LINK_KEYED : 0);
    for (uint32_t i = 0; rv == 0 && i < refs->support_count; i++) {
        rv = reads_put(txn, &refs->supports[i], &reader);
    }
    return rv;
}

int refs_unlink(struct txn *txn, const struct refs *refs)
{
    int rv = refs->has_target ? reads_remove(txn, &refs->target, &refs->at) : 0;
    for (uint32_t i = 0; rv == 0 && i < refs->support_count; i++) {
        rv = reads_remove(txn, &refs->supports[i], &refs->at);
    }
    return rv;
}
