#include "projections/records.h"

#include "fsm/claim.h"
#include "oplog/db.h"

#define ID sizeof(struct op_id)
#define HISTORY_KEY (2 * ID)
#define STATUS_KEY (2 + ID)
#define TALLY_NAME "folds"
#define TALLY_BYTES (ID + 32 + 8 + 8)

/* What is named after a hash is put before what is named after its position: so most rows come at
 * the very end, where LMDB fills its pages. */
static struct op_id id_key(const struct op_id *id)
{
    struct op_id key = *id;
    key.b[0] ^= 0x80;
    return key;
}

static struct bytes id_bytes(const struct op_id *id)
{
    return bytes_of(id->b, sizeof(id->b));
}

/* The tally --------------------------------------------------------------------------- */

int tally_get(struct txn *txn, struct tally *out)
{
    uint8_t row[TALLY_BYTES];
    size_t len = sizeof(row);
    *out = (struct tally){0};
    int rv = meta_get(txn, TALLY_NAME, row, &len);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? 0 : ERR_CORRUPT;
    }
    if (len != sizeof(row)) {
        return ERR_CORRUPT;
    }
    memcpy(out->latest.b, row, ID);
    memcpy(out->digest.b, row + ID, 32);
    out->records = be_get(row + ID + 32, 8);
    out->log = be_get(row + ID + 40, 8);
    return 0;
}

int tally_put(struct txn *txn, const struct tally *tally)
{
    uint8_t row[TALLY_BYTES];
    memcpy(row, tally->latest.b, ID);
    memcpy(row + ID, tally->digest.b, 32);
    be_put(row + ID + 32, 8, tally->records);
    be_put(row + ID + 40, 8, tally->log);
    return meta_put(txn, TALLY_NAME, bytes_of(row, sizeof(row)));
}

/* Entries ----------------------------------------------------------------------------- */

/* A keyed record that is as it was made does not name its maker: that is its version. */
static size_t now_pack(const struct entry *now, uint8_t row[ID + STATE_BYTES_MAX])
{
    struct state state = now->state;
    if (op_id_equal(&state.maker, &now->at)) {
        state.maker = (struct op_id){{0}};
    }
    memcpy(row, now->at.b, ID);
    return ID + state_pack(&state, row + ID);
}

static int now_read(const struct op_id *id, struct bytes value, struct entry *out)
{
    if (value.len < ID) {
        return ERR_CORRUPT;
    }
    memcpy(out->at.b, value.data, ID);
    int rv = state_unpack(bytes_of(value.data + ID, value.len - ID), &out->state);
    bool is_keyed = op_id_is_hashed(id) && out->state.type < RECORD_RULE;
    if (is_keyed && !op_id_is_set(&out->state.maker)) {
        out->state.maker = out->at;
    }
    return rv;
}

int record_now(struct txn *txn, const struct op_id *id, struct entry *out)
{
    struct op_id key = id_key(id);
    struct bytes value;
    int rv = db_get(txn, DB_records, id_bytes(&key), &value);
    return rv != 0 ? rv : now_read(id, value, out);
}

static void history_key(uint8_t key[HISTORY_KEY], const struct op_id *id, const struct op_id *at)
{
    struct op_id first = id_key(id);
    memcpy(key, first.b, ID);
    memcpy(key + ID, at->b, ID);
}

/* The row that a step of the cursor comes to, if it is of this record. */
static int history_read(const struct op_id *id, struct bytes key, struct bytes value,
                        struct entry *out)
{
    if (key.len != HISTORY_KEY) {
        return ERR_CORRUPT;
    }
    struct op_id first = id_key(id);
    if (memcmp(key.data, first.b, ID) != 0) {
        return ERR_UNKNOWN_ID;
    }
    memcpy(out->at.b, key.data + ID, ID);
    return state_unpack(value, &out->state);
}

/* The last row before a position. */
static int history_before(struct txn *txn, const struct op_id *id, const struct op_id *at,
                          struct entry *out)
{
    uint8_t from[HISTORY_KEY];
    struct db_cursor *cursor;
    struct bytes key;
    struct bytes value;
    history_key(from, id, at);
    int rv = db_cursor(txn, DB_history, &cursor);
    if (rv == 0) {
        rv = db_seek(cursor, bytes_of(from, sizeof(from)), &key, &value);
    }
    if (rv == 0 || rv == ERR_UNKNOWN_ID) {
        rv = db_step(cursor, rv == 0 ? MDB_PREV : MDB_LAST, &key, &value);
    }
    return rv != 0 ? rv : history_read(id, key, value, out);
}

/* The first row after a position. */
static int history_after(struct txn *txn, const struct op_id *id, const struct op_id *at,
                         struct entry *out)
{
    uint8_t from[HISTORY_KEY];
    struct db_cursor *cursor;
    struct bytes key;
    struct bytes value;
    history_key(from, id, at);
    if (!be_increment(from, sizeof(from))) {
        return ERR_UNKNOWN_ID;
    }
    int rv = db_cursor(txn, DB_history, &cursor);
    if (rv == 0) {
        rv = db_seek(cursor, bytes_of(from, sizeof(from)), &key, &value);
    }
    return rv != 0 ? rv : history_read(id, key, value, out);
}

int record_before(struct txn *txn, const struct op_id *id, const struct op_id *at,
                  struct entry *out)
{
    int rv = record_now(txn, id, out);
    if (rv != 0 || op_id_compare(&out->at, at) < 0) {
        return rv;
    }
    return history_before(txn, id, at, out);
}

int record_at(struct txn *txn, const struct op_id *id, const struct op_id *at, struct entry *out)
{
    uint8_t key[HISTORY_KEY];
    struct bytes value;
    int rv = record_now(txn, id, out);
    if (rv != 0 || op_id_equal(&out->at, at)) {
        return rv;
    }
    if (op_id_compare(&out->at, at) < 0) {
        return ERR_UNKNOWN_ID;
    }
    history_key(key, id, at);
    rv = db_get(txn, DB_history, bytes_of(key, sizeof(key)), &value);
    out->at = *at;
    return rv != 0 ? rv : state_unpack(value, &out->state);
}

int record_after(struct txn *txn, const struct op_id *id, const struct op_id *at, struct entry *out)
{
    struct entry now;
    int rv = record_now(txn, id, &now);
    if (rv != 0 || op_id_compare(&now.at, at) <= 0) {
        return rv != 0 ? rv : ERR_UNKNOWN_ID;
    }
    rv = history_after(txn, id, at, out);
    if (rv == ERR_UNKNOWN_ID) {
        *out = now;
        rv = 0;
    }
    return rv;
}

/* Changes ----------------------------------------------------------------------------- */

static int history_put(struct txn *txn, const struct op_id *id, const struct entry *entry)
{
    uint8_t key[HISTORY_KEY];
    uint8_t packed[STATE_BYTES_MAX];
    history_key(key, id, &entry->at);
    size_t len = state_pack(&entry->state, packed);
    return db_put(txn, DB_history, bytes_of(key, sizeof(key)), bytes_of(packed, len));
}

static int history_remove(struct txn *txn, const struct op_id *id, const struct op_id *at)
{
    uint8_t key[HISTORY_KEY];
    history_key(key, id, at);
    return db_delete(txn, DB_history, bytes_of(key, sizeof(key)));
}

static void status_key(uint8_t key[STATUS_KEY], const struct op_id *id, uint8_t type,
                       uint8_t status)
{
    key[0] = type;
    key[1] = status;
    memcpy(key + 2, id->b, ID);
}

/* Most records are so. What is asked for is mostly something else, and has rows. */
static bool is_common(uint8_t type, uint8_t status)
{
    return (type == RECORD_CLAIM && (status == CLAIM_CLAIM || status == CLAIM_HINT)) ||
           (type == RECORD_EVIDENCE && status == EVIDENCE_PRESENT);
}

static bool has_row(const struct state *state)
{
    return state != NULL && !is_common(state->type, state->status);
}

/* Bring the index to what a record was and is now; NULL: it was not, is not. */
static int index_status(struct txn *txn, const struct op_id *id, const struct state *from,
                        const struct state *to)
{
    uint8_t key[STATUS_KEY];
    if (from != NULL && to != NULL && from->type == to->type && from->status == to->status) {
        return 0;
    }
    int rv = 0;
    if (has_row(from)) {
        status_key(key, id, from->type, from->status);
        rv = db_delete(txn, DB_statuses, bytes_of(key, sizeof(key)));
    }
    if (rv == 0 && has_row(to)) {
        status_key(key, id, to->type, to->status);
        rv = db_put(txn, DB_statuses, bytes_of(key, sizeof(key)), bytes_of(NULL, 0));
    }
    return rv;
}

/* What a record is now becomes something else; NULL: it was not, is not any more. */
static int set_now(struct txn *txn, struct tally *tally, const struct op_id *id,
                   const struct entry *from, const struct entry *to)
{
    struct op_id key = id_key(id);
    uint8_t row[ID + STATE_BYTES_MAX];
    int rv;
    if (from != NULL) {
        digest_subtract(&tally->digest, id, &from->at, &from->state);
        tally->records--;
    }
    if (to != NULL) {
        digest_add(&tally->digest, id, &to->at, &to->state);
        tally->records++;
        size_t len = now_pack(to, row);
        rv = db_put(txn, DB_records, id_bytes(&key), bytes_of(row, len));
    } else {
        rv = db_delete(txn, DB_records, id_bytes(&key));
    }
    if (rv == 0) {
        rv = index_status(txn, id, from == NULL ? NULL : &from->state,
                          to == NULL ? NULL : &to->state);
    }
    const struct record_watch *watch = txn->store->record_watch;
    return rv == 0 && watch != NULL ? watch->changed(watch->ctx, id, from, to) : rv;
}

void store_watch_records(struct store *store, const struct record_watch *watch)
{
    store->record_watch = watch;
}

int record_add(struct txn *txn, struct tally *tally, const struct op_id *id,
               const struct entry *entry)
{
    return set_now(txn, tally, id, NULL, entry);
}

int record_put(struct txn *txn, struct tally *tally, const struct op_id *id,
               const struct entry *entry)
{
    struct entry now;
    int rv = record_now(txn, id, &now);
    if (rv == ERR_UNKNOWN_ID) {
        return set_now(txn, tally, id, NULL, entry);
    }
    if (rv != 0) {
        return rv;
    }
    int order = op_id_compare(&entry->at, &now.at);
    if (order < 0) {
        return history_put(txn, id, entry);
    }
    rv = order > 0 ? history_put(txn, id, &now) : 0;
    return rv != 0 ? rv : set_now(txn, tally, id, &now, entry);
}

int record_remove(struct txn *txn, struct tally *tally, const struct op_id *id,
                  const struct op_id *at)
{
    struct entry now;
    struct entry before;
    int rv = record_now(txn, id, &now);
    if (rv != 0) {
        return rv;
    }
    if (!op_id_equal(&now.at, at)) {
        return history_remove(txn, id, at);
    }
    rv = history_before(txn, id, at, &before);
    if (rv == ERR_UNKNOWN_ID) {
        return set_now(txn, tally, id, &now, NULL);
    }
    if (rv == 0) {
        rv = history_remove(txn, id, &before.at);
    }
    return rv != 0 ? rv : set_now(txn, tally, id, &now, &before);
}

/* Walks ------------------------------------------------------------------------------- */

/* Without rows of the index: all records are looked at. */
static int next_common(struct txn *txn, uint8_t type, uint8_t status, struct op_id *id)
{
    struct entry entry;
    int rv;
    do {
        rv = record_next(txn, id, &entry);
    } while (rv == 0 && (entry.state.type != type || entry.state.status != status));
    return rv;
}

int record_next_of(struct txn *txn, uint8_t type, uint8_t status, struct op_id *id)
{
    if (is_common(type, status)) {
        return next_common(txn, type, status, id);
    }
    uint8_t from[STATUS_KEY];
    struct db_cursor *cursor;
    struct bytes key;
    struct bytes value;
    status_key(from, id, type, status);
    int rv = be_increment(from, sizeof(from)) ? db_cursor(txn, DB_statuses, &cursor)
                                              : ERR_UNKNOWN_ID;
    if (rv == 0) {
        rv = db_seek(cursor, bytes_of(from, sizeof(from)), &key, &value);
    }
    if (rv == 0 && key.len != STATUS_KEY) {
        rv = ERR_CORRUPT;
    }
    if (rv == 0 && (key.data[0] != type || key.data[1] != status)) {
        rv = ERR_UNKNOWN_ID;
    }
    if (rv == 0) {
        memcpy(id->b, key.data + 2, ID);
    }
    return rv;
}

/* The first row whose key is not smaller, and not of the other half. */
static int seek_in_half(struct txn *txn, const struct op_id *from, struct op_id *id,
                        struct entry *out)
{
    struct op_id first = id_key(from);
    struct db_cursor *cursor;
    struct bytes key;
    struct bytes value;
    int rv = db_cursor(txn, DB_records, &cursor);
    if (rv == 0) {
        rv = db_seek(cursor, id_bytes(&first), &key, &value);
    }
    if (rv == 0 && key.len != ID) {
        rv = ERR_CORRUPT;
    }
    if (rv == 0 && (key.data[0] ^ first.b[0]) >= 0x80) {
        rv = ERR_UNKNOWN_ID;
    }
    if (rv == 0) {
        memcpy(first.b, key.data, ID);
        *id = id_key(&first);
        rv = now_read(id, value, out);
    }
    return rv;
}

int record_next(struct txn *txn, struct op_id *id, struct entry *out)
{
    static const struct op_id after_positions = {{0x80}};
    struct op_id from = *id;
    if (!be_increment(from.b, sizeof(from.b))) {
        return ERR_UNKNOWN_ID;
    }
    int rv = seek_in_half(txn, &from, id, out);
    bool is_position = op_id_compare(&from, &after_positions) < 0;
    return rv == ERR_UNKNOWN_ID && is_position ? seek_in_half(txn, &after_positions, id, out) : rv;
}

int records_drop(struct txn *txn)
{
    static const enum db all[] = {DB_records, DB_history, DB_statuses};
    int rv = 0;
    for (size_t i = 0; rv == 0 && i < sizeof(all) / sizeof(all[0]); i++) {
        rv = db_clear(txn, all[i]);
    }
    return rv;
}
