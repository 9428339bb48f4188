/* test_fsm.c - State machines: what every table does, written out, and tables that are refused.
 *
 * Each machine stands here a second time, as a matrix of states and events. It is tried in every
 * state, with every event and every set of guards. */
#include "tests/unit/support.h"

#include <stdio.h>

#include "fsm/draw.h"
#include "fsm/machines.h"
#include "fsm/node.h"

/* Matrices ------------------------------------------------------------------------------ */

/* The events, then for each state what each of them leads to: "-" nowhere, "A" to A, "a+b:A|B" to
 * A if the guards a and b hold, else to B. */
static const char node_matrix[] =
    "             appeared  observed  expired    renewed  revoked  readmitted "
    "(new)        Pending   -         -          -        -        -          "
    "Pending      -         Active    -          -        -        -          "
    "Active       -         -         Suspended  -        Revoked  -          "
    "Suspended    -         -         -          Active   Revoked  -          "
    "Revoked      -         -         -          -        -        Active     ";

static const struct {
    const struct fsm *machine;
    const char *matrix;
} expected[] = {
    {&node_fsm, node_matrix},
};

#define WORD_MAX 128

/* Take the text before the next of these letters. */
static void take(const char **at, const char *ends, char out[WORD_MAX])
{
    size_t len = strcspn(*at, ends);
    assert_true(len < WORD_MAX);
    memcpy(out, *at, len);
    out[len] = 0;
    *at += len;
}

static void next_word(const char **at, char out[WORD_MAX])
{
    *at += strspn(*at, " ");
    take(at, " ", out);
}

static unsigned guard_named(const struct fsm *machine, const char *name)
{
    for (unsigned i = 0; i < machine->guards.count; i++) {
        if (strcmp(machine->guards.at[i].name, name) == 0) {
            return i;
        }
    }
    fail_msg("%s has no guard %s", machine->name, name);
    return FSM_MAX;
}

/* Take the "a+b:" of an alternative, if it has one. */
static uint32_t take_guards(const struct fsm *machine, const char **at)
{
    uint32_t guards = 0;
    char name[WORD_MAX];
    bool named = (*at)[strcspn(*at, ":|")] == ':';
    while (named) {
        take(at, "+:", name);
        guards |= FSM_BIT(guard_named(machine, name));
        named = *(*at)++ == '+';
    }
    return guards;
}

/* What a cell says, as outcome_text says it; returns how many alternatives it has. */
static unsigned expect(const struct fsm *machine, const char *cell, uint32_t holding,
                       char out[WORD_MAX])
{
    unsigned count = 0;
    bool moved = false;
    if (strcmp(cell, "-") == 0) {
        strcpy(out, "-");
        return 0;
    }
    for (const char *at = cell; *at != 0; at += *at == '|' ? 1 : 0, count++) {
        uint32_t lacking = take_guards(machine, &at) & ~holding;
        char state[WORD_MAX];
        take(&at, "|", state);
        if (!moved && lacking == 0) {
            strcpy(out, state);
            moved = true;
        }
        for (unsigned i = 0; !moved && i < machine->guards.count; i++) {
            if (fsm_has(lacking, i)) {
                (void)snprintf(out, WORD_MAX, "!%s", machine->guards.at[i].name);
                break;
            }
        }
    }
    return count;
}

/* "-", the new state, or "!" and the guard that refused. */
static void outcome_text(const struct fsm *machine, struct fsm_outcome outcome, char out[WORD_MAX])
{
    switch (outcome.verdict) {
    case FSM_NO_MOVE:
        strcpy(out, "-");
        return;
    case FSM_MOVED:
        strcpy(out, fsm_state_name(machine, outcome.to));
        return;
    case FSM_REFUSED:
        (void)snprintf(out, WORD_MAX, "!%s", machine->guards.at[outcome.guard].name);
        return;
    }
}

/* So many moves stand in the table for a state and an event. */
static unsigned arrows_of(const struct fsm *machine, unsigned state, unsigned event)
{
    struct fsm_arrow arrow = {0};
    unsigned count = 0;
    while (fsm_next_arrow(machine, &arrow)) {
        count += arrow.from == state && machine->moves[arrow.move].event == event ? 1 : 0;
    }
    return count;
}

/* One cell, with every set of guards. */
static void compare_cell(const struct fsm *machine, unsigned state, unsigned event,
                         const char *cell)
{
    assert_true(machine->guards.count < 16);
    for (uint32_t holding = 0; holding < FSM_BIT(machine->guards.count); holding++) {
        char want[WORD_MAX];
        char got[WORD_MAX];
        unsigned count = expect(machine, cell, holding, want);
        outcome_text(machine, fsm_move(machine, state, event, holding), got);
        if (strcmp(got, want) != 0 || arrows_of(machine, state, event) != count) {
            fail_msg("%s: %s --%s--> with guards %x: got %s of %u moves, want %s of %u",
                     machine->name, fsm_state_name(machine, state), machine->events.at[event].name,
                     holding, got, arrows_of(machine, state, event), want, count);
        }
    }
}

static void compare(const struct fsm *machine, const char *matrix)
{
    char word[WORD_MAX];
    unsigned events = machine->events.count;
    for (unsigned event = 0; event < events; event++) {
        next_word(&matrix, word);
        assert_text(machine->name, machine->events.at[event].name, word);
    }
    for (unsigned row = 0; row <= machine->states.count; row++) {
        unsigned state = row == 0 ? FSM_NEW : row - 1;
        next_word(&matrix, word);
        assert_text(machine->name, fsm_state_name(machine, state), word);
        for (unsigned event = 0; event < events; event++) {
            next_word(&matrix, word);
            compare_cell(machine, state, event, word);
        }
    }
    next_word(&matrix, word);
    assert_text(machine->name, word, "");
}

static void every_machine_is_its_matrix(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        print_message("  %s\n", expected[i].machine->name);
        compare(expected[i].machine, expected[i].matrix);
    }
}

/* That each is found says that no two have one name. */
static void every_machine_is_whole_and_found(void **state)
{
    (void)state;
    size_t count = 0;
    for (; fsm_machines[count] != NULL; count++) {
        const struct fsm *machine = fsm_machines[count];
        assert_true(count < COUNT_OF(expected));
        struct fsm_why why = {""};
        int rv = fsm_check(machine, &why);
        assert_err(why.text, rv, 0);
        assert_ptr_equal(fsm_find(bytes_of_text(machine->name)), machine);
        assert_ptr_equal(expected[count].machine, machine);
    }
    assert_int_equal(count, COUNT_OF(expected));
    assert_null(fsm_find(bytes_of_text("")));
    assert_null(fsm_find(bytes_of_text("nodes")));
    assert_null(fsm_find(bytes_of("node", 3)));
}

/* A machine with everything that a table can have ------------------------------------------ */

enum { DRAFT, OPEN, HELD, DONE, GONE, STATES };
enum { MADE, TAKEN, RETURNED, FINISHED, SOURCE_LOST, IMPORTED, EVENTS };
enum { CHECKED, BY_HOLDER, READY, GUARDS };

#define BY(guard) FSM_BIT(guard)

struct sample {
    struct fsm_word states[STATES];
    struct fsm_word events[EVENTS];
    struct fsm_word guards[GUARDS];
    struct fsm_move moves[10];
    struct fsm machine;
};

static void sample_make(struct sample *out)
{
    *out = (struct sample){
        .states = {{"Draft", ""}, {"Open", ""}, {"Held", ""}, {"Done", ""}, {"Gone", ""}},
        .events = {{"made", ""},
                   {"taken", ""},
                   {"returned", ""},
                   {"finished", ""},
                   {"source_lost", ""},
                   {"imported", ""}},
        .guards = {{"checked", ""}, {"by_holder", ""}, {"ready", ""}},
        .moves =
            {
                {FSM_BIT(FSM_NEW), MADE, OPEN, BY(READY)},
                {FSM_BIT(FSM_NEW), MADE, DRAFT, 0},
                {FSM_BIT(DRAFT), MADE, OPEN, BY(READY)},
                {FSM_BIT(DRAFT) | FSM_BIT(OPEN), TAKEN, HELD, 0},
                {FSM_BIT(HELD), TAKEN, HELD, BY(BY_HOLDER)},
                {FSM_BIT(HELD), RETURNED, OPEN, 0},
                {FSM_BIT(HELD), FINISHED, DONE, BY(BY_HOLDER) | BY(CHECKED)},
                {FSM_BIT(HELD), FINISHED, OPEN, BY(BY_HOLDER)},
                {FSM_BIT(DRAFT) | FSM_BIT(OPEN) | FSM_BIT(HELD), SOURCE_LOST, GONE, 0},
                {FSM_BIT(FSM_NEW), IMPORTED, OPEN, 0},
            },
    };
    out->machine = (struct fsm){
        .name = "sample",
        .about = "a machine of the tests",
        .states = FSM_WORDS(out->states),
        .events = FSM_WORDS(out->events),
        .guards = FSM_WORDS(out->guards),
        .terminal = FSM_BIT(DONE) | FSM_BIT(GONE),
        .moves = out->moves,
        .move_count = FSM_COUNT(out->moves),
    };
}

static const char sample_matrix[] =
    "       made             taken          returned finished      source_lost imported "
    "(new)  ready:Open|Draft -              -        -             -           Open     "
    "Draft  ready:Open       Held           -        -             Gone        -        "
    "Open   -                Held           -        -             Gone        -        "
    "Held   -                by_holder:Held Open     "
    "checked+by_holder:Done|by_holder:Open                         Gone        -        "
    "Done   -                -              -        -             -           -        "
    "Gone   -                -              -        -             -           -        ";

static void guards_decide(void **state)
{
    (void)state;
    struct sample s;
    struct fsm_why why = {""};
    sample_make(&s);
    int rv = fsm_check(&s.machine, &why);
    assert_err(why.text, rv, 0);
    compare(&s.machine, sample_matrix);
    assert_int_equal(fsm_initial(&s.machine), FSM_BIT(DRAFT) | FSM_BIT(OPEN));
    assert_int_equal(fsm_initial(&node_fsm), FSM_BIT(NODE_PENDING));
}

static void traces_read_as_sentences(void **state)
{
    (void)state;
    static const struct {
        unsigned state, event;
        uint32_t holding;
        const char *want;
    } cases[] = {
        {FSM_NEW, MADE, BY(READY), "sample: (new) --made--> Open"},
        {HELD, TAKEN, BY(BY_HOLDER), "sample: Held --taken--> Held"},
        {HELD, TAKEN, BY(CHECKED), "sample: Held --taken--> refused: by_holder"},
        {HELD, FINISHED, 0, "sample: Held --finished--> refused: by_holder"},
        {DONE, TAKEN, ~0u, "sample: Done --taken--> no such move"},
    };
    struct sample s;
    sample_make(&s);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[WORD_MAX] = "";
        struct buf out = buf_over(text, sizeof(text) - 1);
        struct fsm_outcome outcome = fsm_move(&s.machine, cases[i].state, cases[i].event,
                                              cases[i].holding);
        fsm_put_trace(&s.machine, cases[i].state, cases[i].event, &outcome, &out);
        assert_text("trace", text, cases[i].want);
    }
}

/* The life of a node, with what cannot happen in between. */
static void a_node_lives(void **state)
{
    (void)state;
    static const unsigned life[] = {
        NODE_EVENT_OBSERVED, NODE_EVENT_APPEARED,   NODE_EVENT_REVOKED, NODE_EVENT_OBSERVED,
        NODE_EVENT_EXPIRED,  NODE_EVENT_READMITTED, NODE_EVENT_RENEWED, NODE_EVENT_REVOKED,
        NODE_EVENT_RENEWED,  NODE_EVENT_READMITTED,
    };
    char text[1024] = "";
    struct buf out = buf_over(text, sizeof(text) - 1);
    unsigned at = FSM_NEW;
    for (size_t i = 0; i < COUNT_OF(life); i++) {
        struct fsm_outcome outcome = fsm_move(&node_fsm, at, life[i], 0);
        fsm_put_trace(&node_fsm, at, life[i], &outcome, &out);
        buf_put_text(&out, "\n");
        at = outcome.verdict == FSM_MOVED ? outcome.to : at;
    }
    assert_ok(buf_error(&out));
    assert_text("life", text,
                "node: (new) --observed--> no such move\n"
                "node: (new) --appeared--> Pending\n"
                "node: Pending --revoked--> no such move\n"
                "node: Pending --observed--> Active\n"
                "node: Active --expired--> Suspended\n"
                "node: Suspended --readmitted--> no such move\n"
                "node: Suspended --renewed--> Active\n"
                "node: Active --revoked--> Revoked\n"
                "node: Revoked --renewed--> no such move\n"
                "node: Revoked --readmitted--> Active\n");
}

/* Broken tables ---------------------------------------------------------------------------- */

/* The sample s with a change is refused, for this reason. */
#define assert_broken(want, ...)                                                                   \
    do {                                                                                           \
        struct sample s;                                                                           \
        struct fsm_why why_ = {""};                                                                \
        sample_make(&s);                                                                           \
        __VA_ARGS__;                                                                               \
        assert_err((want), fsm_check(&s.machine, &why_), ERR_MALFORMED);                           \
        assert_text("the reason", why_.text, (want));                                              \
    } while (0)

static void names_that_are_none(void **state)
{
    (void)state;
    assert_broken("it has no name", s.machine.name = NULL);
    assert_broken("it has no name", s.machine.name = "two words");
    assert_broken("it has no name", s.machine.about = NULL);
    assert_broken("state 2 has a name that is no word", s.states[HELD].name = NULL);
    assert_broken("state 2 has a name that is no word", s.states[HELD].name = "");
    assert_broken("event 1 has a name that is no word", s.events[TAKEN].name = "was taken");
    assert_broken("event 1 has a name that is no word", s.events[TAKEN].name = "\"taken\"");
    assert_broken("guard 2 has a name that is no word", s.guards[READY].name = "is-ready");
    assert_broken("state Held has nothing about it", s.states[HELD].about = NULL);
    assert_broken("event taken has nothing about it", s.events[TAKEN].about = NULL);
    assert_broken("guard checked has nothing about it", s.guards[CHECKED].about = NULL);
    assert_broken("state Draft is there twice", s.states[GONE].name = "Draft");
    assert_broken("event taken is there twice", s.events[RETURNED].name = "taken");
    assert_broken("guard checked is there twice", s.guards[READY].name = "checked");
}

static void moves_that_name_what_is_not_there(void **state)
{
    (void)state;
    assert_broken("move 3 begins nowhere", s.moves[3].from = 0);
    assert_broken("move 3 names a state that is not there", s.moves[3].from |= FSM_BIT(STATES));
    assert_broken("move 3 names a state that is not there", s.moves[3].to = STATES);
    assert_broken("move 3 names a state that is not there", s.moves[3].to = FSM_NEW);
    assert_broken("move 3 names a state that is not there", s.moves[3].to = 1000);
    assert_broken("move 3 names an event that is not there", s.moves[3].event = EVENTS);
    assert_broken("move 3 names an event that is not there", s.moves[3].event = 1000);
    assert_broken("move 3 names a guard that is not there", s.moves[3].guards = BY(GUARDS));
    assert_broken("move 0 names a guard that is not there", s.machine.guards.count = 0);
    assert_broken("a terminal state is not there", s.machine.terminal |= FSM_BIT(STATES));
    assert_broken("a terminal state is not there", s.machine.terminal |= FSM_BIT(FSM_NEW));
}

static void states_without_a_way(void **state)
{
    (void)state;
    assert_broken("state Open is terminal and can be left", s.machine.terminal |= FSM_BIT(OPEN));
    assert_broken("state Done cannot be left and is not terminal",
                  s.machine.terminal = FSM_BIT(GONE));
    assert_broken("state Done cannot be reached", s.moves[6].to = OPEN);
    assert_broken("state Draft cannot be reached", s.machine.move_count = 0);
    /* Held and Open lead to each other, but no creation to them. */
    assert_broken("state Open cannot be reached",
                  s.moves[0].to = s.moves[2].to = s.moves[9].to = DRAFT;
                  s.moves[3].from = FSM_BIT(OPEN));
    assert_broken("event returned is in no move", s.moves[5].event = FINISHED;
                  s.moves[5].from = FSM_BIT(OPEN));
    assert_broken("guard ready is in no move", s.moves[0].from = FSM_BIT(OPEN);
                  s.moves[0].guards = s.moves[2].guards = 0);
}

static void moves_that_are_never_taken(void **state)
{
    (void)state;
    assert_broken("move 1 is never taken from (new): move 0 is before it", s.moves[0].guards = 0);
    assert_broken("move 1 is never taken from (new): move 0 is before it",
                  s.moves[1].guards = BY(READY) | BY(CHECKED));
    assert_broken("move 7 is never taken from Held: move 6 is before it",
                  s.moves[6].guards = BY(BY_HOLDER));
    assert_broken("move 4 is never taken from Held: move 3 is before it",
                  s.moves[3].from |= FSM_BIT(HELD));
    assert_broken("move 8 is never taken from Open: move 5 is before it",
                  s.moves[5] = (struct fsm_move){FSM_BIT(OPEN), SOURCE_LOST, HELD, 0});
}

/* A chain of count states, with as many events and guards. Its last move stands first. */
static int check_chain(unsigned count, struct fsm_why *why)
{
    static struct fsm_word words[FSM_MAX + 1];
    static struct fsm_move moves[FSM_MAX + 1];
    static char names[FSM_MAX + 1][4];
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "n%u", i);
        words[i] = (struct fsm_word){names[i], ""};
        moves[count - 1 - i] = (struct fsm_move){
            .from = FSM_BIT(i == 0 ? FSM_NEW : i - 1), .event = i, .to = i, .guards = FSM_BIT(i)};
    }
    struct fsm_words all = {.at = words, .count = count};
    struct fsm machine = {.name = "chain",
                          .about = "",
                          .states = all,
                          .events = all,
                          .guards = all,
                          .terminal = FSM_BIT(count - 1),
                          .moves = moves,
                          .move_count = count};
    return fsm_check(&machine, why);
}

static void as_many_as_fit(void **state)
{
    (void)state;
    struct fsm_why why = {""};
    assert_err(why.text, check_chain(FSM_MAX - 1, &why), 0);
    assert_err(why.text, check_chain(FSM_MAX, &why), 0);
    assert_err("one too many", check_chain(FSM_MAX + 1, &why), ERR_MALFORMED);
    assert_text("the reason", why.text, "32 states, at most 31");
    assert_broken("32 events, at most 31", s.machine.events.count = FSM_MAX + 1);
    assert_broken("32 guards, at most 31", s.machine.guards.count = FSM_MAX + 1);
}

/* Pictures --------------------------------------------------------------------------------- */

static void assert_drawn(void (*draw)(const struct fsm *, struct buf *), const char *want)
{
    struct sample s;
    char text[2048] = "";
    struct buf out = buf_over(text, sizeof(text) - 1);
    sample_make(&s);
    draw(&s.machine, &out);
    assert_ok(buf_error(&out));
    assert_text("drawn", text, want);
}

static void pictures(void **state)
{
    (void)state;
    assert_drawn(fsm_draw_tree, "(new)\n"
                                "├─ made [ready] → Open\n"
                                "│  ├─ taken → Held\n"
                                "│  │  ├─ taken [by_holder] → Held …\n"
                                "│  │  ├─ returned → Open …\n"
                                "│  │  ├─ finished [checked and by_holder] → Done\n"
                                "│  │  ├─ finished [by_holder] → Open …\n"
                                "│  │  └─ source_lost → Gone\n"
                                "│  └─ source_lost → Gone\n"
                                "├─ made → Draft\n"
                                "│  ├─ made [ready] → Open …\n"
                                "│  ├─ taken → Held …\n"
                                "│  └─ source_lost → Gone\n"
                                "└─ imported → Open …\n");
    assert_drawn(fsm_draw_mermaid, "stateDiagram-v2\n"
                                   "    direction LR\n"
                                   "    [*] --> Open: made [ready]\n"
                                   "    [*] --> Draft: made\n"
                                   "    Draft --> Open: made [ready]\n"
                                   "    Draft --> Held: taken\n"
                                   "    Open --> Held: taken\n"
                                   "    Held --> Held: taken [by_holder]\n"
                                   "    Held --> Open: returned\n"
                                   "    Held --> Done: finished [checked and by_holder]\n"
                                   "    Held --> Open: finished [by_holder]\n"
                                   "    Draft --> Gone: source_lost\n"
                                   "    Open --> Gone: source_lost\n"
                                   "    Held --> Gone: source_lost\n"
                                   "    [*] --> Open: imported\n"
                                   "    Done --> [*]\n"
                                   "    Gone --> [*]\n");
    assert_drawn(fsm_draw_dot,
                 "digraph \"sample\" {\n"
                 "    rankdir=LR;\n"
                 "    node [shape=box, style=rounded, fontname=\"sans-serif\"];\n"
                 "    edge [fontname=\"sans-serif\", fontsize=10];\n"
                 "    \"(new)\" [shape=point, width=0.15];\n"
                 "    \"Draft\";\n"
                 "    \"Open\";\n"
                 "    \"Held\";\n"
                 "    \"Done\" [peripheries=2];\n"
                 "    \"Gone\" [peripheries=2];\n"
                 "    \"(new)\" -> \"Open\" [label=\"made [ready]\"];\n"
                 "    \"(new)\" -> \"Draft\" [label=\"made\"];\n"
                 "    \"Draft\" -> \"Open\" [label=\"made [ready]\"];\n"
                 "    \"Draft\" -> \"Held\" [label=\"taken\"];\n"
                 "    \"Open\" -> \"Held\" [label=\"taken\"];\n"
                 "    \"Held\" -> \"Held\" [label=\"taken [by_holder]\"];\n"
                 "    \"Held\" -> \"Open\" [label=\"returned\"];\n"
                 "    \"Held\" -> \"Done\" [label=\"finished [checked and by_holder]\"];\n"
                 "    \"Held\" -> \"Open\" [label=\"finished [by_holder]\"];\n"
                 "    \"Draft\" -> \"Gone\" [label=\"source_lost\"];\n"
                 "    \"Open\" -> \"Gone\" [label=\"source_lost\"];\n"
                 "    \"Held\" -> \"Gone\" [label=\"source_lost\"];\n"
                 "    \"(new)\" -> \"Open\" [label=\"imported\"];\n"
                 "}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_machine_is_its_matrix),
        cmocka_unit_test(every_machine_is_whole_and_found),
        cmocka_unit_test(guards_decide),
        cmocka_unit_test(traces_read_as_sentences),
        cmocka_unit_test(a_node_lives),
        cmocka_unit_test(names_that_are_none),
        cmocka_unit_test(moves_that_name_what_is_not_there),
        cmocka_unit_test(states_without_a_way),
        cmocka_unit_test(moves_that_are_never_taken),
        cmocka_unit_test(as_many_as_fit),
        cmocka_unit_test(pictures),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
