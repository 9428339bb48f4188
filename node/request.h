/* request.h - Read the fields of a request that name something: a kind, an author, an op. */
#ifndef NODE_REQUEST_H
#define NODE_REQUEST_H

#include "node/call.h"
#include "oplog/log.h"

/* These say in the call why they fail, where nothing else is said. */

/* A kind by name or number. ERR_USAGE, with the nearest name, if there is no such name. */
int request_kind(struct call *call, const struct value *value, uint32_t *out) ERR_MUST_CHECK;

/* An author by did:key. ERR_USAGE. */
int request_author(struct call *call, const struct value *value,
                   struct op_author *out) ERR_MUST_CHECK;

/* The ids that a text may stand for, from low to high: one, or those that begin with a prefix.
 * ERR_USAGE. */
int request_id_range(struct call *call, const struct value *value, struct op_id *low,
                     struct op_id *high) ERR_MUST_CHECK;

/* The id that a text stands for: all of it, whether or not such an op is here, or a prefix that
 * only one op here has, stored or parked. ERR_USAGE (no id), ERR_UNKNOWN_ID, ERR_AMBIGUOUS_ID,
 * store errors. */
int request_id(struct call *call, struct txn *txn, const struct value *value,
               struct op_id *out) ERR_MUST_CHECK;

/* A time in Unix seconds, as a text or a number. *given is false, and *out as it was, where the
 * request has none. ERR_USAGE. */
int request_time(struct call *call, const char *field, int64_t *out, bool *given) ERR_MUST_CHECK;

/* A text of the request, with a final zero; NULL if it has none. ERR_USAGE for one that is empty
 * or has a zero inside. */
int request_path(struct call *call, const char *field, const char **out) ERR_MUST_CHECK;

/* The first op in the log with this id. *twin tells whether others have it too. ERR_UNKNOWN_ID and
 * other errors are not explained: request_fail_id and request_fail_walk do. */
int request_stored(struct txn *txn, const struct op_id *id, struct walk_item *out,
                   bool *twin) ERR_MUST_CHECK;

/* The same for the i-th text of an array; NULL behind the last. */
int request_path_at(struct call *call, const char *field, uint32_t i,
                    const char **out) ERR_MUST_CHECK;

/* Say why no op was found for the text. Returns err. */
int request_fail_id(struct call *call, int err, const struct value *value);

/* Why a walk ended early; the op that is damaged is named. Returns err. */
int request_fail_walk(struct call *call, const struct walk *walk, int err);

#endif
