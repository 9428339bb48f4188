/* Tokens that are made, looked at and judged. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/faults/pieces.h"
#include "tests/unit/support_ucan.h"

#define TOKEN_TEXT 2048u
#define DID "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp"

/* A chain of two proofs, in base64. */
static struct {
    char invocation[TOKEN_TEXT];
    char proof[2][TOKEN_TEXT];
} tokens;

void ucan_prepare(void)
{
    struct chain_draft draft = chain_of(2);
    draft.proofs[1].pol = "[[\"like\",\".lane\",\"w*k\"]]";
    draft.invocation.args = "{\"lane\":\"work\"}";
    struct made_chain made = chain_make(&draft);
    const int variant = sodium_base64_VARIANT_ORIGINAL;
    (void)sodium_bin2base64(tokens.invocation, TOKEN_TEXT, made.invocation.data,
                            made.invocation.len, variant);
    for (size_t i = 0; i < 2; i++) {
        (void)sodium_bin2base64(tokens.proof[i], TOKEN_TEXT, made.proofs[i].data,
                                made.proofs[i].len, variant);
    }
}

static int command_inspect(struct run *run)
{
    return WORDS(run, "ucan", "inspect", tokens.invocation);
}

static int command_check(struct run *run)
{
    return WORDS(run, "--json", "ucan", "check", "--time", "1767225600", "--invocation",
                 tokens.invocation, "--proof", tokens.proof[1], "--proof", tokens.proof[0]);
}

static int command_refuse(struct run *run)
{
    int rv = WORDS(run, "ucan", "check", "--time", "1767225600", "--invocation", tokens.invocation,
                   "--proof", tokens.proof[1]);
    return rv == ERR_REFUSED ? 0 : rv;
}

static int command_policy(struct run *run)
{
    return WORDS(run, "ucan", "policy", "--policy", "[[\"any\",\".a\",[\">\",\".\",1]]]", "--args",
                 "{\"a\":[1,2]}");
}

/* With the sealed key of the store. */
static int command_mint(struct run *run)
{
    char key[PATH_MAX + 32];
    char path[PATH_MAX + 32];
    (void)snprintf(key, sizeof(key), "%s/root.key", run->store);
    (void)snprintf(path, sizeof(path), "%s/" RUN_KEY, run->folder);
    return WORDS(run, "ucan", "mint", "--key", key, "--sub", DID, "--cmd", "/log", "--invocation",
                 "--proof", tokens.proof[0], "--args", "{\"a\":1}", "--out", path);
}

/* A token that was to be written is there whole, or not at all. */
static const char *check_mint(const struct run *run, bool failed)
{
    char path[PATH_MAX + 32];
    struct arena arena;
    struct ucan_token token;
    char text[TOKEN_TEXT];
    uint8_t bytes[TOKEN_TEXT];
    size_t len = 0;
    (void)snprintf(path, sizeof(path), "%s/" RUN_KEY, run->folder);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return failed ? NULL : "there is no token";
    }
    size_t text_len = fread(text, 1, sizeof(text), file);
    (void)fclose(file);
    arena_init(&arena, LIMIT_TREE_BYTES);
    bool whole = text_len > 0 && text[text_len - 1] == '\n' &&
                 sodium_base642bin(bytes, sizeof(bytes), text, text_len, "\n", &len, NULL,
                                   sodium_base64_VARIANT_ORIGINAL) == 0 &&
                 ucan_read(&arena, bytes_of(bytes, len), &token, NULL) == 0 &&
                 ucan_verify(&token) == 0;
    arena_free(&arena);
    return whole ? NULL : "the token is not whole";
}

const struct scenario scenarios_ucan[] = {
    {"ucan_inspect", STAGE_NOTHING, command_inspect, .again = 0, .keeps = true},
    {"ucan_check", STAGE_NOTHING, command_check, .again = 0, .keeps = true},
    {"ucan_refuse", STAGE_NOTHING, command_refuse, .again = 0, .keeps = true},
    {"ucan_policy", STAGE_NOTHING, command_policy, .again = 0, .keeps = true},
    {"ucan_mint", STAGE_ROOTED, command_mint, .again = ERR_EXISTS, .check = check_mint},
    {0},
};
