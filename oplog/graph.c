#include "oplog/graph.h"

#include <sodium.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/text.h"
#include "oplog/db.h"
#include "oplog/revokes.h"
#include "ucan/policy.h"

#define SLOTS 1024u
#define GRAPH_BYTES MIB(32)
#define RECENT 8u

struct graph {
    struct arena arena;
    struct link *links[SLOTS];
    struct plan *plans[SLOTS];
    uint8_t slot_key[crypto_shorthash_KEYBYTES]; /* So that nobody can fill one slot. */
    struct arena scratch;
    size_t bound; /* Beyond so many bytes all is forgotten: more than the largest plan takes. */
    struct {
        uint32_t author_ix;
        uint32_t count;
        struct plan *plans[RECENT]; /* Of the author that was asked for last. */
    } recent;
    bool awaits_known;
    bool awaits;
};

int graph_of(struct txn *txn, struct graph **out)
{
    struct graph **place = txn_graph(txn);
    if (*place == NULL) {
        *place = calloc(1, sizeof(**place));
        if (*place == NULL) {
            return ERR_NO_MEMORY;
        }
        arena_init(&(*place)->arena, SIZE_MAX);
        arena_init(&(*place)->scratch, LIMIT_TREE_BYTES);
        (*place)->bound = GRAPH_BYTES;
        crypto_shorthash_keygen((*place)->slot_key);
    }
    *out = *place;
    return 0;
}

static void free_kept(struct link *link)
{
    for (uint32_t i = 0; i < link->revocation_count; i++) {
        for (struct kept *kept = link->revocations[i].kept; kept != NULL; kept = kept->next) {
            cutset_free(&kept->set);
        }
    }
}

void graph_forget(struct graph *graph)
{
    if (graph == NULL) {
        return;
    }
    for (size_t i = 0; i < SLOTS; i++) {
        for (struct link *link = graph->links[i]; link != NULL; link = link->next) {
            free_kept(link);
        }
    }
    memset(graph->links, 0, sizeof(graph->links));
    memset(graph->plans, 0, sizeof(graph->plans));
    graph->recent.count = 0;
    graph->awaits_known = false;
    arena_reset(&graph->arena);
}

void graph_free(struct graph *graph)
{
    if (graph != NULL) {
        graph_forget(graph);
        arena_free(&graph->arena);
        arena_free(&graph->scratch);
        free(graph);
    }
}

static size_t slot_of(const struct graph *graph, const uint8_t key[32])
{
    uint8_t hash[crypto_shorthash_BYTES];
    crypto_shorthash(hash, key, 32, graph->slot_key);
    return be_get(hash, 8) % SLOTS;
}

/* Links --------------------------------------------------------------------------------- */

static const struct {
    const char *rule;
    unsigned section;
} sanitise_rules[] = {
    {"StripGeo", 1},
    {"RedactParticipants", 2},
    {"TruncateContent", 3},
    {"StripCustomMetadata", 4},
};

static bool read_sanitise(const struct value *rules, unsigned *withheld)
{
    if (rules->type != VALUE_ARRAY) {
        return false;
    }
    for (uint32_t i = 0; i < rules->count; i++) {
        unsigned before = *withheld;
        bool known = false;
        for (size_t j = 0; j < sizeof(sanitise_rules) / sizeof(sanitise_rules[0]); j++) {
            if (value_is_text(&rules->items[i], sanitise_rules[j].rule)) {
                *withheld = before | 1u << sanitise_rules[j].section;
                known = true;
            }
        }
        if (!known) {
            return false;
        }
    }
    return true;
}

/* Is everything in the meta that is ours understood? */
static bool read_meta(const struct value *meta, unsigned *withheld)
{
    static const char ours[] = "meshlog.";
    for (uint32_t i = 0; meta != NULL && i < meta->count; i++) {
        struct bytes key = meta->entries[i].key;
        const struct value *value = &meta->entries[i].value;
        if (key.len < sizeof(ours) - 1 || memcmp(key.data, ours, sizeof(ours) - 1) != 0) {
            continue;
        }
        bool sanitises = bytes_equal(key, bytes_of_text("meshlog.sanitize"));
        bool audits = bytes_equal(key, bytes_of_text("meshlog.audit_inference"));
        if (!(sanitises && read_sanitise(value, withheld)) &&
            !(audits && value->type == VALUE_BOOL)) {
            return false;
        }
    }
    return true;
}

/* ["==", ".op.author", DID] */
static bool is_pin(const struct value *statement)
{
    return statement->count == 3 && value_is_text(&statement->items[0], "==") &&
           value_is_text(&statement->items[1], ".op.author") &&
           statement->items[2].type == VALUE_TEXT;
}

static struct value without_pins(struct arena *arena, const struct value *policy)
{
    struct value rest = value_array();
    for (uint32_t i = 0; i < policy->count; i++) {
        if (!is_pin(&policy->items[i])) {
            value_push(arena, &rest, policy->items[i]);
        }
    }
    return rest;
}

static int make_link(struct txn *txn, struct graph *graph, const struct token_id *id,
                     struct link **out)
{
    struct bytes raw;
    uint64_t n;
    int rv = tokens_get(txn, id, &raw, &n);
    if (rv != 0) {
        return rv;
    }
    struct link *link = arena_alloc(&graph->arena, sizeof(*link));
    struct bytes copy = arena_copy(&graph->arena, raw);
    rv = arena_error(&graph->arena);
    if (rv == 0) {
        rv = ucan_read(&graph->arena, copy, &link->token, NULL);
    }
    if (rv != 0) {
        return err_is_refusal(rv) ? ERR_CORRUPT : rv;
    }
    link->id = *id;
    link->n = n;
    link->binds = read_meta(link->token.meta, &link->withheld);
    link->rest = without_pins(&graph->arena, link->token.policy);
    link->pins = link->rest.count == 0;
    link->reads = policy_reads(&link->rest);
    *out = link;
    return arena_error(&graph->arena);
}

int graph_link(struct txn *txn, const struct token_id *id, struct link **out)
{
    struct graph *graph;
    int rv = graph_of(txn, &graph);
    if (rv != 0) {
        return rv;
    }
    struct link **slot = &graph->links[slot_of(graph, id->b)];
    for (struct link *link = *slot; link != NULL; link = link->next) {
        if (memcmp(&link->id, id, sizeof(*id)) == 0) {
            *out = link;
            return 0;
        }
    }
    rv = make_link(txn, graph, id, out);
    if (rv == 0) {
        (*out)->next = *slot;
        *slot = *out;
    }
    return rv;
}

static bool is_of_root(struct txn *txn, const struct link *link)
{
    return memcmp(link->token.issuer.b, store_mesh(txn->store)->b, 32) == 0;
}

/* Plans --------------------------------------------------------------------------------- */

/* A plan while it is made. A node's number is its key's place in the set. */
struct plan_making {
    struct plan *plan;
    struct key_set nodes;
    struct buf edges; /* struct plan_edge */
};

static bool pins_another(const struct plan *plan, const struct link *link)
{
    const struct value *policy = link->token.policy;
    for (uint32_t i = 0; i < policy->count; i++) {
        if (is_pin(&policy->items[i]) && !value_is_text(&policy->items[i].items[2], plan->did)) {
            return true;
        }
    }
    return false;
}

/* Could a chain with this link be one for the plan's command? */
static bool is_of_use(struct txn *txn, const struct plan *plan, const struct link *link,
                      bool *from_root)
{
    *from_root = is_of_root(txn, link);
    if (!link->binds || (*from_root && !link->token.has_subject)) {
        return false;
    }
    return plan->command.data == NULL || ucan_command_covers(link->token.command, plan->command);
}

static int add_edges(struct txn *txn, struct plan_making *making, uint32_t to)
{
    struct token_id id = {{0}};
    struct ucan_key key = making->nodes.keys[to];
    for (;;) {
        struct link *link;
        bool from_root;
        int rv = tokens_next_for(txn, &key, &id);
        if (rv == ERR_UNKNOWN_ID) {
            return buf_error(&making->edges);
        }
        if (rv == 0) {
            rv = graph_link(txn, &id, &link);
        }
        if (rv != 0) {
            return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
        }
        if (is_of_use(txn, making->plan, link, &from_root)) {
            struct plan_edge edge = {.link = link,
                                     .to = to,
                                     .from = PLAN_ROOT,
                                     .pinned_off = pins_another(making->plan, link)};
            if (!from_root) {
                rv = key_set_add(&making->nodes, &link->token.issuer, &edge.from);
            }
            if (rv != 0) {
                return rv;
            }
            buf_put(&making->edges, &edge, sizeof(edge));
        }
    }
}

/* Level by level from the author upwards, so that edges are sorted by where they lead. */
static int find_edges(struct txn *txn, struct plan_making *making)
{
    int rv = 0;
    uint32_t done = 0;
    for (uint32_t level = 0; rv == 0 && level < LIMIT_CHAIN; level++) {
        uint32_t end = making->nodes.count;
        while (rv == 0 && done < end) {
            rv = add_edges(txn, making, done++);
        }
    }
    return rv;
}

static bool is_open(const struct plan_edge *edge, int64_t time)
{
    struct link *link = edge->link;
    return link->pins && !edge->pinned_off && link->revocation_count == 0 &&
           ucan_in_force(&link->token, time);
}

struct open_test {
    int64_t time;
};

static int passes_open(void *ctx, const struct plan_edge *edge, bool *out)
{
    const struct open_test *test = ctx;
    *out = is_open(edge, test->time);
    return 0;
}

/* Of the chains without conditions at a time, remember one's window. */
static int find_open(struct plan *plan, int64_t time)
{
    const struct plan_edge *chain[LIMIT_CHAIN];
    uint32_t length;
    struct open_test open = {.time = time};
    struct chain_test test = {.ctx = &open, .passes = passes_open};
    int rv = plan_search(plan, &test, chain, &length);
    if (rv != 0 || length == 0) {
        return rv;
    }
    plan->open_from = INT64_MIN;
    plan->open_until = INT64_MAX;
    for (uint32_t i = 0; i < length; i++) {
        const struct ucan_token *token = &chain[i]->link->token;
        if (token->has_not_before && token->not_before > plan->open_from) {
            plan->open_from = token->not_before;
        }
        if (token->has_expiry && token->expiry < plan->open_until) {
            plan->open_until = token->expiry;
        }
    }
    return 0;
}

static int finish_plan(struct txn *txn, struct graph *graph, struct plan_making *making)
{
    struct plan *plan = making->plan;
    struct bytes edges = arena_copy(&graph->arena, buf_bytes(&making->edges));
    int rv = arena_error(&graph->arena);
    if (rv != 0) {
        return rv;
    }
    plan->edges = (struct plan_edge *)(uintptr_t)edges.data;
    plan->edge_count = (uint32_t)(edges.len / sizeof(plan->edges[0]));
    plan->node_count = making->nodes.count;
    plan->open_from = 1;
    plan->open_until = 0;
    for (uint32_t i = 0; rv == 0 && i < plan->edge_count; i++) {
        rv = link_revocations(txn, plan->edges[i].link);
    }
    /* The window that is open longest is most likely the one that begins last. */
    int64_t time = 0;
    for (uint32_t i = 0; i < plan->edge_count; i++) {
        const struct ucan_token *token = &plan->edges[i].link->token;
        time = token->has_not_before && token->not_before > time ? token->not_before : time;
    }
    return rv == 0 ? find_open(plan, time) : rv;
}

static int make_plan(struct txn *txn, struct graph *graph, const struct ucan_key *author,
                     struct bytes command, struct plan **out)
{
    size_t before = graph->arena.total;
    struct plan_making making = {.plan = arena_alloc(&graph->arena, sizeof(*making.plan))};
    struct bytes copy = command.data == NULL ? command : arena_copy(&graph->arena, command);
    int rv = arena_error(&graph->arena);
    if (rv != 0) {
        return rv;
    }
    making.plan->author = *author;
    making.plan->command = copy;
    did_encode(author->b, making.plan->did);
    buf_init(&making.edges, SIZE_MAX);
    rv = key_set_add(&making.nodes, author, NULL);
    if (rv == 0) {
        rv = find_edges(txn, &making);
    }
    if (rv == 0) {
        rv = finish_plan(txn, graph, &making);
    }
    key_set_free(&making.nodes);
    buf_free(&making.edges);
    size_t taken = graph->arena.total - before;
    graph->bound = graph->bound > 2 * taken ? graph->bound : 2 * taken;
    *out = making.plan;
    return rv;
}

static bool is_plan_for(const struct plan *plan, struct bytes command)
{
    return (plan->command.data == NULL) == (command.data == NULL) &&
           bytes_equal(plan->command, command);
}

int graph_plan(struct txn *txn, const struct ucan_key *author, struct bytes command,
               struct plan **out)
{
    struct graph *graph;
    int rv = graph_of(txn, &graph);
    if (rv != 0) {
        return rv;
    }
    struct plan **slot = &graph->plans[slot_of(graph, author->b)];
    for (struct plan *plan = *slot; plan != NULL; plan = plan->next) {
        if (memcmp(&plan->author, author, sizeof(*author)) == 0 && is_plan_for(plan, command)) {
            *out = plan;
            return 0;
        }
    }
    rv = make_plan(txn, graph, author, command, out);
    if (rv == 0) {
        (*out)->next = *slot;
        *slot = *out;
    }
    return rv;
}

/* An author's ops come in runs and are of few kinds. */
int graph_author_plan(struct txn *txn, uint32_t author_ix, const char *command, struct plan **out)
{
    struct graph *graph;
    struct op_author author;
    struct ucan_key key;
    struct bytes wanted = command == NULL ? (struct bytes){0} : bytes_of_text(command);
    int rv = graph_of(txn, &graph);
    if (rv != 0) {
        return rv;
    }
    if (graph->recent.author_ix != author_ix) {
        graph->recent.count = 0;
    }
    for (uint32_t i = 0; i < graph->recent.count; i++) {
        *out = graph->recent.plans[i];
        if (is_plan_for(*out, wanted)) {
            return 0;
        }
    }
    rv = author_key(txn, author_ix, &author);
    if (rv == 0) {
        memcpy(key.b, author.b, sizeof(key.b));
        rv = graph_plan(txn, &key, wanted, out);
    }
    if (rv == 0) {
        graph->recent.author_ix = author_ix;
        graph->recent.count = graph->recent.count < RECENT ? graph->recent.count : 0;
        graph->recent.plans[graph->recent.count++] = *out;
    }
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

int graph_scratch(struct txn *txn, struct arena **out)
{
    struct graph *graph;
    int rv = graph_of(txn, &graph);
    if (rv == 0) {
        if (graph->arena.total > graph->bound) {
            graph_forget(graph);
        }
        *out = &graph->scratch;
    }
    return rv;
}

int graph_awaits(struct txn *txn, bool *out)
{
    struct graph *graph;
    int rv = graph_of(txn, &graph);
    if (rv == 0 && !graph->awaits_known) {
        rv = revokes_await(txn, &graph->awaits);
        graph->awaits_known = rv == 0;
    }
    *out = rv == 0 && graph->awaits;
    return rv;
}

/* Chains -------------------------------------------------------------------------------- */

/* Which edge brought the search to a node, and in which round; edges are tried once. */
struct search {
    const struct plan *plan;
    const struct plan_edge **came; /* For each node: the edge below it on the way. */
    uint32_t *queue;
    bool *seen;
};

static void tell_chain(const struct search *search, const struct plan_edge *last,
                       const struct plan_edge **chain, uint32_t *length)
{
    *length = 0;
    for (const struct plan_edge *edge = last; edge != NULL;
         edge = edge->to == 0 ? NULL : search->came[edge->to]) {
        if (chain != NULL) {
            chain[*length] = edge;
        }
        (*length)++;
    }
}

static uint32_t first_edge_to(const struct plan *plan, uint32_t to)
{
    uint32_t low = 0;
    uint32_t high = plan->edge_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (plan->edges[middle].to < to) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Follow the edges that lead to a node. *last is the root's edge, once it is found. */
static int search_node(struct search *search, const struct chain_test *test, uint32_t node,
                       uint32_t *count, const struct plan_edge **last)
{
    const struct plan *plan = search->plan;
    for (uint32_t i = first_edge_to(plan, node);
         i < plan->edge_count && plan->edges[i].to == node && *last == NULL; i++) {
        const struct plan_edge *edge = &plan->edges[i];
        bool passes = false;
        if (edge->from != PLAN_ROOT && search->seen[edge->from]) {
            continue;
        }
        int rv = test->passes(test->ctx, edge, &passes);
        if (rv != 0) {
            return rv;
        }
        if (passes && edge->from == PLAN_ROOT) {
            *last = edge;
        } else if (passes) {
            search->seen[edge->from] = true;
            search->came[edge->from] = edge;
            search->queue[(*count)++] = edge->from;
        }
    }
    return 0;
}

static int search_levels(struct search *search, const struct chain_test *test,
                         const struct plan_edge **chain, uint32_t *length)
{
    const struct plan_edge *last = NULL;
    uint32_t done = 0;
    uint32_t count = 1;
    int rv = 0;
    search->queue[0] = 0;
    search->seen[0] = true;
    for (uint32_t level = 0; rv == 0 && last == NULL && level < LIMIT_CHAIN; level++) {
        uint32_t end = count;
        while (rv == 0 && last == NULL && done < end) {
            rv = search_node(search, test, search->queue[done++], &count, &last);
        }
    }
    if (rv == 0) {
        tell_chain(search, last, chain, length);
    }
    return rv;
}

int plan_search(const struct plan *plan, const struct chain_test *test,
                const struct plan_edge **chain, uint32_t *length)
{
    const struct plan_edge *few_came[32];
    uint32_t few_queue[32];
    bool few_seen[32] = {false};
    struct search search = {.plan = plan, .came = few_came, .queue = few_queue, .seen = few_seen};
    *length = 0;
    if (plan->node_count <= 32) {
        return search_levels(&search, test, chain, length);
    }
    search.came = calloc(plan->node_count, sizeof(*search.came));
    search.queue = calloc(plan->node_count, sizeof(*search.queue));
    search.seen = calloc(plan->node_count, sizeof(*search.seen));
    int rv = search.came != NULL && search.queue != NULL && search.seen != NULL ? 0 : ERR_NO_MEMORY;
    if (rv == 0) {
        rv = search_levels(&search, test, chain, length);
    }
    free(search.came);
    free(search.queue);
    free(search.seen);
    return rv;
}

/* Revocations --------------------------------------------------------------------------- */

int link_revocations(struct txn *txn, struct link *link)
{
    struct graph *graph;
    if (link->revocations_known) {
        return 0;
    }
    int rv = graph_of(txn, &graph);
    if (rv == 0) {
        rv = revokes_load(txn, &graph->arena, &link->id, &link->revocations,
                          &link->revocation_count);
    }
    link->revocations_known = rv == 0;
    return rv;
}

/* Does a link make its audience an owner, as far as its words go? */
static bool makes_owner(struct txn *txn, const struct link *link, const struct ucan_key *author)
{
    char did[LIMIT_DID];
    if (!is_of_root(txn, link) || !link->binds || !link->token.has_subject || !link->pins ||
        !ucan_command_covers(link->token.command, bytes_of_text("/mesh"))) {
        return false;
    }
    did_encode(author->b, did);
    for (uint32_t i = 0; i < link->token.policy->count; i++) {
        if (!value_is_text(&link->token.policy->items[i].items[2], did)) {
            return false;
        }
    }
    return true;
}

/* Is the author of a revocation an owner, as far as the root's revocations (if heeded) keep it? */
static int is_owner(struct txn *txn, const struct revocation *revocation, bool heed_revocations,
                    bool *out)
{
    struct token_id id = {{0}};
    *out = false;
    for (;;) {
        struct link *link;
        int rv = tokens_next_for(txn, &revocation->author, &id);
        if (rv == ERR_UNKNOWN_ID || *out) {
            return 0;
        }
        if (rv == 0) {
            rv = graph_link(txn, &id, &link);
        }
        if (rv == 0 && makes_owner(txn, link, &revocation->author) &&
            ucan_in_force(&link->token, revocation->time)) {
            *out = !heed_revocations;
            rv = *out ? 0 : link_carries(txn, link, &revocation->at, REVOKER_ROOT, out, NULL);
        }
        if (rv != 0) {
            return rv;
        }
    }
}

struct carried_test {
    struct txn *txn;
    const struct standpoint *at; /* NULL: revocations are not heeded. */
};

static int passes_carried(void *ctx, const struct plan_edge *edge, bool *out)
{
    const struct carried_test *test = ctx;
    *out = true;
    return test->at == NULL
               ? 0
               : link_carries(test->txn, edge->link, test->at, REVOKER_OWNER, out, NULL);
}

/* Does a chain lead to the issuer each of whose links carries the revocation (if heeded)? */
static int is_issuer_heard(struct txn *txn, const struct revocation *revocation,
                           bool heed_revocations, bool *out)
{
    struct plan *plan;
    uint32_t length;
    struct carried_test carried = {.txn = txn, .at = heed_revocations ? &revocation->at : NULL};
    struct chain_test test = {.ctx = &carried, .passes = passes_carried};
    int rv = graph_plan(txn, &revocation->author, (struct bytes){0}, &plan);
    if (rv == 0) {
        rv = plan_search(plan, &test, NULL, &length);
    }
    *out = rv == 0 && length > 0;
    return rv;
}

static int learn(int8_t *known, int rv, bool holds)
{
    if (rv == 0) {
        *known = holds;
    }
    return rv;
}

static bool is_issuer(const struct link *link, const struct revocation *revocation)
{
    return memcmp(link->token.issuer.b, revocation->author.b, 32) == 0;
}

int revocation_might_count(struct txn *txn, struct link *link, const struct revocation *revocation,
                           bool *out)
{
    *out = false;
    int rv = is_of_root(txn, link) ? 0 : is_owner(txn, revocation, false, out);
    if (rv == 0 && !*out && is_issuer(link, revocation)) {
        rv = is_issuer_heard(txn, revocation, false, out);
    }
    return rv;
}

int revocation_counts(struct txn *txn, struct link *link, struct revocation *revocation,
                      enum revoker last, enum revoker *out)
{
    bool holds = false;
    int rv = 0;
    *out = revocation->by_root ? REVOKER_ROOT : REVOKER_NONE;
    if (*out != REVOKER_NONE || last == REVOKER_ROOT) {
        return 0;
    }
    if (!is_of_root(txn, link) && revocation->owner < 0) {
        rv = is_owner(txn, revocation, true, &holds);
        rv = learn(&revocation->owner, rv, holds);
    }
    if (rv == 0 && revocation->owner > 0) {
        *out = REVOKER_OWNER;
    }
    if (rv != 0 || *out != REVOKER_NONE || last == REVOKER_OWNER || !is_issuer(link, revocation)) {
        return rv;
    }
    if (revocation->issuer < 0) {
        rv = is_issuer_heard(txn, revocation, true, &holds);
        rv = learn(&revocation->issuer, rv, holds);
    }
    if (rv == 0 && revocation->issuer > 0) {
        *out = REVOKER_ISSUER;
    }
    return rv;
}

/* The heads of a cut that are here and of one author. */
static int find_heads(struct txn *txn, const struct revocation *revocation, uint32_t author_ix,
                      struct trail *out)
{
    int rv = 0;
    for (uint32_t i = 0; rv == 0 && i < revocation->cut_count; i++) {
        uint64_t n;
        struct row row;
        rv = revokes_cut_head(txn, &revocation->cut[i], &n);
        if (rv == ERR_UNKNOWN_ID) { /* Not here: it keeps nothing. */
            rv = 0;
            continue;
        }
        if (rv == 0) {
            rv = log_row(txn, n, &row);
        }
        if (rv == 0 && row.author_ix == author_ix) {
            rv = trail_add(out, row.op.seq, n);
        }
    }
    return rv;
}

static int make_kept(struct txn *txn, const struct revocation *revocation, uint32_t author_ix,
                     struct kept *kept)
{
    struct trail heads = {0};
    int rv = find_heads(txn, revocation, author_ix, &heads);
    if (rv == 0) {
        rv = cutset_fill(txn, author_ix, &heads, &kept->set);
    }
    trail_free(&heads);
    return rv;
}

static int kept_of(struct txn *txn, struct revocation *revocation, uint32_t author_ix,
                   struct kept **out)
{
    struct graph *graph;
    for (*out = revocation->kept; *out != NULL; *out = (*out)->next) {
        if ((*out)->author_ix == author_ix) {
            return 0;
        }
    }
    int rv = graph_of(txn, &graph);
    if (rv != 0) {
        return rv;
    }
    *out = arena_alloc(&graph->arena, sizeof(**out));
    if (*out == NULL) {
        return arena_error(&graph->arena);
    }
    (*out)->author_ix = author_ix;
    rv = make_kept(txn, revocation, author_ix, *out);
    if (rv != 0) {
        cutset_free(&(*out)->set);
        return rv;
    }
    (*out)->next = revocation->kept;
    revocation->kept = *out;
    return 0;
}

static int keeps(struct txn *txn, struct revocation *revocation, const struct standpoint *at,
                 bool *out)
{
    struct kept *kept;
    *out = false;
    if (at == NULL || revocation->cut_count == 0) {
        return 0;
    }
    int rv = kept_of(txn, revocation, at->author_ix, &kept);
    *out = rv == 0 && cutset_has(&kept->set, at->n);
    return rv;
}

int link_carries(struct txn *txn, struct link *link, const struct standpoint *at, enum revoker last,
                 bool *out, const struct revocation **by)
{
    *out = true;
    int rv = link_revocations(txn, link);
    for (uint32_t i = 0; rv == 0 && *out && i < link->revocation_count; i++) {
        struct revocation *revocation = &link->revocations[i];
        enum revoker revoker;
        rv = revocation_counts(txn, link, revocation, last, &revoker);
        if (rv == 0 && revoker != REVOKER_NONE) {
            rv = keeps(txn, revocation, at, out);
            if (!*out && by != NULL) {
                *by = revocation;
            }
        }
    }
    return rv;
}
