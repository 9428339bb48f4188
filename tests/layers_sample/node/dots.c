#include "../base/good.h"
