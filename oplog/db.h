/* db.h - The store's databases, for the files of oplog/ and projections/ only. */
#ifndef OPLOG_DB_H
#define OPLOG_DB_H

#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>

#include "oplog/dbs.h"
#include "oplog/guard.h"
#include "oplog/keyset.h"
#include "oplog/authority.h"
#include "oplog/store.h"

/* The files of a store, beside its keys. */
#define DATA_FILE "data.mdb"
#define LOCK_FILE "LOCK"
#define LMDB_LOCK_FILE "lock.mdb"

/* A place in one database. */
struct db_cursor {
    struct txn *txn;
    enum db db;
    MDB_cursor *mdb;   /* NULL while it is not open. */
    bool bad_page;     /* The last step ended at a bad page, and … */
    struct bytes past; /* … keys go on here; NULL data where none do. */
};

struct store {
    char *dir;
    MDB_env *env;
    MDB_dbi dbi[DB_COUNT];
    /* Held shared by every open transaction, alone while the map is given another size: LMDB
     * takes the old one away under all that read. */
    pthread_rwlock_t map_lock;
    int lock_fd; /* -1 for a reader. */
    bool writable;
    bool alone;       /* The lock is kept until the store is closed. */
    uint64_t own_txn; /* The last transaction that was committed here. */
    bool guarded;     /* Pages are checked before they are used: not while a store is made. */
    struct guard_file file;
    bool grows;         /* The map may grow: not while a store is made. */
    bool map_full;      /* Grow the map before the next write. */
    atomic_bool failed; /* A commit failed, or the map is gone: nothing more until reopened. */
    struct mesh_id mesh;
    store_fold *fold;
    verdict_changed *changed_verdict; /* NULL: nobody watches. */
    void *changed_ctx;
    const struct record_watch *record_watch; /* Of the projections; NULL likewise. */
    bool judged;                             /* By authority (authority.h). */
    struct graph *graph;                     /* What the write transactions have read of it. */
};

struct txn {
    struct store *store;
    bool writes;
    struct graph *graph;  /* What a read transaction has read of authority. */
    struct key_set dirty; /* Below these everything is to be judged again. */
    struct buf touched;   /* Ids of ops that arrived or stand otherwise, for the folds; … */
    uint64_t appended;    /* … and how many arrived since they last ran. */
    MDB_txn *mdb;
    struct guard *guard; /* NULL where pages are not checked. */
    struct guard_gaps gaps[DB_COUNT];
    bool cleared[DB_COUNT]; /* Nothing of the database is left from before the transaction. */
    uint64_t changes;       /* Rows put and taken away. */
    struct db_cursor cursor[DB_COUNT]; /* Opened on first use. */
    uint64_t next_n;                   /* The next arrival number, once known. */
    bool next_n_known;
    uint64_t now_ms; /* The wall clock, where what is done is dated (erasures); 0 if nobody told. */
};

/* Turn an LMDB or errno code into ours. MDB_NOTFOUND is ERR_UNKNOWN_ID. */
int db_error(int code) ERR_MUST_CHECK;

/* The same for a change: a full map is remembered and grown before the next write. */
int txn_error(struct txn *txn, int code) ERR_MUST_CHECK;

/* Where the transaction keeps what it has read of authority. */
static inline struct graph **txn_graph(struct txn *txn)
{
    return txn->writes ? &txn->store->graph : &txn->graph;
}

static inline bool txn_writes(const struct txn *txn)
{
    return txn->writes;
}

/* The transaction's own cursor on a database; one of the caller's own, to be closed by it. */
int db_cursor(struct txn *txn, enum db db, struct db_cursor **out) ERR_MUST_CHECK;
int db_cursor_open(struct txn *txn, enum db db, struct db_cursor *out) ERR_MUST_CHECK;
void db_cursor_close(struct db_cursor *cursor);

/* One row. get: ERR_UNKNOWN_ID when there is none, ERR_CORRUPT when it does not fit its check; the
 * value is good until the next change. put replaces. */
int db_get(struct txn *txn, enum db db, struct bytes key, struct bytes *value) ERR_MUST_CHECK;
int db_put(struct txn *txn, enum db db, struct bytes key, struct bytes value) ERR_MUST_CHECK;

/* Count the changes (PAGES_GENERATION), so that the older of the two snapshots in the file is known
 * for what it is even where the numbers of their transactions are damaged. The page is one that
 * guard_take has checked. */
int db_count_change(struct txn *txn) ERR_MUST_CHECK;
int db_delete(struct txn *txn, enum db db, struct bytes key) ERR_MUST_CHECK;

/* All rows of a database go. */
int db_clear(struct txn *txn, enum db db) ERR_MUST_CHECK;

/* Put a value of two parts where the cursor goes; flags are LMDB's (0, MDB_APPEND). */
int db_put_at(struct db_cursor *cursor, struct bytes key, struct bytes head, struct bytes body,
              unsigned flags) ERR_MUST_CHECK;
int db_delete_at(struct db_cursor *cursor) ERR_MUST_CHECK;

/* The first row at or after key, then the next. ERR_UNKNOWN_ID at the end. A row that does not fit
 * its check is ERR_CORRUPT; its key is given all the same, and a further step goes on behind it. */
int db_seek(struct db_cursor *cursor, struct bytes from, struct bytes *key,
            struct bytes *value) ERR_MUST_CHECK;
int db_step(struct db_cursor *cursor, MDB_cursor_op op, struct bytes *key,
            struct bytes *value) ERR_MUST_CHECK;

/* The same for whoever looks for damage: the first such row that can be read. *bad_rows grows by
 * those before it that do not fit; bad pages are passed over in silence. */
int db_seek_good(struct db_cursor *cursor, struct bytes from, struct bytes *key,
                 struct bytes *value, uint64_t *bad_rows) ERR_MUST_CHECK;
int db_step_good(struct db_cursor *cursor, MDB_cursor_op op, struct bytes *key, struct bytes *value,
                 uint64_t *bad_rows) ERR_MUST_CHECK;

/* The number of the store's schema, whatever it is: its row has been the same in all. */
int db_schema(struct txn *txn, uint32_t *out) ERR_MUST_CHECK;

/* Did a row go with the page it is on? */
bool db_page_is_bad(struct txn *txn, enum db db, struct bytes key);

int db_count(struct txn *txn, enum db db, uint64_t *out) ERR_MUST_CHECK;

/* ERR_NETWORK_FS where a store would come to harm; ERR_NO_STORE when dir is not there. */
int db_check_file_system(const char *dir) ERR_MUST_CHECK;

#endif
