/* ids.h - The ids of records that are not named after the op that made them (spec/folds.md,
 * "Records"). Pure. */
#ifndef PROJECTIONS_IDS_H
#define PROJECTIONS_IDS_H

#include "base/value.h"
#include "projections/state.h"

/* Of settings. */
struct op_id rule_id(struct bytes name);
struct op_id lane_id(struct bytes subject, struct bytes predicate);
struct op_id domain_lane_id(struct bytes domain);
struct op_id route_id(struct bytes kind);
struct op_id serial_id(struct bytes key);
struct op_id coordinator_id(void);

/* Of the record that a creation with these fields makes, where it is keyed; *keyed tells. The maps
 * of fields are sorted. */
int keyed_id(struct arena *arena, uint32_t kind, struct value *fields, bool *keyed,
             struct op_id *out) ERR_MUST_CHECK;

#endif
