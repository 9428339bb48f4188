#include "oplog/log.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>

#include "base/limits.h"
#include "oplog/clock.h"
#include "oplog/db.h"

/* Layouts (spec/store.md):
 *   log          n 8                            flags 1 ‖ author ix 4 ‖ op
 *   order        id 16 ‖ hash 16                n 8 ‖ state 1 ‖ reason 1
 *   authors      key 32                         ix 4 ‖ parked bytes 4 ‖ ops 8
 *   author_keys  ix 4                           key 32
 *   heads        author ix 4 ‖ hash 32          seq 8 ‖ id 16 ‖ n 8 */
#define HASH_PART 16u
#define LOG_PREFIX 5u
#define FLAG_PAYLOAD 0x03u
#define FLAG_SIGNATURE 0x04u
#define STATE_BITS 0x03u
#define STATE_USER 0x40u
#define STATE_ABANDONED 0x80u
#define PLACE_BYTES 10u
#define OUTCOME_BYTES 2u /* There only where the folds refused the op. */

struct order_key {
    uint8_t b[sizeof(struct op_id) + HASH_PART];
};

struct head_key {
    uint8_t b[4 + sizeof(struct op_hash)];
};

#define KEY_BYTES(key) bytes_of((key).b, sizeof((key).b))

static struct order_key order_key(const struct op_id *id, const struct op_hash *hash)
{
    struct order_key key;
    memcpy(key.b, id->b, sizeof(id->b));
    memcpy(key.b + sizeof(id->b), hash->b, HASH_PART);
    return key;
}

static struct head_key head_key(uint32_t ix, const struct op_hash *hash)
{
    struct head_key key;
    be_put(key.b, 4, ix);
    memcpy(key.b + 4, hash->b, sizeof(hash->b));
    return key;
}

/* The log ----------------------------------------------------------------------------- */

int log_count(struct txn *txn, uint64_t *out)
{
    if (!txn->next_n_known) {
        struct db_cursor *cursor;
        struct bytes key = {0};
        struct bytes value;
        int rv = db_cursor(txn, DB_log, &cursor);
        if (rv != 0) {
            return rv;
        }
        rv = db_step(cursor, MDB_LAST, &key, &value);
        if (rv != 0 && rv != ERR_UNKNOWN_ID) {
            return rv;
        }
        if (rv == 0 && key.len != 8) {
            return ERR_CORRUPT;
        }
        uint64_t rows;
        txn->next_n = rv == 0 ? be_get(key.data, 8) + 1 : 0;
        rv = db_count(txn, DB_log, &rows);
        if (rv != 0 || rows != txn->next_n) { /* There are no gaps. */
            return rv != 0 ? rv : ERR_CORRUPT;
        }
        txn->next_n_known = true;
    }
    *out = txn->next_n;
    return 0;
}

int log_row_read(uint64_t n, struct bytes value, struct row *out)
{
    if (value.len < LOG_PREFIX) {
        return ERR_CORRUPT;
    }
    uint8_t flags = value.data[0];
    uint8_t state = flags & FLAG_PAYLOAD;
    if (state > PAYLOAD_FULL) {
        return ERR_CORRUPT;
    }
    out->n = n;
    out->payload_state = (enum payload_state)state;
    out->signature_checked = (flags & FLAG_SIGNATURE) != 0;
    out->author_ix = (uint32_t)be_get(value.data + 1, 4);
    struct bytes raw = bytes_of(value.data + LOG_PREFIX, value.len - LOG_PREFIX);
    return op_decode(raw, &out->op) == 0 ? 0 : ERR_CORRUPT;
}

int log_row(struct txn *txn, uint64_t n, struct row *out)
{
    uint8_t key[8];
    struct bytes value;
    be_put(key, sizeof(key), n);
    int rv = db_get(txn, DB_log, bytes_of(key, sizeof(key)), &value);
    return rv != 0 ? rv : log_row_read(n, value, out);
}

/* Flags, author and op go straight into the page. */
static int put_row(struct txn *txn, uint64_t n, uint8_t flags, uint32_t ix, struct bytes raw,
                   unsigned how)
{
    uint8_t key[8];
    uint8_t prefix[LOG_PREFIX] = {flags};
    struct db_cursor *cursor;
    be_put(key, sizeof(key), n);
    be_put(prefix + 1, 4, ix);
    int rv = db_cursor(txn, DB_log, &cursor);
    if (rv != 0) {
        return rv;
    }
    return db_put_at(cursor, bytes_of(key, sizeof(key)), bytes_of(prefix, sizeof(prefix)), raw,
                     how);
}

static uint8_t row_flags(enum payload_state state, bool signature_checked)
{
    return (uint8_t)((unsigned)state | (signature_checked ? FLAG_SIGNATURE : 0));
}

/* Have rows been lost at the end? The order still knows their numbers, which must not be given
 * away: they can be repaired. Looked at once, before the first op of a transaction. */
static int check_end(struct txn *txn)
{
    uint64_t count;
    uint64_t ordered;
    if (txn->next_n_known) {
        return 0;
    }
    int rv = log_count(txn, &count);
    if (rv == 0) {
        rv = db_count(txn, DB_order, &ordered);
    }
    return rv == 0 && ordered > count ? ERR_CORRUPT : rv;
}

int log_append(struct txn *txn, struct row *row)
{
    int rv = check_end(txn);
    if (rv == 0) {
        rv = log_count(txn, &row->n);
    }
    if (rv != 0) {
        return rv;
    }
    uint8_t flags = row_flags(row->payload_state, row->signature_checked);
    rv = put_row(txn, row->n, flags, row->author_ix, row->op.raw, MDB_APPEND);
    if (rv != 0) {
        return rv;
    }
    txn->next_n++;
    txn->appended++;
    return 0;
}

int log_replace(struct txn *txn, const struct row *row, struct bytes raw, enum payload_state state)
{
    uint8_t flags = row_flags(state, row->signature_checked);
    return put_row(txn, row->n, flags, row->author_ix, raw, 0);
}

/* The order --------------------------------------------------------------------------- */

/* It is here: the chain was checked. */
int log_prev(struct txn *txn, const struct row *row, uint32_t i, uint64_t *n)
{
    const struct op_hash *hash = op_prev(&row->op, i);
    int rv = run_find(txn, row->author_ix, row->op.seq - 1, hash, n);
    if (rv == ERR_UNKNOWN_ID && row->op.prev_count > 1) {
        rv = run_search(txn, row->author_ix, row->op.seq - 1, hash, n);
    }
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

static int place_read(struct bytes value, struct place *out)
{
    if (value.len != PLACE_BYTES && value.len != PLACE_BYTES + OUTCOME_BYTES) {
        return ERR_CORRUPT;
    }
    out->n = be_get(value.data, 8);
    out->abandoned = (value.data[8] & STATE_ABANDONED) != 0;
    out->user = (value.data[8] & STATE_USER) != 0;
    out->verdict = (struct verdict){.state = value.data[8] & STATE_BITS, .reason = value.data[9]};
    out->outcome = (struct verdict){.state = VERDICT_APPLIED};
    if (value.len > PLACE_BYTES) {
        out->outcome = (struct verdict){.state = value.data[10] < REASON_SCHEMA ? VERDICT_PENDING
                                                                                : VERDICT_REJECTED,
                                        .reason = value.data[10],
                                        .rule = value.data[11]};
    }
    return 0;
}

int order_read(struct bytes key, struct bytes value, struct op_id *id, struct op_hash *part,
               struct place *out)
{
    if (key.len != sizeof(struct order_key)) {
        return ERR_CORRUPT;
    }
    *part = (struct op_hash){{0}};
    memcpy(id->b, key.data, sizeof(id->b));
    memcpy(part->b, key.data + sizeof(id->b), HASH_PART);
    return place_read(value, out);
}

int order_get(struct txn *txn, const struct op_id *id, const struct op_hash *hash,
              struct place *out)
{
    struct order_key key = order_key(id, hash);
    struct bytes value;
    int rv = db_get(txn, DB_order, KEY_BYTES(key), &value);
    return rv != 0 ? rv : place_read(value, out);
}

int order_put(struct txn *txn, const struct op_id *id, const struct op_hash *hash,
              const struct place *place)
{
    struct db_cursor *cursor;
    int rv = db_cursor(txn, DB_order, &cursor);
    if (rv != 0) {
        return rv;
    }
    struct order_key key = order_key(id, hash);
    uint8_t value[PLACE_BYTES + OUTCOME_BYTES];
    bool refused = place->outcome.state != VERDICT_APPLIED;
    be_put(value, 8, place->n);
    value[8] = (uint8_t)(place->verdict.state | (place->user ? STATE_USER : 0) |
                         (place->abandoned ? STATE_ABANDONED : 0));
    value[9] = place->verdict.reason;
    value[10] = place->outcome.reason;
    value[11] = place->outcome.rule;
    return db_put_at(cursor, KEY_BYTES(key), bytes_of(value, PLACE_BYTES),
                     bytes_of(value + PLACE_BYTES, refused ? OUTCOME_BYTES : 0), 0);
}

int order_standing(struct txn *txn, const struct op_id *id, struct op_hash *part, struct place *out)
{
    *part = (struct op_hash){{0}};
    for (bool first = true;; first = false) {
        int rv = order_next_of(txn, id, first, part->b, out);
        if (rv != 0 || out->verdict.state == VERDICT_APPLIED) {
            return rv;
        }
    }
}

/* Did the op arrive in this transaction, since the folds last ran? What becomes of such an op is no
 * change. */
static int is_new(struct txn *txn, uint64_t n, bool *out)
{
    uint64_t count;
    int rv = log_count(txn, &count);
    *out = rv == 0 && n >= count - txn->appended;
    return rv;
}

static int tell_outcome(struct txn *txn, const struct op_id *id, const struct place *place,
                        struct verdict outcome)
{
    struct row row;
    bool new;
    int rv = is_new(txn, place->n, &new);
    if (rv != 0 || new) {
        return rv;
    }
    rv = log_row(txn, place->n, &row);
    if (rv != 0) {
        return rv;
    }
    struct op_hash hash = op_hash(&row.op);
    const struct store *store = txn->store;
    return store->changed_verdict(store->changed_ctx, id, &hash, place->outcome, outcome);
}

int order_put_outcome(struct txn *txn, const struct op_id *id, const struct op_hash *part,
                      const struct place *place, struct verdict outcome)
{
    struct place changed = *place;
    changed.outcome = outcome;
    int rv = order_put(txn, id, part, &changed);
    return rv == 0 && txn->store->changed_verdict != NULL ? tell_outcome(txn, id, place, outcome)
                                                          : rv;
}

int order_resolve(struct txn *txn, const struct op_id *low, const struct op_id *high,
                  struct place *out, unsigned *count)
{
    struct db_cursor *cursor;
    struct bytes key;
    struct bytes value;
    int rv = db_cursor(txn, DB_order, &cursor);
    if (rv != 0) {
        return rv;
    }
    *count = 0;
    rv = db_seek(cursor, bytes_of(low->b, sizeof(low->b)), &key, &value);
    while (rv == 0 && key.len == sizeof(struct order_key) &&
           memcmp(key.data, high->b, sizeof(high->b)) <= 0) {
        if (*count == 0) {
            rv = place_read(value, out);
            if (rv != 0) {
                return rv;
            }
        }
        if (++*count == 2) {
            return 0;
        }
        rv = db_step(cursor, MDB_NEXT, &key, &value);
    }
    if (rv != 0 && rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    return *count > 0 ? 0 : ERR_UNKNOWN_ID;
}

int order_next_of(struct txn *txn, const struct op_id *id, bool first, uint8_t part[16],
                  struct place *out)
{
    uint8_t from[sizeof(struct order_key)];
    struct db_cursor *cursor;
    struct bytes key;
    struct bytes value;
    memcpy(from, id->b, sizeof(id->b));
    memcpy(from + sizeof(id->b), part, 16);
    if (!first && !be_increment(from, sizeof(from))) {
        return ERR_UNKNOWN_ID;
    }
    int rv = db_cursor(txn, DB_order, &cursor);
    if (rv == 0) {
        rv = db_seek(cursor, bytes_of(from, sizeof(from)), &key, &value);
    }
    if (rv == 0 && key.len != sizeof(struct order_key)) {
        rv = ERR_CORRUPT;
    }
    if (rv == 0 && memcmp(key.data, id->b, sizeof(id->b)) != 0) {
        rv = ERR_UNKNOWN_ID;
    }
    if (rv != 0) {
        return rv;
    }
    memcpy(part, key.data + sizeof(id->b), 16);
    return place_read(value, out);
}

int order_has(struct txn *txn, const struct op_id *id, bool *out)
{
    struct db_cursor *cursor;
    struct bytes key;
    struct bytes value;
    int rv = db_cursor(txn, DB_order, &cursor);
    if (rv == 0) {
        rv = db_seek(cursor, bytes_of(id->b, sizeof(id->b)), &key, &value);
    }
    if (rv == 0 && key.len != sizeof(struct order_key)) {
        rv = ERR_CORRUPT;
    }
    *out = rv == 0 && memcmp(key.data, id->b, sizeof(id->b)) == 0;
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

int order_ids_after(struct txn *txn, const struct op_id *after, uint32_t max, struct buf *out)
{
    struct op_id from = *after;
    struct db_cursor *cursor;
    struct bytes key;
    struct bytes value;
    int rv = be_increment(from.b, sizeof(from.b)) ? db_cursor(txn, DB_order, &cursor)
                                                  : ERR_UNKNOWN_ID;
    if (rv == 0) {
        rv = db_seek(cursor, bytes_of(from.b, sizeof(from.b)), &key, &value);
    }
    for (uint32_t count = 0; rv == 0 && count < max; count++) {
        if (key.len != sizeof(struct order_key)) {
            return ERR_CORRUPT;
        }
        buf_put(out, key.data, sizeof(from.b));
        rv = db_step(cursor, MDB_NEXT, &key, &value);
    }
    return rv == ERR_UNKNOWN_ID ? buf_error(out) : rv;
}

int order_latest(struct txn *txn, uint64_t now_ms, struct op_id *out)
{
    struct db_cursor *cursor;
    int rv = db_cursor(txn, DB_order, &cursor);
    if (rv != 0) {
        return rv;
    }
    struct bytes key = {0};
    struct bytes value;
    rv = ERR_UNKNOWN_ID; /* Near the end of time nothing can be ahead. */
    if (now_ms < CLOCK_WALL_MAX - LIMIT_SKEW_MS) {
        struct node_id none = {{0}};
        struct op_id first_ahead = op_id_make(now_ms + LIMIT_SKEW_MS + 1, 0, &none);
        rv = db_seek(cursor, bytes_of(first_ahead.b, sizeof(first_ahead.b)), &key, &value);
    }
    if (rv != 0 && rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    rv = db_step(cursor, rv == 0 ? MDB_PREV : MDB_LAST, &key, &value);
    if (rv != 0) {
        return rv;
    }
    if (key.len != sizeof(struct order_key)) {
        return ERR_CORRUPT;
    }
    memcpy(out->b, key.data, sizeof(out->b));
    return 0;
}

/* Authors and heads ------------------------------------------------------------------- */

int author_read(struct bytes key, struct bytes value, struct author *out)
{
    if (key.len != sizeof(out->key.b) || value.len != 16) {
        return ERR_CORRUPT;
    }
    memcpy(out->key.b, key.data, key.len);
    out->ix = (uint32_t)be_get(value.data, 4);
    out->parked_bytes = (uint32_t)be_get(value.data + 4, 4);
    out->ops = be_get(value.data + 8, 8);
    return 0;
}

int author_find(struct txn *txn, const struct op_author *key, struct author *out)
{
    struct bytes value;
    struct bytes name = KEY_BYTES(*key);
    int rv = db_get(txn, DB_authors, name, &value);
    return rv != 0 ? rv : author_read(name, value, out);
}

int author_next(struct txn *txn, const struct op_author *key, struct author *out)
{
    struct db_cursor *cursor;
    struct bytes found;
    struct bytes value;
    int rv = db_cursor(txn, DB_authors, &cursor);
    if (rv != 0) {
        return rv;
    }
    rv = db_seek(cursor, KEY_BYTES(*key), &found, &value);
    return rv != 0 ? rv : author_read(found, value, out);
}

int author_key(struct txn *txn, uint32_t ix, struct op_author *out)
{
    uint8_t name[4];
    struct bytes value;
    be_put(name, sizeof(name), ix);
    int rv = db_get(txn, DB_author_keys, bytes_of(name, sizeof(name)), &value);
    if (rv != 0) {
        return rv;
    }
    if (value.len != sizeof(out->b)) {
        return ERR_CORRUPT;
    }
    memcpy(out->b, value.data, value.len);
    return 0;
}

int author_put(struct txn *txn, const struct author *author)
{
    uint8_t value[16];
    be_put(value, 4, author->ix);
    be_put(value + 4, 4, author->parked_bytes);
    be_put(value + 8, 8, author->ops);
    return db_put(txn, DB_authors, KEY_BYTES(author->key), bytes_of(value, sizeof(value)));
}

int author_add(struct txn *txn, const struct op_author *key, struct author *out)
{
    uint64_t count;
    int rv = db_count(txn, DB_author_keys, &count);
    if (rv != 0) {
        return rv;
    }
    if (count > UINT32_MAX) {
        return ERR_LIMIT;
    }
    *out = (struct author){.key = *key, .ix = (uint32_t)count};
    uint8_t name[4];
    be_put(name, sizeof(name), out->ix);
    rv = db_put(txn, DB_author_keys, bytes_of(name, sizeof(name)), KEY_BYTES(*key));
    return rv != 0 ? rv : author_put(txn, out);
}

int head_read(struct bytes key, struct bytes value, struct head *out)
{
    if (key.len != sizeof(struct head_key) || value.len != 32) {
        return ERR_CORRUPT;
    }
    memcpy(out->hash.b, key.data + 4, sizeof(out->hash.b));
    out->seq = be_get(value.data, 8);
    memcpy(out->id.b, value.data + 8, sizeof(out->id.b));
    out->n = be_get(value.data + 24, 8);
    return 0;
}

int head_get(struct txn *txn, uint32_t ix, const struct op_hash *hash, struct head *out)
{
    struct head_key key = head_key(ix, hash);
    struct bytes value;
    int rv = db_get(txn, DB_heads, KEY_BYTES(key), &value);
    return rv != 0 ? rv : head_read(KEY_BYTES(key), value, out);
}

int head_put(struct txn *txn, uint32_t ix, const struct head *head)
{
    struct head_key key = head_key(ix, &head->hash);
    uint8_t value[32];
    be_put(value, 8, head->seq);
    memcpy(value + 8, head->id.b, sizeof(head->id.b));
    be_put(value + 24, 8, head->n);
    return db_put(txn, DB_heads, KEY_BYTES(key), bytes_of(value, sizeof(value)));
}

int head_delete(struct txn *txn, uint32_t ix, const struct op_hash *hash)
{
    struct head_key key = head_key(ix, hash);
    return db_delete(txn, DB_heads, KEY_BYTES(key));
}

int heads_of(struct txn *txn, uint32_t ix, struct head *out, uint32_t max, uint32_t *count)
{
    struct db_cursor *cursor;
    struct bytes key;
    struct bytes value;
    struct op_hash none = {{0}};
    struct head_key from = head_key(ix, &none);
    *count = 0;
    int rv = db_cursor(txn, DB_heads, &cursor);
    if (rv != 0) {
        return rv;
    }
    rv = db_seek(cursor, KEY_BYTES(from), &key, &value);
    while (rv == 0 && key.len == sizeof(from.b) && be_get(key.data, 4) == ix) {
        if (*count < max) {
            rv = head_read(key, value, &out[*count]);
            if (rv != 0) {
                return rv;
            }
        }
        ++*count;
        rv = db_step(cursor, MDB_NEXT, &key, &value);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Authors ascend by key and heads by hash, so the hash is a function of the set. */
int frontier_hash(struct txn *txn, struct op_hash *out, uint64_t *ops)
{
    static const char context[] = "meshlog frontier 1";
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, sizeof(out->b));
    crypto_generichash_update(&state, (const uint8_t *)context, sizeof(context) - 1);
    *ops = 0;
    struct db_cursor *cursor;
    int rv = db_cursor(txn, DB_authors, &cursor);
    if (rv != 0) {
        return rv;
    }
    struct bytes key = {0};
    struct bytes value;
    for (rv = db_step(cursor, MDB_FIRST, &key, &value); rv == 0;
         rv = db_step(cursor, MDB_NEXT, &key, &value)) {
        struct author author;
        rv = author_read(key, value, &author);
        if (rv != 0) {
            return rv;
        }
        *ops += author.ops;
        crypto_generichash_update(&state, author.key.b, sizeof(author.key.b));
        struct db_cursor *heads;
        struct op_hash none = {{0}};
        struct head_key from = head_key(author.ix, &none);
        struct bytes head;
        rv = db_cursor(txn, DB_heads, &heads);
        if (rv != 0) {
            return rv;
        }
        rv = db_seek(heads, KEY_BYTES(from), &head, &value);
        while (rv == 0 && head.len == sizeof(from.b) && be_get(head.data, 4) == author.ix) {
            crypto_generichash_update(&state, head.data + 4, sizeof(struct op_hash));
            rv = db_step(heads, MDB_NEXT, &head, &value);
        }
        if (rv != 0 && rv != ERR_UNKNOWN_ID) {
            return rv;
        }
    }
    crypto_generichash_final(&state, out->b, sizeof(out->b));
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Walks ------------------------------------------------------------------------------- */

enum { BY_ORDER, BY_AUTHOR, BY_ARRIVAL };

static const enum db walk_db[] = {
    [BY_ORDER] = DB_order, [BY_AUTHOR] = DB_chains, [BY_ARRIVAL] = DB_log};

static int walk_begin(struct txn *txn, int by, struct bytes from, struct walk *out)
{
    assert(from.len <= sizeof(out->from));
    *out = (struct walk){.txn = txn, .by = by, .from_len = from.len};
    memcpy(out->from, from.data, from.len);
    struct db_cursor *cursor = calloc(1, sizeof(*cursor));
    if (cursor == NULL) {
        return ERR_NO_MEMORY;
    }
    out->cursor = cursor;
    int rv = db_cursor_open(txn, walk_db[by], cursor);
    if (rv != 0) {
        walk_end(out);
    }
    return rv;
}

int walk_order(struct txn *txn, const struct op_id *after, struct walk *out)
{
    struct op_id from = {{0}};
    if (after != NULL) { /* The next greater id; after the greatest of all comes none. */
        from = *after;
        size_t i = sizeof(from.b);
        while (i > 0 && ++from.b[i - 1] == 0) {
            i--;
        }
        if (i == 0) {
            memset(from.b, 0xff, sizeof(from.b));
        }
    }
    return walk_begin(txn, BY_ORDER, bytes_of(from.b, sizeof(from.b)), out);
}

int walk_author(struct txn *txn, uint32_t ix, uint64_t from_seq, struct walk *out)
{
    uint8_t from[12];
    uint64_t reach = LIMIT_SEGMENT_OPS - 1; /* A run that begins so far below may reach up. */
    be_put(from, 4, ix);
    be_put(from + 4, 8, from_seq > reach ? from_seq - reach : 0);
    int rv = walk_begin(txn, BY_AUTHOR, bytes_of(from, sizeof(from)), out);
    out->run.author_ix = ix;
    out->from_seq = from_seq;
    return rv;
}

int walk_arrival(struct txn *txn, uint64_t from_n, struct walk *out)
{
    uint8_t from[8];
    be_put(from, sizeof(from), from_n);
    return walk_begin(txn, BY_ARRIVAL, bytes_of(from, sizeof(from)), out);
}

void walk_end(struct walk *walk)
{
    if (walk->cursor != NULL) {
        db_cursor_close(walk->cursor);
        free(walk->cursor);
        walk->cursor = NULL;
    }
}

static int walk_step(struct walk *walk, struct bytes *key, struct bytes *value)
{
    *key = (struct bytes){0};
    if (walk->from_len == 0) {
        return db_step(walk->cursor, MDB_NEXT, key, value);
    }
    struct bytes from = bytes_of(walk->from, walk->from_len);
    walk->from_len = 0;
    return db_seek(walk->cursor, from, key, value);
}

/* What a walk gives out is good: the payload is the one of the header. */
static int item_check(struct walk *walk, struct walk_item *out)
{
    enum payload_state state;
    out->hash = op_hash(&out->row.op);
    walk->at = out->row.op.id;
    walk->at_known = true;
    int rv = op_check_payload(&out->row.op, &state);
    return rv == 0 && state == out->row.payload_state ? 0 : ERR_CORRUPT;
}

static int item_from_n(struct walk *walk, uint64_t n, struct walk_item *out)
{
    int rv = log_row(walk->txn, n, &out->row);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
    }
    return item_check(walk, out);
}

static int item_place(struct txn *txn, struct walk_item *out)
{
    int rv = order_get(txn, &out->row.op.id, &out->hash, &out->place);
    if (rv == 0 && out->place.n != out->row.n) {
        return ERR_CORRUPT;
    }
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

static int next_by_order(struct walk *walk, struct walk_item *out)
{
    struct bytes key;
    struct bytes value;
    int rv = walk_step(walk, &key, &value);
    if (rv != 0) {
        return rv;
    }
    struct order_key kept;
    rv = key.len == sizeof(kept.b) ? place_read(value, &out->place) : ERR_CORRUPT;
    if (rv != 0) {
        return rv;
    }
    memcpy(kept.b, key.data, sizeof(kept.b));
    memcpy(walk->at.b, key.data, sizeof(walk->at.b));
    walk->at_known = true;
    rv = item_from_n(walk, out->place.n, out);
    if (rv != 0) {
        return rv;
    }
    struct order_key found = order_key(&out->row.op.id, &out->hash);
    return memcmp(found.b, kept.b, sizeof(kept.b)) == 0 ? 0 : ERR_CORRUPT;
}

static int next_by_author(struct walk *walk, struct walk_item *out)
{
    uint32_t author_ix = walk->run.author_ix;
    while (walk->run.count == 0 || walk->run.seq < walk->from_seq) {
        struct bytes key;
        struct bytes value;
        if (walk->run.count > 0) { /* An op below the wanted ones. */
            walk->run.seq++;
            walk->run.n++;
            walk->run.count--;
            continue;
        }
        int rv = walk_step(walk, &key, &value);
        if (rv == 0) {
            rv = run_read(key, value, &walk->run);
        }
        if (rv == 0 && walk->run.author_ix != author_ix) {
            rv = ERR_UNKNOWN_ID;
        }
        if (rv != 0) {
            return rv;
        }
    }
    int rv = item_from_n(walk, walk->run.n, out);
    walk->run.seq++;
    walk->run.n++;
    walk->run.count--;
    return rv != 0 ? rv : item_place(walk->txn, out);
}

static int next_by_arrival(struct walk *walk, struct walk_item *out)
{
    struct bytes key;
    struct bytes value;
    int rv = walk_step(walk, &key, &value);
    if (rv == 0) {
        rv = key.len == 8 ? log_row_read(be_get(key.data, 8), value, &out->row) : ERR_CORRUPT;
    }
    if (rv != 0) {
        return rv;
    }
    rv = item_check(walk, out);
    return rv != 0 ? rv : item_place(walk->txn, out);
}

int walk_next(struct walk *walk, struct walk_item *out)
{
    walk->at_known = false;
    switch (walk->by) {
    case BY_ORDER:
        return next_by_order(walk, out);
    case BY_AUTHOR:
        return next_by_author(walk, out);
    default:
        return next_by_arrival(walk, out);
    }
}
