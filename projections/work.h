/* work.h - Folding at work: what one run over the ops of a transaction shares (fold.c, entries.c,
 * cascade.c). For these files only. */
#ifndef PROJECTIONS_WORK_H
#define PROJECTIONS_WORK_H

#include "base/arena.h"
#include "projections/idset.h"
#include "projections/queue.h"
#include "projections/refs.h"

/* The key of an author with a number. */
#define AUTHORS_KEPT 16u
struct known_author {
    bool known;
    uint32_t ix;
    struct op_author key;
};

struct work {
    struct txn *txn;
    struct arena arena;
    struct tally tally;
    struct op_id latest; /* The greatest position evaluated before this run. */
    struct queue queue;
    struct refs refs;                          /* Of the op in hand. */
    struct known_author authors[AUTHORS_KEPT]; /* At the place of its number, modulo. */
    bool has_lanes;                            /* Some lane, some rule of the mesh may be set. */
    bool has_rules;
    bool has_twins;      /* Others have its id, and one may have stood in its place. */
    struct buf keys;     /* struct op_id: where it may have left entries before; … */
    struct buf names;    /* struct op_id: by what others may name it, or what it makes; … */
    struct buf lanes;    /* struct lane_note: where a claim of it was; … */
    struct buf versions; /* struct taken: what versions it had taken. */
    struct buf changes;  /* Memory for the turns. */
    struct buf reads;
    struct op_id version_rule; /* The record of the rule that sets the version of the folds. */
    bool ends;                 /* They end at a position: */
    struct op_id end;
    struct op_id cause;     /* The op of the cascades in hand: … */
    bool cause_is_final;    /* … is it a TombstoneEvidence by a user? */
    struct id_set asked;    /* Keys whose later readers are in the queue, … */
    struct buf asked_until; /* struct op_id: … up to there, each. */
    struct id_set fallen;   /* Supports whose falls were looked for: … */
    struct buf looked;      /* struct looked: … how far, each, … */
    struct buf falls;       /* struct fall: … and what was found. */
    struct op_id recast;    /* An op whose cascade may go farther now, or less far. */
};

/* Nothing was ever evaluated at or after a position that is fresh: nothing later can come out
 * otherwise. */
static inline bool work_is_fresh(const struct work *work, const struct op_id *at)
{
    return op_id_compare(at, &work->latest) > 0;
}

/* The op at a position is to be evaluated (again). */
int work_push_op(struct work *work, const struct op_id *at) ERR_MUST_CHECK;

/* Does the op at a position leave an entry in a record by its cascade? made is where the record was
 * made; certain: one of its supports is known to become invalid there. */
int work_push_record(struct work *work, const struct op_id *at, const struct op_id *made,
                     const struct op_id *record, bool certain) ERR_MUST_CHECK;

/* The ops that read a key, later than after and up to until (NULL: all later ones). */
int work_push_readers(struct work *work, const struct op_id *key, const struct op_id *after,
                      const struct op_id *until) ERR_MUST_CHECK;

/* The later ops that name a version of a record. */
int work_push_namers(struct work *work, const struct op_id *version, const struct op_id *record,
                     const struct op_id *after) ERR_MUST_CHECK;

/* What the payload of an op that stands, or could, links it to, and its fields, which last as long
 * as the arena. *here false: a part of the payload is missing that matters; *fits false: so, or it
 * is not one of its kind. */
int work_read_refs(struct work *work, const struct row *row, struct value *fields, bool *fits,
                   bool *here, struct refs *refs) ERR_MUST_CHECK;

/* Make the entry of a record at a position this state, NULL: none; and find what may come out
 * otherwise. before is the state before the position, NULL: there was no record. */
int entry_set(struct work *work, const struct op_id *id, const struct op_id *at,
              const struct state *before, const struct state *to) ERR_MUST_CHECK;

/* If a record was made at a position: all cascades that may come to it, and that came. */
int work_push_cascades(struct work *work, const struct op_id *id,
                       const struct op_id *made) ERR_MUST_CHECK;

/* Do what a task about a record asks for. */
int cascade_visit(struct work *work, const struct task *task) ERR_MUST_CHECK;

#endif
