/* command.h - The table of commands: it drives parsing, help and suggestions. */
#ifndef NODE_COMMAND_H
#define NODE_COMMAND_H

#include "node/call.h"
#include "node/printer.h"

enum flag_type {
    FLAG_SWITCH, /* true */
    FLAG_TEXT,   /* a text */
    FLAG_TEXTS,  /* may be repeated: an array of texts */
    FLAG_COUNT,  /* an integer from 1 on */
    FLAG_JSON,   /* any value, from JSON, @FILE or - (standard input) */
    FLAG_TREE,   /* the same, nested as deeply as a token may be */
};

struct flag {
    const char *name; /* Without the dashes. NULL ends the list. */
    enum flag_type type;
    const char *key;  /* Its field in the request. */
    const char *word; /* What stands for the value in the help. */
    const char *help;
};

struct command {
    const char *name; /* One word, or two: those with the same first word are a group. NULL ends
                         the table. */
    const char *summary;
    const char *usage;     /* One line for each form, without "meshlog ". */
    const char *params[3]; /* Names of the arguments, which are their fields in the request. */
    const struct flag *flags;
    const char *notes; /* More for `help`, may be NULL. */
    const char *examples;
    unsigned required; /* How many of the arguments must be given. */
    bool repeats;      /* The last argument may be given several times: an array of texts. */
    bool hidden;
    bool needs_store;
    command_fn *run;
    print_fn *print;
};

extern const struct command commands[];

/* The flags that every command takes. */
extern const struct flag common_flags[];

const struct command *command_find(const char *name);

/* Is it the first word of a group? */
bool command_is_group(const char *word);

/* Is the command in the group of that word? */
bool command_is_in(const struct command *command, const char *group);

/* The same, or ERR_USAGE with the nearest name. */
int command_read(struct call *call, const char *name, const struct command **out) ERR_MUST_CHECK;

/* The name nearest to a mistyped one; NULL if none is near. */
const char *flag_suggest(const struct command *command, const char *name);

/* The flag of that name, given or common; NULL if there is none. */
const struct flag *flag_find(const struct command *command, struct bytes name);

command_fn run_init, run_append, run_log, run_show, run_frontier, run_verify, run_export,
    run_import, run_repair, run_backup, run_compact, run_root, run_nodes, run_grants, run_delegate,
    run_accept, run_revoke, run_seal, run_why, run_ucan_inspect, run_ucan_check, run_ucan_mint,
    run_ucan_policy, run_fsm, run_claim_list, run_claim_show, run_entity_show, run_records,
    run_rules, run_graph, run_digest, run_rebuild, run_job_list, run_job_show, run_bench,
    run_bench_memory, run_demo, run_help, run_version;

/* Those that change records. */
command_fn run_evidence_add, run_evidence_tombstone, run_evidence_get, run_entity_add,
    run_entity_alias, run_entity_merge, run_entity_split, run_claim_add, run_claim_confirm,
    run_claim_reject, run_claim_pin, run_claim_hide, run_claim_edit, run_claim_supersede,
    run_claim_lane, run_claim_status, run_claim_confidence, run_episode_add, run_episode_status,
    run_episode_title, run_action_add, run_action_status, run_artifact_add, run_artifact_evict,
    run_rules_set, run_coordinator, run_route, run_job_schedule, run_job_claim, run_job_renew,
    run_job_start, run_job_commit, run_job_complete, run_job_yield, run_job_expire, run_job_fail,
    run_job_cancel;

#endif
