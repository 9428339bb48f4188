#include "tests/unit/support_many.h"

#include <sodium.h>

#include "base/arena.h"
#include "projections/records.h"

#define AT_ONCE 256u /* Claims with one signature. */
#define IN_COMMIT 4096u

struct many many_new(void)
{
    static struct test_author author;
    support_use_root();
    author = author_of(1);
    struct many many = {
        .store = folds_store_new(support_mesh()), .key = key_of(&author), .now_ms = NOW_MS};
    struct append_item first = {.kind = KIND_DelegateUcan, .payload = payload_first(&author)};
    struct append_result result;
    struct txn *txn = begin_write(many.store);
    assert_ok(append_group(txn, many.key, many.now_ms, &first, 1, &result));
    assert_ok(txn_commit(txn));
    return many;
}

struct bytes many_payload(const char *json, const struct op_id *ids)
{
    static uint32_t salt;
    struct buf text;
    buf_init(&text, SIZE_MAX / 2);
    for (; *json != 0; json++) {
        char id[64];
        if (*json != '@') {
            buf_put(&text, json, 1);
            continue;
        }
        sodium_bin2base64(id, sizeof(id), ids->b, sizeof(ids->b),
                          sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
        buf_put_text(&text, "{\"/\":{\"bytes\":\"");
        buf_put_text(&text, id);
        buf_put_text(&text, "\"}}");
        ids++;
    }
    buf_put(&text, "", 1);
    struct bytes payload = payload_of((const char *)text.data, ++salt);
    buf_free(&text);
    return payload;
}

struct bytes many_erasure(const struct append_result *op)
{
    struct erase_target target = {.id = op->id, .hash = op->hash};
    return payload_erase(&target, 1, (uint32_t)op->seq);
}

int many_append(struct many *many, struct txn *txn, uint32_t kind, struct bytes payload,
                struct append_result *out)
{
    struct append_item item = {.kind = kind, .payload = payload};
    return append_group(txn, many->key, ++many->now_ms, &item, 1, out);
}

struct append_result many_say(struct many *many, uint32_t kind, struct bytes payload)
{
    struct append_result result;
    struct txn *txn = begin_write(many->store);
    assert_ok(many_append(many, txn, kind, payload, &result));
    assert_int_equal(result.verdict.state, VERDICT_APPLIED);
    assert_ok(txn_commit(txn));
    return result;
}

struct op_id many_evidence(struct many *many)
{
    static const char json[] = "{\"source_type\":\"mail\",\"size\":1,\"content\":{\"/\":"
                               "{\"bytes\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}}}";
    return many_say(many, KIND_IngestEvidence, many_payload(json, NULL)).id;
}

/* Claims ---------------------------------------------------------------------------------- */

/* Ids: one record after the other. */
struct supports {
    const struct op_id *ids;
    uint32_t count;
};

static struct bytes claim_on(struct arena *arena, const struct supports *on, uint32_t salt)
{
    struct value fields = value_map();
    struct value supports = value_array();
    arena_reset(arena);
    for (uint32_t i = 0; i < on->count; i++) {
        value_push(arena, &supports, value_bytes(bytes_of(on->ids[i].b, sizeof(on->ids[i].b))));
    }
    value_put(arena, &fields, "text", value_text("claim"));
    value_put(arena, &fields, "supports", supports);
    return payload_of_value(&fields, salt);
}

/* At most AT_ONCE of them. */
static void append_claims(struct many *many, struct txn *txn, const struct supports *on,
                          uint32_t count, struct op_id *ids)
{
    static struct append_item items[AT_ONCE];
    static struct append_result results[AT_ONCE];
    const void *mark = support_mark();
    struct arena arena;
    arena_init(&arena, LIMIT_TREE_BYTES);
    for (uint32_t i = 0; i < count; i++) {
        struct bytes payload = claim_on(&arena, on, (uint32_t)many->now_ms + i);
        items[i] = (struct append_item){.kind = KIND_CreateClaim, .payload = payload};
    }
    arena_free(&arena);
    assert_ok(append_group(txn, many->key, ++many->now_ms, items, count, results));
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = results[i].id;
    }
    support_free_to(mark);
}

static void write_claims(struct many *many, const struct supports *on, uint32_t count, bool deep,
                         struct op_id *ids)
{
    struct txn *txn = begin_write(many->store);
    struct supports supports = *on;
    uint32_t at_once = deep ? 1 : AT_ONCE;
    for (uint32_t done = 0; done < count;) {
        uint32_t now = count - done < at_once ? count - done : at_once;
        append_claims(many, txn, &supports, now, ids + done);
        if (deep) {
            supports.ids = ids + done;
        }
        done += now;
        if (done % IN_COMMIT == 0) {
            assert_ok(txn_commit(txn));
            txn = begin_write(many->store);
        }
    }
    assert_ok(txn_commit(txn));
}

void many_wide(struct many *many, const struct op_id *on, uint32_t count, struct op_id *ids)
{
    write_claims(many, &(struct supports){on, 1}, count, false, ids);
}

void many_deep(struct many *many, const struct op_id *on, uint32_t count, struct op_id *ids)
{
    write_claims(many, &(struct supports){on, 1}, count, true, ids);
}

void many_dense(struct many *many, const struct op_id *on, uint32_t on_count, uint32_t count,
                struct op_id *ids)
{
    write_claims(many, &(struct supports){on, on_count}, count, false, ids);
}

uint32_t many_count(struct txn *txn, uint8_t status)
{
    struct op_id id = {{0}};
    uint32_t count = 0;
    int rv;
    while ((rv = record_next_of(txn, RECORD_CLAIM, status, &id)) == 0) {
        count++;
    }
    assert_err("record_next_of", rv, ERR_UNKNOWN_ID);
    return count;
}
