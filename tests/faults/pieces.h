/* pieces.h - What the files of scenarios share: the ops that stages are made of, and commands. */
#ifndef TESTS_FAULTS_PIECES_H
#define TESTS_FAULTS_PIECES_H

#include "tests/faults/scenarios.h"
#include "tests/unit/support.h"

#define LATER_MS (NOW_MS + 600000u) /* When what is parked is dated. */
#define BATCH_OPS 600u
#define BASE_MAX 256u

extern struct corpus {
    struct test_author self;
    struct test_author author[10];
    const struct made *own[20];
    const struct made *line[20];     /* author 2 */
    const struct made *newcomer[30]; /* author 3 */
    const struct made *trunk[2];     /* author 4: first, and the op where it forks… */
    const struct made *left[2];
    const struct made *right[2];
    const struct made *join;
    const struct made *early[2]; /* author 5: the second is dated ahead. */
    const struct made *soon;     /* author 2, dated ahead. */
    const struct made *secret[2];
    const struct made *secret_redacted; /* author 6 */
    const struct made *waits[2];        /* author 7: the second waits for… */
    const struct made *awaited[2];      /* …the second of author 8. */
    const struct made *given_up[6];     /* author 9 */
    const struct made *abandon;
    struct bytes first_payload;
    struct bytes payload[4];
    struct bytes long_payload;
    int lines; /* Input for a batch. */
    struct op_id base[STAGE_COUNT][BASE_MAX];
    uint32_t base_count[STAGE_COUNT];
    char stage[STAGE_COUNT][PATH_MAX];
} corpus;

/* The ops of STAGE_FULL. */
void fill_stage(struct store *store);

/* Add to the run's answer. */
void mix(struct run *run, const void *data, size_t len);

/* A command on the run's store. Whoever is asked for a passphrase says PASSPHRASE. */
#define PASSPHRASE "open sesame"
int run_words_from(struct run *run, int input, const char *const words[]);
#define WORDS(run, ...) run_words_from((run), -1, (const char *const[]){__VA_ARGS__, NULL})

/* Scenarios of scenarios_carry.c, and what they need: the ops of STAGE_ERASED, and files. */
extern const struct scenario scenarios_carry[];
void carry_fill(struct store *store);
void carry_prepare(const char *folder);

/* Scenarios of scenarios_ucan.c, and the tokens that they need. */
extern const struct scenario scenarios_ucan[];
void ucan_prepare(void);

/* Note a store's ops as those of a stage. */
void note_base(struct store *store, enum stage stage);

#endif
