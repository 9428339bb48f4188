#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/limits.h"
#include "node/newfile.h"
#include "node/say.h"
#include "node/scratch.h"
#include "node/session.h"
#include "oplog/id.h"

#define WORDS_MAX 12
#define KEPT_MAX 16
#define ID_LETTERS 14 /* Of an id, enough to name an op of one node. */
#define LETTER "We open at nine and close at six.\n"

/* One thing after the other: a scene begins, something is explained, or a command is run. */
struct step {
    const char *scene;
    const char *text;
    const char *device;
    const char *words[WORDS_MAX + 1]; /* "./x": a file. "@x": what an earlier step kept as x. */
    const char *field;                /* Of the answer, kept for later steps … */
    const char *as;                   /* … under this name. */
    uint8_t lines;                    /* Of the answer are shown to people; 0: all. */
    bool later;                       /* Some time passes first. */
};

static const struct step story[] = {
    {.text =
         "Two devices keep one log of signed ops, each on its own disk. They write while apart, "
         "exchange what the other lacks, and end with the same state. Each command below is "
         "run as it stands; `laptop$` and `phone$` say on which device."},
    {.scene = "The laptop founds a mesh. The phone makes a key of its own, and the laptop signs a "
              "token that admits it. Private keys never leave their devices."},
    {.device = "laptop", .words = {"init", "--name", "laptop"}, .field = "mesh", .as = "mesh"},
    {.device = "phone",
     .words = {"init", "--name", "phone", "--mesh", "@mesh"},
     .field = "node",
     .as = "phone",
     .lines = 1},
    {.device = "laptop",
     .words = {"delegate", "@phone", "--cmd", "/", "--out", "./phone.token"},
     .lines = 1},
    {.device = "phone", .words = {"accept", "./phone.token"}, .lines = 1},

    {.scene = "letter.txt says: “We open at nine and close at six.” The letter is evidence. What "
              "is read out of it are claims, and each names what it rests on. (Ids may be "
              "shortened.)"},
    {.device = "laptop",
     .words = {"evidence", "add", "./letter.txt", "--type", "letter"},
     .field = "id",
     .as = "letter"},
    {.device = "laptop",
     .words = {"claim", "add", "--subject", "bakery", "--predicate", "opens", "--object", "09:00",
               "--support", "@letter"},
     .field = "id",
     .as = "opens"},
    {.device = "laptop",
     .words = {"claim", "add", "--subject", "bakery", "--predicate", "closes", "--object", "18:00",
               "--support", "@letter"},
     .field = "id",
     .as = "closes"},
    {.device = "laptop",
     .words = {"action", "add", "Buy bread on the way home", "--support", "@closes"},
     .field = "id",
     .as = "bread"},

    {.scene = "You judge. What you confirm is a Fact, which no machine can change. What you reject "
              "takes along all that rests on it, in the same commit; `why` tells that of each."},
    {.device = "laptop", .words = {"claim", "confirm", "@opens"}},
    {.device = "laptop", .words = {"claim", "reject", "@closes"}},
    {.device = "laptop", .words = {"why", "@bread"}},

    {.scene = "A bundle carries the ops to the phone: a file on a stick, or a pipe. The phone "
              "checks every signature and comes to the same state by itself."},
    {.device = "laptop", .words = {"export", "./monday.bundle"}},
    {.device = "phone", .words = {"import", "./monday.bundle"}},

    {.scene = "Now the two are out of reach of each other. With the phone in your hand you stand "
              "before a closed door: the bakery does not open at nine."},
    {.device = "phone", .words = {"claim", "reject", "@opens"}},
    {.text = "A little later the laptop, which has not heard of it, builds on that Fact:"},
    {.device = "laptop",
     .words = {"claim", "add", "--text", "We can have breakfast there at nine.", "--support",
               "@opens"},
     .field = "id",
     .as = "breakfast",
     .later = true},
    {.device = "laptop",
     .words = {"action", "add", "Ask Ada to come along", "--support", "@breakfast"},
     .field = "id",
     .as = "ask"},
    {.device = "laptop", .words = {"action", "status", "@ask", "Approved"}},

    {.scene = "The phone is back, and what it wrote arrives late. It takes its place in the order "
              "of the log, before what the laptop wrote. Only what depends on it is judged anew: "
              "the laptop's claim rested on a rejected one from the start, and its action could "
              "never be approved."},
    {.device = "phone", .words = {"export", "./tuesday.bundle"}},
    {.device = "laptop", .words = {"import", "./tuesday.bundle"}},
    {.text = "Nothing is lost or overwritten. `why` shows what the claim was before, and who "
             "changed it:"},
    {.device = "laptop", .words = {"why", "@opens"}},
    {.text = "and why what you approved is off:"},
    {.device = "laptop", .words = {"why", "@ask"}},

    {.scene = "The other way round, and both devices have the same ops (log) and the same state "
              "(digest), though they heard of it in different orders."},
    {.device = "laptop", .words = {"export", "./wednesday.bundle"}},
    {.device = "phone", .words = {"import", "./wednesday.bundle"}},
    {.device = "laptop", .words = {"digest"}, .field = "digest", .as = "digest of the laptop"},
    {.device = "phone", .words = {"digest"}, .field = "digest", .as = "digest of the phone"},
};

/* What a step's answer leaves for later ones. */
struct kept {
    const char *name;
    char text[OP_HASH_TEXT];
};

struct demo {
    struct call *call;
    const char *folder; /* Of both stores, and of the files that go between them. */
    struct kept kept[KEPT_MAX];
    uint32_t kept_count;
    int64_t scenes;
};

/* Talking ------------------------------------------------------------------------------- */

static int tell(struct demo *demo, const struct step *step)
{
    struct arena *arena = demo->call->arena;
    struct value response = value_map();
    arena_reset(arena);
    if (step->scene != NULL) {
        value_put(arena, &response, "scene", value_int(++demo->scenes));
    }
    value_put(arena, &response, "text", value_text(step->scene != NULL ? step->scene : step->text));
    return call_emit(demo->call, &response);
}

/* Words --------------------------------------------------------------------------------- */

static void keep(struct demo *demo, const struct step *step, const struct value *answer)
{
    struct bytes text = text_of(answer, step->field);
    bool is_id = text.len == OP_ID_TEXT - 1;
    assert(demo->kept_count < KEPT_MAX);
    struct kept *kept = &demo->kept[demo->kept_count++];
    kept->name = step->as;
    (void)snprintf(kept->text, sizeof(kept->text), "%.*s", is_id ? ID_LETTERS : (int)text.len,
                   (const char *)text.data);
}

static const char *kept_as(const struct demo *demo, const char *name)
{
    uint32_t at = 0;
    while (at < demo->kept_count && strcmp(demo->kept[at].name, name) != 0) {
        at++;
    }
    assert(at < demo->kept_count);
    return demo->kept[at].text;
}

/* A word as it is shown to somebody who is in the demo's folder. */
static const char *shown_word(const struct demo *demo, const char *word)
{
    if (word[0] == '@') {
        return kept_as(demo, word + 1);
    }
    return strncmp(word, "./", 2) == 0 ? word + 2 : word;
}

/* The same word as it is run; NULL when there is no memory for it. */
static const char *real_word(const struct demo *demo, const char *word)
{
    const char *shown = shown_word(demo, word);
    return strncmp(word, "./", 2) != 0
               ? shown
               : (const char *)arena_format(demo->call->arena, "%s/%s", demo->folder, shown).data;
}

static struct value shown_words(const struct demo *demo, const struct step *step)
{
    struct value words = value_array();
    for (int i = 0; step->words[i] != NULL; i++) {
        value_push(demo->call->arena, &words, value_text(shown_word(demo, step->words[i])));
    }
    return words;
}

/* Running commands ---------------------------------------------------------------------- */

/* What a command would have answered to somebody who is in the demo's folder. */
static struct value shown_answer(const struct demo *demo, const struct value *answer)
{
    struct value shown = value_map();
    size_t len = strlen(demo->folder);
    for (uint32_t i = 0; i < answer->count; i++) {
        struct value value = answer->entries[i].value;
        if (value.type == VALUE_TEXT && value.bytes.len > len &&
            memcmp(value.bytes.data, demo->folder, len) == 0) {
            value.bytes = bytes_of(value.bytes.data + len + 1, value.bytes.len - len - 1);
        }
        value_put_key(demo->call->arena, &shown, answer->entries[i].key, value);
    }
    return shown;
}

/* Run words as the program would. The answer lives in the call's arena. */
static int run_words(struct demo *demo, const char *store, int count, const char *const words[],
                     struct value *answer)
{
    struct call *call = demo->call;
    struct session session;
    struct json_why why;
    session_begin(&session, count, words, -1);
    printer_init_memory(&session.printer, session_print(&session), 0);
    session.printer.json = true;
    int rv = session_run(&session, store);
    if (rv != 0) {
        rv = call_fail(call, rv, "The demo stopped at `%s`: %s", words[0], session.call.message);
    } else {
        struct bytes said = arena_copy(call->arena, buf_bytes(&session.printer.out));
        rv = arena_error(call->arena);
        if (rv == 0) {
            rv = value_from_json_within(call->arena, said, LIMIT_TREE_DEPTH, answer, &why);
        }
        rv = rv != 0 ? call_fail_tree(call, rv) : 0;
    }
    session_end(&session);
    return rv;
}

/* Run a command on one of the devices, and show it with its answer. */
static int run_step(struct demo *demo, const struct step *step)
{
    struct arena *arena = demo->call->arena;
    const char *words[WORDS_MAX];
    struct value response = value_map();
    struct value answer;
    int count = 0;
    arena_reset(arena);
    for (; step->words[count] != NULL; count++) {
        words[count] = real_word(demo, step->words[count]);
    }
    struct bytes store = arena_format(arena, "%s/%s", demo->folder, step->device);
    int rv = arena_error(arena);
    if (rv != 0) {
        return call_fail_tree(demo->call, rv);
    }
    rv = run_words(demo, (const char *)store.data, count, words, &answer);
    if (rv != 0) {
        return rv;
    }
    value_put(arena, &response, "device", value_text(step->device));
    value_put(arena, &response, "command", shown_words(demo, step));
    value_put(arena, &response, "answer", shown_answer(demo, &answer));
    if (step->lines > 0) {
        value_put(arena, &response, "lines", value_int(step->lines));
    }
    rv = call_emit(demo->call, &response);
    if (step->field != NULL) {
        keep(demo, step, &answer);
    }
    return rv;
}

/* Until the clock of this machine has moved on, so that what comes next is dated later. */
static void let_time_pass(void)
{
    struct timespec time = {.tv_nsec = 20000000};
    (void)nanosleep(&time, NULL);
}

/* The whole ----------------------------------------------------------------------------- */

static int write_letter(struct demo *demo)
{
    struct newfile file;
    struct bytes path = arena_format(demo->call->arena, "%s/letter.txt", demo->folder);
    int rv = arena_error(demo->call->arena);
    if (rv != 0) {
        return call_fail_tree(demo->call, rv);
    }
    rv = newfile_open(&file, (const char *)path.data);
    if (rv == 0) {
        rv = newfile_write(&file, bytes_of_text(LETTER));
    }
    if (rv == 0) {
        rv = newfile_finish(&file);
    }
    if (rv != 0) {
        (void)call_fail(demo->call, rv, "The demo cannot write %s: %s.", (const char *)path.data,
                        strerror(errno));
    }
    newfile_close(&file);
    return rv;
}

static int play(struct demo *demo)
{
    int rv = write_letter(demo);
    for (size_t i = 0; rv == 0 && i < sizeof(story) / sizeof(story[0]); i++) {
        const struct step *step = &story[i];
        if (step->later) {
            let_time_pass();
        }
        rv = step->device == NULL ? tell(demo, step) : run_step(demo, step);
        if (rv == 0) {
            rv = call_flush(demo->call);
        }
    }
    if (rv == 0 &&
        strcmp(kept_as(demo, "digest of the laptop"), kept_as(demo, "digest of the phone")) != 0) {
        rv = call_fail(demo->call, ERR_CORRUPT, "The digests of the two devices differ.");
    }
    const struct step end = {.text = "They are equal. The folder of this demo is gone again; begin "
                                     "your own with `meshlog init`."};
    return rv != 0 ? rv : tell(demo, &end);
}

int run_demo(struct call *call)
{
    struct demo demo = {.call = call};
    struct scratch scratch;
    int rv = scratch_open_for(call, "demo", &scratch);
    if (rv != 0) {
        return rv;
    }
    demo.folder = scratch.path;
    rv = play(&demo);
    scratch_close(&scratch);
    return rv;
}
