/* A lower layer includes a higher one. */
#include "base/good.h"
#include "oplog/op.h"
