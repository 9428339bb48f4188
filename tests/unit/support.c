#include "tests/unit/support.h"

#include <ftw.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mp.h"
#include "base/mp_write.h"
#include "base/text.h"
#include "oplog/db.h"
#include "oplog/verify.h"
#include "ucan/token.h"

const struct mesh_id test_mesh = {"mesh of the tests"};
const struct mesh_id other_mesh = {"another mesh"};

/* The root that admits authors, if there is one. */
static struct {
    struct mesh_id mesh;
    uint8_t secret[64];
    bool given;
} root;

void support_use_root(void)
{
    static const uint8_t seed[32] = "root of the tests";
    assert_int_equal(crypto_sign_seed_keypair(root.mesh.b, root.secret, seed), 0);
    root.given = true;
}

const struct mesh_id *support_mesh(void)
{
    return root.given ? &root.mesh : &test_mesh;
}

/* Memory ------------------------------------------------------------------------------ */

struct kept {
    struct kept *next;
    void (*end)(void *what);
    void *what;
};

static struct kept *kept;

static void keep(void *what, void (*end)(void *what))
{
    struct kept *entry = malloc(sizeof(*entry));
    if (entry == NULL || what == NULL) {
        abort();
    }
    *entry = (struct kept){.next = kept, .end = end, .what = what};
    kept = entry;
}

void *support_alloc(size_t size)
{
    void *memory = calloc(1, size == 0 ? 1 : size);
    keep(memory, free);
    return memory;
}

struct bytes support_copy(struct bytes from)
{
    uint8_t *copy = support_alloc(from.len);
    if (from.len > 0) {
        memcpy(copy, from.data, from.len);
    }
    return bytes_of(copy, from.len);
}

const void *support_mark(void)
{
    return kept;
}

/* Newest first, so that a store is closed before its folder goes. */
void support_free_to(const void *mark)
{
    while (kept != mark) {
        struct kept *entry = kept;
        kept = entry->next;
        entry->end(entry->what);
        free(entry);
    }
}

void support_free(void)
{
    support_free_to(NULL);
}

int support_teardown(void **state)
{
    (void)state;
    support_free();
    return 0;
}

void support_init(void)
{
    if (sodium_init() < 0) {
        abort();
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
}

/* splitmix64 */
struct rng rng_from(uint64_t seed)
{
    return (struct rng){.state = seed};
}

uint64_t rng_next(struct rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

uint32_t rng_below(struct rng *rng, uint32_t bound)
{
    return bound == 0 ? 0 : (uint32_t)(rng_next(rng) % bound);
}

bool rng_chance(struct rng *rng, uint32_t percent)
{
    return rng_below(rng, 100) < percent;
}

/* Folders ----------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_tree(void *path)
{
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(path);
}

const char *support_dir(void)
{
    const char *base = getenv("TMPDIR");
    char *dir = NULL;
    if (asprintf(&dir, "%s/meshlog-test-XXXXXX", base == NULL || *base == 0 ? "/tmp" : base) < 0) {
        abort();
    }
    if (mkdtemp(dir) == NULL) {
        free(dir);
        fail_msg("no temporary folder");
    }
    keep(dir, remove_tree);
    return dir;
}

const char *support_path(const char *dir, const char *name)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", dir, name) < 0) {
        abort();
    }
    keep(path, free);
    return path;
}

/* Authors ----------------------------------------------------------------------------- */

struct test_author author_of(uint32_t number)
{
    struct test_author author = {.seed = {0}};
    memset(author.seed, 0x5e, sizeof(author.seed));
    be_put(author.seed, 4, number);
    crypto_sign_seed_keypair(author.key.b, author.secret, author.seed);
    author.node = node_id_of(&author.key);
    return author;
}

static void end_key(void *key)
{
    key_free(key);
}

const struct key *key_of(const struct test_author *author)
{
    struct key *key;
    assert_ok(key_from_seed(author->seed, &key));
    keep(key, end_key);
    return key;
}

/* Payloads ---------------------------------------------------------------------------- */

static struct salt_source salts_of(uint32_t salt)
{
    struct salt_source salts;
    uint8_t seed[randombytes_SEEDBYTES] = {0};
    be_put(seed, 4, salt);
    randombytes_buf_deterministic(salts.block, sizeof(salts.block), seed);
    salts.left = sizeof(salts.block) / PAYLOAD_SALT;
    return salts;
}

struct bytes payload_of_value(struct value *fields, uint32_t salt)
{
    struct salt_source salts = salts_of(salt);
    struct buf out;
    buf_init(&out, LIMIT_PAYLOAD * 2);
    int rv = payload_encode(fields, &salts, &out);
    struct bytes payload = support_copy(buf_bytes(&out));
    buf_free(&out);
    assert_err("payload_encode", rv, 0);
    return payload;
}

struct bytes payload_of(const char *json, uint32_t salt)
{
    struct arena arena;
    struct value fields;
    struct json_why why;
    arena_init(&arena, LIMIT_TREE_BYTES);
    int rv = value_from_json(&arena, bytes_of_text(json), &fields, &why);
    struct bytes payload = {0};
    if (rv == 0) {
        payload = payload_of_value(&fields, salt);
    }
    arena_free(&arena);
    assert_err(why.text, rv, 0);
    return payload;
}

/* 91 82 a0 c4 10 salt a1 "b" bin8, bin16 or bin32. */
struct bytes payload_sized(size_t size, uint32_t salt)
{
    for (size_t head = 2; head <= 5; head++) {
        size_t rest = 2 + 1 + 18 + 2 + head;
        if (size < rest) {
            break;
        }
        size_t len = size - rest;
        size_t needed = len < 256 ? 2 : len < 65536 ? 3 : 5;
        if (needed == head) {
            struct value fields = value_map();
            struct arena arena;
            arena_init(&arena, LIMIT_TREE_BYTES);
            value_put(&arena, &fields, "b", value_bytes(bytes_of(support_alloc(len), len)));
            struct bytes payload = payload_of_value(&fields, salt);
            arena_free(&arena);
            assert_int_equal(payload.len, size);
            return payload;
        }
    }
    fail_msg("no payload has %zu bytes", size);
    return (struct bytes){0};
}

static void put_json_bytes(struct buf *out, const char *key, const uint8_t *data, size_t len)
{
    char text[64];
    sodium_bin2base64(text, sizeof(text), data, len, sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    buf_put_text(out, "\"");
    buf_put_text(out, key);
    buf_put_text(out, "\":{\"/\":{\"bytes\":\"");
    buf_put_text(out, text);
    buf_put_text(out, "\"}}");
}

struct bytes payload_erase(const struct erase_target *targets, uint32_t count, uint32_t salt)
{
    struct buf json;
    buf_init(&json, SIZE_MAX);
    buf_put_text(&json, "{\"geo\":[],\"ops\":[");
    for (uint32_t i = 0; i < count; i++) {
        buf_put_text(&json, i == 0 ? "{" : ",{");
        put_json_bytes(&json, "hash", targets[i].hash.b, sizeof(targets[i].hash.b));
        buf_put_text(&json, ",");
        put_json_bytes(&json, "id", targets[i].id.b, sizeof(targets[i].id.b));
        buf_put_text(&json, "}");
    }
    buf_put_text(&json, "],");
    put_json_bytes(&json, "record", targets[0].id.b, sizeof(targets[0].id.b));
    buf_put_text(&json, "}");
    buf_put(&json, "", 1);
    struct bytes payload = payload_of((const char *)json.data, salt);
    buf_free(&json);
    return payload;
}

/* One section whose number is one byte longer than it must be. */
struct bytes payload_broken(uint32_t salt)
{
    struct salt_source salts = salts_of(salt);
    uint8_t fresh[PAYLOAD_SALT];
    struct buf out;
    salt_next(&salts, fresh);
    buf_init(&out, 64);
    mp_put_array(&out, 1);
    mp_put_map(&out, 2);
    mp_put_text(&out, bytes_of_text(""));
    mp_put_bytes(&out, bytes_of(fresh, sizeof(fresh)));
    mp_put_text(&out, bytes_of_text("n"));
    buf_put(&out, "\xcc\x07", 2);
    struct bytes payload = support_copy(buf_bytes(&out));
    buf_free(&out);
    return payload;
}

/* Of the root, for everything; without a root only a word in its place. */
static struct bytes token_for(const struct test_author *author)
{
    struct buf out;
    struct ucan_token everything = {.type = UCAN_DELEGATION,
                                    .has_audience = true,
                                    .has_subject = true,
                                    .command = bytes_of_text("/"),
                                    .nonce = bytes_of_text("nonce")};
    if (!root.given) {
        return bytes_of_text("token");
    }
    memcpy(everything.audience.b, author->key.b, sizeof(everything.audience.b));
    memcpy(everything.subject.b, root.mesh.b, sizeof(everything.subject.b));
    buf_init(&out, LIMIT_TOKEN);
    assert_ok(ucan_mint(root.secret, &everything, &out, NULL));
    struct bytes token = support_copy(buf_bytes(&out));
    buf_free(&out);
    return token;
}

struct bytes payload_first(const struct test_author *author)
{
    struct arena arena;
    struct value fields = value_map();
    struct bytes key = bytes_of(author->key.b, sizeof(author->key.b));
    arena_init(&arena, LIMIT_TREE_BYTES);
    value_put(&arena, &fields, "key", value_bytes(key));
    value_put(&arena, &fields, "token", value_bytes(token_for(author)));
    value_put(&arena, &fields, "proofs", value_array());
    struct bytes payload = payload_of_value(&fields, author->key.b[0]);
    arena_free(&arena);
    return payload;
}

struct bytes payload_redact(struct bytes payload, unsigned which)
{
    struct cursor in = cursor_over(payload);
    struct buf out;
    uint32_t count;
    buf_init(&out, LIMIT_PAYLOAD * 2);
    assert_ok(mp_take_array(&in, &count));
    mp_put_array(&out, count);
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *start = in.at;
        assert_ok(mp_skip(&in));
        size_t len = (size_t)(in.at - start);
        if ((which >> i & 1) != 0) {
            uint8_t hash[32];
            crypto_generichash(hash, sizeof(hash), start, len, NULL, 0);
            mp_put_bytes(&out, bytes_of(hash, sizeof(hash)));
        } else {
            buf_put(&out, start, len);
        }
    }
    struct bytes redacted = support_copy(buf_bytes(&out));
    buf_free(&out);
    return redacted;
}

/* Ops --------------------------------------------------------------------------------- */

static struct op_hash blake(struct bytes a, struct bytes b, struct bytes c)
{
    struct op_hash hash;
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, sizeof(hash.b));
    crypto_generichash_update(&state, a.data, a.len);
    crypto_generichash_update(&state, b.data, b.len);
    crypto_generichash_update(&state, c.data, c.len);
    crypto_generichash_final(&state, hash.b, sizeof(hash.b));
    return hash;
}

struct op_id id_at(const struct test_author *author, uint64_t wall_ms, uint16_t counter)
{
    return op_id_make(wall_ms, counter, &author->node);
}

static void put_fields(const struct draft *draft, const struct op_id *id, struct bytes payload,
                       struct buf *out)
{
    struct op_hash digest = payload_digest(payload);
    for (uint32_t i = 0; i < 8; i++) {
        if (draft->field[i].data != NULL) {
            buf_put(out, draft->field[i].data, draft->field[i].len);
            continue;
        }
        switch (i) {
        case 0:
            mp_put_uint(out, draft->version == 0 ? 1 : draft->version);
            break;
        case 1:
            mp_put_uint(out, draft->kind == 0 ? KIND_CreateClaim : draft->kind);
            break;
        case 2:
            mp_put_bytes(out, bytes_of(id->b, sizeof(id->b)));
            break;
        case 3:
            mp_put_uint(out, draft->seq == 0 ? 1 : draft->seq);
            break;
        case 4:
            mp_put_array(out, draft->prev_count);
            for (uint32_t j = 0; j < draft->prev_count; j++) {
                mp_put_bytes(out, bytes_of(draft->prev[j].b, sizeof(draft->prev[j].b)));
            }
            break;
        case 5:
            mp_put_array(out, draft->dep_count);
            for (uint32_t j = 0; j < draft->dep_count; j++) {
                mp_put_bytes(out, bytes_of(draft->deps[j].b, sizeof(draft->deps[j].b)));
            }
            break;
        case 6:
            mp_put_uint(out, payload.len);
            break;
        default:
            mp_put_bytes(out, bytes_of(digest.b, sizeof(digest.b)));
            break;
        }
    }
}

void sign_again(const struct test_author *author, struct bytes message, uint8_t sig[64])
{
    uint8_t expanded[64];
    uint8_t wide[64];
    uint8_t nonce[32];
    uint8_t challenge[32];
    crypto_hash_sha512(expanded, author->seed, sizeof(author->seed));
    expanded[0] &= 248;
    expanded[31] &= 127;
    expanded[31] |= 64;
    crypto_hash_sha512_state state;
    crypto_hash_sha512_init(&state);
    crypto_hash_sha512_update(&state, (const uint8_t *)"another nonce", 13);
    crypto_hash_sha512_update(&state, expanded + 32, 32);
    crypto_hash_sha512_update(&state, message.data, message.len);
    crypto_hash_sha512_final(&state, wide);
    crypto_core_ed25519_scalar_reduce(nonce, wide);
    assert_int_equal(crypto_scalarmult_ed25519_base_noclamp(sig, nonce), 0);
    crypto_hash_sha512_init(&state);
    crypto_hash_sha512_update(&state, sig, 32);
    crypto_hash_sha512_update(&state, author->key.b, 32);
    crypto_hash_sha512_update(&state, message.data, message.len);
    crypto_hash_sha512_final(&state, wide);
    crypto_core_ed25519_scalar_reduce(challenge, wide);
    crypto_core_ed25519_scalar_mul(sig + 32, challenge, expanded);
    crypto_core_ed25519_scalar_add(sig + 32, sig + 32, nonce);
    assert_int_equal(crypto_sign_verify_detached(sig, message.data, message.len, author->key.b), 0);
}

static void put_sig(const struct test_author *author, const struct draft *draft,
                    struct bytes header, struct buf *out)
{
    if (draft->sig.data != NULL) {
        buf_put(out, draft->sig.data, draft->sig.len);
        return;
    }
    uint8_t sig[64];
    const struct mesh_id *mesh = draft->mesh == NULL ? support_mesh() : draft->mesh;
    struct buf message;
    buf_init(&message, SIZE_MAX);
    buf_put_text(&message, "meshlog op 1");
    buf_put(&message, mesh->b, sizeof(mesh->b));
    buf_put(&message, header.data, header.len);
    switch (draft->sign) {
    case SIGN_GOOD:
        crypto_sign_detached(sig, NULL, message.data, message.len, author->secret);
        break;
    case SIGN_AGAIN:
        sign_again(author, buf_bytes(&message), sig);
        break;
    default: /* Well-formed: S is below the order of the group. */
        crypto_generichash(sig, sizeof(sig), header.data, header.len, NULL, 0);
        sig[63] &= 0x0f;
        break;
    }
    buf_free(&message);
    mp_put_bytes(out, bytes_of(sig, draft->sign == SIGN_NONE ? 0 : sizeof(sig)));
}

static const struct made *finish(struct bytes header, struct bytes sig, struct bytes payload)
{
    struct made *op = support_alloc(sizeof(*op));
    uint8_t *raw = support_alloc(header.len + sig.len + payload.len);
    memcpy(raw, header.data, header.len);
    memcpy(raw + header.len, sig.data, sig.len);
    if (payload.len > 0) {
        memcpy(raw + header.len + sig.len, payload.data, payload.len);
    }
    op->raw = bytes_of(raw, header.len + sig.len + payload.len);
    op->header = bytes_of(raw, header.len);
    op->sig = bytes_of(raw + header.len, sig.len);
    op->payload = bytes_of(raw + header.len + sig.len, payload.len);
    op->hash = blake(bytes_of_text("meshlog hash 1"), op->header, op->sig);
    return op;
}

const struct made *make(const struct test_author *author, const struct draft *draft)
{
    uint64_t wall_ms = draft->wall_ms == 0 ? NOW_MS : draft->wall_ms;
    struct op_id id = draft->id != NULL ? *draft->id : id_at(author, wall_ms, draft->counter);
    struct bytes payload = draft->payload;
    if (payload.data == NULL) {
        payload = payload_of("{}", (uint32_t)draft->seq);
    }
    struct buf out;
    buf_init(&out, SIZE_MAX);
    if (draft->array_head.data != NULL) {
        buf_put(&out, draft->array_head.data, draft->array_head.len);
    } else {
        mp_put_array(&out, 8 + draft->further_count);
    }
    put_fields(draft, &id, payload, &out);
    buf_put(&out, draft->further.data, draft->further.len);
    size_t header_len = out.len;
    struct bytes header = support_copy(buf_bytes(&out));
    put_sig(author, draft, header, &out);
    struct bytes sig = bytes_of(out.data + header_len, out.len - header_len);
    struct bytes carried = draft->carry == CARRY_FULL      ? payload
                           : draft->carry == CARRY_NOTHING ? (struct bytes){0}
                                                           : draft->carried;
    struct made *op = support_alloc(sizeof(*op));
    *op = *finish(header, sig, carried);
    op->id = id;
    op->seq = draft->seq == 0 ? 1 : draft->seq;
    buf_free(&out);
    return op;
}

const struct made *with_payload(const struct made *op, struct bytes payload)
{
    struct made *other = support_alloc(sizeof(*other));
    *other = *finish(op->header, op->sig, payload);
    other->id = op->id;
    other->seq = op->seq;
    return other;
}

const struct made *make_first(const struct test_author *author, uint64_t wall_ms)
{
    struct draft draft = {
        .kind = KIND_DelegateUcan, .wall_ms = wall_ms, .payload = payload_first(author)};
    return make(author, &draft);
}

const struct made *make_next(const struct test_author *author, const struct made *before,
                             const struct draft *draft)
{
    return make_join(author, &before, 1, draft);
}

static int compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct op_hash));
}

const struct made *make_join(const struct test_author *author, const struct made *const *before,
                             uint32_t count, const struct draft *draft)
{
    struct draft next = draft == NULL ? (struct draft){0} : *draft;
    struct op_hash *prev = support_alloc(count * sizeof(*prev));
    uint64_t seq = 0;
    uint64_t wall_ms = 0;
    for (uint32_t i = 0; i < count; i++) {
        prev[i] = before[i]->hash;
        seq = before[i]->seq > seq ? before[i]->seq : seq;
        uint64_t wall = op_id_wall_ms(&before[i]->id);
        wall_ms = wall > wall_ms ? wall : wall_ms;
    }
    qsort(prev, count, sizeof(*prev), compare_hashes);
    if (next.prev == NULL) {
        next.prev = prev;
        next.prev_count = count;
    }
    next.seq = next.seq == 0 ? seq + 1 : next.seq;
    next.wall_ms = next.wall_ms == 0 ? wall_ms + 1 : next.wall_ms;
    return make(author, &next);
}

void make_run(const struct test_author *author, const struct made *before, const char *sign,
              const struct made **out, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char how = *sign;
        if (sign[1] != 0) {
            sign++;
        }
        if (i == 0 && before == NULL) {
            out[i] = make_first(author, NOW_MS - 1000000);
            continue;
        }
        struct draft draft = {.sign = how == 'g'   ? SIGN_GOOD
                                      : how == 'x' ? SIGN_GARBAGE
                                                   : SIGN_NONE};
        out[i] = make_next(author, i == 0 ? before : out[i - 1], &draft);
    }
}

/* Segments ---------------------------------------------------------------------------- */

struct bytes segment_of(const struct test_author *author, const struct made *const *ops,
                        uint32_t count)
{
    struct buf out;
    buf_init(&out, SIZE_MAX);
    buf_put(&out, author->key.b, sizeof(author->key.b));
    buf_put_be(&out, 2, count);
    for (uint32_t i = 0; i < count; i++) {
        buf_put_be(&out, 4, ops[i]->raw.len);
        buf_put(&out, ops[i]->raw.data, ops[i]->raw.len);
    }
    struct bytes wire = support_copy(buf_bytes(&out));
    buf_free(&out);
    return wire;
}

struct bytes segment_of_one(const struct test_author *author, const struct made *op)
{
    return segment_of(author, &op, 1);
}

/* Stores ------------------------------------------------------------------------------ */

static void end_store(void *holder)
{
    struct store **store = holder;
    store_close(*store);
    free(store);
}

struct store *store_new_of(const struct mesh_id *mesh)
{
    const char *dir = support_dir();
    struct store *store;
    assert_ok(store_create(dir, mesh, 0));
    assert_ok(store_open(dir, STORE_WRITE, &store));
    mdb_env_set_flags(store->env, MDB_NOSYNC, 1);
    struct store **holder = malloc(sizeof(struct store *));
    if (holder == NULL) {
        abort();
    }
    *holder = store;
    keep(holder, end_store);
    return store;
}

struct store *store_new_for_test(void)
{
    return store_new_of(support_mesh());
}

void store_done(struct store *store)
{
    for (struct kept *entry = kept; entry != NULL; entry = entry->next) {
        if (entry->end == end_store && *(struct store **)entry->what == store) {
            *(struct store **)entry->what = NULL;
        }
    }
    store_close(store);
}

void store_wipe(struct store *store)
{
    struct txn *txn = begin_write(store);
    for (int i = 0; i < DB_COUNT; i++) {
        if (i != DB_meta) {
            assert_int_equal(mdb_drop(txn->mdb, store->dbi[i], 0), 0);
        }
    }
    assert_ok(txn_commit(txn));
    txn_abort(begin_write(store)); /* With that it forgets what it had read of authority. */
}

struct txn *begin_read(struct store *store)
{
    struct txn *txn;
    assert_ok(txn_begin_read(store, &txn));
    return txn;
}

struct txn *begin_write(struct store *store)
{
    struct txn *txn;
    assert_ok(txn_begin_write(store, &txn));
    return txn;
}

int offer_in(struct txn *txn, struct bytes wire, uint64_t now_ms, struct chain_result *out)
{
    static struct segment_op room[LIMIT_SEGMENT_OPS];
    struct segment segment;
    struct chain_result result;
    if (out == NULL) {
        out = &result;
    }
    *out = (struct chain_result){0};
    int rv = segment_decode(wire, room, &segment);
    return rv != 0 ? rv : chain_accept(txn, &segment, now_ms, out);
}

int offer(struct store *store, struct bytes wire, uint64_t now_ms, struct chain_result *out)
{
    struct txn *txn = begin_write(store);
    int rv = offer_in(txn, wire, now_ms, out);
    if (rv != 0 && !err_is_refusal(rv)) {
        txn_abort(txn);
        return rv;
    }
    int committed = txn_commit(txn); /* Also after a refusal: it has changed nothing. */
    return rv != 0 ? rv : committed;
}

int offer_op(struct store *store, const struct test_author *author, const struct made *op)
{
    return offer(store, segment_of_one(author, op), NOW_MS, NULL);
}

int offer_ops(struct store *store, const struct test_author *author, const struct made *const *ops,
              uint32_t count)
{
    return offer(store, segment_of(author, ops, count), NOW_MS, NULL);
}

static void put_hex(struct buf *out, const uint8_t *data, size_t len)
{
    char text[2 * 32 + 1];
    assert_true(len <= 32);
    hex_encode(bytes_of(data, len), text);
    buf_put_text(out, text);
}

static void put_number(struct buf *out, uint64_t number)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    buf_put_text(out, text);
}

static void dump_author(struct txn *txn, const struct author *author, struct buf *out)
{
    uint32_t count;
    struct head heads[256];
    buf_put_text(out, "author ");
    put_hex(out, author->key.b, 4);
    buf_put_text(out, " ops ");
    put_number(out, author->ops);
    buf_put_text(out, "\n");
    assert_ok(heads_of(txn, author->ix, heads, COUNT_OF(heads), &count));
    assert_true(count <= COUNT_OF(heads));
    for (uint32_t i = 0; i < count; i++) {
        buf_put_text(out, "  head ");
        put_hex(out, heads[i].hash.b, 16);
        buf_put_text(out, " seq ");
        put_number(out, heads[i].seq);
        buf_put_text(out, "\n");
    }
}

static void dump_order(struct txn *txn, struct buf *out)
{
    struct walk walk;
    struct walk_item item;
    int rv = walk_order(txn, NULL, &walk);
    while (rv == 0 && (rv = walk_next(&walk, &item)) == 0) {
        char text[OP_ID_TEXT];
        struct op_author author;
        rv = author_key(txn, item.row.author_ix, &author);
        op_id_text(&item.row.op.id, text);
        buf_put_text(out, text);
        buf_put_text(out, " ");
        put_hex(out, item.hash.b, 8);
        buf_put_text(out, " by ");
        put_hex(out, author.b, 4);
        buf_put_text(out, " ");
        buf_put_text(out, verdict_state_code(item.place.verdict.state));
        const char *reason = reason_code(item.place.verdict.reason);
        buf_put_text(out, reason == NULL ? "" : " ");
        buf_put_text(out, reason == NULL ? "" : reason);
        bool erased = verdict_is_erased(&item.place.verdict); /* Bytes may be here or gone. */
        buf_put_text(out, erased || item.row.payload_state == PAYLOAD_FULL ? ""
                          : item.row.payload_state == PAYLOAD_REDACTED     ? " (redacted)"
                                                                           : " (no payload)");
        buf_put_text(out, "\n");
    }
    walk_end(&walk);
    assert_err("walk_order", rv, ERR_UNKNOWN_ID);
}

struct bytes store_dump(struct store *store)
{
    struct buf out;
    struct op_author next = {{0}};
    struct author author;
    struct op_hash frontier;
    uint64_t ops;
    buf_init(&out, SIZE_MAX);
    struct txn *txn = begin_read(store);
    int rv;
    while ((rv = author_next(txn, &next, &author)) == 0) {
        dump_author(txn, &author, &out);
        next = author.key;
        for (size_t i = sizeof(next.b); i > 0 && ++next.b[i - 1] == 0; i--) {
        }
    }
    assert_err("author_next", rv, ERR_UNKNOWN_ID);
    dump_order(txn, &out);
    assert_ok(frontier_hash(txn, &frontier, &ops));
    txn_abort(txn);
    buf_put_text(&out, "frontier ");
    put_hex(&out, frontier.b, sizeof(frontier.b));
    buf_put_text(&out, " ops ");
    put_number(&out, ops);
    buf_put_text(&out, "\n");
    struct bytes dump = support_copy(buf_bytes(&out));
    buf_free(&out);
    return dump;
}

void assert_same_text(struct bytes a, struct bytes b, const char *why)
{
    if (!bytes_equal(a, b)) {
        print_error("--- one:\n%.*s--- other:\n%.*s", (int)a.len, (const char *)a.data, (int)b.len,
                    (const char *)b.data);
        fail_msg("%s: they differ", why);
    }
}

void assert_same_stores(struct store *a, struct store *b, const char *why)
{
    assert_same_text(store_dump(a), store_dump(b), why);
}

const char *verdict_of(struct store *store, const struct made *op)
{
    struct txn *txn = begin_read(store);
    struct place place;
    int rv = order_get(txn, &op->id, &op->hash, &place);
    txn_abort(txn);
    if (rv == ERR_UNKNOWN_ID) {
        return "absent";
    }
    assert_err("order_get", rv, 0);
    char *text = support_alloc(64);
    const char *reason = reason_code(place.verdict.reason);
    (void)snprintf(text, 64, "%s%s%s", verdict_state_code(place.verdict.state),
                   reason == NULL ? "" : " ", reason == NULL ? "" : reason);
    return text;
}

uint64_t ops_in(struct store *store)
{
    struct txn *txn = begin_read(store);
    uint64_t count;
    int rv = log_count(txn, &count);
    txn_abort(txn);
    assert_err("log_count", rv, 0);
    return count;
}

uint32_t heads_in(struct store *store, const struct test_author *author)
{
    struct txn *txn = begin_read(store);
    struct author found;
    uint32_t count = 0;
    int rv = author_find(txn, &author->key, &found);
    if (rv == 0) {
        rv = heads_of(txn, found.ix, NULL, 0, &count);
    }
    txn_abort(txn);
    assert_err("heads_of", rv == ERR_UNKNOWN_ID ? 0 : rv, 0);
    return count;
}

void relay(struct store *from, struct store *to)
{
    struct txn *txn = begin_read(from);
    struct buf wire;
    uint64_t n = 0;
    int rv;
    int taken = 0;
    buf_init(&wire, LIMIT_SEGMENT_BYTES);
    while ((rv = chain_read(txn, n, &wire, &n)) == 0 && taken == 0) {
        taken = offer(to, buf_bytes(&wire), UINT64_MAX >> 16, NULL);
        buf_clear(&wire);
    }
    buf_free(&wire);
    txn_abort(txn);
    assert_err("relayed", taken, 0);
    assert_err("chain_read", rv, ERR_UNKNOWN_ID);
}

static void print_damage(void *ctx, const struct damage *damage)
{
    (void)ctx;
    print_error("damaged: n %llu, %s\n", (unsigned long long)damage->n, damage->problem);
}

void assert_clean(struct store *store)
{
    struct verify_report report = {.damage = print_damage};
    struct verify_totals totals;
    assert_ok(verify_store(store, 1, &report, &totals));
    assert_count("damaged ops", totals.damaged, 0);
    assert_count("verified ops", totals.ops, ops_in(store));
}
