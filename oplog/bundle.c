#include "oplog/bundle.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdlib.h>
#include <unistd.h>

#include "oplog/segment.h"

#define MAGIC_LEN (sizeof(BUNDLE_MAGIC) - 1)
#define MESH_AT (MAGIC_LEN + 1)
#define OPS_AT (MESH_AT + 32)
#define HEAD_CHECK_AT (OPS_AT + 8)

/* A whole frame, and a good piece of what follows. */
#define ROOM (BUNDLE_IO + LIMIT_SEGMENT_BYTES + BUNDLE_FRAME)

_Static_assert(HEAD_CHECK_AT + BUNDLE_CHECK == BUNDLE_HEAD, "the head as spec/bundle.md has it");

static struct bundle_check check_of(const struct bundle_check *before, struct bytes part)
{
    struct bundle_check check;
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, sizeof(check.b));
    if (before != NULL) {
        crypto_generichash_update(&state, before->b, sizeof(before->b));
    }
    crypto_generichash_update(&state, part.data, part.len);
    crypto_generichash_final(&state, check.b, sizeof(check.b));
    return check;
}

/* Wait for a descriptor; false when the transfer shall end. */
static bool wait_for(const struct bundle_watch *watch, int fd, bool to_write)
{
    if (watch != NULL && watch->wait != NULL) {
        return watch->wait(watch->ctx, fd, to_write);
    }
    return true;
}

/* A descriptor may be set not to block, by whoever shares it: then wait here. */
static void wait_blocking(int fd, bool to_write)
{
    struct pollfd wait = {.fd = fd, .events = to_write ? POLLOUT : POLLIN};
    (void)poll(&wait, 1, -1);
}

uint32_t bundle_announced(struct bytes segment)
{
    return segment.len < SEGMENT_HEAD
               ? 0
               : (uint32_t)be_get(segment.data + sizeof(struct op_author), 2);
}

/* Writing ------------------------------------------------------------------------------- */

/* Put the check over all that was put since the mark. */
static void put_check(struct bundle_writer *writer, const struct bundle_check *before, size_t mark)
{
    if (buf_error(&writer->out) != 0) {
        return;
    }
    struct bytes part = bytes_of(writer->out.data + mark, writer->out.len - mark);
    writer->check = check_of(before, part);
    buf_put(&writer->out, writer->check.b, sizeof(writer->check.b));
    writer->bytes += writer->out.len - mark;
}

void bundle_begin(struct bundle_writer *writer, int fd, const struct bundle_head *head,
                  const struct bundle_watch *watch)
{
    *writer = (struct bundle_writer){.fd = fd, .watch = watch};
    buf_init(&writer->out, BUNDLE_IO + 2 * (LIMIT_SEGMENT_BYTES + BUNDLE_FRAME));
    buf_put(&writer->out, BUNDLE_MAGIC, MAGIC_LEN);
    buf_put_byte(&writer->out, BUNDLE_VERSION);
    buf_put(&writer->out, head->mesh.b, sizeof(head->mesh.b));
    buf_put_be(&writer->out, 8, head->ops);
    put_check(writer, NULL, 0);
}

struct buf *bundle_segment_begin(struct bundle_writer *writer, size_t *mark)
{
    *mark = writer->out.len;
    buf_put_be(&writer->out, 4, 0);
    return &writer->out;
}

void bundle_segment_end(struct bundle_writer *writer, size_t mark)
{
    if (buf_error(&writer->out) == 0) {
        size_t len = writer->out.len - mark - 4;
        assert(len > 0);
        assert(len <= LIMIT_SEGMENT_BYTES);
        be_put(writer->out.data + mark, 4, len);
        put_check(writer, &writer->check, mark);
    }
}

void bundle_put(struct bundle_writer *writer, struct bytes segment)
{
    size_t mark;
    struct buf *out = bundle_segment_begin(writer, &mark);
    buf_put(out, segment.data, segment.len);
    bundle_segment_end(writer, mark);
}

void bundle_end(struct bundle_writer *writer)
{
    size_t mark = writer->out.len;
    buf_put_be(&writer->out, 4, 0);
    put_check(writer, &writer->check, mark);
}

bool bundle_is_full(const struct bundle_writer *writer)
{
    return writer->out.len >= BUNDLE_IO;
}

int bundle_flush(struct bundle_writer *writer)
{
    size_t done = 0;
    int rv = buf_error(&writer->out);
    while (rv == 0 && done < writer->out.len) {
        if (!wait_for(writer->watch, writer->fd, true)) {
            return ERR_STOPPED;
        }
        ssize_t put = write(writer->fd, writer->out.data + done, writer->out.len - done);
        if (put >= 0) {
            done += (size_t)put;
        } else if (errno == EAGAIN) {
            wait_blocking(writer->fd, true);
        } else if (errno != EINTR) {
            writer->why = errno;
            rv = err_from_errno(errno);
        }
    }
    if (rv == 0) {
        buf_clear(&writer->out);
    }
    return rv;
}

void bundle_writer_free(struct bundle_writer *writer)
{
    buf_free(&writer->out);
}

/* Reading ------------------------------------------------------------------------------- */

static int fail_at(struct bundle_reader *reader, int err, uint64_t at)
{
    reader->fault = at;
    return err;
}

/* One read into the room behind what is there. */
static int read_more(struct bundle_reader *reader)
{
    for (;;) {
        if (!wait_for(reader->watch, reader->fd, false)) {
            return fail_at(reader, ERR_STOPPED, reader->part);
        }
        ssize_t got = read(reader->fd, reader->room + reader->to, ROOM - reader->to);
        if (got >= 0) {
            reader->to += (size_t)got;
            reader->at_end = got == 0;
            return 0;
        }
        if (errno == EAGAIN) {
            wait_blocking(reader->fd, false);
        } else if (errno != EINTR) {
            reader->why = errno;
            return fail_at(reader, ERR_IO, reader->at + reader->to - reader->from);
        }
    }
}

/* Have so many bytes at hand, or as many as there are. */
static int need(struct bundle_reader *reader, size_t len, size_t *got)
{
    assert(len <= ROOM);
    if (ROOM - reader->from < len) {
        memmove(reader->room, reader->room + reader->from, reader->to - reader->from);
        reader->to -= reader->from;
        reader->from = 0;
    }
    int rv = 0;
    while (rv == 0 && !reader->at_end && reader->to - reader->from < len) {
        rv = read_more(reader);
    }
    size_t there = reader->to - reader->from;
    *got = there < len ? there : len;
    return rv;
}

/* The same, where fewer are a fault. They stay at hand. */
static int need_all(struct bundle_reader *reader, size_t len, const uint8_t **out)
{
    size_t got;
    int rv = need(reader, len, &got);
    *out = reader->room + reader->from;
    if (rv == 0 && got < len) {
        rv = fail_at(reader, ERR_TRUNCATED, reader->at + got);
    }
    return rv;
}

static void take(struct bundle_reader *reader, size_t len)
{
    reader->from += len;
    reader->at += len;
    if (reader->from == reader->to) { /* The next read has all the room again. */
        reader->from = 0;
        reader->to = 0;
    }
}

/* Does the check after these bytes fit? It is the one before all that follows. */
static bool check_fits(struct bundle_reader *reader, const struct bundle_check *before,
                       const uint8_t *part, size_t len)
{
    reader->check = check_of(before, bytes_of(part, len));
    return memcmp(reader->check.b, part + len, sizeof(reader->check.b)) == 0;
}

static int check_magic(struct bundle_reader *reader)
{
    size_t got;
    int rv = need(reader, MAGIC_LEN, &got);
    if (rv == 0 && (got == 0 || memcmp(reader->room, BUNDLE_MAGIC, got) != 0)) {
        rv = fail_at(reader, ERR_NOT_A_BUNDLE, 0);
    }
    return rv;
}

static int read_head(struct bundle_reader *reader)
{
    const uint8_t *head;
    int rv = check_magic(reader);
    if (rv == 0) {
        rv = need_all(reader, MAGIC_LEN + 1, &head);
    }
    if (rv != 0) {
        return rv;
    }
    reader->version = head[MAGIC_LEN];
    if (reader->version != BUNDLE_VERSION) {
        return fail_at(reader, ERR_NEWER_SCHEMA, MAGIC_LEN);
    }
    rv = need_all(reader, BUNDLE_HEAD, &head);
    if (rv != 0) {
        return rv;
    }
    if (!check_fits(reader, NULL, head, HEAD_CHECK_AT)) {
        return fail_at(reader, ERR_MALFORMED, 0);
    }
    memcpy(reader->head.mesh.b, head + MESH_AT, sizeof(reader->head.mesh.b));
    reader->head.ops = be_get(head + OPS_AT, 8);
    take(reader, BUNDLE_HEAD);
    return 0;
}

int bundle_open(struct bundle_reader *reader, int fd, const struct bundle_watch *watch)
{
    *reader = (struct bundle_reader){.fd = fd, .watch = watch, .room = malloc(ROOM)};
    return reader->room == NULL ? ERR_NO_MEMORY : read_head(reader);
}

/* The end has come: it must fit, the ops must be as many as announced, and nothing follows. */
static int read_end(struct bundle_reader *reader)
{
    const uint8_t *end;
    size_t got;
    int rv = need_all(reader, BUNDLE_FRAME, &end);
    if (rv != 0) {
        return rv;
    }
    struct bundle_check before = reader->check;
    if (!check_fits(reader, &before, end, 4) || reader->ops != reader->head.ops) {
        return fail_at(reader, ERR_MALFORMED, reader->part);
    }
    take(reader, BUNDLE_FRAME);
    rv = need(reader, 1, &got);
    if (rv == 0 && got > 0) {
        rv = fail_at(reader, ERR_TRAILING, reader->at);
    }
    return rv != 0 ? rv : ERR_UNKNOWN_ID;
}

int bundle_next(struct bundle_reader *reader, struct bytes *segment)
{
    const uint8_t *frame;
    reader->part = reader->at;
    int rv = need_all(reader, 4, &frame);
    if (rv != 0) {
        return rv;
    }
    size_t len = be_get(frame, 4);
    if (len == 0) {
        return read_end(reader);
    }
    if (len > LIMIT_SEGMENT_BYTES) {
        return fail_at(reader, ERR_TOO_LARGE, reader->part);
    }
    rv = need_all(reader, len + BUNDLE_FRAME, &frame);
    if (rv != 0) {
        return rv;
    }
    struct bundle_check before = reader->check;
    if (!check_fits(reader, &before, frame, 4 + len)) {
        return fail_at(reader, ERR_MALFORMED, reader->part);
    }
    *segment = bytes_of(frame + 4, len);
    reader->ops += bundle_announced(*segment);
    take(reader, len + BUNDLE_FRAME);
    return 0;
}

void bundle_reader_free(struct bundle_reader *reader)
{
    free(reader->room);
    reader->room = NULL;
}
