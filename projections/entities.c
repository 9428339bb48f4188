#include "projections/entities.h"

#include <stdlib.h>

#include "base/limits.h"
#include "oplog/kinds.h"

/* What is known of one entity. */
struct node {
    struct op_id id;
    uint32_t above; /* What it leads to, by number; its own, if to nothing. */
};

/* A merge of one entity into another, a split of one off another: by numbers. */
struct edge {
    struct op_id at;
    bool user;
    uint32_t of;
    uint32_t other;
};

/* A name that was given to an entity, or by a split taken from one. */
struct naming {
    struct op_id at;
    bool user;
    uint32_t of;
    struct bytes name;
};

/* All entities that hang together by merges and splits. */
struct group {
    struct txn *txn;
    struct arena *arena;
    struct arena scratch; /* What one op says. */
    const struct op_id *as_of;
    struct buf nodes;    /* struct node */
    struct buf merges;   /* struct edge */
    struct buf splits;   /* struct edge: the new one is the other. */
    struct buf given;    /* struct naming */
    struct buf taken;    /* struct naming */
    bool first_is_split; /* The first entity was split off another, which gave it its names. */
};

static void group_init(struct group *group, struct txn *txn, struct arena *arena,
                       const struct op_id *as_of)
{
    *group = (struct group){.txn = txn, .arena = arena, .as_of = as_of};
    arena_init(&group->scratch, LIMIT_TREE_BYTES);
    buf_init(&group->nodes, LIMIT_ENTITY_GROUP * sizeof(struct node));
    buf_init(&group->merges, SIZE_MAX / 2);
    buf_init(&group->splits, SIZE_MAX / 2);
    buf_init(&group->given, SIZE_MAX / 2);
    buf_init(&group->taken, SIZE_MAX / 2);
}

static void group_free(struct group *group)
{
    arena_free(&group->scratch);
    buf_free(&group->nodes);
    buf_free(&group->merges);
    buf_free(&group->splits);
    buf_free(&group->given);
    buf_free(&group->taken);
}

static int group_error(const struct group *group)
{
    const struct buf *all[] = {&group->nodes, &group->merges, &group->splits, &group->given,
                               &group->taken};
    int rv = arena_error(group->arena);
    for (size_t i = 0; rv == 0 && i < sizeof(all) / sizeof(all[0]); i++) {
        rv = buf_error(all[i]);
    }
    return rv;
}

static struct node *nodes_of(const struct group *group)
{
    return (void *)group->nodes.data;
}

static uint32_t node_count(const struct group *group)
{
    return (uint32_t)(group->nodes.len / sizeof(struct node));
}

/* The number of an entity, which is new where it has none yet. */
static uint32_t number_of(struct group *group, const struct op_id *id)
{
    const struct node *nodes = nodes_of(group);
    uint32_t count = node_count(group);
    for (uint32_t i = 0; i < count; i++) {
        if (op_id_equal(&nodes[i].id, id)) {
            return i;
        }
    }
    struct node node = {.id = *id, .above = count};
    buf_put(&group->nodes, &node, sizeof(node));
    return buf_error(&group->nodes) == 0 ? count : 0;
}

/* Gathering ----------------------------------------------------------------------------- */

static void add_edge(struct buf *edges, const struct said *said, uint32_t of, uint32_t other)
{
    struct edge edge = {.at = said->at, .user = said->place.user, .of = of, .other = other};
    buf_put(edges, &edge, sizeof(edge));
}

static void add_naming(struct group *group, struct buf *namings, const struct said *said,
                       uint32_t of, const struct value *name)
{
    if (name != NULL && name->type == VALUE_TEXT) {
        struct naming naming = {.at = said->at,
                                .user = said->place.user,
                                .of = of,
                                .name = arena_copy(group->arena, name->bytes)};
        buf_put(namings, &naming, sizeof(naming));
    }
}

/* The names of a split go from one to the other. */
static void add_split(struct group *group, const struct said *said, uint32_t of)
{
    uint32_t made = number_of(group, &said->at);
    const struct value *names = value_get(&said->fields, "names");
    add_edge(&group->splits, said, of, made);
    for (uint32_t i = 0; names != NULL && names->type == VALUE_ARRAY && i < names->count; i++) {
        add_naming(group, &group->taken, said, of, &names->items[i]);
        add_naming(group, &group->given, said, made, &names->items[i]);
    }
}

/* An op that reads an entity, which may be its target or what it is merged into. */
static void add_op(struct group *group, const struct said *said, uint32_t number,
                   const struct op_id *id)
{
    struct op_id target = {{0}};
    struct op_id into;
    bool is_target = said_id(said, "entity", &target) && op_id_equal(&target, id);
    switch (said->kind) {
    case KIND_AddEntityAlias:
        if (is_target) {
            add_naming(group, &group->given, said, number, value_get(&said->fields, "name"));
        }
        break;
    case KIND_SplitEntity:
        if (is_target) {
            add_split(group, said, number);
        }
        break;
    case KIND_MergeEntities:
        if (is_target && said_id(said, "into", &into)) {
            add_edge(&group->merges, said, number, number_of(group, &into));
        } else if (!is_target) {
            (void)number_of(group, &target); /* It adds the merge at its turn. */
        }
        break;
    default:
        break;
    }
}

/* Whatever was said of an entity, itself included. */
static int add_readers(struct group *group, uint32_t number, const struct op_id *id)
{
    struct reader reader = {0};
    struct said said;
    int rv = 0;
    while (rv == 0 && (rv = reads_next(group->txn, id, &reader)) == 0) {
        if (group->as_of != NULL && op_id_compare(&reader.at, group->as_of) > 0) {
            break;
        }
        arena_reset(&group->scratch);
        rv = said_at(group->txn, &group->scratch, &reader.at, &said);
        if (rv == 0 && said_counts(&said)) {
            add_op(group, &said, number, id);
        }
        rv = rv == 0 || rv == ERR_UNKNOWN_ID ? group_error(group) : rv;
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int add_entity(struct group *group, uint32_t number)
{
    struct op_id id = nodes_of(group)[number].id;
    struct op_id from;
    struct entry entry;
    struct said maker;
    int rv = record_as_of(group->txn, group->as_of, &id, &entry);
    if (rv == 0) {
        arena_reset(&group->scratch);
        rv = record_maker(group->txn, &group->scratch, &id, &entry.state, &maker);
    }
    if (rv != 0) {
        return rv;
    }
    if (maker.kind == KIND_SplitEntity && said_id(&maker, "entity", &from)) {
        (void)number_of(group, &from); /* That one adds the split. */
        group->first_is_split = group->first_is_split || number == 0;
    } else {
        add_naming(group, &group->given, &maker, number, value_get(&maker.fields, "name"));
    }
    return add_readers(group, number, &id);
}

/* What users said first, then by position. */
static int compare_edges(const void *a, const void *b)
{
    const struct edge *left = a;
    const struct edge *right = b;
    if (left->user != right->user) {
        return left->user ? -1 : 1;
    }
    return op_id_compare(&left->at, &right->at);
}

static int compare_namings(const void *a, const void *b)
{
    const struct naming *left = a;
    const struct naming *right = b;
    return op_id_compare(&left->at, &right->at);
}

/* Leading ------------------------------------------------------------------------------- */

/* Halves the way for those who come after, as long chains may have been made to be gone often. */
static uint32_t lead(const struct group *group, uint32_t number)
{
    struct node *nodes = nodes_of(group);
    while (nodes[number].above != number) {
        nodes[number].above = nodes[nodes[number].above].above;
        number = nodes[number].above;
    }
    return number;
}

/* Would a merge join again what a user has split? */
static bool is_kept_apart(const struct group *group, uint32_t one, uint32_t other)
{
    const struct edge *splits = (const void *)group->splits.data;
    for (size_t i = 0; i < group->splits.len / sizeof(*splits); i++) {
        uint32_t of = lead(group, splits[i].of);
        uint32_t made = lead(group, splits[i].other);
        if (splits[i].user && ((of == one && made == other) || (of == other && made == one))) {
            return true;
        }
    }
    return false;
}

static void resolve(struct group *group)
{
    struct edge *merges = (void *)group->merges.data;
    size_t count = group->merges.len / sizeof(*merges);
    if (count > 0) {
        qsort(merges, count, sizeof(*merges), compare_edges);
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t from = lead(group, merges[i].of);
        uint32_t into = lead(group, merges[i].other);
        if (from != into && (merges[i].user || !is_kept_apart(group, from, into))) {
            nodes_of(group)[from].above = into;
        }
    }
}

/* An entity, which gets the number 0; and then everything that hangs together with it. */
static int group_begin(struct group *group, const struct op_id *id)
{
    (void)number_of(group, id);
    int rv = group_error(group);
    if (rv == 0) {
        rv = add_entity(group, 0);
    }
    return rv == 0 ? group_error(group) : rv;
}

static int group_load(struct group *group)
{
    int rv = 0;
    for (uint32_t i = 1; rv == 0 && i < node_count(group); i++) {
        rv = add_entity(group, i);
        rv = rv == 0 ? group_error(group) : rv;
    }
    if (rv == 0 && group->given.len > 0) {
        qsort(group->given.data, group->given.len / sizeof(struct naming), sizeof(struct naming),
              compare_namings);
    }
    if (rv == 0) {
        resolve(group);
    }
    return rv;
}

/* Names --------------------------------------------------------------------------------- */

/* Did a later split take the name away from what it was given to? */
static bool is_taken(const struct group *group, const struct naming *given)
{
    const struct naming *taken = (const void *)group->taken.data;
    for (size_t i = 0; i < group->taken.len / sizeof(*taken); i++) {
        if (op_id_compare(&taken[i].at, &given->at) > 0 &&
            bytes_equal(taken[i].name, given->name) &&
            lead(group, taken[i].of) == lead(group, given->of)) {
            return true;
        }
    }
    return false;
}

static bool has_name(const struct bytes *names, uint32_t count, struct bytes name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (bytes_equal(names[i], name)) {
            return true;
        }
    }
    return false;
}

/* The names of an entity, and those of its members. */
static void list_names(struct group *group, uint32_t number, struct entity *out)
{
    const struct naming *given = (const void *)group->given.data;
    size_t count = group->given.len / sizeof(*given);
    bool leads = lead(group, number) == number;
    struct bytes *names = arena_alloc(group->arena, (count + 1) * sizeof(*names));
    out->names = names;
    for (size_t i = 0; names != NULL && i < count; i++) {
        bool is_its = leads ? lead(group, given[i].of) == number : given[i].of == number;
        if (is_its && !is_taken(group, &given[i]) &&
            !has_name(names, out->name_count, given[i].name)) {
            names[out->name_count++] = given[i].name;
        }
    }
}

static int compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct op_id));
}

static void list_members(struct group *group, uint32_t number, struct entity *out)
{
    const struct node *nodes = nodes_of(group);
    struct op_id *members = arena_alloc(group->arena, node_count(group) * sizeof(*members));
    out->members = members;
    for (uint32_t i = 0; members != NULL && i < node_count(group); i++) {
        if (i != number && lead(group, i) == number) {
            members[out->member_count++] = nodes[i].id;
        }
    }
    if (out->member_count > 0) {
        qsort(members, out->member_count, sizeof(*members), compare_ids);
    }
}

int entity_read(struct txn *txn, struct arena *arena, const struct op_id *as_of,
                const struct op_id *id, struct entity *out)
{
    struct group group;
    *out = (struct entity){.id = *id};
    int rv = record_as_of(txn, as_of, id, &out->entry);
    if (rv != 0 || out->entry.state.type != RECORD_ENTITY) {
        return rv != 0 ? rv : ERR_UNKNOWN_ID;
    }
    group_init(&group, txn, arena, as_of);
    rv = group_begin(&group, id);
    if (rv == 0) {
        rv = group_load(&group);
    }
    if (rv == 0) {
        out->leads_to = nodes_of(&group)[lead(&group, 0)].id;
        list_names(&group, 0, out);
        list_members(&group, 0, out);
        rv = arena_error(arena);
    }
    group_free(&group);
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

/* Finding ------------------------------------------------------------------------------- */

/* Who has a name: the best so far. */
struct search {
    struct bytes name;
    struct buf leaders; /* struct op_id: whoever it leads to. */
    bool user;          /* Of the best: who gave it, and … */
    struct op_id at;    /* … where. */
    struct op_id id;
};

static bool was_given(const struct group *group, struct bytes name)
{
    const struct naming *given = (const void *)group->given.data;
    for (size_t i = 0; i < group->given.len / sizeof(*given); i++) {
        if (given[i].of == 0 && bytes_equal(given[i].name, name)) {
            return true;
        }
    }
    return false;
}

static bool is_better(const struct naming *naming, const struct search *search)
{
    if (search->leaders.len == 0 || naming->user != search->user) {
        return search->leaders.len == 0 || naming->user;
    }
    return op_id_compare(&naming->at, &search->at) < 0;
}

static void note_leader(struct search *search, const struct op_id *id)
{
    for (size_t i = 0; i < search->leaders.len; i += sizeof(*id)) {
        if (memcmp(search->leaders.data + i, id->b, sizeof(id->b)) == 0) {
            return;
        }
    }
    buf_put(&search->leaders, id->b, sizeof(id->b));
}

/* The entity with the number 0 was given the name: does it have it still? */
static void look(const struct group *group, struct search *search)
{
    const struct naming *given = (const void *)group->given.data;
    for (size_t i = 0; i < group->given.len / sizeof(*given); i++) {
        if (given[i].of != 0 || !bytes_equal(given[i].name, search->name) ||
            is_taken(group, &given[i])) {
            continue;
        }
        const struct op_id *id = &nodes_of(group)[lead(group, 0)].id;
        if (is_better(&given[i], search)) {
            search->user = given[i].user;
            search->at = given[i].at;
            search->id = *id;
        }
        note_leader(search, id);
    }
}

static int look_at(struct txn *txn, struct arena *arena, const struct op_id *as_of,
                   const struct op_id *id, struct search *search)
{
    struct group group;
    group_init(&group, txn, arena, as_of);
    int rv = group_begin(&group, id);
    if (rv == 0 && (group.first_is_split || was_given(&group, search->name))) {
        rv = group_load(&group);
        if (rv == 0) {
            look(&group, search);
        }
    }
    if (rv == ERR_TOO_LARGE && !was_given(&group, search->name)) {
        rv = 0; /* Nor does it keep others from being found. */
    }
    group_free(&group);
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

int entity_find(struct txn *txn, const struct op_id *as_of, struct bytes name, struct op_id *out,
                uint32_t *others)
{
    struct record_walk walk;
    struct arena arena;
    struct entry entry;
    struct op_id id;
    struct search search = {.name = name};
    int rv;
    arena_init(&arena, LIMIT_TREE_BYTES);
    buf_init(&search.leaders, SIZE_MAX / 2);
    records_walk(txn, as_of, RECORD_ENTITY, STATUS_ANY, &walk);
    while ((rv = records_next(&walk, &id, &entry)) == 0) {
        arena_reset(&arena);
        rv = look_at(txn, &arena, as_of, &id, &search);
        if (rv != 0) {
            break;
        }
    }
    uint32_t found = (uint32_t)(search.leaders.len / sizeof(id));
    if (rv == ERR_UNKNOWN_ID && found > 0) {
        rv = buf_error(&search.leaders);
    }
    arena_free(&arena);
    buf_free(&search.leaders);
    *out = search.id;
    *others = found > 0 ? found - 1 : 0;
    return rv;
}
