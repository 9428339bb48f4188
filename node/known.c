#include "node/known.h"

#include <stdio.h>

#include "base/text.h"
#include "oplog/payload.h"

/* What every did:key of Ed25519 begins with, and how much more names a node. */
#define DID_START "did:key:z"
#define DID_LETTERS 6u

bool next_key(struct op_author *key)
{
    size_t i = sizeof(key->b);
    while (i > 0 && ++key->b[i - 1] == 0) {
        i--;
    }
    return i > 0;
}

/* Walking ------------------------------------------------------------------------------- */

/* Note what a step to the next of one sort came to. */
static int note_next(int rv, bool *has)
{
    *has = rv == 0;
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

int known_walk(struct txn *txn, struct known_walk *out)
{
    static const struct op_author first = {{0}};
    *out = (struct known_walk){.txn = txn};
    int rv = note_next(author_next(txn, &first, &out->author), &out->has_author);
    if (rv == 0) {
        rv = note_next(audience_next(txn, &out->audience, true), &out->has_audience);
    }
    return rv;
}

static int next_author(struct known_walk *walk)
{
    struct op_author at = walk->author.key;
    int rv = next_key(&at) ? author_next(walk->txn, &at, &walk->author) : ERR_UNKNOWN_ID;
    return note_next(rv, &walk->has_author);
}

int known_next(struct known_walk *walk, struct known *out)
{
    int rv = 0;
    if (!walk->has_author && !walk->has_audience) {
        return ERR_UNKNOWN_ID;
    }
    int order = walk->has_author ? -1 : 1;
    if (walk->has_author && walk->has_audience) {
        order = memcmp(walk->author.key.b, walk->audience.b, sizeof(walk->audience.b));
    }
    *out = (struct known){.key = walk->audience, .has_written = order <= 0};
    if (order <= 0) {
        memcpy(out->key.b, walk->author.key.b, sizeof(out->key.b));
        out->author = walk->author;
        rv = next_author(walk);
    }
    if (rv == 0 && order >= 0) {
        rv = note_next(audience_next(walk->txn, &walk->audience, false), &walk->has_audience);
    }
    return rv;
}

/* Names --------------------------------------------------------------------------------- */

bool is_name(struct bytes text)
{
    char room[4 * LIMIT_NAME];
    struct buf escaped = buf_over(room, sizeof(room));
    if (text.len == 0 || text.len > LIMIT_NAME) {
        return false;
    }
    text_escape(text, sizeof(room), &escaped);
    return buf_error(&escaped) == 0 && bytes_equal(buf_bytes(&escaped), text);
}

static int read_name(struct bytes payload, struct known_name *out)
{
    struct arena arena;
    struct value fields;
    struct bytes text;
    arena_init(&arena, LIMIT_TREE_BYTES);
    int rv = payload_fields(&arena, payload, &fields);
    if (rv == 0 && value_get_text(&fields, "name", &text) && is_name(text)) {
        memcpy(out->text, text.data, text.len);
        out->text[text.len] = 0;
    }
    arena_free(&arena);
    return rv == ERR_NO_MEMORY ? rv : 0;
}

/* The first op by an author; ERR_UNKNOWN_ID while it has none. */
static int name_of_first(struct txn *txn, uint32_t ix, struct known_name *out)
{
    struct walk walk;
    struct walk_item first;
    int rv = walk_author(txn, ix, 1, &walk);
    if (rv != 0) {
        return rv;
    }
    rv = walk_next(&walk, &first);
    if (rv == 0 && first.row.payload_state != PAYLOAD_ABSENT) {
        rv = read_name(first.row.op.payload, out);
    }
    walk_end(&walk);
    return rv;
}

int known_name(struct txn *txn, const struct ucan_key *key, struct known_name *out)
{
    struct op_author self;
    struct author author;
    memcpy(self.b, key->b, sizeof(self.b));
    out->text[0] = 0;
    int rv = author_find(txn, &self, &author);
    if (rv == 0) {
        rv = name_of_first(txn, author.ix, out);
    }
    return rv == ERR_UNKNOWN_ID || rv == ERR_CORRUPT ? 0 : rv;
}

struct value view_name(struct arena *arena, const struct known_name *name)
{
    return name->text[0] == 0 ? value_null()
                              : value_text_of(arena_copy(arena, bytes_of_text(name->text)));
}

const char *node_state_text(enum node_state state)
{
    static const char *const texts[] = {[NODE_PENDING] = "Pending",
                                        [NODE_ACTIVE] = "Active",
                                        [NODE_SUSPENDED] = "Suspended",
                                        [NODE_REVOKED] = "Revoked"};
    return texts[state];
}

/* Finding one --------------------------------------------------------------------------- */

static bool begins_with(struct bytes text, struct bytes beginning)
{
    return text.len >= beginning.len && memcmp(text.data, beginning.data, beginning.len) == 0;
}

/* Is it the node that is meant? */
static int is_meant(struct txn *txn, const struct ucan_key *key, struct bytes text, bool by_did,
                    bool *out)
{
    char did[LIMIT_DID];
    struct known_name name;
    if (by_did) {
        did_encode(key->b, did);
        *out = begins_with(bytes_of_text(did), text);
        return 0;
    }
    int rv = known_name(txn, key, &name);
    *out = rv == 0 && bytes_equal(bytes_of_text(name.text), text);
    return rv;
}

static int find_node(struct txn *txn, struct bytes text, bool by_did, struct ucan_key *out)
{
    struct known_walk walk;
    struct known known;
    unsigned count = 0;
    int rv = known_walk(txn, &walk);
    while (rv == 0 && count < 2 && (rv = known_next(&walk, &known)) == 0) {
        bool meant;
        rv = is_meant(txn, &known.key, text, by_did, &meant);
        if (rv == 0 && meant) {
            *out = known.key;
            count++;
        }
    }
    if (rv != 0 && rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    return count == 2 ? ERR_AMBIGUOUS_ID : count == 1 ? 0 : ERR_UNKNOWN_ID;
}

static int fail_node(struct call *call, int err, struct bytes text)
{
    int len = text.len < 120 ? (int)text.len : 120;
    const char *shown = (const char *)text.data;
    switch (err) {
    case ERR_UNKNOWN_ID:
        return call_fail(call, err, "No node here is called '%.*s': `meshlog nodes` lists them.",
                         len, shown);
    case ERR_AMBIGUOUS_ID:
        return call_fail(call, err,
                         "Several nodes here are called '%.*s': give the did:key of one, as "
                         "`meshlog nodes` lists them.",
                         len, shown);
    default:
        return call_fail_store(call, err);
    }
}

int request_node(struct call *call, struct txn *txn, struct bytes text, struct ucan_key *out)
{
    struct bytes start = bytes_of_text(DID_START);
    if (did_decode(text, out->b) == 0) {
        return 0;
    }
    bool by_did = begins_with(text, start);
    if (text.len == 0 || (by_did && text.len < start.len + DID_LETTERS)) {
        return call_fail(call, ERR_USAGE,
                         "'%.*s' names no node: give its name, its did:key, or the first %u or "
                         "more letters behind %s.",
                         (int)text.len, (const char *)text.data, DID_LETTERS, DID_START);
    }
    int rv = find_node(txn, text, by_did, out);
    return rv == 0 ? 0 : fail_node(call, rv, text);
}
