/* Any bytes as a bundle file: what is taken and what is refused is what a slow and obvious reader,
 * which offers one segment after the other, takes and refuses (spec/bundle.md). The store verifies
 * afterwards, reading the file again changes nothing, and a bundle of the store brings another to
 * the same state. */
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <sodium.h>
#include <sys/mman.h>
#include <unistd.h>

#include "oplog/export.h"
#include "oplog/import.h"
#include "tests/fuzz/forge.h"
#include "tests/unit/support.h"

/* Made once. */
static struct {
    int fd;
    struct store *store; /* Reads bundles. */
    struct store *other; /* Takes the same segments one by one, then a bundle of the first. */
} base;

static void make_base(void)
{
    support_init();
    base.fd = memfd_create("bundle", MFD_CLOEXEC);
    assert_true(base.fd >= 0);
    base.store = store_new_for_test();
    base.other = store_new_for_test();
}

static void fill_file(const uint8_t *data, size_t len)
{
    assert_int_equal(ftruncate(base.fd, 0), 0);
    assert_int_equal(pwrite(base.fd, data, len, 0), len);
}

/* Does the check that ends these bytes fit, after the check before them (NULL: none)? */
static bool fits(const uint8_t *before, const uint8_t *part, size_t len)
{
    uint8_t check[BUNDLE_CHECK];
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, sizeof(check));
    crypto_generichash_update(&state, before, before == NULL ? 0 : sizeof(check));
    crypto_generichash_update(&state, part, len);
    crypto_generichash_final(&state, check, sizeof(check));
    return memcmp(check, part + len, sizeof(check)) == 0;
}

/* The table of spec/bundle.md for the head, from top to bottom. */
static int check_head(const uint8_t *data, size_t len)
{
    static const char magic[] = "meshlog bundle\n";
    size_t begin = len < 15 ? len : 15;
    if (len == 0 || memcmp(data, magic, begin) != 0) {
        return ERR_NOT_A_BUNDLE;
    }
    if (len > 15 && data[15] != 1) {
        return ERR_NEWER_SCHEMA;
    }
    if (len < 72) {
        return ERR_TRUNCATED;
    }
    if (!fits(NULL, data, 56)) {
        return ERR_MALFORMED;
    }
    return memcmp(data + 16, test_mesh.b, 32) == 0 ? 0 : ERR_WRONG_MESH;
}

/* What the bundle says, one segment after the other. */
static int read_slowly(const uint8_t *data, size_t len)
{
    uint64_t ops = 0;
    int rv = check_head(data, len);
    for (size_t at = 72; rv == 0;) {
        if (len - at < 4) {
            return ERR_TRUNCATED;
        }
        size_t size = be_get(data + at, 4);
        if (size > LIMIT_SEGMENT_BYTES) {
            return ERR_TOO_LARGE;
        }
        if (len - at < size + 20) {
            return ERR_TRUNCATED;
        }
        if (!fits(data + at - 16, data + at, 4 + size)) {
            return ERR_MALFORMED;
        }
        struct bytes segment = bytes_of(data + at + 4, size);
        at += size + 20;
        if (size == 0) {
            return ops != be_get(data + 48, 8) ? ERR_MALFORMED : at < len ? ERR_TRAILING : 0;
        }
        ops += size < 34 ? 0 : be_get(segment.data + 32, 2);
        rv = offer(base.other, segment, NOW_MS, NULL);
        rv = rv == ERR_LIMIT ? 0 : rv;
    }
    return rv;
}

static int import_file(struct store *store, struct import_result *out)
{
    struct bundle_reader reader;
    *out = (struct import_result){0};
    assert_int_equal(lseek(base.fd, 0, SEEK_SET), 0);
    int rv = bundle_open(&reader, base.fd, NULL);
    uint64_t ops = reader.head.ops;
    if (rv == 0) {
        rv = import_bundle(store, &reader, NOW_MS, out);
    }
    bundle_reader_free(&reader);
    if (rv == 0) {
        assert_count("ops", out->appended + out->duplicate + out->parked + out->held_back, ops);
    }
    return rv;
}

/* Every op in the store came from the file, byte by byte. */
static void check_origin(const uint8_t *data, size_t len)
{
    struct txn *txn = begin_read(base.store);
    struct walk walk;
    struct walk_item item;
    int rv = walk_arrival(txn, 0, &walk);
    while (rv == 0 && (rv = walk_next(&walk, &item)) == 0) {
        struct bytes header = bytes_of(item.row.op.raw.data, item.row.op.header.len + 2);
        assert(memmem(data, len, header.data, header.len) != NULL);
    }
    walk_end(&walk);
    txn_abort(txn);
    assert_err("walk_arrival", rv, ERR_UNKNOWN_ID);
}

/* Write the store as a bundle, and read that into an empty one. */
static void check_export(uint64_t ops)
{
    struct export_result written;
    struct import_result read;
    assert_int_equal(ftruncate(base.fd, 0), 0);
    assert_int_equal(lseek(base.fd, 0, SEEK_SET), 0);
    assert_ok(export_store(base.store, NULL, base.fd, NULL, &written));
    assert_count("exported", written.ops, ops);
    store_wipe(base.other);
    assert_ok(import_file(base.other, &read));
    assert_same_stores(base.store, base.other, "a bundle of the store");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct import_result first;
    struct import_result again;
    if (base.store == NULL) {
        make_base();
    }
    const void *mark = support_mark();
    fill_file(data, len);
    store_wipe(base.store);
    int rv = import_file(base.store, &first);
    assert_count("in the store", ops_in(base.store), first.appended);

    store_wipe(base.other);
    assert_err("reading", rv, read_slowly(data, len));
    if (first.appended + first.parked > 0) {
        struct bytes dump = store_dump(base.store);
        assert_same_stores(base.store, base.other, "one by one");
        assert_clean(base.store);
        check_origin(data, len);
        assert_err("reading again", import_file(base.store, &again), rv);
        assert_count("appended again", again.appended, 0);
        assert_same_text(dump, store_dump(base.store), "read again");
        check_export(first.appended);
    }
    support_free_to(mark);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max, unsigned seed)
{
    return forge_bundle(data, len, max, seed);
}
