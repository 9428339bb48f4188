/* The known answers of spec/vectors/: are they what the builders make, and does the
 * implementation agree with them? `test_vectors --write FOLDER` writes them anew. */
#include "tests/unit/support_vectors.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mp.h"
#include "base/text.h"
#include "oplog/clock.h"
#include "oplog/keycode.h"
#include "oplog/keyfile.h"
#include "tests/unit/support_bundle.h"
#include "ucan/chain.h"

#define FILE_MAX MIB(4)

static struct bytes read_file(const char *name)
{
    const char *root = getenv("MESHLOG_ROOT");
    const char *dir = support_path(root == NULL ? "." : root, "spec/vectors");
    const char *path = support_path(dir, name);
    FILE *in = fopen(path, "rb");
    if (in == NULL) {
        fail_msg("%s is missing", path);
    }
    uint8_t *data = support_alloc(FILE_MAX);
    size_t len = fread(data, 1, FILE_MAX, in);
    fclose(in);
    assert_in_range(len, 10, FILE_MAX - 1);
    return bytes_of(data, len);
}

/* Call check for every vector of a file; at least one must be there. */
static void each_vector(const char *name, void (*check)(struct arena *arena, const char *why,
                                                        const struct value *vector))
{
    struct bytes file = read_file(name);
    struct cursor in = cursor_over(file);
    struct arena arena;
    unsigned count = 0;
    arena_init(&arena, LIMIT_TREE_BYTES);
    while (in.at < in.end) {
        const uint8_t *line = in.at;
        const uint8_t *newline = memchr(line, '\n', cursor_left(&in));
        size_t len = (size_t)((newline == NULL ? in.end : newline) - line);
        in.at = newline == NULL ? in.end : newline + 1;
        len -= len > 0 && line[len - 1] == ',';
        if (len < 2) {
            continue; /* The brackets around all. */
        }
        struct value vector;
        struct json_why why;
        struct bytes text;
        arena_reset(&arena);
        assert_ok(value_from_json(&arena, bytes_of(line, len), &vector, &why));
        assert_true(value_get_text(&vector, "why", &text));
        struct bytes name_of_case = arena_format(&arena, "%.*s", (int)text.len, text.data);
        check(&arena, (const char *)name_of_case.data, &vector);
        count++;
    }
    arena_free(&arena);
    assert_true(count > 0);
    print_message("  %s: %u vectors\n", name, count);
}

static struct bytes get_hex(struct arena *arena, const struct value *map, const char *key)
{
    struct bytes text;
    if (!value_get_text(map, key, &text)) {
        fail_msg("no %s", key);
    }
    uint8_t *out = arena_alloc(arena, text.len / 2 + 1);
    assert_non_null(out);
    assert_ok(hex_decode(text, out, text.len / 2));
    return bytes_of(out, text.len / 2);
}

static void get_fixed(struct arena *arena, const struct value *map, const char *key, uint8_t *out,
                      size_t len)
{
    struct bytes bytes = get_hex(arena, map, key);
    assert_int_equal(bytes.len, len);
    memcpy(out, bytes.data, len);
}

#define GET_FIXED(map, key, thing) get_fixed(arena, map, key, (thing).b, sizeof((thing).b))

static int64_t get_int(const struct value *map, const char *key)
{
    int64_t number = 0;
    if (!value_get_int(map, key, &number)) {
        fail_msg("no %s", key);
    }
    return number;
}

/* Compare with the vector's "error". */
static void check_error(const char *why, const struct value *map, int got)
{
    const struct value *want = value_get(map, "error");
    assert_non_null(want);
    bool same = want->type == VALUE_NULL ? got == 0 : value_is_text(want, err_code(got));
    if (!same) {
        fail_msg("%s: got %s, want %.*s", why, err_code(got),
                 want->type == VALUE_NULL ? 2 : (int)want->bytes.len,
                 want->type == VALUE_NULL ? "ok" : (const char *)want->bytes.data);
    }
}

static void check_bytes(const char *why, struct bytes got, struct bytes want)
{
    if (!bytes_equal(got, want)) {
        fail_msg("%s: other bytes", why);
    }
}

static void check_id(struct arena *arena, const char *why, const struct value *vector)
{
    struct op_author author;
    struct op_id want;
    struct op_id low;
    struct op_id high;
    struct bytes text;
    char printed[OP_ID_TEXT];
    GET_FIXED(vector, "author", author);
    GET_FIXED(vector, "id", want);
    struct node_id node = node_id_of(&author);
    struct op_id id = op_id_make((uint64_t)get_int(vector, "wall_ms"),
                                 (uint16_t)get_int(vector, "counter"), &node);
    assert_memory_equal(id.b, want.b, sizeof(id.b));
    op_id_text(&id, printed);
    assert_true(value_get_text(vector, "text", &text));
    check_bytes(why, bytes_of_text(printed), text);
    assert_ok(op_id_parse(text, &low, &high));
    assert_memory_equal(low.b, want.b, sizeof(low.b));
    assert_memory_equal(high.b, want.b, sizeof(high.b));
}

static void check_clock(struct arena *arena, const char *why, const struct value *vector)
{
    (void)arena;
    const struct value *steps = value_get(vector, "steps");
    struct hlc clock = {0};
    assert_non_null(steps);
    for (uint32_t i = 0; i < steps->count; i++) {
        const struct value *step = &steps->items[i];
        const struct value *want = value_get(step, "clock");
        int rv = 0;
        if (value_is_text(value_get(step, "do"), "tick")) {
            rv = hlc_tick(&clock, (uint64_t)get_int(step, "now_ms"));
        } else {
            struct node_id node = {{0xff}};
            struct op_id id = op_id_make((uint64_t)get_int(step, "wall_ms"),
                                         (uint16_t)get_int(step, "counter"), &node);
            hlc_receive(&clock, &id);
        }
        check_error(why, step, rv);
        assert_count(why, clock.wall_ms, (uint64_t)want->items[0].integer);
        assert_count(why, clock.counter, (uint64_t)want->items[1].integer);
    }
}

static void check_value(struct arena *arena, const char *why, const struct value *vector)
{
    struct bytes msgpack = get_hex(arena, vector, "msgpack");
    struct value value;
    int rv = value_from_msgpack(arena, msgpack, &value);
    check_error(why, vector, rv);
    assert_int_equal(mp_check(msgpack), rv);
    if (rv == 0) {
        struct buf out;
        struct bytes json;
        struct value want;
        struct json_why bad;
        assert_true(value_get_text(vector, "json", &json));
        assert_ok(value_from_json(arena, json, &want, &bad));
        if (!value_equal(&value, &want)) {
            fail_msg("%s: another value", why);
        }
        buf_init(&out, KIB(64));
        assert_ok(value_to_msgpack(&want, &out));
        check_bytes(why, buf_bytes(&out), msgpack);
        buf_free(&out);
    }
}

static void check_payload(struct arena *arena, const char *why, const struct value *vector)
{
    static const char *const states[] = {"absent", "redacted", "full"};
    struct op op = {.payload = get_hex(arena, vector, "payload"),
                    .size = (uint32_t)get_int(vector, "size")};
    enum payload_state state = PAYLOAD_ABSENT;
    GET_FIXED(vector, "digest", op.digest);
    int rv = op_check_payload(&op, &state);
    check_error(why, vector, rv);
    if (rv == 0) {
        assert_true(value_is_text(value_get(vector, "state"), states[state]));
    }
}

static void check_fields(struct arena *arena, const char *why, const struct value *vector,
                         const struct op *op)
{
    struct op_id id;
    struct op_hash want;
    struct op_hash hash = op_hash(op);
    const struct value *prev = value_get(vector, "prev");
    const struct value *deps = value_get(vector, "deps");
    check_bytes(why, op->header, get_hex(arena, vector, "header"));
    GET_FIXED(vector, "hash", want);
    assert_memory_equal(hash.b, want.b, sizeof(hash.b));
    GET_FIXED(vector, "id", id);
    assert_memory_equal(op->id.b, id.b, sizeof(id.b));
    assert_count(why, op->version, (uint64_t)get_int(vector, "version"));
    assert_count(why, op->kind, (uint64_t)get_int(vector, "kind"));
    assert_count(why, op->seq, (uint64_t)get_int(vector, "seq"));
    assert_count(why, op->size, (uint64_t)get_int(vector, "size"));
    assert_count(why, op->prev_count, prev->count);
    assert_count(why, op->dep_count, deps->count);
}

/* Everything that an op alone can tell, in the order of spec/chains.md. */
static void check_op(struct arena *arena, const char *why, const struct value *vector)
{
    struct op op;
    struct mesh_id mesh;
    struct op_author author;
    enum payload_state state;
    GET_FIXED(vector, "mesh", mesh);
    GET_FIXED(vector, "author", author);
    struct node_id node = node_id_of(&author);
    int rv = op_decode(get_hex(arena, vector, "op"), &op);
    if (rv == 0) {
        rv = op_check_author(&op, &node);
    }
    if (rv == 0) {
        rv = op_check_payload(&op, &state);
    }
    if (rv == 0) {
        rv = op_verify(&op, &author, &mesh);
    }
    check_error(why, vector, rv);
    if (rv == 0) {
        check_fields(arena, why, vector, &op);
    }
}

/* All that a segment alone can tell: its ops, how they follow each other, its last signature. */
static void check_segment(struct arena *arena, const char *why, const struct value *vector)
{
    static struct segment_op room[LIMIT_SEGMENT_OPS];
    struct segment segment;
    struct mesh_id mesh;
    const struct value *hashes = value_get(vector, "hashes");
    GET_FIXED(vector, "mesh", mesh);
    int rv = segment_decode(get_hex(arena, vector, "segment"), room, &segment);
    if (rv == 0) {
        rv = segment_verify(&segment, &mesh);
    }
    check_error(why, vector, rv);
    assert_count(why, hashes->count, rv == 0 ? segment.count : 0);
    for (uint32_t i = 0; i < hashes->count; i++) {
        char text[OP_HASH_TEXT];
        op_hash_text(&segment.ops[i].hash, text);
        check_bytes(why, bytes_of_text(text), hashes->items[i].bytes);
    }
}

static void check_deliveries(struct arena *arena, const char *why, const struct value *vector,
                             struct store *store)
{
    const struct value *deliveries = value_get(vector, "deliveries");
    assert_true(deliveries != NULL && deliveries->count > 0);
    for (uint32_t i = 0; i < deliveries->count; i++) {
        const struct value *delivery = &deliveries->items[i];
        struct chain_result result = {0};
        struct bytes wire = get_hex(arena, delivery, "segment");
        int rv = offer(store, wire, (uint64_t)get_int(vector, "now_ms"), &result);
        check_error(why, delivery, rv);
        if (rv == 0) {
            assert_count(why, result.appended, (uint64_t)get_int(delivery, "appended"));
            assert_count(why, result.duplicate, (uint64_t)get_int(delivery, "duplicate"));
            assert_count(why, result.parked, (uint64_t)get_int(delivery, "parked"));
        }
    }
}

static void check_verdict(struct arena *arena, const char *why, const struct value *want,
                          struct txn *txn)
{
    struct op_id id;
    struct op_hash hash;
    struct place place;
    GET_FIXED(want, "id", id);
    GET_FIXED(want, "hash", hash);
    assert_err(why, order_get(txn, &id, &hash, &place), 0);
    const char *reason = reason_code(place.verdict.reason);
    const struct value *wanted = value_get(want, "reason");
    bool same = value_is_text(value_get(want, "verdict"),
                              verdict_state_code(place.verdict.state)) &&
                (reason == NULL ? wanted->type == VALUE_NULL : value_is_text(wanted, reason));
    if (!same) {
        fail_msg("%s: %s is %s", why, reason == NULL ? "" : reason,
                 verdict_state_code(place.verdict.state));
    }
}

static void check_chain(struct arena *arena, const char *why, const struct value *vector)
{
    struct store *store = store_new_for_test();
    const struct value *ops = value_get(vector, "ops");
    struct op_hash frontier;
    struct op_hash want;
    uint64_t count;
    check_deliveries(arena, why, vector, store);
    struct txn *txn = begin_read(store);
    assert_ok(frontier_hash(txn, &frontier, &count));
    assert_count(why, count, ops->count);
    for (uint32_t i = 0; i < ops->count; i++) {
        check_verdict(arena, why, &ops->items[i], txn);
    }
    GET_FIXED(vector, "frontier", want);
    check_bytes(why, bytes_of(frontier.b, sizeof(frontier.b)), bytes_of(want.b, sizeof(want.b)));
    txn_abort(txn);
    assert_clean(store);
}

/* Into an empty store. What was held back is an error too: not everything was taken. */
static void check_bundle(struct arena *arena, const char *why, const struct value *vector)
{
    struct store *store = store_new_for_test();
    const struct value *hashes = value_get(vector, "hashes");
    struct import_result result;
    int rv = import_bytes(store, get_hex(arena, vector, "bundle"), &result);
    check_error(why, vector, rv == 0 && result.held_back > 0 ? ERR_LIMIT : rv);
    assert_count(why, result.appended, (uint64_t)get_int(vector, "ops"));
    assert_count(why, result.duplicate, (uint64_t)get_int(vector, "duplicate"));
    assert_count(why, ops_in(store), hashes->count);
    struct txn *txn = begin_read(store);
    for (uint32_t i = 0; i < hashes->count; i++) {
        struct row row;
        char text[OP_HASH_TEXT];
        assert_ok(log_row(txn, i, &row));
        struct op_hash hash = op_hash(&row.op);
        op_hash_text(&hash, text);
        check_bytes(why, bytes_of_text(text), hashes->items[i].bytes);
    }
    txn_abort(txn);
    assert_clean(store);
    store_done(store);
}

static void check_key_file(struct arena *arena, const char *why, const struct value *vector)
{
    struct key *key;
    struct bytes passphrase = bytes_of("", 0);
    static const uint8_t zeros[32];
    (void)value_get_text(vector, "passphrase", &passphrase);
    assert_ok(key_from_seed(zeros, &key));
    enum key_role role = (enum key_role)get_int(vector, "role");
    int rv = key_file_decode(get_hex(arena, vector, "file"), role, passphrase, key);
    check_error(why, vector, rv);
    if (rv == 0) {
        check_bytes(why, bytes_of(key->public, 32), get_hex(arena, vector, "public"));
        check_bytes(why, bytes_of(key->secret, 32), get_hex(arena, vector, "seed"));
    }
    key_free(key);
}

static void check_key_code(struct arena *arena, const char *why, const struct value *vector)
{
    struct bytes text;
    uint8_t seed[32];
    struct key_code_why reason;
    assert_true(value_get_text(vector, "code", &text));
    int rv = key_code_decode(text, seed, &reason);
    check_error(why, vector, rv);
    if (rv == 0) {
        char code[KEY_CODE_TEXT];
        check_bytes(why, bytes_of(seed, sizeof(seed)), get_hex(arena, vector, "seed"));
        key_code_encode(seed, code);
        assert_true(text.data[0] != '0' || bytes_equal(text, bytes_of_text(code)));
    }
}

static void check_key(struct arena *arena, const char *why, const struct value *vector)
{
    bool is_file = value_get(vector, "file") != NULL;
    (is_file ? check_key_file : check_key_code)(arena, why, vector);
}

/* What a text in base64 stands for. */
static struct bytes unbase64(struct arena *arena, const struct value *text)
{
    size_t len;
    assert_non_null(text);
    uint8_t *room = arena_alloc(arena, text->bytes.len);
    assert_non_null(room);
    assert_int_equal(sodium_base642bin(room, text->bytes.len, (const char *)text->bytes.data,
                                       text->bytes.len, NULL, &len, NULL,
                                       sodium_base64_VARIANT_ORIGINAL),
                     0);
    return bytes_of(room, len);
}

/* The proofs of an invocation, in whatever order they are given, beside others. */
static void check_ucan(struct arena *arena, const char *why, const struct value *vector)
{
    const struct value *proofs = value_get(vector, "proofs");
    const struct value *revoked = value_get(vector, "revoked");
    const struct value *error = value_get(vector, "error");
    struct bytes invocation = unbase64(arena, value_get(vector, "invocation"));
    struct bytes tokens[LIMIT_CHAIN + 3] = {invocation, bytes_of("", 0)};
    struct cid cids[4];
    struct ucan_verdict verdict;
    int64_t link = UCAN_LINK_INVOCATION;
    assert_in_range(proofs->count, 0, LIMIT_CHAIN + 1);
    assert_in_range(revoked->count, 0, COUNT_OF(cids));
    for (uint32_t i = 0; i < proofs->count; i++) {
        tokens[2 + i] = unbase64(arena, &proofs->items[proofs->count - 1 - i]);
    }
    for (uint32_t i = 0; i < revoked->count; i++) {
        assert_ok(cid_from_text(revoked->items[i].bytes, &cids[i]));
    }
    (void)value_get_int(vector, "link", &link);
    assert_ok(ucan_check(invocation, tokens, 2 + proofs->count, get_int(vector, "time"), cids,
                         revoked->count, &verdict));
    const char *got = ucan_refusal_text(verdict.refusal);
    if ((got == NULL ? error->type != VALUE_NULL : !value_is_text(error, got)) ||
        verdict.link != link) {
        fail_msg("%s: %s at %d: %s", why, got == NULL ? "allowed" : got, verdict.link,
                 verdict.why.text);
    }
}

static void ids_agree(void **state)
{
    (void)state;
    each_vector("ids.json", check_id);
}

static void clocks_agree(void **state)
{
    (void)state;
    each_vector("clock.json", check_clock);
}

static void values_agree(void **state)
{
    (void)state;
    each_vector("values.json", check_value);
}

static void payloads_agree(void **state)
{
    (void)state;
    each_vector("payloads.json", check_payload);
}

static void ops_agree(void **state)
{
    (void)state;
    each_vector("ops.json", check_op);
}

static void segments_agree(void **state)
{
    (void)state;
    each_vector("segments.json", check_segment);
}

static void chains_agree(void **state)
{
    (void)state;
    each_vector("chains.json", check_chain);
}

static void bundles_agree(void **state)
{
    (void)state;
    each_vector("bundles.json", check_bundle);
}

static void keys_agree(void **state)
{
    (void)state;
    each_vector("keys.json", check_key);
}

static void chains_of_tokens_agree(void **state)
{
    (void)state;
    each_vector("ucan.json", check_ucan);
}

static void files_are_what_is_made(void **state)
{
    (void)state;
    for (size_t i = 0; i < vector_file_count; i++) {
        struct buf out;
        buf_init(&out, FILE_MAX);
        vectors_print(&vector_files[i], &out);
        check_bytes(vector_files[i].name, buf_bytes(&out), read_file(vector_files[i].name));
        buf_free(&out);
    }
}

static int write_files(const char *dir)
{
    for (size_t i = 0; i < vector_file_count; i++) {
        struct buf content;
        buf_init(&content, FILE_MAX);
        vectors_print(&vector_files[i], &content);
        FILE *out = fopen(support_path(dir, vector_files[i].name), "wb");
        if (out == NULL || fwrite(content.data, 1, content.len, out) != content.len ||
            fclose(out) != 0) {
            return 1;
        }
        buf_free(&content);
    }
    support_free();
    return 0;
}

int main(int argc, char **argv)
{
    support_init();
    if (argc == 3 && strcmp(argv[1], "--write") == 0) {
        return write_files(argv[2]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(files_are_what_is_made, support_teardown),
        cmocka_unit_test_teardown(ids_agree, support_teardown),
        cmocka_unit_test_teardown(clocks_agree, support_teardown),
        cmocka_unit_test_teardown(values_agree, support_teardown),
        cmocka_unit_test_teardown(payloads_agree, support_teardown),
        cmocka_unit_test_teardown(ops_agree, support_teardown),
        cmocka_unit_test_teardown(segments_agree, support_teardown),
        cmocka_unit_test_teardown(chains_agree, support_teardown),
        cmocka_unit_test_teardown(bundles_agree, support_teardown),
        cmocka_unit_test_teardown(keys_agree, support_teardown),
        cmocka_unit_test_teardown(chains_of_tokens_agree, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
