#include "node/undone.h"

#include "node/opview.h"

/* Those that are named; the rest is only counted. */
#define NAMED_MAX 1000u

static int see(void *ctx, const struct op_id *id, const struct op_hash *hash, struct verdict from,
               struct verdict to)
{
    struct undone *undone = ctx;
    struct node_id node = op_id_node(id);
    struct change change = {.id = *id, .hash = *hash, .from = from, .to = to};
    if (memcmp(&node, &undone->node, sizeof(node)) != 0) {
        return 0; /* Most are others', and there may be many. */
    }
    return changes_note(&undone->changes, &change);
}

int undone_watch(struct undone *undone, struct store *store)
{
    struct txn *txn;
    size_t len = sizeof(undone->self.b);
    changes_init(&undone->changes);
    int rv = txn_begin_read(store, &txn);
    if (rv != 0) {
        return rv;
    }
    rv = meta_get(txn, "node", undone->self.b, &len);
    txn_abort(txn);
    if (rv == 0 && len == sizeof(undone->self.b)) {
        undone->node = node_id_of(&undone->self);
        store_watch_verdicts(store, see, undone);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

void undone_free(struct undone *undone)
{
    changes_free(&undone->changes);
}

/* The row of an op that is really this node's; what an id says of its author is a hint. */
static int own_row(struct undone *undone, struct txn *txn, const struct change *change,
                   struct row *row, bool *is_own)
{
    struct op_author author;
    struct place place;
    int rv = order_get(txn, &change->id, &change->hash, &place);
    if (rv == 0) {
        rv = log_row(txn, place.n, row);
    }
    if (rv == 0) {
        rv = author_key(txn, row->author_ix, &author);
    }
    *is_own = rv == 0 && memcmp(author.b, undone->self.b, sizeof(author.b)) == 0;
    return rv;
}

static void push_change(struct arena *arena, const struct change *change, uint32_t kind,
                        struct value *list)
{
    struct value view = value_map();
    value_put(arena, &view, "id", view_id(arena, &change->id));
    value_put(arena, &view, "kind", view_kind(kind));
    value_put(arena, &view, "from", value_text(verdict_state_code(change->from.state)));
    value_put(arena, &view, "to", value_text(verdict_state_code(change->to.state)));
    view_reason(arena, &change->to, &view);
    value_push(arena, list, view);
}

static bool is_undone(const struct change *change)
{
    return change->from.state == VERDICT_APPLIED && change->to.state != VERDICT_APPLIED;
}

static int view_undone(struct undone *undone, struct txn *txn, struct arena *arena,
                       struct value *out)
{
    struct value list = value_array();
    int64_t total = 0;
    int rv = 0;
    for (uint64_t i = 0; rv == 0 && i < undone->changes.count; i++) {
        const struct change *change = changes_at(&undone->changes, i);
        struct row row;
        bool is_own = false;
        if (is_undone(change)) {
            rv = own_row(undone, txn, change, &row, &is_own);
        }
        if (is_own && total++ < NAMED_MAX) {
            push_change(arena, change, row.op.kind, &list);
        }
    }
    value_put(arena, out, "undone_total", value_int(total));
    value_put(arena, out, "undone", list);
    return rv;
}

int undone_end(struct undone *undone, struct store *store, struct arena *arena, struct value *out)
{
    struct txn *txn;
    store_watch_verdicts(store, NULL, NULL);
    int rv = changes_sum_up(&undone->changes);
    if (rv == 0) {
        rv = txn_begin_read(store, &txn);
    }
    if (rv != 0) {
        return rv;
    }
    rv = view_undone(undone, txn, arena, out);
    txn_abort(txn);
    return rv;
}
