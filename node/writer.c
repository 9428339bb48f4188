#include "node/writer.h"

#include <stdlib.h>

#include "node/refusal.h"
#include "node/rootkey.h"
#include "node/wall.h"
#include "oplog/chain.h"
#include "oplog/kinds.h"
#include "oplog/payload.h"
#include "projections/precondition.h"

/* Is the key the one this store was made with, and has its node an op, or none, as it should? */
static int check_self(struct txn *txn, const struct key *node, bool is_first)
{
    struct op_author self;
    struct author author;
    size_t len = sizeof(self.b);
    int rv = meta_get(txn, "node", self.b, &len);
    if (rv != 0 || len != sizeof(self.b)) {
        return rv == 0 || rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
    }
    if (memcmp(self.b, node->public, sizeof(self.b)) != 0) {
        return ERR_KEY_MISSING;
    }
    rv = author_find(txn, &self, &author);
    if (rv == ERR_UNKNOWN_ID) {
        return is_first ? 0 : ERR_UNKNOWN_AUTHOR;
    }
    return rv == 0 && is_first ? ERR_EXISTS : rv;
}

static int fail_writer(struct call *call, int err)
{
    if (err == ERR_UNKNOWN_AUTHOR) {
        return call_fail(
            call, err,
            "This node has not been admitted to its mesh yet, so nothing can be appended "
            "in %s: ask an owner of the mesh to `meshlog delegate` to it, then `meshlog accept`.",
            call->store);
    }
    if (err == ERR_EXISTS) {
        return call_fail(call, err,
                         "This node has been admitted already: the log in %s has its first op.",
                         call->store);
    }
    return call_fail_store(call, err);
}

/* Load the key before the store is opened for writing: whoever is asked for a passphrase may take
 * long, and others may write meanwhile. What is wrong with the store is told before what is wrong
 * with its key file. */
static int open_writer(struct call *call, bool is_first, struct writer *out)
{
    struct txn *txn;
    struct opened opened;
    *out = (struct writer){0};
    int key = open_own(call, KEY_NODE, &opened);
    out->node = opened.key;
    opened.key = NULL;
    opened_free(&opened);
    if (key == ERR_WRONG_PASSPHRASE) {
        return key;
    }
    int rv = call_open(call, STORE_WRITE, &out->store);
    if (rv != 0 || key != 0) {
        return rv != 0 ? rv : key;
    }
    rv = txn_begin_read(out->store, &txn);
    if (rv == 0) {
        rv = check_self(txn, out->node, is_first);
        txn_abort(txn);
    }
    return rv == 0 ? 0 : fail_writer(call, rv);
}

int writer_open(struct call *call, struct writer *out)
{
    return open_writer(call, false, out);
}

int writer_open_first(struct call *call, struct writer *out)
{
    return open_writer(call, true, out);
}

void writer_close(struct writer *writer)
{
    key_free(writer->node);
    store_close(writer->store);
    *writer = (struct writer){0};
}

static int do_once(struct writer *writer, uint64_t now_ms, bool keep, writer_work *work, void *ctx)
{
    struct txn *txn;
    struct chain_result unparked;
    int rv = txn_begin_write(writer->store, &txn);
    if (rv != 0) {
        return rv;
    }
    rv = chain_unpark(txn, now_ms, &unparked);
    if (rv == 0) {
        rv = work(ctx, txn);
    }
    if (rv != 0 || !keep) {
        txn_abort(txn);
        return rv;
    }
    return txn_commit(txn);
}

/* When the map was full it grows before the next transaction. */
static int do_work(struct writer *writer, uint64_t now_ms, bool keep, writer_work *work, void *ctx)
{
    int rv = do_once(writer, now_ms, keep, work, ctx);
    return rv == ERR_MAP_FULL ? do_once(writer, now_ms, keep, work, ctx) : rv;
}

/* The time of this node's last op that is not abandoned; 0 if it cannot be had. */
static uint64_t last_op_ms(struct writer *writer)
{
    struct op_author self;
    struct author author;
    struct head *heads = NULL;
    struct txn *txn;
    uint32_t count = 0;
    uint64_t last_ms = 0;
    memcpy(self.b, writer->node->public, sizeof(self.b));
    if (txn_begin_read(writer->store, &txn) != 0) {
        return 0;
    }
    if (author_find(txn, &self, &author) == 0 && heads_of(txn, author.ix, NULL, 0, &count) == 0) {
        heads = calloc(count + 1, sizeof(*heads));
    }
    if (heads != NULL && heads_of(txn, author.ix, heads, count, &count) == 0) {
        for (uint32_t i = 0; i < count; i++) {
            struct place place;
            uint64_t head_ms = op_id_wall_ms(&heads[i].id);
            if (order_get(txn, &heads[i].id, &heads[i].hash, &place) == 0 && !place.abandoned &&
                head_ms > last_ms) {
                last_ms = head_ms;
            }
        }
    }
    txn_abort(txn);
    free(heads);
    return last_ms;
}

static int fail_clock(struct call *call, struct writer *writer, uint64_t now_ms, bool abandons)
{
    char now[WALL_TEXT];
    char last[WALL_TEXT];
    wall_text(now_ms, true, now);
    wall_text(last_op_ms(writer), true, last);
    if (abandons) {
        return call_fail(call, ERR_CLOCK,
                         "This machine's clock says %s. Even this node's first op is later than "
                         "the clock: set the clock.",
                         now);
    }
    return call_fail(call, ERR_CLOCK,
                     "This machine's clock says %s, but this node's last op is from %s. If the "
                     "clock is wrong, set it. Only if it is right: `meshlog append Abandon "
                     "--payload '{}'` voids this node's ops dated after it.",
                     now, last);
}

int writer_do(struct call *call, struct writer *writer, uint64_t now_ms, bool keep,
              writer_work *work, void *ctx)
{
    call->message[0] = 0;
    int rv = do_work(writer, now_ms, keep, work, ctx);
    if (rv == 0 || call->message[0] != 0) {
        return rv;
    }
    return rv == ERR_CLOCK ? fail_clock(call, writer, now_ms, false) : fail_writer(call, rv);
}

/* Items to be appended. */
struct group {
    struct writer *writer;
    uint64_t now_ms;
    const struct append_item *items;
    uint32_t count;
    struct append_result *results;
};

/* Most ops name no version, and need not be read again to know. */
static bool may_name_version(struct bytes payload)
{
    return memmem(payload.data, payload.len, "if_version", strlen("if_version")) != NULL;
}

/* Is the version that an item names no longer that of its target? Then that is its verdict. */
static int check_version(struct txn *txn, const struct append_item *item,
                         struct append_result *result)
{
    struct arena arena;
    struct value fields;
    enum fold_rule rule = RULE_NONE;
    if (!may_name_version(item->payload)) {
        return 0;
    }
    arena_init(&arena, LIMIT_TREE_BYTES);
    int rv = payload_fields(&arena, item->payload, &fields);
    if (rv == 0) {
        rv = version_holds(txn, item->kind, &fields, &rule);
    }
    arena_free(&arena);
    if (rv == 0 && rule != RULE_NONE) {
        result->verdict = (struct verdict){
            .state = VERDICT_REJECTED, .reason = REASON_STALE_VERSION, .rule = (uint8_t)rule};
        rv = ERR_REFUSED;
    }
    return rv;
}

/* ERR_REFUSED: the verdict of one of them says why; the others have none. */
static int check_versions(const struct group *group, struct txn *txn)
{
    int rv = 0;
    memset(group->results, 0, group->count * sizeof(*group->results));
    for (uint32_t i = 0; rv == 0 && i < group->count; i++) {
        rv = check_version(txn, &group->items[i], &group->results[i]);
    }
    return rv;
}

static int append_items(void *ctx, struct txn *txn)
{
    const struct group *group = ctx;
    int rv = check_versions(group, txn);
    if (rv == 0) {
        rv = append_group(txn, group->writer->node, group->now_ms, group->items, group->count,
                          group->results);
    }
    for (uint32_t i = 0; rv == 0 && i < group->count; i++) {
        rv = verdict_refuses(&group->results[i].verdict) ? ERR_REFUSED : 0;
    }
    return rv;
}

static int try_items(void *ctx, struct txn *txn)
{
    const struct group *group = ctx;
    int rv = check_versions(group, txn);
    if (rv == 0) {
        rv = append_trial(txn, group->writer->node, group->now_ms, group->items, group->count,
                          group->results);
    }
    return rv == ERR_REFUSED ? 0 : rv; /* The results say so. */
}

static int do_group(struct call *call, struct group *group, bool keep, writer_work *work)
{
    int rv = do_work(group->writer, group->now_ms, keep, work, group);
    if (rv == ERR_CLOCK) {
        return fail_clock(call, group->writer, group->now_ms, group->items[0].kind == KIND_Abandon);
    }
    return rv == 0 || rv == ERR_REFUSED ? rv : fail_writer(call, rv);
}

int writer_append(struct call *call, struct writer *writer, uint64_t now_ms,
                  const struct append_item *items, uint32_t count, struct append_result *results)
{
    struct group group = {
        .writer = writer, .now_ms = now_ms, .items = items, .count = count, .results = results};
    return do_group(call, &group, true, append_items);
}

int writer_try(struct call *call, struct writer *writer, uint64_t now_ms,
               const struct append_item *items, uint32_t count, struct append_result *results)
{
    struct group group = {
        .writer = writer, .now_ms = now_ms, .items = items, .count = count, .results = results};
    return do_group(call, &group, false, try_items);
}
