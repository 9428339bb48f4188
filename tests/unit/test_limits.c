/* test_limits.c - Every limit of base/limits.h that oplog/ keeps, at n - 1, n and n + 1. */
#include "tests/unit/support.h"

#include <sodium.h>
#include <stdlib.h>

#include "base/mp_write.h"
#include "oplog/append.h"
#include "oplog/clock.h"
#include "oplog/db.h"
#include "oplog/ingest.h"

/* One below, at and above a limit; only the last is refused. */
#define AROUND(n)                                                                                  \
    {                                                                                              \
        (n) - 1, (n), (n) + 1                                                                      \
    }

static int decode(const struct test_author *author, const struct draft *draft)
{
    struct op op;
    return op_decode(make(author, draft)->raw, &op);
}

static void header_bytes(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    struct draft plain = {.further = bytes_of("\xda\0\0", 3), .further_count = 1};
    size_t rest = make(&author, &plain)->header.len;
    static const size_t sizes[] = AROUND(LIMIT_HEADER);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct buf field;
        size_t len = sizes[i] - rest;
        buf_init(&field, SIZE_MAX);
        mp_put_text(&field, bytes_of(memset(support_alloc(len), 'x', len), len));
        struct draft draft = {.further = support_copy(buf_bytes(&field)), .further_count = 1};
        buf_free(&field);
        const struct made *op = make(&author, &draft);
        assert_count("header", op->header.len, sizes[i]);
        assert_err("header bytes", decode(&author, &draft), i < 2 ? 0 : ERR_TOO_LARGE);
    }
}

static void header_fields(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    static const uint32_t counts[] = AROUND(LIMIT_HEADER_FIELDS);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        uint32_t further = counts[i] - 8;
        struct draft draft = {.further = bytes_of(support_alloc(further), further),
                              .further_count = further};
        assert_err("header fields", decode(&author, &draft), i < 2 ? 0 : ERR_TOO_LARGE);
    }
    /* Eight at the least. */
    struct draft seven = {.array_head = bytes_of("\x97", 1)};
    assert_err("seven fields", decode(&author, &seven), ERR_MALFORMED);
}

/* Values and depth of what later versions may add. */
static void further_fields(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    static const uint32_t items[] = AROUND(LIMIT_ITEMS);
    static const uint32_t depths[] = AROUND(LIMIT_DEPTH);
    for (size_t i = 0; i < 3; i++) {
        struct buf field;
        buf_init(&field, SIZE_MAX);
        mp_put_array(&field, items[i] - 1);
        for (uint32_t j = 1; j < items[i]; j++) {
            mp_put_uint(&field, 0);
        }
        struct draft draft = {.further = support_copy(buf_bytes(&field)), .further_count = 1};
        assert_err("values", decode(&author, &draft), i < 2 ? 0 : ERR_TOO_LARGE);
        buf_clear(&field);
        for (uint32_t j = 1; j < depths[i]; j++) { /* The header's own array counts. */
            mp_put_array(&field, 1);
        }
        mp_put_uint(&field, 0);
        draft.further = support_copy(buf_bytes(&field));
        buf_free(&field);
        assert_err("depth", decode(&author, &draft), i < 2 ? 0 : ERR_TOO_LARGE);
    }
}

static void prevs_and_deps(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    struct op_hash prev[LIMIT_PREV + 1];
    struct op_id deps[LIMIT_DEPS + 1];
    for (uint32_t i = 0; i < COUNT_OF(prev); i++) {
        memset(prev[i].b, (int)i, sizeof(prev[i].b));
    }
    for (uint32_t i = 0; i < COUNT_OF(deps); i++) {
        deps[i] = id_at(&author, NOW_MS - 100 + i, 0);
    }
    static const uint32_t prevs[] = AROUND(LIMIT_PREV);
    static const uint32_t dep_counts[] = AROUND(LIMIT_DEPS);
    for (size_t i = 0; i < 3; i++) {
        struct draft joins = {.seq = 5, .prev = prev, .prev_count = prevs[i]};
        assert_err("prev", decode(&author, &joins), i < 2 ? 0 : ERR_BAD_PREV);
        struct draft needs = {.deps = deps, .dep_count = dep_counts[i]};
        assert_err("deps", decode(&author, &needs), i < 2 ? 0 : ERR_BAD_DEPS);
    }
}

static void payload_bytes(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    static const size_t sizes[] = AROUND(LIMIT_PAYLOAD);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        /* As a header says it. */
        struct buf size;
        buf_init(&size, 16);
        mp_put_uint(&size, sizes[i]);
        struct draft draft = {.carry = CARRY_NOTHING};
        draft.field[6] = support_copy(buf_bytes(&size));
        buf_free(&size);
        assert_err("size", decode(&author, &draft), i < 2 ? 0 : ERR_TOO_LARGE);

        /* As it is made: 28 bytes are around the text. */
        size_t len = sizes[i] - 26;
        struct arena arena;
        struct value fields = value_map();
        struct salt_source salts = {.left = 0};
        struct buf out;
        arena_init(&arena, LIMIT_TREE_BYTES);
        buf_init(&out, LIMIT_PAYLOAD * 2);
        value_put(&arena, &fields, "b", value_bytes(bytes_of(support_alloc(len), len)));
        int rv = payload_encode(&fields, &salts, &out);
        size_t made = out.len;
        buf_free(&out);
        arena_free(&arena);
        assert_err("payload_encode", rv, i < 2 ? 0 : ERR_TOO_LARGE);
        assert_count("bytes", made, i < 2 ? sizes[i] : 0);
    }
    /* Bytes after the signature: hashes in place of sections may add a little. */
    static const size_t carried[] = AROUND(LIMIT_PAYLOAD + LIMIT_STUB);
    for (size_t i = 0; i < COUNT_OF(carried); i++) {
        struct draft draft = {.carry = CARRY_THIS,
                              .carried = bytes_of(support_alloc(carried[i]), carried[i])};
        assert_err("carried", decode(&author, &draft), i < 2 ? 0 : ERR_TOO_LARGE);
    }
    struct op op;
    uint8_t *long_op = support_alloc(LIMIT_OP + 1);
    assert_err("an op", op_decode(bytes_of(long_op, LIMIT_OP + 1), &op), ERR_TOO_LARGE);
    assert_err("an op", op_decode(bytes_of(long_op, LIMIT_OP), &op), ERR_MALFORMED);
}

static void payload_shape(void **state)
{
    (void)state;
    static const uint32_t items[] = AROUND(LIMIT_ITEMS);
    static const uint32_t depths[] = AROUND(LIMIT_DEPTH);
    for (size_t i = 0; i < 3; i++) {
        struct arena arena;
        struct salt_source salts = {.left = 0};
        struct buf out;
        arena_init(&arena, LIMIT_TREE_BYTES);
        buf_init(&out, LIMIT_PAYLOAD);
        /* The payload, its section, two keys, the salt and the array are six. */
        struct value array = value_array();
        for (uint32_t j = 6; j < items[i]; j++) {
            value_push(&arena, &array, value_int(1));
        }
        struct value fields = value_map();
        value_put(&arena, &fields, "a", array);
        int many = payload_encode(&fields, &salts, &out);
        /* The payload and its section are two levels. */
        struct value deep = value_int(1);
        for (uint32_t j = 2; j < depths[i]; j++) {
            struct value outer = value_array();
            value_push(&arena, &outer, deep);
            deep = outer;
        }
        fields = value_map();
        value_put(&arena, &fields, "a", deep);
        int nested = payload_encode(&fields, &salts, &out);
        buf_free(&out);
        arena_free(&arena);
        assert_err("values", many, i < 2 ? 0 : ERR_TOO_LARGE);
        assert_err("depth", nested, i < 2 ? 0 : ERR_TOO_LARGE);
    }
    /* Six sections are hashed apart, seven as one. */
    static const uint32_t sections[] = AROUND(LIMIT_SECTIONS);
    for (size_t i = 0; i < COUNT_OF(sections); i++) {
        uint8_t payload[16] = {0};
        struct op_hash stub;
        payload[0] = (uint8_t)(0x90 + sections[i]);
        struct bytes bytes = bytes_of(payload, 1 + sections[i]);
        struct op_hash hashes[8];
        uint32_t apart = i < 2 ? sections[i] : 1;
        for (uint32_t j = 0; j < apart; j++) {
            crypto_generichash(hashes[j].b, 32, i < 2 ? payload + 1 : payload,
                               i < 2 ? 1 : bytes.len, NULL, 0);
        }
        struct op_hash want;
        crypto_generichash(want.b, 32, hashes[0].b, apart * sizeof(hashes[0]), NULL, 0);
        struct op_hash digest = payload_digest(bytes);
        assert_true(op_hash_equal(&digest, &want));
        assert_err("nothing is withheld", payload_stub_digest(bytes, &stub), ERR_MALFORMED);
    }
}

static void segment_ops(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    static struct segment_op room[LIMIT_SEGMENT_OPS + 1];
    const struct made *run[LIMIT_SEGMENT_OPS + 1];
    struct segment segment;
    static const uint32_t counts[] = AROUND(LIMIT_SEGMENT_OPS);
    make_run(&author, NULL, "g-", run, LIMIT_SEGMENT_OPS + 1);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        assert_err("ops", segment_decode(segment_of(&author, run, counts[i]), room, &segment),
                   i < 2 ? 0 : ERR_TOO_LARGE);
    }
}

static void segment_payload(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    static struct segment_op room[LIMIT_SEGMENT_OPS];
    struct segment segment;
    const struct made *run[17];
    static const size_t sums[] = AROUND(LIMIT_SEGMENT_PAYLOAD);
    for (size_t i = 0; i < COUNT_OF(sums); i++) {
        for (size_t carry = 0; carry < 2; carry++) { /* Withheld payloads count, too. */
            for (uint32_t j = 0; j < 17; j++) {
                size_t size = j < 16 ? 62000 : sums[i] - 16 * 62000;
                struct draft draft = {.payload = payload_sized(size, j),
                                      .carry = carry == 0 ? CARRY_FULL : CARRY_NOTHING};
                if (j == 0) {
                    struct draft first = draft;
                    first.seq = 2;
                    struct op_hash prev = {{1}};
                    first.prev = &prev;
                    first.prev_count = 1;
                    run[j] = make(&author, &first);
                } else {
                    run[j] = make_next(&author, run[j - 1], &draft);
                }
            }
            assert_err("payload bytes",
                       segment_decode(segment_of(&author, run, 17), room, &segment),
                       i < 2 ? 0 : ERR_TOO_LARGE);
            if (i < 2) {
                assert_count("bytes", segment.payload_bytes, sums[i]);
            }
        }
    }
}

static void frames(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    static struct segment_op room[LIMIT_SEGMENT_OPS];
    struct segment segment;
    struct bytes wire = segment_of_one(&author, make_first(&author, NOW_MS));
    static const uint64_t lengths[] = AROUND(LIMIT_OP);
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        uint8_t *changed = support_alloc(wire.len);
        memcpy(changed, wire.data, wire.len);
        be_put(changed + 34, 4, lengths[i]);
        assert_err("length", segment_decode(bytes_of(changed, wire.len), room, &segment),
                   i < 2 ? ERR_TRUNCATED : ERR_TOO_LARGE);
    }
}

static struct outcomes {
    int error[64];
    uint32_t count;
    uint64_t visible;  /* Ops in the store at the last report. */
    uint64_t greatest; /* That became visible at once. */
    struct store *store;
} outcomes;

static void note(void *ctx, uint64_t index, int err, const struct chain_result *result)
{
    struct outcomes *out = ctx;
    struct txn *txn;
    uint64_t count = 0;
    (void)index;
    (void)result;
    if (out->count < COUNT_OF(out->error)) {
        out->error[out->count] = err;
    }
    out->count++;
    if (txn_begin_read(out->store, &txn) == 0) {
        if (log_count(txn, &count) == 0 && count > out->visible) {
            uint64_t more = count - out->visible;
            out->greatest = more > out->greatest ? more : out->greatest;
            out->visible = count;
        }
        txn_abort(txn);
    }
}

static void segment_bytes(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    struct store *store = store_new_for_test();
    struct bytes wire = segment_of_one(&author, make_first(&author, NOW_MS));
    struct ingest *ingest;
    outcomes = (struct outcomes){.store = store};
    static const size_t sizes[] = AROUND(LIMIT_SEGMENT_BYTES);
    assert_ok(ingest_begin(store, 1, note, &outcomes, &ingest));
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        uint8_t *longer = support_alloc(sizes[i]);
        memcpy(longer, wire.data, wire.len);
        assert_ok(ingest_offer(ingest, bytes_of(longer, sizes[i]), NOW_MS));
    }
    assert_ok(ingest_flush(ingest, NOW_MS));
    ingest_end(ingest);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        assert_err("wire bytes", outcomes.error[i], i < 2 ? ERR_TRAILING : ERR_TOO_LARGE);
    }
}

/* No commit takes more, in ops or in bytes. */
static void transactions(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint32_t segment_ops;
        size_t payload;
        uint32_t segments;
        uint64_t most;
    } cases[] = {
        {"ops", 256, 60, 2 * LIMIT_TXN_OPS / 256, LIMIT_TXN_OPS},
        {"bytes", 16, LIMIT_PAYLOAD - 1000, 40, LIMIT_TXN_BYTES / (LIMIT_PAYLOAD - 1000)},
    };
    struct test_author author = author_of(1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct store *store = store_new_for_test();
        struct ingest *ingest;
        const struct made *run[256];
        outcomes = (struct outcomes){.store = store};
        assert_ok(ingest_begin(store, 0, note, &outcomes, &ingest));
        struct made last = *make_first(&author, NOW_MS - 10000000);
        assert_ok(ingest_offer(ingest, segment_of_one(&author, &last), NOW_MS));
        struct bytes payload = payload_sized(cases[i].payload, 1);
        for (uint32_t j = 0; j < cases[i].segments; j++) {
            const void *mark = support_mark();
            for (uint32_t k = 0; k < cases[i].segment_ops; k++) {
                struct draft draft = {.payload = payload,
                                      .sign = k == cases[i].segment_ops - 1 ? SIGN_GOOD
                                                                            : SIGN_NONE};
                run[k] = make_next(&author, k == 0 ? &last : run[k - 1], &draft);
            }
            assert_ok(ingest_offer(ingest, segment_of(&author, run, cases[i].segment_ops), NOW_MS));
            last = *run[cases[i].segment_ops - 1];
            support_free_to(mark);
        }
        assert_ok(ingest_flush(ingest, NOW_MS));
        ingest_end(ingest);
        assert_count(cases[i].why, outcomes.visible,
                     1 + (uint64_t)cases[i].segments * cases[i].segment_ops);
        assert_true(outcomes.greatest <= cases[i].most);
        assert_true(outcomes.greatest * 2 > cases[i].most); /* Nor much less. */
        store_done(store);
    }
}

static void skew(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    const struct made *first = make_first(&author, NOW_MS - 100);
    struct store *store = store_new_for_test();
    static const uint64_t ahead[] = AROUND(LIMIT_SKEW_MS);
    assert_ok(offer_op(store, &author, first));
    for (size_t i = 0; i < COUNT_OF(ahead); i++) {
        struct draft draft = {.wall_ms = NOW_MS + ahead[i]};
        struct chain_result result;
        assert_ok(offer(store, segment_of_one(&author, make_next(&author, first, &draft)), NOW_MS,
                        &result));
        assert_count("taken", result.appended, i < 2);
        assert_count("parked", result.parked, i == 2);
    }
}

static void parked_bytes(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    const struct made *first = make_first(&author, NOW_MS - 100);
    struct store *store = store_new_for_test();
    static const size_t sums[] = AROUND(LIMIT_PARKED_BYTES);
    for (size_t i = 0; i < COUNT_OF(sums); i++) {
        struct author row = {.parked_bytes = 0};
        store_wipe(store);
        assert_ok(offer_op(store, &author, first));
        for (uint32_t j = 0; sums[i] - row.parked_bytes > 100000; j++) {
            struct draft draft = {.wall_ms = NOW_MS + 100000 + j,
                                  .payload = payload_sized(LIMIT_PAYLOAD - 3000, j)};
            assert_ok(offer_op(store, &author, make_next(&author, first, &draft)));
            struct txn *txn = begin_read(store);
            assert_ok(author_find(txn, &author.key, &row));
            txn_abort(txn);
        }
        /* Two more fill it exactly. */
        for (uint32_t j = 0; j < 2; j++) {
            struct draft probe = {.wall_ms = NOW_MS + 500000, .payload = payload_sized(40000, 1)};
            size_t frame = segment_of_one(&author, make_next(&author, first, &probe)).len - 40000;
            size_t left = sums[i] - row.parked_bytes;
            struct draft draft = {
                .wall_ms = NOW_MS + 500000 + j,
                .payload = payload_sized(j == 0 ? left / 2 - frame : left - frame, 1)};
            int rv = offer_op(store, &author, make_next(&author, first, &draft));
            assert_err("parked bytes", rv, j == 1 && i == 2 ? ERR_LIMIT : 0);
            struct txn *txn = begin_read(store);
            assert_ok(author_find(txn, &author.key, &row));
            txn_abort(txn);
        }
        assert_true((row.parked_bytes == sums[i]) == (i < 2));
    }
}

static void readers(void **state)
{
    (void)state;
    struct store *store = store_new_for_test();
    static struct txn *txns[LIMIT_READERS];
    struct txn *another;
    uint32_t open = 0;
    int rv = 0;
    while (open < LIMIT_READERS && (rv = txn_begin_read(store, &txns[open])) == 0) {
        open++;
    }
    int refused = txn_begin_read(store, &another);
    txn_abort(txns[--open]);
    int again = txn_begin_read(store, &txns[open]);
    open += again == 0;
    while (open > 0) {
        txn_abort(txns[--open]);
    }
    assert_err("up to the limit", rv, 0);
    assert_err("one more", refused, ERR_LIMIT);
    assert_err("when one has gone", again, 0);
}

static uint64_t map_of(struct store *store)
{
    MDB_envinfo info;
    assert_int_equal(mdb_env_info(store->env, &info), 0);
    return info.me_mapsize;
}

static void map_sizes(void **state)
{
    (void)state;
    if (getenv("TEST_UNDER_VALGRIND") != NULL) {
        skip(); /* It cannot map terabytes. */
    }
    struct store *store = store_new_for_test();
    assert_true(map_of(store) == LIMIT_MAP_START);
    /* Free before each write: the headroom, and what is in use already. */
    static const uint64_t maps[] = {LIMIT_MAP_HEADROOM - MIB(1), LIMIT_MAP_HEADROOM,
                                    LIMIT_MAP_HEADROOM + MIB(1)};
    for (size_t i = 0; i < COUNT_OF(maps); i++) {
        const char *dir = support_dir();
        struct store *made;
        assert_ok(store_create(dir, &test_mesh, maps[i]));
        assert_ok(store_open(dir, STORE_WRITE, &made));
        struct txn *txn;
        int rv = txn_begin_write(made, &txn);
        txn_abort(txn);
        uint64_t map = map_of(made);
        store_close(made);
        assert_err("begun", rv, 0);
        assert_true(map == (i < 2 ? 2 * maps[i] : maps[i]));
    }
    /* It doubles up to the greatest size and no further. */
    store->map_full = true;
    struct txn *txn = begin_write(store);
    txn_abort(txn);
    assert_true(map_of(store) == 2 * LIMIT_MAP_START);
    assert_int_equal(mdb_env_set_mapsize(store->env, LIMIT_MAP_MAX / 2), 0);
    store->map_full = true;
    txn = begin_write(store);
    txn_abort(txn);
    assert_true(map_of(store) == LIMIT_MAP_MAX);
    store->map_full = true;
    int rv = txn_begin_write(store, &txn);
    assert_err("no further", rv, ERR_LIMIT);
    assert_true(map_of(store) == LIMIT_MAP_MAX);
}

static void id_prefix(void **state)
{
    (void)state;
    struct op_id low;
    struct op_id high;
    static const size_t lens[] = AROUND(LIMIT_ID_PREFIX);
    for (size_t i = 0; i < COUNT_OF(lens); i++) {
        assert_err("letters", op_id_parse(bytes_of("01ARZ3NDEK", lens[i]), &low, &high),
                   i == 0 ? ERR_MALFORMED : 0);
    }
    static const size_t longest[] = AROUND(OP_ID_TEXT - 1);
    for (size_t i = 0; i < COUNT_OF(longest); i++) {
        assert_err("letters",
                   op_id_parse(bytes_of("01ARZ3NDEKTSV4RRFFQ69G5FAVX", longest[i]), &low, &high),
                   i < 2 ? 0 : ERR_MALFORMED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(header_bytes, support_teardown),
        cmocka_unit_test_teardown(header_fields, support_teardown),
        cmocka_unit_test_teardown(further_fields, support_teardown),
        cmocka_unit_test_teardown(prevs_and_deps, support_teardown),
        cmocka_unit_test_teardown(payload_bytes, support_teardown),
        cmocka_unit_test_teardown(payload_shape, support_teardown),
        cmocka_unit_test_teardown(segment_ops, support_teardown),
        cmocka_unit_test_teardown(segment_payload, support_teardown),
        cmocka_unit_test_teardown(frames, support_teardown),
        cmocka_unit_test_teardown(segment_bytes, support_teardown),
        cmocka_unit_test_teardown(transactions, support_teardown),
        cmocka_unit_test_teardown(skew, support_teardown),
        cmocka_unit_test_teardown(parked_bytes, support_teardown),
        cmocka_unit_test_teardown(readers, support_teardown),
        cmocka_unit_test_teardown(map_sizes, support_teardown),
        cmocka_unit_test_teardown(id_prefix, support_teardown),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
