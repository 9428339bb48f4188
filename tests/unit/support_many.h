/* support_many.h - A store whose one author, a user, writes very many claims: side by side on one
 * record, or each on the one before. */
#ifndef TESTS_SUPPORT_MANY_H
#define TESTS_SUPPORT_MANY_H

#include "oplog/append.h"
#include "tests/unit/support_folds.h"

struct many {
    struct store *store;
    const struct key *key;
    uint64_t now_ms; /* Later for every op. */
};

/* A new store with judging and folds, in which the author has been admitted; closed by
 * support_free. */
struct many many_new(void);

/* Payloads: JSON in which each @ stands for the next of the ids; that takes an op back, so that it
 * is as if it had never been. */
struct bytes many_payload(const char *json, const struct op_id *ids);
struct bytes many_erasure(const struct append_result *op);

/* Write one op, and fold; the transaction is the caller's, and so is an error. */
int many_append(struct many *many, struct txn *txn, uint32_t kind, struct bytes payload,
                struct append_result *out);

/* The same in a commit of its own; it must come to be applied. */
struct append_result many_say(struct many *many, uint32_t kind, struct bytes payload);

/* Present evidence. */
struct op_id many_evidence(struct many *many);

/* So many claims that rest on one record, or on it and then each on the one before. Their ids go to
 * ids, ascending. */
void many_wide(struct many *many, const struct op_id *on, uint32_t count, struct op_id *ids);
void many_deep(struct many *many, const struct op_id *on, uint32_t count, struct op_id *ids);

/* So many claims that rest on each of some records. */
void many_dense(struct many *many, const struct op_id *on, uint32_t on_count, uint32_t count,
                struct op_id *ids);

/* Claims that are now in a status. */
uint32_t many_count(struct txn *txn, uint8_t status);

#endif
