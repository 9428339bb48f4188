#include "oplog/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/limits.h"
#include "oplog/blobs.h"
#include "oplog/db.h"
#include "oplog/graph.h"

#define LMDB_LOCK_BYTES                                                                            \
    (192 + 64 * (LIMIT_READERS - 1)) /* What LMDB makes it for so many readers. */
#define LOCK_POLL_MS 20
#define SNAPSHOT_TRIES 1000u

_Static_assert(DB_COUNT <= LIMIT_DATABASES, "every database needs a slot");

/* Paths ------------------------------------------------------------------------------- */

static char *path_join(const char *dir, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

bool store_fs_is_network(long type)
{
    static const uint32_t network[] = {
        0x6969,     /* NFS */
        0xff534d42, /* CIFS */
        0xfe534d42, /* SMB2 */
        0x517b,     /* SMB */
        0x01021997, /* 9P */
        0x65735546, /* FUSE: sshfs and its like */
        0x5346414f, /* AFS */
        0x6b414653, /* kAFS */
        0x73757245, /* Coda */
        0x564c,     /* NCP */
        0x00c36400, /* Ceph */
        0x0bd00bd0, /* Lustre */
        0x01161970, /* GFS2 */
        0x7461636f, /* OCFS2 */
    };
    for (size_t i = 0; i < sizeof(network) / sizeof(network[0]); i++) {
        if ((uint32_t)type == network[i]) {
            return true;
        }
    }
    return false;
}

int db_check_file_system(const char *dir)
{
    struct statfs fs;
    if (statfs(dir, &fs) != 0) {
        return db_error(errno == ENOTDIR ? ENOENT : errno);
    }
    return store_fs_is_network((long)fs.f_type) ? ERR_NETWORK_FS : 0;
}

int store_sync_folder(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rv = fd >= 0 && fsync(fd) == 0 ? 0 : err_from_errno(errno);
    int why = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = why;
    return rv;
}

/* ERR_NO_STORE without a data file; ERR_CORRUPT when it is too short to be one. */
static int check_data_file(const char *dir, off_t *size)
{
    char *path = path_join(dir, DATA_FILE);
    if (path == NULL) {
        return ERR_NO_MEMORY;
    }
    struct stat st;
    int rv = stat(path, &st) != 0 ? db_error(errno == ENOTDIR ? ENOENT : errno) : 0;
    free(path);
    if (rv != 0) {
        return rv;
    }
    *size = st.st_size;
    return S_ISREG(st.st_mode) && st.st_size >= 2 * 4096L ? 0 : ERR_CORRUPT;
}

/* LMDB's magic number stands behind the head of its first two pages. */
static bool page_is_meta(int fd, off_t at)
{
    const uint32_t magic = 0xbeefc0de;
    uint32_t found;
    return pread(fd, &found, sizeof(found), at + 16) == sizeof(found) && found == magic;
}

bool store_is_foreign(const char *dir)
{
    char *path = path_join(dir, DATA_FILE);
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    free(path);
    if (fd < 0) {
        return false;
    }
    bool foreign = !page_is_meta(fd, 0) && !page_is_meta(fd, 4096);
    close(fd);
    return foreign;
}

/* The lock of the writers. flock belongs to the open file, so it goes when the process does,
 * however it ends. */
static int open_lock(const char *dir, int *fd)
{
    char *path = path_join(dir, LOCK_FILE);
    if (path == NULL) {
        return ERR_NO_MEMORY;
    }
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    int rv = *fd < 0 ? db_error(errno) : 0;
    free(path);
    return rv;
}

static int take_lock(int fd, unsigned wait_ms)
{
    for (unsigned waited = 0;; waited += LOCK_POLL_MS) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            return 0;
        }
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return db_error(errno);
        }
        if (waited >= wait_ms) {
            return ERR_BUSY;
        }
        (void)poll(NULL, 0, LOCK_POLL_MS);
    }
}

static int lock_writer(const char *dir, unsigned wait_ms, int *fd)
{
    int rv = open_lock(dir, fd);
    if (rv != 0) {
        return rv;
    }
    rv = take_lock(*fd, wait_ms);
    if (rv != 0) {
        close(*fd);
        *fd = -1;
    }
    return rv;
}

/* Between its transactions a store lets others write, unless it is alone. */
static int begin_writing(struct store *store)
{
    return store->alone ? 0 : take_lock(store->lock_fd, LIMIT_WRITER_WAIT_MS);
}

static void end_writing(struct store *store)
{
    if (!store->alone) {
        (void)flock(store->lock_fd, LOCK_UN);
    }
}

/* Opening ----------------------------------------------------------------------------- */

/* LMDB maps its lock file without taking room for it first: on a full disk that ends in a signal.
 * So the room is taken here. Where we may not write, LMDB will not either. */
static int reserve_lock_file(const char *dir)
{
    char *path = path_join(dir, LMDB_LOCK_FILE);
    if (path == NULL) {
        return ERR_NO_MEMORY;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    free(path);
    if (fd < 0) {
        return 0;
    }
    int code = posix_fallocate(fd, 0, LMDB_LOCK_BYTES);
    close(fd);
    return code == ENOSPC || code == EDQUOT || code == EFBIG ? ERR_DISK_FULL : 0;
}

static int env_open(struct store *store, uint64_t map_bytes)
{
    int rv = reserve_lock_file(store->dir);
    if (rv != 0) {
        return rv;
    }
    rv = mdb_env_create(&store->env);
    if (rv != 0) {
        return db_error(rv);
    }
    if (map_bytes > 0) {
        rv = mdb_env_set_mapsize(store->env, map_bytes);
    }
    if (rv == 0) {
        rv = mdb_env_set_maxdbs(store->env, LIMIT_DATABASES);
    }
    if (rv == 0) {
        rv = mdb_env_set_maxreaders(store->env, LIMIT_READERS);
    }
    if (rv == 0) {
        unsigned flags = MDB_NOTLS | (store->writable ? 0 : MDB_RDONLY);
        rv = mdb_env_open(store->env, store->dir, flags, 0600);
    }
    if (rv == 0) { /* Slots of processes that died. */
        int dead;
        rv = mdb_reader_check(store->env, &dead);
    }
    return db_error(rv);
}

/* Was the file cut short, or did LMDB never write its last pages? It does not when they were
 * taken and given back within one transaction; then all of them are free. The file is made long
 * enough, for reading past its end would end in a signal. Nobody else writes. */
static int check_end_is_free(struct store *store)
{
    struct guard *guard;
    int rv = guard_take_newest(&store->file, &guard);
    if (rv != 0) {
        return rv;
    }
    const struct pages *pages = guard_pages(guard);
    uint64_t there = pages->len / pages->page_bytes;
    bool whole = there > pages->meta.last;
    bool free_end = pages->len % pages->page_bytes == 0 && pages->free_map != NULL;
    for (uint64_t i = there; free_end && i <= pages->meta.last; i++) {
        free_end = page_bit(pages->free_map, i);
    }
    uint64_t needed = (pages->meta.last + 1) * pages->page_bytes;
    guard_give(&store->file, guard);
    if (whole || !free_end) {
        return whole ? 0 : ERR_CORRUPT;
    }
    char *path = path_join(store->dir, DATA_FILE);
    if (path == NULL) {
        return ERR_NO_MEMORY;
    }
    int fd = open(path, O_RDWR | O_CLOEXEC);
    free(path);
    if (fd < 0 || ftruncate(fd, (off_t)needed) != 0) {
        rv = db_error(errno);
    }
    if (fd >= 0) {
        close(fd);
    }
    return rv;
}

/* Does the file have all the pages that its newest meta counts? */
static int file_is_whole(struct store *store, bool *out)
{
    struct guard *guard;
    int rv = guard_take_newest(&store->file, &guard);
    if (rv != 0) {
        *out = false;
        return rv == ERR_CORRUPT ? 0 : rv;
    }
    const struct pages *pages = guard_pages(guard);
    *out = pages->len / pages->page_bytes > pages->meta.last;
    guard_give(&store->file, guard);
    return 0;
}

/* What only a writer may do before LMDB sees the file. */
static int mend_file(struct store *store, const char *path, bool unfinished)
{
    int rv = unfinished ? guard_finish(&store->file, path) : 0;
    return rv == 0 ? check_end_is_free(store) : rv;
}

/* A file shorter than its own count of pages would end in a signal when read, and one whose last
 * commit is unfinished may lack it. A writer, ourselves or another that is at work, has seen to
 * it; without one a reader takes the lock meanwhile. */
static int check_file_complete(struct store *store, const char *path, bool unfinished)
{
    bool whole;
    int lock_fd;
    if (store->writable) {
        return mend_file(store, path, unfinished);
    }
    int rv = file_is_whole(store, &whole);
    if (rv != 0 || (whole && !unfinished)) {
        return rv;
    }
    rv = lock_writer(store->dir, 0, &lock_fd);
    if (rv == ERR_BUSY) {
        return 0;
    }
    if (rv == 0) {
        rv = mend_file(store, path, unfinished);
        close(lock_fd);
    }
    return rv == ERR_READ_ONLY ? ERR_CORRUPT : rv;
}

/* Check the data file before LMDB sees it. */
static int guard_begin(struct store *store)
{
    bool unfinished;
    char *path = path_join(store->dir, DATA_FILE);
    if (path == NULL) {
        return ERR_NO_MEMORY;
    }
    int rv = guard_open(&store->file, path, &unfinished);
    if (rv == 0) {
        rv = check_file_complete(store, path, unfinished);
    }
    free(path);
    store->guarded = rv == 0;
    return rv;
}

static int open_databases(struct store *store, unsigned flags)
{
    struct txn *txn;
    int rv = flags == MDB_CREATE ? txn_begin_write(store, &txn) : txn_begin_read(store, &txn);
    if (rv != 0) {
        return rv;
    }
    for (int i = 0; i < DB_COUNT; i++) {
        int code = mdb_dbi_open(txn->mdb, db_name((enum db)i), flags, &store->dbi[i]);
        if (code != 0) { /* A file without our databases is not one of ours. */
            txn_abort(txn);
            return code == MDB_NOTFOUND ? ERR_CORRUPT : db_error(code);
        }
    }
    return txn_commit(txn);
}

/* A fact that every store has, with this length. */
static int meta_get_fixed(struct txn *txn, const char *name, uint8_t *out, size_t len)
{
    size_t found = len;
    int rv = meta_get(txn, name, out, &found);
    if (rv == ERR_UNKNOWN_ID || rv == ERR_TOO_LARGE || (rv == 0 && found != len)) {
        return ERR_CORRUPT;
    }
    return rv;
}

static int check_schema(struct store *store)
{
    struct txn *txn;
    int rv = txn_begin_read(store, &txn);
    if (rv != 0) {
        return rv;
    }
    uint32_t schema;
    rv = db_schema(txn, &schema);
    if (rv == 0 && schema != STORE_SCHEMA) {
        rv = schema > STORE_SCHEMA ? ERR_NEWER_SCHEMA : ERR_OLD_SCHEMA;
    }
    if (rv == 0) {
        rv = meta_get_fixed(txn, "mesh", store->mesh.b, sizeof(store->mesh.b));
    }
    txn_abort(txn);
    return rv;
}

/* Who wants the map alone comes before those who want to read: else readers that come and go would
 * keep it waiting for good. */
static int map_lock_init(pthread_rwlock_t *lock)
{
    pthread_rwlockattr_t attr;
    int rv = pthread_rwlockattr_init(&attr);
    if (rv == 0) {
        rv = pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
        rv = rv == 0 ? pthread_rwlock_init(lock, &attr) : rv;
        (void)pthread_rwlockattr_destroy(&attr);
    }
    return rv;
}

static struct store *store_new(const char *dir, bool writable)
{
    struct store *store = calloc(1, sizeof(*store));
    if (store == NULL) {
        return NULL;
    }
    store->lock_fd = -1;
    store->file.fd = -1;
    store->writable = writable;
    store->dir = strdup(dir);
    if (store->dir == NULL || map_lock_init(&store->map_lock) != 0) {
        free(store->dir);
        free(store);
        return NULL;
    }
    pthread_mutex_init(&store->file.lock, NULL);
    return store;
}

void store_close(struct store *store)
{
    if (store == NULL) {
        return;
    }
    if (store->env != NULL) {
        mdb_env_close(store->env);
    }
    graph_free(store->graph);
    guard_close(&store->file);
    pthread_mutex_destroy(&store->file.lock);
    if (store->lock_fd >= 0) {
        close(store->lock_fd);
    }
    pthread_rwlock_destroy(&store->map_lock);
    free(store->dir);
    free(store);
}

static int put_identity(struct store *store, const struct mesh_id *mesh)
{
    struct txn *txn;
    int rv = txn_begin_write(store, &txn);
    if (rv != 0) {
        return rv;
    }
    uint8_t schema[4];
    be_put(schema, sizeof(schema), STORE_SCHEMA);
    rv = meta_put(txn, "schema", bytes_of(schema, sizeof(schema)));
    if (rv == 0) {
        rv = meta_put(txn, "mesh", bytes_of(mesh->b, sizeof(mesh->b)));
    }
    if (rv != 0) {
        txn_abort(txn);
        return rv;
    }
    return txn_commit(txn);
}

int store_create(const char *dir, const struct mesh_id *mesh, uint64_t map_bytes)
{
    off_t size;
    int rv = db_check_file_system(dir);
    if (rv != 0) {
        return rv;
    }
    rv = check_data_file(dir, &size);
    if (rv != ERR_NO_STORE) {
        return rv == 0 || rv == ERR_CORRUPT ? ERR_EXISTS : rv;
    }
    struct store *store = store_new(dir, true);
    if (store == NULL) {
        return ERR_NO_MEMORY;
    }
    store->alone = true;
    rv = lock_writer(dir, LIMIT_WRITER_WAIT_MS, &store->lock_fd);
    if (rv == 0) {
        uint64_t least = MIB(1); /* An empty store fits. */
        rv = env_open(store, map_bytes == 0      ? LIMIT_MAP_START
                             : map_bytes < least ? least
                                                 : map_bytes);
    }
    if (rv == 0) {
        rv = open_databases(store, MDB_CREATE);
    }
    if (rv == 0) {
        rv = put_identity(store, mesh);
    }
    store_close(store);
    return rv;
}

int store_open(const char *dir, enum store_mode mode, struct store **out)
{
    off_t size;
    int rv = check_data_file(dir, &size);
    if (rv != 0) {
        return rv;
    }
    rv = db_check_file_system(dir);
    if (rv != 0) {
        return rv;
    }
    struct store *store = store_new(dir, mode != STORE_READ);
    if (store == NULL) {
        return ERR_NO_MEMORY;
    }
    if (store->writable) {
        rv = lock_writer(dir, LIMIT_WRITER_WAIT_MS, &store->lock_fd);
    }
    if (rv == 0) {
        rv = guard_begin(store);
    }
    if (rv == 0) {
        rv = env_open(store, 0);
    }
    if (rv == 0) {
        rv = open_databases(store, 0);
    }
    if (rv == 0) {
        rv = check_schema(store);
    }
    if (rv != 0) {
        store_close(store);
        return rv;
    }
    store->alone = mode == STORE_ALONE;
    if (mode != STORE_READ) {
        blobs_clean(dir);
    }
    if (mode == STORE_WRITE) {
        end_writing(store);
    }
    store->grows = true;
    *out = store;
    return 0;
}

int store_lock(const char *dir, int *fd)
{
    int rv = db_check_file_system(dir);
    return rv != 0 ? rv : lock_writer(dir, LIMIT_WRITER_WAIT_MS, fd);
}

const struct mesh_id *store_mesh(const struct store *store)
{
    return &store->mesh;
}

const char *store_dir(const struct store *store)
{
    return store->dir;
}

int store_file_bytes(struct store *store, uint64_t *out)
{
    off_t size;
    int rv = check_data_file(store->dir, &size);
    if (rv == 0) {
        *out = (uint64_t)size;
    }
    return rv;
}

void store_set_fold(struct store *store, store_fold *fold)
{
    store->fold = fold;
}

bool txn_folds(const struct txn *txn)
{
    return txn->store->fold != NULL;
}

int txn_fold(struct txn *txn)
{
    return txn_folds(txn) ? txn->store->fold(txn) : 0;
}

/* Transactions ------------------------------------------------------------------------ */

/* Give the map another size; 0 adopts what another process has given it. No transaction of this
 * process may be open: the caller holds the map's lock alone. */
static int resize_map(struct store *store, uint64_t map_bytes)
{
    int rv = mdb_env_set_mapsize(store->env, map_bytes);
    if (rv != 0) { /* LMDB has unmapped already: any further use would crash. */
        store->failed = true;
    }
    return db_error(rv);
}

/* Where a transaction is open, the map grows another time: there is headroom for that. Only a map
 * that was too small once must grow now. */
static int grow_to(struct store *store, uint64_t map_bytes, bool must)
{
    if (map_bytes > LIMIT_MAP_MAX) {
        return ERR_LIMIT;
    }
    if (must) {
        pthread_rwlock_wrlock(&store->map_lock);
    } else if (pthread_rwlock_trywrlock(&store->map_lock) != 0) {
        return 0;
    }
    int rv = resize_map(store, map_bytes);
    pthread_rwlock_unlock(&store->map_lock);
    return rv;
}

/* A commit may write anew most of what there is: records, when something falls on which all rest,
 * or when they are rebuilt. */
static int grow_if_needed(struct store *store)
{
    MDB_envinfo info;
    MDB_stat stat;
    int rv = mdb_env_info(store->env, &info);
    if (rv == 0) {
        rv = mdb_env_stat(store->env, &stat);
    }
    if (rv != 0) {
        return db_error(rv);
    }
    uint64_t used = ((uint64_t)info.me_last_pgno + 1) * stat.ms_psize;
    uint64_t map = info.me_mapsize;
    bool was_full = store->map_full;
    store->map_full = false;
    if (was_full) {
        map *= 2;
    }
    while (map < used + LIMIT_MAP_HEADROOM || map / 2 < used) {
        map *= 2;
    }
    return map == info.me_mapsize ? 0 : grow_to(store, map, was_full);
}

/* Another process has grown the map: wait until nobody reads, then adopt its size. */
static int adopt_map(struct store *store)
{
    pthread_rwlock_wrlock(&store->map_lock);
    int rv = store->failed ? ERR_IO : resize_map(store, 0);
    pthread_rwlock_unlock(&store->map_lock);
    return rv;
}

/* Begin with the map's lock held shared; it is kept exactly on success. */
static int begin_locked(struct store *store, unsigned flags, MDB_txn **out)
{
    pthread_rwlock_rdlock(&store->map_lock);
    int rv = store->failed ? EIO : mdb_txn_begin(store->env, NULL, flags, out);
    if (rv != 0) {
        pthread_rwlock_unlock(&store->map_lock);
    }
    return rv;
}

/* The same, once more where another process has grown the map. */
static int begin_mapped(struct store *store, unsigned flags, MDB_txn **out)
{
    int rv = begin_locked(store, flags, out);
    while (rv == MDB_MAP_RESIZED) {
        int adopted = adopt_map(store);
        if (adopted != 0) {
            return adopted;
        }
        rv = begin_locked(store, flags, out);
    }
    return db_error(rv);
}

/* The snapshot that belongs to a transaction. */
static int take_guard(struct txn *txn, bool writes)
{
    uint64_t id = mdb_txn_id(txn->mdb);
    return guard_take(&txn->store->file, writes ? id - 1 : id, writes, &txn->guard);
}

static int txn_begin(struct store *store, unsigned flags, struct txn **out)
{
    struct txn *txn = calloc(1, sizeof(*txn));
    if (txn == NULL) {
        return ERR_NO_MEMORY;
    }
    txn->store = store;
    txn->writes = flags != MDB_RDONLY;
    buf_init(&txn->touched, SIZE_MAX / 2);
    int rv = ERR_UNKNOWN_ID;
    for (unsigned i = 0; i < SNAPSHOT_TRIES && rv == ERR_UNKNOWN_ID; i++) {
        rv = begin_mapped(store, flags, &txn->mdb);
        if (rv == 0 && store->guarded) {
            rv = take_guard(txn, flags != MDB_RDONLY);
            if (rv != 0) { /* Another process has committed twice meanwhile: once more. */
                mdb_txn_abort(txn->mdb);
                pthread_rwlock_unlock(&store->map_lock);
            }
        }
    }
    if (rv != 0) {
        free(txn);
        return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
    }
    *out = txn;
    return 0;
}

int txn_begin_read(struct store *store, struct txn **out)
{
    return txn_begin(store, MDB_RDONLY, out);
}

int txn_begin_write(struct store *store, struct txn **out)
{
    assert(store->writable);
    int rv = begin_writing(store);
    if (rv != 0) {
        return rv;
    }
    if (store->grows && !store->failed) {
        rv = grow_if_needed(store);
    }
    if (rv == 0) {
        rv = txn_begin(store, 0, out);
    }
    if (rv != 0) {
        end_writing(store);
        return rv;
    }
    if (mdb_txn_id((*out)->mdb) - 1 != store->own_txn) { /* Somebody else wrote meanwhile. */
        graph_forget(store->graph);
    }
    return 0;
}

void txn_set_now(struct txn *txn, uint64_t now_ms)
{
    txn->now_ms = now_ms;
}

struct store *txn_store(const struct txn *txn)
{
    return txn->store;
}

static void close_cursors(struct txn *txn)
{
    for (int i = 0; i < DB_COUNT; i++) {
        db_cursor_close(&txn->cursor[i]);
    }
}

/* LMDB calls a write that was cut short an I/O error. Where there is hardly any room left, for
 * the file or on the disk, that was the reason. */
static bool room_is_short(const struct store *store)
{
    struct statvfs fs;
    struct rlimit limit;
    off_t size;
    if (statvfs(store->dir, &fs) == 0 && fs.f_bavail * fs.f_frsize < LIMIT_TXN_BYTES) {
        return true;
    }
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           check_data_file(store->dir, &size) == 0 &&
           (uint64_t)size + LIMIT_TXN_BYTES > limit.rlim_cur;
}

static void txn_free(struct txn *txn)
{
    pthread_rwlock_unlock(&txn->store->map_lock);
    if (txn->writes) {
        end_writing(txn->store);
    }
    graph_free(txn->graph);
    key_set_free(&txn->dirty);
    buf_free(&txn->touched);
    if (txn->guard != NULL) {
        guard_give(&txn->store->file, txn->guard);
    }
    free(txn);
}

static int commit(struct txn *txn)
{
    struct store *store = txn->store;
    uint64_t id = mdb_txn_id(txn->mdb);
    bool counts = txn->changes > 0 && txn->guard != NULL;
    int rv = counts ? db_count_change(txn) : 0;
    close_cursors(txn);
    if (rv == 0) {
        rv = db_error(mdb_txn_commit(txn->mdb));
        if (rv == 0 && counts) {
            guard_wrote(&store->file, id);
            store->own_txn = id;
        }
    } else {
        mdb_txn_abort(txn->mdb);
    }
    txn_free(txn);
    if (rv != 0) {
        graph_forget(store->graph);
    }
    if (rv == ERR_MAP_FULL) {
        store->map_full = true;
    } else if (rv != 0) { /* What reached the disk is unknown: reopen to find out. */
        store->failed = true;
        rv = rv == ERR_IO && room_is_short(store) ? ERR_DISK_FULL : rv;
    }
    return rv;
}

/* The pages that a commit frees can be used by the next but one: a small one after a large one
 * keeps the file from holding two generations of them. What was committed stands, whatever comes of
 * it. */
static void settle(struct store *store)
{
    struct txn *txn;
    if (txn_begin_write(store, &txn) == 0) {
        txn->changes++; /* The count of changes itself. */
        (void)!commit(txn);
    }
}

int txn_commit(struct txn *txn)
{
    struct store *store = txn->store;
    int rv = txn->writes ? txn_fold(txn) : 0;
    if (rv != 0) { /* Nothing was to be written yet. */
        txn_abort(txn);
        return rv;
    }
    bool is_large = txn->changes >= LIMIT_SETTLE_CHANGES;
    rv = commit(txn);
    if (rv == 0 && is_large) {
        settle(store);
    }
    return rv;
}

void txn_abort(struct txn *txn)
{
    if (txn == NULL) {
        return;
    }
    if (txn->writes) { /* What it has read may never have been. */
        graph_forget(txn->store->graph);
    }
    close_cursors(txn);
    mdb_txn_abort(txn->mdb);
    txn_free(txn);
}

/* Facts about the store --------------------------------------------------------------- */

int meta_get(struct txn *txn, const char *name, void *out, size_t *len)
{
    struct bytes value = {0};
    int rv = db_get(txn, DB_meta, bytes_of_text(name), &value);
    if (rv != 0) {
        return rv;
    }
    if (value.len > *len) {
        return ERR_TOO_LARGE;
    }
    memcpy(out, value.data, value.len);
    *len = value.len;
    return 0;
}

int meta_put(struct txn *txn, const char *name, struct bytes value)
{
    return db_put(txn, DB_meta, bytes_of_text(name), value);
}
