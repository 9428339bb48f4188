/* judging.h - A store in which a node writes under a chain of three tokens: how fast its ops are
 * judged, and judged again when the chain is revoked. */
#ifndef BENCH_JUDGING_H
#define BENCH_JUDGING_H

#include "bench/run.h"

struct judging;

enum judging_policy {
    JUDGING_OPEN,  /* No policy on the chain. */
    JUDGING_TERMS, /* The last token has three terms on the payload. */
};

/* Make the store dir/name with so many ops of the node, all granted. Store errors. */
int judging_open(const char *dir, const char *name, enum judging_policy policy, uint64_t ops,
                 struct judging **out) ERR_MUST_CHECK;

/* The store stays where it is. NULL is fine. */
void judging_close(struct judging *judging);

/* Judge ops that are in memory for a while; *per_s is how many a second. */
int judging_judge(struct judging *judging, double seconds, double *per_s) ERR_MUST_CHECK;

/* Revoke a token of the chain without a cut, durably; *seconds is what that took until every op
 * had its verdict. Then the node is admitted again, which is not counted. */
int judging_revoke(struct judging *judging, double *seconds) ERR_MUST_CHECK;

#endif
