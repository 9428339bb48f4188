/* recordarg.h - Read the field of a request that names a record. */
#ifndef NODE_RECORDARG_H
#define NODE_RECORDARG_H

#include "node/call.h"
#include "projections/records.h"

/* The record that a text stands for: its id, or a prefix that no other record has. type 0: any
 * but settings, which no op names; RECORD_OR_SETTING: these as well.
 * The call says why not: ERR_USAGE (no id), ERR_UNKNOWN_ID (no such record, or of another type),
 * ERR_AMBIGUOUS_ID, store errors. out is what the record is now. */
#define RECORD_OR_SETTING UINT8_MAX
int request_record(struct call *call, struct txn *txn, const struct value *value, uint8_t type,
                   struct op_id *id, struct entry *out) ERR_MUST_CHECK;

#endif
