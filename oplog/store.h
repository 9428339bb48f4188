/* store.h - The folder that holds a log: one LMDB environment, a lock, key files.
 *
 * One transaction writes at a time (a lock on the file LOCK), of whatever process, and any number
 * read beside it. Every other call of oplog/ works inside a transaction that its caller begins and
 * ends here, so that a caller can put several changes into one commit. (spec/store.md) */
#ifndef OPLOG_STORE_H
#define OPLOG_STORE_H

#include "oplog/id.h"
#include "oplog/verdict.h"

#define STORE_SCHEMA 4u

struct store;
struct txn;
struct row;

enum store_mode {
    STORE_READ,  /* Beside writers. */
    STORE_WRITE, /* Beside other writers, each waiting for the transaction of another. */
    STORE_ALONE, /* The one writer until it is closed: for what takes the file to pieces. */
};

/* Make an empty store for a mesh in the folder dir, which must be there. map_bytes is the
 * first size of the memory map (at least 1 MiB), 0 for LIMIT_MAP_START. What was made of a store
 * that could not be finished stays in dir: make it in a folder of its own (node/init.c does).
 *
 *   ERR_EXISTS   there is a store in dir
 *   ERR_BUSY, ERR_READ_ONLY, ERR_DISK_FULL, ERR_NETWORK_FS, ERR_IO, ERR_NO_MEMORY */
int store_create(const char *dir, const struct mesh_id *mesh, uint64_t map_bytes) ERR_MUST_CHECK;

/* Open the store in dir. The caller ends it with store_close. A process must not open a
 * store twice.
 *
 *   ERR_NO_STORE       there is none: run init
 *   ERR_BUSY           another writer did not finish within LIMIT_WRITER_WAIT_MS
 *   ERR_NEWER_SCHEMA   written by a newer program
 *   ERR_OLD_SCHEMA     written by an older one
 *   ERR_CORRUPT        not an LMDB file, cut short, or its first pages are damaged
 *   ERR_READ_ONLY, ERR_NETWORK_FS, ERR_DISK_FULL, ERR_IO, ERR_NO_MEMORY */
int store_open(const char *dir, enum store_mode mode, struct store **out) ERR_MUST_CHECK;

/* After ERR_CORRUPT, for a message: is the data file in dir something else altogether? False where
 * one of its first two pages begins as a database's does, or it cannot be read. */
bool store_is_foreign(const char *dir);

/* Take the lock of the writer in dir, whatever is left of the store there; it goes with the
 * descriptor. Waits as store_open does: ERR_BUSY, ERR_NO_STORE (no folder dir), ERR_READ_ONLY, … */
int store_lock(const char *dir, int *fd) ERR_MUST_CHECK;

/* No transaction may be open. NULL is fine. */
void store_close(struct store *store);

const struct mesh_id *store_mesh(const struct store *store);
const char *store_dir(const struct store *store);

/* The bytes of the data file, as the file system has it. */
int store_file_bytes(struct store *store, uint64_t *out) ERR_MUST_CHECK;

/* Begin a transaction; it ends in the thread that began it. One write transaction at a time.
 * Keep read transactions short: a long one keeps freed pages from being used again. Before a
 * write transaction the map grows when LIMIT_MAP_HEADROOM or half of it is not free and no
 * other transaction of this process is open; after ERR_MAP_FULL it waits for the others to end. A
 * thread that has a transaction open must not begin another: it might wait for itself then, or when
 * another process has grown the map. */
int txn_begin_read(struct store *store, struct txn **out) ERR_MUST_CHECK;

/* ERR_BUSY: another process did not finish its own within LIMIT_WRITER_WAIT_MS. */
int txn_begin_write(struct store *store, struct txn **out) ERR_MUST_CHECK;

/* Make everything durable. Only when this returned 0 may anyone be told. The transaction is
 * gone afterwards in any case; on error nothing of it happened.
 *
 *   ERR_MAP_FULL            do the same work again: the next transaction grows the map
 *   ERR_DISK_FULL, ERR_IO   the store takes no more: close it, reopen, verify, go on */
int txn_commit(struct txn *txn) ERR_MUST_CHECK;

/* Forget everything. Ends a read transaction too. NULL is fine. */
void txn_abort(struct txn *txn);

struct store *txn_store(const struct txn *txn);

/* Tell the wall clock, by which some of what is written is dated. No verdict reads it. */
void txn_set_now(struct txn *txn, uint64_t now_ms);

/* What the folds do with ops: bring the records to what the log has come to. Works inside the
 * transaction; an error ends it. To be set once after store_open, before any transaction. */
typedef int store_fold(struct txn *txn);
void store_set_fold(struct store *store, store_fold *fold);

/* Have the folds done now: what became of the ops of this transaction can be read then. A commit
 * does it before anything else. */
int txn_fold(struct txn *txn) ERR_MUST_CHECK;
bool txn_folds(const struct txn *txn);

/* Small named facts about this store ("node", "name", …). get: *len is the room and then
 * the length; ERR_UNKNOWN_ID when there is none, ERR_TOO_LARGE when it does not fit. */
int meta_get(struct txn *txn, const char *name, void *out, size_t *len) ERR_MUST_CHECK;
int meta_put(struct txn *txn, const char *name, struct bytes value) ERR_MUST_CHECK;

/* Make the names in a folder durable. On failure errno tells why, too: ERR_IO, ERR_READ_ONLY, … */
int store_sync_folder(const char *dir) ERR_MUST_CHECK;

/* Is this statfs type one of a network file system? */
bool store_fs_is_network(long type);

#endif
