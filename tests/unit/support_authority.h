/* support_authority.h - Small meshes with a real root: keys, tokens, the ops that carry them, and
 * their delivery to stores that judge.
 *
 * A world is a description; token_add and op_add make the bytes that it describes. So a test says
 * what happens, and support_authority_model.h can judge the description without reading a byte. */
#ifndef TESTS_SUPPORT_AUTHORITY_H
#define TESTS_SUPPORT_AUTHORITY_H

#include "tests/unit/support.h"

#include "oplog/authority.h"

#define WORLD_KEYS 16u
#define WORLD_TOKENS 48u
#define WORLD_OPS 96u
#define RULES_MAX 2u
#define CUT_MAX 4u
#define TARGETS_MAX 3u

#define ROOT 0u /* The key whose public half is the mesh id. */
#define NONE UINT32_MAX

/* Times of tokens are seconds after this one, 0 for none; times of ops milliseconds after it. */
#define BASE_S ((int64_t)(NOW_MS / 1000))

/* Kinds ------------------------------------------------------------------------------- */

enum test_need { FREE, MEMBER, GRANTED, USER, OWNER };

/* As the contract has them. */
struct test_kind {
    uint32_t kind;
    enum test_need need;
    const char *command;
    const char *target; /* The field with the id of what it is about. */
};

const struct test_kind *test_kind_of(uint32_t kind);

/* The field that makes a creation keyed; NULL for other kinds. */
const char *test_key_of(uint32_t kind);

/* Tokens ------------------------------------------------------------------------------ */

/* One statement of a policy, about numbers and keys only. */
enum rule_about {
    RULE_PIN,         /* ["==", ".op.author", DID of a key] */
    RULE_KIND,        /* ["==", ".op.kind", the name of a kind] */
    RULE_FROM,        /* [">=", ".op.time", seconds] */
    RULE_LANE,        /* ["==", ".lane", number]: in the core, and not every op has it */
    RULE_GEO,         /* ["==", ".geo", number]: a section of its own */
    RULE_TARGET_LANE, /* ["==", ".target.lane", number] */
    RULE_TARGET_NOT,  /* ["not", that] */
    RULE_TARGET_KIND, /* ["==", ".target.op.kind", the name of a kind] */
    RULE_TARGET_GEO,  /* ["==", ".target.geo", number] */
    RULE_TARGET_BY,   /* ["==", ".target.op.author", DID of a key] */
};

struct rule {
    enum rule_about about;
    uint32_t number;
};

/* What meta says, and what that means. */
enum test_meta {
    META_NONE,
    META_FOREIGN, /* No key of ours. */
    META_AUDIT,
    META_NO_GEO,
    META_NO_CONTENT_NO_CUSTOM,
    META_NO_PEOPLE,
    META_UNKNOWN_KEY,    /* From here on it grants nothing. */
    META_UNKNOWN_MEMBER, /* Of the array. */
    META_NO_ARRAY,
    META_AUDIT_TEXT,
    META_COUNT
};

bool meta_binds(enum test_meta meta);

enum subject { SUBJECT_ROOT, SUBJECT_NULL, SUBJECT_OTHER };

struct world_token {
    uint32_t from;
    uint32_t to;
    const char *command; /* "/" */
    int64_t not_before;
    int64_t expiry;
    struct rule rules[RULES_MAX];
    uint32_t rule_count;
    enum test_meta meta;
    enum subject subject;
    bool bad_signature;
    struct bytes raw; /* Made. */
    struct cid cid;
};

/* Ops --------------------------------------------------------------------------------- */

/* What of a payload anybody has. */
enum best { BEST_FULL, BEST_BROKEN, BEST_NO_GEO, BEST_NO_CORE, BEST_ABSENT };

/* On whose word a RevokeUcan stands. */
enum word { WORD_OF_AUTHOR, WORD_OF_ROOT, WORD_FORGED };

struct world_op {
    uint32_t by;
    uint32_t kind;
    uint64_t version; /* 1 */
    uint64_t at_ms;   /* A millisecond after what it follows. */
    uint16_t counter;
    uint32_t after[LIMIT_PREV]; /* The author's op that was added last, if it has one. */
    uint32_t after_count;
    bool first; /* Follows nothing, although its author has ops. */
    bool has_dep;
    uint32_t dep;
    enum sign sign;
    enum best best;
    bool withheld; /* Nobody has it. */

    uint32_t tokens[LIMIT_CHAIN + 2]; /* DelegateUcan: the proofs, then the token. */
    uint32_t token_count;
    bool junk; /* Its token is none. */

    uint32_t revokes; /* RevokeUcan: a token. */
    enum word word;
    uint32_t cut[CUT_MAX]; /* Ops. */
    uint32_t cut_count;

    uint32_t
        targets[TARGETS_MAX]; /* Ops: of an Erase; of other kinds the first is what it names. */
    uint32_t target_count;
    const char *asserts; /* UserAssert; "confirm" */
    bool wrong_hash;     /* It names no op that there is. */
    bool by_position;    /* The first is named by its id even if it makes a keyed record. */

    uint32_t key;        /* Of a creation: 0 is none. With one, what it makes is named after */
    struct op_id record; /* its key and content; else after the op. */

    uint32_t lane; /* 0: no such field. */
    uint32_t geo;

    struct bytes payload;       /* Instead of all this; then it is BEST_BROKEN. */
    uint32_t salt;              /* Its number. */
    const struct made *made;    /* As op_add makes it, with the best payload there is. */
    const struct made *whole;   /* With all of it. */
    const struct made *without; /* With none. */
};

struct world {
    struct test_author key[WORLD_KEYS];
    uint32_t keys;
    struct world_token token[WORLD_TOKENS];
    uint32_t tokens;
    struct world_op op[WORLD_OPS];
    uint32_t ops;
};

/* The mesh of all worlds. */
const struct mesh_id *root_mesh(void);

/* A world of the root and count - 1 other keys. */
struct world *world_new(uint32_t keys);

/* Make a token, an op; its number. */
uint32_t token_add(struct world *world, const struct world_token *token);
uint32_t op_add(struct world *world, const struct world_op *op);

/* Another op in the place of one: NULL for the same op with another signature (of is signed as
 * usual), else one that says something else. */
uint32_t twin_add(struct world *world, uint32_t of, const struct world_op *other);

/* Somebody has all of its payload now. */
void op_is_whole(struct world *world, uint32_t op);

/* Stores ------------------------------------------------------------------------------ */

/* A new store of the root's mesh, with authority_on. */
struct store *judging_store(void);

/* Everything that is not withheld, in an order, in segments and in transactions that are drawn,
 * until nothing new is taken. What is there already stays. */
void world_deliver(const struct world *world, struct store *store, struct rng *rng);

/* What the store says of an op. */
const char *world_verdict(const struct world *world, struct store *store, uint32_t op);

/* For people: a line for each token and op. */
void world_print(const struct world *world);

#endif
