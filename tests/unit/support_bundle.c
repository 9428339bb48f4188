#include "tests/unit/support_bundle.h"

#include <sodium.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "oplog/export.h"

/* Put the check of what was put since a part began; before is the check of the part before. */
static void put_check(struct buf *out, size_t start, uint8_t check[16], bool first)
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, 16);
    if (!first) {
        crypto_generichash_update(&state, check, 16);
    }
    crypto_generichash_update(&state, out->data + start, out->len - start);
    crypto_generichash_final(&state, check, 16);
    buf_put(out, check, 16);
}

struct made_bundle bundle_made(const struct mesh_id *mesh, uint64_t ops,
                               const struct bytes *segments, uint32_t count)
{
    struct made_bundle bundle = {.parts = count + 2};
    struct buf out;
    uint8_t check[16];
    assert_in_range(bundle.parts, 2, PARTS_MAX);
    buf_init(&out, MIB(64));
    buf_put_text(&out, "meshlog bundle\n");
    buf_put_byte(&out, 1);
    buf_put(&out, mesh->b, 32);
    buf_put_be(&out, 8, ops);
    put_check(&out, 0, check, true);
    for (uint32_t i = 0; i <= count; i++) {
        size_t start = out.len;
        bundle.at[i + 1] = start;
        buf_put_be(&out, 4, i < count ? segments[i].len : 0);
        if (i < count) {
            buf_put(&out, segments[i].data, segments[i].len);
        }
        put_check(&out, start, check, false);
    }
    bundle.at[count + 2] = out.len;
    assert_ok(buf_error(&out));
    bundle.all = support_copy(buf_bytes(&out));
    buf_free(&out);
    return bundle;
}

struct made_bundle bundle_of(const struct bytes *segments, uint32_t count)
{
    uint64_t ops = 0;
    for (uint32_t i = 0; i < count; i++) {
        ops += be_get(segments[i].data + 32, 2);
    }
    return bundle_made(support_mesh(), ops, segments, count);
}

struct bytes bundle_part(const struct made_bundle *bundle, uint32_t part)
{
    size_t at = bundle->at[part];
    return bytes_of(bundle->all.data + at, bundle->at[part + 1] - at);
}

struct bytes joined(struct bytes a, struct bytes b, struct bytes c, struct bytes d)
{
    struct buf out;
    buf_init(&out, MIB(64));
    buf_put(&out, a.data, a.len);
    buf_put(&out, b.data, b.len);
    buf_put(&out, c.data, c.len);
    buf_put(&out, d.data, d.len);
    assert_ok(buf_error(&out));
    struct bytes copy = support_copy(buf_bytes(&out));
    buf_free(&out);
    return copy;
}

struct bytes changed_at(struct bytes bytes, size_t at, uint8_t mask)
{
    uint8_t *copy = support_alloc(bytes.len);
    memcpy(copy, bytes.data, bytes.len);
    copy[at] ^= mask;
    return bytes_of(copy, bytes.len);
}

static int memory_file(void)
{
    int fd = memfd_create("bundle", MFD_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

int import_bytes(struct store *store, struct bytes bytes, struct import_result *out)
{
    struct bundle_reader reader;
    int fd = memory_file();
    *out = (struct import_result){0};
    assert_int_equal(pwrite(fd, bytes.data, bytes.len, 0), (ssize_t)bytes.len);
    int rv = bundle_open(&reader, fd, NULL);
    out->fault = reader.fault;
    if (rv == 0) {
        rv = import_bundle(store, &reader, NOW_MS, out);
    }
    bundle_reader_free(&reader);
    close(fd);
    return rv;
}

struct bytes export_bytes(struct store *store, const struct op_author *author)
{
    struct export_result result;
    struct stat st;
    int fd = memory_file();
    assert_ok(export_store(store, author, fd, NULL, &result));
    assert_int_equal(fstat(fd, &st), 0);
    assert_count("bytes", result.bytes, (uint64_t)st.st_size);
    uint8_t *data = support_alloc((size_t)st.st_size);
    assert_int_equal(pread(fd, data, (size_t)st.st_size, 0), st.st_size);
    close(fd);
    return bytes_of(data, (size_t)st.st_size);
}
