/* limits.h - Every limit of meshlog, in one place.
 *
 * Each is tested at n-1, n and n+1 (tests/unit/test_limits.c). A limit that
 * decides whether an op is accepted is part of the protocol and may never be
 * changed; those are marked P. The others are this implementation's. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

/* clang-format off */
#define KIB(n) ((n) * 1024ul)
#define MIB(n) ((n) * 1024ul * 1024ul)
#define GIB(n) ((n) * 1024ul * 1024ul * 1024ul)

/* Ops (spec/op.md). */
#define LIMIT_HEADER KIB(4)            /* P  bytes of a header, in every version */
#define LIMIT_HEADER_FIELDS 64u        /* P  fields of a header, in every version */
#define LIMIT_PREV 8u                  /* P  ops that one op may follow */
#define LIMIT_DEPS 32u                 /* P  dependencies of one op */
#define LIMIT_PAYLOAD KIB(64)          /* P  bytes of a payload */
#define LIMIT_SECTIONS 6u              /* P  sections of a payload */
#define LIMIT_SIG 66u                  /* P  bytes of an encoded signature */
#define LIMIT_STUB (1u + LIMIT_SECTIONS * 34u) /* what hashes for sections can add to a payload */
#define LIMIT_OP (LIMIT_HEADER + LIMIT_SIG + LIMIT_PAYLOAD + LIMIT_STUB)

/* Segments (spec/chains.md). */
#define LIMIT_SEGMENT_OPS 256u         /* P  ops in a segment */
#define LIMIT_SEGMENT_PAYLOAD MIB(1)   /* P  payload bytes, unless it is one op */
#define LIMIT_SEGMENT_BYTES                                                                        \
    (34u + LIMIT_SEGMENT_PAYLOAD + LIMIT_SEGMENT_OPS * (4u + LIMIT_HEADER + LIMIT_SIG + LIMIT_STUB))
#define LIMIT_PARKED_BYTES MIB(4)      /* wire bytes of future-dated ops kept per author */
#define LIMIT_SKEW_MS 60000u           /* how far ahead of our clock an op may be dated */
#define LIMIT_ERASE_GRACE_MS 604800000ull /* how long an erased op keeps its bytes: seven days */

/* Values (base/value.h). */
#define LIMIT_DEPTH 8u                 /* P  nested arrays and maps */
#define LIMIT_ITEMS 1024u              /* P  values in one encoded tree, itself and map keys included */
#define LIMIT_TREE_DEPTH (LIMIT_DEPTH + LIMIT_TOKEN_DEPTH) /* nesting of a response, which may hold both */

/* Tokens (spec/ucan.md). */
#define LIMIT_TOKEN KIB(4)             /* P  bytes of a UCAN token */
#define LIMIT_TOKEN_DEPTH 32u          /* P  nested arrays and maps in it, its envelope included */
#define LIMIT_POLICY_STATEMENTS 256u   /* P  statements in a policy, nested ones included */
#define LIMIT_SELECTOR 256u            /* P  bytes of a selector */
#define LIMIT_POLICY_WORK 65536u       /* P  steps until a policy is false */
#define LIMIT_CHAIN 8u                 /* P  delegations between the root and an author */

/* The fields of records (spec/ops.md). */
#define LIMIT_FIELD_NAME 256u          /* P  bytes of a name */
#define LIMIT_FIELD_TEXT KIB(16)       /* P  bytes of a text */
#define LIMIT_FIELD_COUNT (1ull << 53) /* P  a count: what every reader of JSON keeps exact */
#define LIMIT_FIELD_IDS 256u           /* P  ids in one field */
#define LIMIT_FIELD_NAMES 64u          /* P  names in one field */
#define LIMIT_PPM 1000000u             /* P  parts per million */
#define LIMIT_CONFIDENCES 16u          /* P  names in one confidence */
#define LIMIT_RULES 64u                /* P  rules in one SetMeshRules */
#define LIMIT_LEASE_MIN_MS 1000u       /* P  the shortest lease */
#define LIMIT_LEASE_MS 604800000u      /* P  the longest: seven days */
#define LIMIT_ATTEMPTS 1000u           /* P  executions of one job */
#define LIMIT_BLOB GIB(1)              /* P  bytes of content outside the log */

/* The store (spec/store.md). */
#define LIMIT_GROUP_OPS 16384u         /* own ops in one commit */
#define LIMIT_TXN_OPS 16384u           /* foreign ops in one commit */
#define LIMIT_TXN_BYTES MIB(16)        /* their bytes */
#define LIMIT_KNOWN_PAGES 64u          /* a file with fewer is checked as a whole when it is opened */
#define LIMIT_SETTLE_CHANGES 16384u    /* rows changed by a commit that is followed by a small one */
#define LIMIT_READERS 512u
#define LIMIT_DATABASES 32u
#define LIMIT_MAP_START GIB(1)         /* first size of the memory map; it doubles when needed */
#define LIMIT_MAP_HEADROOM MIB(256)    /* free before each write: more than the ops of a commit take */
#define LIMIT_MAP_MAX GIB(4096)
#define LIMIT_WRITER_WAIT_MS 5000u     /* how long a second writer waits */
#define LIMIT_SCRUB_OPS 256u           /* ops that one step of the scrub checks */

/* Keys (spec/keys.md). */
#define LIMIT_PASSPHRASE 1024u         /* bytes of a passphrase */
#define LIMIT_PWHASH_PASSES 8u         /* of argon2id, that a key file may ask for */
#define LIMIT_PWHASH_KIB KIB(512)      /* its memory, in KiB: half a GiB */
#define LIMIT_PWHASH_KIB_MIN 8u        /* the least that argon2id works with */

/* Texts and command lines. */
#define LIMIT_DID 64u                  /* characters of a did:key, with the final zero */
#define LIMIT_NAME 64u                 /* bytes of a node's name */
#define LIMIT_ID_PREFIX 6u             /* letters of an id that may stand for it */
#define LIMIT_JSON_LINE KIB(256)       /* bytes of one line of JSON input */
#define LIMIT_TREE_BYTES MIB(8)        /* memory of one request or response tree */

/* Answers about records (spec/queries.md). */
#define LIMIT_ENTITY_GROUP 4096u       /* entities that hang together by merges and splits */
#define LIMIT_ENTITY_CLAIMS 4096u      /* claims about one that are named */
#define LIMIT_GRAPH_RECORDS 8192u      /* records of one graph */
#define LIMIT_GRAPH_EDGES 16384u       /* what rests on what in it */
#define LIMIT_WHY_DEPTH 12u            /* levels of what a record rests on */
#define LIMIT_WHY_RECORDS 256u         /* records in them, all together */
#define LIMIT_WHY_ENTRIES 256u         /* entries of its history, the last ones */
#define LIMIT_WHY_DEPENDENTS 16u       /* records that rest on it, by name */
#define LIMIT_WHY_COUNT 100000u        /* … and by number */
#define LIMIT_WHY_CHANGES 256u         /* records that one op has changed */
#define LIMIT_ABOUT 256u               /* bytes of what a record is about, in one line */
#define LIMIT_WHY_STEPS 1000u          /* records from one that fell to what made it fall */

/* clang-format on */

_Static_assert(sizeof(void *) == 8, "meshlog maps its store into memory: 64-bit only");
_Static_assert(LIMIT_PARKED_BYTES >= LIMIT_SEGMENT_BYTES, "one segment must fit the parking place");
_Static_assert(LIMIT_TXN_BYTES >= LIMIT_SEGMENT_BYTES, "one segment must fit a transaction");
_Static_assert(LIMIT_TXN_BYTES + 2 * 4096ull * LIMIT_TXN_OPS < LIMIT_MAP_HEADROOM,
               "a commit that touches two pages for each op must fit the map");
_Static_assert(LIMIT_TXN_OPS >= LIMIT_SEGMENT_OPS, "one segment must fit a transaction");
_Static_assert(LIMIT_GROUP_OPS >= LIMIT_SEGMENT_OPS, "a full segment should fit a group");
_Static_assert(2 * LIMIT_FIELD_TEXT < LIMIT_PAYLOAD, "a text must fit a payload, and more with it");
_Static_assert(2 * LIMIT_WHY_DEPTH + 8 < LIMIT_TREE_DEPTH, "the levels of a why must fit a tree");
_Static_assert(2 * LIMIT_FIELD_IDS < LIMIT_ITEMS, "the ids of a field must fit a tree");

#endif
