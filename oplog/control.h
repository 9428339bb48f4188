/* control.h - What tokens and revocations that arrive change; for the files of oplog/ only. */
#ifndef OPLOG_CONTROL_H
#define OPLOG_CONTROL_H

#include "oplog/log.h"

/* Take what a DelegateUcan or RevokeUcan, whose core is here and well-formed, brings into the
 * store. What is known already costs little. Changes the store: views of rows are gone. */
int control_take(struct txn *txn, uint64_t n) ERR_MUST_CHECK;

/* An op has arrived that cuts may have waited for. */
int control_arrived(struct txn *txn, const struct op_hash *hash, uint64_t n) ERR_MUST_CHECK;

/* The verdict of one of these two, and for a RevokeUcan whether it now counts otherwise, which
 * control_settle then sees to. May change the store. */
int control_judge(struct txn *txn, uint64_t n, struct verdict *out) ERR_MUST_CHECK;

/* Judge again the ops of every author below what has changed, until nothing more changes. At the
 * end of whatever puts ops into the log. */
int control_settle(struct txn *txn) ERR_MUST_CHECK;

#endif
