/* import.h - Take the ops of a bundle into a store (spec/bundle.md). */
#ifndef OPLOG_IMPORT_H
#define OPLOG_IMPORT_H

#include "oplog/bundle.h"
#include "oplog/store.h"

/* Where an error comes from. */
enum import_source {
    IMPORT_FILE,    /* The bundle, or reading it: the reader's fault and why tell more. */
    IMPORT_SEGMENT, /* A segment in it was refused; fault tells where it is. */
    IMPORT_STORE,
};

/* What became of the ops. Everything that is counted is durable, or was refused. */
struct import_result {
    uint64_t appended;
    uint64_t duplicate;
    uint64_t parked;
    uint64_t repaired;  /* Of the duplicates: their rows were damaged. */
    uint64_t own;       /* Of the appended: by this store's own node, which had lost them. */
    uint64_t held_back; /* Dated ahead, with no room to park them: offer them again later. */
    uint64_t refused;   /* In the segment that was refused and ended it. */
    enum import_source source;
    uint64_t fault; /* The byte of the file to name. */
};

/* Read a bundle, of which the head has been read, to its end or to the first fault. Whole segments
 * before a fault are taken and stay, nothing after it is. Memory does not grow with the bundle.
 * now_ms is the wall clock. out is filled in any case.
 *
 *   0                what was held back has not been taken, all else has
 *   ERR_WRONG_MESH   nothing was read
 *   ERR_STOPPED      by the reader's watch
 *   errors of bundle_next, refusals of ingest.h, store errors */
int import_bundle(struct store *store, struct bundle_reader *reader, uint64_t now_ms,
                  struct import_result *out) ERR_MUST_CHECK;

#endif
