#include "oplog/pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t has_work; /* next < count, or stop. */
    pthread_cond_t all_done; /* done == count. */
    void (*work)(void *ctx, size_t i);
    void *ctx;
    size_t count;
    size_t next;
    size_t done;
    int stop;
    unsigned threads;
    pthread_t thread[];
};

unsigned cpu_cores(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : (unsigned)cores;
}

/* Take one piece and do it. The lock is held on entry and exit, not meanwhile. */
static void do_one(struct pool *pool)
{
    size_t i = pool->next++;
    pthread_mutex_unlock(&pool->lock);
    pool->work(pool->ctx, i);
    pthread_mutex_lock(&pool->lock);
    if (++pool->done == pool->count) {
        pthread_cond_signal(&pool->all_done);
    }
}

static void *worker(void *arg)
{
    struct pool *pool = arg;
    pthread_mutex_lock(&pool->lock);
    while (!pool->stop) {
        if (pool->next < pool->count) {
            do_one(pool);
        } else {
            pthread_cond_wait(&pool->has_work, &pool->lock);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

int pool_create(unsigned threads, struct pool **out)
{
    unsigned wanted = threads == 0 ? cpu_cores() : threads;
    struct pool *pool = calloc(1, sizeof(*pool) + wanted * sizeof(pool->thread[0]));
    if (pool == NULL) {
        return ERR_NO_MEMORY;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->has_work, NULL);
    pthread_cond_init(&pool->all_done, NULL);
    while (pool->threads < wanted &&
           pthread_create(&pool->thread[pool->threads], NULL, worker, pool) == 0) {
        pool->threads++;
    }
    *out = pool; /* With fewer threads, or none, pool_wait does the rest. */
    return 0;
}

void pool_free(struct pool *pool)
{
    if (pool == NULL) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    assert(pool->done == pool->count);
    pool->stop = 1;
    pthread_cond_broadcast(&pool->has_work);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->threads; i++) {
        pthread_join(pool->thread[i], NULL);
    }
    pthread_cond_destroy(&pool->all_done);
    pthread_cond_destroy(&pool->has_work);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

void pool_begin(struct pool *pool, void (*work)(void *ctx, size_t i), void *ctx, size_t count)
{
    pthread_mutex_lock(&pool->lock);
    assert(pool->done == pool->count);
    pool->work = work;
    pool->ctx = ctx;
    pool->count = count;
    pool->next = 0;
    pool->done = 0;
    pthread_cond_broadcast(&pool->has_work);
    pthread_mutex_unlock(&pool->lock);
}

void pool_wait(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    while (pool->next < pool->count) {
        do_one(pool);
    }
    while (pool->done < pool->count) {
        pthread_cond_wait(&pool->all_done, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
}
