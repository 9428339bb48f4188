#include "bench/bench.h"

#include <math.h>
#include <sodium.h>

#include "base/limits.h"
#include "base/text.h"
#include "bench/figures.h"
#include "bench/raw.h"
#include "bench/raw_db.h"
#include "oplog/pool.h"

#define OPS_MIN 100u     /* A tenth of it still is a corpus. */
#define OPS_FULL 100000u /* From here on a raw round takes its full time. */
#define ROUND_S 0.12
#define ROUND_LEAST_S 0.02
#define EXTRA_ROUNDS 5u
#define SIGN_CONTEXT 44u /* What is signed before the header: a context and the mesh. */

static const char *const raw_names[RAW_COUNT] = {
#define RAW_NAME(name) #name,
    RAW_TABLE(RAW_NAME)
#undef RAW_NAME
};

static void tell(const struct run *run, const char *what)
{
    if (run->options->progress != NULL) {
        run->options->progress(run->options->ctx, what);
    }
}

/* Which figures ----------------------------------------------------------------------- */

static int choose_name(struct bytes name, bool chosen[FIGURES])
{
    for (size_t i = 0; i < FIGURES; i++) {
        if (bytes_equal(name, bytes_of_text(figures[i].name))) {
            chosen[i] = true;
            return 0;
        }
    }
    return ERR_USAGE;
}

static int choose(const char *only, bool chosen[FIGURES])
{
    for (size_t i = 0; i < FIGURES; i++) {
        chosen[i] = only == NULL;
    }
    for (const char *at = only; at != NULL;) {
        size_t len = strcspn(at, ",");
        int rv = choose_name(bytes_of(at, len), chosen);
        if (rv != 0) {
            return rv;
        }
        at = at[len] == ',' ? at + len + 1 : NULL;
    }
    return 0;
}

/* The corpus -------------------------------------------------------------------------- */

/* Go through it once: its sizes and its fingerprint. */
static int know_corpus(struct run *run)
{
    struct corpus *corpus;
    struct buf wire;
    crypto_generichash_state state;
    uint8_t hash[16];
    int rv = corpus_open(BENCH_SEED, run->ops, CORPUS_SEGMENTS, &corpus);
    if (rv != 0) {
        return rv;
    }
    buf_init(&wire, LIMIT_SEGMENT_BYTES);
    crypto_generichash_init(&state, NULL, 0, sizeof(hash));
    while ((rv = corpus_next(corpus, &wire)) == 0) {
        crypto_generichash_update(&state, wire.data, wire.len);
        buf_clear(&wire);
    }
    crypto_generichash_final(&state, hash, sizeof(hash));
    hex_encode(bytes_of(hash, sizeof(hash)), run->corpus);
    run->totals = *corpus_totals(corpus);
    buf_free(&wire);
    corpus_close(corpus);
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* The response ------------------------------------------------------------------------ */

/* Three decimals are more than the noise leaves. */
static struct value number(double value)
{
    return value_float(round(value * 1000) / 1000);
}

static struct value whole(double value)
{
    return value_int((int64_t)llround(value));
}

static struct value raw_value(const struct run *run, struct arena *arena)
{
    struct value raw = value_map();
    for (size_t i = 0; i < RAW_COUNT; i++) {
        const struct samples *samples = &run->raw[i];
        value_put(arena, &raw, raw_names[i],
                  samples->count == 0 ? value_null() : whole(samples_median(samples)));
    }
    return raw;
}

static struct value figure_value(const struct figure *figure, const struct figure_result *result,
                                 struct arena *arena)
{
    struct value map = value_map();
    bool met = figure->higher_is_better ? result->ratio >= figure->target
                                        : result->ratio <= figure->target;
    value_put(arena, &map, "name", value_text(figure->name));
    value_put(arena, &map, "value",
              result->value < 1000 ? number(result->value) : whole(result->value));
    value_put(arena, &map, "unit", value_text(figure->unit));
    value_put(arena, &map, "ratio", number(result->ratio));
    value_put(arena, &map, "of",
              figure->of == RAW_NONE ? value_null() : value_text(raw_names[figure->of]));
    value_put(arena, &map, "target", value_float(figure->target));
    value_put(arena, &map, "better", value_text(figure->higher_is_better ? "higher" : "lower"));
    value_put(arena, &map, "met", value_bool(met));
    value_put(arena, &map, "spread", number(result->spread));
    if (figure->note != NULL) {
        value_put(arena, &map, "note", value_text(figure->note));
    }
    return map;
}

static int respond(const struct run *run, struct value list, struct arena *arena, struct value *out)
{
    struct bytes corpus = arena_copy(arena, bytes_of_text(run->corpus));
    *out = value_map();
    value_put(arena, out, "ops", value_int((int64_t)run->ops));
    value_put(arena, out, "seed", value_int(BENCH_SEED));
    value_put(arena, out, "cores", value_int(cpu_cores()));
    value_put(arena, out, "corpus", value_text_of(corpus));
    value_put(arena, out, "raw", raw_value(run, arena));
    value_put(arena, out, "figures", list);
    return arena_error(arena);
}

/* The run ----------------------------------------------------------------------------- */

/* The limits that judge no figure: worth knowing when everything is measured. */
static int measure_extras(struct run *run)
{
    int rv = 0;
    tell(run, "raw limits");
    for (unsigned i = 0; i < EXTRA_ROUNDS && rv == 0; i++) {
        double unused;
        rv = run_raw(run, RAW_hash_per_s, &unused);
        if (rv == 0) {
            rv = run_raw(run, RAW_get_per_s, &unused);
        }
    }
    return rv;
}

static int run_figures(struct run *run, const bool chosen[FIGURES], struct arena *arena,
                       struct value *list)
{
    for (size_t i = 0; i < FIGURES; i++) {
        if (!chosen[i]) {
            continue;
        }
        struct figure_result result;
        tell(run, figures[i].name);
        int rv = figures[i].run(run, &result);
        if (rv != 0) {
            return rv;
        }
        value_push(arena, list, figure_value(&figures[i], &result, arena));
    }
    return 0;
}

/* Short runs get short rounds. */
static double round_seconds(uint64_t ops)
{
    double seconds = ops >= OPS_FULL ? ROUND_S : ROUND_S * (double)ops / OPS_FULL;
    return seconds > ROUND_LEAST_S ? seconds : ROUND_LEAST_S;
}

static int prepare(struct run *run)
{
    tell(run, "corpus");
    int rv = know_corpus(run);
    if (rv != 0) {
        return rv;
    }
    size_t header = run->totals.header_bytes / run->totals.ops;
    size_t op = run->totals.op_bytes / run->totals.ops;
    return raw_crypto_open(SIGN_CONTEXT + header, op, &run->crypto);
}

int bench_run(const struct bench_options *options, struct arena *arena, struct value *out)
{
    struct run run = {.options = options, .ops = options->ops};
    struct value list = value_array();
    bool chosen[FIGURES];
    int rv = run.ops < OPS_MIN ? ERR_USAGE : choose(options->only, chosen);
    if (rv != 0) {
        return rv;
    }
    run.round_s = round_seconds(run.ops);
    rv = prepare(&run);
    if (rv == 0) {
        rv = run_figures(&run, chosen, arena, &list);
    }
    if (rv == 0 && options->only == NULL) {
        rv = measure_extras(&run);
    }
    raw_db_close(run.db);
    raw_crypto_close(run.crypto);
    figures_clean(&run);
    return rv != 0 ? rv : respond(&run, list, arena, out);
}
