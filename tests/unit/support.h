/* support.h - What the tests of oplog/ share: authors, ops good and bad, stores to put them in.
 *
 * Ops are built here without oplog/op.c, from spec/op.md, so that the two check each other.
 * Everything that is made lives until support_free, which every teardown calls. */
#ifndef TESTS_SUPPORT_H
#define TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/value.h"
#include "oplog/chain.h"
#include "oplog/erase.h"
#include "oplog/keys.h"
#include "oplog/kinds.h"
#include "oplog/payload.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Show the name, not the number, when an error is not the expected one. */
#define assert_err(why, got, want)                                                                 \
    do {                                                                                           \
        int got_ = (got);                                                                          \
        int want_ = (want);                                                                        \
        if (got_ != want_) {                                                                       \
            fail_msg("%s: got %s, want %s", (why), err_code(got_), err_code(want_));               \
        }                                                                                          \
    } while (0)

#define assert_ok(got) assert_err(#got, got, 0)

#define assert_text(why, got, want)                                                                \
    do {                                                                                           \
        const char *got_ = (got);                                                                  \
        if (strcmp(got_, (want)) != 0) {                                                           \
            fail_msg("%s: got \"%s\", want \"%s\"", (why), got_, (want));                          \
        }                                                                                          \
    } while (0)

#define assert_count(why, got, want)                                                               \
    do {                                                                                           \
        unsigned long long got_ = (got);                                                           \
        unsigned long long want_ = (want);                                                         \
        if (got_ != want_) {                                                                       \
            fail_msg("%s: got %llu, want %llu", (why), got_, want_);                               \
        }                                                                                          \
    } while (0)

/* The wall clock of most tests. */
#define NOW_MS 1700000000000ull

/* Once, first in main (PITFALLS S1): libsodium, a buffer for each line of output. */
void support_init(void);

/* Memory that lives until support_free. Never NULL. */
void *support_alloc(size_t size);
struct bytes support_copy(struct bytes from);
void support_free(void);

/* Free only what was made since the mark. */
const void *support_mark(void);
void support_free_to(const void *mark);

/* support_free as a cmocka teardown. */
int support_teardown(void **state);

/* Random numbers from a fixed seed. */
struct rng {
    uint64_t state;
};
struct rng rng_from(uint64_t seed);
uint64_t rng_next(struct rng *rng);
uint32_t rng_below(struct rng *rng, uint32_t bound);
/* True in so many of a hundred cases. */
bool rng_chance(struct rng *rng, uint32_t percent);

/* Folders ----------------------------------------------------------------------------- */

/* A new folder (0700) under $TMPDIR, removed with all in it by support_free. */
const char *support_dir(void);

/* dir/name */
const char *support_path(const char *dir, const char *name);

/* Authors ----------------------------------------------------------------------------- */

struct test_author {
    uint8_t seed[32];
    uint8_t secret[64];
    struct op_author key;
    struct node_id node;
};

/* The author of a small number; the same in every run. */
struct test_author author_of(uint32_t number);

/* Its key as append.h wants it, freed by support_free. */
const struct key *key_of(const struct test_author *author);

/* The mesh of all tests, and another one. */
extern const struct mesh_id test_mesh;
extern const struct mesh_id other_mesh;

/* From now on the mesh is one with a real root, which admits every author to everything by its
 * first op: for programs whose stores judge. */
void support_use_root(void);

/* The mesh of what is made: test_mesh, or that of the root. */
const struct mesh_id *support_mesh(void);

/* Payloads ---------------------------------------------------------------------------- */

/* A full payload of JSON fields, with salts made from a number. */
struct bytes payload_of(const char *json, uint32_t salt);

/* The same of a map, which is sorted in place. */
struct bytes payload_of_value(struct value *fields, uint32_t salt);

/* A full payload of exactly this many bytes. */
struct bytes payload_sized(size_t size, uint32_t salt);

/* A payload that fits any digest made of it and is not canonical. */
struct bytes payload_broken(uint32_t salt);

/* The payload of an Erase of these ops, with a section beside its core. */
struct bytes payload_erase(const struct erase_target *targets, uint32_t count, uint32_t salt);

/* The payload of a first op: key, token, proofs. */
struct bytes payload_first(const struct test_author *author);

/* The payload with the sections whose bit is set in which replaced by their hash. */
struct bytes payload_redact(struct bytes payload, unsigned which);

/* Ops --------------------------------------------------------------------------------- */

enum sign {
    SIGN_GOOD,
    SIGN_NONE,    /* Empty. */
    SIGN_GARBAGE, /* 64 bytes that are no signature. */
    SIGN_AGAIN,   /* Good, and another one than SIGN_GOOD: made with another nonce. */
};

enum carry { CARRY_FULL, CARRY_NOTHING, CARRY_THIS };

/* An op to be made. What is zero has its usual value. */
struct draft {
    uint64_t version; /* 1 */
    uint64_t kind;    /* CreateClaim */
    uint64_t wall_ms; /* For the id: NOW_MS */
    uint16_t counter;
    const struct op_id *id; /* Instead of these. */
    uint64_t seq;           /* 1 */
    const struct op_hash *prev;
    uint32_t prev_count;
    const struct op_id *deps;
    uint32_t dep_count;
    struct bytes payload;    /* Full; {} */
    struct bytes field[8];   /* msgpack in place of a field of the header. */
    struct bytes array_head; /* In place of the header's first byte. */
    struct bytes further;    /* msgpack of further fields… */
    uint32_t further_count;  /* …and how many. */
    struct bytes sig;        /* msgpack in place of the signature. */
    enum sign sign;
    const struct mesh_id *mesh; /* support_mesh() */
    enum carry carry;
    struct bytes carried; /* With CARRY_THIS. */
};

struct made {
    struct bytes raw;
    struct bytes header;
    struct bytes sig; /* As encoded. */
    struct bytes payload;
    struct op_id id;
    struct op_hash hash;
    uint64_t seq;
};

const struct made *make(const struct test_author *author, const struct draft *draft);

/* The same op with another or no payload. */
const struct made *with_payload(const struct made *op, struct bytes payload);

struct op_id id_at(const struct test_author *author, uint64_t wall_ms, uint16_t counter);

/* A first op that admits its author. */
const struct made *make_first(const struct test_author *author, uint64_t wall_ms);

/* The op after one op; draft tells what is unusual (NULL: nothing). Its id is one
 * millisecond later unless draft says otherwise. */
const struct made *make_next(const struct test_author *author, const struct made *before,
                             const struct draft *draft);

/* The op after several. */
const struct made *make_join(const struct test_author *author, const struct made *const *before,
                             uint32_t count, const struct draft *draft);

/* count ops after before (NULL: with a first op), signed where sign tells: 'g'ood, '-' none,
 * 'x' garbage, one letter per op, the last one's for the rest. */
void make_run(const struct test_author *author, const struct made *before, const char *sign,
              const struct made **out, uint32_t count);

/* A valid signature by the author that libsodium would not make. */
void sign_again(const struct test_author *author, struct bytes message, uint8_t sig[64]);

/* Segments ---------------------------------------------------------------------------- */

struct bytes segment_of(const struct test_author *author, const struct made *const *ops,
                        uint32_t count);
struct bytes segment_of_one(const struct test_author *author, const struct made *op);

/* Stores ------------------------------------------------------------------------------ */

/* A new store of support_mesh() in a new folder, open for writing, that does not sync; closed by
 * support_free. */
struct store *store_new_for_test(void);

/* The same of another mesh. */
struct store *store_new_of(const struct mesh_id *mesh);

/* Forget all ops. */
void store_wipe(struct store *store);

/* Close it before support_free does. */
void store_done(struct store *store);

/* Begin a transaction. */
struct txn *begin_read(struct store *store);
struct txn *begin_write(struct store *store);

/* Decode and offer a segment inside a transaction. */
int offer_in(struct txn *txn, struct bytes wire, uint64_t now_ms, struct chain_result *out);

/* The same in a transaction of its own, committed unless it failed. out may be NULL. */
int offer(struct store *store, struct bytes wire, uint64_t now_ms, struct chain_result *out);

/* Offer one op, or several as a segment, at NOW_MS. */
int offer_op(struct store *store, const struct test_author *author, const struct made *op);
int offer_ops(struct store *store, const struct test_author *author, const struct made *const *ops,
              uint32_t count);

/* Everything that must be equal in two stores with the same ops, as lines of text: ops and
 * heads per author, the order with verdicts, the frontier. */
struct bytes store_dump(struct store *store);

/* Fail with both dumps unless they are equal. */
void assert_same_text(struct bytes a, struct bytes b, const char *why);
void assert_same_stores(struct store *a, struct store *b, const char *why);

/* "applied", "void twin", …; "absent" for an op that is not in the log. */
const char *verdict_of(struct store *store, const struct made *op);

uint64_t ops_in(struct store *store);
uint32_t heads_in(struct store *store, const struct test_author *author);

/* Read all with chain_read and offer it to another store. All must be taken. */
void relay(struct store *from, struct store *to);

/* verify_store finds nothing. */
void assert_clean(struct store *store);

#endif
