/* adoption.h - Which claim a user's Confirm has adopted (spec/authority.md, "Confirm
 * adopts"); for the files of oplog/ only. */
#ifndef OPLOG_ADOPTION_H
#define OPLOG_ADOPTION_H

#include "oplog/log.h"

/* What a Confirm names. */
struct confirm {
    struct op_id about;
    struct op_hash named;
};

/* Is this payload, whose core is here and well-formed, a Confirm that names an op by hash?
 * ERR_NO_MEMORY. */
int confirm_read(struct bytes payload, bool *is_confirm, struct confirm *out) ERR_MUST_CHECK;

/* Note that the Confirm with this id and hash counts, or does not. *changed tells whether that is
 * new. */
int adoption_set(struct txn *txn, const struct confirm *confirm, const struct op_id *id,
                 const struct op_hash *hash, bool counts, bool *changed) ERR_MUST_CHECK;

/* Is this op, which makes a record, the one of its id that was adopted, and by which Confirm? by
 * may be NULL. */
int adoption_has(struct txn *txn, const struct row *row, const struct op_hash *hash,
                 const struct op_id *record, bool *out, struct op_id *by) ERR_MUST_CHECK;

#endif
