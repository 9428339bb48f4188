#include <stdlib.h>

#include "base/limits.h"
#include "node/command.h"
#include "node/opview.h"
#include "node/parked.h"
#include "node/request.h"
#include "node/stop.h"
#include "node/wall.h"

/* A transaction is held for so many rows or bytes, and never while the output is written. */
#define CHUNK_ROWS 1000u
#define CHUNK_BYTES MIB(1)

#define FOLLOW_MS 200
#define FLUSH_ROWS 64u

/* With --limit the end of the log is searched for from this far back on. */
#define FIRST_SPAN_MS 1000u
#define SPAN_GROWTH 16u

struct listing {
    struct call *call;
    struct store *store;
    /* What is asked for. */
    bool has_author, has_kind, has_until, follow;
    struct op_author author;
    uint32_t kind;
    struct op_id after; /* Exclusive. */
    struct op_id until; /* Inclusive. */
    uint64_t limit;     /* 0 for none. */
    uint64_t end_n;     /* Ops that arrive later are not part of what is listed first. */
    /* The arrival numbers of the last ones that match, when there is a limit. */
    uint64_t *ring;
    uint64_t ring_size;
    uint64_t ring_count; /* Put in so far; the ring has the last of them. */
};

/* What is asked for --------------------------------------------------------------------- */

static int read_ids(struct listing *listing)
{
    struct call *call = listing->call;
    const struct value *since = value_get(call->request, "since");
    const struct value *until = value_get(call->request, "until");
    struct txn *txn;
    int rv = txn_begin_read(listing->store, &txn);
    if (rv != 0) {
        return call_fail_store(call, rv);
    }
    if (since != NULL) {
        rv = request_id(call, txn, since, &listing->after);
    }
    if (rv == 0 && until != NULL) {
        listing->has_until = true;
        rv = request_id(call, txn, until, &listing->until);
    }
    if (rv == 0) {
        rv = log_count(txn, &listing->end_n);
        rv = rv == 0 ? 0 : call_fail_store(call, rv);
    }
    txn_abort(txn);
    return rv;
}

static int read_filter(struct listing *listing)
{
    struct call *call = listing->call;
    const struct value *author = value_get(call->request, "author");
    const struct value *kind = value_get(call->request, "kind");
    int64_t limit = 0;
    int rv = 0;
    (void)value_get_bool(call->request, "follow", &listing->follow);
    (void)value_get_int(call->request, "limit", &limit);
    listing->limit = (uint64_t)limit;
    if (author != NULL) {
        listing->has_author = true;
        rv = request_author(call, author, &listing->author);
    }
    if (rv == 0 && kind != NULL) {
        listing->has_kind = true;
        rv = request_kind(call, kind, &listing->kind);
    }
    if (rv == 0 && listing->follow && value_get(call->request, "until") != NULL) {
        rv = call_fail(call, ERR_USAGE, "--follow has no end, so --until cannot stand beside it.");
    }
    return rv;
}

static bool matches(const struct listing *listing, const struct op_author *author,
                    const struct op *op)
{
    if (listing->has_kind && op->kind != listing->kind) {
        return false;
    }
    if (listing->has_author && memcmp(author->b, listing->author.b, sizeof(author->b)) != 0) {
        return false;
    }
    return op_id_compare(&op->id, &listing->after) > 0 &&
           (!listing->has_until || op_id_compare(&op->id, &listing->until) <= 0);
}

static int emit_item(struct listing *listing, const struct op_author *author,
                     const struct walk_item *item)
{
    struct arena *arena = listing->call->arena;
    struct value response = value_map();
    arena_reset(arena);
    op_view(arena, author, item, &response);
    return call_emit(listing->call, &response);
}

/* Walking in chunks --------------------------------------------------------------------- */

/* What to do with an op that matches. */
typedef int visit_fn(struct listing *listing, const struct op_author *author,
                     const struct walk_item *item);

/* One transaction's walk: how far it came. */
struct chunk {
    uint32_t rows;
    size_t bytes;
    bool at_end;
};

static bool chunk_is_full(const struct chunk *chunk)
{
    return chunk->rows >= CHUNK_ROWS || chunk->bytes >= CHUNK_BYTES;
}

static int visit_item(struct listing *listing, struct txn *txn, const struct walk_item *item,
                      visit_fn *visit)
{
    struct op_author author;
    if (item->row.n >= listing->end_n) {
        return 0;
    }
    int rv = author_key(txn, item->row.author_ix, &author);
    if (rv != 0) {
        return call_fail_store(listing->call, rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv);
    }
    return matches(listing, &author, &item->row.op) ? visit(listing, &author, item) : 0;
}

/* Visit ops in order after *last, which moves on. Twins share an id, so a chunk ends only where
 * the id changes. */
static int visit_chunk(struct listing *listing, struct txn *txn, struct op_id *last,
                       visit_fn *visit, struct chunk *chunk)
{
    struct walk walk;
    struct walk_item item;
    int rv = walk_order(txn, last, &walk);
    if (rv != 0) {
        return call_fail_store(listing->call, rv);
    }
    for (;;) {
        rv = walk_next(&walk, &item);
        if (rv != 0) {
            chunk->at_end = rv == ERR_UNKNOWN_ID;
            rv = chunk->at_end ? 0 : request_fail_walk(listing->call, &walk, rv);
            break;
        }
        bool past = listing->has_until && op_id_compare(&item.row.op.id, &listing->until) > 0;
        if (past || (chunk_is_full(chunk) && op_id_compare(&item.row.op.id, last) != 0)) {
            chunk->at_end = past;
            break;
        }
        rv = visit_item(listing, txn, &item, visit);
        if (rv != 0) {
            break;
        }
        *last = item.row.op.id;
        chunk->rows++;
        chunk->bytes += item.row.op.raw.len;
    }
    walk_end(&walk);
    return rv;
}

static int visit_order(struct listing *listing, const struct op_id *after, visit_fn *visit)
{
    struct op_id last = *after;
    struct chunk chunk = {.at_end = false};
    int rv = 0;
    while (rv == 0 && !chunk.at_end) {
        struct txn *txn;
        chunk = (struct chunk){.at_end = false};
        rv = txn_begin_read(listing->store, &txn);
        if (rv != 0) {
            return call_fail_store(listing->call, rv);
        }
        rv = visit_chunk(listing, txn, &last, visit, &chunk);
        txn_abort(txn);
        if (rv == 0) {
            rv = call_flush(listing->call);
        }
    }
    return rv;
}

/* Ops by arrival number: the one at *n and those after it. *n moves on. */
static int visit_arrivals(struct listing *listing, uint64_t *n, uint64_t max, visit_fn *visit)
{
    struct txn *txn;
    struct walk walk;
    struct walk_item item;
    struct chunk chunk = {.at_end = false};
    int rv = txn_begin_read(listing->store, &txn);
    if (rv != 0) {
        return call_fail_store(listing->call, rv);
    }
    rv = walk_arrival(txn, *n, &walk);
    while (rv == 0 && chunk.rows < max && !chunk_is_full(&chunk)) {
        rv = walk_next(&walk, &item);
        if (rv != 0) {
            rv = rv == ERR_UNKNOWN_ID ? rv : request_fail_walk(listing->call, &walk, rv);
            break;
        }
        listing->end_n = item.row.n >= listing->end_n ? item.row.n + 1 : listing->end_n;
        rv = visit_item(listing, txn, &item, visit);
        *n = item.row.n + 1;
        chunk.rows++;
        chunk.bytes += item.row.op.raw.len;
    }
    walk_end(&walk);
    txn_abort(txn);
    return rv;
}

/* The last ones ------------------------------------------------------------------------- */

static int remember(struct listing *listing, const struct op_author *author,
                    const struct walk_item *item)
{
    (void)author;
    listing->ring[listing->ring_count % listing->ring_size] = item->row.n;
    listing->ring_count++;
    return 0;
}

/* The id from which to look for the last ones: so far before the latest op; false when that is
 * before the beginning. */
static int look_back(struct listing *listing, uint64_t span_ms, struct op_id *from, bool *whole)
{
    struct txn *txn;
    struct op_id latest;
    struct node_id none = {{0}};
    *from = listing->after;
    *whole = true;
    int rv = txn_begin_read(listing->store, &txn);
    if (rv != 0) {
        return call_fail_store(listing->call, rv);
    }
    rv = order_latest(txn, wall_ms(), &latest);
    txn_abort(txn);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? 0 : call_fail_store(listing->call, rv);
    }
    if (listing->has_until && op_id_compare(&listing->until, &latest) < 0) {
        latest = listing->until;
    }
    uint64_t latest_ms = op_id_wall_ms(&latest);
    if (span_ms < latest_ms) {
        struct op_id bound = op_id_make(latest_ms - span_ms, 0, &none);
        if (op_id_compare(&bound, from) > 0) {
            *from = bound;
            *whole = false;
        }
    }
    return 0;
}

/* Fill the ring, from further and further back, until it is full or everything was seen. */
static int find_last(struct listing *listing)
{
    bool whole = false;
    int rv = 0;
    listing->ring_size = listing->limit < listing->end_n ? listing->limit : listing->end_n + 1;
    listing->ring = calloc(listing->ring_size, sizeof(listing->ring[0]));
    if (listing->ring == NULL) {
        return call_fail(listing->call, ERR_NO_MEMORY,
                         "There is not enough memory for that --limit.");
    }
    for (uint64_t span = FIRST_SPAN_MS; rv == 0 && !whole; span *= SPAN_GROWTH) {
        struct op_id from;
        listing->ring_count = 0;
        rv = look_back(listing, span, &from, &whole);
        if (rv == 0) {
            rv = visit_order(listing, &from, remember);
        }
        whole = whole || listing->ring_count >= listing->limit;
    }
    return rv;
}

static int emit_last(struct listing *listing, uint64_t count)
{
    uint64_t size = listing->ring_size;
    uint64_t have = listing->ring_count < size ? listing->ring_count : size;
    uint64_t skip = have > count ? have - count : 0;
    int rv = 0;
    for (uint64_t i = listing->ring_count - have + skip; rv == 0 && i < listing->ring_count; i++) {
        uint64_t n = listing->ring[i % size];
        rv = visit_arrivals(listing, &n, 1, emit_item);
        rv = rv == ERR_UNKNOWN_ID ? call_fail_store(listing->call, ERR_CORRUPT) : rv;
        if (rv == 0 && i % FLUSH_ROWS == 0) {
            rv = call_flush(listing->call);
        }
    }
    return rv;
}

/* Parked ops ---------------------------------------------------------------------------- */

struct parked_listing {
    struct listing *listing;
    uint64_t skip;
    uint64_t seen;
    bool emit;
};

static int visit_parked(void *ctx, const struct op_author *author, const struct walk_item *item)
{
    struct parked_listing *parked = ctx;
    if (!matches(parked->listing, author, &item->row.op)) {
        return 0;
    }
    bool skipped = parked->seen++ < parked->skip;
    return parked->emit && !skipped ? emit_item(parked->listing, author, item) : 0;
}

/* Count the parked ops that match, and emit them but the first skip. */
static int list_parked(struct listing *listing, bool emit, uint64_t skip, uint64_t *count)
{
    struct parked_listing parked = {.listing = listing, .emit = emit, .skip = skip};
    struct txn *txn;
    int rv = txn_begin_read(listing->store, &txn);
    if (rv == 0) {
        rv = parked_walk(txn, visit_parked, &parked);
        txn_abort(txn);
    }
    *count = parked.seen;
    return rv == 0 || listing->call->message[0] != 0 ? rv : call_fail_store(listing->call, rv);
}

/* The listing --------------------------------------------------------------------------- */

/* Parked ops stand after all others, so they are the first to count towards the limit. */
static int list_existing(struct listing *listing)
{
    uint64_t parked = 0;
    uint64_t skip = 0;
    int rv = 0;
    if (listing->limit == 0) {
        rv = visit_order(listing, &listing->after, emit_item);
    } else {
        rv = list_parked(listing, false, 0, &parked);
        skip = parked > listing->limit ? parked - listing->limit : 0;
        if (rv == 0) {
            rv = find_last(listing);
        }
        if (rv == 0) {
            rv = emit_last(listing, parked < listing->limit ? listing->limit - parked : 0);
        }
    }
    if (rv == 0) {
        rv = list_parked(listing, true, skip, &parked);
    }
    return rv != 0 ? rv : call_flush(listing->call);
}

static int follow(struct listing *listing)
{
    uint64_t next_n = listing->end_n;
    int rv = 0;
    stop_begin();
    while (rv == 0) {
        rv = visit_arrivals(listing, &next_n, UINT64_MAX, emit_item);
        bool caught_up = rv == ERR_UNKNOWN_ID;
        rv = caught_up || rv == 0 ? call_flush(listing->call) : rv;
        if (rv == 0 && caught_up) {
            enum stop_event event = stop_wait(-1, listing->call->sink->watch, FOLLOW_MS);
            if (event == STOP_SIGNAL || event == STOP_HANGUP) {
                break;
            }
        } else if (stop_signal() != 0) {
            break;
        }
    }
    return rv;
}

int run_log(struct call *call)
{
    struct listing listing = {.call = call};
    int rv = read_filter(&listing);
    if (rv == 0) {
        rv = call_open(call, STORE_READ, &listing.store);
    }
    if (rv != 0) {
        return rv;
    }
    rv = read_ids(&listing);
    if (rv == 0) {
        rv = list_existing(&listing);
    }
    if (rv == 0 && listing.follow) {
        rv = follow(&listing);
    }
    free(listing.ring);
    store_close(listing.store);
    return rv;
}
