/* graph.h - What the tokens and revocations of a log say, read into memory as it is asked for.
 * For the files of oplog/ only.
 *
 * Links are tokens that the root may reach, plans the links that may lead from the root to one
 * author for one command. Everything stays good until graph_forget, which whoever adds a token or
 * a revocation to the store calls. */
#ifndef OPLOG_GRAPH_H
#define OPLOG_GRAPH_H

#include "oplog/cutset.h"
#include "oplog/tokens.h"

/* The steps in which it is settled which revocations count (spec/authority.md). */
enum revoker { REVOKER_NONE, REVOKER_ROOT, REVOKER_OWNER, REVOKER_ISSUER };

/* Where an op stands, for cuts; NULL stands for an op that is not written yet: no cut keeps it. */
struct standpoint {
    uint32_t author_ix;
    uint64_t n;
};

struct kept { /* What of one author a revocation's cut keeps. */
    uint32_t author_ix;
    struct cutset set;
    struct kept *next;
};

struct revocation {
    struct standpoint at; /* Its op. */
    struct ucan_key author;
    int64_t time;
    struct op_id id;
    bool by_root;
    int8_t owner; /* Counts as an owner's, as the issuer's: 1 or 0; -1 not known yet. */
    int8_t issuer;
    const struct op_hash *cut;
    uint32_t cut_count;
    struct kept *kept;
};

struct link {
    struct token_id id;
    struct ucan_token token;
    uint64_t n; /* The op that first carried it. */
    bool binds; /* Its meta is understood. */
    unsigned withheld;
    unsigned reads; /* enum policy_reads, of what is more than pins */
    bool pins;      /* Its policy is nothing but pins (or empty). */
    bool revocations_known;
    struct revocation *revocations;
    uint32_t revocation_count;
    struct link *next; /* In its slot. */
};

#define PLAN_ROOT UINT32_MAX

struct plan_edge {
    struct link *link;
    uint32_t from; /* A node of the plan: the issuer; PLAN_ROOT. */
    uint32_t to;
    bool pinned_off; /* It pins another author. */
};

struct plan {
    struct ucan_key author;
    struct bytes command; /* NULL data: whatever they cover. */
    char did[LIMIT_DID];
    struct plan_edge *edges; /* Sorted by to. */
    uint32_t edge_count;
    uint32_t node_count; /* Node 0 is the author. */
    int64_t open_from;   /* While one chain without conditions is in force; from > until: */
    int64_t open_until;  /* never. */
    struct plan *next;
};

struct graph;

/* The transaction's graph. ERR_NO_MEMORY. */
int graph_of(struct txn *txn, struct graph **out) ERR_MUST_CHECK;
void graph_forget(struct graph *graph);
void graph_free(struct graph *graph);

/* The link of a token. ERR_UNKNOWN_ID. */
int graph_link(struct txn *txn, const struct token_id *id, struct link **out) ERR_MUST_CHECK;

/* The command is copied. */
int graph_plan(struct txn *txn, const struct ucan_key *author, struct bytes command,
               struct plan **out) ERR_MUST_CHECK;

/* The same for an author of the log; command NULL: whatever they cover. */
int graph_author_plan(struct txn *txn, uint32_t author_ix, const char *command,
                      struct plan **out) ERR_MUST_CHECK;

/* Memory for one judgement, which whoever needs it resets. */
int graph_scratch(struct txn *txn, struct arena **out) ERR_MUST_CHECK;

/* Does a cut name an op that is not here? Asked of the store once. */
int graph_awaits(struct txn *txn, bool *out) ERR_MUST_CHECK;

/* The revocations of a link, and who makes one count, if anybody, in steps up to the last. */
int link_revocations(struct txn *txn, struct link *link) ERR_MUST_CHECK;
int revocation_counts(struct txn *txn, struct link *link, struct revocation *revocation,
                      enum revoker last, enum revoker *out) ERR_MUST_CHECK;

/* Would it count if nothing were revoked? */
int revocation_might_count(struct txn *txn, struct link *link, const struct revocation *revocation,
                           bool *out) ERR_MUST_CHECK;

/* Does a link still carry an op after the revocations that count in steps up to the last? If not,
 * *by is the first that does not keep it (may be NULL). */
int link_carries(struct txn *txn, struct link *link, const struct standpoint *at, enum revoker last,
                 bool *out, const struct revocation **by) ERR_MUST_CHECK;

/* Chains -------------------------------------------------------------------------------- */

/* What is asked of each link of a chain. */
struct chain_test {
    void *ctx;
    int (*passes)(void *ctx, const struct plan_edge *edge, bool *out);
};

/* Look for a shortest chain from the root whose links pass. *length is 0 when there is none;
 * chain, if not NULL, has room for LIMIT_CHAIN edges, the root's first. */
int plan_search(const struct plan *plan, const struct chain_test *test,
                const struct plan_edge **chain, uint32_t *length) ERR_MUST_CHECK;

#endif
