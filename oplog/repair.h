/* repair.h - Build a store anew from what is left of a damaged one (spec/store.md, "Repair").
 *
 * Nothing that is damaged is trusted: ops go into the new store through the checks that every op
 * from elsewhere goes through. The damaged store is only read; swap.h puts the new one in its
 * place. */
#ifndef OPLOG_REPAIR_H
#define OPLOG_REPAIR_H

#include "oplog/store.h"

struct repair;

/* How far it has come, what telling the step; may be NULL. Borrowed until repair_close. */
struct repair_watch {
    void *ctx;
    void (*progress)(void *ctx, const char *what, uint64_t done, uint64_t total);
};

/* Ops of one author that are lost. */
struct repair_loss {
    struct op_author author;
    uint64_t first_seq;
    uint64_t last_seq;
};

struct repair_result {
    uint64_t ops;      /* In the new store. */
    uint64_t salvaged; /* Of them: from the damaged one. */
    uint64_t parked;   /* Dated ahead, from the damaged one; they are not among the ops. */
    uint64_t lost;     /* That the damaged one had, and the new one has not. */
    bool lost_known;   /* false: it cannot be told whether there were more of them. */
    uint64_t own_lost; /* Of those that are named: by this node. */
    struct buf losses; /* struct repair_loss, by author and seq: those that can be named. */
    uint64_t bytes;    /* Of the new data file. */
};

/* Read what is left in dir, whose lock the caller holds (store_lock). guess is the mesh that a
 * bundle names, NULL without one.
 *
 *   ERR_UNKNOWN_ID   nothing tells which mesh it was
 *   ERR_NEWER_SCHEMA, ERR_OLD_SCHEMA   it is of another schema
 *   ERR_IO, ERR_READ_ONLY, ERR_NO_MEMORY */
int repair_open(const char *dir, const struct mesh_id *guess, const struct repair_watch *watch,
                struct repair **out) ERR_MUST_CHECK;

const struct mesh_id *repair_mesh(const struct repair *repair);

/* Could any op be read? */
bool repair_has_ops(const struct repair *repair);

/* Make the new store in the folder to, which is there and has none, with what is left of the facts,
 * and the ops that can be read. Errors of store_create and of writing. */
int repair_begin(struct repair *repair, const char *to, uint64_t now_ms) ERR_MUST_CHECK;

/* The new store, to import bundles into; repair_finish closes it. */
struct store *repair_store(struct repair *repair);

/* Put in what the bundles have made possible, verify all of it, count what is lost. Durable when
 * this returns 0. The caller frees result->losses in any case.
 *
 *   ERR_CORRUPT   what was written cannot be read back: the disk fails */
int repair_finish(struct repair *repair, uint64_t now_ms,
                  struct repair_result *result) ERR_MUST_CHECK;

/* NULL is fine. */
void repair_close(struct repair *repair);

#endif
