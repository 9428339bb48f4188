/* fsm.h - State machines as tables: which states there are, and what leads from one to the next.
 *
 * Pure, and a machine is constant. Its states, events and guards are numbered in the order of
 * their lists, and a set of them has bit n for number n. Guards are only named here: whoever asks
 * for a move has looked, and says which of them hold. So folds, commands and documentation share
 * one table and nothing else. */
#ifndef FSM_FSM_H
#define FSM_FSM_H

#include "base/bytes.h"

/* At most so many states, events and guards each: sets have 32 bits, one of them for FSM_NEW. */
#define FSM_MAX 31u

/* The state of what is not there yet. Creations move from it, nothing moves to it. */
#define FSM_NEW FSM_MAX

#define FSM_BIT(number) (1u << (number))

static inline bool fsm_has(uint32_t set, unsigned number)
{
    return (set >> number & 1) != 0;
}

/* A state, an event or a guard. Names are words of ASCII letters, digits and underscores. */
struct fsm_word {
    const char *name;
    const char *about; /* A few words for people. */
};

struct fsm_words {
    const struct fsm_word *at;
    unsigned count;
};

/* For the definition of a machine, from its arrays. */
#define FSM_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FSM_WORDS(array)                                                                           \
    {                                                                                              \
        .at = (array), .count = FSM_COUNT(array)                                                   \
    }

/* From each state of a set, when the event happens and all guards of a set hold. */
struct fsm_move {
    uint32_t from;
    unsigned event;
    unsigned to;
    uint32_t guards;
};

/* The moves for one state and event are tried in the order of the table, and the first whose
 * guards hold is taken: exceptions stand before the rule. */
struct fsm {
    const char *name;
    const char *about;
    struct fsm_words states;
    struct fsm_words events;
    struct fsm_words guards;
    uint32_t terminal; /* The states that nothing leaves. */
    const struct fsm_move *moves;
    unsigned move_count;
};

enum fsm_verdict {
    FSM_MOVED,
    FSM_NO_MOVE, /* The event means nothing in this state. */
    FSM_REFUSED, /* It does, but guards do not hold. */
};

struct fsm_outcome {
    enum fsm_verdict verdict;
    unsigned to;    /* FSM_MOVED: the new state; may be the old one. */
    unsigned guard; /* FSM_REFUSED: what did not hold; of several moves, what the last one lacks. */
};

/* What an event does to something in a state, when the guards of a set hold and no others. state
 * may be FSM_NEW; a number that the machine does not have is the caller's mistake. */
struct fsm_outcome fsm_move(const struct fsm *machine, unsigned state, unsigned event,
                            uint32_t holding) ERR_MUST_CHECK;

/* The states in which something can begin. */
uint32_t fsm_initial(const struct fsm *machine);

/* One move from one state. */
struct fsm_arrow {
    unsigned move; /* Its number in the table. */
    unsigned from;
    unsigned next; /* The state to look at next. */
};

/* Go through all of them in the order of the table, beginning with a zeroed one; false after the
 * last. */
bool fsm_next_arrow(const struct fsm *machine, struct fsm_arrow *arrow) ERR_MUST_CHECK;

/* The name of a state, "(new)" for FSM_NEW. */
const char *fsm_state_name(const struct fsm *machine, unsigned state);

/* Append the names of a set of guards: "above and by_user"; nothing for none. */
void fsm_put_guards(const struct fsm *machine, uint32_t guards, struct buf *out);

/* Append what happened, as a line without its end: "job: Claimed --yielded--> Pending",
 * "job: Pending --yielded--> no such move", "job: Claimed --expired--> refused: lease_over". */
void fsm_put_trace(const struct fsm *machine, unsigned state, unsigned event,
                   const struct fsm_outcome *outcome, struct buf *out);

/* What is wrong with a table. */
struct fsm_why {
    char text[160];
};

/* Is the table whole? For tests: a machine that fails is a mistake in the program.
 *
 *   ERR_MALFORMED   why says which
 *     - lists too long; names missing, not words or given twice
 *     - a move that names a state, event or guard that is not there, or begins nowhere
 *     - a move out of a terminal state, or a state that nothing leaves and that is not terminal
 *     - a state that no creation leads to, an event or a guard without a move
 *     - a move that is never taken, because one before it asks for no more */
int fsm_check(const struct fsm *machine, struct fsm_why *why) ERR_MUST_CHECK;

#endif
