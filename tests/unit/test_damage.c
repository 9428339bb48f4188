/* test_damage.c - A data file with flipped bits, zeroed, swapped or missing pages: whoever opens it
 * gets the right answers or an error, never a signal, a hang or a wrong answer; and verify calls
 * only what is right clean. Each image is looked at by a process of its own. */
#include "tests/unit/support.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oplog/append.h"
#include "oplog/log.h"
#include "oplog/pages.h"
#include "oplog/verify.h"

#ifdef __SANITIZE_ADDRESS__
#define SHARE 8u /* Looks at one image in so many. */
#else
#define SHARE 1u
#endif

#define PAGE 4096u
#define SECONDS_MAX 30u
#define OPS_MAX 512u

enum seen { SEEN_ERROR = 0, SEEN_RIGHT = 1, SEEN_WRONG = 2, SEEN_CLEAN_BUT = 3, SEEN_FORK = 4 };
static const char *const seen_text[] = {"an error", "right", "a wrong answer",
                                        "verify says clean, but something cannot be read",
                                        "an own op that does not follow the last"};

static struct base {
    const char *dir; /* Where images are put. */
    uint8_t *image;
    size_t len;
    uint64_t ops;
    struct op_hash answer;
    struct op_hash frontier;
    struct op_id ids[OPS_MAX];
    struct test_author writer;
    uint64_t writer_seq;
    unsigned images, errors, right;
} base;

/* The undamaged store ---------------------------------------------------------------------- */

static void fill(struct store *store)
{
    const struct made *run[120];
    struct test_author a = author_of(1);
    struct test_author b = author_of(2);
    make_run(&a, NULL, "g---------g", run, 100);
    for (uint32_t at = 0; at < 100; at += 20) {
        assert_ok(offer_ops(store, &a, run + at, 20));
    }
    struct draft branch = {.kind = KIND_CreateEntity, .payload = payload_sized(300, 7)};
    assert_ok(offer_op(store, &a, make_next(&a, run[40], &branch)));
    const struct made *before = make_first(&b, NOW_MS);
    assert_ok(offer_op(store, &b, before));
    for (uint32_t i = 0; i < 40; i++) { /* Some need pages of their own. */
        struct draft draft = {.payload = payload_sized(i % 5 == 0 ? 9000 + i : 150 + 9 * i, i)};
        const struct made *op = make_next(&b, before, &draft);
        bool redacted = i % 7 == 3;
        assert_ok(
            offer_op(store, &b, redacted ? with_payload(op, payload_redact(op->payload, 1)) : op));
        before = op;
    }
    struct op_id nowhere = id_at(&a, NOW_MS - 5000, 9);
    struct draft waits = {.deps = &nowhere, .dep_count = 1};
    const struct made *waiting = make_next(&b, before, &waits);
    assert_ok(offer_op(store, &b, waiting));
    struct draft ahead = {.wall_ms = NOW_MS + 3600000};
    assert_ok(offer_op(store, &b, make_next(&b, waiting, &ahead)));
    base.writer = author_of(3);
    make_run(&base.writer, NULL, "g", run, 30);
    for (uint32_t i = 0; i < 30; i++) {
        assert_ok(offer_op(store, &base.writer, run[i]));
    }
    base.writer_seq = 30;
}

/* All that a store says ---------------------------------------------------------------------- */

static int hash_item(crypto_generichash_state *state, const struct walk_item *item)
{
    enum payload_state payload;
    crypto_generichash_update(state, item->hash.b, sizeof(item->hash.b));
    crypto_generichash_update(state, item->row.op.raw.data, item->row.op.raw.len);
    crypto_generichash_update(state, &item->place.verdict.state, 1);
    crypto_generichash_update(state, &item->place.verdict.reason, 1);
    return op_check_payload(&item->row.op, &payload);
}

static int hash_order(struct txn *txn, crypto_generichash_state *state, uint64_t *ops)
{
    struct walk walk;
    struct walk_item item;
    struct op_author author;
    int rv = walk_order(txn, NULL, &walk);
    *ops = 0;
    while (rv == 0 && (rv = walk_next(&walk, &item)) == 0) {
        rv = author_key(txn, item.row.author_ix, &author);
        if (rv == 0) {
            crypto_generichash_update(state, author.b, sizeof(author.b));
            rv = hash_item(state, &item);
        }
        ++*ops;
    }
    walk_end(&walk);
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int hash_parked(struct txn *txn, crypto_generichash_state *state)
{
    struct parked_key key = {{0}};
    struct bytes wire;
    int rv;
    while ((rv = chain_parked_next(txn, &key, &wire)) == 0) {
        crypto_generichash_update(state, wire.data, wire.len);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int read_answer(struct txn *txn, struct op_hash *out, uint64_t *ops)
{
    static crypto_generichash_state
        state; /* Static: the sanitizer's stack is not aligned so far. */
    crypto_generichash_init(&state, NULL, 0, sizeof(out->b));
    int rv = hash_order(txn, &state, ops);
    if (rv == 0) {
        rv = hash_parked(txn, &state);
    }
    crypto_generichash_final(&state, out->b, sizeof(out->b));
    return rv;
}

/* Looking at an image, in a child ------------------------------------------------------------- */

static enum seen worse(enum seen a, enum seen b)
{
    if (a >= SEEN_WRONG || b >= SEEN_WRONG) {
        return a > b ? a : b;
    }
    return a == SEEN_ERROR || b == SEEN_ERROR ? SEEN_ERROR : SEEN_RIGHT;
}

static enum seen look_up_all(struct txn *txn)
{
    enum seen seen = SEEN_RIGHT;
    for (uint64_t i = 0; i < base.ops; i++) {
        struct place place;
        unsigned count;
        int rv = order_resolve(txn, &base.ids[i], &base.ids[i], &place, &count);
        seen = worse(seen, rv == 0 ? SEEN_RIGHT : rv == ERR_UNKNOWN_ID ? SEEN_WRONG : SEEN_ERROR);
    }
    return seen;
}

static enum seen look_by_reading(struct store *store)
{
    struct txn *txn;
    struct op_hash answer;
    struct op_hash frontier;
    uint64_t ops;
    if (txn_begin_read(store, &txn) != 0) {
        return SEEN_ERROR;
    }
    int rv = read_answer(txn, &answer, &ops);
    enum seen seen = rv != 0                                ? SEEN_ERROR
                     : op_hash_equal(&answer, &base.answer) ? SEEN_RIGHT
                                                            : SEEN_WRONG;
    rv = frontier_hash(txn, &frontier, &ops);
    bool same = rv == 0 && op_hash_equal(&frontier, &base.frontier) && ops == base.ops;
    seen = worse(seen, rv != 0 ? SEEN_ERROR : same ? SEEN_RIGHT : SEEN_WRONG);
    seen = worse(seen, look_up_all(txn));
    txn_abort(txn);
    return seen;
}

static void ignore_damage(void *ctx, const struct damage *damage)
{
    (void)ctx;
    (void)damage;
}

static bool verify_is_clean(struct store *store)
{
    struct verify_report report = {.damage = ignore_damage};
    struct verify_totals totals;
    return verify_store(store, 1, &report, &totals) == 0 && totals.damaged == 0;
}

/* An op of our own follows the last one, or is refused. */
static enum seen look_by_writing(bool clean)
{
    struct store *store;
    struct txn *txn;
    struct append_result result;
    struct append_item item = {.kind = KIND_CreateClaim, .payload = payload_of("{}", 5)};
    if (store_open(base.dir, STORE_WRITE, &store) != 0) {
        return clean ? SEEN_CLEAN_BUT : SEEN_ERROR;
    }
    int rv = txn_begin_write(store, &txn);
    if (rv == 0) {
        rv = append_group(txn, key_of(&base.writer), NOW_MS + 1000, &item, 1, &result);
        if (rv == 0) {
            rv = txn_commit(txn);
        } else {
            txn_abort(txn);
        }
    }
    enum seen seen = rv != 0                             ? SEEN_ERROR
                     : result.seq == base.writer_seq + 1 ? SEEN_RIGHT
                                                         : SEEN_FORK;
    if (clean && (seen == SEEN_ERROR || !verify_is_clean(store))) {
        seen = SEEN_CLEAN_BUT;
    }
    store_close(store);
    return seen;
}

static enum seen look(void)
{
    struct store *store;
    if (store_open(base.dir, STORE_READ, &store) != 0) {
        return worse(SEEN_ERROR, look_by_writing(false));
    }
    enum seen seen = look_by_reading(store);
    bool clean = verify_is_clean(store);
    store_close(store);
    if (clean && seen == SEEN_ERROR) {
        seen = SEEN_CLEAN_BUT;
    }
    return worse(seen, look_by_writing(clean));
}

/* Images ---------------------------------------------------------------------------------- */

static void write_file(const char *path, const uint8_t *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), (ssize_t)len);
    close(fd);
}

static void try_image(const uint8_t *image, size_t len, const char *what, unsigned long which)
{
    if (base.images++ % SHARE != 0) {
        return;
    }
    write_file(support_path(base.dir, "data.mdb"), image, len);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(SECONDS_MAX);
        _exit(look());
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
        fail_msg("%s %lu: ended by signal %d", what, which, WTERMSIG(status));
    }
    if (WEXITSTATUS(status) >= SEEN_WRONG) {
        fail_msg("%s %lu: %s", what, which,
                 WEXITSTATUS(status) <= SEEN_FORK ? seen_text[WEXITSTATUS(status)] : "it broke");
    }
    base.errors += WEXITSTATUS(status) == SEEN_ERROR ? 1 : 0;
    base.right += WEXITSTATUS(status) == SEEN_RIGHT ? 1 : 0;
}

/* Change the image by a function, try it, change it back. */
static void with_flip(size_t byte, unsigned bit, const char *what)
{
    base.image[byte] ^= (uint8_t)(1u << bit);
    try_image(base.image, base.len, what, byte * 8 + bit);
    base.image[byte] ^= (uint8_t)(1u << bit);
}

static void any_bit(void **state)
{
    (void)state;
    struct rng rng = rng_from(1);
    for (unsigned i = 0; i < 900; i++) {
        size_t byte = rng_below(&rng, (uint32_t)base.len);
        with_flip(byte, rng_below(&rng, 8), "bit");
    }
}

/* The heads of pages and where their rows begin: what LMDB itself believes. */
static void any_bit_of_a_page_head(void **state)
{
    (void)state;
    struct rng rng = rng_from(2);
    uint32_t pages = (uint32_t)(base.len / PAGE);
    for (unsigned i = 0; i < 900; i++) {
        size_t byte = (size_t)rng_below(&rng, pages) * PAGE + rng_below(&rng, 48);
        with_flip(byte, rng_below(&rng, 8), "bit of a head");
    }
}

static void every_bit_of_the_metas(void **state)
{
    (void)state;
    for (size_t page = 0; page < 2; page++) {
        for (size_t at = 0; at < PAGES_HEADER + PAGES_META; at++) {
            for (unsigned bit = 0; bit < 8; bit++) {
                with_flip(page * PAGE + at, bit, "bit of a meta");
            }
        }
    }
}

static void many_bits(void **state)
{
    (void)state;
    struct rng rng = rng_from(3);
    uint8_t *image = support_alloc(base.len);
    for (unsigned i = 0; i < 150; i++) {
        memcpy(image, base.image, base.len);
        for (unsigned flips = 2 + rng_below(&rng, 30); flips > 0; flips--) {
            image[rng_below(&rng, (uint32_t)base.len)] ^= (uint8_t)(1u << rng_below(&rng, 8));
        }
        try_image(image, base.len, "bits", i);
    }
}

static void every_page_zeroed_or_another(void **state)
{
    (void)state;
    struct rng rng = rng_from(4);
    uint8_t *image = support_alloc(base.len);
    uint32_t pages = (uint32_t)(base.len / PAGE);
    for (uint32_t page = 0; page < pages; page++) {
        uint32_t other = rng_below(&rng, pages);
        memcpy(image, base.image, base.len);
        memset(image + (size_t)page * PAGE, 0, PAGE);
        try_image(image, base.len, "zeroed page", page);
        memcpy(image + (size_t)page * PAGE, base.image + (size_t)other * PAGE, PAGE);
        try_image(image, base.len, "page in another's place", page);
        memcpy(image + (size_t)other * PAGE, base.image + (size_t)page * PAGE, PAGE);
        try_image(image, base.len, "swapped page", page);
    }
}

static void every_length(void **state)
{
    (void)state;
    struct rng rng = rng_from(5);
    for (size_t len = 0; len < base.len; len += PAGE) {
        try_image(base.image, len, "cut to", len);
        size_t odd = len + 1 + rng_below(&rng, PAGE - 1);
        try_image(base.image, odd, "cut to", odd);
    }
}

static void files_of_others(void **state)
{
    (void)state;
    struct rng rng = rng_from(6);
    uint8_t *image = support_alloc(base.len);
    try_image(image, base.len, "zeros", 0);
    memset(image, 'a', base.len);
    try_image(image, base.len, "text", 0);
    for (unsigned i = 0; i < 20; i++) {
        for (size_t at = i % 2 == 0 ? 0 : 2ul * PAGE; at < base.len; at++) {
            image[at] = (uint8_t)rng_next(&rng);
        }
        if (i % 2 == 1) {
            memcpy(image, base.image, 2ul * PAGE);
        }
        try_image(image, base.len, "noise", i);
    }
}

/* Change the key of the row of order that an op has, so that its page is still in order. */
static void damage_key(const char *path, const struct made *op)
{
    uint8_t key[32];
    unsigned changed = 0;
    memcpy(key, op->id.b, 16);
    memcpy(key + 16, op->hash.b, 16);
    int fd = open(path, O_RDWR);
    off_t len = lseek(fd, 0, SEEK_END);
    uint8_t *file = support_alloc((size_t)len);
    assert_int_equal(pread(fd, file, (size_t)len, 0), len);
    for (uint8_t *at = file; (at = memmem(at, (size_t)(file + len - at), key, 32)) != NULL; at++) {
        uint8_t last = key[31] ^ 1;
        assert_int_equal(pwrite(fd, &last, 1, at + 31 - file), 1);
        changed++;
    }
    close(fd);
    assert_true(changed > 0);
}

/* A row that is there under another key is not taken for one that is missing: not by a reader, nor
 * by a writer, to whom a file as small as this one is known from the start. */
static void a_damaged_key_is_no_missing_row(void **state)
{
    (void)state;
    struct store *store = store_new_for_test();
    struct test_author a = author_of(1);
    const struct made *run[20];
    struct place place;
    make_run(&a, NULL, "g---------g", run, 20);
    assert_ok(offer_ops(store, &a, run, 20));
    const char *dir =
        (const char *)support_copy(bytes_of(store_dir(store), strlen(store_dir(store)) + 1)).data;
    store_done(store);
    damage_key(support_path(dir, "data.mdb"), run[7]);
    assert_ok(store_open(dir, STORE_WRITE, &store));
    struct txn *txn = begin_read(store);
    assert_err("read", order_get(txn, &run[7]->id, &run[7]->hash, &place), ERR_CORRUPT);
    txn_abort(txn);
    txn = begin_write(store);
    assert_err("write", order_get(txn, &run[7]->id, &run[7]->hash, &place), ERR_CORRUPT);
    txn_abort(txn);
    store_close(store);
}

/* The undamaged one, so that errors everywhere are no success. */
static void the_undamaged_one_is_right(void **state)
{
    (void)state;
    unsigned right = base.right;
    base.images = 0;
    try_image(base.image, base.len, "undamaged", 0);
    assert_int_equal(base.right, right + 1);
}

static int setup(void **state)
{
    (void)state;
    struct store *store = store_new_for_test();
    struct stat st;
    fill(store);
    struct txn *txn = begin_read(store);
    struct walk walk;
    struct walk_item item;
    assert_ok(read_answer(txn, &base.answer, &base.ops));
    assert_in_range(base.ops, 1, OPS_MAX);
    assert_ok(walk_order(txn, NULL, &walk));
    for (uint64_t i = 0; i < base.ops; i++) {
        assert_ok(walk_next(&walk, &item));
        base.ids[i] = item.row.op.id;
    }
    walk_end(&walk);
    assert_ok(frontier_hash(txn, &base.frontier, &base.ops));
    txn_abort(txn);
    const char *path = support_path(store_dir(store), "data.mdb");
    assert_int_equal(stat(path, &st), 0);
    base.len = (size_t)st.st_size / PAGE * PAGE;
    base.image = malloc(base.len);
    assert_non_null(base.image);
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, base.image, base.len), (ssize_t)base.len);
    close(fd);
    base.dir = support_dir();
    (void)key_of(&base.writer);
    return 0;
}

static int teardown(void **state)
{
    print_message("%u images, %u of them looked at: %u right, %u told as damaged\n", base.images,
                  base.right + base.errors, base.right, base.errors);
    free(base.image);
    return support_teardown(state);
}

int main(void)
{
    support_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_undamaged_one_is_right),
        cmocka_unit_test(any_bit),
        cmocka_unit_test(any_bit_of_a_page_head),
        cmocka_unit_test(every_bit_of_the_metas),
        cmocka_unit_test(many_bits),
        cmocka_unit_test(every_page_zeroed_or_another),
        cmocka_unit_test(every_length),
        cmocka_unit_test(files_of_others),
        cmocka_unit_test(a_damaged_key_is_no_missing_row),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
