#include "node/whytree.h"

#include "base/limits.h"
#include "node/opview.h"
#include "node/recordtext.h"
#include "node/recordview.h"
#include "projections/idset.h"

/* One place in the tree. Its children stand in a row. */
struct place_in_tree {
    struct op_id id;
    struct entry entry;
    uint32_t first;
    uint32_t count;
    uint32_t cut;
    uint32_t depth;
    bool exists;
    bool repeated;
};

struct tree {
    struct txn *txn;
    struct arena *arena;
    const struct op_id *as_of;
    struct arena scratch;
    struct id_set seen;
    struct place_in_tree places[LIMIT_WHY_RECORDS + 1];
    uint32_t count;
};

/* Gathering, level by level ----------------------------------------------------------------- */

static int add_place(struct tree *tree, const struct op_id *id, uint32_t depth)
{
    struct place_in_tree *place = &tree->places[tree->count];
    bool added;
    *place = (struct place_in_tree){.id = *id, .depth = depth};
    int rv = record_as_of(tree->txn, tree->as_of, id, &place->entry);
    place->exists = rv == 0;
    if (rv == 0 || rv == ERR_UNKNOWN_ID) {
        rv = id_set_add(&tree->seen, id, &added);
        place->repeated = !added;
    }
    tree->count++;
    return rv;
}

static int add_supports(struct tree *tree, uint32_t at, const struct said *maker)
{
    struct place_in_tree *place = &tree->places[at];
    const struct value *supports = supports_of(maker);
    int rv = 0;
    place->first = tree->count;
    for (uint32_t i = 0; rv == 0 && i < supports->count; i++) {
        struct op_id id = support_at(supports, i);
        if (place->depth == LIMIT_WHY_DEPTH || tree->count > LIMIT_WHY_RECORDS) {
            place->cut++;
            continue;
        }
        rv = add_place(tree, &id, place->depth + 1);
        place->count++;
    }
    return rv;
}

static int grow(struct tree *tree, uint32_t at)
{
    struct said maker;
    const struct place_in_tree *place = &tree->places[at];
    if (!place->exists || place->repeated) {
        return 0;
    }
    arena_reset(&tree->scratch);
    int rv = record_maker(tree->txn, &tree->scratch, &place->id, &place->entry.state, &maker);
    return rv == 0 ? add_supports(tree, at, &maker) : rv;
}

/* Telling ------------------------------------------------------------------------------------ */

static int put_missing(struct tree *tree, const struct op_id *id, struct value *out)
{
    struct place place;
    uint8_t part[16] = {0};
    struct verdict verdict = {0};
    int rv = order_next_of(tree->txn, id, true, part, &place);
    value_put(tree->arena, out, "type", value_null());
    value_put(tree->arena, out, "status", value_null());
    value_put(tree->arena, out, "about", value_null());
    if (rv == 0) {
        verdict = place_verdict(&place);
        view_verdict(tree->arena, &verdict, out);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int view_places(struct tree *tree, uint32_t at, struct value *out);

/* LIMIT_WHY_DEPTH bounds how deep this calls itself. */
static int view_place(struct tree *tree, uint32_t at, struct value *out)
{
    struct arena *arena = tree->arena;
    const struct place_in_tree *place = &tree->places[at];
    struct value below;
    *out = value_map();
    value_put(arena, out, "id", view_id(arena, &place->id));
    int rv = place->exists ? put_record(tree->txn, arena, &place->id, &place->entry.state, out)
                           : put_missing(tree, &place->id, out);
    if (rv == 0) {
        rv = view_places(tree, at, &below);
    }
    if (rv == 0) {
        value_put(arena, out, "rests_on", below);
    }
    if (place->repeated) {
        value_put(arena, out, "repeated", value_bool(true));
    }
    if (place->cut > 0) {
        value_put(arena, out, "cut", value_int(place->cut));
    }
    return rv;
}

static int view_places(struct tree *tree, uint32_t at, struct value *out)
{
    const struct place_in_tree *place = &tree->places[at];
    int rv = 0;
    *out = value_array();
    for (uint32_t i = 0; rv == 0 && i < place->count; i++) {
        struct value item;
        rv = view_place(tree, place->first + i, &item);
        value_push(tree->arena, out, item);
    }
    return rv;
}

int view_supports_tree(struct txn *txn, struct arena *arena, const struct op_id *as_of,
                       const struct op_id *id, const struct said *maker, struct value *out,
                       uint32_t *cut)
{
    struct tree *tree = arena_alloc(arena, sizeof(*tree));
    if (tree == NULL) {
        return arena_error(arena);
    }
    tree->txn = txn;
    tree->arena = arena;
    tree->as_of = as_of;
    arena_init(&tree->scratch, LIMIT_TREE_BYTES);
    int rv = add_place(tree, id, 0);
    if (rv == 0) {
        rv = add_supports(tree, 0, maker);
    }
    for (uint32_t i = 1; rv == 0 && i < tree->count; i++) {
        rv = grow(tree, i);
    }
    if (rv == 0) {
        rv = view_places(tree, 0, out);
    }
    *cut = tree->places[0].cut;
    arena_free(&tree->scratch);
    id_set_free(&tree->seen);
    return rv;
}
