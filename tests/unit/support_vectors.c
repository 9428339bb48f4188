#include "tests/unit/support_vectors.h"

#include <sodium.h>
#include <stdlib.h>

#include "base/text.h"
#include "oplog/clock.h"
#include "tests/unit/support_bundle.h"

/* Small helpers ------------------------------------------------------------------------ */

static struct value hex(struct arena *arena, struct bytes bytes)
{
    char *text = arena_alloc(arena, 2 * bytes.len + 1);
    assert_non_null(text);
    hex_encode(bytes, text);
    return value_text(text);
}

#define HEX(thing) hex(arena, bytes_of((thing).b, sizeof((thing).b)))

/* A code, or null for success. */
static struct value code(int err)
{
    return err == 0 ? value_null() : value_text(err_code(err));
}

static struct value vector(struct arena *arena, const char *why)
{
    struct value map = value_map();
    value_put(arena, &map, "why", value_text(why));
    return map;
}

static struct bytes unhex(const char *text)
{
    size_t len = strlen(text) / 2;
    uint8_t *out = support_alloc(len);
    assert_ok(hex_decode(bytes_of_text(text), out, len));
    return bytes_of(out, len);
}

/* Ids ----------------------------------------------------------------------------------- */

static void make_ids(struct arena *arena, struct value *vectors)
{
    static const struct {
        const char *why;
        uint64_t wall_ms;
        uint16_t counter;
    } cases[] = {
        {"the beginning of time", 0, 0},
        {"an ordinary moment", NOW_MS, 0},
        {"a busy millisecond", NOW_MS, 513},
        {"a full counter", NOW_MS, UINT16_MAX},
        {"the end of time", CLOCK_WALL_MAX, UINT16_MAX},
    };
    for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
        struct test_author author = author_of(i);
        struct op_id id = id_at(&author, cases[i].wall_ms, cases[i].counter);
        char text[OP_ID_TEXT];
        op_id_text(&id, text);
        struct value map = vector(arena, cases[i].why);
        value_put(arena, &map, "author", HEX(author.key));
        value_put(arena, &map, "wall_ms", value_int((int64_t)cases[i].wall_ms));
        value_put(arena, &map, "counter", value_int(cases[i].counter));
        value_put(arena, &map, "id", HEX(id));
        value_put(arena, &map, "text", value_text_of(arena_copy(arena, bytes_of_text(text))));
        value_push(arena, vectors, map);
    }
}

/* Clock --------------------------------------------------------------------------------- */

struct tick {
    char what; /* 't'ick at wall clock a; 'r'eceive wall a, counter b */
    uint64_t a;
    uint16_t b;
    uint64_t wall_ms; /* The clock afterwards. */
    uint16_t counter;
    int error;
};

static void put_steps(struct arena *arena, struct value *map, const struct tick *ticks,
                      size_t count)
{
    struct value steps = value_array();
    for (size_t i = 0; i < count; i++) {
        struct value step = value_map();
        bool tick = ticks[i].what == 't';
        value_put(arena, &step, "do", value_text(tick ? "tick" : "receive"));
        value_put(arena, &step, tick ? "now_ms" : "wall_ms", value_int((int64_t)ticks[i].a));
        if (!tick) {
            value_put(arena, &step, "counter", value_int(ticks[i].b));
        }
        value_put(arena, &step, "error", code(ticks[i].error));
        struct value clock = value_array();
        value_push(arena, &clock, value_int((int64_t)ticks[i].wall_ms));
        value_push(arena, &clock, value_int(ticks[i].counter));
        value_put(arena, &step, "clock", clock);
        value_push(arena, &steps, step);
    }
    value_put(arena, map, "steps", steps);
}

static void make_clock(struct arena *arena, struct value *vectors)
{
    static const struct tick ordinary[] = {
        {'t', 1000, 0, 1000, 0, 0},
        {'t', 1000, 0, 1000, 1, 0},
        {'t', 1005, 0, 1005, 0, 0},
        {'t', 900, 0, 1005, 1, 0},
    };
    static const struct tick received[] = {
        {'r', 2000, 7, 2000, 7, 0}, {'t', 1000, 0, 2000, 8, 0}, {'r', 1500, 9, 2000, 8, 0},
        {'r', 2000, 3, 2000, 8, 0}, {'r', 2000, 9, 2000, 9, 0}, {'t', 2001, 0, 2001, 0, 0},
    };
    static const struct tick overflow[] = {
        {'r', 3000, 65534, 3000, 65534, 0}, {'t', 3000, 0, 3000, 65535, 0},
        {'t', 3000, 0, 3001, 0, 0},         {'t', 3000, 0, 3001, 1, 0},
        {'t', 3001, 0, 3001, 2, 0},
    };
    static const struct tick end[] = {
        {'r', CLOCK_WALL_MAX, 65534, CLOCK_WALL_MAX, 65534, 0},
        {'t', 1, 0, CLOCK_WALL_MAX, 65535, 0},
        {'t', 1, 0, CLOCK_WALL_MAX, 65535, ERR_CLOCK},
    };
    static const struct {
        const char *why;
        const struct tick *ticks;
        size_t count;
    } cases[] = {
        {"the wall clock leads; within a millisecond the counter does; it never goes back",
         ordinary, COUNT_OF(ordinary)},
        {"what is received is taken over when it is greater, and the next tick is beyond it",
         received, COUNT_OF(received)},
        {"a full counter carries into the wall part", overflow, COUNT_OF(overflow)},
        {"at the end of time no op can be made", end, COUNT_OF(end)},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct value map = vector(arena, cases[i].why);
        put_steps(arena, &map, cases[i].ticks, cases[i].count);
        value_push(arena, vectors, map);
    }
}

/* Values -------------------------------------------------------------------------------- */

static void make_values(struct arena *arena, struct value *vectors)
{
    static const struct {
        const char *why;
        const char *msgpack;
        const char *json; /* NULL: refused. */
        int error;
    } cases[] = {
        {"null", "c0", "null", 0},
        {"true", "c3", "true", 0},
        {"the largest small integer", "7f", "127", 0},
        {"one byte", "cc80", "128", 0},
        {"two bytes", "cd0100", "256", 0},
        {"four bytes", "ce00010000", "65536", 0},
        {"eight bytes", "cf0000000100000000", "4294967296", 0},
        {"the largest integer", "cf7fffffffffffffff", "9223372036854775807", 0},
        {"the smallest small integer", "e0", "-32", 0},
        {"negative, one byte", "d0df", "-33", 0},
        {"the smallest integer", "d38000000000000000", "-9223372036854775808", 0},
        {"the empty text", "a0", "\"\"", 0},
        {"a text", "a46d657368", "\"mesh\"", 0},
        {"a text beyond ASCII", "a5c3a9e282ac", "\"\xc3\xa9\xe2\x82\xac\"", 0},
        {"bytes", "c403010203", "{\"/\":{\"bytes\":\"AQID\"}}", 0},
        {"a link", "81a12fc4050171120141", "{\"/\":\"bafyreakb\"}", 0},
        {"an array", "93010203", "[1,2,3]", 0},
        {"a map, keys ascending by bytes", "83a141c0a161c3a2616200",
         "{\"A\":null,\"a\":true,\"ab\":0}", 0},
        {"nested nine deep", "919191919191919190", NULL, ERR_TOO_LARGE},
        {"nested eight deep", "9191919191919190", "[[[[[[[[]]]]]]]]", 0},
        {"an integer in a longer form", "cc7f", NULL, ERR_NOT_CANONICAL},
        {"a text with a longer head", "d90161", NULL, ERR_NOT_CANONICAL},
        {"bytes with a longer head", "c50001ff", NULL, ERR_NOT_CANONICAL},
        {"an array with a longer head", "dc000101", NULL, ERR_NOT_CANONICAL},
        {"a map with a longer head", "de0001a16100", NULL, ERR_NOT_CANONICAL},
        {"keys out of order", "82a16200a16100", NULL, ERR_NOT_CANONICAL},
        {"a key twice", "82a16100a16100", NULL, ERR_NOT_CANONICAL},
        {"a key that is no text", "810100", NULL, ERR_NOT_CANONICAL},
        {"invalid UTF-8", "a1ff", NULL, ERR_NOT_CANONICAL},
        {"an overlong character", "a2c080", NULL, ERR_NOT_CANONICAL},
        {"a surrogate", "a3eda080", NULL, ERR_NOT_CANONICAL},
        {"a zero in a text", "a3610062", NULL, ERR_NOT_CANONICAL},
        {"a float of four bytes", "ca3f800000", NULL, ERR_NOT_CANONICAL},
        {"not a number", "cb7ff8000000000000", NULL, ERR_NOT_CANONICAL},
        {"infinity", "cb7ff0000000000000", NULL, ERR_NOT_CANONICAL},
        {"\"/\" with something that is no link", "81a12f01", NULL, ERR_NOT_CANONICAL},
        {"\"/\" beside another key", "82a12fc40101a16100", NULL, ERR_NOT_CANONICAL},
        {"an integer beyond 63 bits", "cf8000000000000000", NULL, ERR_MALFORMED},
        {"an ext", "d40100", NULL, ERR_MALFORMED},
        {"the reserved byte", "c1", NULL, ERR_MALFORMED},
        {"nothing", "", NULL, ERR_TRUNCATED},
        {"a text that ends early", "a46d65", NULL, ERR_TRUNCATED},
        {"an array that ends early", "930102", NULL, ERR_TRUNCATED},
        {"an array of four thousand million", "ddffffffff", NULL, ERR_TOO_LARGE},
        {"something after the end", "c0c0", NULL, ERR_TRAILING},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct value map = vector(arena, cases[i].why);
        value_put(arena, &map, "msgpack", value_text(cases[i].msgpack));
        if (cases[i].json != NULL) {
            value_put(arena, &map, "json", value_text(cases[i].json));
        }
        value_put(arena, &map, "error", code(cases[i].error));
        value_push(arena, vectors, map);
    }
}

/* Payloads ------------------------------------------------------------------------------- */

static struct op_hash hash_bytes(struct bytes bytes)
{
    struct op_hash hash;
    crypto_generichash(hash.b, sizeof(hash.b), bytes.data, bytes.len, NULL, 0);
    return hash;
}

/* The digest of sections whose bytes are given: what spec/op.md says, spelled out. */
static struct op_hash digest_by_hand(const struct bytes *sections, size_t count)
{
    struct op_hash hashes[LIMIT_SECTIONS];
    for (size_t i = 0; i < count; i++) {
        hashes[i] = hash_bytes(sections[i]);
    }
    return hash_bytes(bytes_of(hashes, count * sizeof(hashes[0])));
}

static void push_payload(struct arena *arena, struct value *vectors, const char *why,
                         struct bytes payload, size_t size, const struct op_hash *digest,
                         const char *state, int error)
{
    struct value map = vector(arena, why);
    value_put(arena, &map, "payload", hex(arena, payload));
    value_put(arena, &map, "size", value_int((int64_t)size));
    value_put(arena, &map, "digest", HEX(*digest));
    value_put(arena, &map, "state", state == NULL ? value_null() : value_text(state));
    value_put(arena, &map, "error", code(error));
    value_push(arena, vectors, map);
}

/* Two sections: {"": salt 00…, "a": 1} and {"": salt 11…, "geo": "x"}. */
static const char section_core[] = "82a0c41000000000000000000000000000000000a16101";
static const char section_geo[] = "82a0c41011111111111111111111111111111111a367656fa178";

static void make_payloads(struct arena *arena, struct value *vectors)
{
    struct bytes sections[2] = {unhex(section_core), unhex(section_geo)};
    struct op_hash digest = digest_by_hand(sections, 2);
    struct op_hash one = digest_by_hand(sections, 1);
    struct op_hash geo = hash_bytes(sections[1]);
    struct buf out;
    buf_init(&out, 4096);
    buf_put_byte(&out, 0x92);
    buf_put(&out, sections[0].data, sections[0].len);
    size_t core_end = out.len;
    buf_put(&out, sections[1].data, sections[1].len);
    struct bytes full = support_copy(buf_bytes(&out));
    push_payload(arena, vectors, "two sections", full, full.len, &digest, "full", 0);
    push_payload(arena, vectors, "nothing of it", bytes_of(NULL, 0), full.len, &digest, "absent",
                 0);
    out.len = core_end;
    buf_put(&out, "\xc4\x20", 2);
    buf_put(&out, geo.b, sizeof(geo.b));
    push_payload(arena, vectors, "the second section withheld", support_copy(buf_bytes(&out)),
                 full.len, &digest, "redacted", 0);
    out.data[3] ^= 1;
    push_payload(arena, vectors, "withheld, and the rest changed: a lying redaction",
                 support_copy(buf_bytes(&out)), full.len, &digest, NULL, ERR_BAD_DIGEST);
    uint8_t *changed = support_alloc(full.len);
    memcpy(changed, full.data, full.len);
    changed[full.len - 1] ^= 1;
    push_payload(arena, vectors, "one bit changed", bytes_of(changed, full.len), full.len, &digest,
                 NULL, ERR_BAD_DIGEST);
    push_payload(arena, vectors, "another size than announced", full, full.len + 1, &digest, NULL,
                 ERR_BAD_DIGEST);
    push_payload(arena, vectors, "the digest of the first section alone", full, full.len, &one,
                 NULL, ERR_BAD_DIGEST);
    struct bytes garbage = unhex("00ff00ff");
    struct op_hash whole = digest_by_hand(&garbage, 1);
    push_payload(arena, vectors, "no sections at all: the bytes count as one", garbage, garbage.len,
                 &whole, "full", 0);
    push_payload(arena, vectors, "a section that is no payload by itself: the same", sections[0],
                 sections[0].len, &one, "full", 0);
    buf_clear(&out);
    buf_put_byte(&out, 0x91);
    buf_put(&out, sections[0].data, sections[0].len);
    push_payload(arena, vectors, "an array around it gives the same digest, but withholds nothing",
                 support_copy(buf_bytes(&out)), sections[0].len, &one, NULL, ERR_BAD_DIGEST);
    buf_free(&out);
}

/* Ops ------------------------------------------------------------------------------------ */

static struct value ids(struct arena *arena, const struct op_id *deps, uint32_t count)
{
    struct value list = value_array();
    for (uint32_t i = 0; i < count; i++) {
        value_push(arena, &list, HEX(deps[i]));
    }
    return list;
}

static void push_op(struct arena *arena, struct value *vectors, const char *why,
                    const struct test_author *author, const struct draft *draft, int error)
{
    const struct made *op = make(author, draft);
    struct value map = vector(arena, why);
    value_put(arena, &map, "mesh", HEX(test_mesh));
    value_put(arena, &map, "seed", hex(arena, bytes_of(author->seed, sizeof(author->seed))));
    value_put(arena, &map, "author", HEX(author->key));
    value_put(arena, &map, "op", hex(arena, op->raw));
    value_put(arena, &map, "error", code(error));
    if (error == 0) {
        struct value prev = value_array();
        for (uint32_t i = 0; i < draft->prev_count; i++) {
            value_push(arena, &prev, HEX(draft->prev[i]));
        }
        value_put(arena, &map, "header", hex(arena, op->header));
        value_put(arena, &map, "sig", hex(arena, op->sig));
        value_put(arena, &map, "hash", HEX(op->hash));
        value_put(arena, &map, "version",
                  value_int(draft->version == 0 ? 1 : (int64_t)draft->version));
        value_put(arena, &map, "kind",
                  value_int(draft->kind == 0 ? KIND_CreateClaim : (int64_t)draft->kind));
        value_put(arena, &map, "id", HEX(op->id));
        value_put(arena, &map, "seq", value_int((int64_t)op->seq));
        value_put(arena, &map, "prev", prev);
        value_put(arena, &map, "deps", ids(arena, draft->deps, draft->dep_count));
        value_put(arena, &map, "size", value_int((int64_t)op->payload.len));
    }
    value_push(arena, vectors, map);
}

static void make_good_ops(struct arena *arena, struct value *vectors,
                          const struct test_author *author)
{
    struct op_hash prev[2] = {{{1}}, {{2}}};
    struct op_id deps[2] = {id_at(author, NOW_MS - 2, 0), id_at(author, NOW_MS - 1, 0)};
    struct draft first = {.kind = KIND_DelegateUcan, .payload = payload_first(author)};
    struct draft second = {.seq = 2, .prev = prev, .prev_count = 1};
    struct draft join = {.seq = 9,
                         .prev = prev,
                         .prev_count = 2,
                         .deps = deps,
                         .dep_count = 2,
                         .payload = payload_of("{\"text\":\"tea\",\"geo\":[1,2]}", 3)};
    struct draft future = {.version = 2,
                           .kind = 4000000000,
                           .seq = 2,
                           .prev = prev,
                           .prev_count = 1,
                           .further = unhex("93a161c0c3"),
                           .further_count = 1};
    push_op(arena, vectors, "a first op", author, &first, 0);
    push_op(arena, vectors, "the op after", author, &second, 0);
    push_op(arena, vectors, "a join with dependencies and two sections", author, &join, 0);
    push_op(arena, vectors, "a later version, kind and field", author, &future, 0);
}

static void make_bad_ops(struct arena *arena, struct value *vectors,
                         const struct test_author *author)
{
    struct test_author other = author_of(2);
    struct op_hash prev[2] = {{{2}}, {{1}}};
    struct op_id foreign = id_at(&other, NOW_MS, 0);
    struct op_id late = id_at(author, NOW_MS, 0);
    struct op_id unsorted[2] = {id_at(author, NOW_MS - 1, 0), id_at(author, NOW_MS - 2, 0)};
    const struct {
        const char *why;
        struct draft draft;
        int error;
    } cases[] = {
        {"signed for another mesh", {.mesh = &other_mesh}, ERR_BAD_SIGNATURE},
        {"not signed", {.sign = SIGN_NONE}, ERR_BAD_SIGNATURE},
        {"signed with garbage", {.sign = SIGN_GARBAGE}, ERR_BAD_SIGNATURE},
        {"a signature of three bytes", {.sig = unhex("c403010203")}, ERR_MALFORMED},
        {"another author's node part", {.id = &foreign}, ERR_BAD_ID},
        {"version 0", {.field[0] = unhex("00")}, ERR_MALFORMED},
        {"a version in a longer form", {.field[0] = unhex("cc01")}, ERR_NOT_CANONICAL},
        {"an id of 15 bytes",
         {.field[2] = unhex("c40f000000000000000000000000000000")},
         ERR_MALFORMED},
        {"seq 0", {.field[3] = unhex("00")}, ERR_BAD_PREV},
        {"seq 2 after nothing", {.seq = 2}, ERR_BAD_PREV},
        {"seq 1 after something", {.seq = 1, .prev = prev, .prev_count = 1}, ERR_BAD_PREV},
        {"prev not ascending", {.seq = 2, .prev = prev, .prev_count = 2}, ERR_BAD_PREV},
        {"deps not ascending", {.deps = unsorted, .dep_count = 2}, ERR_BAD_DEPS},
        {"depends on itself", {.deps = &late, .dep_count = 1}, ERR_BAD_DEPS},
        {"a size of 0", {.field[6] = unhex("00")}, ERR_MALFORMED},
        {"a size over the limit", {.field[6] = unhex("ce00010001")}, ERR_TOO_LARGE},
        {"a digest of 31 bytes",
         {.field[7] = unhex("c41f00000000000000000000000000000000000000"
                            "000000000000000000000000")},
         ERR_MALFORMED},
        {"seven fields", {.array_head = unhex("97")}, ERR_MALFORMED},
        {"another payload",
         {.carry = CARRY_THIS, .carried = payload_of("{\"a\":1}", 9)},
         ERR_BAD_DIGEST},
        {"nothing", {.array_head = unhex("c0")}, ERR_MALFORMED},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        push_op(arena, vectors, cases[i].why, author, &cases[i].draft, cases[i].error);
    }
}

static void make_ops(struct arena *arena, struct value *vectors)
{
    struct test_author author = author_of(1);
    make_good_ops(arena, vectors, &author);
    make_bad_ops(arena, vectors, &author);
}

/* Segments ------------------------------------------------------------------------------- */

static void push_segment(struct arena *arena, struct value *vectors, const char *why,
                         struct bytes wire, const struct made *const *ops, uint32_t count,
                         int error)
{
    struct value map = vector(arena, why);
    struct value hashes = value_array();
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        value_push(arena, &hashes, HEX(ops[i]->hash));
    }
    value_put(arena, &map, "mesh", HEX(test_mesh));
    value_put(arena, &map, "segment", hex(arena, wire));
    value_put(arena, &map, "error", code(error));
    value_put(arena, &map, "hashes", hashes);
    value_push(arena, vectors, map);
}

struct segment_case {
    const char *why;
    const struct made *ops[4];
    int error;
};

static void make_bad_frames(struct arena *arena, struct value *vectors,
                            const struct test_author *author)
{
    static const struct {
        const char *why;
        uint64_t count;
        uint64_t length; /* Of the op; 0: as it is. */
        int cut;         /* Bytes that are missing at the end. */
        int error;
    } cases[] = {
        {"no ops", 0, 0, 0, ERR_MALFORMED},
        {"one op announced too many", 2, 0, 0, ERR_TRUNCATED},
        {"257 ops announced", 257, 0, 0, ERR_TOO_LARGE},
        {"an op longer than any", 1, LIMIT_OP + 1, 0, ERR_TOO_LARGE},
        {"a byte too few", 1, 0, 1, ERR_TRUNCATED},
        {"a byte too many", 1, 0, -1, ERR_TRAILING},
    };
    const struct made *first = make_first(author, NOW_MS);
    struct bytes wire = segment_of_one(author, first);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t *changed = support_alloc(wire.len + 1);
        memcpy(changed, wire.data, wire.len);
        be_put(changed + 32, 2, cases[i].count);
        if (cases[i].length != 0) {
            be_put(changed + 34, 4, cases[i].length);
        }
        size_t len = (size_t)((ptrdiff_t)wire.len - cases[i].cut);
        push_segment(arena, vectors, cases[i].why, bytes_of(changed, len), NULL, 0, cases[i].error);
    }
    push_segment(arena, vectors, "cut in its frame", bytes_of(wire.data, 33), NULL, 0,
                 ERR_TRUNCATED);
}

static void make_segments(struct arena *arena, struct value *vectors)
{
    struct test_author author = author_of(1);
    struct test_author other = author_of(2);
    const struct made *run[256];
    make_run(&author, NULL, "g-xg-g", run, 6);
    const struct made *two[2] = {run[0], run[1]};
    struct draft seq = {.seq = 9};
    struct draft still = {.id = &run[3]->id};
    const struct made *join = make_join(&author, two, 2, NULL);
    const struct segment_case cases[] = {
        {"one op", {run[0]}, 0},
        {"inner signatures: none, garbage", {run[0], run[1], run[2], run[3]}, 0},
        {"from the middle", {run[2], run[3]}, 0},
        {"an op without its payload", {run[3], with_payload(run[4], (struct bytes){0}), run[5]}, 0},
        {"a join begins it", {join, make_next(&author, join, NULL)}, 0},
        {"it ends without signature", {run[0], run[1]}, ERR_BAD_SIGNATURE},
        {"it ends with a garbage signature", {run[0], run[1], run[2]}, ERR_BAD_SIGNATURE},
        {"an op left out", {run[3], run[5]}, ERR_BAD_PREV},
        {"two ops exchanged", {run[4], run[3], run[5]}, ERR_BAD_PREV},
        {"a join inside", {run[1], join}, ERR_BAD_PREV},
        {"a seq that jumps", {run[3], make_next(&author, run[3], &seq)}, ERR_BAD_PREV},
        {"an id that stands still", {run[3], make_next(&author, run[3], &still)}, ERR_BAD_ID},
        {"another author's node part", {run[3], make_next(&other, run[3], NULL)}, ERR_BAD_ID},
        {"another payload",
         {run[3], with_payload(run[4], payload_of("{\"x\":1}", 9)), run[5]},
         ERR_BAD_DIGEST},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint32_t count = 0;
        while (count < COUNT_OF(cases[i].ops) && cases[i].ops[count] != NULL) {
            count++;
        }
        push_segment(arena, vectors, cases[i].why, segment_of(&author, cases[i].ops, count),
                     cases[i].ops, count, cases[i].error);
    }
    make_bad_frames(arena, vectors, &author);
    make_run(&author, NULL, "g-", run, 255);
    run[255] = make_next(&author, run[254], NULL);
    push_segment(arena, vectors, "256 ops and one signature", segment_of(&author, run, 256), run,
                 256, 0);
}

/* Chains --------------------------------------------------------------------------------- */

/* One history: segments in the order they are delivered, and what must come of them. */
struct history {
    struct arena *arena;
    struct value deliveries;
    struct value verdicts;
    const struct test_author *author[4];
    struct op_hash heads[4][8];
    uint32_t head_count[4];
    uint32_t authors;
};

static void history_begin(struct history *history, struct arena *arena)
{
    *history = (struct history){
        .arena = arena, .deliveries = value_array(), .verdicts = value_array()};
}

static void deliver_wire(struct history *history, struct bytes wire, int error, uint32_t appended,
                         uint32_t duplicate, uint32_t parked)
{
    struct arena *arena = history->arena;
    struct value map = value_map();
    value_put(arena, &map, "segment", hex(arena, wire));
    value_put(arena, &map, "error", code(error));
    value_put(arena, &map, "appended", value_int(appended));
    value_put(arena, &map, "duplicate", value_int(duplicate));
    value_put(arena, &map, "parked", value_int(parked));
    value_push(arena, &history->deliveries, map);
}

static void deliver(struct history *history, const struct test_author *author,
                    const struct made *const *ops, uint32_t count, int error, uint32_t duplicate)
{
    uint32_t appended = error == 0 ? count - duplicate : 0;
    deliver_wire(history, segment_of(author, ops, count), error, appended,
                 error == 0 ? duplicate : 0, 0);
}

static void expect(struct history *history, const struct made *op, const char *verdict,
                   const char *reason)
{
    struct arena *arena = history->arena;
    struct value map = value_map();
    value_put(arena, &map, "id", HEX(op->id));
    value_put(arena, &map, "hash", HEX(op->hash));
    value_put(arena, &map, "verdict", value_text(verdict));
    value_put(arena, &map, "reason", reason == NULL ? value_null() : value_text(reason));
    value_push(arena, &history->verdicts, map);
}

static void expect_applied(struct history *history, const struct made *const *ops, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        expect(history, ops[i], "applied", NULL);
    }
}

static void expect_head(struct history *history, const struct test_author *author,
                        const struct made *head)
{
    uint32_t at = 0;
    while (at < history->authors && history->author[at] != author) {
        at++;
    }
    history->author[at] = author;
    history->heads[at][history->head_count[at]++] = head->hash;
    history->authors = at == history->authors ? at + 1 : history->authors;
}

static int compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct op_hash));
}

static struct op_hash frontier_by_hand(struct history *history)
{
    static const char context[] = "meshlog frontier 1";
    struct op_hash hash;
    struct buf out;
    bool done[4] = {false};
    buf_init(&out, 4096);
    buf_put(&out, context, sizeof(context) - 1);
    for (uint32_t turn = 0; turn < history->authors; turn++) {
        uint32_t least = UINT32_MAX;
        for (uint32_t i = 0; i < history->authors; i++) {
            if (!done[i] &&
                (least == UINT32_MAX ||
                 memcmp(history->author[i]->key.b, history->author[least]->key.b, 32) < 0)) {
                least = i;
            }
        }
        done[least] = true;
        qsort(history->heads[least], history->head_count[least], sizeof(struct op_hash),
              compare_hashes);
        buf_put(&out, history->author[least]->key.b, 32);
        buf_put(&out, history->heads[least], history->head_count[least] * sizeof(struct op_hash));
    }
    assert_ok(buf_error(&out));
    hash = hash_bytes(buf_bytes(&out));
    buf_free(&out);
    return hash;
}

static void history_end(struct history *history, const char *why, struct value *vectors)
{
    struct arena *arena = history->arena;
    struct op_hash frontier = frontier_by_hand(history);
    struct value map = vector(arena, why);
    value_put(arena, &map, "mesh", HEX(test_mesh));
    value_put(arena, &map, "now_ms", value_int((int64_t)NOW_MS));
    value_put(arena, &map, "deliveries", history->deliveries);
    value_put(arena, &map, "ops", history->verdicts);
    value_put(arena, &map, "frontier", HEX(frontier));
    value_push(arena, vectors, map);
}

static void history_line(struct arena *arena, struct value *vectors)
{
    struct history history;
    struct test_author one = author_of(1);
    const struct made *ops[6];
    make_run(&one, NULL, "g--g-g", ops, 6);
    history_begin(&history, arena);
    deliver(&history, &one, ops + 2, 2, ERR_UNKNOWN_AUTHOR, 0);
    deliver(&history, &one, ops, 1, 0, 0);
    deliver(&history, &one, ops + 2, 2, ERR_GAP, 0);
    deliver(&history, &one, ops + 1, 2, ERR_BAD_SIGNATURE, 0);
    deliver(&history, &one, ops, 4, 0, 1);
    deliver(&history, &one, ops + 1, 5, 0, 3);
    deliver(&history, &one, ops, 6, 0, 6);
    expect_applied(&history, ops, 6);
    expect_head(&history, &one, ops[5]);
    history_end(&history, "one line: unknown author, gap, unsigned end, overlap, repeat", vectors);
}

static void history_fork(struct arena *arena, struct value *vectors)
{
    struct history history;
    struct test_author one = author_of(1);
    struct test_author two = author_of(2);
    const struct made *ops[3];
    const struct made *other[2];
    struct draft branch = {.wall_ms = NOW_MS + 500};
    struct draft late = {.wall_ms = NOW_MS + 900};
    make_run(&one, NULL, "g", ops, 3);
    make_run(&two, NULL, "g", other, 2);
    const struct made *fork = make_next(&one, ops[0], &branch);
    const struct made *heads[2] = {ops[2], fork};
    const struct made *join = make_join(&one, heads, 2, &late);
    const struct made *open = make_next(&one, ops[1], &late);
    history_begin(&history, arena);
    deliver(&history, &two, other, 2, 0, 0);
    deliver(&history, &one, ops, 3, 0, 0);
    deliver(&history, &one, &join, 1, ERR_GAP, 0);
    deliver(&history, &one, &fork, 1, 0, 0);
    deliver(&history, &one, &join, 1, 0, 0);
    deliver(&history, &one, &open, 1, 0, 0);
    expect_applied(&history, ops, 3);
    expect_applied(&history, other, 2);
    expect(&history, fork, "applied", NULL);
    expect(&history, join, "void", "twin");
    expect(&history, open, "void", "twin");
    expect_head(&history, &one, join);
    expect_head(&history, &one, open);
    expect_head(&history, &two, other[1]);
    history_end(&history, "a fork, its join, and a twin of the join on a third branch", vectors);
}

static void history_abandon(struct arena *arena, struct value *vectors)
{
    struct history history;
    struct test_author one = author_of(1);
    const struct made *ops[4];
    make_run(&one, NULL, "g", ops, 4); /* ops[1] is the last that counts. */
    struct draft abandon = {.kind = KIND_Abandon};
    const struct made *undo = make_next(&one, ops[1], &abandon); /* A twin of ops[2]. */
    struct draft control = {.kind = KIND_SetMeshRules};
    const struct made *rules = make_next(&one, ops[3], &control);
    struct draft later = {.wall_ms = NOW_MS + 700};
    const struct made *after = make_next(&one, undo, &later);
    history_begin(&history, arena);
    deliver(&history, &one, ops, 4, 0, 0);
    deliver(&history, &one, &rules, 1, 0, 0);
    deliver(&history, &one, &undo, 1, 0, 0);
    deliver(&history, &one, &after, 1, 0, 0);
    expect_applied(&history, ops, 2);
    expect(&history, ops[2], "void", "twin");
    expect(&history, undo, "void", "twin");
    expect(&history, ops[3], "void", "abandoned");
    expect(&history, rules, "applied", NULL);
    expect(&history, after, "applied", NULL);
    expect_head(&history, &one, rules);
    expect_head(&history, &one, after);
    history_end(&history, "an Abandon that comes late, is a twin itself, and spares a control op",
                vectors);
}

static void history_payloads(struct arena *arena, struct value *vectors)
{
    struct history history;
    struct test_author one = author_of(1);
    const struct made *first = make_first(&one, NOW_MS);
    struct draft absent = {.carry = CARRY_NOTHING, .payload = payload_of("{\"text\":\"x\"}", 1)};
    struct draft broken = {.payload = payload_broken(2)};
    struct draft kind = {.kind = 999};
    struct draft version = {.version = 2};
    const struct made *ops[5] = {first};
    ops[1] = make_next(&one, ops[0], &absent);
    ops[2] = make_next(&one, ops[1], &broken);
    ops[3] = make_next(&one, ops[2], &kind);
    ops[4] = make_next(&one, ops[3], &version);
    struct op_id nobody = id_at(&one, NOW_MS - 5, 7);
    struct draft waits = {.deps = &nobody, .dep_count = 1};
    const struct made *waiting = make_next(&one, ops[4], &waits);
    history_begin(&history, arena);
    deliver(&history, &one, ops, 5, 0, 0);
    deliver(&history, &one, &waiting, 1, 0, 0);
    expect(&history, ops[0], "applied", NULL);
    expect(&history, ops[1], "pending", "payload_absent");
    expect(&history, ops[2], "rejected", "schema");
    expect(&history, ops[3], "pending", "kind_unknown");
    expect(&history, ops[4], "pending", "version_unknown");
    expect(&history, waiting, "pending", "dep_missing");
    expect_head(&history, &one, waiting);
    history_end(&history,
                "no payload, a broken one, an unknown kind, a later version, a missing "
                "dependency: all are in the chain",
                vectors);
}

static void history_future(struct arena *arena, struct value *vectors)
{
    struct history history;
    struct test_author one = author_of(1);
    const struct made *ops[4];
    ops[0] = make_first(&one, NOW_MS);
    struct draft edge = {.wall_ms = NOW_MS + LIMIT_SKEW_MS};
    struct draft ahead = {.wall_ms = NOW_MS + LIMIT_SKEW_MS + 1, .sign = SIGN_NONE};
    struct draft end = {.wall_ms = NOW_MS + LIMIT_SKEW_MS + 2};
    ops[1] = make_next(&one, ops[0], &edge);
    ops[2] = make_next(&one, ops[1], &ahead);
    ops[3] = make_next(&one, ops[2], &end);
    history_begin(&history, arena);
    deliver_wire(&history, segment_of(&one, ops, 4), 0, 2, 0, 2);
    deliver_wire(&history, segment_of(&one, ops + 2, 2), 0, 0, 0, 2);
    expect_applied(&history, ops, 2);
    expect_head(&history, &one, ops[1]);
    history_end(&history, "a tail from the future is parked; an inner signature lets the rest in",
                vectors);
}

static void history_refusals(struct arena *arena, struct value *vectors)
{
    struct history history;
    struct test_author one = author_of(1);
    struct test_author two = author_of(2);
    const struct made *ops[4];
    make_run(&one, NULL, "gx-g", ops, 4);
    struct draft wrong_seq = {.seq = 4};
    struct draft same_time = {.id = &ops[0]->id};
    struct draft text = {.payload = payload_of("{\"text\":\"swapped\"}", 5), .sign = SIGN_NONE};
    const struct made *swapped[4] = {ops[0], ops[1], make_next(&one, ops[1], &text), ops[3]};
    const struct made *skips = make_next(&one, ops[0], &wrong_seq);
    const struct made *stands = make_next(&one, ops[0], &same_time);
    struct draft claim = {0};
    const struct made *not_first = make(&two, &claim);
    struct bytes wire = segment_of(&one, ops, 4);
    struct buf longer;
    buf_init(&longer, wire.len + 1);
    buf_put(&longer, wire.data, wire.len);
    buf_put_byte(&longer, 0);
    assert_ok(buf_error(&longer));
    history_begin(&history, arena);
    deliver(&history, &two, &not_first, 1, ERR_UNKNOWN_AUTHOR, 0);
    deliver(&history, &one, swapped, 4, ERR_BAD_PREV, 0);
    deliver_wire(&history, bytes_of(wire.data, wire.len - 1), ERR_TRUNCATED, 0, 0, 0);
    deliver_wire(&history, bytes_of(wire.data, 40), ERR_TRUNCATED, 0, 0, 0);
    deliver_wire(&history, support_copy(buf_bytes(&longer)), ERR_TRAILING, 0, 0, 0);
    deliver(&history, &one, ops, 4, 0, 0);
    deliver(&history, &one, &skips, 1, ERR_GAP, 0);
    deliver(&history, &one, &stands, 1, ERR_BAD_ID, 0);
    expect_applied(&history, ops, 4);
    expect_head(&history, &one, ops[3]);
    history_end(&history,
                "a first op that admits nobody, a swapped op, a cut, a byte too many, a "
                "wrong seq, an id that stands still; inner garbage signatures are fine",
                vectors);
    buf_free(&longer);
}

static void history_signed_twice(struct arena *arena, struct value *vectors)
{
    struct history history;
    struct test_author one = author_of(1);
    const struct made *first = make_first(&one, NOW_MS - 100);
    struct draft again = {.sign = SIGN_AGAIN};
    const struct made *op = make_next(&one, first, NULL);
    const struct made *twin = make_next(&one, first, &again);
    const struct made *after = make_next(&one, twin, NULL);
    history_begin(&history, arena);
    deliver(&history, &one, &first, 1, 0, 0);
    deliver(&history, &one, &op, 1, 0, 0);
    deliver(&history, &one, &twin, 1, 0, 0);
    deliver(&history, &one, &after, 1, 0, 0);
    expect(&history, first, "applied", NULL);
    expect(&history, op, "void", "twin");
    expect(&history, twin, "void", "twin");
    expect(&history, after, "applied", NULL);
    expect_head(&history, &one, op);
    expect_head(&history, &one, after);
    history_end(&history, "one header with two signatures by its author: twins", vectors);
}

static void history_abandon_twin(struct arena *arena, struct value *vectors)
{
    struct history history;
    struct test_author one = author_of(1);
    const struct made *first = make_first(&one, NOW_MS - 100);
    struct draft abandon = {.kind = KIND_Abandon};
    const struct made *undo = make_next(&one, first, &abandon);
    const struct made *twin = make_next(&one, first, NULL);
    struct draft later = {.wall_ms = NOW_MS - 50};
    const struct made *lost = make_next(&one, twin, &later);
    const struct made *heads[2] = {undo, lost};
    const struct made *join = make_join(&one, heads, 2, NULL);
    history_begin(&history, arena);
    deliver(&history, &one, &first, 1, 0, 0);
    deliver(&history, &one, &twin, 1, 0, 0);
    deliver(&history, &one, &lost, 1, 0, 0);
    deliver(&history, &one, &undo, 1, 0, 0);
    deliver(&history, &one, &join, 1, 0, 0);
    expect(&history, first, "applied", NULL);
    expect(&history, undo, "void", "twin");
    expect(&history, twin, "void", "twin");
    expect(&history, lost, "void", "abandoned");
    expect(&history, join, "applied", NULL);
    expect_head(&history, &one, join);
    history_end(&history, "what follows an Abandon's twin does not descend from it; a join does",
                vectors);
}

static void history_uncovered(struct arena *arena, struct value *vectors)
{
    struct history history;
    struct test_author one = author_of(1);
    const struct made *ops[302];
    make_run(&one, NULL, "g-", ops, 301);
    ops[301] = make_next(&one, ops[300], NULL);
    history_begin(&history, arena);
    deliver(&history, &one, ops, 1, 0, 0);
    deliver(&history, &one, ops + 1, 256, ERR_BAD_SIGNATURE, 0);
    deliver(&history, &one, ops + 302 - 256, 256, ERR_GAP, 0);
    expect(&history, ops[0], "applied", NULL);
    expect_head(&history, &one, ops[0]);
    history_end(&history, "300 unsigned ops before a signature: no segment reaches that far",
                vectors);
}

static void history_unsigned_join(struct arena *arena, struct value *vectors)
{
    struct history history;
    struct test_author one = author_of(1);
    const struct made *first = make_first(&one, NOW_MS - 100);
    struct draft left = {.sign = SIGN_NONE};
    struct draft right = {.sign = SIGN_NONE, .wall_ms = NOW_MS - 50};
    const struct made *ends[2] = {make_next(&one, first, &left), make_next(&one, first, &right)};
    const struct made *join = make_join(&one, ends, 2, NULL);
    const struct made *inside[2] = {ends[0], join};
    const struct made *vouched[2][2] = {
        {ends[0], make_next(&one, ends[0], NULL)},
        {ends[1], make_next(&one, ends[1], &(struct draft){.wall_ms = NOW_MS - 40})}};
    history_begin(&history, arena);
    deliver(&history, &one, &first, 1, 0, 0);
    deliver(&history, &one, ends, 1, ERR_BAD_SIGNATURE, 0);
    deliver(&history, &one, &join, 1, ERR_GAP, 0);
    deliver(&history, &one, inside, 2, ERR_BAD_PREV, 0);
    deliver(&history, &one, vouched[0], 2, 0, 0);
    deliver(&history, &one, vouched[1], 2, 0, 0);
    deliver(&history, &one, &join, 1, 0, 0);
    expect(&history, first, "applied", NULL);
    for (size_t i = 0; i < 2; i++) {
        expect_applied(&history, vouched[i], 2);
        expect_head(&history, &one, vouched[i][1]);
    }
    expect(&history, join, "applied", NULL);
    expect_head(&history, &one, join);
    history_end(&history, "a join of unsigned heads is taken once others vouch for these", vectors);
}

static void history_late(struct arena *arena, struct value *vectors)
{
    struct history history;
    struct test_author one = author_of(1);
    struct test_author two = author_of(2);
    struct bytes full = payload_of("{\"text\":\"x\",\"geo\":1}", 1);
    const struct made *first = make_first(&one, NOW_MS - 100);
    const struct made *dep = make_first(&two, NOW_MS - 200);
    struct draft waits = {.payload = full, .deps = &dep->id, .dep_count = 1};
    const struct made *op = make_next(&one, first, &waits);
    struct draft redacted = {
        .payload = full, .carry = CARRY_THIS, .carried = payload_redact(full, 2)};
    const struct made *core = make_next(&one, op, &redacted);
    redacted.carried = payload_redact(full, 1);
    const struct made *no_core = make_next(&one, core, &redacted);
    const struct made *bare = with_payload(op, (struct bytes){0});
    const struct made *lying = with_payload(op, payload_of("{\"text\":\"y\",\"geo\":1}", 1));
    history_begin(&history, arena);
    deliver(&history, &one, &first, 1, 0, 0);
    deliver(&history, &one, &bare, 1, 0, 0);
    deliver(&history, &one, &lying, 1, ERR_BAD_DIGEST, 0);
    deliver(&history, &one, &core, 1, 0, 0);
    deliver(&history, &one, &no_core, 1, 0, 0);
    deliver(&history, &two, &dep, 1, 0, 0);
    deliver(&history, &one, &op, 1, 0, 1);
    deliver(&history, &one, &bare, 1, 0, 1);
    expect(&history, first, "applied", NULL);
    expect(&history, dep, "applied", NULL);
    expect(&history, op, "applied", NULL);
    expect(&history, core, "applied", NULL);
    expect(&history, no_core, "pending", "payload_absent");
    expect_head(&history, &one, no_core);
    expect_head(&history, &two, dep);
    history_end(&history,
                "a payload and a dependency that come later; redacted payloads with and "
                "without their core",
                vectors);
}

static void make_chains(struct arena *arena, struct value *vectors)
{
    history_line(arena, vectors);
    history_fork(arena, vectors);
    history_abandon(arena, vectors);
    history_payloads(arena, vectors);
    history_future(arena, vectors);
    history_refusals(arena, vectors);
    history_signed_twice(arena, vectors);
    history_abandon_twin(arena, vectors);
    history_unsigned_join(arena, vectors);
    history_late(arena, vectors);
    history_uncovered(arena, vectors);
}

/* Bundles -------------------------------------------------------------------------------- */

/* Four segments of two authors, as a log may hold them. */
struct bundle_case {
    struct test_author a, b;
    const struct made *op[8];
    struct bytes segment[4];
    uint32_t first[5]; /* The number of the first op of each, and of all. */
};

static struct bundle_case bundle_case(void)
{
    struct bundle_case c = {.a = author_of(1), .b = author_of(2), .first = {0, 2, 3, 6, 8}};
    struct draft branch = {.kind = KIND_CreateEntity};
    make_run(&c.a, NULL, "gg", c.op, 2);
    c.op[2] = make_first(&c.b, NOW_MS);
    make_run(&c.a, c.op[1], "-xg", c.op + 3, 3);
    c.op[6] = make_next(&c.a, c.op[1], &branch);
    c.op[7] = make_next(&c.a, c.op[6], NULL);
    for (uint32_t i = 0; i < 4; i++) {
        c.segment[i] = segment_of(i == 1 ? &c.b : &c.a, c.op + c.first[i],
                                  c.first[i + 1] - c.first[i]);
    }
    return c;
}

/* What an empty store of test_mesh makes of it at NOW_MS: the first kept of ops are taken. */
static void push_bundle(struct arena *arena, struct value *vectors, const char *why,
                        struct bytes bundle, int error, const struct made *const *ops,
                        uint32_t kept, uint32_t duplicate)
{
    struct value map = vector(arena, why);
    struct value hashes = value_array();
    for (uint32_t i = 0; i < kept; i++) {
        value_push(arena, &hashes, HEX(ops[i]->hash));
    }
    value_put(arena, &map, "mesh", HEX(test_mesh));
    value_put(arena, &map, "now_ms", value_int((int64_t)NOW_MS));
    value_put(arena, &map, "bundle", hex(arena, bundle));
    value_put(arena, &map, "error", code(error));
    value_put(arena, &map, "ops", value_int(kept));
    value_put(arena, &map, "duplicate", value_int(duplicate));
    value_put(arena, &map, "hashes", hashes);
    value_push(arena, vectors, map);
}

static void make_good_bundles(struct arena *arena, struct value *vectors)
{
    struct bundle_case c = bundle_case();
    struct bytes twice[2] = {c.segment[0], c.segment[0]};
    struct bytes two_sections = payload_of("{\"a\":1,\"geo\":\"x\"}", 3);
    struct draft draft = {.payload = two_sections};
    const struct made *stubs[3] = {c.op[0], make_next(&c.a, c.op[0], &draft), NULL};
    stubs[2] = with_payload(make_next(&c.a, stubs[1], NULL), bytes_of("", 0));
    const struct made *sent[3] = {stubs[0], with_payload(stubs[1], payload_redact(two_sections, 2)),
                                  stubs[2]};
    struct bytes stub_segment = segment_of(&c.a, sent, 3);
    push_bundle(arena, vectors, "no ops", bundle_of(NULL, 0).all, 0, NULL, 0, 0);
    push_bundle(arena, vectors, "one segment", bundle_of(c.segment, 1).all, 0, c.op, 2, 0);
    push_bundle(arena, vectors, "two authors and a fork", bundle_of(c.segment, 4).all, 0, c.op, 8,
                0);
    push_bundle(arena, vectors, "a redacted and an absent payload", bundle_of(&stub_segment, 1).all,
                0, stubs, 3, 0);
    push_bundle(arena, vectors, "a segment that its writer put twice", bundle_of(twice, 2).all, 0,
                c.op, 2, 2);
}

/* Bytes that are not those of a whole bundle. */
static void make_bad_bytes(struct arena *arena, struct value *vectors)
{
    static const char text[] = "Dear reader, this is a text and no bundle.\n";
    struct bundle_case c = bundle_case();
    struct made_bundle good = bundle_of(c.segment, 4);
    struct bytes all = good.all;
    const struct bytes none = {0};
    const struct {
        const char *why;
        struct bytes bundle;
        int error;
        uint32_t kept;
    } cases[] = {
        {"empty", none, ERR_NOT_A_BUNDLE, 0},
        {"a text", bytes_of_text(text), ERR_NOT_A_BUNDLE, 0},
        {"a short text", bytes_of_text("mesh?"), ERR_NOT_A_BUNDLE, 0},
        {"the first byte changed", changed_at(all, 0, 1), ERR_NOT_A_BUNDLE, 0},
        {"cut in its name", bytes_of(all.data, 7), ERR_TRUNCATED, 0},
        {"cut after its name", bytes_of(all.data, 15), ERR_TRUNCATED, 0},
        {"cut in the head", bytes_of(all.data, 40), ERR_TRUNCATED, 0},
        {"cut in the check of the head", bytes_of(all.data, good.at[1] - 1), ERR_TRUNCATED, 0},
        {"cut after the head", bytes_of(all.data, good.at[1]), ERR_TRUNCATED, 0},
        {"cut in a length", bytes_of(all.data, good.at[2] + 3), ERR_TRUNCATED, 2},
        {"cut in a segment", bytes_of(all.data, good.at[3] + 100), ERR_TRUNCATED, 3},
        {"cut in a check", bytes_of(all.data, good.at[4] - 1), ERR_TRUNCATED, 3},
        {"cut between frames", bytes_of(all.data, good.at[4]), ERR_TRUNCATED, 6},
        {"cut before the end", bytes_of(all.data, good.at[5]), ERR_TRUNCATED, 8},
        {"cut in the end", bytes_of(all.data, all.len - 1), ERR_TRUNCATED, 8},
        {"a newer version", changed_at(all, 15, 3), ERR_NEWER_SCHEMA, 0},
        {"version 0", changed_at(all, 15, 1), ERR_NEWER_SCHEMA, 0},
        {"a byte of the mesh changed", changed_at(all, 16, 1), ERR_MALFORMED, 0},
        {"a byte of the number of ops changed", changed_at(all, 55, 1), ERR_MALFORMED, 0},
        {"a byte of the head's check changed", changed_at(all, 56, 1), ERR_MALFORMED, 0},
        {"a byte of a length changed", changed_at(all, good.at[2] + 3, 1), ERR_MALFORMED, 2},
        {"a byte of an author changed", changed_at(all, good.at[2] + 4, 1), ERR_MALFORMED, 2},
        {"a byte of an op changed", changed_at(all, good.at[3] + 80, 1), ERR_MALFORMED, 3},
        {"a byte of a check changed", changed_at(all, good.at[3] - 1, 1), ERR_MALFORMED, 2},
        {"a byte of the end's check changed", changed_at(all, all.len - 1, 1), ERR_MALFORMED, 8},
        {"too large a length", changed_at(all, good.at[4] + 1, 0x7f), ERR_TOO_LARGE, 6},
        {"frames swapped",
         joined(bundle_part(&good, 0), bundle_part(&good, 2), bundle_part(&good, 1),
                bytes_of(all.data + good.at[3], all.len - good.at[3])),
         ERR_MALFORMED, 0},
        {"a frame repeated",
         joined(bytes_of(all.data, good.at[3]), bundle_part(&good, 2),
                bytes_of(all.data + good.at[3], all.len - good.at[3]), none),
         ERR_MALFORMED, 3},
        {"a frame left out",
         joined(bytes_of(all.data, good.at[2]),
                bytes_of(all.data + good.at[3], all.len - good.at[3]), none, none),
         ERR_MALFORMED, 2},
        {"a byte after the end", joined(all, bytes_of("", 1), none, none), ERR_TRAILING, 8},
        {"another bundle after the end", joined(all, all, none, none), ERR_TRAILING, 8},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        push_bundle(arena, vectors, cases[i].why, cases[i].bundle, cases[i].error, c.op,
                    cases[i].kept, 0);
    }
}

/* Bundles whose checks fit, and whose content is wrong. */
static void make_bad_contents(struct arena *arena, struct value *vectors)
{
    struct bundle_case c = bundle_case();
    struct draft garbage = {.sign = SIGN_GARBAGE};
    struct draft ahead = {.wall_ms = NOW_MS + LIMIT_SKEW_MS + 1};
    const struct made *forged = make_next(&c.a, c.op[1], &garbage);
    struct bytes bad_signature[3] = {c.segment[0], segment_of_one(&c.a, forged), c.segment[1]};
    struct bytes gap[3] = {c.segment[0], segment_of_one(&c.a, c.op[7]), c.segment[1]};
    struct bytes stranger[2] = {c.segment[2], c.segment[0]};
    struct bytes cut[3] = {c.segment[0], bytes_of(c.segment[2].data, c.segment[2].len - 1),
                           c.segment[1]};
    struct bytes stump[2] = {c.segment[0], bytes_of(c.segment[2].data, 20)};
    struct bytes future[2] = {segment_of_one(&c.b, make_first(&c.b, ahead.wall_ms)), c.segment[0]};
    push_bundle(arena, vectors, "another mesh", bundle_made(&other_mesh, 8, c.segment, 4).all,
                ERR_WRONG_MESH, c.op, 0, 0);
    push_bundle(arena, vectors, "an op too many announced",
                bundle_made(&test_mesh, 9, c.segment, 4).all, ERR_MALFORMED, c.op, 8, 0);
    push_bundle(arena, vectors, "an op too few announced",
                bundle_made(&test_mesh, 7, c.segment, 4).all, ERR_MALFORMED, c.op, 8, 0);
    push_bundle(arena, vectors, "a wrong signature", bundle_of(bad_signature, 3).all,
                ERR_BAD_SIGNATURE, c.op, 2, 0);
    push_bundle(arena, vectors, "an op left out", bundle_of(gap, 3).all, ERR_GAP, c.op, 2, 0);
    push_bundle(arena, vectors, "segments in the wrong order", bundle_of(stranger, 2).all,
                ERR_UNKNOWN_AUTHOR, c.op, 0, 0);
    push_bundle(arena, vectors, "a segment that is cut", bundle_of(cut, 3).all, ERR_TRUNCATED, c.op,
                2, 0);
    push_bundle(arena, vectors, "a segment too short for its head",
                bundle_made(&test_mesh, 2, stump, 2).all, ERR_TRUNCATED, c.op, 2, 0);
    push_bundle(arena, vectors, "an author who begins in the future, which is held back",
                bundle_of(future, 2).all, ERR_LIMIT, c.op, 2, 0);
}

static void make_bundles(struct arena *arena, struct value *vectors)
{
    make_good_bundles(arena, vectors);
    make_bad_bytes(arena, vectors);
    make_bad_contents(arena, vectors);
}

/* Files ---------------------------------------------------------------------------------- */

const struct vector_file vector_files[] = {
    {"ids.json", make_ids},           {"clock.json", make_clock},     {"values.json", make_values},
    {"payloads.json", make_payloads}, {"ops.json", make_ops},         {"chains.json", make_chains},
    {"segments.json", make_segments}, {"bundles.json", make_bundles}, {"keys.json", make_keys},
    {"ucan.json", make_ucan},
};
const size_t vector_file_count = COUNT_OF(vector_files);

void vectors_print(const struct vector_file *file, struct buf *out)
{
    struct arena arena;
    struct value vectors = value_array();
    arena_init(&arena, LIMIT_TREE_BYTES);
    file->make(&arena, &vectors);
    assert_ok(arena_error(&arena));
    for (uint32_t i = 0; i < vectors.count; i++) {
        buf_put_text(out, i == 0 ? "[\n" : ",\n");
        assert_ok(value_to_json(&vectors.items[i], out));
    }
    buf_put_text(out, "\n]\n");
    assert_ok(buf_error(out));
    arena_free(&arena);
}
