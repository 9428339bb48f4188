#include "node/whychange.h"

#include "base/limits.h"
#include "node/opview.h"
#include "node/recordtext.h"
#include "node/recordview.h"
#include "oplog/kinds.h"
#include "projections/idset.h"

/* The changes of one op. */
struct changing {
    struct txn *txn;
    struct arena *arena;
    struct op_id at;
    struct id_set records;
    struct value list;
    uint32_t looked_at; /* Dependents, whether or not they fell. */
    bool cut;
};

/* The record, if the op has left an entry in it. */
static int add_record(struct changing *changing, const struct op_id *id)
{
    struct arena *arena = changing->arena;
    struct entry entry;
    struct entry before;
    struct value change = value_map();
    struct value about;
    bool added;
    if (id_set_has(&changing->records, id)) {
        return 0;
    }
    int rv = record_at(changing->txn, id, &changing->at, &entry);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    if (changing->records.count == LIMIT_WHY_CHANGES) {
        changing->cut = true;
        return 0;
    }
    rv = id_set_add(&changing->records, id, &added);
    if (rv == 0) {
        rv = record_text(changing->txn, arena, id, &entry.state, &about);
    }
    if (rv == 0) {
        rv = record_before(changing->txn, id, &changing->at, &before);
        bool existed = rv == 0;
        value_put(arena, &change, "id", view_id(arena, id));
        value_put(arena, &change, "type", view_record_type(&entry.state));
        value_put(arena, &change, "about", about);
        value_put(arena, &change, "from", view_status(existed ? &before.state : NULL));
        value_put(arena, &change, "to", view_status(&entry.state));
        value_push(arena, &changing->list, change);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Whatever the op itself reads or makes: more than it has changed. */
static int add_own(struct changing *changing, struct said *said)
{
    const struct kind_rule *rule = kind_rule(said->kind);
    struct op_id key = {{0}};
    struct op_id target;
    int rv = 0;
    if (rule != NULL && rule->target != NULL && said_id(said, rule->target, &target)) {
        rv = add_record(changing, &target);
    }
    if (rv == 0) {
        rv = add_record(changing, &said->makes);
    }
    while (rv == 0 && (rv = marks_next(changing->txn, &changing->at, &key)) == 0) {
        rv = add_record(changing, &key);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int add_dependents(struct changing *changing, const struct op_id *on)
{
    struct dependent_walk walk;
    struct op_id id;
    struct entry entry;
    bool fell;
    int rv = record_fell(changing->txn, on, &changing->at, &fell);
    if (rv != 0 || !fell) {
        return rv;
    }
    dependents_walk(changing->txn, &changing->at, on, &walk);
    while (rv == 0 && !changing->cut && (rv = dependents_next(&walk, &id, &entry)) == 0) {
        changing->cut = ++changing->looked_at == LIMIT_WHY_COUNT;
        rv = add_record(changing, &id);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

int put_changed(struct txn *txn, struct arena *arena, const struct op_id *at, struct value *out)
{
    struct changing changing = {.txn = txn, .arena = arena, .at = *at};
    struct said said;
    changing.list = value_array();
    int rv = said_at(txn, arena, at, &said);
    if (rv == 0) {
        rv = add_own(&changing, &said);
    }
    for (uint32_t i = 0; rv == 0 && i < changing.records.count && !changing.cut; i++) {
        struct op_id id = changing.records.ids[i];
        rv = add_dependents(&changing, &id);
    }
    id_set_free(&changing.records);
    value_put(arena, out, "changed", changing.list);
    value_put(arena, out, "changed_cut", value_bool(changing.cut));
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}
