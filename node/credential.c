#include "node/credential.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "node/lines.h"
#include "node/tokenarg.h"
#include "oplog/kinds.h"
#include "oplog/payload.h"

/* In an op ------------------------------------------------------------------------------- */

static int encode_payload(struct arena *arena, const struct credential *credential, struct buf *out)
{
    struct salt_source salts = {.left = 0};
    struct value fields = value_map();
    struct value proofs = value_array();
    for (uint32_t i = 0; i < credential->proof_count; i++) {
        value_push(arena, &proofs, value_bytes(credential->proofs[i]));
    }
    value_put(arena, &fields, "key",
              value_bytes(bytes_of(credential->key.b, sizeof(credential->key.b))));
    value_put(arena, &fields, "token", value_bytes(credential->token));
    value_put(arena, &fields, "proofs", proofs);
    if (credential->name.len > 0) {
        value_put(arena, &fields, "name", value_text_of(credential->name));
    }
    int rv = arena_error(arena);
    return rv == 0 ? payload_encode(&fields, &salts, out) : rv;
}

int credential_append(struct txn *txn, const struct key *node, uint64_t now_ms,
                      const struct credential *credential, struct append_result *out)
{
    struct arena arena;
    struct buf payload;
    arena_init(&arena, LIMIT_TREE_BYTES);
    buf_init(&payload, LIMIT_PAYLOAD);
    int rv = encode_payload(&arena, credential, &payload);
    if (rv == 0) {
        struct append_item item = {.kind = KIND_DelegateUcan, .payload = buf_bytes(&payload)};
        rv = append_group(txn, node, now_ms, &item, 1, out);
    }
    buf_free(&payload);
    arena_free(&arena);
    return rv;
}

/* In a file -------------------------------------------------------------------------------- */

static int write_line(const struct newfile *file, struct bytes token)
{
    struct arena arena;
    arena_init(&arena, LIMIT_TREE_BYTES);
    struct bytes line = token_text(&arena, token);
    int rv = arena_error(&arena);
    if (rv == 0) {
        rv = newfile_write(file, line);
    }
    if (rv == 0) {
        rv = newfile_write(file, bytes_of("\n", 1));
    }
    arena_free(&arena);
    return rv;
}

int credential_write(const struct credential *credential, const struct newfile *file)
{
    int rv = write_line(file, credential->token);
    for (uint32_t i = 0; rv == 0 && i < credential->proof_count; i++) {
        rv = write_line(file, credential->proofs[i]);
    }
    return rv;
}

static int take_line(struct call *call, const char *path, struct arena *arena,
                     const struct lines *lines, struct bytes line, uint32_t *count,
                     struct credential *out)
{
    if (*count == LIMIT_CHAIN) {
        return call_fail(call, ERR_TOO_LARGE, "%s has more than %u tokens, and a chain has not.",
                         path, LIMIT_CHAIN);
    }
    struct bytes *room = *count == 0 ? &out->token : &out->proofs[*count - 1];
    int rv = token_from_text(arena, line, room);
    if (rv == ERR_MALFORMED) {
        return call_fail(call, rv,
                         "Line %" PRIu64 " of %s is no token in base64: give the file that "
                         "`meshlog delegate --out` wrote.",
                         lines->number, path);
    }
    *count += 1;
    return rv == 0 ? 0 : call_fail_tree(call, rv);
}

static int read_lines(struct call *call, const char *path, struct arena *arena, struct lines *lines,
                      struct credential *out)
{
    struct bytes line;
    enum lines_event event;
    uint32_t count = 0;
    int rv = 0;
    while (rv == 0 && (event = lines_next(lines, true, &line)) != LINES_END) {
        if (event == LINES_FAILED) {
            return call_fail(call, ERR_IO, "%s cannot be read: %s.", path, strerror(errno));
        }
        /* One that is too long has no bytes here: it is no token. */
        line = event == LINES_LINE ? line : bytes_of("!", 1);
        rv = take_line(call, path, arena, lines, line, &count, out);
    }
    if (rv == 0 && count == 0) {
        return call_fail(call, ERR_MALFORMED,
                         "%s is empty: give the file that `meshlog delegate --out` wrote.", path);
    }
    out->proof_count = count > 0 ? count - 1 : 0;
    return rv;
}

int credential_read(struct call *call, const char *path, struct arena *arena,
                    struct credential *out)
{
    struct lines lines = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)};
    *out = (struct credential){.proof_count = 0};
    if (lines.fd < 0) {
        return call_fail(call, ERR_IO, "%s cannot be opened: %s.", path, strerror(errno));
    }
    int rv = read_lines(call, path, arena, &lines, out);
    lines_free(&lines);
    close(lines.fd);
    return rv;
}
