/* A store whose data file was damaged: whatever the damage, opening, reading, verifying and
 * writing end with an answer or an error, and where verify finds nothing the answers are right.
 *
 * The input is a list of edits to the data file of a small store that is made when the target
 * starts. Each has 6 bytes: what 1 ‖ page 1 ‖ offset 2 ‖ value 2. */
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

#include "oplog/append.h"
#include "oplog/db.h"
#include "oplog/verify.h"
#include "tests/unit/support.h"

#define EDIT_BYTES 6u
#define EDITS_MAX 16u
#define IMAGE_PAGE 4096u
#define IMAGE_MAX KIB(512)
#define STATES 2u         /* Commits that a data file holds: the last and the one before it. */
#define ITEMS_MAX 10000ul /* Far more than there are: a walk that goes on has no end. */

enum edit {
    FLIP_BIT,
    SET_BYTE,
    SET_SHORT,
    SET_NUMBER,
    ZERO_REST,
    ZERO_PAGE,
    COPY_PAGE,
    CUT,
    EDITS
};

/* Made once. */
static struct {
    const char *dir;
    struct test_author own;
    const struct key *key;
    struct bytes foreign;           /* A segment that it does not have. */
    uint8_t image[IMAGE_MAX];       /* Its data file… */
    size_t len;                     /* …has so many bytes. */
    struct op_hash answers[STATES]; /* What is read from it, and was before the last commit. */
} base;

/* Reading ------------------------------------------------------------------------------ */

/* Everything that a store says, in one hash. Not for the stack: libsodium's state wants 64 bytes of
 * alignment, which the stack that ASan makes up does not give. */
struct answer {
    crypto_generichash_state state;
    unsigned long items;
};

static void answer_add(struct answer *answer, const void *data, size_t len)
{
    assert(++answer->items < ITEMS_MAX);
    crypto_generichash_update(&answer->state, data, len);
}

static int read_author(struct txn *txn, const struct author *author, struct answer *answer)
{
    struct head heads[LIMIT_PREV];
    struct walk walk;
    struct walk_item item;
    uint32_t count = 0;
    answer_add(answer, author->key.b, sizeof(author->key.b));
    answer_add(answer, &author->ops, sizeof(author->ops));
    int rv = heads_of(txn, author->ix, heads, COUNT_OF(heads), &count);
    for (uint32_t i = 0; rv == 0 && i < count && i < COUNT_OF(heads); i++) {
        answer_add(answer, heads[i].hash.b, sizeof(heads[i].hash.b));
        answer_add(answer, &heads[i].seq, sizeof(heads[i].seq));
    }
    if (rv == 0) {
        rv = walk_author(txn, author->ix, 1, &walk);
        while (rv == 0 && (rv = walk_next(&walk, &item)) == 0) {
            answer_add(answer, item.hash.b, sizeof(item.hash.b));
        }
        walk_end(&walk);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int read_authors(struct txn *txn, struct answer *answer)
{
    struct op_author next = {{0}};
    struct author author;
    int rv;
    while ((rv = author_next(txn, &next, &author)) == 0) {
        rv = read_author(txn, &author, answer);
        if (rv != 0) {
            return rv;
        }
        next = author.key;
        for (size_t i = sizeof(next.b); i > 0 && ++next.b[i - 1] == 0; i--) {
        }
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int read_order(struct txn *txn, struct answer *answer)
{
    struct walk walk;
    struct walk_item item;
    int rv = walk_order(txn, NULL, &walk);
    while (rv == 0 && (rv = walk_next(&walk, &item)) == 0) {
        uint8_t verdict[2] = {(uint8_t)item.place.verdict.state,
                              (uint8_t)item.place.verdict.reason};
        answer_add(answer, item.row.op.raw.data, item.row.op.raw.len);
        answer_add(answer, verdict, sizeof(verdict));
    }
    walk_end(&walk);
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int read_segments(struct txn *txn, struct answer *answer)
{
    struct buf wire;
    uint64_t n = 0;
    int rv;
    buf_init(&wire, LIMIT_SEGMENT_BYTES);
    while ((rv = chain_read(txn, n, &wire, &n)) == 0) {
        answer_add(answer, wire.data, wire.len);
        buf_clear(&wire);
    }
    buf_free(&wire);
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int read_parked(struct txn *txn, struct answer *answer)
{
    struct parked_key key = {{0}};
    struct bytes wire;
    int rv;
    while ((rv = chain_parked_next(txn, &key, &wire)) == 0) {
        answer_add(answer, wire.data, wire.len);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Go on after an error: every way of reading shall meet the damage. */
static int read_all(struct store *store, struct op_hash *out)
{
    static int (*const parts[])(struct txn *, struct answer *) = {read_authors, read_order,
                                                                  read_segments, read_parked};
    static struct answer answer;
    struct txn *txn;
    struct op_hash frontier = {{0}};
    uint64_t ops = 0;
    answer.items = 0;
    crypto_generichash_init(&answer.state, NULL, 0, sizeof(out->b));
    int rv = txn_begin_read(store, &txn);
    if (rv != 0) {
        return rv;
    }
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        int failed = parts[i](txn, &answer);
        rv = rv != 0 ? rv : failed;
    }
    int failed = frontier_hash(txn, &frontier, &ops);
    txn_abort(txn);
    answer_add(&answer, frontier.b, sizeof(frontier.b));
    answer_add(&answer, &ops, sizeof(ops));
    crypto_generichash_final(&answer.state, out->b, sizeof(out->b));
    return rv != 0 ? rv : failed;
}

static void note_damage(void *ctx, const struct damage *damage)
{
    (void)ctx;
    assert(damage->problem != NULL);
}

static bool verifies(struct store *store)
{
    struct verify_report report = {.damage = note_damage};
    struct verify_totals totals;
    return verify_store(store, 1, &report, &totals) == 0 && totals.damaged == 0;
}

/* The base ----------------------------------------------------------------------------- */

/* Two authors with a fork, a join, twins, an Abandon, a dependency that is missing, a payload that
 * fills pages of its own, one that is redacted, and ops dated ahead. */
static void fill(struct store *store)
{
    struct test_author other = author_of(2);
    const struct made *run[40];
    make_run(&other, NULL, "g--g", run, COUNT_OF(run));
    assert_ok(offer_ops(store, &other, run, COUNT_OF(run)));
    struct draft left = {.payload = payload_sized(9000, 1)};
    struct draft right = {.kind = KIND_Abandon};
    struct draft ahead = {.wall_ms = NOW_MS + 10 * LIMIT_SKEW_MS};
    struct draft waits = {.deps = &(struct op_id){{1}}, .dep_count = 1};
    const struct made *fork[2] = {make_next(&other, run[30], &left),
                                  make_next(&other, run[39], &right)};
    const struct made *join = make_join(&other, fork, 2, &waits);
    const struct made *shown = make_next(&other, join, NULL);
    assert_ok(offer_op(store, &other, fork[0]));
    assert_ok(offer_op(store, &other, fork[1]));
    assert_ok(offer_op(store, &other, join));
    assert_ok(offer_op(store, &other, with_payload(shown, payload_redact(shown->payload, 1))));
    assert_ok(offer_op(store, &other, make_next(&other, shown, &ahead)));
    base.foreign = segment_of_one(&other, make_next(&other, shown, NULL));
    assert_ok(offer_op(store, &base.own, make_first(&base.own, NOW_MS - 5000)));
}

static int append_some(struct store *store)
{
    struct append_item items[3];
    struct append_result results[COUNT_OF(items)];
    struct txn *txn;
    struct bytes payload = payload_of("{\"text\":\"more\"}", 9);
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        items[i] = (struct append_item){.kind = KIND_CreateClaim, .payload = payload};
    }
    int rv = txn_begin_write(store, &txn);
    if (rv != 0) {
        return rv;
    }
    rv = append_group(txn, base.key, NOW_MS, items, COUNT_OF(items), results);
    if (rv != 0) {
        txn_abort(txn);
        return rv;
    }
    return txn_commit(txn);
}

static struct store *open_store(enum store_mode mode)
{
    struct store *store;
    if (store_open(base.dir, mode, &store) != 0) {
        return NULL;
    }
    mdb_env_set_flags(store->env, MDB_NOSYNC, 1);
    return store;
}

static void make_base(void)
{
    support_init();
    base.dir = support_dir();
    base.own = author_of(1);
    base.key = key_of(&base.own);
    assert_ok(store_create(base.dir, &test_mesh, MIB(1)));
    struct store *store = open_store(STORE_WRITE);
    assert_non_null(store);
    fill(store);
    for (size_t i = STATES; i > 0; i--) {
        assert_ok(append_some(store));
        assert_ok(read_all(store, &base.answers[i - 1]));
    }
    assert_true(verifies(store));
    store_close(store);
    int fd = open(support_path(base.dir, "data.mdb"), O_RDONLY | O_CLOEXEC);
    ssize_t len = read(fd, base.image, sizeof(base.image));
    (void)close(fd);
    assert_in_range(len, 2 * IMAGE_PAGE, sizeof(base.image) - 1);
    base.len = (size_t)len;
}

/* Damage ------------------------------------------------------------------------------- */

/* Change the image at one place; *len is what is left of it. */
static void apply_edit(uint8_t *image, size_t *len, const uint8_t edit[EDIT_BYTES])
{
    size_t pages = base.len / IMAGE_PAGE;
    size_t page = edit[1] % pages * IMAGE_PAGE;
    size_t at = page + be_get(edit + 2, 2) % (IMAGE_PAGE - 7);
    uint16_t value = (uint16_t)be_get(edit + 4, 2);
    size_t other = value % pages * IMAGE_PAGE;
    uint64_t number = value % (2 * pages); /* Of a page that is there, or not much beyond. */
    switch ((enum edit)(edit[0] % EDITS)) {
    case FLIP_BIT:
        image[at] ^= (uint8_t)(1u << value % 8);
        break;
    case SET_BYTE:
        image[at] = (uint8_t)value;
        break;
    case SET_SHORT:
        memcpy(image + at, &value, sizeof(value));
        break;
    case SET_NUMBER:
        memcpy(image + at, &number, sizeof(number));
        break;
    case ZERO_REST:
        memset(image + at, 0, page + IMAGE_PAGE - at);
        break;
    case ZERO_PAGE:
        memset(image + page, 0, IMAGE_PAGE);
        break;
    case COPY_PAGE:
        memcpy(image + page, image + other, page == other ? 0 : IMAGE_PAGE);
        break;
    case CUT:
    case EDITS:
        *len = at < *len ? at : *len;
        break;
    }
}

static void write_image(const uint8_t *image, size_t len)
{
    int fd = open(support_path(base.dir, "data.mdb"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                  0600);
    ssize_t written = write(fd, image, len);
    (void)close(fd);
    assert_int_equal(written, len);
}

/* Is the store clean, by its own account? Then its answers must be those of a commit. */
static bool read_damaged(void)
{
    struct op_hash answer;
    struct store *store = open_store(STORE_READ);
    if (store == NULL) {
        return false;
    }
    int rv = read_all(store, &answer);
    bool clean = verifies(store);
    store_close(store);
    if (clean) {
        assert_ok(rv);
        assert(op_hash_equal(&answer, &base.answers[0]) ||
               op_hash_equal(&answer, &base.answers[1]));
    }
    return clean;
}

/* What was clean takes further ops or says why it does not, and is clean afterwards: damage where
 * no op is, in the list of free pages, shows only now. */
static void write_damaged(bool clean)
{
    struct store *store = open_store(STORE_WRITE);
    if (store == NULL) {
        return;
    }
    int rv = append_some(store);
    rv = rv != 0 ? rv : offer(store, base.foreign, NOW_MS, NULL);
    store_close(store);
    store = open_store(STORE_READ);
    if (clean) {
        assert(rv == 0 || rv == ERR_CORRUPT);
        assert_non_null(store);
        assert(verifies(store));
    }
    store_close(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static uint8_t image[IMAGE_MAX];
    if (base.dir == NULL) {
        make_base();
    }
    const void *mark = support_mark();
    size_t left = base.len;
    memcpy(image, base.image, base.len);
    for (size_t i = 0; i < EDITS_MAX && (i + 1) * EDIT_BYTES <= len; i++) {
        apply_edit(image, &left, data + i * EDIT_BYTES);
    }
    write_image(image, left);
    bool clean = read_damaged();
    write_damaged(clean);
    support_free_to(mark);
    return 0;
}
