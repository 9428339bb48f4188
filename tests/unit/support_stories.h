/* support_stories.h - Stories about records: who writes what, at which position, and what comes of
 * it.
 *
 * A story is told op by op. Then it happens: the ops arrive in several stores, in order and in
 * reverse, one in each transaction and all in one, and all stores must agree with each other and
 * with folding everything anew. What is told afterwards comes late to the store that is asked, and
 * in time to the others. Every op follows its author's first op alone, so that it may arrive in any
 * order. */
#ifndef TESTS_SUPPORT_STORIES_H
#define TESTS_SUPPORT_STORIES_H

#include "tests/unit/support_authority.h"

#include "projections/records.h"

#define STORY_STORES 6u

/* Those in the stories: what a user writes is the user's, what others write is a machine's. The
 * last one nobody has admitted. */
enum { THE_USER = 1, OTHER_USER, MACHINE, OTHER, STRANGER, STORY_KEYS };

struct story {
    struct world *world;
    struct store *store[STORY_STORES]; /* The first is the one that is asked. */
    uint32_t token[STORY_KEYS];        /* The last one for each. */
    uint64_t next_ms;
};

/* Everybody's first op is told. */
struct story *story_begin(void);

/* Telling ----------------------------------------------------------------------------- */

/* Where the next op is, in ms; those after it follow a second apart. */
void at(struct story *story, uint64_t ms);

/* by writes an op of a kind; its number. The format is that of printf for the fields in JSON,
 * without the outer braces and with ' for ": 'text':'tea','supports':[@%u]. There @7 is the id of
 * the record that op 7 makes, ^7 its position, #7 its hash, ~2 the key of author 2, and $ the hash
 * of some content. */
uint32_t tell(struct story *story, uint32_t by, uint32_t kind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same at the position of another op, by its author. */
uint32_t tell_twin(struct story *story, uint32_t of, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What something rests on. */
struct grounds {
    uint32_t count;
    uint32_t op[8];
};

#define NOTHING ((struct grounds){0})
#define ON(...) ((struct grounds){COUNT_OF(((const uint32_t[]){__VA_ARGS__})), {__VA_ARGS__}})

uint32_t evidence(struct story *story, uint32_t by);
/* That Ann likes something. */
uint32_t claim(struct story *story, uint32_t by, const char *object, struct grounds on);
uint32_t episode(struct story *story, uint32_t by, struct grounds on);
uint32_t action(struct story *story, uint32_t by, struct grounds on);
uint32_t artifact(struct story *story, uint32_t by, struct grounds on);

uint32_t tombstone(struct story *story, uint32_t by, uint32_t evidence);
uint32_t supersede(struct story *story, uint32_t by, uint32_t claim, uint32_t replacement);
uint32_t set_status(struct story *story, uint32_t by, uint32_t record, const char *status);
uint32_t set_confidence(struct story *story, uint32_t by, uint32_t claim, uint32_t ppm);
uint32_t merge(struct story *story, uint32_t by, uint32_t entity, uint32_t into);

/* Whatever the user says without a value: confirm, reject, pin, hide. */
uint32_t asserts(struct story *story, uint32_t by, const char *what, uint32_t about);
uint32_t confirm(struct story *story, uint32_t about);
uint32_t reject(struct story *story, uint32_t about);

uint32_t erase(struct story *story, uint32_t by, uint32_t op);

/* The root takes back its last token for a key, but for what leads to these ops. */
uint32_t revoke(struct story *story, uint32_t key, struct grounds keeps);

/* The root gives a key another one; NULL: as all had at first. */
uint32_t admit(struct story *story, uint32_t key, const struct world_token *how);

/* The op comes without the content of its payload, or without all of it, until it comes whole. A
 * store that has more keeps it. */
void withhold(struct story *story, uint32_t op);
void withhold_all(struct story *story, uint32_t op);
void comes_whole(struct story *story, uint32_t op);

/* It happens. */
void happens(struct story *story);

/* What came of it --------------------------------------------------------------------- */

/* "applied", "rejected fsm no_move", "void revoked", … */
const char *outcome_of(const struct story *story, uint32_t op);

/* The status of the record that an op made, "none" if there is none; all that it ever had, with
 * " > " between, where it changed; the record itself, which must be there. */
const char *status_of(const struct story *story, uint32_t op);
const char *history_of(const struct story *story, uint32_t op);
struct state state_of(const struct story *story, uint32_t op);

/* How many entries its history has. */
uint32_t entries_of(const struct story *story, uint32_t op);

#define expect_outcome(story, op, want) assert_text("outcome of " #op, outcome_of(story, op), want)
#define expect_applied(story, op) expect_outcome(story, op, "applied")
#define expect_status(story, op, want) assert_text("status of " #op, status_of(story, op), want)
#define expect_history(story, op, want) assert_text("history of " #op, history_of(story, op), want)

#define expect_entries(story, op, want)                                                            \
    assert_count("entries of " #op, entries_of(story, op), (want))

/* The reason and the rule: "frozen fact_frozen". */
#define expect_refused(story, op, why) expect_outcome(story, op, "rejected " why)

/* Its flags, as STATE_… has them. */
#define expect_flags(story, op, want)                                                              \
    assert_count("flags of " #op, state_of(story, op).flags, (want))

#endif
