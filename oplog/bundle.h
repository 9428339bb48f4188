/* bundle.h - Segments in a file or a pipe, checked frame by frame (spec/bundle.md).
 *
 * Both sides stream: they hold one segment and a buffer of BUNDLE_IO bytes, whatever the size of
 * the whole. Descriptors may be files or pipes, blocking or not; they stay the caller's. Nothing
 * here knows a store: export.h and import.h do. */
#ifndef OPLOG_BUNDLE_H
#define OPLOG_BUNDLE_H

#include "base/bytes.h"
#include "base/limits.h"
#include "oplog/id.h"

#define BUNDLE_MAGIC "meshlog bundle\n"
#define BUNDLE_VERSION 1u
#define BUNDLE_CHECK 16u
#define BUNDLE_HEAD (15u + 1u + 32u + 8u + BUNDLE_CHECK)
#define BUNDLE_FRAME (4u + BUNDLE_CHECK) /* What stands around a segment; also the end. */
#define BUNDLE_IO MIB(1)

struct bundle_check {
    uint8_t b[BUNDLE_CHECK];
};

struct bundle_head {
    struct mesh_id mesh;
    uint64_t ops; /* In all segments. */
};

/* How a long transfer is watched and ended. Every part may be NULL. */
struct bundle_watch {
    void *ctx;
    /* Wait until the descriptor can be read, or written to. False ends the transfer with
     * ERR_STOPPED. */
    bool (*wait)(void *ctx, int fd, bool to_write);
    /* Often: ops that are written or read, of so many. */
    void (*progress)(void *ctx, uint64_t done, uint64_t total);
};

/* Writing ------------------------------------------------------------------------------- */

struct bundle_writer {
    int fd;
    const struct bundle_watch *watch;
    struct buf out; /* Not yet written. */
    struct bundle_check check;
    uint64_t bytes; /* Written, or waiting in out. */
    int why;        /* errno of the write that failed. */
};

/* Begin with the head. The watch is borrowed, NULL for none; bundle_writer_free at the end. */
void bundle_begin(struct bundle_writer *writer, int fd, const struct bundle_head *head,
                  const struct bundle_watch *watch);

/* Put the segment that is now made between the two calls: append it to the buffer that the first
 * returns. Neither writes; errors stay in the buffer. */
struct buf *bundle_segment_begin(struct bundle_writer *writer, size_t *mark);
void bundle_segment_end(struct bundle_writer *writer, size_t mark);
void bundle_put(struct bundle_writer *writer, struct bytes segment);
void bundle_end(struct bundle_writer *writer);

/* Is there enough to be worth a write? More than two segments beyond this do not fit. */
bool bundle_is_full(const struct bundle_writer *writer);

/* Write what was put. ERR_IO, ERR_DISK_FULL, … (why tells), ERR_STOPPED, ERR_NO_MEMORY. */
int bundle_flush(struct bundle_writer *writer) ERR_MUST_CHECK;
void bundle_writer_free(struct bundle_writer *writer);

/* Reading ------------------------------------------------------------------------------- */

struct bundle_reader {
    int fd;
    const struct bundle_watch *watch;
    struct bundle_head head;
    struct bundle_check check;
    uint8_t version; /* As the file has it. */
    uint64_t ops;    /* That the segments read so far announce. */
    uint64_t part;   /* Where the part begins that was read last. */
    uint64_t fault;  /* The byte to name in a message, after an error. */
    int why;         /* errno of the read that failed. */
    uint8_t *room;   /* What was read ahead: from … to. */
    size_t from, to;
    uint64_t at; /* Where room + from stands in the file. */
    bool at_end;
};

/* Read the head. The watch is borrowed, NULL for none; bundle_reader_free in any case.
 *
 *   ERR_NOT_A_BUNDLE   it begins with something else, or is empty
 *   ERR_NEWER_SCHEMA   a version that is not known here
 *   ERR_TRUNCATED, ERR_MALFORMED, ERR_IO, ERR_STOPPED, ERR_NO_MEMORY */
int bundle_open(struct bundle_reader *reader, int fd,
                const struct bundle_watch *watch) ERR_MUST_CHECK;

/* The next segment, whose check fits; it is good until the next call.
 *
 *   ERR_UNKNOWN_ID   the end, and everything is as announced
 *   ERR_TRUNCATED    the file ends before the end
 *   ERR_MALFORMED    a check does not fit, or the number of ops
 *   ERR_TOO_LARGE    a length over the limit
 *   ERR_TRAILING     there is more after the end
 *   ERR_IO, ERR_STOPPED */
int bundle_next(struct bundle_reader *reader, struct bytes *segment) ERR_MUST_CHECK;
void bundle_reader_free(struct bundle_reader *reader);

/* The ops that a segment says it has; 0 where it does not say. */
uint32_t bundle_announced(struct bytes segment);

#endif
