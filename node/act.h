/* act.h - One command that changes records: from its arguments to its ops, and to the answer.
 *
 * The calls below put the op together. The first failure sticks: what comes after it does nothing,
 * and act_end returns it. So a command is a list of what its op has:
 *
 *   act_begin(&act, call, KIND_MergeEntities);
 *   act_about(&act, "entity");
 *   act_record(&act, "into", "into");
 *   return act_end(&act); */
#ifndef NODE_ACT_H
#define NODE_ACT_H

#include "node/deed.h"

struct act {
    struct call *call;
    int rv; /* The first failure. */
    struct writer writer;
    struct txn *txn; /* To look things up with, until act_check. */
    uint64_t now_ms;
    struct deed deeds[DEEDS_MAX];
    uint32_t count;
    bool creates;
    bool makes; /* It makes a record besides, under its own id: that is the subject. */
    bool duplicate;
    bool has_subject;     /* What it is about, or makes; … */
    bool subject_existed; /* … and what that was before. */
    struct op_id subject;
    struct state before;
    struct changes changes;
};

/* Open the store for an op of this kind. */
void act_begin(struct act *act, struct call *call, uint32_t kind);

/* Go on with another op, in the same commit. */
void act_next(struct act *act, uint32_t kind);

/* Put a field of the payload. */
void act_put(struct act *act, const char *field, struct value value);

/* The same from a field of the request, if it has one: a text, JSON (numbers, maps), one record,
 * several records. A record is named by its id or a prefix. */
void act_text(struct act *act, const char *from, const char *field);
void act_json(struct act *act, const char *from, const char *field);
void act_record(struct act *act, const char *from, const char *field);
void act_supports(struct act *act);

/* What the op is about: "id" of the request, and the version of it that is meant ("if_version"). A
 * whole id may be of anything: the rules say what is wrong with it. */
void act_about(struct act *act, const char *field);

/* The op makes a record, under the key of the request if it has one. */
void act_creates(struct act *act);

/* Say something about "id" of the request, with the hash of the op that made it. */
void act_assert(struct act *act, const char *assertion);

/* Fail, unless it has failed already. The call has said why. */
void act_fail(struct act *act, int rv);

/* Look whether the record is there already (act->duplicate); else do what was put together. */
int act_check(struct act *act) ERR_MUST_CHECK;
int act_do(struct act *act) ERR_MUST_CHECK;

/* The answer: op id type status pinned hidden changed, and of a creation duplicate. */
struct value act_view(struct act *act);
void act_close(struct act *act);

/* All of these. */
int act_end(struct act *act) ERR_MUST_CHECK;

#endif
