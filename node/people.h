/* people.h - How each command's responses look to people. */
#ifndef NODE_PEOPLE_H
#define NODE_PEOPLE_H

#include "node/printer.h"

print_fn print_init, print_append, print_log, print_show, print_frontier, print_verify,
    print_export, print_import, print_repair, print_backup, print_compact, print_root, print_nodes,
    print_grants, print_delegate, print_accept, print_revoke, print_seal, print_why,
    print_ucan_inspect, print_ucan_check, print_ucan_mint, print_ucan_policy, print_fsm,
    print_claims, print_claim, print_entity, print_records, print_rules, print_graph, print_digest,
    print_rebuild, print_demo, print_job_schedule, print_job_claim, print_job_work, print_job_list,
    print_job_show, print_act, print_evidence_get, print_bench, print_json, print_text,
    print_version;

#endif
