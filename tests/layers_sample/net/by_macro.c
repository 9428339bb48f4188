#define HEADER "node/good.h"
#include HEADER
