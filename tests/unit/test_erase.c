/* test_erase.c - What an Erase voids, when it counts, and that erased bytes are gone from the file
 * and do not come back (spec/erasure.md; ATTACKS 7 and 9). */
#include "tests/unit/support_authority.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oplog/compact.h"
#include "oplog/db.h"
#include "oplog/verify.h"

#define DAY_MS 86400000ull
#define GRACE_MS LIMIT_ERASE_GRACE_MS
#define SECRET "Ada was born on 1815-12-10"

/* Scenes -------------------------------------------------------------------------------- */

/* Two authors: one writes, the other erases. */
struct scene {
    struct store *store;
    struct test_author ada;
    struct test_author bob;
    const struct made *ada_first;
    const struct made *bob_first;
};

static struct scene scene_new(void)
{
    struct scene scene = {.store = store_new_for_test(), .ada = author_of(1), .bob = author_of(2)};
    scene.ada_first = make_first(&scene.ada, NOW_MS);
    scene.bob_first = make_first(&scene.bob, NOW_MS);
    assert_ok(offer_op(scene.store, &scene.ada, scene.ada_first));
    assert_ok(offer_op(scene.store, &scene.bob, scene.bob_first));
    return scene;
}

static const struct made *claim_after(const struct scene *scene, const struct made *before,
                                      const char *json)
{
    struct draft draft = {.payload = payload_of(json, 7)};
    return make_next(&scene->ada, before, &draft);
}

static const struct made *erase_after(const struct test_author *author, const struct made *before,
                                      const struct made *const *ops, uint32_t count)
{
    struct erase_target *targets = support_alloc(count * sizeof(*targets));
    for (uint32_t i = 0; i < count; i++) {
        targets[i] = (struct erase_target){.id = ops[i]->id, .hash = ops[i]->hash};
    }
    struct draft draft = {.kind = KIND_Erase, .payload = payload_erase(targets, count, 9)};
    return make_next(author, before, &draft);
}

static void assert_verdict(const struct scene *scene, const struct made *op, const char *want)
{
    assert_text("verdict", verdict_of(scene->store, op), want);
}

static enum payload_state payload_state_of(struct store *store, const struct made *op)
{
    struct txn *txn = begin_read(store);
    struct place place;
    struct row row;
    assert_ok(order_get(txn, &op->id, &op->hash, &place));
    assert_ok(log_row(txn, place.n, &row));
    enum payload_state state = row.payload_state;
    txn_abort(txn);
    return state;
}

/* How often do these bytes stand in the file, wherever? */
static unsigned found_in_file(struct store *store, struct bytes what)
{
    const char *path = support_path(store_dir(store), "data.mdb");
    int fd = open(path, O_RDONLY);
    struct stat st;
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    uint8_t *all = malloc((size_t)st.st_size);
    assert_non_null(all);
    for (off_t at = 0; at < st.st_size;) {
        ssize_t got = pread(fd, all + at, (size_t)(st.st_size - at), at);
        assert_true(got > 0);
        at += got;
    }
    close(fd);
    unsigned found = 0;
    const uint8_t *from = all;
    const uint8_t *end = all + st.st_size;
    while ((from = memmem(from, (size_t)(end - from), what.data, what.len)) != NULL) {
        found++;
        from++;
    }
    free(all);
    return found;
}

static struct compact_result compact(struct store *store, uint64_t now_ms, bool final)
{
    struct compact_result result;
    assert_ok(compact_store(store, now_ms, final, &result));
    assert_clean(store);
    return result;
}

/* Verdicts ------------------------------------------------------------------------------ */

static void an_erase_voids_what_it_names(void **state)
{
    (void)state;
    struct scene scene = scene_new();
    const struct made *op = claim_after(&scene, scene.ada_first, "{\"text\":\"a\"}");
    const struct made *other = claim_after(&scene, op, "{\"text\":\"b\"}");
    const struct made *erase = erase_after(&scene.bob, scene.bob_first, &op, 1);
    assert_ok(offer_op(scene.store, &scene.ada, op));
    assert_ok(offer_op(scene.store, &scene.ada, other));
    assert_verdict(&scene, op, "applied");
    assert_ok(offer_op(scene.store, &scene.bob, erase));
    assert_verdict(&scene, erase, "applied");
    assert_verdict(&scene, op, "void erased");
    assert_verdict(&scene, other, "applied");
}

static void an_op_that_comes_after_its_erase_is_void_at_once(void **state)
{
    (void)state;
    struct scene scene = scene_new();
    const struct made *op = claim_after(&scene, scene.ada_first, "{\"text\":\"a\"}");
    assert_ok(offer_op(scene.store, &scene.bob, erase_after(&scene.bob, scene.bob_first, &op, 1)));
    assert_ok(offer_op(scene.store, &scene.ada, op));
    assert_verdict(&scene, op, "void erased");
}

static void control_ops_and_other_hashes_are_not_erased(void **state)
{
    (void)state;
    struct scene scene = scene_new();
    struct draft again = {.payload = payload_of("{\"text\":\"a\"}", 7), .sign = SIGN_AGAIN};
    const struct made *op = claim_after(&scene, scene.ada_first, "{\"text\":\"a\"}");
    const struct made *twin = make_next(&scene.ada, scene.ada_first, &again);
    const struct made *named[] = {op, scene.ada_first};
    assert_ok(offer_op(scene.store, &scene.ada, op));
    assert_ok(offer_op(scene.store, &scene.ada, twin));
    assert_ok(
        offer_op(scene.store, &scene.bob, erase_after(&scene.bob, scene.bob_first, named, 2)));
    assert_verdict(&scene, op, "void erased");
    assert_verdict(&scene, twin, "void twin");
    assert_verdict(&scene, scene.ada_first, "applied");
    (void)compact(scene.store, NOW_MS, true);
    assert_int_equal(payload_state_of(scene.store, scene.ada_first), PAYLOAD_FULL);
    assert_int_equal(payload_state_of(scene.store, twin), PAYLOAD_FULL);
    assert_int_equal(payload_state_of(scene.store, op), PAYLOAD_REDACTED);
}

static void an_erase_of_another_shape_erases_nothing(void **state)
{
    (void)state;
#define B16 "{\"/\":{\"bytes\":\"AAAAAAAAAAAAAAAAAAAAAA\"}}"
#define B32 "{\"/\":{\"bytes\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}}"
    static const struct {
        const char *json;
        const char *want;
    } cases[] = {
        {"{}", "rejected schema"},
        {"{\"record\":" B16 "}", "rejected schema"},
        {"{\"ops\":[{\"id\":" B16 ",\"hash\":" B32 "}]}", "rejected schema"},
        {"{\"ops\":[],\"record\":" B16 "}", "rejected schema"},
        {"{\"ops\":{},\"record\":" B16 "}", "rejected schema"},
        {"{\"ops\":[{\"id\":" B16 "}],\"record\":" B16 "}", "rejected schema"},
        {"{\"ops\":[{\"id\":" B32 ",\"hash\":" B32 "}],\"record\":" B16 "}", "rejected schema"},
        {"{\"ops\":[{\"id\":" B16 ",\"hash\":" B16 "}],\"record\":" B16 "}", "rejected schema"},
        {"{\"ops\":[{\"id\":\"x\",\"hash\":" B32 "}],\"record\":" B16 "}", "rejected schema"},
        {"{\"ops\":[{\"id\":" B16 ",\"hash\":" B32 "}],\"record\":\"x\"}", "rejected schema"},
        {"{\"ops\":[{\"id\":" B16 ",\"hash\":" B32 ",\"x\":1}],\"record\":" B16 "}",
         "rejected schema"},
        {"{\"ops\":[{\"id\":" B16 ",\"hash\":" B32 "}],\"record\":" B16 ",\"z\":1}", "applied"},
    };
    struct scene scene = scene_new();
    const struct made *before = scene.bob_first;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct draft draft = {.kind = KIND_Erase, .payload = payload_of(cases[i].json, 3)};
        before = make_next(&scene.bob, before, &draft);
        assert_ok(offer_op(scene.store, &scene.bob, before));
        assert_text(cases[i].json, verdict_of(scene.store, before), cases[i].want);
    }
}

/* Revoked ------------------------------------------------------------------------------- */

enum { ADA = 1, BOB, CAM };

/* Ada writes; Bob's device is stolen and erases what she wrote, dated back by a fork. */
struct theft {
    struct world *world;
    struct store *store;
    uint32_t first_token; /* Bob's. */
    uint32_t op;
    uint32_t bob_next;
    uint32_t erase;
};

static void arrives(const struct theft *theft, uint32_t op)
{
    const struct world_op *made = &theft->world->op[op];
    assert_ok(offer_op(theft->store, &theft->world->key[made->by], made->made));
}

static uint32_t writes(struct theft *theft, struct world_op op)
{
    uint32_t number = op_add(theft->world, &op);
    arrives(theft, number);
    return number;
}

static uint32_t admits(struct theft *theft, uint32_t by, uint32_t key)
{
    uint32_t token = token_add(theft->world, &(struct world_token){.from = ROOT, .to = key});
    (void)writes(theft,
                 (struct world_op){
                     .by = by, .kind = KIND_DelegateUcan, .tokens = {token}, .token_count = 1});
    return token;
}

/* The root takes a token away, but for what came before an op. */
static void revokes(struct theft *theft, uint32_t token, uint32_t kept)
{
    (void)writes(theft, (struct world_op){.by = ADA,
                                          .kind = KIND_RevokeUcan,
                                          .revokes = token,
                                          .word = WORD_OF_ROOT,
                                          .cut = {kept},
                                          .cut_count = 1});
}

static uint32_t erases(struct theft *theft, uint32_t by, uint32_t op, const uint32_t *after)
{
    struct world_op erase = {.by = by, .kind = KIND_Erase, .targets = {op}, .target_count = 1};
    if (after != NULL) {
        erase.after[0] = *after;
        erase.after_count = 1;
    }
    return writes(theft, erase);
}

static struct theft theft_new(const char *json)
{
    struct theft theft = {.world = world_new(4), .store = judging_store()};
    (void)admits(&theft, ADA, ADA);
    theft.first_token = admits(&theft, BOB, BOB);
    uint32_t bob_first = theft.world->ops - 1;
    theft.op = writes(
        &theft,
        (struct world_op){.by = ADA, .kind = KIND_CreateClaim, .payload = payload_of(json, 7)});
    theft.bob_next = writes(&theft,
                            (struct world_op){.by = BOB, .kind = KIND_CreateClaim, .at_ms = 1000});
    theft.erase = erases(&theft, BOB, theft.op, &bob_first);
    return theft;
}

static void assert_world(const struct theft *theft, uint32_t op, const char *want)
{
    assert_text("verdict", world_verdict(theft->world, theft->store, op), want);
}

/* ATTACKS 9: a stolen device erases, also backdated by a fork, and is revoked. */
static void an_erase_that_is_revoked_undoes_itself(void **state)
{
    (void)state;
    struct theft theft = theft_new("{\"text\":\"" SECRET "\"}");
    assert_world(&theft, theft.erase, "applied");
    assert_world(&theft, theft.op, "void erased");
    assert_count("waiting", compact(theft.store, NOW_MS + DAY_MS, false).waiting, 1);
    revokes(&theft, theft.first_token, theft.bob_next);
    assert_world(&theft, theft.bob_next, "applied");
    assert_world(&theft, theft.erase, "void revoked");
    assert_world(&theft, theft.op, "applied");
    assert_count("erased", compact(theft.store, NOW_MS + 100 * DAY_MS, true).erased, 0);
    assert_int_equal(payload_state_of(theft.store, theft.world->op[theft.op].made), PAYLOAD_FULL);
    /* Bob is admitted anew, and with him all that he wrote. */
    uint32_t again = admits(&theft, BOB, BOB);
    assert_world(&theft, theft.erase, "applied");
    assert_world(&theft, theft.op, "void erased");
    /* Another Erase holds it when the first does not count. */
    uint32_t cams_token = admits(&theft, CAM, CAM);
    uint32_t cam_first = theft.world->ops - 1;
    uint32_t second = erases(&theft, CAM, theft.op, NULL);
    revokes(&theft, again, theft.bob_next);
    assert_world(&theft, theft.erase, "void revoked");
    assert_world(&theft, theft.op, "void erased");
    revokes(&theft, cams_token, cam_first);
    assert_world(&theft, second, "void revoked");
    assert_world(&theft, theft.op, "applied");
    assert_clean(theft.store);
}

static void erased_bytes_come_back_only_when_nobody_erases(void **state)
{
    (void)state;
    struct theft theft = theft_new("{\"text\":\"" SECRET "\",\"geo\":[1]}");
    const struct made *op = theft.world->op[theft.op].made;
    const struct test_author *ada = &theft.world->key[ADA];
    assert_count("erased", compact(theft.store, NOW_MS, true).erased, 1);
    assert_count("again", compact(theft.store, NOW_MS, true).erased, 0);
    /* The same op, whole and in part. */
    assert_ok(offer_op(theft.store, ada, op));
    assert_ok(offer_op(theft.store, ada, with_payload(op, payload_redact(op->payload, 2))));
    assert_int_equal(payload_state_of(theft.store, op), PAYLOAD_REDACTED);
    assert_count("in the file", found_in_file(theft.store, bytes_of_text(SECRET)), 0);
    assert_world(&theft, theft.op, "void erased");
    revokes(&theft, theft.first_token, theft.bob_next);
    assert_world(&theft, theft.op, "pending payload_absent");
    assert_ok(offer_op(theft.store, ada, op));
    assert_int_equal(payload_state_of(theft.store, op), PAYLOAD_FULL);
    assert_world(&theft, theft.op, "applied");
}

/* Bytes --------------------------------------------------------------------------------- */

static void bytes_stay_for_the_grace_and_not_longer(void **state)
{
    (void)state;
    struct scene scene = scene_new();
    const struct made *op = claim_after(&scene, scene.ada_first, "{\"text\":\"" SECRET "\"}");
    const struct made *erase = erase_after(&scene.bob, scene.bob_first, &op, 1);
    assert_ok(offer_op(scene.store, &scene.ada, op));
    struct bytes wire = segment_of_one(&scene.bob, erase);
    assert_ok(offer(scene.store, wire, NOW_MS + 5000, NULL));
    struct compact_result result = compact(scene.store, NOW_MS + 5000 + GRACE_MS - 1, false);
    assert_count("erased", result.erased, 0);
    assert_count("waiting", result.waiting, 1);
    assert_count("due", result.due_ms, NOW_MS + 5000 + GRACE_MS);
    assert_count("a clock set back", compact(scene.store, 1000, false).erased, 0);
    assert_true(found_in_file(scene.store, bytes_of_text(SECRET)) > 0);
    result = compact(scene.store, NOW_MS + 5000 + GRACE_MS, false);
    assert_count("erased", result.erased, 1);
    assert_count("waiting", result.waiting, 0);
    assert_count("due", result.due_ms, 0);
    assert_false(result.busy);
    assert_count("in the file", found_in_file(scene.store, bytes_of_text(SECRET)), 0);
    assert_verdict(&scene, op, "void erased");
}

/* ATTACKS 7: what is left is the hash of what held a salt, and the salt is gone too. */
static void the_salt_goes_with_the_section(void **state)
{
    (void)state;
    struct scene scene = scene_new();
    const struct made *op = claim_after(&scene, scene.ada_first,
                                        "{\"text\":\"" SECRET "\",\"geo\":[1]}");
    struct bytes salt = bytes_of(op->payload.data + 5, PAYLOAD_SALT);
    assert_int_equal(op->payload.data[3], 0xc4);
    assert_ok(offer_op(scene.store, &scene.ada, op));
    assert_ok(offer_op(scene.store, &scene.bob, erase_after(&scene.bob, scene.bob_first, &op, 1)));
    assert_true(found_in_file(scene.store, salt) > 0);
    (void)compact(scene.store, NOW_MS, true);
    assert_count("salt", found_in_file(scene.store, salt), 0);
}

static void a_payload_without_sections_goes_whole(void **state)
{
    (void)state;
    struct scene scene = scene_new();
    struct bytes text = bytes_of_text(SECRET);
    struct draft draft = {.payload = text};
    const struct made *op = make_next(&scene.ada, scene.ada_first, &draft);
    assert_ok(offer_op(scene.store, &scene.ada, op));
    assert_ok(offer_op(scene.store, &scene.bob, erase_after(&scene.bob, scene.bob_first, &op, 1)));
    assert_count("erased", compact(scene.store, NOW_MS, true).erased, 1);
    assert_int_equal(payload_state_of(scene.store, op), PAYLOAD_ABSENT);
    assert_count("in the file", found_in_file(scene.store, text), 0);
}

#define MANY 600u

/* A payload of some size with the secret in it. */
static struct bytes secret_payload(size_t filling)
{
    struct buf json;
    buf_init(&json, SIZE_MAX);
    buf_put_text(&json, "{\"text\":\"");
    for (size_t i = 0; i < filling; i++) {
        buf_put_byte(&json, (uint8_t)('a' + i % 26));
    }
    buf_put_text(&json, SECRET "\"}");
    buf_put(&json, "", 1);
    struct bytes payload = payload_of((const char *)json.data, 11);
    buf_free(&json);
    return payload;
}

/* Many ops in long segments, small and large; some of them are erased, rows are moved about by
 * what comes later. The file, the order and another store that gets it all are looked at. */
static void erased_bytes_are_gone_from_a_busy_file(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 40, 900, 1800, 3900, 9000, 60000};
    static const struct made *ops[MANY];
    static const struct made *erased[MANY];
    uint32_t erased_count = 0;
    struct scene scene = scene_new();
    struct rng rng = rng_from(5);
    const struct made *before = scene.ada_first;
    for (uint32_t i = 0; i < MANY; i++) {
        bool secret = rng_chance(&rng, 30);
        struct draft draft = {
            .payload = secret ? secret_payload(sizes[rng_below(&rng, COUNT_OF(sizes))])
                              : payload_sized(60 + rng_below(&rng, 3000), i),
            .sign = i % 8 == 7 ? SIGN_GOOD : SIGN_NONE};
        before = ops[i] = make_next(&scene.ada, before, &draft);
        if (secret) {
            erased[erased_count++] = ops[i];
        }
    }
    for (uint32_t i = 0; i < MANY; i += 8) {
        assert_ok(offer_ops(scene.store, &scene.ada, ops + i, 8));
    }
    const struct made *bob = scene.bob_first;
    for (uint32_t i = 0; i < erased_count; i += 10) {
        uint32_t count = erased_count - i < 10 ? erased_count - i : 10;
        bob = erase_after(&scene.bob, bob, erased + i, count);
        assert_ok(offer_op(scene.store, &scene.bob, bob));
    }
    assert_true(found_in_file(scene.store, bytes_of_text(SECRET)) >= erased_count);
    struct bytes before_dump = store_dump(scene.store);
    struct compact_result result = compact(scene.store, NOW_MS + GRACE_MS, false);
    assert_count("erased", result.erased, erased_count);
    assert_true(result.bytes_after < result.bytes_before);
    assert_count("in the file", found_in_file(scene.store, bytes_of_text(SECRET)), 0);
    assert_same_text(before_dump, store_dump(scene.store), "compacted");
    print_message("%u erased, %llu bytes, before %llu\n", erased_count,
                  (unsigned long long)result.bytes_after, (unsigned long long)result.bytes_before);
    /* It goes on, and passes on stubs. */
    struct draft next = {.payload = payload_sized(2000, 1)};
    before = make_next(&scene.ada, before, &next);
    assert_ok(offer_op(scene.store, &scene.ada, before));
    assert_clean(scene.store);
    struct store *copy = store_new_for_test();
    relay(scene.store, copy);
    assert_same_stores(scene.store, copy, "relayed");
    assert_clean(copy);
    assert_count("in the copy", found_in_file(copy, bytes_of_text(SECRET)), 0);
    assert_int_equal(payload_state_of(copy, erased[0]), PAYLOAD_REDACTED);
}

/* A reader of the state before: it reads on unharmed, and is told of. */
static void a_reader_keeps_what_it_reads(void **state)
{
    (void)state;
    struct scene scene = scene_new();
    const struct made *before = scene.ada_first;
    struct draft draft = {.payload = secret_payload(9000)};
    const struct made *op = before = make_next(&scene.ada, before, &draft);
    assert_ok(offer_op(scene.store, &scene.ada, op));
    assert_ok(offer_op(scene.store, &scene.bob, erase_after(&scene.bob, scene.bob_first, &op, 1)));
    int to_reader[2];
    int from_reader[2];
    assert_int_equal(pipe(to_reader), 0);
    assert_int_equal(pipe(from_reader), 0);
    char *dir = strdup(store_dir(scene.store));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) { /* Another program. */
        struct store *store;
        struct txn *txn;
        struct place place;
        struct row row;
        char go = 'r';
        alarm(60);
        close(to_reader[1]);
        bool good = store_open(dir, STORE_READ, &store) == 0 && txn_begin_read(store, &txn) == 0 &&
                    write(from_reader[1], &go, 1) == 1 && read(to_reader[0], &go, 1) == 1 &&
                    order_get(txn, &op->id, &op->hash, &place) == 0 &&
                    log_row(txn, place.n, &row) == 0 && row.payload_state == PAYLOAD_FULL &&
                    memmem(row.op.raw.data, row.op.raw.len, SECRET, strlen(SECRET)) != NULL;
        _exit(good ? 0 : 1);
    }
    free(dir);
    char go;
    assert_int_equal(read(from_reader[0], &go, 1), 1);
    struct compact_result result;
    assert_ok(compact_store(scene.store, NOW_MS, true, &result));
    assert_true(result.busy);
    assert_count("erased", result.erased, 1);
    assert_int_equal(write(to_reader[1], &go, 1), 1);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    result = compact(scene.store, NOW_MS, true);
    assert_false(result.busy);
    assert_count("in the file", found_in_file(scene.store, bytes_of_text(SECRET)), 0);
    for (int i = 0; i < 2; i++) {
        close(to_reader[i]);
        close(from_reader[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(an_erase_voids_what_it_names, support_teardown),
        cmocka_unit_test_teardown(an_op_that_comes_after_its_erase_is_void_at_once,
                                  support_teardown),
        cmocka_unit_test_teardown(control_ops_and_other_hashes_are_not_erased, support_teardown),
        cmocka_unit_test_teardown(an_erase_of_another_shape_erases_nothing, support_teardown),
        cmocka_unit_test_teardown(an_erase_that_is_revoked_undoes_itself, support_teardown),
        cmocka_unit_test_teardown(erased_bytes_come_back_only_when_nobody_erases, support_teardown),
        cmocka_unit_test_teardown(bytes_stay_for_the_grace_and_not_longer, support_teardown),
        cmocka_unit_test_teardown(the_salt_goes_with_the_section, support_teardown),
        cmocka_unit_test_teardown(a_payload_without_sections_goes_whole, support_teardown),
        cmocka_unit_test_teardown(erased_bytes_are_gone_from_a_busy_file, support_teardown),
        cmocka_unit_test_teardown(a_reader_keeps_what_it_reads, support_teardown),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
