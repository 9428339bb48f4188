#include "node/deed.h"

#include <assert.h>

#include "base/limits.h"
#include "node/draft.h"
#include "node/refusal.h"
#include "oplog/keyed.h"
#include "oplog/payload.h"

struct doing {
    struct writer *writer;
    uint64_t now_ms;
    struct deed *deeds;
    uint32_t count;
    struct append_item items[DEEDS_MAX];
    struct append_result results[DEEDS_MAX];
    struct changes *changes;
};

static int encode(struct call *call, struct deed *deed, struct salt_source *salts, struct buf *out)
{
    int rv = arena_error(call->arena); /* Then something of it is missing. */
    if (rv != 0) {
        return call_fail_tree(call, rv);
    }
    rv = draft_check(call, deed->kind, &deed->fields);
    if (rv != 0) {
        return rv;
    }
    rv = payload_encode(&deed->fields, salts, out);
    return rv == 0 ? 0 : call_fail(call, rv, "The op cannot be made: %s", err_sentence(rv));
}

static int encode_all(struct call *call, struct doing *doing, struct buf *payloads)
{
    struct salt_source salts = {.left = 0};
    size_t ends[DEEDS_MAX];
    int rv = 0;
    for (uint32_t i = 0; rv == 0 && i < doing->count; i++) {
        rv = encode(call, &doing->deeds[i], &salts, payloads);
        ends[i] = payloads->len;
    }
    for (uint32_t i = 0; rv == 0 && i < doing->count; i++) {
        size_t start = i == 0 ? 0 : ends[i - 1];
        doing->items[i] = (struct append_item){
            .kind = doing->deeds[i].kind,
            .dep_count = doing->deeds[i].dep_count,
            .deps = doing->deeds[i].deps,
            .payload = bytes_of(payloads->data + start, ends[i] - start)};
    }
    return rv;
}

static const struct verdict *first_refusal(const struct doing *doing)
{
    for (uint32_t i = 0; i < doing->count; i++) {
        if (!doing->deeds[i].tried && verdict_refuses(&doing->results[i].verdict)) {
            return &doing->results[i].verdict;
        }
    }
    return NULL;
}

static int do_all(void *ctx, struct txn *txn)
{
    struct doing *doing = ctx;
    if (doing->changes != NULL) {
        changes_watch(doing->changes, txn);
    }
    int rv = append_group(txn, doing->writer->node, doing->now_ms, doing->items, doing->count,
                          doing->results);
    int ended = doing->changes != NULL ? changes_end(doing->changes, txn) : 0;
    rv = rv != 0 ? rv : ended;
    return rv == 0 && first_refusal(doing) != NULL ? ERR_REFUSED : rv;
}

static int try_all(struct call *call, struct doing *doing)
{
    int rv = writer_try(call, doing->writer, doing->now_ms, doing->items, doing->count,
                        doing->results);
    return rv == 0 && first_refusal(doing) != NULL ? ERR_REFUSED : rv;
}

/* Try them, and do them if they are to be kept. */
static int try_and_do(struct call *call, struct doing *doing, bool keep)
{
    struct buf payloads;
    assert(doing->count >= 1 && doing->count <= DEEDS_MAX);
    buf_init(&payloads, DEEDS_MAX * LIMIT_PAYLOAD);
    int rv = encode_all(call, doing, &payloads);
    if (rv == 0) {
        rv = try_all(call, doing);
    }
    if (rv == 0 && keep) {
        rv = writer_do(call, doing->writer, doing->now_ms, true, do_all, doing);
    }
    buf_free(&payloads);
    for (uint32_t i = 0; rv == 0 && i < doing->count; i++) {
        doing->deeds[i].result = doing->results[i];
    }
    return rv == ERR_REFUSED ? call_refuse(call, first_refusal(doing)) : rv;
}

int deeds_try(struct call *call, struct writer *writer, uint64_t now_ms, struct deed *deeds,
              uint32_t count)
{
    struct doing doing = {.writer = writer, .now_ms = now_ms, .deeds = deeds, .count = count};
    return try_and_do(call, &doing, false);
}

int deeds_do(struct call *call, struct writer *writer, uint64_t now_ms, struct deed *deeds,
             uint32_t count, struct changes *changes)
{
    struct doing doing = {
        .writer = writer, .now_ms = now_ms, .deeds = deeds, .count = count, .changes = changes};
    int rv = try_and_do(call, &doing, true);
    if (rv == 0) {
        call->unreported = (struct unreported){
            .count = count, .first = deeds[0].result.id, .last = deeds[count - 1].result.id};
    }
    return rv;
}

int deed_keyed(struct call *call, struct deed *deed, bool *keyed, struct op_id *id)
{
    struct salt_source salts = {.left = 0};
    struct buf payload;
    enum keyed is = KEYED_NOT;
    buf_init(&payload, LIMIT_PAYLOAD);
    int rv = encode(call, deed, &salts, &payload);
    if (rv == 0) {
        rv = keyed_record(deed->kind, buf_bytes(&payload), &is, id);
        rv = rv == 0 ? 0 : call_fail(call, rv, "The op cannot be made: %s", err_sentence(rv));
    }
    *keyed = rv == 0 && is == KEYED_YES;
    buf_free(&payload);
    return rv;
}
