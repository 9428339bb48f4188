#include <inttypes.h>

#include "node/people.h"
#include "node/say.h"

#define KIND_WIDTH 14u /* Of most kinds. */

static bool has(const struct value *map, const char *key)
{
    const struct value *value = value_get(map, key);
    return value != NULL && value->type != VALUE_NULL;
}

static bool is_word(const struct value *map, const char *key, const char *word)
{
    const struct value *value = value_get(map, key);
    return value != NULL && value_is_text(value, word);
}

/* A node by its name, or else by its key. */
static void say_node(struct printer *printer, const struct value *map, const char *name,
                     const char *key)
{
    say_field(printer, map, has(map, name) ? name : key);
}

static enum tint state_tint(const struct value *job)
{
    if (is_word(job, "state", "Completed")) {
        return TINT_GOOD;
    }
    if (is_word(job, "state", "Failed") || is_word(job, "state", "Cancelled")) {
        return TINT_BAD;
    }
    return TINT_WARN;
}

static void say_state(struct printer *printer, const struct value *job, unsigned width)
{
    struct bytes state = text_of(job, "state");
    say_tint(printer, state_tint(job));
    say(printer, "%-*.*s", (int)width, (int)state.len, (const char *)state.data);
    say_tint(printer, TINT_PLAIN);
}

void print_job_schedule(struct printer *printer, const struct value *response)
{
    say_field(printer, response, "id");
    say(printer, "  ");
    if (has(response, "state")) {
        say_state(printer, response, 0);
    } else {
        say(printer, "waits for the ops that it depends on");
    }
    say(printer, "%s\n", bool_of(response, "duplicate") ? ", was there already" : "");
}

void print_job_claim(struct printer *printer, const struct value *response)
{
    say_field(printer, response, "id");
    say(printer, "  ");
    say_tint(printer, TINT_BOLD);
    say_field(printer, response, "kind");
    say_tint(printer, TINT_PLAIN);
    say(printer, " is this node's until ");
    say_time(printer, int_of(response, "lease_end_ms"), true);
    say(printer, ", attempt %" PRId64 "\n", int_of(response, "attempt"));
    if (has(response, "payload")) {
        say(printer, "  payload    ");
        say_json(printer, value_get(response, "payload"), LINE_MAX_BYTES);
        say(printer, "\n");
    }
    say(printer, "  execution  ");
    say_field(printer, response, "execution");
    say(printer, "\n");
}

void print_job_work(struct printer *printer, const struct value *response)
{
    say_field(printer, response, "id");
    say(printer, "  ");
    say_state(printer, response, 0);
    if (has(response, "status")) {
        say(printer, ", the execution ");
        say_field(printer, response, "status");
    }
    if (has(response, "lease_end_ms")) {
        say(printer, " until ");
        say_time(printer, int_of(response, "lease_end_ms"), true);
    }
    say(printer, "\n");
}

/* The execution whose commit counts. */
static const struct value *committed(const struct value *job)
{
    const struct value *executions = value_get(job, "executions");
    for (uint32_t i = 0; i < count_of(job, "executions"); i++) {
        const struct value *execution = &executions->items[i];
        if (is_word(execution, "status", "COMMITTED") || is_word(execution, "status", "DONE")) {
            return execution;
        }
    }
    return NULL;
}

/* ", laptop until 2026-01-31 12:00, attempt 1 of 3": what there is to say, each part after the
 * separator that the one before it leaves. */
static void say_standing(struct printer *printer, const struct value *job, const char *separator)
{
    const struct value *execution = committed(job);
    int64_t attempt = int_of(job, "attempt");
    if (execution != NULL) {
        say(printer, "%scommitted by ", separator);
        say_node(printer, execution, "name", "node");
        separator = ", ";
    } else if (has(job, "holder")) {
        say(printer, "%s", separator);
        say_node(printer, job, "holder_name", "holder");
        say(printer, "%s ", bool_of(job, "overdue") ? ", whose lease ended" : " until");
        say_time(printer, int_of(job, "lease_end_ms"), false);
        separator = ", ";
    }
    if (attempt > 0) {
        say(printer, "%sattempt %" PRId64 " of %" PRId64, separator, attempt,
            int_of(job, "attempts"));
    }
}

void print_job_list(struct printer *printer, const struct value *job)
{
    static const char spaces[] = "                ";
    size_t len = text_of(job, "kind").len;
    say_state(printer, job, 11);
    say_field(printer, job, "id");
    say(printer, "  ");
    say_tint(printer, TINT_BOLD);
    say_field(printer, job, "kind");
    say_tint(printer, TINT_PLAIN);
    say_standing(printer, job, len < KIND_WIDTH ? spaces + len : "  ");
    say(printer, "\n");
}

static void say_execution(struct printer *printer, const struct value *execution)
{
    struct bytes status = text_of(execution, "status");
    say(printer, "  %" PRId64 "  %-12.*s", int_of(execution, "attempt"), (int)status.len,
        (const char *)status.data);
    say_field(printer, execution, "id");
    say(printer, "  ");
    say_node(printer, execution, "name", "node");
    if (has(execution, "start_ms")) {
        say(printer, ", started ");
        say_time(printer, int_of(execution, "start_ms"), true);
    }
    if (has(execution, "end_ms")) {
        say(printer, ", ended ");
        say_time(printer, int_of(execution, "end_ms"), true);
    }
    say(printer, "\n");
}

static void say_json_row(struct printer *printer, const struct value *job, const char *field,
                         const char *label)
{
    if (has(job, field)) {
        say(printer, "  %-11s", label);
        say_json(printer, value_get(job, field), LINE_MAX_BYTES);
        say(printer, "\n");
    }
}

void print_job_show(struct printer *printer, const struct value *job)
{
    const struct value *executions = value_get(job, "executions");
    uint32_t count = count_of(job, "executions");
    say_tint(printer, TINT_BOLD);
    say_field(printer, job, "kind");
    say_tint(printer, TINT_PLAIN);
    say(printer, "  ");
    say_field(printer, job, "id");
    say(printer, "\n  state      ");
    say_state(printer, job, 0);
    say_standing(printer, job, ", ");
    say(printer, "\n  scheduled  ");
    say_time(printer, int_of(job, "time_ms"), true);
    say(printer, " by ");
    say_node(printer, job, "author_name", "author");
    say(printer, "\n");
    say_json_row(printer, job, "payload", "payload");
    say_json_row(printer, job, "output", "output");
    say_json_row(printer, job, "serial_key", "serial key");
    say_json_row(printer, job, "key", "key");
    say(printer, "  version    ");
    say_field(printer, job, "version");
    say(printer, "\n%s", count > 0 ? "Executions, each with its attempt:\n" : "");
    for (uint32_t i = 0; i < count; i++) {
        say_execution(printer, &executions->items[i]);
    }
}
