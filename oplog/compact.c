#include "oplog/compact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "oplog/clock.h"
#include "oplog/content.h"
#include "oplog/db.h"
#include "oplog/erasures.h"
#include "oplog/kinds.h"
#include "oplog/log.h"
#include "oplog/pages.h"
#include "oplog/payload.h"

/* Stubs --------------------------------------------------------------------------------- */

struct stubbing {
    uint64_t now_ms;
    bool final;
    struct erase_target at; /* The erased op that was looked at last. */
    struct buf stub;
    struct compact_result *result;
};

static bool is_due(const struct stubbing *work, uint64_t since_ms)
{
    return work->final ||
           (since_ms <= work->now_ms && work->now_ms - since_ms >= LIMIT_ERASE_GRACE_MS);
}

/* The row of an op that is void as erased. ERR_UNKNOWN_ID if it is not here. */
static int find_erased(struct txn *txn, const struct erase_target *target, struct row *out)
{
    struct place place;
    int rv = order_get(txn, &target->id, &target->hash, &place);
    if (rv == 0) {
        rv = log_row(txn, place.n, out);
        rv = rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
    }
    if (rv != 0) {
        return rv;
    }
    struct op_hash hash = op_hash(&out->op);
    bool same = op_hash_equal(&hash, &target->hash) && verdict_is_erased(&place.verdict) &&
                !kind_is_control(out->op.kind);
    return same ? 0 : ERR_UNKNOWN_ID;
}

/* The op with its payload's stub; a payload that has no sections goes whole. */
static int make_stub(const struct row *row, struct buf *out, enum payload_state *state)
{
    buf_clear(out);
    buf_put(out, row->op.raw.data, row->op.raw.len - row->op.payload.len);
    size_t before = out->len;
    int rv = payload_stub(row->op.payload, row->payload_state == PAYLOAD_FULL, out);
    *state = out->len > before ? PAYLOAD_REDACTED : PAYLOAD_ABSENT;
    return rv != 0 ? rv : buf_error(out);
}

static void note_waiting(struct compact_result *result, uint64_t since_ms)
{
    result->waiting++;
    if (since_ms <= CLOCK_WALL_MAX) {
        uint64_t due_ms = since_ms + LIMIT_ERASE_GRACE_MS;
        result->due_ms = result->due_ms == 0 || due_ms < result->due_ms ? due_ms : result->due_ms;
    }
}

/* A damaged row is verify's to name; the others need not wait for its repair. */
static int stub_one(struct txn *txn, struct stubbing *work, uint64_t since_ms)
{
    struct row row;
    enum payload_state state;
    int rv = find_erased(txn, &work->at, &row);
    if (rv == ERR_UNKNOWN_ID || rv == ERR_CORRUPT) {
        return 0;
    }
    if (rv == 0) {
        rv = make_stub(&row, &work->stub, &state);
    }
    if (rv != 0 || bytes_equal(buf_bytes(&work->stub), row.op.raw)) {
        return rv;
    }
    if (!is_due(work, since_ms)) {
        note_waiting(work->result, since_ms);
        return 0;
    }
    work->result->erased++;
    return log_replace(txn, &row, buf_bytes(&work->stub), state);
}

/* Go on through as many erased ops as one commit takes. *more tells whether others may follow. */
static int stub_some(struct store *store, struct stubbing *work, bool *more)
{
    struct txn *txn;
    uint64_t before = work->result->erased;
    int rv = txn_begin_write(store, &txn);
    if (rv != 0) {
        return rv;
    }
    *more = true;
    for (uint32_t i = 0; rv == 0 && *more && i < LIMIT_GROUP_OPS; i++) {
        uint64_t since_ms;
        rv = erasures_next(txn, &work->at, &since_ms);
        if (rv == ERR_UNKNOWN_ID) {
            *more = false;
            rv = 0;
        } else if (rv == 0) {
            rv = stub_one(txn, work, since_ms);
        }
    }
    if (rv != 0 || work->result->erased == before) {
        txn_abort(txn);
        return rv;
    }
    return txn_commit(txn);
}

static int stub_all(struct store *store, struct stubbing *work)
{
    bool more = true;
    int rv = 0;
    buf_init(&work->stub, LIMIT_OP);
    while (rv == 0 && more) {
        struct erase_target at = work->at;
        struct compact_result counted = *work->result;
        rv = stub_some(store, work, &more);
        if (rv == ERR_MAP_FULL) { /* The next transaction grows the map. */
            work->at = at;
            *work->result = counted;
            more = true;
            rv = 0;
        }
    }
    buf_free(&work->stub);
    return rv;
}

/* Wiping -------------------------------------------------------------------------------- */

struct wiping {
    int fd;
    uint32_t page_bytes;
    const uint8_t *map; /* The file, and how long it is. */
    uint64_t len;
    uint64_t oldest;   /* What was freed by this transaction or later may still be read. */
    uint64_t newest;   /* The last transaction. */
    uint64_t hole;     /* Free pages next to each other, given back at once: the first… */
    uint64_t hole_end; /* …and the one behind the last. */
    bool busy;
    bool damaged;
};

static int write_zeros(int fd, uint64_t at, uint64_t len)
{
    static const uint8_t zeros[KIB(64)];
    while (len > 0) {
        size_t step = len < sizeof(zeros) ? (size_t)len : sizeof(zeros);
        ssize_t done = pwrite(fd, zeros, step, (off_t)at);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return done < 0 ? err_from_errno(errno) : ERR_IO;
        }
        at += (uint64_t)done;
        len -= (uint64_t)done;
    }
    return 0;
}

static bool is_zero(const uint8_t *bytes, uint64_t len)
{
    return len == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, (size_t)len - 1) == 0);
}

/* Give a part of the file back to the disk, or fill it with zeros where that cannot be done. */
static int punch(struct wiping *work, uint64_t at, uint64_t len)
{
    if (fallocate(work->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)len) ==
        0) {
        return 0;
    }
    if (at >= work->len) {
        return 0;
    }
    len = len < work->len - at ? len : work->len - at;
    return is_zero(work->map + at, len) ? 0 : write_zeros(work->fd, at, len);
}

static int punch_hole(struct wiping *work)
{
    uint64_t first = work->hole;
    uint64_t count = work->hole_end - first;
    work->hole = work->hole_end = 0;
    return count == 0 ? 0 : punch(work, first * work->page_bytes, count * work->page_bytes);
}

static int wipe_free(void *ctx, uint64_t page, uint64_t freed_by)
{
    struct wiping *work = ctx;
    if (freed_by >= work->oldest) {
        work->busy = work->busy || freed_by < work->newest;
        return 0;
    }
    int rv = 0;
    if (page != work->hole_end) {
        rv = punch_hole(work);
        work->hole = page;
    }
    work->hole_end = page + 1;
    return rv;
}

static int wipe_live(void *ctx, uint64_t page, uint64_t count, size_t head, size_t tail)
{
    struct wiping *work = ctx;
    (void)count;
    uint64_t at = page * work->page_bytes + head;
    uint64_t len = tail - head;
    return is_zero(work->map + at, len) ? 0 : write_zeros(work->fd, at, len);
}

static int note_fault(void *ctx, const struct page_fault *fault)
{
    struct wiping *work = ctx;
    (void)fault;
    work->damaged = true;
    return 0;
}

/* A line of LMDB's list of readers: process, thread, transaction. */
static int note_reader(const char *line, void *ctx)
{
    struct wiping *work = ctx;
    const char *last = strrchr(line, ' ');
    char *end;
    if (last == NULL) {
        return 0;
    }
    unsigned long long txn = strtoull(last + 1, &end, 10);
    if (end != last + 1 && txn < work->oldest) {
        work->oldest = txn;
    }
    return 0;
}

/* LMDB's own rule for using pages again: not those that the last commit freed, for the commit
 * before is what a torn one falls back to, nor those that a reader's state may have. */
static int find_oldest(struct store *store, struct wiping *work)
{
    int dead;
    work->oldest = work->newest;
    int rv = mdb_reader_check(store->env, &dead);
    if (rv == 0) {
        rv = mdb_reader_list(store->env, note_reader, work);
    }
    return rv < 0 ? db_error(rv) : 0;
}

/* The whole is walked once without touching anything: what does not fit is not wiped. */
static int wipe_pages(struct wiping *work, const struct pages *pages, uint64_t last)
{
    const struct pages_visitor check = {.ctx = work, .fault = note_fault};
    const struct pages_visitor wipe = {.ctx = work, .live = wipe_live, .free = wipe_free};
    int rv = pages_walk(pages, &check);
    if (rv == 0 && work->damaged) {
        return ERR_CORRUPT;
    }
    if (rv == 0) {
        rv = pages_walk(pages, &wipe);
    }
    if (rv == 0) {
        rv = punch_hole(work);
    }
    uint64_t end = (last + 1) * work->page_bytes; /* Left over from a commit that failed. */
    if (rv == 0 && end < pages->len) {
        rv = punch(work, end, pages->len - end);
    }
    return rv;
}

static int wipe_file(struct store *store, int fd, struct compact_result *result)
{
    struct stat st;
    struct wiping work = {.fd = fd};
    if (fstat(fd, &st) != 0) {
        return err_from_errno(errno);
    }
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        return err_from_errno(errno);
    }
    struct pages_meta metas[2];
    unsigned newest;
    struct pages pages = {.map = map, .len = (uint64_t)st.st_size};
    work.map = map;
    work.len = pages.len;
    int rv = pages_metas(map, pages.len, &pages.page_bytes, metas, &newest);
    if (rv == 0) {
        pages.meta = metas[newest];
        work.page_bytes = pages.page_bytes;
        work.newest = metas[newest].txn;
        rv = find_oldest(store, &work);
    }
    if (rv == 0) {
        uint64_t last = metas[0].last > metas[1].last ? metas[0].last : metas[1].last;
        rv = wipe_pages(&work, &pages, last);
    }
    (void)munmap(map, (size_t)st.st_size);
    if (rv == 0 && fdatasync(fd) != 0) {
        rv = err_from_errno(errno);
    }
    result->busy = work.busy;
    return rv;
}

/* A commit that changes next to nothing, so that what the commits before freed is older than both
 * metas. */
static int commit_once(struct store *store, uint64_t now_ms)
{
    struct txn *txn;
    uint8_t when[8];
    int rv = txn_begin_write(store, &txn);
    if (rv != 0) {
        return rv;
    }
    be_put(when, sizeof(when), now_ms);
    rv = meta_put(txn, "compacted", bytes_of(when, sizeof(when)));
    if (rv != 0) {
        txn_abort(txn);
        return rv;
    }
    return txn_commit(txn);
}

/* Twice: the pages that the first commit gave up were written by the last stubs, from memory that
 * may have held anything; after the second they are free too. */
static int wipe(struct store *store, int fd, uint64_t now_ms, struct compact_result *result)
{
    int rv = 0;
    for (int round = 0; rv == 0 && round < 2; round++) {
        rv = commit_once(store, now_ms);
        if (rv == 0) {
            rv = wipe_file(store, fd, result);
        }
    }
    return rv;
}

/* ---------------------------------------------------------------------------------------- */

static int disk_bytes(int fd, uint64_t *out)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return err_from_errno(errno);
    }
    *out = (uint64_t)st.st_blocks * 512;
    return 0;
}

int compact_store(struct store *store, uint64_t now_ms, bool final, struct compact_result *out)
{
    struct stubbing work = {.now_ms = now_ms, .final = final, .result = out};
    char *path = NULL;
    *out = (struct compact_result){0};
    if (asprintf(&path, "%s/data.mdb", store->dir) < 0) {
        return ERR_NO_MEMORY;
    }
    int fd = open(path, O_RDWR | O_CLOEXEC);
    int rv = fd < 0 ? err_from_errno(errno) : disk_bytes(fd, &out->bytes_before);
    free(path);
    if (rv == 0) {
        rv = stub_all(store, &work);
    }
    if (rv == 0) {
        rv = content_sweep(store, &out->blobs);
    }
    if (rv == 0) {
        rv = wipe(store, fd, now_ms, out);
    }
    if (rv == 0) {
        rv = disk_bytes(fd, &out->bytes_after);
    }
    if (fd >= 0) {
        close(fd);
    }
    return rv;
}
