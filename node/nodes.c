#include <stdlib.h>

#include "node/command.h"
#include "node/known.h"
#include "node/opview.h"
#include "node/request.h"
#include "node/wall.h"

/* When the latest of an author's heads was written; null where it has none. */
static int view_last(struct txn *txn, uint32_t ix, struct value *out)
{
    uint32_t count;
    uint64_t last_ms = 0;
    int rv = heads_of(txn, ix, NULL, 0, &count);
    if (rv != 0 || count == 0) {
        return rv;
    }
    struct head *heads = calloc(count, sizeof(*heads));
    if (heads == NULL) {
        return ERR_NO_MEMORY;
    }
    rv = heads_of(txn, ix, heads, count, &count);
    for (uint32_t i = 0; rv == 0 && i < count; i++) {
        uint64_t head_ms = op_id_wall_ms(&heads[i].id);
        last_ms = head_ms > last_ms ? head_ms : last_ms;
    }
    *out = value_int((int64_t)last_ms);
    free(heads);
    return rv;
}

static int view_node(struct txn *txn, struct arena *arena, const struct known *known, int64_t at,
                     struct value *out)
{
    struct member member;
    struct known_name name;
    struct value last = value_null();
    int rv = member_at(txn, &known->key, at, &member);
    if (rv == 0) {
        rv = known_name(txn, &known->key, &name);
    }
    if (rv == 0 && known->has_written) {
        rv = view_last(txn, known->author.ix, &last);
    }
    if (rv != 0) {
        return rv;
    }
    value_put(arena, out, "node", view_did(arena, known->key.b));
    value_put(arena, out, "name", view_name(arena, &name));
    value_put(arena, out, "state", value_text(node_state_text(member.state)));
    value_put(arena, out, "owner", value_bool(member.owner));
    value_put(arena, out, "user_bearing", value_bool(member.user_bearing));
    value_put(arena, out, "ops", value_int(known->has_written ? (int64_t)known->author.ops : 0));
    value_put(arena, out, "last_ms", last);
    return 0;
}

static int list_nodes(struct call *call, struct txn *txn)
{
    struct known_walk walk;
    struct known known;
    int64_t at = (int64_t)(wall_ms() / 1000);
    bool given;
    int rv = request_time(call, "at", &at, &given);
    if (rv != 0) {
        return rv;
    }
    rv = known_walk(txn, &walk);
    while (rv == 0 && (rv = known_next(&walk, &known)) == 0) {
        struct value response = value_map();
        arena_reset(call->arena);
        rv = view_node(txn, call->arena, &known, at, &response);
        if (rv != 0) {
            return call_fail_store(call, rv);
        }
        rv = call_emit(call, &response);
        if (rv != 0) {
            return rv;
        }
    }
    return rv == ERR_UNKNOWN_ID ? 0 : call_fail_store(call, rv);
}

int run_nodes(struct call *call)
{
    return call_reading(call, list_nodes);
}
