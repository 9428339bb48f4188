/* test_fold_readers.c - Nobody who reads sees half a cascade: while 100,000 claims fall and rise in
 * one commit after another, readers look all the time, and find all of them fallen or none, by
 * every way of looking. */
#include "tests/unit/support_many.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "fsm/claim.h"
#include "oplog/db.h"
#include "projections/records.h"

#ifndef CLAIMS
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define CLAIMS 10000u
#else
#define CLAIMS 100000u
#endif
#endif
#define DEEP (CLAIMS / 50) /* Of them, each on the one before. */
#define READERS 3u
#define SAMPLES 200u /* Claims that a quick look takes in, anywhere. */
#define QUICK 20u    /* Quick looks for each thorough one. */
#define COMMITS 16u

/* What the store came to by one commit. */
struct moment {
    struct tally tally;
    bool fallen; /* All of them, or none. */
};

struct scene {
    struct many many;
    struct op_id evidence;
    struct op_id first; /* The claim on it that bears all others. */
    struct op_id *ids;  /* Of the others. */
    struct moment moments[COMMITS];
    uint32_t moment_count;
    atomic_bool ended;
};

/* What one look has found. */
struct look {
    struct tally tally;
    bool fallen;
};

struct reader_thread {
    pthread_t thread;
    struct scene *scene;
    struct rng rng;
    struct buf looks;  /* struct look, wherever it is another than before. */
    uint32_t count;    /* Of all looks. */
    const char *wrong; /* What was wrong in one, NULL: nothing. */
    struct op_id wrong_id;
};

/* One look --------------------------------------------------------------------------------- */

/* A claim has fallen with all others, or stands as it was made. */
static const char *check_entry(const struct op_id *id, const struct entry *entry,
                               const struct op_id *since, bool fallen)
{
    if (fallen) {
        return entry->state.status != CLAIM_STALE           ? "one stands, others have fallen"
               : (entry->state.flags & STATE_CASCADED) == 0 ? "one fell by itself"
               : op_id_compare(&entry->at, since) != 0      ? "one fell by another op"
                                                            : NULL;
    }
    return entry->state.status != CLAIM_CLAIM   ? "one has fallen, others stand"
           : op_id_compare(&entry->at, id) != 0 ? "one was changed"
                                                : NULL;
}

/* The history tells the same: that it was made, and nothing else or that it fell. */
static const char *check_history(struct txn *txn, const struct op_id *id, bool fallen)
{
    struct op_id none = {{0}};
    struct entry entry;
    struct entry next;
    int rv = record_after(txn, id, &none, &entry);
    if (rv != 0 || op_id_compare(&entry.at, id) != 0 || entry.state.status != CLAIM_CLAIM) {
        return "a history does not begin with the claim";
    }
    rv = record_after(txn, id, &entry.at, &next);
    return rv == (fallen ? 0 : ERR_UNKNOWN_ID) ? NULL : "a history has another length";
}

static const char *check_some(struct reader_thread *reader, struct txn *txn,
                              const struct op_id *since, bool fallen)
{
    const char *wrong = NULL;
    for (uint32_t i = 0; i < SAMPLES && wrong == NULL; i++) {
        struct entry entry;
        const struct op_id *id = &reader->scene->ids[rng_below(&reader->rng, CLAIMS)];
        int rv = record_now(txn, id, &entry);
        wrong = rv != 0 ? "a claim is gone" : check_entry(id, &entry, since, fallen);
        wrong = wrong != NULL ? wrong : check_history(txn, id, fallen);
        reader->wrong_id = *id;
    }
    return wrong;
}

/* All of them: the index by status, and what the records come to. */
static const char *check_all(struct txn *txn, const struct tally *tally, bool fallen)
{
    struct op_id id = {{0}};
    struct op_id at = {{0}};
    struct entry entry;
    struct digest digest = {{0}};
    uint64_t records = 0;
    uint32_t with_status = 0;
    while (record_next_of(txn, RECORD_CLAIM, fallen ? CLAIM_STALE : CLAIM_CLAIM, &at) == 0) {
        with_status++;
    }
    while (record_next(txn, &id, &entry) == 0) {
        digest_add(&digest, &id, &entry.at, &entry.state);
        records++;
    }
    return with_status < CLAIMS || with_status > CLAIMS + 1 ? "the statuses tell of some"
           : records != tally->records                      ? "there are more records, or fewer"
           : memcmp(&digest, &tally->digest, sizeof(digest)) != 0
               ? "the records do not come to the digest"
               : NULL;
}

/* The last claim tells what is expected of all. */
static const char *take_look(struct reader_thread *reader, struct txn *txn, bool thorough,
                             struct look *look)
{
    struct entry last;
    int rv = tally_get(txn, &look->tally);
    if (rv == 0) {
        rv = record_now(txn, &reader->scene->ids[CLAIMS - 1], &last);
    }
    if (rv != 0) {
        return "what should be there is not";
    }
    look->fallen = last.state.status == CLAIM_STALE;
    const char *wrong = check_some(reader, txn, &last.at, look->fallen);
    return wrong != NULL || !thorough ? wrong : check_all(txn, &look->tally, look->fallen);
}

/* Readers ---------------------------------------------------------------------------------- */

static void keep_look(struct reader_thread *reader, const struct look *look)
{
    struct look last;
    if (reader->looks.len > 0) {
        memcpy(&last, reader->looks.data + reader->looks.len - sizeof(last), sizeof(last));
        if (memcmp(&last.tally, &look->tally, sizeof(last.tally)) == 0) {
            return;
        }
    }
    buf_put(&reader->looks, look, sizeof(*look));
}

static void *keep_looking(void *ctx)
{
    struct reader_thread *reader = ctx;
    while (!atomic_load(&reader->scene->ended) && reader->wrong == NULL) {
        struct look look = {.fallen = false};
        struct txn *txn;
        if (txn_begin_read(reader->scene->many.store, &txn) != 0) {
            reader->wrong = "no transaction";
            break;
        }
        reader->wrong = take_look(reader, txn, reader->count % QUICK == 0, &look);
        txn_abort(txn);
        keep_look(reader, &look);
        reader->count++;
    }
    return NULL;
}

/* Each look is at what one of the commits has left, and never at an earlier one than before. */
static void check_looks(const struct scene *scene, const struct reader_thread *reader)
{
    uint32_t at = 0;
    if (reader->wrong != NULL) {
        char id[OP_ID_TEXT];
        op_id_text(&reader->wrong_id, id);
        fail_msg("look %u: %s (%s)", reader->count, reader->wrong, id);
    }
    for (size_t i = 0; i < reader->looks.len; i += sizeof(struct look)) {
        struct look look;
        memcpy(&look, reader->looks.data + i, sizeof(look));
        while (at < scene->moment_count &&
               memcmp(&scene->moments[at].tally, &look.tally, sizeof(look.tally)) != 0) {
            at++;
        }
        if (at == scene->moment_count) {
            fail_msg("look %zu: no commit has left that", i / sizeof(look));
        }
        assert_int_equal(look.fallen, scene->moments[at].fallen);
    }
}

/* The writer ------------------------------------------------------------------------------- */

static void note_moment(struct scene *scene, bool fallen)
{
    struct moment *moment = &scene->moments[scene->moment_count++];
    struct txn *txn = begin_read(scene->many.store);
    assert_true(scene->moment_count <= COMMITS);
    moment->fallen = fallen;
    assert_ok(tally_get(txn, &moment->tally));
    txn_abort(txn);
}

static struct append_result change(struct scene *scene, uint32_t kind, struct bytes payload,
                                   bool fallen)
{
    struct append_result result = many_say(&scene->many, kind, payload);
    note_moment(scene, fallen);
    return result;
}

static struct append_result assert_first(struct scene *scene, const char *what, bool fallen)
{
    char json[64];
    (void)snprintf(json, sizeof(json), "{\"about\":@,\"assert\":\"%s\"}", what);
    return change(scene, KIND_UserAssert, many_payload(json, &scene->first), fallen);
}

/* They fall with the claim that bears them, and rise when that is taken back; they stay down when
 * it alone comes back; they fall with the evidence. */
static void let_fall_and_rise(struct scene *scene)
{
    struct append_result reject = assert_first(scene, "reject", true);
    struct append_result confirm = assert_first(scene, "confirm", true);
    (void)change(scene, KIND_Erase, many_erasure(&reject), false);
    (void)change(scene, KIND_Erase, many_erasure(&confirm), false);
    struct append_result gone = change(scene, KIND_TombstoneEvidence,
                                       many_payload("{\"evidence\":@}", &scene->evidence), true);
    (void)change(scene, KIND_Erase, many_erasure(&gone), false);
    (void)assert_first(scene, "reject", true);
}

static struct scene scene_new(void)
{
    struct scene scene = {.many = many_new()};
    scene.evidence = many_evidence(&scene.many);
    many_wide(&scene.many, &scene.evidence, 1, &scene.first);
    scene.ids = support_alloc(CLAIMS * sizeof(*scene.ids));
    many_wide(&scene.many, &scene.first, CLAIMS - DEEP, scene.ids);
    many_deep(&scene.many, &scene.ids[0], DEEP, scene.ids + CLAIMS - DEEP);
    note_moment(&scene, false);
    return scene;
}

static void nobody_sees_half_a_cascade(void **state)
{
    (void)state;
    static struct reader_thread readers[READERS];
    static struct scene scene;
    scene = scene_new();
    for (uint32_t i = 0; i < READERS; i++) {
        readers[i] = (struct reader_thread){.scene = &scene, .rng = rng_from(i)};
        buf_init(&readers[i].looks, SIZE_MAX / 2);
        assert_int_equal(pthread_create(&readers[i].thread, NULL, keep_looking, &readers[i]), 0);
    }
    let_fall_and_rise(&scene);
    atomic_store(&scene.ended, true);
    for (uint32_t i = 0; i < READERS; i++) {
        assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
    }
    for (uint32_t i = 0; i < READERS; i++) {
        check_looks(&scene, &readers[i]);
        print_message("reader %u: %u looks, %zu of %u moments seen\n", i, readers[i].count,
                      readers[i].looks.len / sizeof(struct look), scene.moment_count);
        assert_true(readers[i].looks.len > sizeof(struct look)); /* Else it has shown nothing. */
        buf_free(&readers[i].looks);
    }
    assert_folds_are_a_rebuild(scene.many.store, "in the end");
}

/* A full map ----------------------------------------------------------------------------- */

#define IN_FULL 20000u
#define ROOM MIB(1) /* The claims take more when they fall. */

static struct op_hash sum_of(struct store *store)
{
    struct txn *txn = begin_read(store);
    struct op_hash sum = folds_sum(txn);
    txn_abort(txn);
    return sum;
}

/* No room but this in the store's map, as long as the transaction lasts. */
static struct txn *fill_map(struct store *store)
{
    MDB_envinfo info;
    assert_int_equal(mdb_env_info(store->env, &info), 0);
    uint64_t used = ((uint64_t)info.me_last_pgno + 1) * 4096;
    assert_int_equal(mdb_env_set_mapsize(store->env, used + ROOM), 0);
    return begin_read(store);
}

/* The cascade does not fit: nothing of it is there. The same op finds room. */
static void a_cascade_in_a_full_map(void **state)
{
    (void)state;
    struct many many = many_new();
    struct op_id evidence = many_evidence(&many);
    struct op_id *ids = support_alloc(IN_FULL * sizeof(*ids));
    struct bytes payload = many_payload("{\"evidence\":@}", &evidence);
    many_wide(&many, &evidence, IN_FULL, ids);
    struct op_hash before = sum_of(many.store);
    struct txn *reader = fill_map(many.store);
    struct txn *txn = begin_write(many.store);
    struct append_result result;
    assert_err("full", many_append(&many, txn, KIND_TombstoneEvidence, payload, &result),
               ERR_MAP_FULL);
    txn_abort(txn);
    txn_abort(reader);
    struct op_hash after = sum_of(many.store);
    assert_true(op_hash_equal(&before, &after));
    (void)many_say(&many, KIND_TombstoneEvidence, payload);
    txn = begin_read(many.store);
    assert_count("fallen", many_count(txn, CLAIM_STALE), IN_FULL);
    txn_abort(txn);
    assert_folds_are_a_rebuild(many.store, "in a map that has grown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_cascade_in_a_full_map, support_teardown),
        cmocka_unit_test_teardown(nobody_sees_half_a_cascade, support_teardown),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
