/* desk.h - An author with a store of its own, who writes what it is told. */
#ifndef BENCH_DESK_H
#define BENCH_DESK_H

#include "base/value.h"
#include "bench/layers.h"
#include "bench/run.h"

struct desk;

/* Make the store dir/name of the mesh that all desks are in, for the author with a number, which
 * the root lets do everything from its first op on. */
int desk_open(const char *dir, const char *name, enum layers layers, uint8_t author,
              uint64_t now_ms, struct desk **out) ERR_MUST_CHECK;

/* The store stays where it is. NULL is fine. */
void desk_close(struct desk *desk);

const struct mesh_id *desk_mesh(const struct desk *desk);
struct store *desk_store(const struct desk *desk);

/* Time goes on; ops that are written from now on are not before it. */
void desk_set_now(struct desk *desk, uint64_t now_ms);
uint64_t desk_now(const struct desk *desk);

/* Write an op: at once into the group in hand, which is committed when it is full, and by
 * desk_flush. Fields may lie in the desk's arena, which is reset with each group. */
int desk_write(struct desk *desk, uint32_t kind, struct value *fields) ERR_MUST_CHECK;
int desk_flush(struct desk *desk) ERR_MUST_CHECK;

/* A claim with a text of its own by its number, resting on a record unless that is NULL. */
int desk_write_claim(struct desk *desk, uint64_t number,
                     const struct op_id *support) ERR_MUST_CHECK;

struct arena *desk_arena(struct desk *desk);

/* The id of an op of the last group that was committed; from the end: 0 is the last one. */
struct op_id desk_last(const struct desk *desk, uint32_t from_end);

/* The seconds that commits took since this was asked last. */
double desk_seconds(struct desk *desk);

#endif
