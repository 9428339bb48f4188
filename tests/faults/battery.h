/* battery.h - Every scenario under every fault of a battery: the first call fails, then the
 * second, and so on until the scenario comes to its end before the fault does.
 *
 * After each fault: an error with the right name or none, nothing leaked, a store that verifies
 * and has all that was acknowledged, and the scenario goes well when it is done again. Scenarios
 * run in processes of their own, so that a crash or an endless loop is a failure with a name. */
#ifndef TESTS_FAULTS_BATTERY_H
#define TESTS_FAULTS_BATTERY_H

#include "tests/faults/scenarios.h"
#include "tests/faults/shim.h"

/* One way in which calls fail. */
struct way {
    const char *name; /* NULL ends the list. */
    struct shim_fault fault;
    int errors[4]; /* What a scenario may return then, besides 0. */
};

/* Run all scenarios under all ways, or, with the words SCENARIO WAY N, one of them under one
 * fault in this process. The program's exit code. */
int battery_main(int count, char *words[], const struct way *ways);

#endif
