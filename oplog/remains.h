/* remains.h - What is left of a damaged store: its facts, its authors, its ops by arrival.
 *
 * Found by a walk through all of its file (salvage.h), and as little proved. Takes some forty bytes
 * of memory for each op. For the files of oplog/ only. */
#ifndef OPLOG_REMAINS_H
#define OPLOG_REMAINS_H

#include "oplog/log.h"
#include "oplog/salvage.h"

struct remains;

/* How far a long work has come; may be NULL. */
struct remains_watch {
    void *ctx;
    void (*progress)(void *ctx, uint64_t done, uint64_t total);
};

/* Read the data file in dir, which nobody else writes. Errors of salvage_open. */
int remains_open(const char *dir, const struct remains_watch *watch,
                 struct remains **out) ERR_MUST_CHECK;

/* NULL is fine. */
void remains_close(struct remains *remains);

struct salvage *remains_salvage(struct remains *remains);

/* The facts in the order in which they were found, one name perhaps several times: the i-th, or
 * NULL behind the last. */
struct fact {
    char name[17];
    uint8_t value[LIMIT_NAME];
    size_t len;
};
const struct fact *remains_fact(const struct remains *remains, size_t i);

/* Meshes that the first ops of authors name: the i-th, or NULL. */
const struct mesh_id *remains_mesh(const struct remains *remains, size_t i);

/* What author has such ids; what author this short name stood for. NULL for nobody known. */
const struct op_author *remains_author(const struct remains *remains, const struct node_id *node);
const struct op_author *remains_author_of_ix(const struct remains *remains, uint32_t ix);

/* Ops, ascending by arrival; several may have one number. */
struct remains_op {
    struct row row;                 /* Good until the next call. */
    const struct op_author *author; /* NULL: its key is lost. */
};
size_t remains_ops(const struct remains *remains);

/* ERR_UNKNOWN_ID: it cannot be read any more. */
int remains_op(struct remains *remains, size_t i, struct remains_op *out) ERR_MUST_CHECK;

/* Parked segments, likewise. */
size_t remains_parked(const struct remains *remains);
int remains_parked_read(struct remains *remains, size_t i, struct bytes *wire) ERR_MUST_CHECK;

/* The arrival numbers that any row tells of end here. */
uint64_t remains_end(const struct remains *remains);

#endif
