/* test_segment.c - Runs of ops under one signature: the frame, the links, the limits. */
#include "tests/unit/support.h"

#include <stdlib.h>

static struct segment_op room[LIMIT_SEGMENT_OPS];

static void a_good_segment(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    const struct made *run[5];
    make_run(&author, NULL, "g-x-g", run, 5);
    struct draft draft = {.payload = payload_of("{\"a\":1,\"geo\":1}", 1)};
    const struct made *redacted = make_next(&author, run[4], &draft);
    const struct made *ops[7] = {run[0],
                                 run[1],
                                 run[2],
                                 run[3],
                                 with_payload(run[4], (struct bytes){0}),
                                 with_payload(redacted, payload_redact(draft.payload, 2)),
                                 make_next(&author, redacted, NULL)};
    struct bytes wire = segment_of(&author, ops, 7);
    struct segment segment;
    uint32_t count;
    assert_ok(segment_count(wire, &count));
    assert_count("announced", count, 7);
    assert_ok(segment_decode(wire, room, &segment));
    assert_count("count", segment.count, 7);
    assert_memory_equal(segment.author.b, author.key.b, 32);
    assert_false(segment.signature_checked);
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < 7; i++) {
        assert_true(op_hash_equal(&segment.ops[i].hash, &ops[i]->hash));
        assert_true(bytes_equal(segment.ops[i].op.raw, ops[i]->raw));
        assert_int_equal(segment.ops[i].payload_state, i == 4   ? PAYLOAD_ABSENT
                                                       : i == 5 ? PAYLOAD_REDACTED
                                                                : PAYLOAD_FULL);
        bytes += segment.ops[i].op.size;
    }
    assert_count("payload bytes, here or not", segment.payload_bytes, bytes);
    assert_err("another mesh", segment_verify(&segment, &other_mesh), ERR_BAD_SIGNATURE);
    assert_false(segment.signature_checked);
    assert_ok(segment_verify(&segment, &test_mesh));
    assert_true(segment.signature_checked);

    /* The writer writes the same bytes, after whatever is there. */
    struct buf out;
    struct segment_writer writer;
    buf_init(&out, SIZE_MAX);
    buf_put_text(&out, "before");
    segment_begin(&writer, &author.key, &out);
    for (uint32_t i = 0; i < 7; i++) {
        segment_put(&writer, ops[i]->raw);
    }
    segment_end(&writer);
    assert_true(bytes_equal(bytes_of(out.data + 6, out.len - 6), wire));
    buf_free(&out);
}

static void every_cut_is_found(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    const struct made *run[3];
    make_run(&author, NULL, "g-g", run, 3);
    struct bytes wire = segment_of(&author, run, 3);
    for (size_t len = 0; len < wire.len; len++) {
        uint8_t *exact = malloc(len == 0 ? 1 : len);
        assert_non_null(exact);
        memcpy(exact, wire.data, len);
        struct segment segment;
        assert_err("cut", segment_decode(bytes_of(exact, len), room, &segment), ERR_TRUNCATED);
        free(exact);
    }
    uint8_t *longer = support_alloc(wire.len + 1);
    memcpy(longer, wire.data, wire.len);
    struct segment segment;
    assert_err("longer", segment_decode(bytes_of(longer, wire.len + 1), room, &segment),
               ERR_TRAILING);
}

static void each_bad_segment_is_refused_by_name(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    struct test_author other = author_of(2);
    const struct made *run[4];
    make_run(&author, NULL, "g--g", run, 4);
    const struct made *others = make_next(&other, run[0], NULL);
    struct draft seq = {.seq = 9};
    struct draft same_id = {.id = &run[1]->id};
    struct draft small_id = {.wall_ms = NOW_MS - 2000000};
    struct draft dep = {.dep_count = 1, .deps = &run[3]->id};
    struct draft broken_header = {.kind = KIND_CreateClaim,
                                  .field = {[6] = {(const uint8_t *)"\0", 1}}};
    const struct made *both[2] = {run[1], run[0]};
    const struct made *join = make_join(&author, both, 2, NULL);
    const struct made *lying = with_payload(run[1], payload_of("{\"z\":1}", 9));
    const struct {
        const char *why;
        const struct made *ops[4];
        int want;
    } cases[] = {
        {"in order", {run[0], run[1], run[2], run[3]}, 0},
        {"from the middle", {run[2], run[3]}, 0},
        {"an op left out", {run[0], run[2]}, ERR_BAD_PREV},
        {"an op twice", {run[1], run[1]}, ERR_BAD_PREV},
        {"backwards", {run[1], run[0]}, ERR_BAD_PREV},
        {"a join inside", {run[1], join}, ERR_BAD_PREV},
        {"a join first", {join, make_next(&author, join, NULL)}, 0},
        {"a first op inside", {run[0], run[0]}, ERR_BAD_PREV},
        {"a seq that jumps", {run[1], make_next(&author, run[1], &seq)}, ERR_BAD_PREV},
        {"an id that stands still", {run[1], make_next(&author, run[1], &same_id)}, ERR_BAD_ID},
        {"an id that goes back", {run[1], make_next(&author, run[1], &small_id)}, ERR_BAD_ID},
        {"another author's node", {run[0], others}, ERR_BAD_ID},
        {"deps not smaller", {run[1], make_next(&author, run[1], &dep)}, ERR_BAD_DEPS},
        {"a bad header inside",
         {run[1], make_next(&author, run[1], &broken_header), run[2]},
         ERR_MALFORMED},
        {"a payload that does not fit", {run[0], lying, run[2]}, ERR_BAD_DIGEST},
        {"the first error counts", {run[0], lying, run[1]}, ERR_BAD_DIGEST},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint32_t count = 0;
        while (count < 4 && cases[i].ops[count] != NULL) {
            count++;
        }
        struct segment segment = {.count = 77};
        assert_err(cases[i].why,
                   segment_decode(segment_of(&author, cases[i].ops, count), room, &segment),
                   cases[i].want);
    }
}

static void frames(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    const struct made *first = make_first(&author, NOW_MS);
    static const struct {
        const char *why;
        uint64_t count;
        uint64_t length; /* Of the first op; 0: as it is. */
        int want;
    } cases[] = {
        {"none", 0, 0, ERR_MALFORMED},
        {"one", 1, 0, 0},
        {"one more than there are", 2, 0, ERR_TRUNCATED},
        {"257", 257, 0, ERR_TOO_LARGE},
        {"65,535", 65535, 0, ERR_TOO_LARGE},
        {"a length past the end", 1, 4096, ERR_TRUNCATED},
        {"a length over every op", 1, LIMIT_OP + 1, ERR_TOO_LARGE},
        {"the greatest length", 1, UINT32_MAX, ERR_TOO_LARGE},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct bytes wire = segment_of_one(&author, first);
        uint8_t *changed = support_alloc(wire.len);
        memcpy(changed, wire.data, wire.len);
        be_put(changed + 32, 2, cases[i].count);
        if (cases[i].length != 0) {
            be_put(changed + 34, 4, cases[i].length);
        }
        struct segment segment;
        assert_err(cases[i].why, segment_decode(bytes_of(changed, wire.len), room, &segment),
                   cases[i].want);
    }
}

static void room_for_ops_and_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint32_t ops, bytes, size;
        bool want;
    } cases[] = {
        {"the first op always", 0, 0, LIMIT_PAYLOAD, true},
        {"the 256th", 255, 0, 1, true},
        {"the 257th", 256, 0, 1, false},
        {"1 MiB", 15, 15 * LIMIT_PAYLOAD, LIMIT_PAYLOAD, true},
        {"1 MiB and a byte", 16, 15 * LIMIT_PAYLOAD + 1, LIMIT_PAYLOAD, false},
        {"1 MiB is full", 16, LIMIT_SEGMENT_PAYLOAD, 1, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_count(cases[i].why, segment_has_room(cases[i].ops, cases[i].bytes, cases[i].size),
                     cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_good_segment, support_teardown),
        cmocka_unit_test_teardown(every_cut_is_found, support_teardown),
        cmocka_unit_test_teardown(each_bad_segment_is_refused_by_name, support_teardown),
        cmocka_unit_test_teardown(frames, support_teardown),
        cmocka_unit_test_teardown(room_for_ops_and_bytes, support_teardown),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
