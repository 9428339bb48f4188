#include "projections/precondition.h"

#include "oplog/kinds.h"
#include "projections/records.h"

static bool field_id(const struct value *fields, const char *name, struct op_id *out)
{
    struct bytes bytes;
    if (!value_get_bytes(fields, name, &bytes) || bytes.len != sizeof(out->b)) {
        return false;
    }
    memcpy(out->b, bytes.data, bytes.len);
    return true;
}

int version_holds(struct txn *txn, uint32_t kind, const struct value *fields, enum fold_rule *out)
{
    const struct kind_rule *rule = kind_rule(kind);
    struct op_id version;
    struct op_id target;
    struct entry entry;
    *out = RULE_NONE;
    if (rule == NULL || rule->target == NULL || !field_id(fields, "if_version", &version) ||
        !field_id(fields, rule->target, &target)) {
        return 0;
    }
    int rv = record_now(txn, &target, &entry);
    if (rv != 0 || op_id_equal(&entry.at, &version)) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    rv = record_at(txn, &target, &version, &entry);
    *out = rv == 0 ? RULE_VERSION_TAKEN : RULE_VERSION_GONE;
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}
