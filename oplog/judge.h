/* judge.h - Do the tokens of a log allow an op? (spec/authority.md, "When an op is granted")
 *
 * For the files of oplog/ only. Judging may note in a write transaction what an op's judgement
 * looked at; it changes nothing else. */
#ifndef OPLOG_JUDGE_H
#define OPLOG_JUDGE_H

#include "oplog/graph.h"

/* *out is applied if the op is granted, else why not. By an author and of a kind that are known;
 * DelegateUcan and RevokeUcan are not judged here. Its core is here and well-formed. */
int judge_op(struct txn *txn, const struct row *row, struct verdict *out) ERR_MUST_CHECK;

/* Was the author of an op user-bearing at it? Reads no payload. */
int judge_is_user(struct txn *txn, const struct row *row, bool *out) ERR_MUST_CHECK;

/* The chain that grants an op, the root's link first; *length 0 where it is not granted, or needs
 * none. */
int judge_chain(struct txn *txn, const struct row *row, const struct plan_edge **chain,
                uint32_t *length) ERR_MUST_CHECK;

/* May a peer read it at a time, and what is withheld? */
int judge_reading(struct txn *txn, const struct ucan_key *peer, const struct row *row, int64_t time,
                  bool *allowed, unsigned *withheld) ERR_MUST_CHECK;

/* The ops whose judgement looked at the op or ops with an id: the first n after *n, which is moved
 * on; first = true to begin. ERR_UNKNOWN_ID at the end. */
int judge_next_targeting(struct txn *txn, const struct op_id *target, bool first,
                         uint64_t *n) ERR_MUST_CHECK;

#endif
