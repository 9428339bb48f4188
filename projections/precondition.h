/* precondition.h - What is asked of an own op before it is written, and of nobody else's.
 *
 * A fold refuses as stale only what another op with the same version was before (spec/folds.md),
 * for it cannot know what an author had seen. Who writes knows, and asks for more: that the record
 * is what it was when it was looked at. */
#ifndef PROJECTIONS_PRECONDITION_H
#define PROJECTIONS_PRECONDITION_H

#include "base/value.h"
#include "oplog/log.h"

/* Does an op with these fields, if it names a version, name the one that its target has now? Else
 * which rule is against it: the target has changed since, or never had that version. RULE_NONE as
 * well where there is no such target, which is for the fold to say. */
int version_holds(struct txn *txn, uint32_t kind, const struct value *fields,
                  enum fold_rule *out) ERR_MUST_CHECK;

#endif
