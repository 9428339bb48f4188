/* makers.h - Which ops make a keyed record: a row for each that is here (spec/folds.md, "Records").
 *
 * What makes any other record is the op with its id. */
#ifndef OPLOG_MAKERS_H
#define OPLOG_MAKERS_H

#include "oplog/keyed.h"
#include "oplog/log.h"

struct maker {
    struct op_id id;
    uint64_t n;
};

/* Note that the op that arrived as n makes a record. */
int makers_add(struct txn *txn, const struct op_id *record,
               const struct maker *maker) ERR_MUST_CHECK;

/* The ops that make a record, by position: the one after *maker, which is moved on. Zero it to
 * begin. ERR_UNKNOWN_ID at the end. */
int makers_next(struct txn *txn, const struct op_id *record, struct maker *maker) ERR_MUST_CHECK;

/* The first of them that stands, whether or not what it depends on is here. ERR_UNKNOWN_ID. */
int makers_standing(struct txn *txn, const struct op_id *record, struct maker *out) ERR_MUST_CHECK;

/* The id of the record that an op makes: its own, unless it can be read and says another. */
int makers_record_of(const struct row *row, struct op_id *record) ERR_MUST_CHECK;

#endif
