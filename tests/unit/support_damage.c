#include "tests/unit/support_damage.h"

#include <string.h>

#include "oplog/db.h"

const struct test_author *planted_author(const struct planted *f, uint64_t n)
{
    return n >= B_RUN && n < A_BRANCH ? &f->b : &f->a;
}

void planted_new(struct planted *f)
{
    *f = (struct planted){.a = author_of(1), .b = author_of(2)};
    make_run(&f->a, NULL, "g----g", f->op + A_RUN, 6);
    make_run(&f->a, f->op[5], "--g", f->op + A_NEXT, 3);
    make_run(&f->b, NULL, "g-g", f->op + B_RUN, 3);
    struct draft branch = {.kind = KIND_CreateEntity};
    f->op[A_BRANCH] = make_next(&f->a, f->op[3], &branch);
    f->store = store_new_for_test();
}

void planted_fill(struct planted *f)
{
    store_wipe(f->store);
    assert_ok(offer_ops(f->store, &f->a, f->op + A_RUN, 6));
    assert_ok(offer_ops(f->store, &f->a, f->op + A_NEXT, 3));
    assert_ok(offer_ops(f->store, &f->b, f->op + B_RUN, 3));
    assert_ok(offer_op(f->store, &f->a, f->op[A_BRANCH]));
}

/* Raw rows ------------------------------------------------------------------------------ */

struct bytes planted_key(uint64_t n)
{
    uint8_t *key = support_alloc(8);
    be_put(key, 8, n);
    return bytes_of(key, 8);
}

uint8_t *planted_row(struct planted *f, uint64_t n, size_t *len)
{
    struct bytes value;
    assert_ok(db_get(f->txn, DB_log, planted_key(n), &value));
    uint8_t *copy = support_alloc(value.len + 1);
    memcpy(copy, value.data, value.len);
    *len = value.len;
    return copy;
}

/* Flip a bit of the op that arrived as n. */
static void flip(struct planted *f, uint64_t n, size_t at)
{
    size_t len;
    uint8_t *value = planted_row(f, n, &len);
    value[5 + at] ^= 1;
    assert_ok(db_put(f->txn, DB_log, planted_key(n), bytes_of(value, len)));
}

static struct bytes order_key(const struct made *op)
{
    uint8_t *key = support_alloc(32);
    memcpy(key, op->id.b, 16);
    memcpy(key + 16, op->hash.b, 16);
    return bytes_of(key, 32);
}

static uint32_t ix_of(struct planted *f, const struct test_author *author)
{
    struct author found;
    assert_ok(author_find(f->txn, &author->key, &found));
    return found.ix;
}

static struct bytes run_key(struct planted *f, uint64_t n)
{
    uint8_t *key = support_alloc(28);
    be_put(key, 4, ix_of(f, planted_author(f, n)));
    be_put(key + 4, 8, f->op[n]->seq);
    memcpy(key + 12, f->op[n]->hash.b, 16);
    return bytes_of(key, 28);
}

static void put_head(struct planted *f, uint64_t n)
{
    struct head head = {.hash = f->op[n]->hash, .id = f->op[n]->id, .seq = f->op[n]->seq, .n = n};
    assert_ok(head_put(f->txn, ix_of(f, planted_author(f, n)), &head));
}

static void drop_head(struct planted *f, uint64_t n)
{
    assert_ok(head_delete(f->txn, ix_of(f, planted_author(f, n)), &f->op[n]->hash));
}

/* Damage -------------------------------------------------------------------------------- */

static void flip_kind(struct planted *f)
{
    flip(f, 2, 2);
}
static void flip_id(struct planted *f)
{
    flip(f, 2, 3 + 2 + 5);
}
static void flip_prev(struct planted *f)
{
    flip(f, 3, 3 + 18 + 1 + 1 + 2 + 7);
}
static void flip_digest(struct planted *f)
{
    flip(f, 2, f->op[2]->header.len - 1);
}
static void flip_first_byte(struct planted *f)
{
    flip(f, 2, 0);
}
static void flip_sig(struct planted *f)
{
    flip(f, 5, f->op[5]->header.len + 20);
}
static void flip_head_kind(struct planted *f)
{
    flip(f, 8, 2);
}
static void flip_head_sig(struct planted *f)
{
    flip(f, 11, f->op[11]->header.len + 20);
}
static void flip_payload(struct planted *f)
{
    flip(f, 4, f->op[4]->raw.len - 1);
}
static void flip_first_op_payload(struct planted *f)
{
    flip(f, 9, f->op[9]->raw.len - 1);
}

static void cut_row(struct planted *f)
{
    size_t len;
    uint8_t *value = planted_row(f, 7, &len);
    assert_ok(db_put(f->txn, DB_log, planted_key(7), bytes_of(value, 40)));
}

static void empty_row(struct planted *f)
{
    assert_ok(db_put(f->txn, DB_log, planted_key(7), bytes_of("", 1)));
}

static void wrong_payload_state(struct planted *f)
{
    size_t len;
    uint8_t *value = planted_row(f, 7, &len);
    value[0] = 0;
    assert_ok(db_put(f->txn, DB_log, planted_key(7), bytes_of(value, len)));
}

static void lost_payload(struct planted *f)
{
    size_t len;
    uint8_t *value = planted_row(f, 7, &len);
    assert_ok(db_put(f->txn, DB_log, planted_key(7), bytes_of(value, len - f->op[7]->payload.len)));
}

static void unknown_author(struct planted *f)
{
    size_t len;
    uint8_t *value = planted_row(f, 7, &len);
    be_put(value + 1, 4, 99);
    assert_ok(db_put(f->txn, DB_log, planted_key(7), bytes_of(value, len)));
}

static void drop_log_row(struct planted *f)
{
    assert_ok(db_delete(f->txn, DB_log, planted_key(2)));
}

static void drop_last_log_row(struct planted *f)
{
    assert_ok(db_delete(f->txn, DB_log, planted_key(OPS - 1)));
}

static void drop_order_row(struct planted *f)
{
    assert_ok(db_delete(f->txn, DB_order, order_key(f->op[10])));
}

static void drop_order_row_of_head(struct planted *f)
{
    assert_ok(db_delete(f->txn, DB_order, order_key(f->op[8])));
}

static void order_points_elsewhere(struct planted *f)
{
    uint8_t value[10] = {0};
    be_put(value, 8, 3);
    assert_ok(db_put(f->txn, DB_order, order_key(f->op[10]), bytes_of(value, sizeof(value))));
}

static void drop_run(struct planted *f)
{
    assert_ok(db_delete(f->txn, DB_chains, run_key(f, A_NEXT)));
}

static void shorten_run(struct planted *f)
{
    uint8_t value[10];
    be_put(value, 8, A_NEXT);
    be_put(value + 8, 2, 2);
    assert_ok(db_put(f->txn, DB_chains, run_key(f, A_NEXT), bytes_of(value, sizeof(value))));
}

static void stale_head(struct planted *f)
{
    put_head(f, 5);
}
static void stale_inner_head(struct planted *f)
{
    put_head(f, 1);
}
static void drop_one_head(struct planted *f)
{
    drop_head(f, A_BRANCH);
}
static void drop_only_head(struct planted *f)
{
    drop_head(f, 11);
}

static void head_points_elsewhere(struct planted *f)
{
    struct head head = {.hash = f->op[8]->hash, .id = f->op[8]->id, .seq = f->op[8]->seq, .n = 7};
    assert_ok(head_put(f->txn, ix_of(f, &f->a), &head));
}

static void head_points_past_the_end(struct planted *f)
{
    struct head head = {
        .hash = f->op[8]->hash, .id = f->op[8]->id, .seq = f->op[8]->seq, .n = 1ull << 60};
    assert_ok(head_put(f->txn, ix_of(f, &f->a), &head));
}

/* As if the last op had never been: all rows agree, but nobody vouches for the one before. */
void plant_unsigned_head(struct planted *f)
{
    struct author author;
    uint8_t value[10];
    be_put(value, 8, B_RUN);
    be_put(value + 8, 2, 2);
    drop_head(f, 11);
    put_head(f, 10);
    assert_ok(db_delete(f->txn, DB_order, order_key(f->op[11])));
    assert_ok(db_put(f->txn, DB_chains, run_key(f, B_RUN), bytes_of(value, sizeof(value))));
    /* Arrival numbers have no gaps: the branch takes the place. */
    size_t len;
    uint8_t *moved = planted_row(f, A_BRANCH, &len);
    assert_ok(db_put(f->txn, DB_log, planted_key(11), bytes_of(moved, len)));
    assert_ok(db_delete(f->txn, DB_log, planted_key(A_BRANCH)));
    be_put(value, 8, 11);
    be_put(value + 8, 2, 1);
    assert_ok(db_put(f->txn, DB_chains, run_key(f, A_BRANCH), bytes_of(value, sizeof(value))));
    value[8] = 0;
    value[9] = 0;
    assert_ok(db_put(f->txn, DB_order, order_key(f->op[A_BRANCH]), bytes_of(value, 10)));
    struct head head = {.hash = f->op[A_BRANCH]->hash,
                        .id = f->op[A_BRANCH]->id,
                        .seq = f->op[A_BRANCH]->seq,
                        .n = 11};
    assert_ok(head_put(f->txn, ix_of(f, &f->a), &head));
    assert_ok(author_find(f->txn, &f->b.key, &author));
    author.ops--;
    assert_ok(author_put(f->txn, &author));
}

static void extra_order_row(struct planted *f)
{
    struct made nobody = *f->op[3];
    nobody.hash.b[0] ^= 1;
    assert_ok(db_put(f->txn, DB_order, order_key(&nobody), bytes_of("\0\0\0\0\0\0\0\3\0", 10)));
}

static void wrong_count(struct planted *f)
{
    struct author author;
    assert_ok(author_find(f->txn, &f->b.key, &author));
    author.ops++;
    assert_ok(author_put(f->txn, &author));
}

static void lost_author_key(struct planted *f)
{
    uint8_t key[4];
    be_put(key, 4, ix_of(f, &f->b));
    assert_ok(db_delete(f->txn, DB_author_keys, bytes_of(key, sizeof(key))));
}

static void nothing(struct planted *f)
{
    (void)f;
}

static void many(struct planted *f)
{
    flip_payload(f);
    flip_first_op_payload(f);
    flip_sig(f);
    drop_one_head(f);
    drop_order_row(f);
}

const struct planted_case planted_cases[] = {
    {"nothing", nothing, {{0}}},
    {"a flipped bit in a header", flip_kind, {{2, "altered"}, {3, "lost_prev"}}},
    {"a flipped bit in an id", flip_id, {{2, "altered"}, {3, "lost_prev"}}},
    {"a flipped bit in a prev", flip_prev, {{3, "altered"}, {4, "lost_prev"}, {12, "lost_prev"}}},
    {"a flipped bit in a digest", flip_digest, {{2, "altered"}, {3, "lost_prev"}}},
    {"a flipped first byte", flip_first_byte, {{2, "unreadable"}, {3, "lost_prev"}}},
    {"a flipped bit in a signature", flip_sig, {{5, "altered"}, {6, "lost_prev"}}},
    {"a flipped bit in a head's header", flip_head_kind, {{8, "altered"}}},
    {"a flipped bit in a head's signature", flip_head_sig, {{11, "altered"}}},
    {"a flipped bit in a payload", flip_payload, {{4, "bad_digest"}}},
    {"a flipped bit in a first op's payload", flip_first_op_payload, {{9, "bad_digest"}}},
    {"a row cut short", cut_row, {{7, "unreadable"}, {8, "lost_prev"}}},
    {"an empty row", empty_row, {{7, "unreadable"}, {8, "lost_prev"}}},
    {"another payload state", wrong_payload_state, {{7, "bad_digest"}}},
    {"a payload that is gone", lost_payload, {{7, "bad_digest"}}},
    {"an author that is not there", unknown_author, {{7, "not_in_chain"}}},
    {"a row of the log that is gone", drop_log_row, {{2, "missing"}, {3, "lost_prev"}}},
    {"the last row of the log", drop_last_log_row, {{12, "missing"}}},
    {"a row of the order that is gone", drop_order_row, {{10, "not_in_order"}}},
    {"a head's row of the order", drop_order_row_of_head, {{8, "not_in_order"}}},
    {"a row of the order that points elsewhere", order_points_elsewhere, {{10, "not_in_order"}}},
    {"a row of the chain that is gone",
     drop_run,
     {{6, "not_in_chain"}, {7, "not_in_chain"}, {8, "not_in_chain"}}},
    {"a row of the chain that is too short", shorten_run, {{8, "not_in_chain"}}},
    {"a stale head", stale_head, {{6, "stale_head"}}},
    {"a stale head inside a run", stale_inner_head, {{2, "stale_head"}}},
    {"a lost head of two", drop_one_head, {{12, "lost_head"}}},
    {"the only head lost", drop_only_head, {{11, "lost_head"}, {NOBODY, "bad_author"}}},
    {"a head that points elsewhere", head_points_elsewhere, {{7, "stale_head"}}},
    {"a head that points past the end", head_points_past_the_end, {{1ull << 60, "stale_head"}}},
    {"a head that nobody vouches for", plant_unsigned_head, {{10, "bad_signature"}}},
    {"a row that belongs to no op", extra_order_row, {{NOBODY, "bad_index"}}},
    {"a wrong count", wrong_count, {{NOBODY, "bad_index"}}},
    {"an author without name", lost_author_key, {{NOBODY, "bad_author"}}},
    {"many things at once",
     many,
     {{4, "bad_digest"},
      {5, "altered"},
      {9, "bad_digest"},
      {10, "not_in_order"},
      {12, "lost_head"}}},
};

const size_t planted_case_count = COUNT_OF(planted_cases);

void planted_damage(struct planted *f, const struct planted_case *the_case)
{
    planted_fill(f);
    f->txn = begin_write(f->store);
    the_case->damage(f);
    assert_ok(txn_commit(f->txn));
}

/* What was found ------------------------------------------------------------------------ */

void damage_note(void *ctx, const struct damage *damage)
{
    struct damage_list *found = ctx;
    if (found->count < COUNT_OF(found->damage)) {
        found->damage[found->count] = *damage;
    }
    found->count++;
}

bool damage_has(const struct damage_list *found, uint64_t n, const char *problem)
{
    for (uint32_t i = 0; i < found->count; i++) {
        const struct damage *damage = &found->damage[i];
        bool same_op = n == NOBODY ? !damage->has_id : damage->n == n;
        if (same_op && strcmp(damage->problem, problem) == 0) {
            return true;
        }
    }
    return false;
}
