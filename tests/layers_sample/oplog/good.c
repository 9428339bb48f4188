/* All of this is allowed. */
#include <lmdb.h>
#include <pthread.h>
#include "base/err.h"
#include "oplog/op.h"
/* #include "node/good.h" in a comment is no include. */
