#include "projections/links.h"

#include <sodium.h>

#include "oplog/db.h"

#define ID sizeof(struct op_id)
#define PAIR (2 * ID)
#define LANE_KEY 33u
#define LANE_VOID 16u
#define LANE_AT 17u
#define LANE_OBJECT 16u
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
    return rv == 0 && cursor_left(&in) == 0 ? 0 : ERR_CORRUPT;
}

int reads_put(struct txn *txn, const struct op_id *key, const struct reader *reader)
{
    uint8_t row[PAIR];
    uint8_t value[1 + ID];
    size_t len = 1;
    value[0] = reader->flags;
    if ((reader->flags & LINK_KEYED) != 0) {
        memcpy(value + len, reader->record.b, ID);
        len += ID;
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
    struct op_id
        second; /* Of the first row: where the lane's second object begins, if it has one. */
};

static void lane_key(uint8_t key[LANE_KEY], const struct op_id *lane, bool is_void,
                     const struct op_id *at)
{
    memcpy(key, lane->b, ID);
    key[LANE_VOID] = is_void;
    memcpy(key + LANE_AT, at->b, ID);
}

static int lane_row_read(struct bytes value, struct lane_row *row)
{
    row->second = (struct op_id){{0}};
    if (value.len != LANE_OBJECT && value.len != LANE_OBJECT + ID) {
        return ERR_CORRUPT;
    }
    memcpy(row->object, value.data, LANE_OBJECT);
    if (value.len > LANE_OBJECT) {
        memcpy(row->second.b, value.data + LANE_OBJECT, ID);
    }
    return 0;
}

static int lane_row_next(struct txn *txn, struct lane_row *row)
{
    struct bytes value;
    int rv = next_row(txn, DB_lanes, row->key, LANE_KEY, LANE_AT, &value);
    if (rv == 0) {
        memcpy(row->at.b, row->key + LANE_AT, ID);
        rv = lane_row_read(value, row);
    }
    return rv;
}

/* The first claim of a lane. */
static int lane_first(struct txn *txn, const struct op_id *lane, struct lane_row *out)
{
    struct op_id none = {{0}};
    lane_key(out->key, lane, false, &none);
    return lane_row_next(txn, out);
}

static int lane_row_put(struct txn *txn, const uint8_t key[LANE_KEY], const uint8_t object[16],
                        const struct op_id *second)
{
    uint8_t value[LANE_OBJECT + ID];
    size_t len = LANE_OBJECT;
    memcpy(value, object, LANE_OBJECT);
    if (op_id_is_set(second)) {
        memcpy(value + len, second->b, ID);
        len += ID;
    }
    return db_put(txn, DB_lanes, bytes_of(key, LANE_KEY), bytes_of(value, len));
}

static bool is_object(const struct lane_row *row, const uint8_t object[16])
{
    return memcmp(row->object, object, sizeof(row->object)) == 0;
}

/* Where, from a row on, a claim has another object; all zero if none has. */
static int find_other(struct txn *txn, const struct lane_row *from, const uint8_t object[16],
                      struct op_id *out)
{
    struct lane_row row = *from;
    int rv = 0;
    while (rv == 0 && is_object(&row, object)) {
        rv = lane_row_next(txn, &row);
    }
    *out = rv == 0 ? row.at : (struct op_id){{0}};
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* A claim comes before the first one so far, which hands on where the second object begins. */
static int first_comes(struct txn *txn, const struct lane_place *place, const uint8_t key[LANE_KEY],
                       const struct lane_row *first)
{
    static const struct op_id none;
    const struct op_id *second = is_object(first, place->object) ? &first->second : &first->at;
    int rv = op_id_is_set(&first->second) ? lane_row_put(txn, first->key, first->object, &none) : 0;
    return rv == 0 ? lane_row_put(txn, key, place->object, second) : rv;
}

static int later_comes(struct txn *txn, const struct lane_place *place, const uint8_t key[LANE_KEY],
                       const struct op_id *at, const struct lane_row *first)
{
    static const struct op_id none;
    bool begins = !is_object(first, place->object) &&
                  (!op_id_is_set(&first->second) || op_id_compare(at, &first->second) < 0);
    int rv = begins ? lane_row_put(txn, first->key, first->object, at) : 0;
    return rv == 0 ? lane_row_put(txn, key, place->object, &none) : rv;
}

int lanes_put(struct txn *txn, const struct lane_place *place, bool is_void, const struct op_id *at)
{
    static const struct op_id none;
    uint8_t key[LANE_KEY];
    struct lane_row first;
    lane_key(key, &place->lane, is_void, at);
    int rv = is_void ? ERR_UNKNOWN_ID : lane_first(txn, &place->lane, &first);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? lane_row_put(txn, key, place->object, &none) : rv;
    }
    return op_id_compare(at, &first.at) < 0 ? first_comes(txn, place, key, &first)
                                            : later_comes(txn, place, key, at, &first);
}

/* The first claim goes: the next one is told where the second object begins. If that was its own,
 * the next ones are looked at: as many as have the same. */
static int first_goes(struct txn *txn, const struct lane_row *first)
{
    struct lane_row next = *first;
    int rv = remove_row(txn, DB_lanes, first->key, LANE_KEY);
    if (rv == 0) {
        rv = lane_row_next(txn, &next);
    }
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    struct op_id second = first->second;
    rv = is_object(&next, first->object) ? 0 : find_other(txn, &next, next.object, &second);
    return rv == 0 && op_id_is_set(&second) ? lane_row_put(txn, next.key, next.object, &second)
                                            : rv;
}

/* The claim goes with which the second object began. */
static int second_goes(struct txn *txn, const struct lane_row *first, const uint8_t key[LANE_KEY])
{
    struct lane_row row;
    struct op_id second = {{0}};
    memcpy(row.key, key, LANE_KEY);
    int rv = lane_row_next(txn, &row);
    if (rv == 0) {
        rv = find_other(txn, &row, first->object, &second);
    }
    rv = rv == ERR_UNKNOWN_ID ? 0 : rv;
    return rv == 0 ? lane_row_put(txn, first->key, first->object, &second) : rv;
}

int lanes_remove(struct txn *txn, const struct lane_place *place, bool is_void,
                 const struct op_id *at)
{
    uint8_t key[LANE_KEY];
    struct lane_row first;
    lane_key(key, &place->lane, is_void, at);
    int rv = is_void ? ERR_UNKNOWN_ID : lane_first(txn, &place->lane, &first);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? remove_row(txn, DB_lanes, key, sizeof(key)) : rv;
    }
    if (op_id_equal(&first.at, at)) {
        return first_goes(txn, &first);
    }
    rv = remove_row(txn, DB_lanes, key, sizeof(key));
    return rv == 0 && op_id_equal(&first.second, at) ? second_goes(txn, &first, key) : rv;
}

int lanes_has(struct txn *txn, const struct lane_place *place, bool is_void, const struct op_id *at,
              bool *out)
{
    uint8_t key[LANE_KEY];
    struct bytes value;
    struct lane_row row;
    lane_key(key, &place->lane, is_void, at);
    int rv = db_get(txn, DB_lanes, bytes_of(key, sizeof(key)), &value);
    if (rv == 0) {
        rv = lane_row_read(value, &row);
    }
    *out = rv == 0 && is_object(&row, place->object);
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Either the first claim of the lane has another object, or the one with which the second begins.
 */
int lanes_conflict(struct txn *txn, const struct lane_place *place, const struct op_id *before,
                   bool *out)
{
    struct lane_row first = {.second = {{0}}};
    int rv = lane_first(txn, &place->lane, &first);
    const struct op_id *other = is_object(&first, place->object) ? &first.second : &first.at;
    *out = rv == 0 && op_id_is_set(other) && op_id_compare(other, before) < 0;
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
