#include "projections/links.h"

#include <sodium.h>

#include "oplog/db.h"

#define ID sizeof(struct op_id)
#define PAIR (2 * ID)
#define LANE_KEY 33u
#define LANE_ROW 16u /* What kind of row: */
#define ROW_MADE 0u
#define ROW_VOID 1u
#define ROW_SECOND 2u
#define LANE_AT 17u
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

/* One row of a lane, and where the walk over them stands. */
struct lane_row {
    uint8_t key[LANE_KEY];
    struct op_id at;
    uint8_t object[16];
};

static void lane_key(uint8_t key[LANE_KEY], const struct op_id *lane, uint8_t kind,
                     const struct op_id *at)
{
    memcpy(key, lane->b, ID);
    key[LANE_ROW] = kind;
    memcpy(key + LANE_AT, at->b, ID);
}

static int lane_row_next(struct txn *txn, struct lane_row *row)
{
    struct bytes value;
    int rv = next_row(txn, DB_lanes, row->key, LANE_KEY, LANE_AT, &value);
    if (rv == 0 && value.len != sizeof(row->object)) {
        rv = ERR_CORRUPT;
    }
    if (rv == 0) {
        memcpy(row->at.b, row->key + LANE_AT, ID);
        memcpy(row->object, value.data, value.len);
    }
    return rv;
}

/* The first row of a kind. */
static int lane_row_first(struct txn *txn, const struct op_id *lane, uint8_t kind,
                          struct lane_row *out)
{
    struct op_id none = {{0}};
    lane_key(out->key, lane, kind, &none);
    return lane_row_next(txn, out);
}

static int lane_row_put(struct txn *txn, const struct lane_place *place, uint8_t kind,
                        const struct op_id *at)
{
    uint8_t key[LANE_KEY];
    lane_key(key, &place->lane, kind, at);
    return db_put(txn, DB_lanes, bytes_of(key, sizeof(key)),
                  bytes_of(place->object, sizeof(place->object)));
}

static int lane_row_remove(struct txn *txn, const struct op_id *lane, uint8_t kind,
                           const struct op_id *at)
{
    uint8_t key[LANE_KEY];
    lane_key(key, lane, kind, at);
    return remove_row(txn, DB_lanes, key, sizeof(key));
}

static bool is_object(const struct lane_row *row, const uint8_t object[16])
{
    return memcmp(row->object, object, sizeof(row->object)) == 0;
}

/* Make the row of the second object that of the first claim with another object than the first one
 * has, looking on from a row; in place of the one that was there, if any. */
static int settle_second(struct txn *txn, const struct op_id *lane, const struct lane_row *from,
                         const uint8_t first[16])
{
    struct lane_row was;
    struct lane_row row = *from;
    struct lane_place second = {.lane = *lane};
    int rv = lane_row_first(txn, lane, ROW_SECOND, &was);
    if (rv == 0) {
        rv = lane_row_remove(txn, lane, ROW_SECOND, &was.at);
    }
    rv = rv == ERR_UNKNOWN_ID ? 0 : rv;
    while (rv == 0 && is_object(&row, first)) {
        rv = lane_row_next(txn, &row);
    }
    if (rv == 0) {
        memcpy(second.object, row.object, sizeof(second.object));
        rv = lane_row_put(txn, &second, ROW_SECOND, &row.at);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* A claim has come. */
static int made_comes(struct txn *txn, const struct lane_place *place, const struct op_id *at)
{
    struct lane_row first;
    struct lane_row next;
    int rv = lane_row_first(txn, &place->lane, ROW_MADE, &first);
    if (rv != 0) {
        return rv;
    }
    if (!op_id_equal(&first.at, at)) {
        if (is_object(&first, place->object)) {
            return 0;
        }
        rv = lane_row_first(txn, &place->lane, ROW_SECOND, &next);
        bool later = rv == 0 && op_id_compare(&next.at, at) < 0;
        if (later || (rv != 0 && rv != ERR_UNKNOWN_ID)) {
            return rv;
        }
        lane_key(next.key, &place->lane, ROW_MADE, at);
        next.at = *at;
        memcpy(next.object, place->object, sizeof(next.object));
        return settle_second(txn, &place->lane, &next, first.object);
    }
    next = first;
    rv = lane_row_next(txn, &next);
    if (rv != 0 || is_object(&next, place->object)) { /* Alone, or as the first one was. */
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    return settle_second(txn, &place->lane, &next, place->object);
}

/* One has gone. Where it was the first, or the second object's, the next ones are looked at: as
 * many as have one object. */
static int made_goes(struct txn *txn, const struct lane_place *place, const struct op_id *at)
{
    struct lane_row first;
    struct lane_row second;
    int rv = lane_row_first(txn, &place->lane, ROW_SECOND, &second);
    if (rv == 0) {
        rv = lane_row_first(txn, &place->lane, ROW_MADE, &first);
    }
    if (rv != 0) { /* There was but one object. */
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    if (op_id_equal(&second.at, at)) {
        lane_key(second.key, &place->lane, ROW_MADE, at);
        rv = lane_row_next(txn, &second);
        if (rv == ERR_UNKNOWN_ID) {
            return lane_row_remove(txn, &place->lane, ROW_SECOND, at);
        }
        return rv == 0 ? settle_second(txn, &place->lane, &second, first.object) : rv;
    }
    bool was_first = op_id_compare(at, &first.at) < 0;
    return was_first && !is_object(&first, place->object)
               ? settle_second(txn, &place->lane, &first, first.object)
               : 0;
}

int lanes_put(struct txn *txn, const struct lane_place *place, bool is_void, const struct op_id *at)
{
    int rv = lane_row_put(txn, place, is_void ? ROW_VOID : ROW_MADE, at);
    return rv == 0 && !is_void ? made_comes(txn, place, at) : rv;
}

int lanes_remove(struct txn *txn, const struct lane_place *place, bool is_void,
                 const struct op_id *at)
{
    int rv = lane_row_remove(txn, &place->lane, is_void ? ROW_VOID : ROW_MADE, at);
    return rv == 0 && !is_void ? made_goes(txn, place, at) : rv;
}

int lanes_has(struct txn *txn, const struct lane_place *place, bool is_void, const struct op_id *at,
              bool *out)
{
    uint8_t key[LANE_KEY];
    struct bytes value;
    lane_key(key, &place->lane, is_void ? ROW_VOID : ROW_MADE, at);
    int rv = db_get(txn, DB_lanes, bytes_of(key, sizeof(key)), &value);
    *out = rv == 0 && bytes_equal(value, bytes_of(place->object, sizeof(place->object)));
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Either the first claim of the lane has another object, or the one that has another than that. */
int lanes_conflict(struct txn *txn, const struct lane_place *place, const struct op_id *before,
                   bool *out)
{
    struct lane_row row;
    int rv = lane_row_first(txn, &place->lane, ROW_MADE, &row);
    if (rv == 0 && is_object(&row, place->object)) {
        rv = lane_row_first(txn, &place->lane, ROW_SECOND, &row);
    }
    *out = rv == 0 && op_id_compare(&row.at, before) < 0;
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
    if (rv == 0 && walk->key[LANE_ROW] == ROW_SECOND) {
        rv = ERR_UNKNOWN_ID; /* It was among those before. */
    }
    if (rv == 0) {
        walk->is_void = walk->key[LANE_ROW] == ROW_VOID;
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
