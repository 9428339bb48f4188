/* ids.h - The ids of settings (spec/folds.md, "Records"); oplog/keyed.h has those of keyed records.
 * Pure. */
#ifndef PROJECTIONS_IDS_H
#define PROJECTIONS_IDS_H

#include "projections/state.h"

struct op_id rule_id(struct bytes name);
struct op_id lane_id(struct bytes subject, struct bytes predicate);
struct op_id domain_lane_id(struct bytes domain);
struct op_id route_id(struct bytes kind);
struct op_id serial_id(struct bytes key);
struct op_id coordinator_id(void);

#endif
