/* scenarios.h - What is done under faults: each scenario works in a folder that was prepared for
 * it, says what it acknowledged, and can be done again. */
#ifndef TESTS_FAULTS_SCENARIOS_H
#define TESTS_FAULTS_SCENARIOS_H

#include <limits.h>

#include "oplog/id.h"

#define ACKS_MAX 2048u
#define ANY_NUMBER UINT32_MAX

/* One run of a scenario. */
struct run {
    char folder[PATH_MAX];
    char store[PATH_MAX + 16];
    struct op_id acked[ACKS_MAX]; /* Ops that were reported as durable. */
    uint32_t acked_count;
    uint64_t counted;  /* Ops that were reported as new, by their number. */
    uint32_t pending;  /* Further ops that may be there: those of a commit that failed. */
    uint64_t answer;   /* What was read; the same in every run. */
    const char *wrong; /* A promise that was broken on the way, or NULL. */
};

/* What scenarios may make beside the store. */
#define RUN_BUNDLE "out.bundle"
#define RUN_COPY "copy"
#define RUN_KEY "stick"

/* What a folder holds before a scenario begins. */
enum stage {
    STAGE_NOTHING,
    STAGE_EMPTY,
    STAGE_FULL,
    STAGE_ERASED,
    STAGE_ROOTED,
    STAGE_MESH,   /* A first device, with the ops of a second one. */
    STAGE_DEVICE, /* The second one, before it was admitted. */
    STAGE_COUNT
};

struct scenario {
    const char *name; /* NULL ends the list. */
    enum stage stage;
    int (*act)(struct run *run);
    int again;        /* What doing it again gives, after it went well. */
    bool keeps;       /* The answer is the same in every run. */
    bool new_again;   /* It may leave something unfinished, so it begins anew in a new folder. */
    uint64_t damaged; /* Ops that may be damaged if it fails: it was to repair them. */
    void (*prepare)(struct run *run);                         /* After the stage; or NULL. */
    const char *(*check)(const struct run *run, bool failed); /* As run_check; or NULL. */
};

/* All of them in turn; NULL behind the last. */
const struct scenario *scenario_at(size_t index);
const struct scenario *scenario_find(const char *name);

/* Build the stages under a folder, once, without faults. */
void stages_prepare(const char *folder);

/* Begin a run: a folder of its own with a copy of the stage. Removed by run_end. */
void run_begin(struct run *run, const struct scenario *scenario, const char *folder);
void run_end(struct run *run);

/* Is the store as it must be after the scenario: verified, with everything that was there before
 * and that was acknowledged, and nothing by halves? What is wrong, or NULL. A store that the
 * scenario was to make may be missing if it failed. */
const char *run_check(struct run *run, const struct scenario *scenario, bool failed);

/* Note an op as acknowledged. */
void run_ack(struct run *run, const struct op_id *id);

#endif
