#include "node/rules_query.h"

#include "base/limits.h"
#include "node/asof.h"
#include "node/command.h"
#include "node/opview.h"
#include "node/recordtext.h"
#include "projections/ids.h"

/* What holds unless it is set. */
static const struct {
    const char *name;
    int64_t value;
} defaults[] = {
    {"claim_threshold", 500000}, {"erase_grace", (int64_t)LIMIT_ERASE_GRACE_MS},
    {"fold_version", 1},         {"lease", 900000},
    {"max_skew", LIMIT_SKEW_MS},
};

/* A rule as an op has set it. */
struct setting {
    struct bytes name;
    struct value value;
    struct said by;
};

/* The one of the op's rules that made the record what it is. */
static int read_setting(struct txn *txn, struct arena *arena, const struct op_id *id,
                        const struct entry *entry, struct setting *out)
{
    int rv = said_at(txn, arena, &entry->state.origin, &out->by);
    const struct value *rules = rv == 0 ? value_get(&out->by.fields, "rules") : NULL;
    for (uint32_t i = 0; rules != NULL && rules->type == VALUE_MAP && i < rules->count; i++) {
        struct op_id rule = rule_id(rules->entries[i].key);
        if (op_id_equal(&rule, id)) {
            out->name = rules->entries[i].key;
            out->value = rules->entries[i].value;
            return 0;
        }
    }
    return rv == 0 || rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

/* Who set it, and when. */
static int view_setting(struct txn *txn, struct arena *arena, const struct setting *setting,
                        struct value *out)
{
    *out = value_map();
    value_put(arena, out, "op", view_id(arena, &setting->by.at));
    value_put(arena, out, "time_ms", value_int((int64_t)op_id_wall_ms(&setting->by.at)));
    return put_author(txn, arena, &setting->by.author, out);
}

static int put_set(struct txn *txn, struct arena *arena, const struct op_id *as_of,
                   struct value *rules, struct value *set)
{
    struct record_walk walk;
    struct op_id id;
    struct entry entry;
    struct setting setting;
    struct value by;
    int rv = 0;
    records_walk(txn, as_of, RECORD_RULE, STATUS_ANY, &walk);
    while (rv == 0 && (rv = records_next(&walk, &id, &entry)) == 0) {
        rv = read_setting(txn, arena, &id, &entry, &setting);
        if (rv == 0) {
            rv = view_setting(txn, arena, &setting, &by);
        }
        if (rv == 0) {
            value_put_key(arena, rules, setting.name, setting.value);
            value_put_key(arena, set, setting.name, by);
            rv = arena_error(arena);
        }
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int answer(struct call *call, struct txn *txn)
{
    struct arena *arena = call->arena;
    struct op_id room;
    const struct op_id *as_of;
    struct value response = response_ok(arena);
    struct value rules = value_map();
    struct value set = value_map();
    int rv = request_as_of(call, txn, &room, &as_of);
    if (rv != 0) {
        return rv;
    }
    rv = put_set(txn, arena, as_of, &rules, &set);
    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++) {
        if (value_get(&rules, defaults[i].name) == NULL) {
            value_put(arena, &rules, defaults[i].name, value_int(defaults[i].value));
        }
    }
    if (rv == 0) {
        rv = value_sort(&rules);
    }
    value_put(arena, &response, "rules", rules);
    value_put(arena, &response, "set", set);
    return rv != 0 ? call_fail_store(call, rv) : call_emit(call, &response);
}

int run_rules(struct call *call)
{
    return call_reading(call, answer);
}
