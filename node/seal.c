#include "node/command.h"
#include "node/opview.h"
#include "node/revocation.h"
#include "node/tokenview.h"
#include "node/wall.h"
#include "node/writer.h"

/* A token that was sealed. */
struct sealed {
    struct cid cid;
    struct ucan_key audience;
    struct op_id op;
};

struct sealing {
    struct call *call;
    struct writer writer;
    uint64_t now_ms;
    struct buf done; /* struct sealed */
};

static int seal_one(struct sealing *s, struct txn *txn, struct sealed *one)
{
    struct append_result result;
    int rv = seal_append(txn, s->writer.node, s->now_ms, &one->cid, &one->audience, &result);
    if (rv == 0 && result.verdict.state != VERDICT_APPLIED) {
        return call_fail(s->call, ERR_NO_GRANT,
                         "This node was itself revoked, so what it seals would not count.");
    }
    one->op = result.id;
    buf_put(&s->done, one, sizeof(*one));
    return rv == 0 ? buf_error(&s->done) : rv;
}

static int seal_all(void *ctx, struct txn *txn)
{
    struct sealing *s = ctx;
    struct ucan_key self;
    struct sealed one;
    const struct cid *after = NULL;
    int64_t now = (int64_t)(s->now_ms / 1000);
    memcpy(self.b, s->writer.node->public, sizeof(self.b));
    buf_clear(&s->done);
    for (;;) {
        int rv = seal_due(txn, &self, after, now, &one.cid, &one.audience);
        if (rv == 0) {
            rv = seal_one(s, txn, &one);
        }
        if (rv != 0) {
            return rv == ERR_UNKNOWN_ID ? 0 : rv;
        }
        after = &one.cid;
    }
}

static int emit_sealed(struct sealing *s)
{
    struct arena *arena = s->call->arena;
    struct value response = response_ok(arena);
    struct value list = value_array();
    struct unreported *unreported = &s->call->unreported;
    for (size_t at = 0; at < s->done.len; at += sizeof(struct sealed)) {
        struct sealed one;
        struct value view = value_map();
        memcpy(&one, s->done.data + at, sizeof(one));
        value_put(arena, &view, "cid", view_cid(arena, &one.cid));
        value_put(arena, &view, "node", view_did(arena, one.audience.b));
        value_put(arena, &view, "op", view_id(arena, &one.op));
        value_push(arena, &list, view);
        unreported->first = at == 0 ? one.op : unreported->first;
        unreported->last = one.op;
        unreported->count++;
    }
    value_put(arena, &response, "sealed", list);
    return call_emit(s->call, &response);
}

int run_seal(struct call *call)
{
    struct sealing s = {.call = call, .now_ms = wall_ms()};
    buf_init(&s.done, MIB(64));
    int rv = writer_open(call, &s.writer);
    if (rv == 0) {
        rv = writer_do(call, &s.writer, s.now_ms, true, seal_all, &s);
    }
    if (rv == 0) {
        rv = emit_sealed(&s);
    }
    writer_close(&s.writer);
    buf_free(&s.done);
    return rv;
}
