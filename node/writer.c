#include "node/writer.h"

#include <stdlib.h>

#include "node/rootkey.h"
#include "node/wall.h"
#include "oplog/chain.h"
#include "oplog/kinds.h"

/* Is the key the one this store was made with, and its node admitted? */
static int check_self(struct txn *txn, const struct key *node)
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
    return rv == ERR_UNKNOWN_ID ? ERR_UNKNOWN_AUTHOR : rv;
}

static int fail_writer(struct call *call, int err)
{
    if (err == ERR_UNKNOWN_AUTHOR) {
        return call_fail(
            call, err,
            "This node has not been admitted to its mesh yet, so nothing can be appended "
            "in %s: ask an owner of the mesh to delegate to it first.",
            call->store);
    }
    return call_fail_store(call, err);
}

/* Load the key before the store is opened for writing: whoever is asked for a passphrase may take
 * long, and others may write meanwhile. What is wrong with the store is told before what is wrong
 * with its key file. */
int writer_open(struct call *call, struct writer *out)
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
        rv = check_self(txn, out->node);
        txn_abort(txn);
    }
    return rv == 0 ? 0 : fail_writer(call, rv);
}

void writer_close(struct writer *writer)
{
    key_free(writer->node);
    store_close(writer->store);
    *writer = (struct writer){0};
}

static int append_once(struct writer *writer, uint64_t now_ms, const struct append_item *items,
                       uint32_t count, struct append_result *results)
{
    struct txn *txn;
    struct chain_result unparked;
    int rv = txn_begin_write(writer->store, &txn);
    if (rv != 0) {
        return rv;
    }
    rv = chain_unpark(txn, now_ms, &unparked);
    if (rv == 0) {
        rv = append_group(txn, writer->node, now_ms, items, count, results);
    }
    if (rv != 0) {
        txn_abort(txn);
        return rv;
    }
    return txn_commit(txn);
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

static int fail_clock(struct call *call, struct writer *writer, uint64_t now_ms, uint32_t kind)
{
    char now[WALL_TEXT];
    char last[WALL_TEXT];
    wall_text(now_ms, true, now);
    wall_text(last_op_ms(writer), true, last);
    if (kind == KIND_Abandon) {
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

int writer_append(struct call *call, struct writer *writer, uint64_t now_ms,
                  const struct append_item *items, uint32_t count, struct append_result *results)
{
    int rv = append_once(writer, now_ms, items, count, results);
    if (rv == ERR_MAP_FULL) { /* The map grows before the next transaction. */
        rv = append_once(writer, now_ms, items, count, results);
    }
    if (rv == ERR_CLOCK) {
        return fail_clock(call, writer, now_ms, items[0].kind);
    }
    return rv == 0 ? 0 : fail_writer(call, rv);
}
