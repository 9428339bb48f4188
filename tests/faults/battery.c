#include "tests/faults/battery.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/support.h"

#define PATIENCE_S 60   /* For one fault. */
#define FAILURES_MAX 5u /* Of one scenario that are looked at. */
#define DENSE 150u      /* Beyond so many calls only some of them fail. */

/* Shared with the process that runs a scenario: where it is. */
struct progress {
    uint32_t way;
    uint64_t n;
    uint64_t calls;
    uint64_t injections;
};

static const struct way *ways;
static const char *program;
static const char *folder;
static struct progress *progress;
static uint64_t injections_total;

static bool may_return(const struct way *way, int rv)
{
    bool may = rv == 0;
    for (size_t i = 0; i < COUNT_OF(way->errors); i++) {
        may = may || rv == way->errors[i];
    }
    return may;
}

static bool complain(const struct scenario *scenario, const struct way *way, uint64_t n,
                     const char *what, const char *detail)
{
    printf("%s %s %llu: %s%s%s\n", scenario->name, way == NULL ? "none" : way->name,
           (unsigned long long)n, what, detail == NULL ? "" : ": ", detail == NULL ? "" : detail);
    printf("  to do it again: %s %s %s %llu\n", program, scenario->name,
           way == NULL ? "none" : way->name, (unsigned long long)n);
    return false;
}

static const char *leak(const struct shim_held *before, const struct shim_held *after)
{
    if (before->allocations != after->allocations) {
        return "memory is leaked";
    }
    if (before->maps != after->maps) {
        return "a map is leaked";
    }
    return before->files != after->files ? "an open file is leaked" : NULL;
}

/* Do it once more without a fault. */
static const char *again(struct run *run, const struct scenario *scenario, int rv)
{
    if (scenario->new_again) {
        run_end(run);
        run_begin(run, scenario, folder);
    }
    int wanted = rv == 0 && !scenario->new_again ? scenario->again : 0;
    run->answer = 0;
    int second = scenario->act(run);
    /* An error may come after all was done. */
    if (second != wanted && (rv == 0 || second != scenario->again)) {
        return err_code(second);
    }
    return run_check(run, scenario, false);
}

/* What the scenario gives without a fault; the second time, when all that is made once was. */
static uint64_t right_answer;

static bool learn(const struct scenario *scenario)
{
    static struct run run;
    for (int i = 0; i < 2; i++) {
        run_begin(&run, scenario, folder);
        struct shim_held before = shim_held();
        int rv = scenario->act(&run);
        struct shim_held after = shim_held();
        const char *wrong = rv != 0 ? err_code(rv) : run_check(&run, scenario, false);
        if (wrong == NULL && i == 1) {
            wrong = leak(&before, &after);
        }
        right_answer = run.answer;
        if (wrong == NULL) {
            wrong = again(&run, scenario, 0);
        }
        run_end(&run);
        if (wrong != NULL) {
            return complain(scenario, NULL, 0, wrong, NULL);
        }
    }
    return true;
}

/* One fault. *hit: it was reached. */
static bool inject(const struct scenario *scenario, const struct way *way, uint64_t n, bool *hit)
{
    static struct run run;
    struct shim_fault fault = way->fault;
    fault.nth = n;
    (void)alarm(PATIENCE_S);
    run_begin(&run, scenario, folder);
    struct shim_held before = shim_held();
    shim_arm(&fault);
    int rv = scenario->act(&run);
    progress->calls = shim_disarm(hit);
    struct shim_held after = shim_held();
    const char *leaked = leak(&before, &after);
    if (leaked != NULL) {
        return complain(scenario, way, n, leaked, err_code(rv));
    }
    if (!may_return(way, rv)) {
        return complain(scenario, way, n, "an error of the wrong name", err_code(rv));
    }
    if (rv == 0 && scenario->keeps && run.answer != right_answer) {
        return complain(scenario, way, n, "a wrong answer without an error", NULL);
    }
    const char *wrong = run_check(&run, scenario, rv != 0);
    if (wrong != NULL) {
        return complain(scenario, way, n, wrong, err_code(rv));
    }
    wrong = again(&run, scenario, rv);
    if (wrong != NULL) {
        return complain(scenario, way, n, "done again it fails", wrong);
    }
    run_end(&run);
    return true;
}

/* Steps become wider where a scenario makes very many calls, unless all are asked for. */
static uint64_t next(uint64_t n)
{
    return n < DENSE || getenv("FAULTS_ALL") != NULL ? n + 1 : n + 1 + n / 20;
}

/* From where the progress stands to the end. Does not return. */
static void run_in_child(const struct scenario *scenario)
{
    if (!learn(scenario)) {
        progress->way = UINT32_MAX - 1;
        exit(1);
    }
    for (; ways[progress->way].name != NULL; progress->way++, progress->n = 1) {
        bool hit = true;
        for (; hit; progress->n = next(progress->n)) {
            if (!inject(scenario, &ways[progress->way], progress->n, &hit)) {
                exit(1);
            }
            progress->injections += hit;
        }
    }
    exit(0);
}

/* Run on after a failure, with the next fault. */
static unsigned run_children(const struct scenario *scenario)
{
    unsigned failures = 0;
    while (failures < FAILURES_MAX) {
        (void)fflush(NULL);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            run_in_child(scenario);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status == 0) {
            return failures;
        }
        failures++;
        if (progress->way == UINT32_MAX - 1) {
            return failures;
        }
        if (WIFSIGNALED(status)) {
            (void)complain(scenario, &ways[progress->way], progress->n, "it ended by a signal",
                           strsignal(WTERMSIG(status)));
        }
        struct run left;
        (void)snprintf(left.folder, sizeof(left.folder), "%s/run-%d", folder, (int)pid);
        run_end(&left);
        progress->n++;
    }
    return failures;
}

static void all_faults(void **state)
{
    const struct scenario *scenario = *state;
    *progress = (struct progress){.n = 1};
    unsigned failures = run_children(scenario);
    printf("%s: %llu faults\n", scenario->name, (unsigned long long)progress->injections);
    injections_total += progress->injections;
    if (failures > 0) {
        fail_msg("%s: %u failures", scenario->name, failures);
    }
}

static int run_one(char *words[])
{
    const struct scenario *scenario = scenario_find(words[1]);
    const struct way *way = ways;
    bool hit;
    while (way->name != NULL && strcmp(way->name, words[2]) != 0) {
        way++;
    }
    if (scenario == NULL || !learn(scenario) || way->name == NULL) {
        return 1;
    }
    bool good = inject(scenario, way, strtoull(words[3], NULL, 10), &hit);
    printf("%s, %s\n", good ? "good" : "bad", hit ? "reached" : "not reached");
    return good ? 0 : 1;
}

static int run_all(void)
{
    struct CMUnitTest tests[128] = {{0}};
    size_t count = 0;
    const struct scenario *s;
    for (; (s = scenario_at(count)) != NULL; count++) {
        assert_true(count < COUNT_OF(tests));
        tests[count] = (struct CMUnitTest){
            .name = s->name, .test_func = all_faults, .initial_state = (void *)(uintptr_t)s};
    }
    int rv = _cmocka_run_group_tests("scenarios", tests, count, NULL, NULL);
    printf("%zu scenarios, %llu faults\n", count, (unsigned long long)injections_total);
    return rv;
}

int battery_main(int count, char *words[], const struct way *all)
{
    support_init();
    ways = all;
    program = words[0];
    progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                    0);
    folder = support_dir();
    if (progress == MAP_FAILED) {
        return 1;
    }
    shim_watch(folder);
    stages_prepare(folder);
    int rv = count == 4 ? run_one(words) : run_all();
    support_free();
    return rv;
}
