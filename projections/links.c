#include "projections/links.h"

#include <sodium.h>

#include "oplog/db.h"

#define ID sizeof(struct op_id)
#define PAIR (2 * ID)
#define LANE_KEY 49u
#define LANE_VOID 32u
#define LANE_AT 33u
#define FIRST_AT 16u
#define FIRST_OBJECT 33u
#define VERSION_KEY 49u
#define VERSION_REFUSED 32u
#define VERSION_AT 33u

/* A row of reads: what is named after a hash stands before what is named after its
 * position, as in records. */
static void reads_key(uint8_t row[PAIR], const struct op_id *key, const struct op_id *at)
{
    memcpy(row, key->b, ID);
    memcpy(row + ID, at->b, ID);
    row[0] ^= 0x80;
}

static void pair_key(uint8_t key[PAIR], const struct op_id *first, const struct op_id *second)
{
    memcpy(key, first->b, ID);
    memcpy(key + ID, second->b, ID);
}

static int put_empty(struct txn *txn, enum db db, const uint8_t *key, size_t len)
{
    return db_put(txn, db, bytes_of(key, len), bytes_of(NULL, 0));
}

static int remove_row(struct txn *txn, enum db db, const uint8_t *key, size_t len)
{
    int rv = db_delete(txn, db, bytes_of(key, len));
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Take away the row whose byte at a place is 0, or the one where it is 1. */
static int remove_either(struct txn *txn, enum db db, uint8_t *key, size_t len, size_t place,
                         bool *was_zero)
{
    key[place] = 0;
    int rv = db_delete(txn, db, bytes_of(key, len));
    *was_zero = rv == 0;
    if (rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    key[place] = 1;
    return remove_row(txn, db, key, len);
}

/* The first row after a key that begins with the same prefix; the key is moved on. */
static int next_row(struct txn *txn, enum db db, uint8_t *key, size_t len, size_t prefix,
                    struct bytes *value)
{
    uint8_t from[VERSION_KEY];
    struct db_cursor *cursor;
    struct bytes found;
    memcpy(from, key, len);
    if (!be_increment(from, len)) {
        return ERR_UNKNOWN_ID;
    }
    int rv = db_cursor(txn, db, &cursor);
    if (rv == 0) {
        rv = db_seek(cursor, bytes_of(from, len), &found, value);
    }
    if (rv == 0 && found.len != len) {
        rv = ERR_CORRUPT;
    }
    if (rv == 0 && memcmp(found.data, key, prefix) != 0) {
        rv = ERR_UNKNOWN_ID;
    }
    if (rv == 0) {
        memcpy(key, found.data, len);
    }
    return rv;
}

/* Reads ------------------------------------------------------------------------------- */

static int reader_read(struct bytes value, struct reader *out)
{
    uint64_t flags = 0;
    struct bytes body;
    struct cursor in = cursor_over(value);
    int rv = cursor_take_be(&in, 1, &flags);
    out->flags = (uint8_t)flags;
    out->record = out->at;
    if (rv == 0 && (flags & LINK_KEYED) != 0) {
        rv = cursor_take(&in, ID, &body);
        if (rv == 0) {
            memcpy(out->record.b, body.data, ID);
        }
    }
    if (rv == 0 && (flags & LINK_MAKES) != 0) {
        rv = cursor_take(&in, sizeof(out->hash), &body);
        if (rv == 0) {
            memcpy(out->hash, body.data, sizeof(out->hash));
        }
    }
    return rv == 0 && cursor_left(&in) == 0 ? 0 : ERR_CORRUPT;
}

int reads_put(struct txn *txn, const struct op_id *key, const struct reader *reader)
{
    uint8_t row[PAIR];
    uint8_t value[1 + ID + sizeof(reader->hash)];
    size_t len = 1;
    value[0] = reader->flags;
    if ((reader->flags & LINK_KEYED) != 0) {
        memcpy(value + len, reader->record.b, ID);
        len += ID;
    }
    if ((reader->flags & LINK_MAKES) != 0) {
        memcpy(value + len, reader->hash, sizeof(reader->hash));
        len += sizeof(reader->hash);
    }
    reads_key(row, key, &reader->at);
    return db_put(txn, DB_reads, bytes_of(row, sizeof(row)), bytes_of(value, len));
}

int reads_remove(struct txn *txn, const struct op_id *key, const struct op_id *at)
{
    uint8_t row[PAIR];
    reads_key(row, key, at);
    return remove_row(txn, DB_reads, row, sizeof(row));
}

int reads_next(struct txn *txn, const struct op_id *key, struct reader *reader)
{
    uint8_t row[PAIR];
    struct bytes value;
    reads_key(row, key, &reader->at);
    int rv = next_row(txn, DB_reads, row, sizeof(row), ID, &value);
    if (rv != 0) {
        return rv;
    }
    memcpy(reader->at.b, row + ID, ID);
    return reader_read(value, reader);
}

/* Marks ------------------------------------------------------------------------------- */

int marks_put(struct txn *txn, const struct op_id *at, const struct op_id *key)
{
    uint8_t row[PAIR];
    pair_key(row, at, key);
    return put_empty(txn, DB_marks, row, sizeof(row));
}

int marks_remove(struct txn *txn, const struct op_id *at, const struct op_id *key)
{
    uint8_t row[PAIR];
    pair_key(row, at, key);
    return remove_row(txn, DB_marks, row, sizeof(row));
}

int marks_next(struct txn *txn, const struct op_id *at, struct op_id *key)
{
    uint8_t row[PAIR];
    struct bytes value;
    pair_key(row, at, key);
    int rv = next_row(txn, DB_marks, row, sizeof(row), ID, &value);
    if (rv == 0) {
        memcpy(key->b, row + ID, ID);
    }
    return rv;
}

/* Lanes ------------------------------------------------------------------------------- */

struct op_id lane_members(const struct op_id *lane)
{
    struct op_id members = *lane;
    members.b[ID - 1] ^= 1;
    return members;
}

void lane_object(struct bytes object, uint8_t out[16])
{
    uint8_t hash[crypto_generichash_BYTES];
    crypto_generichash(hash, sizeof(hash), object.data, object.len, NULL, 0);
    memcpy(out, hash, 16);
}

static void lane_key(uint8_t key[LANE_KEY], const struct lane_place *place, bool is_void,
                     const struct op_id *at)
{
    memcpy(key, place->lane.b, ID);
    memcpy(key + ID, place->object, sizeof(place->object));
    key[LANE_VOID] = is_void;
    memcpy(key + LANE_AT, at->b, ID);
}

/* Where the first claim with an object was made. */
static int lane_first(struct txn *txn, const struct lane_place *place, struct op_id *at)
{
    struct op_id none = {{0}};
    uint8_t key[LANE_KEY];
    struct bytes value;
    lane_key(key, place, false, &none);
    int rv = next_row(txn, DB_lanes, key, sizeof(key), LANE_AT, &value);
    if (rv == 0) {
        memcpy(at->b, key + LANE_AT, ID);
    }
    return rv;
}

static void first_key(uint8_t key[LANE_KEY], const struct op_id *lane, const struct op_id *at)
{
    memset(key, 0, LANE_KEY);
    memcpy(key, lane->b, ID);
    key[ID - 1] ^= 2; /* Next to the lane, and neither it nor its members. */
    memcpy(key + FIRST_AT, at->b, ID);
}

static int first_put(struct txn *txn, const struct lane_place *place, const struct op_id *at)
{
    uint8_t key[LANE_KEY];
    first_key(key, &place->lane, at);
    memcpy(key + FIRST_OBJECT, place->object, sizeof(place->object));
    return put_empty(txn, DB_lanes, key, sizeof(key));
}

static int first_remove(struct txn *txn, const struct lane_place *place, const struct op_id *at)
{
    uint8_t key[LANE_KEY];
    first_key(key, &place->lane, at);
    memcpy(key + FIRST_OBJECT, place->object, sizeof(place->object));
    return remove_row(txn, DB_lanes, key, sizeof(key));
}

/* A claim comes: is it the first one with its object? */
static int first_comes(struct txn *txn, const struct lane_place *place, const struct op_id *at)
{
    struct op_id other;
    int rv = lane_first(txn, place, &other);
    if (rv == 0 && op_id_compare(&other, at) <= 0) {
        return 0;
    }
    if (rv == 0) {
        rv = first_remove(txn, place, &other);
    }
    return rv == 0 || rv == ERR_UNKNOWN_ID ? first_put(txn, place, at) : rv;
}

/* One has gone: was it the first one? */
static int first_goes(struct txn *txn, const struct lane_place *place, const struct op_id *at)
{
    struct op_id other;
    int rv = lane_first(txn, place, &other);
    if (rv == 0 && op_id_compare(&other, at) < 0) {
        return 0;
    }
    if (rv == 0) {
        rv = first_put(txn, place, &other);
    }
    return rv == 0 || rv == ERR_UNKNOWN_ID ? first_remove(txn, place, at) : rv;
}

int lanes_put(struct txn *txn, const struct lane_place *place, bool is_void, const struct op_id *at)
{
    uint8_t key[LANE_KEY];
    int rv = is_void ? 0 : first_comes(txn, place, at);
    lane_key(key, place, is_void, at);
    return rv == 0 ? put_empty(txn, DB_lanes, key, sizeof(key)) : rv;
}

int lanes_remove(struct txn *txn, const struct lane_place *place, const struct op_id *at,
                 bool *was_made)
{
    uint8_t key[LANE_KEY];
    lane_key(key, place, false, at);
    int rv = remove_either(txn, DB_lanes, key, sizeof(key), LANE_VOID, was_made);
    return rv == 0 && *was_made ? first_goes(txn, place, at) : rv;
}

/* Of the first two objects of a lane one is another. */
int lanes_conflict(struct txn *txn, const struct lane_place *place, const struct op_id *before,
                   bool *out)
{
    struct op_id none = {{0}};
    uint8_t key[LANE_KEY];
    struct bytes value;
    bool same = true;
    int rv = 0;
    first_key(key, &place->lane, &none);
    while (rv == 0 && same) {
        rv = next_row(txn, DB_lanes, key, sizeof(key), ID, &value);
        same = memcmp(key + FIRST_OBJECT, place->object, sizeof(place->object)) == 0;
    }
    *out = rv == 0 && memcmp(key + FIRST_AT, before->b, ID) < 0;
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

void lanes_walk(const struct op_id *lane, struct lane_walk *out)
{
    *out = (struct lane_walk){.is_void = false};
    memcpy(out->key, lane->b, ID);
}

int lanes_next(struct txn *txn, struct lane_walk *walk)
{
    struct bytes value;
    int rv = next_row(txn, DB_lanes, walk->key, sizeof(walk->key), ID, &value);
    if (rv == 0) {
        walk->is_void = walk->key[LANE_VOID] != 0;
        memcpy(walk->at.b, walk->key + LANE_AT, ID);
    }
    return rv;
}

/* Versions ---------------------------------------------------------------------------- */

static void version_key(uint8_t key[VERSION_KEY], const struct op_id *version,
                        const struct op_id *record, bool refused, const struct op_id *at)
{
    memcpy(key, version->b, ID);
    memcpy(key + ID, record->b, ID);
    key[VERSION_REFUSED] = refused;
    memcpy(key + VERSION_AT, at->b, ID);
}

int versions_put(struct txn *txn, const struct op_id *version, const struct op_id *record,
                 bool applied, const struct op_id *at)
{
    uint8_t key[VERSION_KEY];
    version_key(key, version, record, !applied, at);
    return put_empty(txn, DB_versions, key, sizeof(key));
}

int versions_remove(struct txn *txn, const struct op_id *version, const struct op_id *record,
                    const struct op_id *at, bool *was_applied)
{
    uint8_t key[VERSION_KEY];
    version_key(key, version, record, false, at);
    return remove_either(txn, DB_versions, key, sizeof(key), VERSION_REFUSED, was_applied);
}

int versions_taken(struct txn *txn, const struct op_id *version, const struct op_id *record,
                   struct op_id *at)
{
    struct op_id none = {{0}};
    uint8_t key[VERSION_KEY];
    struct bytes value;
    version_key(key, version, record, false, &none);
    int rv = next_row(txn, DB_versions, key, sizeof(key), VERSION_AT, &value);
    if (rv == 0) {
        memcpy(at->b, key + VERSION_AT, ID);
    }
    return rv;
}

void versions_walk(const struct op_id *version, const struct op_id *record,
                   struct version_walk *out)
{
    struct op_id none = {{0}};
    version_key(out->key, version, record, false, &none);
}

int versions_next(struct txn *txn, struct version_walk *walk)
{
    struct bytes value;
    int rv = next_row(txn, DB_versions, walk->key, sizeof(walk->key), PAIR, &value);
    if (rv == 0) {
        memcpy(walk->at.b, walk->key + VERSION_AT, ID);
    }
    return rv;
}

int links_drop(struct txn *txn)
{
    static const enum db all[] = {DB_reads, DB_marks, DB_lanes, DB_versions};
    int rv = 0;
    for (size_t i = 0; rv == 0 && i < sizeof(all) / sizeof(all[0]); i++) {
        rv = db_clear(txn, all[i]);
    }
    return rv;
}
