/* A folder in a layer belongs to the layer: this one is allowed. */
#include "bench/bench.h"
