/* losses.h - What a damaged store had and a repaired one has not; for the files of oplog/ only. */
#ifndef OPLOG_LOSSES_H
#define OPLOG_LOSSES_H

#include "oplog/remains.h"
#include "oplog/repair.h"

/* By out->ops, fill in lost, lost_known, own_lost (self: this node, NULL if that is not known) and
 * losses, by every row that still tells of an op. */
int losses_count(struct remains *remains, struct store *repaired, const struct op_author *self,
                 struct repair_result *out) ERR_MUST_CHECK;

#endif
