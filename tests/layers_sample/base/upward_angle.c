/* The same, between angle brackets. */
#include <node/good.h>
