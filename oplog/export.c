#include "oplog/export.h"

#include "oplog/chain.h"

/* A read transaction is held for so many ops at most. */
#define CHUNK_OPS 4096u

struct exporting {
    struct store *store;
    bool has_author;
    struct author author;
    uint64_t n;     /* The next op to look at. */
    uint64_t end_n; /* Ops that arrive later are left out. */
    struct bundle_head head;
    struct bundle_writer writer;
    uint64_t done;
};

/* What is there at the beginning decides what is written. */
static int begin(struct exporting *e, const struct op_author *author)
{
    struct txn *txn;
    int rv = txn_begin_read(e->store, &txn);
    if (rv != 0) {
        return rv;
    }
    rv = log_count(txn, &e->end_n);
    e->head = (struct bundle_head){.mesh = *store_mesh(e->store), .ops = e->end_n};
    if (rv == 0 && author != NULL) {
        e->has_author = true;
        rv = author_find(txn, author, &e->author);
        rv = rv == ERR_UNKNOWN_ID ? ERR_UNKNOWN_AUTHOR : rv;
        e->head.ops = e->author.ops;
    }
    txn_abort(txn);
    return rv;
}

/* Go to the next op that is wanted, at most to a limit. Runs arrive whole, so it begins one. */
static int skip_others(struct exporting *e, struct txn *txn, uint64_t limit)
{
    int rv = 0;
    while (e->has_author && rv == 0 && e->n < limit) {
        struct row row;
        rv = log_row(txn, e->n, &row);
        if (rv == 0 && row.author_ix == e->author.ix) {
            return 0;
        }
        e->n++;
    }
    return rv;
}

/* Put some thousand ops into the writer's buffer. */
static int put_chunk(struct exporting *e, struct txn *txn)
{
    uint64_t limit = e->end_n - e->n > CHUNK_OPS ? e->n + CHUNK_OPS : e->end_n;
    int rv = skip_others(e, txn, limit);
    while (rv == 0 && e->n < limit && !bundle_is_full(&e->writer)) {
        size_t mark;
        uint64_t next = e->n;
        struct buf *out = bundle_segment_begin(&e->writer, &mark);
        rv = chain_read_until(txn, e->n, e->end_n, out, &next);
        if (rv == 0) {
            bundle_segment_end(&e->writer, mark);
            e->done += next - e->n;
            e->n = next;
            rv = skip_others(e, txn, limit);
        }
    }
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv; /* There are no gaps. */
}

static int read_chunk(struct exporting *e)
{
    struct txn *txn;
    int rv = txn_begin_read(e->store, &txn);
    if (rv == 0) {
        rv = put_chunk(e, txn);
        txn_abort(txn);
    }
    return rv;
}

static int write_all(struct exporting *e, bool *of_store)
{
    const struct bundle_watch *watch = e->writer.watch;
    while (e->n < e->end_n) {
        int rv = read_chunk(e);
        if (rv != 0) {
            *of_store = true;
            return rv;
        }
        if (bundle_is_full(&e->writer)) {
            rv = bundle_flush(&e->writer);
        }
        if (rv != 0) {
            return rv;
        }
        if (watch != NULL && watch->progress != NULL) {
            watch->progress(watch->ctx, e->done, e->head.ops);
        }
    }
    if (e->done != e->head.ops) { /* The author's count, or a run, is wrong. */
        *of_store = true;
        return ERR_CORRUPT;
    }
    bundle_end(&e->writer);
    return bundle_flush(&e->writer);
}

int export_store(struct store *store, const struct op_author *author, int fd,
                 const struct bundle_watch *watch, struct export_result *out)
{
    struct exporting e = {.store = store};
    *out = (struct export_result){.of_store = true};
    int rv = begin(&e, author);
    if (rv != 0) {
        return rv;
    }
    out->of_store = false;
    bundle_begin(&e.writer, fd, &e.head, watch);
    rv = write_all(&e, &out->of_store);
    out->ops = e.done;
    out->bytes = e.writer.bytes;
    out->why = e.writer.why;
    bundle_writer_free(&e.writer);
    return rv;
}
