#include "tests/unit/support.h"
