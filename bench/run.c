#include "bench/run.h"

#include "bench/raw.h"
#include "bench/raw_db.h"

int run_raw(struct run *run, enum raw raw, double *per_s)
{
    int rv = 0;
    if (raw == RAW_commit_per_s || raw == RAW_get_per_s) {
        rv = raw_db_ready(run);
    }
    if (rv != 0) {
        return rv;
    }
    switch (raw) {
    case RAW_sign_per_s:
        *per_s = raw_sign(run->crypto, run->round_s);
        break;
    case RAW_verify_per_s:
        *per_s = raw_verify(run->crypto, run->round_s);
        break;
    case RAW_verify_all_per_s:
        rv = raw_verify_all(run->crypto, run->round_s, per_s);
        break;
    case RAW_hash_per_s:
        *per_s = raw_hash(run->crypto, run->round_s);
        break;
    case RAW_commit_per_s:
        rv = raw_db_commits(run->db, run->round_s, per_s);
        break;
    default:
        rv = raw_db_gets(run->db, run->round_s, per_s);
        break;
    }
    if (rv == 0) {
        samples_add(&run->raw[raw], *per_s);
    }
    return rv;
}

int run_against(unsigned count, measure *base, void *base_ctx, measure *figure, void *ctx,
                struct rounds *out)
{
    double before;
    int rv = base(base_ctx, &before);
    for (unsigned i = 0; i < count && rv == 0; i++) {
        double value;
        double after;
        rv = figure(ctx, &value);
        if (rv == 0) {
            rv = base(base_ctx, &after);
        }
        if (rv == 0) {
            samples_add(&out->values, value);
            samples_add(&out->ratios, value / ((before + after) / 2));
            before = after;
        }
    }
    return rv;
}

struct raw_round {
    struct run *run;
    enum raw raw;
};

static int measure_raw(void *ctx, double *out)
{
    const struct raw_round *round = ctx;
    return run_raw(round->run, round->raw, out);
}

int run_rounds(struct run *run, unsigned count, enum raw raw, measure *figure, void *ctx,
               struct rounds *out)
{
    struct raw_round round = {.run = run, .raw = raw};
    double warm_up;
    int rv = run_raw(run, raw, &warm_up);
    if (rv == 0) {
        run->raw[raw].count--; /* Of no account. */
        rv = run_against(count, measure_raw, &round, figure, ctx, out);
    }
    return rv;
}
