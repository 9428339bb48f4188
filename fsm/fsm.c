#include "fsm/fsm.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

/* Moving -------------------------------------------------------------------------------- */

/* The lowest number of a set that is not empty. */
static unsigned first_of(uint32_t set)
{
    assert(set != 0);
    unsigned number = 0;
    while (!fsm_has(set, number)) {
        number++;
    }
    return number;
}

struct fsm_outcome fsm_move(const struct fsm *machine, unsigned state, unsigned event,
                            uint32_t holding)
{
    struct fsm_outcome outcome = {.verdict = FSM_NO_MOVE};
    assert(state == FSM_NEW || state < machine->states.count);
    assert(event < machine->events.count);
    for (unsigned i = 0; i < machine->move_count && outcome.verdict != FSM_MOVED; i++) {
        const struct fsm_move *move = &machine->moves[i];
        uint32_t lacking = move->guards & ~holding;
        if (move->event != event || !fsm_has(move->from, state)) {
            continue;
        }
        outcome = lacking == 0
                      ? (struct fsm_outcome){.verdict = FSM_MOVED, .to = move->to}
                      : (struct fsm_outcome){.verdict = FSM_REFUSED, .guard = first_of(lacking)};
    }
    return outcome;
}

uint32_t fsm_initial(const struct fsm *machine)
{
    uint32_t initial = 0;
    for (unsigned i = 0; i < machine->move_count; i++) {
        const struct fsm_move *move = &machine->moves[i];
        initial |= fsm_has(move->from, FSM_NEW) ? FSM_BIT(move->to) : 0;
    }
    return initial;
}

bool fsm_next_arrow(const struct fsm *machine, struct fsm_arrow *arrow)
{
    for (; arrow->move < machine->move_count; arrow->move++, arrow->next = 0) {
        while (arrow->next <= FSM_NEW) {
            arrow->from = arrow->next++;
            if (fsm_has(machine->moves[arrow->move].from, arrow->from)) {
                return true;
            }
        }
    }
    return false;
}

/* Texts --------------------------------------------------------------------------------- */

const char *fsm_state_name(const struct fsm *machine, unsigned state)
{
    assert(state == FSM_NEW || state < machine->states.count);
    return state == FSM_NEW ? "(new)" : machine->states.at[state].name;
}

void fsm_put_guards(const struct fsm *machine, uint32_t guards, struct buf *out)
{
    bool further = false;
    for (unsigned i = 0; i < machine->guards.count; i++) {
        if (fsm_has(guards, i)) {
            buf_put_text(out, further ? " and " : "");
            buf_put_text(out, machine->guards.at[i].name);
            further = true;
        }
    }
}

void fsm_put_trace(const struct fsm *machine, unsigned state, unsigned event,
                   const struct fsm_outcome *outcome, struct buf *out)
{
    buf_put_text(out, machine->name);
    buf_put_text(out, ": ");
    buf_put_text(out, fsm_state_name(machine, state));
    buf_put_text(out, " --");
    buf_put_text(out, machine->events.at[event].name);
    buf_put_text(out, "--> ");
    switch (outcome->verdict) {
    case FSM_MOVED:
        buf_put_text(out, fsm_state_name(machine, outcome->to));
        break;
    case FSM_NO_MOVE:
        buf_put_text(out, "no such move");
        break;
    case FSM_REFUSED:
        buf_put_text(out, "refused: ");
        buf_put_text(out, machine->guards.at[outcome->guard].name);
        break;
    }
}

/* Checking ------------------------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static int fault(struct fsm_why *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(why->text, sizeof(why->text), format, args);
    va_end(args);
    return ERR_MALFORMED;
}

/* The set of the first count numbers. */
static uint32_t first_numbers(unsigned count)
{
    assert(count <= FSM_MAX);
    return FSM_BIT(count) - 1;
}

static bool is_word(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return name != NULL && name[0] != 0 && name[strspn(name, letters)] == 0;
}

static int check_words(const struct fsm_words *words, const char *what, struct fsm_why *why)
{
    if (words->count > FSM_MAX) {
        return fault(why, "%u %ss, at most %u", words->count, what, FSM_MAX);
    }
    for (unsigned i = 0; i < words->count; i++) {
        const char *name = words->at[i].name;
        if (!is_word(name)) {
            return fault(why, "%s %u has a name that is no word", what, i);
        }
        if (words->at[i].about == NULL) {
            return fault(why, "%s %s has nothing about it", what, name);
        }
        for (unsigned j = 0; j < i; j++) {
            if (strcmp(words->at[j].name, name) == 0) {
                return fault(why, "%s %s is there twice", what, name);
            }
        }
    }
    return 0;
}

/* Is everything that the move names there? */
static int check_names(const struct fsm *machine, unsigned number, struct fsm_why *why)
{
    const struct fsm_move *move = &machine->moves[number];
    uint32_t states = first_numbers(machine->states.count) | FSM_BIT(FSM_NEW);
    if (move->from == 0) {
        return fault(why, "move %u begins nowhere", number);
    }
    if ((move->from & ~states) != 0 || move->to >= machine->states.count) {
        return fault(why, "move %u names a state that is not there", number);
    }
    if (move->event >= machine->events.count) {
        return fault(why, "move %u names an event that is not there", number);
    }
    if ((move->guards & ~first_numbers(machine->guards.count)) != 0) {
        return fault(why, "move %u names a guard that is not there", number);
    }
    return 0;
}

/* Is there something that would take the move? Not where one before it asks for no more. */
static int check_order(const struct fsm *machine, unsigned number, struct fsm_why *why)
{
    const struct fsm_move *move = &machine->moves[number];
    for (unsigned i = 0; i < number; i++) {
        const struct fsm_move *before = &machine->moves[i];
        uint32_t both = move->from & before->from;
        if (before->event == move->event && both != 0 && (before->guards & ~move->guards) == 0) {
            return fault(why, "move %u is never taken from %s: move %u is before it", number,
                         fsm_state_name(machine, first_of(both)), i);
        }
    }
    return 0;
}

static int check_moves(const struct fsm *machine, struct fsm_why *why)
{
    int rv = 0;
    for (unsigned i = 0; rv == 0 && i < machine->move_count; i++) {
        rv = check_names(machine, i, why);
    }
    for (unsigned i = 0; rv == 0 && i < machine->move_count; i++) {
        rv = check_order(machine, i, why);
    }
    return rv;
}

/* What is used, over all moves. */
struct uses {
    uint32_t left; /* States. */
    uint32_t reached;
    uint32_t events;
    uint32_t guards;
};

static struct uses uses_of(const struct fsm *machine)
{
    struct uses uses = {.reached = FSM_BIT(FSM_NEW)};
    uint32_t before = 0;
    while (uses.reached != before) { /* Until a round reaches nothing new. */
        before = uses.reached;
        for (unsigned i = 0; i < machine->move_count; i++) {
            const struct fsm_move *move = &machine->moves[i];
            uses.left |= move->from;
            uses.reached |= (move->from & uses.reached) != 0 ? FSM_BIT(move->to) : 0;
            uses.events |= FSM_BIT(move->event);
            uses.guards |= move->guards;
        }
    }
    return uses;
}

static int check_states(const struct fsm *machine, const struct uses *uses, struct fsm_why *why)
{
    if ((machine->terminal & ~first_numbers(machine->states.count)) != 0) {
        return fault(why, "a terminal state is not there");
    }
    for (unsigned i = 0; i < machine->states.count; i++) {
        const char *name = machine->states.at[i].name;
        bool terminal = fsm_has(machine->terminal, i);
        if (!fsm_has(uses->reached, i)) {
            return fault(why, "state %s cannot be reached", name);
        }
        if (terminal && fsm_has(uses->left, i)) {
            return fault(why, "state %s is terminal and can be left", name);
        }
        if (!terminal && !fsm_has(uses->left, i)) {
            return fault(why, "state %s cannot be left and is not terminal", name);
        }
    }
    return 0;
}

static int check_used(const struct fsm_words *words, uint32_t used, const char *what,
                      struct fsm_why *why)
{
    uint32_t unused = first_numbers(words->count) & ~used;
    return unused == 0 ? 0
                       : fault(why, "%s %s is in no move", what, words->at[first_of(unused)].name);
}

int fsm_check(const struct fsm *machine, struct fsm_why *why)
{
    int rv = is_word(machine->name) && machine->about != NULL ? 0 : fault(why, "it has no name");
    if (rv == 0) {
        rv = check_words(&machine->states, "state", why);
    }
    if (rv == 0) {
        rv = check_words(&machine->events, "event", why);
    }
    if (rv == 0) {
        rv = check_words(&machine->guards, "guard", why);
    }
    if (rv == 0) {
        rv = check_moves(machine, why);
    }
    if (rv != 0) {
        return rv;
    }
    struct uses uses = uses_of(machine); /* Only now is every number known to be one. */
    rv = check_states(machine, &uses, why);
    if (rv == 0) {
        rv = check_used(&machine->events, uses.events, "event", why);
    }
    if (rv == 0) {
        rv = check_used(&machine->guards, uses.guards, "guard", why);
    }
    return rv;
}
