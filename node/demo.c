#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "node/scratch.h"
#include "node/session.h"
#include "node/wall.h"
#include "oplog/ingest.h"

#define WIDTH 120u
#define ARGS_MAX 12

struct demo {
    struct call *call;
    char laptop[4096];
    char phone[4096];
    struct buf said; /* What the last command printed. */
};

/* Talking ------------------------------------------------------------------------------- */

static int tell(struct demo *demo, const char *text, size_t len)
{
    struct arena *arena = demo->call->arena;
    struct value response = value_map();
    arena_reset(arena);
    /* An empty line is a line too. */
    value_put(arena, &response, "text",
              value_text_of(arena_format(arena, "%.*s\n", (int)len, text)));
    return call_emit(demo->call, &response);
}

static int explain(struct demo *demo, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int explain(struct demo *demo, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return tell(demo, text, strlen(text));
}

/* What the last command printed, indented. */
static int tell_said(struct demo *demo)
{
    const char *at = (const char *)demo->said.data;
    const char *end = at + demo->said.len;
    int rv = 0;
    while (rv == 0 && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((stop != NULL ? stop : end) - at);
        rv = explain(demo, "     %.*s", len < 480 ? (int)len : 480, at);
        at += len + 1;
    }
    return rv;
}

/* Running commands ---------------------------------------------------------------------- */

/* Run the words as the program would, and keep what it prints. */
static int run_words(struct demo *demo, const char *store, int count, const char *const words[],
                     int input)
{
    struct session session;
    session_begin(&session, count, words, input);
    printer_init_memory(&session.printer, session_print(&session), WIDTH);
    int rv = session_run(&session, store);
    buf_clear(&demo->said);
    buf_put(&demo->said, session.printer.out.data, session.printer.out.len);
    if (rv != 0) {
        rv = call_fail(demo->call, rv, "The demo stopped at `%s`: %s", words[0],
                       session.call.message);
    }
    session_end(&session);
    return rv;
}

static int tell_words(struct demo *demo, const char *name, int count, const char *const words[])
{
    struct buf line;
    buf_init(&line, KIB(4));
    buf_put_text(&line, "   $ meshlog --store ");
    buf_put_text(&line, name);
    for (int i = 0; i < count; i++) {
        bool quoted = strpbrk(words[i], "{ ") != NULL;
        buf_put_text(&line, quoted ? " '" : " ");
        buf_put_text(&line, words[i]);
        buf_put_text(&line, quoted ? "'" : "");
    }
    int rv = buf_error(&line);
    if (rv == 0) {
        rv = tell(demo, (const char *)line.data, line.len);
    }
    buf_free(&line);
    return rv;
}

/* Show a command on one of the stores, run it, show what it prints. NULL ends the words. */
static int show_run(struct demo *demo, const char *name, const char *const words[])
{
    const char *store = strcmp(name, "laptop") == 0 ? demo->laptop : demo->phone;
    int count = 0;
    while (count < ARGS_MAX && words[count] != NULL) {
        count++;
    }
    int rv = tell_words(demo, name, count, words);
    if (rv == 0) {
        rv = run_words(demo, store, count, words, -1);
    }
    return rv != 0 ? rv : tell_said(demo);
}

#define RUN(demo, name, ...) show_run((demo), (name), (const char *const[]){__VA_ARGS__, NULL})

/* The id that the last command printed. */
static void last_id(const struct demo *demo, char out[OP_ID_TEXT])
{
    size_t len = demo->said.len < OP_ID_TEXT - 1 ? demo->said.len : OP_ID_TEXT - 1;
    if (len > 0) {
        memcpy(out, demo->said.data, len);
    }
    out[len] = 0;
}

/* The scenes ---------------------------------------------------------------------------- */

static int scene_found(struct demo *demo)
{
    int rv = explain(demo,
                     "1. A mesh begins with one store. `init` makes its keys and the first op, "
                     "which admits this node.");
    return rv != 0 ? rv : RUN(demo, "laptop", "init", "--name", "laptop");
}

static int scene_append(struct demo *demo)
{
    char evidence[OP_ID_TEXT];
    char claim[OP_ID_TEXT];
    char about[128];
    int rv = explain(demo, "\n2. Ops are appended. Each is signed and on the disk before its id is "
                           "printed.");
    if (rv == 0) {
        rv = RUN(demo, "laptop", "append", "IngestEvidence", "--payload",
                 "{\"source_type\":\"note\",\"source_anchor\":\"door\",\"size\":13,\"content\":"
                 "\"538b927307b79bb19272632dd0ccd1744af206e58d497c97f559dc5d8350f024\"}");
    }
    last_id(demo, evidence);
    if (rv == 0) {
        rv = explain(demo, "   A claim that rests on that evidence names it as a dependency:");
    }
    if (rv == 0) {
        rv = RUN(demo, "laptop", "append", "CreateClaim", "--payload",
                 "{\"text\":\"The shop opens at nine.\"}", "--dep", evidence);
    }
    last_id(demo, claim);
    (void)snprintf(about, sizeof(about), "{\"about\":\"%s\",\"assert\":\"confirm\"}", claim);
    if (rv == 0) {
        rv = explain(demo, "   A person confirms the claim:");
    }
    return rv != 0
               ? rv
               : RUN(demo, "laptop", "append", "UserAssert", "--payload", about, "--dep", claim);
}

static int scene_batch(struct demo *demo)
{
    static const char lines[] =
        "{\"kind\":\"CreateEntity\",\"payload\":{\"name\":\"the shop\"}}\n"
        "{\"kind\":\"CreateEntity\",\"payload\":{\"name\":\"Ada\"}}\n"
        "{\"kind\":\"CreateClaim\",\"payload\":{\"text\":\"Ada has the key.\"}}\n";
    const char *const words[] = {"append", "--batch"};
    int ends[2];
    int rv = explain(demo,
                     "\n3. Many ops at once come as lines of JSON: one commit, one signature, "
                     "an id for each.\n   $ meshlog --store laptop append --batch < three-lines");
    if (rv != 0) {
        return rv;
    }
    if (pipe(ends) != 0) {
        return call_fail(demo->call, ERR_IO, "The demo cannot make a pipe: %s.", strerror(errno));
    }
    ssize_t written = write(ends[1], lines, sizeof(lines) - 1); /* Less than a pipe holds. */
    close(ends[1]);
    rv = written == (ssize_t)sizeof(lines) - 1 ? run_words(demo, demo->laptop, 2, words, ends[0])
                                               : call_fail(demo->call, ERR_IO, "A pipe is broken.");
    close(ends[0]);
    return rv != 0 ? rv : tell_said(demo);
}

static int scene_log(struct demo *demo)
{
    int rv = explain(demo, "\n4. The log in its order: time, author, kind, id, payload.");
    return rv != 0 ? rv : RUN(demo, "laptop", "log");
}

/* What became of the segments that were offered. */
struct taken {
    uint32_t appended;
    int err;
};

static void count_taken(void *ctx, uint64_t index, int err, const struct chain_result *result)
{
    struct taken *taken = ctx;
    (void)index;
    taken->appended += err == 0 ? result->appended : 0;
    taken->err = err != 0 ? err : taken->err;
}

/* Read every segment of one store and offer it to the other; the last one stays in wire. */
static int copy_segments(struct store *from, struct ingest *to, struct buf *wire)
{
    struct txn *txn;
    uint64_t n = 0;
    uint64_t next_n = 0;
    int rv = txn_begin_read(from, &txn);
    if (rv != 0) {
        return rv;
    }
    for (;;) {
        size_t before = wire->len;
        rv = chain_read(txn, n, wire, &next_n);
        if (rv != 0) {
            break;
        }
        memmove(wire->data, wire->data + before, wire->len - before);
        wire->len -= before;
        rv = ingest_offer(to, buf_bytes(wire), wall_ms());
        if (rv != 0) {
            break;
        }
        n = next_n;
    }
    txn_abort(txn);
    return rv == ERR_UNKNOWN_ID ? ingest_flush(to, wall_ms()) : rv;
}

/* Offer segments to the second store: all of the first one's, then a damaged one. */
static int copy_store(struct demo *demo, struct taken *good, struct taken *bad)
{
    struct store *from = NULL;
    struct store *to = NULL;
    struct ingest *ingest = NULL;
    struct buf wire;
    buf_init(&wire, 2 * LIMIT_SEGMENT_BYTES);
    int rv = open_judging(demo->laptop, STORE_READ, &from);
    if (rv == 0) {
        rv = open_judging(demo->phone, STORE_WRITE, &to);
    }
    if (rv == 0) {
        rv = ingest_begin(to, 1, count_taken, good, &ingest);
    }
    if (rv == 0) {
        rv = copy_segments(from, ingest, &wire);
    }
    ingest_end(ingest);
    ingest = NULL;
    if (rv == 0) {
        rv = ingest_begin(to, 1, count_taken, bad, &ingest);
    }
    if (rv == 0) {
        wire.data[wire.len - 2] ^= 0x20; /* A letter of the last payload. */
        rv = ingest_offer(ingest, buf_bytes(&wire), wall_ms());
    }
    if (rv == 0) {
        rv = ingest_flush(ingest, wall_ms());
    }
    ingest_end(ingest);
    store_close(to);
    store_close(from);
    buf_free(&wire);
    return rv == 0
               ? 0
               : call_fail(demo->call, rv, "The demo cannot copy its ops: %s", err_sentence(rv));
}

/* The value of a field in what a command answered as lines of "name  value". */
static void field_said(const struct demo *demo, const char *name, char *out, size_t size)
{
    const char *text = (const char *)demo->said.data;
    size_t at = 0;
    out[0] = 0;
    while (at < demo->said.len) {
        const char *end = memchr(text + at, '\n', demo->said.len - at);
        size_t len = end != NULL ? (size_t)(end - text) - at : demo->said.len - at;
        if (len > strlen(name) && memcmp(text + at, name, strlen(name)) == 0) {
            size_t skip = strlen(name) + strspn(text + at + strlen(name), " ");
            (void)snprintf(out, size, "%.*s", (int)(len - skip), text + at + skip);
            return;
        }
        at += len + 1;
    }
}

static int frontier_of(struct demo *demo, const char *store, char out[OP_HASH_TEXT])
{
    const char *const words[] = {"frontier"};
    int rv = run_words(demo, store, 1, words, -1);
    field_said(demo, "log", out, OP_HASH_TEXT);
    return rv;
}

static int scene_copy(struct demo *demo, struct taken *bad)
{
    char mesh[LIMIT_DID];
    const char *const frontier[] = {"frontier"};
    struct taken good = {0};
    int rv = run_words(demo, demo->laptop, 1, frontier, -1);
    field_said(demo, "mesh", mesh, sizeof(mesh));
    if (rv == 0) {
        rv = explain(demo,
                     "\n5. A second store of the same mesh, as on another device. The demo itself "
                     "copies the\n   ops of the first into it: export and import come later.");
    }
    if (rv == 0) {
        const char *const words[] = {"init", "--mesh", mesh};
        rv = run_words(demo, demo->phone, 3, words, -1);
    }
    if (rv == 0) {
        rv = explain(demo, "   $ meshlog --store phone init --mesh %s", mesh);
    }
    if (rv == 0) {
        rv = copy_store(demo, &good, bad);
    }
    return rv != 0 ? rv : explain(demo, "     %u ops copied, each checked.", good.appended);
}

static int scene_compare(struct demo *demo)
{
    char laptop[OP_HASH_TEXT];
    char phone[OP_HASH_TEXT];
    int rv = explain(demo, "\n6. Both stores are read back and checked; equal frontiers mean equal "
                           "sets of ops.");
    if (rv == 0) {
        rv = RUN(demo, "laptop", "verify");
    }
    if (rv == 0) {
        rv = RUN(demo, "phone", "verify");
    }
    if (rv == 0) {
        rv = frontier_of(demo, demo->laptop, laptop);
    }
    if (rv == 0) {
        rv = frontier_of(demo, demo->phone, phone);
    }
    if (rv != 0) {
        return rv;
    }
    if (laptop[0] == 0 || strcmp(laptop, phone) != 0) {
        return call_fail(demo->call, ERR_CORRUPT, "The frontiers differ: %s and %s.", laptop,
                         phone);
    }
    return explain(demo, "   laptop %s\n   phone  %s\n   They are equal.", laptop, phone);
}

static int scene_damage(struct demo *demo, const struct taken *bad)
{
    if (bad->err == 0) {
        return call_fail(demo->call, ERR_CORRUPT, "A damaged op was not refused.");
    }
    int rv = explain(demo,
                     "\n7. One letter of an op was changed on its way. The second store refused "
                     "it by name:");
    if (rv == 0) {
        rv = explain(demo, "     %s: %s", err_code(bad->err), err_sentence(bad->err));
    }
    return rv != 0 ? rv
                   : explain(demo, "\nThat is all; the folder of this demo is gone again. "
                                   "Begin your own with `meshlog init`.");
}

static int play(struct demo *demo)
{
    struct taken bad = {0};
    int rv = scene_found(demo);
    if (rv == 0) {
        rv = scene_append(demo);
    }
    if (rv == 0) {
        rv = scene_batch(demo);
    }
    if (rv == 0) {
        rv = scene_log(demo);
    }
    if (rv == 0) {
        rv = scene_copy(demo, &bad);
    }
    if (rv == 0) {
        rv = scene_compare(demo);
    }
    return rv != 0 ? rv : scene_damage(demo, &bad);
}

int run_demo(struct call *call)
{
    struct demo demo = {.call = call};
    struct scratch scratch;
    int rv = scratch_open_for(call, "demo", &scratch);
    if (rv != 0) {
        return rv;
    }
    buf_init(&demo.said, MIB(1));
    (void)snprintf(demo.laptop, sizeof(demo.laptop), "%s/laptop", scratch.path);
    (void)snprintf(demo.phone, sizeof(demo.phone), "%s/phone", scratch.path);
    rv = play(&demo);
    buf_free(&demo.said);
    scratch_close(&scratch);
    return rv;
}
