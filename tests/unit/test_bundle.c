/* test_bundle.c - Bundles out of stores and into them: the same ops and bytes on both sides, every
 * byte changed and every length cut, pipes, stops, repairs. */
#include "tests/unit/support_bundle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/bench.h"
#include "node/session.h"
#include "node/stop.h"
#include "oplog/db.h"
#include "oplog/export.h"
#include "oplog/verify.h"

/* The log of most tests: two authors, a fork and its join, stubs, inner signatures. ------- */

enum { SEGMENTS = 6, OPS = 13 };

struct fixture {
    struct test_author a, b;
    const struct made *op[OPS];
    struct bytes segment[SEGMENTS];
    uint32_t first[SEGMENTS + 1]; /* The number of the first op of each segment. */
};

static const struct test_author *author_at(const struct fixture *f, uint32_t n)
{
    return n >= 2 && n < 4 ? &f->b : &f->a;
}

static struct fixture make_fixture(void)
{
    static const uint32_t first[] = {0, 2, 4, 7, 9, 10, 13};
    struct fixture f = {.a = author_of(1), .b = author_of(2)};
    struct bytes sections = payload_of("{\"a\":1,\"geo\":\"x\"}", 3);
    struct draft branch = {.kind = KIND_CreateEntity};
    struct draft redacted = {
        .payload = sections, .carry = CARRY_THIS, .carried = payload_redact(sections, 2)};
    struct draft absent = {.carry = CARRY_NOTHING};
    memcpy(f.first, first, sizeof(first));
    make_run(&f.a, NULL, "gg", f.op, 2);
    make_run(&f.b, NULL, "-g", f.op + 2, 2);
    make_run(&f.a, f.op[1], "gxg", f.op + 4, 3);
    f.op[7] = make_next(&f.a, f.op[1], &branch);
    f.op[8] = make_next(&f.a, f.op[7], &redacted);
    const struct made *heads[] = {f.op[6], f.op[8]};
    f.op[9] = make_join(&f.a, heads, 2, NULL);
    f.op[10] = make_next(&f.a, f.op[9], &absent);
    make_run(&f.a, f.op[10], "-g", f.op + 11, 2);
    for (uint32_t i = 0; i < SEGMENTS; i++) {
        f.segment[i] = segment_of(author_at(&f, f.first[i]), f.op + f.first[i],
                                  f.first[i + 1] - f.first[i]);
    }
    return f;
}

static void fill(struct store *store, const struct fixture *f, uint32_t segments)
{
    for (uint32_t i = 0; i < segments; i++) {
        assert_ok(offer(store, f->segment[i], NOW_MS, NULL));
    }
}

/* Everything that was offered is in one of the counts. */
static uint64_t counted(const struct import_result *result)
{
    return result->appended + result->duplicate + result->parked + result->held_back +
           result->refused;
}

/* Round trips ----------------------------------------------------------------------------- */

static void a_store_comes_back_from_its_bundle(void **state)
{
    (void)state;
    struct fixture f = make_fixture();
    struct store *from = store_new_for_test();
    struct store *to = store_new_for_test();
    struct import_result result;
    fill(from, &f, SEGMENTS);
    struct bytes bundle = export_bytes(from, NULL);
    assert_ok(import_bytes(to, bundle, &result));
    assert_count("appended", result.appended, OPS);
    assert_count("nothing else", counted(&result), OPS);
    assert_same_stores(from, to, "after the round trip");
    assert_clean(to);
    struct bytes again = export_bytes(to, NULL);
    assert_true(bytes_equal(bundle, again));

    struct bytes before = store_dump(to);
    assert_ok(import_bytes(to, bundle, &result));
    assert_count("here already", result.duplicate, OPS);
    assert_count("nothing else", counted(&result), OPS);
    assert_count("nothing repaired", result.repaired, 0);
    assert_same_text(before, store_dump(to), "a second time");
}

/* A log of one author in segments as they came is the bundle that the spec describes. The join
 * after a fork, and what follows another author, begin segments of their own. */
static void the_bytes_are_those_of_the_spec(void **state)
{
    (void)state;
    struct fixture f = make_fixture();
    struct store *store = store_new_for_test();
    fill(store, &f, SEGMENTS);
    /* 9 and 10 … 12 arrived one after the other and follow each other. */
    struct bytes segments[5] = {f.segment[0], f.segment[1], f.segment[2], f.segment[3],
                                segment_of(&f.a, f.op + 9, 4)};
    struct bytes want = bundle_of(segments, 5).all;
    struct bytes got = export_bytes(store, NULL);
    assert_count("length", got.len, want.len);
    assert_memory_equal(got.data, want.data, want.len);
}

static void an_empty_store_has_a_bundle(void **state)
{
    (void)state;
    struct store *from = store_new_for_test();
    struct store *to = store_new_for_test();
    struct import_result result;
    struct bytes bundle = export_bytes(from, NULL);
    assert_count("length", bundle.len, BUNDLE_HEAD + BUNDLE_FRAME);
    assert_ok(import_bytes(to, bundle, &result));
    assert_count("nothing", counted(&result), 0);
}

static void one_author_alone(void **state)
{
    (void)state;
    struct fixture f = make_fixture();
    struct store *from = store_new_for_test();
    struct store *to = store_new_for_test();
    struct test_author stranger = author_of(9);
    struct export_result none;
    struct import_result result;
    fill(from, &f, SEGMENTS);
    struct bytes of_b = export_bytes(from, &f.b.key);
    assert_true(bytes_equal(of_b, bundle_of(f.segment + 1, 1).all));
    assert_ok(import_bytes(to, export_bytes(from, &f.a.key), &result));
    assert_count("of a", result.appended, OPS - 2);
    assert_count("only of a", ops_in(to), OPS - 2);
    assert_ok(import_bytes(to, of_b, &result));
    assert_same_stores(from, to, "both authors, one after the other");
    assert_err("a stranger", export_store(from, &stranger.key, -1, NULL, &none),
               ERR_UNKNOWN_AUTHOR);
}

/* What is parked is in no bundle; what is ahead in a bundle is parked here, or held back and the
 * rest read on. */
static void ops_of_the_future(void **state)
{
    (void)state;
    struct test_author a = author_of(1);
    struct test_author b = author_of(2);
    const struct made *first = make_first(&a, NOW_MS);
    struct draft ahead = {.wall_ms = NOW_MS + LIMIT_SKEW_MS + 1};
    struct bytes segments[4] = {segment_of_one(&a, first),
                                segment_of_one(&a, make_next(&a, first, &ahead)),
                                segment_of_one(&b, make_first(&b, ahead.wall_ms)),
                                segment_of_one(&a, make_next(&a, first, NULL))};
    struct bytes bundle = bundle_of(segments, 4).all;
    struct store *store = store_new_for_test();
    struct import_result result;
    assert_ok(import_bytes(store, bundle, &result));
    assert_count("appended", result.appended, 2);
    assert_count("parked", result.parked, 1);
    assert_count("held back", result.held_back, 1);
    assert_count("in the log", ops_in(store), 2);
    struct bytes want = segment_of(&a, (const struct made *[]){first, make_next(&a, first, NULL)},
                                   2);
    assert_true(bytes_equal(export_bytes(store, NULL), bundle_of(&want, 1).all));
}

/* A store that lost the end of its own ops and went on knows them again. */
static void own_ops_come_back(void **state)
{
    (void)state;
    struct fixture f = make_fixture();
    struct store *store = store_new_for_test();
    struct import_result result;
    struct txn *txn = begin_write(store);
    assert_ok(meta_put(txn, "node", bytes_of(f.a.key.b, sizeof(f.a.key.b))));
    assert_ok(txn_commit(txn));
    fill(store, &f, 1);
    assert_ok(import_bytes(store, bundle_of(f.segment, SEGMENTS).all, &result));
    assert_count("appended", result.appended, OPS - 2);
    assert_count("own", result.own, OPS - 4);
    assert_count("here already", result.duplicate, 2);
}

/* Many segments are on their way at a time; each is still known by its author. */
static void own_ops_among_many(void **state)
{
    (void)state;
    enum { EACH = 5000 };
    struct test_author authors[2] = {author_of(1), author_of(2)};
    struct store *store = store_new_for_test();
    struct bundle_head head = {.mesh = test_mesh, .ops = 2 * EACH};
    struct bundle_writer writer;
    struct bundle_reader reader;
    struct import_result result;
    struct txn *txn = begin_write(store);
    assert_ok(meta_put(txn, "node", bytes_of(authors[0].key.b, sizeof(authors[0].key.b))));
    assert_ok(txn_commit(txn));
    int fd = memfd_create("bundle", MFD_CLOEXEC);
    assert_true(fd >= 0);
    bundle_begin(&writer, fd, &head, NULL);
    for (int i = 0; i < 2; i++) {
        const struct made *op = make_first(&authors[i], NOW_MS - EACH);
        for (int n = 0; n < EACH; n++) {
            bundle_put(&writer, segment_of_one(&authors[i], op));
            op = make_next(&authors[i], op, NULL);
        }
        assert_ok(bundle_flush(&writer));
    }
    bundle_end(&writer);
    assert_ok(bundle_flush(&writer));
    bundle_writer_free(&writer);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_ok(bundle_open(&reader, fd, NULL));
    assert_ok(import_bundle(store, &reader, NOW_MS, &result));
    bundle_reader_free(&reader);
    close(fd);
    assert_count("appended", result.appended, 2 * EACH);
    assert_count("own", result.own, EACH);
}

/* Faults ---------------------------------------------------------------------------------- */

/* After a fault in a part the segments before it are here, and nothing else. */
static void assert_kept(struct store *store, const struct fixture *f, uint32_t segments,
                        const struct import_result *result, const struct bytes dumps[])
{
    assert_count("appended", result->appended, f->first[segments]);
    assert_count("counted", counted(result), f->first[segments]);
    assert_same_text(dumps[segments], store_dump(store), "what was kept");
}

/* How a store looks with the first so many segments. */
static void make_dumps(struct store *store, const struct fixture *f, struct bytes dumps[])
{
    for (uint32_t i = 0; i <= SEGMENTS; i++) {
        store_wipe(store);
        fill(store, f, i);
        dumps[i] = store_dump(store);
    }
}

static uint32_t part_at(const struct made_bundle *bundle, size_t at)
{
    uint32_t part = 0;
    while (part + 1 < bundle->parts && bundle->at[part + 1] <= at) {
        part++;
    }
    return part;
}

static int code_of_change(const struct made_bundle *bundle, size_t at, uint8_t mask)
{
    uint32_t part = part_at(bundle, at);
    if (at < 15) {
        return ERR_NOT_A_BUNDLE;
    }
    if (at == 15) {
        return ERR_NEWER_SCHEMA;
    }
    if (part == 0 || at - bundle->at[part] >= 4) {
        return ERR_MALFORMED;
    }
    /* A length: too large, longer than what is left, another, or no longer that of the end. */
    uint8_t length[4];
    memcpy(length, bundle->all.data + bundle->at[part], 4);
    length[at - bundle->at[part]] ^= mask;
    uint64_t changed = be_get(length, 4);
    if (changed > LIMIT_SEGMENT_BYTES) {
        return ERR_TOO_LARGE;
    }
    return bundle->at[part] + changed + BUNDLE_FRAME > bundle->all.len ? ERR_TRUNCATED
                                                                       : ERR_MALFORMED;
}

static void every_byte_changed(void **state)
{
    (void)state;
    static const uint8_t masks[] = {0x01, 0x80, 0xff};
    struct fixture f = make_fixture();
    struct store *store = store_new_for_test();
    struct made_bundle bundle = bundle_of(f.segment, SEGMENTS);
    struct bytes dumps[SEGMENTS + 1];
    make_dumps(store, &f, dumps);
    for (size_t at = 0; at < bundle.all.len; at++) {
        const void *mark = support_mark();
        uint8_t mask = masks[at % COUNT_OF(masks)];
        uint32_t part = part_at(&bundle, at);
        struct import_result result;
        store_wipe(store);
        int rv = import_bytes(store, changed_at(bundle.all, at, mask), &result);
        if (rv != code_of_change(&bundle, at, mask)) {
            fail_msg("byte %zu (part %u): %s", at, part, err_code(rv));
        }
        assert_kept(store, &f, part == 0 ? 0 : part - 1, &result, dumps);
        if (rv == ERR_MALFORMED || rv == ERR_TOO_LARGE) {
            assert_count("where", result.fault, bundle.at[part]);
        }
        support_free_to(mark);
    }
}

static void every_length_cut(void **state)
{
    (void)state;
    struct fixture f = make_fixture();
    struct store *store = store_new_for_test();
    struct made_bundle bundle = bundle_of(f.segment, SEGMENTS);
    struct bytes dumps[SEGMENTS + 1];
    make_dumps(store, &f, dumps);
    for (size_t len = 0; len < bundle.all.len; len++) {
        const void *mark = support_mark();
        uint32_t part = part_at(&bundle, len);
        struct import_result result;
        store_wipe(store);
        int rv = import_bytes(store, bytes_of(bundle.all.data, len), &result);
        if (rv != (len == 0 ? ERR_NOT_A_BUNDLE : ERR_TRUNCATED)) {
            fail_msg("%zu bytes: %s", len, err_code(rv));
        }
        assert_kept(store, &f, part == 0 ? 0 : part - 1, &result, dumps);
        assert_count("where", result.fault, len);
        support_free_to(mark);
    }
    struct import_result rest;
    assert_ok(import_bytes(store, bundle.all, &rest));
    assert_count("the rest", rest.appended + rest.duplicate, OPS);
    assert_same_text(dumps[SEGMENTS], store_dump(store), "finished with the whole");
}

/* Segments are decoded, checked and written in batches; a refusal in the middle of one, or of the
 * next, still ends everything that stands after it. */
static void nothing_after_a_refusal_is_taken(void **state)
{
    (void)state;
    enum { MANY = 40000 };
    static const uint32_t bad_places[] = {0, 1, 700, 1023, 1024, 5000, MANY - 1};
    struct test_author a = author_of(1);
    struct test_author b = author_of(2);
    struct draft garbage = {.sign = SIGN_GARBAGE};
    const struct made *first = make_first(&a, NOW_MS);
    struct bytes good = segment_of_one(&a, first);
    struct bytes bad = segment_of_one(&a, make_next(&a, first, &garbage));
    struct bytes later = segment_of_one(&b, make_first(&b, NOW_MS));
    for (size_t i = 0; i < COUNT_OF(bad_places); i++) {
        struct store *store = store_new_for_test();
        struct bundle_head head = {.mesh = test_mesh, .ops = MANY + 1};
        struct bundle_writer writer;
        struct bundle_reader reader;
        struct import_result result;
        uint64_t bad_at = 0;
        int fd = memfd_create("bundle", MFD_CLOEXEC);
        assert_true(fd >= 0);
        assert_ok(offer(store, good, NOW_MS, NULL));
        bundle_begin(&writer, fd, &head, NULL);
        for (uint32_t n = 0; n < MANY; n++) {
            bad_at = n == bad_places[i] ? writer.bytes : bad_at;
            bundle_put(&writer, n == bad_places[i] ? bad : good);
            if (bundle_is_full(&writer)) {
                assert_ok(bundle_flush(&writer));
            }
        }
        bundle_put(&writer, later);
        bundle_end(&writer);
        assert_ok(bundle_flush(&writer));
        bundle_writer_free(&writer);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        assert_ok(bundle_open(&reader, fd, NULL));
        assert_err("refused", import_bundle(store, &reader, NOW_MS, &result), ERR_BAD_SIGNATURE);
        bundle_reader_free(&reader);
        close(fd);
        assert_int_equal(result.source, IMPORT_SEGMENT);
        assert_count("where", result.fault, bad_at);
        assert_count("before it", result.duplicate, bad_places[i]);
        assert_count("refused ops", result.refused, 1);
        assert_count("nothing new", ops_in(store), 1);
        store_done(store);
    }
}

/* A refused segment, and a fault of the file that the reader meets before the refusal is known. */
static void the_first_fault_counts(void **state)
{
    (void)state;
    struct fixture f = make_fixture();
    struct store *store = store_new_for_test();
    struct import_result result;
    struct bytes segments[3] = {f.segment[0], segment_of(&f.a, f.op + 4, 2), f.segment[1]};
    struct made_bundle bundle = bundle_of(segments, 3);
    assert_err("cut later", import_bytes(store, bytes_of(bundle.all.data, bundle.at[4]), &result),
               ERR_BAD_SIGNATURE);
    assert_int_equal(result.source, IMPORT_SEGMENT);
    assert_count("where", result.fault, bundle.at[2]);
    assert_count("refused", result.refused, 2);
    assert_count("kept", ops_in(store), 2);
}

/* A frame may have as many bytes as a segment may; one more is not even read. */
static void the_longest_frame(void **state)
{
    (void)state;
    struct store *store = store_new_for_test();
    struct import_result result;
    uint8_t *junk = support_alloc(LIMIT_SEGMENT_BYTES);
    for (size_t len = LIMIT_SEGMENT_BYTES - 1; len <= LIMIT_SEGMENT_BYTES + 1; len++) {
        struct made_bundle empty = bundle_of(NULL, 0);
        uint8_t *cut = support_alloc(BUNDLE_HEAD + 4);
        memcpy(cut, empty.all.data, BUNDLE_HEAD);
        be_put(cut + BUNDLE_HEAD, 4, len);
        assert_err("announced", import_bytes(store, bytes_of(cut, BUNDLE_HEAD + 4), &result),
                   len > LIMIT_SEGMENT_BYTES ? ERR_TOO_LARGE : ERR_TRUNCATED);
    }
    junk[33] = 1; /* One op, of no bytes. */
    struct bytes longest = bytes_of(junk, LIMIT_SEGMENT_BYTES);
    assert_err("whole", import_bytes(store, bundle_of(&longest, 1).all, &result), ERR_TRUNCATED);
    assert_int_equal(result.source, IMPORT_SEGMENT);
    assert_count("refused", result.refused, 1);
}

static void another_mesh_changes_nothing(void **state)
{
    (void)state;
    struct fixture f = make_fixture();
    struct store *store = store_new_for_test();
    struct import_result result;
    struct bytes bundle = bundle_made(&other_mesh, OPS, f.segment, SEGMENTS).all;
    assert_err("other mesh", import_bytes(store, bundle, &result), ERR_WRONG_MESH);
    assert_count("nothing", counted(&result) + ops_in(store), 0);
}

/* A store with one author's ops in full segments, and what follows. */
static const struct made *fill_long(struct store *store, const struct test_author *author,
                                    uint32_t segments)
{
    const struct made *run[LIMIT_SEGMENT_OPS];
    char sign[LIMIT_SEGMENT_OPS + 1];
    memset(sign, '-', LIMIT_SEGMENT_OPS - 1);
    sign[LIMIT_SEGMENT_OPS - 1] = 'g';
    sign[LIMIT_SEGMENT_OPS] = 0;
    const struct made *last = NULL;
    for (uint32_t i = 0; i < segments; i++) {
        make_run(author, last, sign, run, LIMIT_SEGMENT_OPS);
        assert_ok(offer_ops(store, author, run, LIMIT_SEGMENT_OPS));
        last = run[LIMIT_SEGMENT_OPS - 1];
    }
    return last;
}

/* Pipes ------------------------------------------------------------------------------------ */

struct pipe_end {
    int fd;
    struct bytes bytes;
    size_t step;
};

static void *write_in_steps(void *ctx)
{
    const struct pipe_end *end = ctx;
    for (size_t at = 0; at < end->bytes.len;) {
        size_t left = end->bytes.len - at;
        ssize_t put = write(end->fd, end->bytes.data + at, left < end->step ? left : end->step);
        at += put > 0 ? (size_t)put : 0;
        if (put < 0 && errno != EINTR) {
            break;
        }
    }
    close(end->fd);
    return NULL;
}

static void through_a_pipe_byte_by_byte(void **state)
{
    (void)state;
    static const size_t steps[] = {1, 3, 4096};
    struct fixture f = make_fixture();
    struct made_bundle bundle = bundle_of(f.segment, SEGMENTS);
    for (size_t i = 0; i < 2 * COUNT_OF(steps); i++) {
        struct store *store = store_new_for_test();
        struct bundle_reader reader;
        struct import_result result;
        pthread_t thread;
        int ends[2];
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        if (i >= COUNT_OF(steps)) { /* A reader may find nothing there yet. */
            assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
        }
        struct pipe_end end = {
            .fd = ends[1], .bytes = bundle.all, .step = steps[i % COUNT_OF(steps)]};
        assert_int_equal(pthread_create(&thread, NULL, write_in_steps, &end), 0);
        assert_ok(bundle_open(&reader, ends[0], NULL));
        assert_ok(import_bundle(store, &reader, NOW_MS, &result));
        assert_count("all", result.appended, OPS);
        bundle_reader_free(&reader);
        assert_int_equal(pthread_join(thread, NULL), 0);
        close(ends[0]);
        store_done(store);
    }
}

struct collector {
    int fd;
    struct buf got;
};

static void *read_in_steps(void *ctx)
{
    struct collector *collector = ctx;
    uint8_t byte[7];
    ssize_t got;
    while ((got = read(collector->fd, byte, sizeof(byte))) > 0) {
        buf_put(&collector->got, byte, (size_t)got);
    }
    return NULL;
}

/* A pipe that takes little at a time, and only when it likes. */
static void into_a_slow_pipe(void **state)
{
    (void)state;
    struct test_author a = author_of(1);
    struct store *store = store_new_for_test();
    (void)fill_long(store, &a, 8);
    struct bytes want = export_bytes(store, NULL);
    for (int i = 0; i < 2; i++) {
        struct collector collector;
        struct export_result result;
        pthread_t thread;
        int ends[2];
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        (void)fcntl(ends[1], F_SETPIPE_SZ, 4096);
        if (i == 1) {
            assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
        }
        collector.fd = ends[0];
        buf_init(&collector.got, MIB(1));
        assert_int_equal(pthread_create(&thread, NULL, read_in_steps, &collector), 0);
        assert_ok(export_store(store, NULL, ends[1], NULL, &result));
        close(ends[1]);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(bytes_equal(buf_bytes(&collector.got), want));
        buf_free(&collector.got);
        close(ends[0]);
    }
    struct export_result result;
    int none = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(none >= 0);
    assert_err("a full disk", export_store(store, NULL, none, NULL, &result), ERR_DISK_FULL);
    assert_false(result.of_store);
    assert_int_equal(result.why, ENOSPC);
    close(none);
}

/* Long logs -------------------------------------------------------------------------------- */

struct growth {
    struct store *store;
    const struct test_author *author;
    const struct made *last;
    int error; /* Told later: nothing may end the test in here. */
    uint32_t added;
};

static void grow(void *ctx, uint64_t done, uint64_t total)
{
    struct growth *growth = ctx;
    (void)done;
    (void)total;
    growth->last = make_next(growth->author, growth->last, NULL);
    struct txn *txn;
    struct chain_result result;
    growth->error = txn_begin_write(growth->store, &txn);
    if (growth->error == 0) {
        growth->error = offer_in(txn, segment_of_one(growth->author, growth->last), NOW_MS + 60000,
                                 &result);
        growth->added += result.appended;
        growth->error = txn_commit(txn) != 0 ? ERR_IO : growth->error;
    }
}

/* What arrives while a bundle is written is not in it: the last segment of the old log could
 * carry on into the new. */
static void a_log_that_grows_meanwhile(void **state)
{
    (void)state;
    struct test_author a = author_of(1);
    struct store *store = store_new_for_test();
    struct growth growth = {.store = store, .author = &a, .last = fill_long(store, &a, 40)};
    /* The last segment has room for more. */
    growth.last = make_next(&a, growth.last, NULL);
    assert_ok(offer(store, segment_of_one(&a, growth.last), NOW_MS + 60000, NULL));
    struct bytes before = export_bytes(store, NULL);
    struct bundle_watch watch = {.ctx = &growth, .progress = grow};
    struct export_result result;
    int fd = memfd_create("bundle", MFD_CLOEXEC);
    assert_ok(export_store(store, NULL, fd, &watch, &result));
    assert_ok(growth.error);
    assert_true(growth.added >= 2);
    assert_count("ops", result.ops, 40 * LIMIT_SEGMENT_OPS + 1);
    assert_count("bytes", result.bytes, before.len);
    uint8_t *after = support_alloc(before.len);
    assert_int_equal(pread(fd, after, before.len, 0), (ssize_t)before.len);
    assert_memory_equal(after, before.data, before.len);
    close(fd);
}

struct stopper {
    uint32_t left;
};

static bool stop_soon(void *ctx, int fd, bool to_write)
{
    struct stopper *stopper = ctx;
    (void)fd;
    (void)to_write;
    return stopper->left-- > 0;
}

static void stopped_and_taken_up_again(void **state)
{
    (void)state;
    struct test_author a = author_of(1);
    struct store *from = store_new_for_test();
    (void)fill_long(from, &a, 80);
    struct bytes bundle = export_bytes(from, NULL);
    struct stopper stopper = {.left = 1};
    struct bundle_watch watch = {.ctx = &stopper, .wait = stop_soon};
    struct store *to = store_new_for_test();
    struct bundle_reader reader;
    struct import_result result;
    int ends[2];
    pthread_t thread;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct pipe_end end = {.fd = ends[1], .bytes = bundle, .step = 4096};
    assert_int_equal(pthread_create(&thread, NULL, write_in_steps, &end), 0);
    stopper.left = 30; /* A read gives at most what a pipe holds. */
    assert_ok(bundle_open(&reader, ends[0], &watch));
    assert_err("stopped", import_bundle(to, &reader, NOW_MS + 60000, &result), ERR_STOPPED);
    bundle_reader_free(&reader);
    uint8_t rest[4096];
    while (read(ends[0], rest, sizeof(rest)) > 0) {
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    close(ends[0]);
    assert_int_equal(result.source, IMPORT_FILE);
    assert_count("whole segments", result.appended % LIMIT_SEGMENT_OPS, 0);
    assert_count("what is told is there", ops_in(to), result.appended);
    assert_true(result.appended < 80 * LIMIT_SEGMENT_OPS);

    stopper.left = 1;
    struct export_result written;
    int fd = memfd_create("bundle", MFD_CLOEXEC);
    assert_err("export stopped", export_store(from, NULL, fd, &watch, &written), ERR_STOPPED);
    close(fd);
    relay(from, to);
    assert_same_stores(from, to, "in the end");
}

/* Sanitizers keep what was freed. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMORY_OPS 5000u
#define MEMORY_MAX GIB(4)
#else
#define MEMORY_OPS 100000u
#define MEMORY_MAX MIB(64)
#endif

static void memory_does_not_grow_with_the_log(void **state)
{
    (void)state;
    struct bench_memory memory;
    assert_ok(bench_memory(support_dir(), MEMORY_OPS, &memory));
    assert_in_range(memory.rss_export, 1, MEMORY_MAX);
    assert_in_range(memory.rss_import, 1, MEMORY_MAX);
}

/* Repair ----------------------------------------------------------------------------------- */

static void count_damage(void *ctx, const struct damage *damage)
{
    uint32_t *count = ctx;
    (void)damage;
    ++*count;
}

static uint32_t damage_in(struct store *store)
{
    uint32_t count = 0;
    struct verify_report report = {.ctx = &count, .damage = count_damage};
    struct verify_totals totals;
    assert_ok(verify_store(store, 1, &report, &totals));
    return count;
}

enum harm {
    HARM_HEADER,
    HARM_SIGNATURE,
    HARM_PAYLOAD,
    HARM_STATE,
    HARM_AUTHOR,
    HARM_SHORT,
    HARM_GONE,
    HARM_ANOTHER,
    HARM_BENEATH, /* A bit flips on the disk: the row's own check no longer fits. */
    HARMS
};

static void flip_beneath(struct txn *txn, struct bytes name)
{
    MDB_dbi log = txn->store->dbi[DB_log];
    MDB_val key = {.mv_size = name.len, .mv_data = support_alloc(name.len)};
    MDB_val value;
    memcpy(key.mv_data, name.data, name.len);
    assert_int_equal(mdb_get(txn->mdb, log, &key, &value), 0);
    MDB_val copy = {.mv_size = value.mv_size, .mv_data = support_alloc(value.mv_size)};
    memcpy(copy.mv_data, value.mv_data, value.mv_size);
    ((uint8_t *)copy.mv_data)[value.mv_size / 2] ^= 0x10;
    assert_int_equal(mdb_put(txn->mdb, log, &key, &copy, 0), 0);
}

static void do_harm(struct store *store, const struct fixture *f, uint32_t n, enum harm harm)
{
    struct txn *txn = begin_write(store);
    uint8_t key[8];
    struct bytes value;
    be_put(key, 8, n);
    struct bytes name = bytes_of(key, sizeof(key));
    assert_ok(db_get(txn, DB_log, name, &value));
    size_t len = value.len;
    uint8_t *row = support_alloc(len + 1);
    memcpy(row, value.data, len);
    size_t header = 5;
    size_t payload = header + f->op[n]->header.len + f->op[n]->sig.len;
    switch (harm) {
    case HARM_HEADER:
        row[header + 20] ^= 1;
        break;
    case HARM_SIGNATURE:
        row[payload - 1] ^= 1;
        break;
    case HARM_PAYLOAD:
        row[len - 1] ^= 1;
        break;
    case HARM_STATE:
        row[0] ^= 1;
        break;
    case HARM_AUTHOR:
        row[4] ^= 1;
        break;
    case HARM_SHORT:
        len = 3;
        break;
    case HARM_ANOTHER: {
        uint8_t other[8];
        be_put(other, 8, (n + 1) % OPS);
        assert_ok(db_get(txn, DB_log, bytes_of(other, 8), &value));
        len = value.len;
        row = support_alloc(len);
        memcpy(row, value.data, len);
        break;
    }
    default:
        break;
    }
    if (harm == HARM_GONE) {
        assert_ok(db_delete(txn, DB_log, name));
    } else if (harm == HARM_BENEATH) {
        flip_beneath(txn, name);
    } else {
        assert_ok(db_put(txn, DB_log, name, bytes_of(row, len)));
    }
    assert_ok(txn_commit(txn));
}

/* Each op harmed in each way: the bundle makes it whole, and the store is what it was. */
static void each_damaged_op_is_repaired(void **state)
{
    (void)state;
    struct fixture f = make_fixture();
    struct store *store = store_new_for_test();
    fill(store, &f, SEGMENTS);
    struct bytes bundle = export_bytes(store, NULL);
    struct bytes dump = store_dump(store);
    for (uint32_t n = 0; n < OPS; n++) {
        for (int harm = 0; harm < HARMS; harm++) {
            const void *mark = support_mark();
            struct import_result result;
            if (harm == HARM_PAYLOAD && n == 10) {
                continue; /* It has none. */
            }
            store_wipe(store);
            fill(store, &f, SEGMENTS);
            do_harm(store, &f, n, (enum harm)harm);
            if (damage_in(store) == 0) {
                fail_msg("op %u, harm %d: verify saw nothing", n, harm);
            }
            int rv = import_bytes(store, bundle, &result);
            if (rv != 0 || result.repaired != 1 || result.duplicate != OPS) {
                fail_msg("op %u, harm %d: %s, %u repaired", n, harm, err_code(rv),
                         (unsigned)result.repaired);
            }
            assert_clean(store);
            assert_same_text(dump, store_dump(store), "repaired");
            assert_true(bytes_equal(bundle, export_bytes(store, NULL)));
            support_free_to(mark);
        }
    }
}

/* All at once, and with ops that are new behind them. */
static void many_damaged_ops_and_new_ones(void **state)
{
    (void)state;
    struct fixture f = make_fixture();
    struct store *whole = store_new_for_test();
    struct store *store = store_new_for_test();
    struct import_result result;
    fill(whole, &f, SEGMENTS);
    fill(store, &f, SEGMENTS - 1);
    for (uint32_t n = 0; n < 10; n++) {
        do_harm(store, &f, n, n % 2 == 1 ? HARM_GONE : HARM_HEADER);
    }
    assert_ok(import_bytes(store, export_bytes(whole, NULL), &result));
    assert_count("repaired", result.repaired, 10);
    assert_count("here already", result.duplicate, 10);
    assert_count("new", result.appended, 3);
    assert_clean(store);
    assert_same_stores(whole, store, "repaired and completed");
}

/* The number of an op whose row is lost at the end of the log is given to no other. */
static void a_lost_end_is_not_written_over(void **state)
{
    (void)state;
    struct fixture f = make_fixture();
    struct test_author c = author_of(3);
    struct store *store = store_new_for_test();
    struct import_result result;
    fill(store, &f, SEGMENTS);
    struct bytes bundle = export_bytes(store, NULL);
    do_harm(store, &f, OPS - 1, HARM_GONE);
    do_harm(store, &f, OPS - 2, HARM_GONE);
    assert_err("a stranger", offer_op(store, &c, make_first(&c, NOW_MS)), ERR_CORRUPT);
    assert_err("the author", offer_op(store, &f.a, make_next(&f.a, f.op[OPS - 1], NULL)),
               ERR_CORRUPT);
    assert_ok(import_bytes(store, bundle, &result));
    assert_count("repaired", result.repaired, 2);
    assert_ok(offer_op(store, &c, make_first(&c, NOW_MS)));
    assert_clean(store);

    /* Where it was given away all the same, the newer op is not lost as well. */
    struct txn *txn = begin_write(store);
    struct place place = {.n = OPS};
    assert_ok(order_put(txn, &f.op[3]->id, &f.op[3]->hash, &place));
    assert_ok(txn_commit(txn));
    assert_err("two ops for one row", import_bytes(store, bundle, &result), ERR_CORRUPT);
    assert_text("the newer op", verdict_of(store, make_first(&c, NOW_MS)), "applied");
}

/* Whoever offers a segment that its author did not sign repairs nothing with it. */
static void only_signed_segments_repair(void **state)
{
    (void)state;
    struct fixture f = make_fixture();
    struct store *store = store_new_for_test();
    struct import_result result;
    fill(store, &f, SEGMENTS);
    do_harm(store, &f, 4, HARM_HEADER);
    /* 5 is in its segment with a wrong signature: as an end it vouches for nothing. */
    struct bytes segments[2] = {f.segment[0], segment_of(&f.a, f.op + 4, 2)};
    static struct segment_op room[LIMIT_SEGMENT_OPS];
    struct segment segment;
    bool needed[2];
    assert_ok(segment_decode(segments[1], room, &segment));
    struct txn *txn = begin_read(store);
    assert_ok(chain_needs_signature(txn, &segment, &needed[0]));
    assert_ok(segment_decode(f.segment[1], room, &segment));
    assert_ok(chain_needs_signature(txn, &segment, &needed[1]));
    txn_abort(txn);
    assert_true(needed[0]);
    assert_false(needed[1]); /* All of it is here, and whole. */
    assert_err("by itself", offer(store, segments[1], NOW_MS, NULL), ERR_BAD_SIGNATURE);
    assert_true(damage_in(store) > 0);
    assert_err("unsigned", import_bytes(store, bundle_of(segments, 2).all, &result),
               ERR_BAD_SIGNATURE);
    assert_count("nothing repaired", result.repaired, 0);
    assert_true(damage_in(store) > 0);
    assert_ok(import_bytes(store, bundle_of(f.segment, SEGMENTS).all, &result));
    assert_count("repaired", result.repaired, 1);
    assert_clean(store);
}

/* The commands ----------------------------------------------------------------------------- */

static int run_words(struct session *session, const char *store, const char *command,
                     const char *file)
{
    const char *const words[] = {command, file};
    session_begin(session, 2, words, -1);
    printer_init_memory(&session->printer, session_print(session), 80);
    return session_run(session, store);
}

static uint32_t files_in(const char *dir)
{
    uint32_t count = 0;
    DIR *folder = opendir(dir);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    closedir(folder);
    return count;
}

/* A signal ends the commands before their next step. The last test: what came stays. */
static void a_signal_leaves_nothing_half_done(void **state)
{
    (void)state;
    struct fixture f = make_fixture();
    struct session session;
    struct store *store = store_new_for_test();
    const char *dir = support_dir();
    const char *bundle = support_path(dir, "bundle");
    fill(store, &f, SEGMENTS);
    const char *path =
        (const char *)support_copy(bytes_of(store_dir(store), strlen(store_dir(store)) + 1)).data;
    store_done(store);
    assert_ok(run_words(&session, path, "export", bundle));
    session_end(&session);
    assert_count("one file", files_in(dir), 1);

    stop_begin();
    assert_int_equal(raise(SIGINT), 0);
    assert_err("export", run_words(&session, path, "export", support_path(dir, "other")),
               ERR_STOPPED);
    assert_int_equal(session.call.stopped_by, SIGINT);
    session_end(&session);
    assert_count("still one file", files_in(dir), 1);
    assert_err("import", run_words(&session, path, "import", bundle), ERR_STOPPED);
    assert_int_equal(session.call.stopped_by, SIGINT);
    session_end(&session);
}

/* The line of the progress bar, in wide and narrow terminals. */
static void the_bar_fits_its_line(void **state)
{
    (void)state;
    char line[PROGRESS_LINE];
    progress_bar("Importing", 540000, 1000000, 70, line, sizeof(line));
    assert_text("wide", line,
                "Importing  [############-----------]   54 %  540,000 of 1,000,000 ops");
    progress_bar("Importing", 0, 7, 200, line, sizeof(line));
    assert_text("the beginning", line,
                "Importing  [----------------------------------------]    0 %  0 of 7 ops");
    progress_bar("Importing", 9, 7, 40, line, sizeof(line));
    assert_text("never more than all", line, "Importing  [#######]  100 %  7 of 7 ops");
    for (unsigned width = 1; width < 120; width++) {
        progress_bar("Importing", 999999, 1000000, width, line, sizeof(line));
        assert_in_range(strlen(line), 0, width - 1);
    }
}

int main(void)
{
    support_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_store_comes_back_from_its_bundle, support_teardown),
        cmocka_unit_test_teardown(the_bytes_are_those_of_the_spec, support_teardown),
        cmocka_unit_test_teardown(an_empty_store_has_a_bundle, support_teardown),
        cmocka_unit_test_teardown(one_author_alone, support_teardown),
        cmocka_unit_test_teardown(ops_of_the_future, support_teardown),
        cmocka_unit_test_teardown(own_ops_come_back, support_teardown),
        cmocka_unit_test_teardown(own_ops_among_many, support_teardown),
        cmocka_unit_test_teardown(every_byte_changed, support_teardown),
        cmocka_unit_test_teardown(every_length_cut, support_teardown),
        cmocka_unit_test_teardown(nothing_after_a_refusal_is_taken, support_teardown),
        cmocka_unit_test_teardown(the_first_fault_counts, support_teardown),
        cmocka_unit_test_teardown(the_longest_frame, support_teardown),
        cmocka_unit_test_teardown(another_mesh_changes_nothing, support_teardown),
        cmocka_unit_test_teardown(through_a_pipe_byte_by_byte, support_teardown),
        cmocka_unit_test_teardown(into_a_slow_pipe, support_teardown),
        cmocka_unit_test_teardown(a_log_that_grows_meanwhile, support_teardown),
        cmocka_unit_test_teardown(stopped_and_taken_up_again, support_teardown),
        cmocka_unit_test_teardown(memory_does_not_grow_with_the_log, support_teardown),
        cmocka_unit_test_teardown(each_damaged_op_is_repaired, support_teardown),
        cmocka_unit_test_teardown(many_damaged_ops_and_new_ones, support_teardown),
        cmocka_unit_test_teardown(a_lost_end_is_not_written_over, support_teardown),
        cmocka_unit_test_teardown(only_signed_segments_repair, support_teardown),
        cmocka_unit_test(the_bar_fits_its_line),
        cmocka_unit_test_teardown(a_signal_leaves_nothing_half_done, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
