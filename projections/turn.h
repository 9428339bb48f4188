/* turn.h - One op at its turn: what it sees of the records before it, and what it does to them.
 *
 * The rules of each kind (claims.c, evidence.c, jobs.c, …) are written against this and nothing
 * else: they read records, and either leave entries or refuse. What is read and left is noted, so
 * that the op is evaluated again when it would come out otherwise (fold.c). Nothing is written
 * here. */
#ifndef PROJECTIONS_TURN_H
#define PROJECTIONS_TURN_H

#include "base/value.h"
#include "oplog/log.h"
#include "projections/links.h"
#include "projections/records.h"

/* An entry that the op leaves. */
struct change {
    struct op_id id;
    bool existed;
    struct state before; /* If it existed. */
    struct state after;
};

struct turn {
    struct txn *txn;
    struct arena *arena;
    struct op_id at;
    uint64_t time_ms;
    uint32_t kind;
    struct op_author author;
    bool by_user;
    bool may_have_lanes; /* Some lane, some rule may be set before the op. */
    bool may_have_rules;
    struct value fields;

    /* Of ops that have a target, which is there: */
    struct op_id target;
    struct state subject;

    /* Of creations: */
    struct op_id made; /* The id of what it makes. */
    bool exists;       /* It is there already: nothing more is to be done. */
    bool supported;    /* No support is invalid. */
    bool has_lane;     /* It says in which lane a claim is to be: the one below. */

    /* What comes of it: */
    struct verdict outcome;
    struct buf changes; /* struct change */
    struct buf reads;   /* struct op_id: keys besides its target, its supports and what it makes. */
    bool in_lane;       /* It makes a claim in the lane, or would. */
    struct lane_place lane;
};

/* The record as the ops before have left it. ERR_UNKNOWN_ID: there is none. */
int turn_read(struct turn *turn, const struct op_id *id, struct state *out) ERR_MUST_CHECK;

/* The same for a record that the op names, which must be of a type (0: of any that ops can name).
 * Refuses where it is not: look at turn_is_refused afterwards. */
int turn_find(struct turn *turn, const struct op_id *id, uint8_t type,
              struct state *out) ERR_MUST_CHECK;

/* Note that the op reads something that is not a record. */
void turn_note(struct turn *turn, const struct op_id *key);

/* The fields of the op that made a record in this state. They last as long as the turn. */
int turn_maker_fields(struct turn *turn, const struct op_id *id, const struct state *state,
                      struct value *out) ERR_MUST_CHECK;

/* The author of the op that made it. */
int turn_maker_author(struct turn *turn, const struct op_id *id, const struct state *state,
                      struct op_author *out) ERR_MUST_CHECK;

/* What a rule of the mesh was set to before the op; ERR_UNKNOWN_ID: never. Not noted: a change of a
 * rule finds the ops that read it by their kind. */
int turn_rule(struct turn *turn, const char *name, struct state *out) ERR_MUST_CHECK;
bool turn_reads_rules(uint32_t kind);

/* Leave an entry; before is NULL where there is no such record yet. */
void turn_leave(struct turn *turn, const struct op_id *id, const struct state *before,
                const struct state *after);

/* The same, unless all is as it was. */
void turn_change(struct turn *turn, const struct op_id *id, const struct state *before,
                 const struct state *after);

/* Make the record that the op makes; its maker is filled in. */
void turn_make(struct turn *turn, struct state *state);

/* It is rejected. Whatever it has left is taken back. */
void turn_refuse(struct turn *turn, enum reason reason, enum fold_rule rule);

static inline bool turn_is_refused(const struct turn *turn)
{
    return turn->outcome.state != VERDICT_APPLIED;
}

struct fsm;

/* Let a machine move a state, where these guards hold. Refuses where it does not; rules are those
 * of its guards, by number. */
void turn_move(struct turn *turn, const struct fsm *machine, const uint8_t *rules,
               struct state *state, unsigned event, uint32_t holding);

/* The status of an existing record was set: is it the user's now? */
void turn_mark_decided(const struct turn *turn, struct state *state);

/* Refuse a machine's op on what is the user's (spec/claims.md, "Precedence of the user"). */
void turn_yield_to_user(struct turn *turn, bool sets_status);

/* A field that ops_check has said yes to. */
bool turn_id(const struct turn *turn, const char *field, struct op_id *out);

/* The rules of the kinds. */
int apply_evidence(struct turn *turn) ERR_MUST_CHECK;
int apply_entity(struct turn *turn) ERR_MUST_CHECK;
int apply_claim(struct turn *turn) ERR_MUST_CHECK;
int apply_assert(struct turn *turn) ERR_MUST_CHECK;
int apply_episode(struct turn *turn) ERR_MUST_CHECK;
int apply_action(struct turn *turn) ERR_MUST_CHECK;
int apply_artifact(struct turn *turn) ERR_MUST_CHECK;
int apply_setting(struct turn *turn) ERR_MUST_CHECK;
int apply_job(struct turn *turn) ERR_MUST_CHECK;

#endif
