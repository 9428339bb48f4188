#include "ucan/glob.h"

/* A pattern that begins to match at each place where its last star may end. */
struct glob {
    struct bytes pattern;
    struct bytes text;
    size_t at;     /* In the pattern. */
    size_t in;     /* In the text. */
    size_t star;   /* Behind the last star; 0 before the first. */
    size_t tried;  /* Where in the text that star was last taken to end. */
    size_t looked; /* Comparisons so far. */
};

static bool at_star(const struct glob *glob)
{
    return glob->at < glob->pattern.len && glob->pattern.data[glob->at] == '*';
}

static bool at_escape(const struct glob *glob)
{
    const uint8_t *at = glob->pattern.data + glob->at;
    return glob->pattern.len - glob->at >= 2 && at[0] == '\\' && (at[1] == '*' || at[1] == '\\');
}

/* Go on by one byte that both have. */
static bool take_literal(struct glob *glob)
{
    if (glob->at == glob->pattern.len) {
        return false;
    }
    size_t literal = glob->at + (at_escape(glob) ? 1 : 0);
    if (glob->pattern.data[literal] != glob->text.data[glob->in]) {
        return false;
    }
    glob->at = literal + 1;
    glob->in++;
    return true;
}

/* Let the last star take one byte more. Earlier stars need not: the first place where what follows
 * them fits leaves the most to the rest. */
static bool stretch_star(struct glob *glob)
{
    if (glob->star == 0) {
        return false;
    }
    glob->at = glob->star;
    glob->in = ++glob->tried;
    return true;
}

enum answer glob_match(struct bytes pattern, struct bytes text, struct work *work)
{
    struct glob glob = {.pattern = pattern, .text = text};
    while (glob.in < text.len) {
        if (glob.looked++ % WORK_BYTES == 0 && !work_spend(work, 1)) {
            return ANSWER_OVER;
        }
        if (at_star(&glob)) {
            glob.star = ++glob.at;
            glob.tried = glob.in;
        } else if (!take_literal(&glob) && !stretch_star(&glob)) {
            return ANSWER_NO;
        }
    }
    while (at_star(&glob)) {
        glob.at++;
    }
    return glob.at == pattern.len ? ANSWER_YES : ANSWER_NO;
}
