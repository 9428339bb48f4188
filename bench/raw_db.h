/* raw_db.h - What LMDB can do at best with rows of the sizes that a store has.
 *
 * An environment of its own, opened as a store's is, with as many databases and as many rows.
 * A commit puts the rows that one own op needs, and nothing else is done. */
#ifndef BENCH_RAW_DB_H
#define BENCH_RAW_DB_H

#include "bench/run.h"

/* Make run->db unless it is there. ERR_NO_MEMORY or what LMDB says, as a store's error. */
int raw_db_ready(struct run *run) ERR_MUST_CHECK;

/* Close it and remove its files. NULL is fine. */
void raw_db_close(struct raw_db *db);

/* Full-sync transactions per second. */
int raw_db_commits(struct raw_db *db, double seconds, double *per_s) ERR_MUST_CHECK;

/* Reads of random ops per second. */
int raw_db_gets(struct raw_db *db, double seconds, double *per_s) ERR_MUST_CHECK;

#endif
