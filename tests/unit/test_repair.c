/* test_repair.c - A store is built anew from a data file with flipped bits, zeroed, swapped or
 * missing pages, or of others. With a bundle of everything nothing is missing afterwards. Without
 * one no op is there that was not before, and what is lost is counted right. In any case the new
 * store verifies. Each image is repaired by a process of its own. */
#include "tests/unit/support_bundle.h"

#include <fcntl.h>
#include <ftw.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oplog/authority.h"
#include "oplog/db.h"
#include "oplog/pages.h"
#include "oplog/repair.h"
#include "oplog/swap.h"

#ifdef __SANITIZE_ADDRESS__
#define SHARE 8u /* Looks at one image in so many. */
#else
#define SHARE 1u
#endif

#define PAGE 4096u
#define SECONDS_MAX 60u
#define OPS_MAX 512u
#define LONG_AGO (NOW_MS - 50000)

#ifndef __SANITIZE_ADDRESS__
#ifndef __SANITIZE_THREAD__
/* Nothing here has to outlive a power loss. LMDB calls these, too. */
int fdatasync(int fd) // NOLINT
{
    (void)fd;
    return 0;
}

int fsync(int fd) // NOLINT
{
    (void)fd;
    return 0;
}
#endif
#endif

/* What the process that repaired an image says of it. */
struct said {
    char wrong[160]; /* Empty: nothing. */
    bool refused;    /* No op could be read. */
    uint64_t ops;
    uint64_t lost;
    bool lost_known;
};

static struct base {
    const char *dir; /* Where images are put… */
    const char *to;  /* …and new stores made. */
    uint8_t *image;
    size_t len;
    uint64_t ops;
    struct op_hash answer;
    struct op_hash frontier;
    struct op_hash hash[OPS_MAX]; /* Over what an op is, ascending. */
    struct test_author self;
    struct bytes bundle;
    struct said *said; /* Shared with the children. */
    unsigned images, whole, refused;
    uint64_t lost;
} base;

/* The undamaged store --------------------------------------------------------------------- */

static void fill(struct store *store)
{
    const struct made *run[250];
    struct test_author a = author_of(1);
    struct test_author b = author_of(2);
    struct test_author c = author_of(4);
    make_run(&a, NULL, "g---------g", run, 100);
    for (uint32_t at = 0; at < 100; at += 20) {
        assert_ok(offer_ops(store, &a, run + at, 20));
    }
    struct draft branch = {.kind = KIND_CreateEntity, .payload = payload_sized(300, 7)};
    assert_ok(offer_op(store, &a, make_next(&a, run[40], &branch)));
    const struct made *before = make_first(&b, LONG_AGO);
    assert_ok(offer_op(store, &b, before));
    for (uint32_t i = 0; i < 40; i++) { /* Some need pages of their own. */
        struct draft draft = {.payload = payload_sized(i % 5 == 0 ? 9000 + i : 150 + 9 * i, i)};
        const struct made *op = make_next(&b, before, &draft);
        bool redacted = i % 7 == 3;
        assert_ok(
            offer_op(store, &b, redacted ? with_payload(op, payload_redact(op->payload, 1)) : op));
        before = op;
    }
    struct op_id nowhere = id_at(&a, LONG_AGO - 5000, 9);
    struct draft waits = {.deps = &nowhere, .dep_count = 1};
    const struct made *waiting = make_next(&b, before, &waits);
    assert_ok(offer_op(store, &b, waiting));
    struct draft ahead = {.wall_ms = NOW_MS + 3600000};
    assert_ok(offer_op(store, &b, make_next(&b, waiting, &ahead))); /* Parked. */
    make_run(&c, NULL, "-", run, 249); /* Many pages in one commit: copies are left on them. */
    struct draft last = {.sign = SIGN_GOOD};
    run[249] = make_next(&c, run[248], &last);
    assert_ok(offer_ops(store, &c, run, 250));
    make_run(&base.self, NULL, "g", run, 30);
    for (uint32_t i = 0; i < 30; i++) {
        assert_ok(offer_op(store, &base.self, run[i]));
    }
}

/* What a store says ----------------------------------------------------------------------- */

static struct op_hash item_hash(const struct walk_item *item)
{
    struct op_hash hash;
    crypto_generichash(hash.b, sizeof(hash.b), item->row.op.raw.data, item->row.op.raw.len, NULL,
                       0);
    return hash;
}

/* Ops in their order, with their verdicts; each one's hash, if there is room for those. */
static int read_answer(struct txn *txn, struct op_hash *out, struct op_hash *each, uint64_t *ops)
{
    static crypto_generichash_state state; /* Static: the stack is not aligned so far. */
    struct walk walk;
    struct walk_item item;
    crypto_generichash_init(&state, NULL, 0, sizeof(out->b));
    *ops = 0;
    int rv = walk_order(txn, NULL, &walk);
    while (rv == 0 && (rv = walk_next(&walk, &item)) == 0) {
        struct op_hash hash = item_hash(&item);
        crypto_generichash_update(&state, hash.b, sizeof(hash.b));
        crypto_generichash_update(&state, &item.place.verdict.state, 1);
        crypto_generichash_update(&state, &item.place.verdict.reason, 1);
        if (*ops < OPS_MAX) {
            each[*ops] = hash;
        }
        ++*ops;
    }
    walk_end(&walk);
    crypto_generichash_final(&state, out->b, sizeof(out->b));
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct op_hash));
}

/* Repairing an image, in a child ---------------------------------------------------------- */

static void complain(const char *what, int err)
{
    if (base.said->wrong[0] == 0) {
        (void)snprintf(base.said->wrong, sizeof(base.said->wrong), "%s: %s", what, err_code(err));
    }
}

/* Nothing is there that was not before. */
static void look_for_strangers(const struct op_hash *each, uint64_t ops)
{
    for (uint64_t i = 0; i < ops && i < OPS_MAX; i++) {
        if (bsearch(&each[i], base.hash, base.ops, sizeof(each[i]), compare_hashes) == NULL) {
            complain("an op that was not there", 0);
        }
    }
}

static void look_inside(struct txn *txn, bool with_bundle)
{
    static struct op_hash each[OPS_MAX];
    struct op_hash answer;
    struct op_hash frontier;
    uint64_t ops;
    int rv = read_answer(txn, &answer, each, &ops);
    if (rv != 0) {
        complain("it cannot be read", rv);
        return;
    }
    base.said->ops = ops;
    look_for_strangers(each, ops);
    rv = frontier_hash(txn, &frontier, &ops);
    if (rv != 0 || ops != base.said->ops) {
        complain("the frontier is wrong", rv);
    }
    if (with_bundle && !op_hash_equal(&answer, &base.answer)) {
        complain("the bundle has more", 0);
    }
    if (with_bundle && !op_hash_equal(&frontier, &base.frontier)) {
        complain("another frontier", 0);
    }
}

static void look_at_new(bool with_bundle)
{
    struct store *store;
    struct txn *txn;
    struct op_author self;
    size_t len = sizeof(self.b);
    int rv = store_open(base.dir, STORE_WRITE, &store);
    if (rv != 0) {
        complain("it does not open", rv);
        return;
    }
    assert_clean(store);
    rv = txn_begin_read(store, &txn);
    if (rv != 0) {
        complain("it cannot be read", rv);
    } else {
        look_inside(txn, with_bundle);
        if (meta_get(txn, "node", self.b, &len) != 0 ||
            memcmp(self.b, base.self.key.b, sizeof(self.b)) != 0) {
            complain("it does not know its node", 0);
        }
        txn_abort(txn);
    }
    store_close(store);
}

static int import_all(struct repair *repair)
{
    struct import_result result;
    return import_bytes(repair_store(repair), base.bundle, &result);
}

static int repair_all(struct repair *repair, bool with_bundle, struct repair_result *result)
{
    int rv = repair_begin(repair, base.to, NOW_MS);
    if (rv == 0 && with_bundle) {
        rv = import_all(repair);
    }
    return rv == 0 ? repair_finish(repair, NOW_MS, result) : rv;
}

static void repair_image(bool with_bundle)
{
    struct repair *repair;
    struct repair_result result = {.ops = 0};
    char kept[SWAP_NAME];
    int rv = repair_open(base.dir, with_bundle ? &test_mesh : NULL, NULL, &repair);
    if (rv == ERR_UNKNOWN_ID && !with_bundle) {
        base.said->refused = true;
        return;
    }
    if (rv != 0) {
        complain("what is left cannot be read", rv);
        return;
    }
    rv = repair_all(repair, with_bundle, &result);
    repair_close(repair);
    if (rv == 0) {
        rv = swap_data(base.dir, base.to, NOW_MS, kept);
    }
    if (rv != 0) {
        complain("it cannot be repaired", rv);
        return;
    }
    base.said->lost = result.lost;
    base.said->lost_known = result.lost_known;
    look_at_new(with_bundle);
    if (result.ops != base.said->ops) {
        complain("its ops are counted wrong", 0);
    }
    buf_free(&result.losses);
}

/* Images ---------------------------------------------------------------------------------- */

static void write_file(const char *path, const uint8_t *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), (ssize_t)len);
    close(fd);
}

static int remove_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    return at->level == 0 ? 0 : remove(path);
}

static void begin_anew(const uint8_t *image, size_t len)
{
    assert_int_equal(nftw(base.dir, remove_file, 8, FTW_DEPTH | FTW_PHYS), 0);
    assert_int_equal(nftw(base.to, remove_file, 8, FTW_DEPTH | FTW_PHYS), 0);
    write_file(support_path(base.dir, "data.mdb"), image, len);
    assert_ok(key_save(base.dir, KEY_NODE, key_of(&base.self)));
    *base.said = (struct said){.ops = 0};
}

static void try_with(const uint8_t *image, size_t len, bool with_bundle, const char *what,
                     unsigned long which)
{
    const void *mark = support_mark();
    begin_anew(image, len);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(SECONDS_MAX);
        repair_image(with_bundle);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    const struct said *said = base.said;
    const char *how = with_bundle ? "with a bundle" : "alone";
    if (status != 0 || said->wrong[0] != 0) {
        fail_msg("%s %lu, %s: %s (status %d)", what, which, how, said->wrong, status);
    }
    uint64_t lost = base.ops - said->ops;
    bool counted = said->lost_known ? said->lost == lost : said->lost <= lost;
    if (!said->refused && !counted) {
        fail_msg("%s %lu, %s: %llu lost, not %llu", what, which, how, (unsigned long long)lost,
                 (unsigned long long)said->lost);
    }
    if (lost > 0 && !said->refused && getenv("MESHLOG_TEST_LOSSES") != NULL) {
        print_message("  %s %lu, %s: %llu lost\n", what, which, how, (unsigned long long)lost);
    }
    base.refused += said->refused;
    base.whole += !with_bundle && !said->refused && lost == 0;
    base.lost += said->refused ? 0 : lost;
    support_free_to(mark);
}

static void try_image(const uint8_t *image, size_t len, const char *what, unsigned long which)
{
    if (base.images++ % SHARE == 0) {
        try_with(image, len, true, what, which);
        try_with(image, len, false, what, which);
    }
}

static void with_flip(size_t byte, unsigned bit, const char *what)
{
    base.image[byte] ^= (uint8_t)(1u << bit);
    try_image(base.image, base.len, what, byte * 8 + bit);
    base.image[byte] ^= (uint8_t)(1u << bit);
}

static void report(const char *what)
{
    print_message("%s: %u images; alone %u came out whole, %u could not be read at all, %llu ops "
                  "were lost\n",
                  what, base.images, base.whole, base.refused, (unsigned long long)base.lost);
}

static void any_bit(void **state)
{
    (void)state;
    struct rng rng = rng_from(1);
    for (unsigned i = 0; i < 120; i++) {
        size_t byte = rng_below(&rng, (uint32_t)base.len);
        with_flip(byte, rng_below(&rng, 8), "bit");
    }
    report("bits");
}

/* A leaf or branch page, or free and once one; with four places of rows at least. */
static bool is_tree_page(size_t page)
{
    uint64_t number;
    uint16_t head[3];
    memcpy(&number, base.image + page * PAGE, sizeof(number));
    memcpy(head, base.image + page * PAGE + 10, sizeof(head));
    return number == page && (head[0] == 1 || head[0] == 2) && head[1] >= PAGES_HEADER + 8;
}

/* What LMDB believes: one bit of it costs no op. */
static void any_bit_of_a_page_head(void **state)
{
    (void)state;
    struct rng rng = rng_from(2);
    uint32_t pages = (uint32_t)(base.len / PAGE);
    for (unsigned i = 0; i < 200;) {
        size_t page = 2 + rng_below(&rng, pages - 2);
        if (is_tree_page(page)) {
            size_t byte = page * PAGE + rng_below(&rng, 24);
            with_flip(byte, rng_below(&rng, 8), "bit of a head");
            i++;
        }
    }
    assert_count("ops lost", base.lost, 0);
    report("bits of heads");
}

static void bits_of_the_metas(void **state)
{
    (void)state;
    for (size_t page = 0; page < 2; page++) {
        for (size_t at = 0; at < (PAGES_HEADER + PAGES_META) * 8; at += 23) {
            with_flip(page * PAGE + at / 8, at % 8, "bit of a meta");
        }
    }
    assert_count("ops lost", base.lost, 0);
    report("bits of metas");
}

/* The newest meta names another page where its list of free pages begins, or its databases: one of
 * an older commit fits. */
static void roots_of_other_commits(void **state)
{
    static const size_t root_at[] = {PAGES_HEADER + 24 + 40, PAGES_HEADER + 72 + 40};
    uint64_t txn[2];
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        memcpy(&txn[i], base.image + i * PAGE + PAGES_META_TXN, sizeof(txn[i]));
    }
    for (size_t i = 0; i < COUNT_OF(root_at); i++) {
        uint8_t *root = base.image + (txn[1] > txn[0] ? PAGE : 0) + root_at[i];
        uint64_t before;
        memcpy(&before, root, sizeof(before));
        for (uint64_t page = 2; page < base.len / PAGE; page++) {
            memcpy(root, &page, sizeof(page));
            try_image(base.image, base.len, i == 0 ? "free list at" : "databases at", page);
        }
        memcpy(root, &before, sizeof(before));
    }
    assert_count("ops lost", base.lost, 0);
    report("roots");
}

static uint64_t number_in(size_t at)
{
    uint64_t number;
    memcpy(&number, base.image + at, sizeof(number));
    return number;
}

/* The list of free pages names one that is in use, each in turn. */
static void a_page_in_use_is_called_free(void **state)
{
    (void)state;
    size_t meta = number_in(PAGE + PAGES_META_TXN) > number_in(PAGES_META_TXN) ? PAGE : 0;
    size_t leaf = number_in(meta + PAGES_HEADER + 24 + 40) * PAGE;
    uint16_t node;
    assert_in_range(leaf, 2 * PAGE, base.len - PAGE);
    memcpy(&node, base.image + leaf + PAGES_HEADER, sizeof(node));
    size_t list = leaf + node + 16; /* The count, then the numbers, descending. */
    assert_in_range(number_in(list), 2, 400);
    size_t last = list + 8 * number_in(list);
    uint64_t before = number_in(last);
    for (uint64_t page = 2; page < number_in(last - 8); page++) {
        memcpy(base.image + last, &page, sizeof(page));
        try_image(base.image, base.len, "called free", page);
    }
    memcpy(base.image + last, &before, sizeof(before));
    assert_count("ops lost", base.lost, 0);
    report("free lists");
}

static void every_page_zeroed(void **state)
{
    (void)state;
    uint8_t *image = support_alloc(base.len);
    for (size_t page = 0; page < base.len / PAGE; page++) {
        memcpy(image, base.image, base.len);
        memset(image + page * PAGE, 0, PAGE);
        try_image(image, base.len, "zeroed page", page);
    }
    report("zeroed pages");
}

static void some_lengths(void **state)
{
    (void)state;
    struct rng rng = rng_from(5);
    for (size_t len = 0; len < base.len; len += 4ul * PAGE) {
        try_image(base.image, len, "cut to", len);
        size_t odd = len + 1 + rng_below(&rng, 4 * PAGE - 1);
        try_image(base.image, odd < base.len ? odd : base.len - 1, "cut to", odd);
    }
    report("cut files");
}

static void files_of_others(void **state)
{
    (void)state;
    struct rng rng = rng_from(6);
    uint8_t *image = support_alloc(base.len);
    try_image(image, base.len, "zeros", 0);
    memset(image, 'a', base.len);
    try_image(image, base.len, "text", 0);
    for (unsigned i = 0; i < 6; i++) {
        for (size_t at = i % 2 == 0 ? 0 : 2ul * PAGE; at < base.len; at++) {
            image[at] = (uint8_t)rng_next(&rng);
        }
        if (i % 2 == 1) {
            memcpy(image, base.image, 2ul * PAGE);
        }
        try_image(image, base.len, "noise", i);
    }
    report("files of others");
}

/* Nothing but the data file is looked at. */
static void the_undamaged_one_comes_out_whole(void **state)
{
    (void)state;
    try_image(base.image, base.len, "undamaged", 0);
    assert_int_equal(base.whole, 1);
    report("undamaged");
}

/* What another program wrote is left to it. */
static void another_schema(void **state)
{
    static const struct {
        uint32_t schema;
        int want;
    } cases[] = {{STORE_SCHEMA + 1, ERR_NEWER_SCHEMA}, {STORE_SCHEMA - 1, ERR_OLD_SCHEMA}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct store *store = store_new_for_test();
        struct txn *txn = begin_write(store);
        uint8_t schema[4];
        struct repair *repair;
        be_put(schema, sizeof(schema), cases[i].schema);
        assert_ok(meta_put(txn, "schema", bytes_of(schema, sizeof(schema))));
        assert_ok(txn_commit(txn));
        assert_err("repair_open", repair_open(store_dir(store), NULL, NULL, &repair),
                   cases[i].want);
        store_done(store);
    }
}

static void read_image(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    base.len = (size_t)st.st_size / PAGE * PAGE;
    base.image = malloc(base.len);
    assert_non_null(base.image);
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, base.image, base.len), (ssize_t)base.len);
    close(fd);
}

static void name_node(struct store *store)
{
    struct txn *txn = begin_write(store);
    assert_ok(meta_put(txn, "node", bytes_of(base.self.key.b, sizeof(base.self.key.b))));
    assert_ok(txn_commit(txn));
}

static int setup(void **state)
{
    (void)state;
    struct store *store = store_new_for_test();
    base.self = author_of(3);
    authority_on(store);
    name_node(store);
    fill(store);
    struct txn *txn = begin_read(store);
    assert_ok(read_answer(txn, &base.answer, base.hash, &base.ops));
    assert_in_range(base.ops, 1, OPS_MAX);
    qsort(base.hash, base.ops, sizeof(base.hash[0]), compare_hashes);
    assert_ok(frontier_hash(txn, &base.frontier, &base.ops));
    txn_abort(txn);
    base.bundle = export_bytes(store, NULL);
    read_image(support_path(store_dir(store), "data.mdb"));
    store_done(store);
    base.dir = support_dir();
    base.to = support_dir();
    base.said = mmap(NULL, sizeof(*base.said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                     -1, 0);
    assert_true(base.said != MAP_FAILED);
    return 0;
}

/* Counts are those of one test. */
static int count_anew(void **state)
{
    (void)state;
    base.images = base.whole = base.refused = 0;
    base.lost = 0;
    return 0;
}

static int teardown(void **state)
{
    free(base.image);
    return support_teardown(state);
}

int main(void)
{
    support_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_undamaged_one_comes_out_whole, count_anew),
        cmocka_unit_test(another_schema),
        cmocka_unit_test_setup(any_bit, count_anew),
        cmocka_unit_test_setup(any_bit_of_a_page_head, count_anew),
        cmocka_unit_test_setup(bits_of_the_metas, count_anew),
        cmocka_unit_test_setup(roots_of_other_commits, count_anew),
        cmocka_unit_test_setup(a_page_in_use_is_called_free, count_anew),
        cmocka_unit_test_setup(every_page_zeroed, count_anew),
        cmocka_unit_test_setup(some_lengths, count_anew),
        cmocka_unit_test_setup(files_of_others, count_anew),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
