/* erasures.h - Which ops are erased: a row for each op that a counting Erase names, whether or not
 * the op is here, and for each that makes the keyed record which it names (spec/erasure.md). For
 * the files of oplog/ only. */
#ifndef OPLOG_ERASURES_H
#define OPLOG_ERASURES_H

#include "oplog/erase.h"
#include "oplog/store.h"

/* Note that the Erase that arrived as n counts, or does not, for an op. *changed tells whether
 * that is new. A new row is dated with the transaction's clock. */
int erasures_set(struct txn *txn, const struct erase_target *target, uint64_t n, bool counts,
                 bool *changed) ERR_MUST_CHECK;

/* The same for the record that it names: all ops that make it are erased. A row of each of them is
 * the caller's to put. */
int erasures_set_record(struct txn *txn, const struct op_id *record, uint64_t n, bool counts,
                        bool *changed) ERR_MUST_CHECK;

/* An op that makes a record has come: put it under every Erase of that one. */
int erasures_extend(struct txn *txn, const struct op_id *record,
                    const struct erase_target *target) ERR_MUST_CHECK;

/* Does an Erase that counts name the op, or a keyed record that it makes? by, if not NULL, is the
 * first that arrived. */
int erasures_have(struct txn *txn, const struct op_id *id, const struct op_hash *hash, bool *out,
                  uint64_t *by) ERR_MUST_CHECK;

/* The first erased op after *target, which is moved on, and when the first of its Erases began to
 * count here (UINT64_MAX: nobody told the time). Zero it to begin. ERR_UNKNOWN_ID at the end. */
int erasures_next(struct txn *txn, struct erase_target *target, uint64_t *since_ms) ERR_MUST_CHECK;

#endif
