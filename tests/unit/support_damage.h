/* support_damage.h - A small store, and damage done to it by hand, below everything that could keep
 * it out: one case for each kind, with what has to be named for it. */
#ifndef TESTS_SUPPORT_DAMAGE_H
#define TESTS_SUPPORT_DAMAGE_H

#include "tests/unit/support.h"

#include "oplog/verify.h"

/* Arrival 0 to 5: one run of a, 6 to 8: the next, 9 to 11: one of b, 12: a branch of a. */
enum { A_RUN = 0, A_NEXT = 6, B_RUN = 9, A_BRANCH = 12, OPS = 13 };

struct planted {
    struct store *store;
    struct test_author a, b;
    const struct made *op[OPS];
    struct txn *txn; /* While damage is done. */
};

#define NOBODY 999 /* No op is named. */

struct planted_case {
    const char *why;
    void (*damage)(struct planted *f);
    struct {
        uint64_t n;
        const char *problem;
    } want[6];
};

extern const struct planted_case planted_cases[];
extern const size_t planted_case_count;

/* The one damage after which the ops have other arrival numbers. */
void plant_unsigned_head(struct planted *f);

/* Make ops and an empty store; freed by support_free. */
void planted_new(struct planted *f);

/* Wipe the store and put all ops in. The same, and then the damage of one case. */
void planted_fill(struct planted *f);
void planted_damage(struct planted *f, const struct planted_case *the_case);

const struct test_author *planted_author(const struct planted *f, uint64_t n);

/* The key of a row of the log; the row itself, to be changed and put back in f->txn. */
struct bytes planted_key(uint64_t n);
uint8_t *planted_row(struct planted *f, uint64_t n, size_t *len);

/* What a report has named; count counts also what had no room. */
struct damage_list {
    uint32_t count;
    struct damage damage[32];
};

/* verify_report.damage with a list as its ctx. */
void damage_note(void *ctx, const struct damage *damage);

bool damage_has(const struct damage_list *found, uint64_t n, const char *problem);

#endif
