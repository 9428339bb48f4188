#include "node/command.h"

#include "base/text.h"
#include "node/actor.h"
#include "node/people.h"
#include "oplog/kinds.h"

/* How far a mistyped word may be from the one that is suggested. */
#define NEAR 3u

const struct flag common_flags[] = {
    {"store", FLAG_TEXT, "", "DIR", "the folder of the store"},
    {"json", FLAG_SWITCH, "", "", "answer in JSON, one object per line"},
    {"passphrase-file", FLAG_TEXT, "", "FILE", "the keys' passphrase is its first line"},
    {"help", FLAG_SWITCH, "", "", "what `help COMMAND` says"},
    {.name = NULL},
};

static const struct flag init_flags[] = {
    {"mesh", FLAG_TEXT, "mesh", "DID", "join this mesh instead of founding one"},
    {"name", FLAG_TEXT, "name", "TEXT", "a name for this node"},
    {"root", FLAG_TEXT, "root", "FILE|-", "let this root admit the node; it is not kept here"},
    {"passphrase", FLAG_SWITCH, "passphrase", "", "ask for a passphrase for the keys"},
    {.name = NULL},
};

static const struct flag root_flags[] = {
    {"code", FLAG_SWITCH, "code", "", "the key as a code for paper; import reads it from stdin"},
    {"qr", FLAG_SWITCH, "qr", "", "export: the code as a picture too"},
    {"remove", FLAG_SWITCH, "remove", "", "export: then take root.key away from this device"},
    {.name = NULL},
};

static const struct flag append_flags[] = {
    {"payload", FLAG_JSON, "payload", "JSON", "its content: an object, @FILE, or - for stdin"},
    {"dep", FLAG_TEXTS, "deps", "ID", "an op that it depends on; may be repeated"},
    {"batch", FLAG_SWITCH, "batch", "", "append an op for each line of stdin"},
    {.name = NULL},
};

static const struct flag log_flags[] = {
    {"author", FLAG_TEXT, "author", "DID", "only this node's ops"},
    {"kind", FLAG_TEXT, "kind", "KIND", "only this kind, by name or number"},
    {"since", FLAG_TEXT, "since", "ID", "only ops after this one"},
    {"until", FLAG_TEXT, "until", "ID", "only ops up to and with this one"},
    {"limit", FLAG_COUNT, "limit", "N", "only the last N that match"},
    {"follow", FLAG_SWITCH, "follow", "", "then show new ones as they arrive, until Ctrl-C"},
    {.name = NULL},
};

static const struct flag export_flags[] = {
    {"author", FLAG_TEXT, "author", "DID", "only this node's ops"},
    {.name = NULL},
};

static const struct flag compact_flags[] = {
    {"final", FLAG_SWITCH, "final", "", "take erased bytes at once, without the seven days"},
    {.name = NULL},
};

static const struct flag at_flags[] = {
    {"at", FLAG_TEXT, "at", "UNIX", "as it was or will be then, in Unix seconds"},
    {.name = NULL},
};

static const struct flag delegate_flags[] = {
    {"cmd", FLAG_TEXT, "cmd", "COMMAND", "what is allowed: a path, / for everything"},
    {"policy", FLAG_TREE, "policy", "JSON", "what must hold for each op: an array of statements"},
    {"expires", FLAG_TEXT, "expires", "WHEN", "12h, 90d, 1y, Unix seconds or never (90d)"},
    {"not-before", FLAG_TEXT, "not_before", "WHEN", "Unix seconds, or now; else it covers all"},
    {"meta", FLAG_TREE, "meta", "JSON", "more that the token says: an object"},
    {"delegable", FLAG_SWITCH, "delegable", "", "the node may pass it on"},
    {"renew", FLAG_TEXT, "renew", "CID", "say what this token says, for longer"},
    {"out", FLAG_TEXT, "out", "FILE", "write the token for `accept` there"},
    ACTOR_FLAGS,
    {.name = NULL},
};

static const struct flag revoke_flags[] = {
    {"keep-through", FLAG_TEXT, "keep_through", "HASH,…", "the last ops that stay, or now (now)"},
    {"void-all", FLAG_SWITCH, "void_all", "", "nothing that the token allowed stays"},
    {"dry-run", FLAG_SWITCH, "dry_run", "", "only show what would change"},
    ACTOR_FLAGS,
    {.name = NULL},
};

#define AS_OF_FLAG                                                                                 \
    {                                                                                              \
        "as-of", FLAG_TEXT, "as_of", "ID", "as it was when this op was the last one"               \
    }

/* What every op about a job takes. */
#define IF_VERSION_FLAG                                                                            \
    {                                                                                              \
        "if-version", FLAG_TEXT, "if_version", "ID", "only while this is the job's version"        \
    }
#define EXECUTION_FLAG                                                                             \
    {                                                                                              \
        "execution", FLAG_TEXT, "execution", "ID", "which execution, if not this node's own"       \
    }

static const struct flag job_schedule_flags[] = {
    {"payload", FLAG_JSON, "payload", "JSON", "what the job is about: any value, @FILE, or -"},
    {"lease", FLAG_TEXT, "lease", "DURATION", "for how long a claim holds it: 1s to 7d (15m)"},
    {"key", FLAG_TEXT, "key", "K", "the same key and content again is the same job"},
    {"dep", FLAG_TEXTS, "deps", "ID", "an op that it depends on; may be repeated"},
    {"attempts", FLAG_COUNT, "attempts", "N", "how often it may fail before it is Failed (3)"},
    {"serial-key", FLAG_TEXT, "serial_key", "S", "one job at a time of those with this key"},
    {"commit", FLAG_TEXT, "commit", "WHO", "whose commit counts: any (default) or coordinator"},
    {"timeout", FLAG_TEXT, "timeout", "DURATION", "how long one attempt may take"},
    {.name = NULL},
};

static const struct flag job_claim_flags[] = {
    {"kind", FLAG_TEXT, "kind", "GLOB", "the oldest free job of such a kind; * is any letters"},
    {"lease", FLAG_TEXT, "lease", "DURATION", "for how long (as the job says, or 15m)"},
    IF_VERSION_FLAG,
    {.name = NULL},
};

static const struct flag job_renew_flags[] = {
    {"lease", FLAG_TEXT, "lease", "DURATION", "for how long from now on (as the job says, or 15m)"},
    EXECUTION_FLAG,
    IF_VERSION_FLAG,
    {.name = NULL},
};

static const struct flag job_work_flags[] = {EXECUTION_FLAG, IF_VERSION_FLAG, {.name = NULL}};

static const struct flag job_output_flags[] = {
    {"output", FLAG_JSON, "output", "JSON", "what came of it: any value, @FILE, or -"},
    EXECUTION_FLAG,
    IF_VERSION_FLAG,
    {.name = NULL},
};

static const struct flag job_yield_flags[] = {
    {"reason", FLAG_TEXT, "reason", "TEXT", "why"},
    EXECUTION_FLAG,
    IF_VERSION_FLAG,
    {.name = NULL},
};

static const struct flag job_fail_flags[] = {
    {"error", FLAG_TEXT, "error", "TEXT", "what went wrong"},
    {"final", FLAG_SWITCH, "final", "", "do not try again"},
    EXECUTION_FLAG,
    IF_VERSION_FLAG,
    {.name = NULL},
};

static const struct flag job_cancel_flags[] = {
    {"reason", FLAG_TEXT, "reason", "TEXT", "why"},
    IF_VERSION_FLAG,
    {.name = NULL},
};

static const struct flag job_list_flags[] = {
    {"state", FLAG_TEXT, "state", "S", "Pending, Claimed, Completed, Failed or Cancelled"},
    {"kind", FLAG_TEXT, "kind", "GLOB", "only such kinds; * is any letters"},
    {"overdue", FLAG_SWITCH, "overdue", "", "only those whose lease has ended"},
    {"for", FLAG_TEXT, "for", "NODE", "only those that this node could claim now, by any route"},
    AS_OF_FLAG,
    {.name = NULL},
};

static const struct flag job_show_flags[] = {AS_OF_FLAG, {.name = NULL}};

static const struct flag fsm_flags[] = {
    {"format", FLAG_TEXT, "format", "FORMAT", "table (with a small tree), dot or mermaid"},
    {.name = NULL},
};

static const struct flag as_of_flags[] = {
    AS_OF_FLAG,
    {.name = NULL},
};

static const struct flag claim_list_flags[] = {
    {"status", FLAG_TEXT, "status", "S",
     "Hint, Claim, Fact, Disputed, Rejected, Superseded, Stale"},
    {"subject", FLAG_TEXT, "subject", "S", "only claims with this subject, as written"},
    {"predicate", FLAG_TEXT, "predicate", "P", "only claims with this predicate"},
    AS_OF_FLAG,
    {.name = NULL},
};

static const struct flag records_flags[] = {
    {"type", FLAG_TEXT, "type", "T", "evidence, entity, claim, episode, action, artifact, job, …"},
    {"status", FLAG_TEXT, "status", "S", "only those that are so"},
    AS_OF_FLAG,
    {.name = NULL},
};

static const struct flag graph_flags[] = {
    {"format", FLAG_TEXT, "format", "FORMAT", "json or dot (json)"},
    AS_OF_FLAG,
    {.name = NULL},
};

/* A change of a record. */
static const struct flag version_flags[] = {
    {"if-version", FLAG_TEXT, "if_version", "ID", "only if this is still its version"},
    {.name = NULL},
};

static const struct flag evidence_add_flags[] = {
    {"type", FLAG_TEXT, "type", "T", "what sort it is: calendar, mail, file, …"},
    {"anchor", FLAG_TEXT, "anchor", "A", "which one at its source: then it is there only once"},
    {"media", FLAG_TEXT, "media", "M", "what sort of content it is: text/plain"},
    {.name = NULL},
};

static const struct flag tombstone_flags[] = {
    {"erase", FLAG_SWITCH, "erase", "", "erase it too: its content is removed everywhere"},
    {"reason", FLAG_TEXT, "reason", "TEXT", "why"},
    {"if-version", FLAG_TEXT, "if_version", "ID", "only if this is still its version"},
    {.name = NULL},
};

static const struct flag get_flags[] = {
    {"out", FLAG_TEXT, "out", "FILE|-", "write it there (-, the standard output)"},
    {.name = NULL},
};

static const struct flag entity_add_flags[] = {
    {"type", FLAG_TEXT, "type", "T", "what sort it is: person, place, …"},
    {"key", FLAG_TEXT, "key", "TEXT", "the same key and content again are the same record"},
    {.name = NULL},
};

static const struct flag entity_split_flags[] = {
    {"alias", FLAG_TEXTS, "alias", "NAME", "a name that goes; may be repeated"},
    {"if-version", FLAG_TEXT, "if_version", "ID", "only if this is still its version"},
    {.name = NULL},
};

static const struct flag claim_add_flags[] = {
    {"subject", FLAG_TEXT, "subject", "S", "whom or what it is about, …"},
    {"predicate", FLAG_TEXT, "predicate", "P", "… what of it is claimed, …"},
    {"object", FLAG_TEXT, "object", "O", "… and what that is"},
    {"text", FLAG_TEXT, "text", "T", "or all of it in a sentence"},
    {"domain", FLAG_TEXT, "domain", "D", "the field it belongs to"},
    {"confidence", FLAG_JSON, "confidence", "PPM", "of a million; or a map of such numbers"},
    {"support", FLAG_TEXTS, "supports", "ID", "what it rests on; may be repeated"},
    {"by", FLAG_TEXT, "created_by", "WHO", "who or what has found it out"},
    {"key", FLAG_TEXT, "key", "TEXT", "the same key and content again are the same record"},
    {.name = NULL},
};

static const struct flag assert_flags[] = {
    {"hash", FLAG_TEXT, "hash", "HASH", "of the op that is meant, where several have its id"},
    {"if-version", FLAG_TEXT, "if_version", "ID", "only if this is still its version"},
    {.name = NULL},
};

static const struct flag undo_flags[] = {
    {"undo", FLAG_SWITCH, "undo", "", "take it back"},
    {"if-version", FLAG_TEXT, "if_version", "ID", "only if this is still its version"},
    {.name = NULL},
};

static const struct flag episode_add_flags[] = {
    {"support", FLAG_TEXTS, "supports", "ID", "what it rests on; may be repeated"},
    {"key", FLAG_TEXT, "key", "TEXT", "the same key and content again are the same record"},
    {.name = NULL},
};

static const struct flag action_add_flags[] = {
    {"type", FLAG_TEXT, "type", "T", "what sort it is: mail.reply"},
    {"support", FLAG_TEXTS, "supports", "ID", "what it rests on; may be repeated"},
    {"key", FLAG_TEXT, "key", "TEXT", "the same key and content again are the same record"},
    {.name = NULL},
};

static const struct flag artifact_add_flags[] = {
    {"media", FLAG_TEXT, "media", "M", "what sort of content it is: image/png"},
    {"support", FLAG_TEXTS, "supports", "ID", "what it rests on; may be repeated"},
    {"key", FLAG_TEXT, "key", "TEXT", "the same key and content again are the same record"},
    {.name = NULL},
};

static const struct flag check_flags[] = {
    {"invocation", FLAG_TEXT, "invocation", "T", "the invocation"},
    {"proof", FLAG_TEXTS, "proofs", "T", "a delegation, in any order; may be repeated"},
    {"time", FLAG_TEXT, "time", "UNIX", "the time it is checked for (now)"},
    {"revoked", FLAG_TEXTS, "revoked", "CID", "a token that does not count; may be repeated"},
    {.name = NULL},
};

static const struct flag mint_flags[] = {
    {"key", FLAG_TEXT, "key", "FILE", "who signs: node.key, root.key, or a seed in hex"},
    {"aud", FLAG_TEXT, "aud", "DID", "for whom it is"},
    {"sub", FLAG_TEXT, "sub", "DID|null", "whose power it is; null: all that the signer is given"},
    {"cmd", FLAG_TEXT, "cmd", "C", "what may be done, or shall be: /claim/create"},
    {"policy", FLAG_TREE, "policy", "JSON", "what must hold for the arguments ([])"},
    {"nbf", FLAG_TEXT, "nbf", "UNIX", "from when on it holds (ever since)"},
    {"exp", FLAG_TEXT, "exp", "UNIX|null", "until when it holds (null: without end)"},
    {"meta", FLAG_TREE, "meta", "JSON", "an object that says more"},
    {"invocation", FLAG_SWITCH, "invocation", "", "make an invocation instead"},
    {"args", FLAG_TREE, "args", "JSON", "its arguments: an object ({})"},
    {"proof", FLAG_TEXTS, "proofs", "T", "a delegation that proves it, the root first"},
    {"out", FLAG_TEXT, "out", "FILE", "write it there too, in base64"},
    {.name = NULL},
};

static const struct flag policy_flags[] = {
    {"policy", FLAG_TREE, "policy", "JSON", "the statements, an array"},
    {"args", FLAG_TREE, "args", "JSON", "what they shall hold for"},
    {.name = NULL},
};

static const struct flag bench_flags[] = {
    {"ops", FLAG_COUNT, "ops", "N", "size of the test log (200000)"},
    {"only", FLAG_TEXT, "only", "NAME,…", "only these figures"},
    {.name = NULL},
};

#define KIND_LINE(name, number) "  " #name "\n"

const struct command commands[] = {
    {.name = "init",
     .summary = "Make a new store, and with it a new mesh unless one is named.",
     .usage = "init [--name TEXT] [--passphrase | --passphrase-file FILE]\n"
              "init --mesh DID [--root FILE|-] [--name TEXT] …",
     .flags = init_flags,
     .notes = "Without --mesh a root key is made. It delegates everything to this node, and the\n"
              "log begins with that delegation. With --mesh this node waits to be admitted,\n"
              "unless the mesh's root is brought along with --root: as a file that `root export`\n"
              "wrote, or with - as a code from standard input.\n"
              "A passphrase seals node.key and root.key; commands that sign then ask for it, or\n"
              "take it from --passphrase-file or $MESHLOG_PASSPHRASE_FILE. Reading needs none.\n"
              "The folder may be there already if it is empty.",
     .examples = "meshlog init --name laptop --passphrase\n"
                 "meshlog --store ./second init --mesh did:key:z6Mk…",
     .needs_store = true,
     .run = run_init,
     .print = print_init},
    {.name = "append",
     .summary = "Append ops to this node's log. An op that is printed is safe on the disk.",
     .usage = "append KIND --payload JSON|@FILE|- [--dep ID]…\n"
              "append --batch < LINES",
     .params = {"kind"},
     .flags = append_flags,
     .notes =
         "Prints the id of the op. Payloads hold no fractions (scale them) and no keys named op\n"
         "or target. Bytes are {\"/\":{\"bytes\":\"<base64>\"}}, links {\"/\":\"<cid>\"}; ids, "
         "hashes and\n"
         "CIDs that name what an op is about may stand as they are shown.\n\n"
         "A line of a batch is {\"kind\":…,\"payload\":{…},\"deps\":[…],\"ref\":…}; deps and ref "
         "may\n"
         "be left out, ref comes back with the result. Prints an id for each line once it is\n"
         "safe, or `error CODE`; a refused line does not stop the others.\n\n"
         "Kinds:\n" KIND_TABLE(KIND_LINE),
     .examples = "meshlog append CreateClaim --payload '{\"text\":\"The shop opens at nine.\"}'\n"
                 "meshlog append CreateClaim --payload @claim.json --dep 01J9ZC4V5M\n"
                 "echo '{\"kind\":\"CreateEntity\",\"payload\":{\"name\":\"Ada\"}}' | meshlog "
                 "append --batch",
     .needs_store = true,
     .run = run_append,
     .print = print_append},
    {.name = "log",
     .summary = "List ops in the order of the mesh, the newest last.",
     .usage = "log [--author DID] [--kind KIND] [--since ID] [--until ID] [--limit N] [--follow]",
     .flags = log_flags,
     .notes =
         "--limit shows the last N of those that match, still with the newest last. Ops dated\n"
         "in the future stand at the end, pending, until their time comes.",
     .examples = "meshlog log --limit 20\n"
                 "meshlog log --kind CreateClaim --since 01J9ZC4V5M\n"
                 "meshlog --json log --follow",
     .needs_store = true,
     .run = run_log,
     .print = print_log},
    {.name = "show",
     .summary = "Show one op.",
     .usage = "show ID",
     .params = {"id"},
     .required = 1,
     .notes = "The first 6 or more letters of the id are enough if no other begins with them.",
     .examples = "meshlog show 01J9ZC4V5M\n"
                 "meshlog --json show 01J9ZC4V5MQ0W2X8K3R7T6Y5PA",
     .needs_store = true,
     .run = run_show,
     .print = print_show},
    {.name = "frontier",
     .summary = "Show how far each author's ops are here.",
     .usage = "frontier",
     .notes = "`log` is a hash over all heads: equal on two nodes that have the same ops.",
     .examples = "meshlog frontier\n"
                 "meshlog --json frontier",
     .needs_store = true,
     .run = run_frontier,
     .print = print_frontier},
    {.name = "verify",
     .summary = "Read the whole store back and check every op.",
     .usage = "verify",
     .notes =
         "Names each damaged op, and then ends with exit code 1. `meshlog repair` is what to do "
         "then.",
     .examples = "meshlog verify",
     .needs_store = true,
     .run = run_verify,
     .print = print_verify},
    {.name = "export",
     .summary = "Write the ops of the store into a bundle: one file, for a stick or a pipe.",
     .usage = "export FILE|- [--author DID]",
     .params = {"file"},
     .required = 1,
     .flags = export_flags,
     .notes =
         "FILE appears when it is whole; one that is there is not replaced. With - the bundle "
         "goes to\n"
         "the standard output, and what else there is to say to the standard error, JSON too.\n"
         "Ops dated in the future that wait for their time are left out.",
     .examples = "meshlog export monday.bundle\n"
                 "meshlog export - | ssh host meshlog import -",
     .needs_store = true,
     .run = run_export,
     .print = print_export},
    {.name = "import",
     .summary = "Take the ops of a bundle into the store. Those that are here are skipped.",
     .usage = "import FILE|-",
     .params = {"file"},
     .required = 1,
     .notes =
         "Every op is checked. At the first fault it ends with exit code 1; what came whole "
         "before\n"
         "that is kept and counted, and importing a good copy adds the rest. Where rows of the "
         "log\n"
         "are damaged, ops that the bundle has are written anew; other damage is for `meshlog "
         "repair`.",
     .examples = "meshlog import monday.bundle\n"
                 "ssh host meshlog export - | meshlog import -",
     .needs_store = true,
     .run = run_import,
     .print = print_import},
    {.name = "repair",
     .summary = "Build a damaged store anew, from what can be read of it and from bundles.",
     .usage = "repair [BUNDLE|-]…",
     .params = {"files"},
     .repeats = true,
     .notes =
         "Whatever is damaged, this is the command for it: it reads every op that is left, adds "
         "those\n"
         "of the bundles, checks all of them, and puts the new data.mdb into the place of the "
         "old\n"
         "one, which is kept beside it. Keys stay as they are. A store that is whole is left "
         "alone.\n\n"
         "An op that is lost takes those after it by the same author along, unless a bundle has "
         "it:\n"
         "give all that there are, `meshlog export` makes them on any node of the mesh. What is "
         "still\n"
         "missing is told, and can be imported later. The damaged file may hold bytes that were "
         "erased:\n"
         "delete it when all is well.\n"
         "If neither helps, restore a backup.",
     .examples = "meshlog repair\n"
                 "meshlog repair monday.bundle /media/stick/tuesday.bundle\n"
                 "ssh host meshlog export - | meshlog repair -",
     .needs_store = true,
     .run = run_repair,
     .print = print_repair},
    {.name = "root",
     .summary = "Keep the mesh's root key off this device, and bring it back.",
     .usage = "root export FILE [--remove] [--passphrase-file FILE]\n"
              "root export --code | --qr\n"
              "root import FILE\n"
              "root import --code < CODE",
     .params = {"action", "file"},
     .required = 1,
     .flags = root_flags,
     .notes =
         "The root admits and revokes devices: whoever has its key owns the mesh, and if it is\n"
         "lost, nobody can. The file is always sealed with a passphrase: the one in\n"
         "--passphrase-file, else you are asked for a new one. With --remove, root.key is\n"
         "taken away once the file was read back; from then on only that file has the root.\n\n"
         "The code is 14 groups of 5 letters, for paper. It has no passphrase. Capital or\n"
         "small, with or without dashes: `root import --code` takes it as it is typed.",
     .examples = "meshlog root export /media/stick/root.key --remove\n"
                 "meshlog root import /media/stick/root.key\n"
                 "meshlog root export --qr",
     .needs_store = true,
     .run = run_root,
     .print = print_root},
    {.name = "nodes",
     .summary = "List the nodes of the mesh, and which of them may write.",
     .usage = "nodes [--at UNIX]",
     .flags = at_flags,
     .notes =
         "Active: a token allows what it would write now. Suspended: only outside the time that\n"
         "its tokens are for. Revoked: no longer. Pending: nobody has admitted it yet, or it has\n"
         "written nothing yet. An owner may set the rules of the mesh. The name is what the node\n"
         "calls itself.",
     .examples = "meshlog nodes\n"
                 "meshlog --json nodes --at 1767225600",
     .needs_store = true,
     .run = run_nodes,
     .print = print_nodes},
    {.name = "grants",
     .summary = "List the tokens that are for a node: what it may do, and for how long.",
     .usage = "grants NODE [--at UNIX]",
     .params = {"node"},
     .required = 1,
     .flags = at_flags,
     .notes = "NODE is a did:key, the first letters of one, or the name of a node.",
     .examples = "meshlog grants phone\n"
                 "meshlog --json grants did:key:z6MkhaXg",
     .needs_store = true,
     .run = run_grants,
     .print = print_grants},
    {.name = "delegate",
     .summary = "Admit a device, or allow it more: sign a token for it.",
     .usage = "delegate DID --cmd COMMAND [--policy JSON] [--expires WHEN] [--out FILE] …\n"
              "delegate --renew CID [--expires WHEN] …",
     .params = {"did"},
     .flags = delegate_flags,
     .notes =
         "DID is what `init --mesh` shows on the new device. There `accept FILE` takes the token\n"
         "that --out wrote. Nobody can pass on more than they may themselves.\n\n"
         "A token ends after 90 days, or with those above it, unless --expires says otherwise; "
         "ops\n"
         "dated outside its time do not count. --renew makes one with the same content that ends\n"
         "later: ops written in between count then too. Without --not-before a token covers older\n"
         "ops as well, also those that a revocation has voided.\n\n"
         "Commands are paths; one covers those below it: / (everything), /claim, /claim/create,\n"
         "/evidence, /entity, /assert, /job/claim, /read/claim, … A policy looks at the op's\n"
         "content, at .op (kind, time, author) and at .target, what it is about. Unless\n"
         "--delegable, [\"==\",\".op.author\",DID] is added: the node may not pass it on.",
     .examples = "meshlog delegate did:key:z6Mk… --cmd / --out phone.token\n"
                 "meshlog delegate did:key:z6Mk… --cmd /job --expires 1y --as root\n"
                 "meshlog delegate did:key:z6Mk… --cmd /evidence --policy "
                 "'[[\"==\",\".source_type\",\"calendar\"]]'\n"
                 "meshlog delegate --renew bafy… --expires 1y",
     .needs_store = true,
     .run = run_delegate,
     .print = print_delegate},
    {.name = "accept",
     .summary = "Join the mesh on a new device, with the token that was made for it.",
     .usage = "accept FILE",
     .params = {"file"},
     .required = 1,
     .notes =
         "After `init --mesh DID` here and `delegate` of the shown name elsewhere. Writes this\n"
         "node's first op, which carries the token; `export` then brings it to the others.",
     .examples = "meshlog init --mesh did:key:z6Mk… --name phone\n"
                 "meshlog accept phone.token",
     .needs_store = true,
     .run = run_accept,
     .print = print_accept},
    {.name = "revoke",
     .summary = "Take a device's tokens back, all of them or one.",
     .usage = "revoke NODE|CID [--keep-through now|HASH,… | --void-all] [--as node|root] "
              "[--dry-run]",
     .params = {"target"},
     .required = 1,
     .flags = revoke_flags,
     .notes =
         "What the device wrote until now, as far as it is here, stays; what it writes from now\n"
         "on is void, and so is what comes late. --keep-through names other last ops that stay,\n"
         "those before them included. --void-all keeps nothing. It also holds for the devices\n"
         "that it has let in. --dry-run shows what would change, and writes nothing.\n\n"
         "NODE is a did:key, the first letters of one, or a name. Whoever issued a token can\n"
         "revoke it; owners those that the root did not issue; the root each. To admit the\n"
         "device again, `delegate` to it anew.",
     .examples = "meshlog revoke phone --dry-run\n"
                 "meshlog revoke phone --as root --root /media/stick/root.key\n"
                 "meshlog revoke bafy… --void-all",
     .needs_store = true,
     .run = run_revoke,
     .print = print_revoke},
    {.name = "seal",
     .summary = "Close the tokens of this node that have ended, so that nobody dates an op back.",
     .usage = "seal",
     .notes = "A day after its end a token that was not renewed is revoked. What is here by then\n"
              "stays. Only tokens that this node has issued; run it now and then.",
     .examples = "meshlog seal",
     .needs_store = true,
     .run = run_seal,
     .print = print_seal},
    {.name = "why",
     .summary = "Say why a record is what it is, or why an op counts or not.",
     .usage = "why ID [--as-of ID]",
     .params = {"id"},
     .required = 1,
     .flags = as_of_flags,
     .notes =
         "Of a record: what it says, who made it and who allowed that, on what it rests, what\n"
         "changed it and why, and what rests on it. Of an op: its verdict, what is in its way\n"
         "if it is refused, and which records it changed.\n"
         "The first 6 or more letters of the id are enough if no other begins with them.",
     .examples = "meshlog why 01J9ZC4V5M\n"
                 "meshlog why 01J9ZC4V5M --as-of 01J9ZD0000\n"
                 "meshlog --json why 01J9ZC4V5MQ0W2X8K3R7T6Y5PA",
     .needs_store = true,
     .run = run_why,
     .print = print_why},
    {.name = "claim list",
     .summary = "List claims.",
     .usage = "claim list [--status S] [--subject S] [--predicate P] [--as-of ID]",
     .flags = claim_list_flags,
     .examples = "meshlog claim list --status Fact\n"
                 "meshlog claim list --subject Ada --predicate 'lives in'",
     .needs_store = true,
     .run = run_claim_list,
     .print = print_claims},
    {.name = "claim show",
     .summary = "Show one claim.",
     .usage = "claim show ID [--as-of ID]",
     .params = {"id"},
     .required = 1,
     .flags = as_of_flags,
     .notes = "`meshlog why` says how it came to be what it is.",
     .examples = "meshlog claim show 01J9ZC4V5M",
     .needs_store = true,
     .run = run_claim_show,
     .print = print_claim},
    {.name = "entity show",
     .summary = "Show an entity: its names, what is merged with it, and the claims about it.",
     .usage = "entity show ID|NAME [--as-of ID]",
     .params = {"id"},
     .required = 1,
     .flags = as_of_flags,
     .notes = "A name leads to the entity that has it now, through merges and splits. Claims are\n"
              "those whose subject is one of its names, its id, or the id of one that is merged\n"
              "into it.",
     .examples = "meshlog entity show Ada\n"
                 "meshlog entity show 01J9ZC4V5M",
     .needs_store = true,
     .run = run_entity_show,
     .print = print_entity},
    {.name = "records",
     .summary = "List records of any type.",
     .usage = "records [--type T] [--status S] [--as-of ID]",
     .flags = records_flags,
     .examples = "meshlog records --type evidence --status Tombstoned\n"
                 "meshlog records --as-of 01J9ZC4V5M",
     .needs_store = true,
     .run = run_records,
     .print = print_records},
    {.name = "graph",
     .summary = "Show what rests on what, of all records or around one.",
     .usage = "graph [ID] [--format json|dot] [--as-of ID]",
     .params = {"id"},
     .flags = graph_flags,
     .notes = "With ID: that record, all that it rests on, and all that rests on it.",
     .examples = "meshlog graph 01J9ZC4V5M --format dot | dot -Tsvg > graph.svg\n"
                 "meshlog --json graph",
     .needs_store = true,
     .run = run_graph,
     .print = print_graph},
    {.name = "rules",
     .summary = "Show the rules of the mesh.",
     .usage = "rules [--as-of ID]",
     .flags = as_of_flags,
     .examples = "meshlog rules",
     .needs_store = true,
     .run = run_rules,
     .print = print_rules},
    {.name = "digest",
     .summary = "Show a hash over all records: equal on all nodes that have the same ops.",
     .usage = "digest [--as-of ID]",
     .flags = as_of_flags,
     .examples = "meshlog digest\n"
                 "meshlog digest --as-of 01J9ZC4V5M",
     .needs_store = true,
     .run = run_digest,
     .print = print_digest},
    {.name = "rebuild",
     .summary = "Make all records anew from the log. They come out the same, or else it is told.",
     .usage = "rebuild",
     .notes = "Needs no key, and signs nothing. Readers see the old records until it is done.",
     .examples = "meshlog rebuild",
     .needs_store = true,
     .run = run_rebuild,
     .print = print_rebuild},
    {.name = "job schedule",
     .summary = "Schedule a job: work that any node that may claims, one at a time.",
     .usage = "job schedule KIND [--payload JSON] [--lease DURATION] [--key K] [--dep ID]… …",
     .params = {"kind"},
     .required = 1,
     .flags = job_schedule_flags,
     .notes = "KIND says what sort of work it is: workers claim by it, and RouteKind can give a "
              "kind to\n"
              "one node. With --key a second call is no second job: it prints the first one's id.\n"
              "A claim holds the job until its lease ends; whoever works on renews it in time.",
     .examples = "meshlog job schedule video.render --payload '{\"file\":\"a.mp4\"}' --lease 1h\n"
                 "meshlog job schedule mail.send --payload @mail.json --key mail-2026-01-31",
     .needs_store = true,
     .run = run_job_schedule,
     .print = print_job_schedule},
    {.name = "job claim",
     .summary = "Take a job for this node, until a lease ends.",
     .usage = "job claim (ID | --kind GLOB) [--lease DURATION]",
     .params = {"id"},
     .flags = job_claim_flags,
     .notes =
         "A job that another node holds is not to be had before its lease has ended. With --kind\n"
         "it is the oldest job that this node may have; if there is none, it ends with the error\n"
         "none. Each claim that is had is one attempt. Nodes that cannot reach each other may "
         "claim\n"
         "the same job: when they meet, the earlier claim holds it, and one commit counts.",
     .examples = "meshlog job claim 01J9ZC4V5M --lease 30m\n"
                 "meshlog --json job claim --kind 'video.*'",
     .needs_store = true,
     .run = run_job_claim,
     .print = print_job_claim},
    {.name = "job renew",
     .summary = "Hold a job for longer: its lease begins anew.",
     .usage = "job renew ID [--lease DURATION]",
     .params = {"id"},
     .required = 1,
     .flags = job_renew_flags,
     .examples = "meshlog job renew 01J9ZC4V5M --lease 1h",
     .needs_store = true,
     .run = run_job_renew,
     .print = print_job_work},
    {.name = "job start",
     .summary = "Say that work on a job has begun.",
     .usage = "job start ID",
     .params = {"id"},
     .required = 1,
     .flags = job_work_flags,
     .examples = "meshlog job start 01J9ZC4V5M",
     .needs_store = true,
     .run = run_job_start,
     .print = print_job_work},
    {.name = "job commit",
     .summary = "Say what came of the work. One commit of a job counts, the first.",
     .usage = "job commit ID [--output JSON|@FILE|-]",
     .params = {"id"},
     .required = 1,
     .flags = job_output_flags,
     .notes = "A commit counts only within the lease of its own claim. The job is Completed when\n"
              "`job complete` has said so; until then nobody else can claim it.",
     .examples = "meshlog job commit 01J9ZC4V5M --output '{\"frames\":1440}'",
     .needs_store = true,
     .run = run_job_commit,
     .print = print_job_work},
    {.name = "job complete",
     .summary = "Complete a job: commit the work on it, unless that was done.",
     .usage = "job complete ID [--output JSON|@FILE|-]",
     .params = {"id"},
     .required = 1,
     .flags = job_output_flags,
     .notes = "Where a commit counts already, any node that may can complete the job.",
     .examples = "meshlog job complete 01J9ZC4V5M --output '{\"frames\":1440}'",
     .needs_store = true,
     .run = run_job_complete,
     .print = print_job_work},
    {.name = "job yield",
     .summary = "Give a job back before its lease ends.",
     .usage = "job yield ID [--reason TEXT]",
     .params = {"id"},
     .required = 1,
     .flags = job_yield_flags,
     .examples = "meshlog job yield 01J9ZC4V5M --reason 'going to sleep'",
     .needs_store = true,
     .run = run_job_yield,
     .print = print_job_work},
    {.name = "job expire",
     .summary = "Take a job from a node that has let its lease end.",
     .usage = "job expire ID",
     .params = {"id"},
     .required = 1,
     .flags = job_work_flags,
     .notes = "The job is Pending again. A claim does the same on its way, so this is only to tidy "
              "up.",
     .examples = "meshlog job list --overdue\n"
                 "meshlog job expire 01J9ZC4V5M",
     .needs_store = true,
     .run = run_job_expire,
     .print = print_job_work},
    {.name = "job fail",
     .summary = "Say that an attempt at a job has failed.",
     .usage = "job fail ID [--error TEXT] [--final]",
     .params = {"id"},
     .required = 1,
     .flags = job_fail_flags,
     .notes = "The job is Pending again while it has attempts left, and --final is not given; else "
              "Failed.",
     .examples = "meshlog job fail 01J9ZC4V5M --error 'no space left'",
     .needs_store = true,
     .run = run_job_fail,
     .print = print_job_work},
    {.name = "job cancel",
     .summary = "Cancel a job of which no work counts yet.",
     .usage = "job cancel ID [--reason TEXT]",
     .params = {"id"},
     .required = 1,
     .flags = job_cancel_flags,
     .examples = "meshlog job cancel 01J9ZC4V5M --reason 'not needed any more'",
     .needs_store = true,
     .run = run_job_cancel,
     .print = print_job_work},
    {.name = "job list",
     .summary = "List jobs, the oldest first.",
     .usage = "job list [--state S] [--kind GLOB] [--overdue] [--for NODE] [--as-of ID]",
     .flags = job_list_flags,
     .examples = "meshlog job list --state Pending --kind 'video.*'\n"
                 "meshlog --json job list --overdue\n"
                 "meshlog job list --for workstation",
     .needs_store = true,
     .run = run_job_list,
     .print = print_job_list},
    {.name = "job show",
     .summary = "Show a job, what came of it, and every attempt at it.",
     .usage = "job show ID [--as-of ID]",
     .params = {"id"},
     .required = 1,
     .flags = job_show_flags,
     .notes = "The first 6 or more letters of the id are enough if no other record has them.",
     .examples = "meshlog job show 01J9ZC4V5M",
     .needs_store = true,
     .run = run_job_show,
     .print = print_job_show},
    {.name = "backup",
     .summary = "Copy the store into a new folder, also while it is being written to.",
     .usage = "backup DIR",
     .params = {"dir"},
     .required = 1,
     .notes =
         "DIR is new or empty, best on another disk. The copy is the log as it was at one moment;\n"
         "DIR is there whole or not at all. It holds data.mdb, blobs and no keys: `log`, `verify` "
         "and\n"
         "`export` work on it with --store DIR, but nothing can be appended there.\n\n"
         "To restore: while nothing uses the store, copy data.mdb and blobs from the backup into "
         "the "
         "store's\n"
         "folder, beside the keys that are there, and run `verify`. Ops made after the backup "
         "come\n"
         "back from a bundle (`import`) or from other nodes; then the next op joins both "
         "branches.\n"
         "node.key stays on its device: never copy it to another, nor run one node in two places.\n"
         "What is erased from the store lives on in older backups until these are deleted.",
     .examples = "meshlog backup /media/disk/log-2026-01-31\n"
                 "meshlog --store /media/disk/log-2026-01-31 verify\n"
                 "cp -r /media/disk/log-2026-01-31/{data.mdb,blobs} ~/.local/share/meshlog/",
     .needs_store = true,
     .run = run_backup,
     .print = print_backup},
    {.name = "compact",
     .summary = "Take what was erased out of the store's file for good.",
     .usage = "compact [--final]",
     .flags = compact_flags,
     .notes = "An op that an Erase names is void at once, but keeps its content here for seven "
              "days, so\n"
              "that what a stolen device erased can still be saved. Afterwards compact removes it; "
              "with\n"
              "--final it does not wait. Ops keep their place and their hashes.\n"
              "Other programs may read the store meanwhile. Backups and exported bundles are not "
              "touched.",
     .examples = "meshlog compact\n"
                 "meshlog compact --final",
     .needs_store = true,
     .run = run_compact,
     .print = print_compact},
    {.name = "evidence add",
     .summary = "Take content into the store, as something that claims can rest on.",
     .usage = "evidence add FILE|- --type T [--anchor A] [--media M]",
     .params = {"file"},
     .required = 1,
     .flags = evidence_add_flags,
     .notes = "The file is copied into the store and named by its hash; the same content is kept "
              "once. With\n"
              "--anchor, the same content from the same place again is the same evidence.\n"
              "Bundles do not carry content: it stays on this device.",
     .examples =
         "meshlog evidence add talk.txt --type transcript\n"
         "curl -s https://example.org/a.ics | meshlog evidence add - --type calendar --anchor a",
     .needs_store = true,
     .run = run_evidence_add,
     .print = print_act},
    {.name = "evidence tombstone",
     .summary = "Say that evidence does not count any more; what rests on it goes stale.",
     .usage = "evidence tombstone ID [--erase] [--reason TEXT]",
     .params = {"id"},
     .required = 1,
     .flags = tombstone_flags,
     .notes =
         "With --erase the ops that made it are void on every device, and its content goes: "
         "after seven\n"
         "days by `meshlog compact`, or at once with `compact --final`. What is erased never was "
         "there:\nwhat rests on it was stale from the start, and what you confirmed since then "
         "is a Fact on\nyour word alone. Reject that if it should fall too.",
     .examples = "meshlog evidence tombstone 01J9ZC4V5M\n"
                 "meshlog evidence tombstone 01J9ZC4V5M --erase",
     .needs_store = true,
     .run = run_evidence_tombstone,
     .print = print_act},
    {.name = "evidence get",
     .summary = "Give the content of evidence, or of an artifact.",
     .usage = "evidence get ID [--out FILE|-]",
     .params = {"id"},
     .required = 1,
     .flags = get_flags,
     .notes = "All of it is checked against its hash before any of it is given. A FILE that is "
              "there is not\n"
              "replaced.",
     .examples = "meshlog evidence get 01J9ZC4V5M > talk.txt\n"
                 "meshlog evidence get 01J9ZC4V5M --out talk.txt",
     .needs_store = true,
     .run = run_evidence_get,
     .print = print_evidence_get},
    {.name = "entity add",
     .summary = "Give somebody or something a record, so that claims agree whom they mean.",
     .usage = "entity add NAME [--type T] [--key TEXT]",
     .params = {"name"},
     .required = 1,
     .flags = entity_add_flags,
     .examples = "meshlog entity add 'Ada Lovelace' --type person",
     .needs_store = true,
     .run = run_entity_add,
     .print = print_act},
    {.name = "entity alias",
     .summary = "Give an entity one more name.",
     .usage = "entity alias ID NAME",
     .params = {"id", "name"},
     .required = 2,
     .flags = version_flags,
     .examples = "meshlog entity alias 01J9ZC4V5M Ada",
     .needs_store = true,
     .run = run_entity_alias,
     .print = print_act},
    {.name = "entity merge",
     .summary = "Say that two entities are one.",
     .usage = "entity merge ID INTO",
     .params = {"id", "into"},
     .required = 2,
     .flags = version_flags,
     .examples = "meshlog entity merge 01J9ZC4V5M 01J9ZC4V6P",
     .needs_store = true,
     .run = run_entity_merge,
     .print = print_act},
    {.name = "entity split",
     .summary = "Say that some of the names of an entity are another one's.",
     .usage = "entity split ID --alias NAME…",
     .params = {"id", "names"},
     .required = 1,
     .repeats = true,
     .flags = entity_split_flags,
     .examples = "meshlog entity split 01J9ZC4V5M --alias Countess --alias Augusta",
     .needs_store = true,
     .run = run_entity_split,
     .print = print_act},
    {.name = "claim add",
     .summary = "Claim something.",
     .usage = "claim add --subject S --predicate P --object O [--support ID]… …\n"
              "claim add --text T [--domain D] [--support ID]… …",
     .flags = claim_add_flags,
     .notes =
         "It begins as a Claim, or as a Hint where its confidence is below the threshold of the "
         "mesh, and\n"
         "is Stale from the start where what it rests on does not count. Only a user makes it a "
         "Fact.\n"
         "With --key it can be repeated: what is there already is told, and nothing is written.",
     .examples =
         "meshlog claim add --subject Ada --predicate born --object 1815 --support 01J9ZC4V5M\n"
         "meshlog claim add --text 'The shop opens at nine.' --confidence 800000",
     .needs_store = true,
     .run = run_claim_add,
     .print = print_act},
    {.name = "claim confirm",
     .summary = "Say that a claim is true: then it is a Fact, and only a user can change that.",
     .usage = "claim confirm ID",
     .params = {"id"},
     .required = 1,
     .flags = assert_flags,
     .notes = "An episode becomes Active by it, an action Approved. A claim whose author has lost "
              "its rights\n"
              "stands on yours from then on.",
     .examples = "meshlog claim confirm 01J9ZC4V5M",
     .needs_store = true,
     .run = run_claim_confirm,
     .print = print_act},
    {.name = "claim reject",
     .summary = "Say that a claim is false; what rests on it goes stale.",
     .usage = "claim reject ID",
     .params = {"id"},
     .required = 1,
     .flags = assert_flags,
     .examples = "meshlog claim reject 01J9ZC4V5M",
     .needs_store = true,
     .run = run_claim_reject,
     .print = print_act},
    {.name = "claim pin",
     .summary = "Keep machines from changing a claim.",
     .usage = "claim pin ID [--undo]",
     .params = {"id"},
     .required = 1,
     .flags = undo_flags,
     .examples = "meshlog claim pin 01J9ZC4V5M",
     .needs_store = true,
     .run = run_claim_pin,
     .print = print_act},
    {.name = "claim hide",
     .summary = "Have a claim, or any other record, out of sight.",
     .usage = "claim hide ID [--undo]",
     .params = {"id"},
     .required = 1,
     .flags = undo_flags,
     .examples = "meshlog claim hide 01J9ZC4V5M",
     .needs_store = true,
     .run = run_claim_hide,
     .print = print_act},
    {.name = "claim edit",
     .summary = "Put another value in the place of a claim's: a new Fact that supersedes it.",
     .usage = "claim edit ID VALUE",
     .params = {"id", "value"},
     .required = 2,
     .flags = version_flags,
     .examples = "meshlog claim edit 01J9ZC4V5M 1815-12-10",
     .needs_store = true,
     .run = run_claim_edit,
     .print = print_act},
    {.name = "claim supersede",
     .summary = "Say that another claim takes the place of one.",
     .usage = "claim supersede ID BY",
     .params = {"id", "by"},
     .required = 2,
     .flags = version_flags,
     .examples = "meshlog claim supersede 01J9ZC4V5M 01J9ZC4V6P",
     .needs_store = true,
     .run = run_claim_supersede,
     .print = print_act},
    {.name = "claim lane",
     .summary =
         "Say what machines may claim of the same subject and predicate, or in the same domain.",
     .usage = "claim lane ID block|confirm|allow",
     .params = {"id", "value"},
     .required = 2,
     .flags = version_flags,
     .notes = "block: nothing any more. confirm: only what waits as a Hint for the user. allow: as "
              "ever.",
     .examples = "meshlog claim lane 01J9ZC4V5M confirm",
     .needs_store = true,
     .run = run_claim_lane,
     .print = print_act},
    {.name = "claim status",
     .summary = "Raise a hint to a claim, or say that a claim is disputed.",
     .usage = "claim status ID Claim|Disputed",
     .params = {"id", "status"},
     .required = 2,
     .flags = version_flags,
     .examples = "meshlog claim status 01J9ZC4V5M Disputed",
     .needs_store = true,
     .run = run_claim_status,
     .print = print_act},
    {.name = "claim confidence",
     .summary = "Say how sure a claim is.",
     .usage = "claim confidence ID PPM",
     .params = {"id", "confidence"},
     .required = 2,
     .flags = version_flags,
     .notes = "PPM is of a million: 800000 are 80 percent; or a map of such numbers, of which the "
              "least counts.",
     .examples = "meshlog claim confidence 01J9ZC4V5M 800000",
     .needs_store = true,
     .run = run_claim_confidence,
     .print = print_act},
    {.name = "episode add",
     .summary = "Tell of something that happened, as claims and evidence show it.",
     .usage = "episode add TITLE [--support ID]… [--key TEXT]",
     .params = {"title"},
     .required = 1,
     .flags = episode_add_flags,
     .examples = "meshlog episode add 'Lunch with Ada' --support 01J9ZC4V5M",
     .needs_store = true,
     .run = run_episode_add,
     .print = print_act},
    {.name = "episode status",
     .summary = "Archive an episode, or bring it back.",
     .usage = "episode status ID Active|Stale|Archived",
     .params = {"id", "status"},
     .required = 2,
     .flags = version_flags,
     .examples = "meshlog episode status 01J9ZC4V5M Archived",
     .needs_store = true,
     .run = run_episode_status,
     .print = print_act},
    {.name = "episode title",
     .summary = "Give an episode another title.",
     .usage = "episode title ID TITLE",
     .params = {"id", "title"},
     .required = 2,
     .flags = version_flags,
     .examples = "meshlog episode title 01J9ZC4V5M 'Lunch'",
     .needs_store = true,
     .run = run_episode_title,
     .print = print_act},
    {.name = "action add",
     .summary = "Suggest that something be done.",
     .usage = "action add TITLE [--type T] [--support ID]… [--key TEXT]",
     .params = {"title"},
     .required = 1,
     .flags = action_add_flags,
     .notes = "Nothing is done before a user has approved it: `action status ID Approved`.",
     .examples = "meshlog action add 'Reply to Ada' --type mail.reply --support 01J9ZC4V5M",
     .needs_store = true,
     .run = run_action_add,
     .print = print_act},
    {.name = "action status",
     .summary = "Approve, dismiss or reject an action, or say how far it has come.",
     .usage = "action status ID Approved|Executing|Completed|Failed|Rejected|Dismissed|Expired",
     .params = {"id", "status"},
     .required = 2,
     .flags = version_flags,
     .examples = "meshlog action status 01J9ZC4V5M Approved",
     .needs_store = true,
     .run = run_action_status,
     .print = print_act},
    {.name = "artifact add",
     .summary = "Keep what was made of evidence and claims: a summary, a picture.",
     .usage = "artifact add TYPE [FILE|-] [--media M] [--support ID]… [--key TEXT]",
     .params = {"type", "file"},
     .required = 1,
     .flags = artifact_add_flags,
     .notes = "`evidence get` gives its content back.",
     .examples = "meshlog artifact add summary week.md --support 01J9ZC4V5M",
     .needs_store = true,
     .run = run_artifact_add,
     .print = print_act},
    {.name = "artifact evict",
     .summary = "Say that an artifact is not kept any more.",
     .usage = "artifact evict ID",
     .params = {"id"},
     .required = 1,
     .flags = version_flags,
     .examples = "meshlog artifact evict 01J9ZC4V5M",
     .needs_store = true,
     .run = run_artifact_evict,
     .print = print_act},
    {.name = "rules set",
     .summary = "Set a rule of the mesh.",
     .usage = "rules set KEY VALUE",
     .params = {"key", "value"},
     .required = 2,
     .notes = "Only owners. claim_threshold: the least confidence, of a million, of a claim that "
              "is no hint.\n"
              "max_skew, erase_grace, lease: milliseconds. Other names may be used for rules of "
              "your own.",
     .examples = "meshlog rules set claim_threshold 600000",
     .needs_store = true,
     .run = run_rules_set,
     .print = print_act},
    {.name = "coordinator",
     .summary = "Say which node settles what must be done by one alone.",
     .usage = "coordinator NODE",
     .params = {"node"},
     .required = 1,
     .notes = "NODE is a did:key, the first letters of one, or the name of a node.",
     .examples = "meshlog coordinator laptop",
     .needs_store = true,
     .run = run_coordinator,
     .print = print_act},
    {.name = "route",
     .summary = "Have jobs of a kind done by one node; without NODE, by any.",
     .usage = "route KIND [NODE]",
     .params = {"kind", "node"},
     .required = 1,
     .notes = "NODE is a did:key, the first letters of one, or the name of a node.",
     .examples = "meshlog route video.encode workstation\n"
                 "meshlog route video.encode",
     .needs_store = true,
     .run = run_route,
     .print = print_act},
    {.name = "fsm",
     .summary = "Show a state machine: what states there are, and what moves between them.",
     .usage = "fsm [NAME] [--format table|dot|mermaid]",
     .params = {"name"},
     .flags = fsm_flags,
     .notes = "Without NAME it lists the machines. What it shows is the table that the program "
              "itself\n"
              "moves by. The moves for one state and event are tried in that order, and the first "
              "whose\n"
              "guards hold is taken.",
     .examples = "meshlog fsm node\n"
                 "meshlog fsm node --format dot | dot -Tsvg > node.svg",
     .run = run_fsm,
     .print = print_fsm},
    {.name = "ucan inspect",
     .summary = "Show what a token (UCAN 1.0) says.",
     .usage = "ucan inspect T",
     .params = {"token"},
     .required = 1,
     .notes = "T is a file with the token (raw, base64 or base64url), or base64 or base64url of "
              "it.\n"
              "A wrong signature is told, and is no error here.",
     .examples = "meshlog ucan inspect laptop.token\n"
                 "meshlog --json ucan inspect glhAjm4YpBUWgEVm…",
     .run = run_ucan_inspect,
     .print = print_ucan_inspect},
    {.name = "ucan check",
     .summary = "Does a chain of delegations allow an invocation? Ends with 1 if not.",
     .usage = "ucan check --invocation T [--proof T]… [--time UNIX] [--revoked CID]…",
     .flags = check_flags,
     .notes = "T as with `ucan inspect`. The first thing that is wrong is named, and where: the "
              "number of\n"
              "a proof, the root being 0, or none for the invocation itself. Looked at in this "
              "order:\n"
              "  Malformed TooLong UnavailableProof InvalidSignature InvalidClaim Expired "
              "TooEarly\n"
              "  InvalidAudience InvalidSubject InvalidCommand MatchError Revoked",
     .examples =
         "meshlog ucan check --invocation call.token --proof root.token --proof laptop.token\n"
         "meshlog --json ucan check --invocation call.token --proof root.token --time "
         "1767225600",
     .run = run_ucan_check,
     .print = print_ucan_check},
    {.name = "ucan mint",
     .summary = "Make a token: a delegation, or an invocation.",
     .usage = "ucan mint --key FILE --aud DID --sub DID|null --cmd C [--policy JSON] …\n"
              "ucan mint --invocation --key FILE --sub DID --cmd C [--args JSON] [--proof T]… …",
     .flags = mint_flags,
     .notes = "Prints the token in base64. It does not end unless --exp says when. A passphrase is "
              "asked\n"
              "for, or taken from --passphrase-file. JSON may also be @FILE, or - for stdin.\n"
              "No store is needed, and nothing is written to a log: on the mesh, `delegate` makes "
              "tokens.",
     .examples =
         "meshlog ucan mint --key root.key --aud did:key:z6MkB… --sub did:key:z6MkA… --cmd /claim "
         "\\\n"
         "    --policy '[[\"==\",\".domain\",\"work\"]]' --exp 1767225600 --out laptop.token\n"
         "meshlog ucan mint --key laptop.key --sub did:key:z6MkA… --cmd /claim/create --invocation "
         "\\\n"
         "    --args '{\"domain\":\"work\"}' --proof laptop.token",
     .run = run_ucan_mint,
     .print = print_ucan_mint},
    {.name = "ucan policy",
     .summary = "Does a policy hold for some arguments? Ends with 1 if not.",
     .usage = "ucan policy --policy JSON --args JSON",
     .flags = policy_flags,
     .notes = "A policy is an array of statements that all must hold:\n"
              "  [\"==\", \".status\", \"draft\"]                 also != < <= > >=\n"
              "  [\"like\", \".email\", \"*@example.com\"]         * stands for any letters, \\* "
              "for itself\n"
              "  [\"and\", […]]  [\"or\", […]]  [\"not\", …]\n"
              "  [\"all\", \".to\", [\"like\", \".\", \"*.org\"]]   for each of them; also any",
     .examples = "meshlog ucan policy --policy '[[\">=\",\".age\",21]]' --args '{\"age\":35}'",
     .run = run_ucan_policy,
     .print = print_ucan_policy},
    {.name = "bench",
     .summary = "Measure this machine: how fast the log is, and how fast it could be.",
     .usage = "bench [--ops N] [--only NAME,…]",
     .flags = bench_flags,
     .notes =
         "Figures, of all that a node does:  append_batch ingest_segments fold rebuild late_op\n"
         "cascade get verify_store open bytes_per_op export backup rss_anon rss_export "
         "rss_import;\n"
         "of the log without records:  append_judged append_sync ingest_single ingest_judged\n"
         "import bytes_judged judging judge_open judge_policy rejudge. Works in a temporary "
         "folder;\n"
         "the store is not touched.",
     .examples = "meshlog bench --ops 20000\n"
                 "meshlog --json bench --only append_batch,verify_store",
     .run = run_bench,
     .print = print_bench},
    {.name = "bench-memory",
     .summary = "Measure the memory that long work takes; `bench` starts this.",
     .usage = "bench-memory DIR OPS",
     .params = {"dir", "ops"},
     .required = 2,
     .examples = "meshlog bench-memory /var/tmp/empty 100000",
     .hidden = true,
     .run = run_bench_memory,
     .print = print_json},
    {.name = "demo",
     .summary = "Show two devices at work, in a folder that is removed again.",
     .usage = "demo",
     .examples = "meshlog demo",
     .run = run_demo,
     .print = print_demo},
    {.name = "help",
     .summary = "Say what there is, or more about one command.",
     .usage = "help [COMMAND]",
     .params = {"command", "second"},
     .examples = "meshlog help append\n"
                 "meshlog help ucan mint",
     .run = run_help,
     .print = print_text},
    {.name = "version",
     .summary = "Say which version this is.",
     .usage = "version",
     .examples = "meshlog version",
     .run = run_version,
     .print = print_version},
    {.name = NULL},
};

const struct command *command_find(const char *name)
{
    for (const struct command *command = commands; command->name != NULL; command++) {
        if (strcmp(command->name, name) == 0) {
            return command;
        }
    }
    return NULL;
}

bool command_is_in(const struct command *command, const char *group)
{
    size_t len = strlen(group);
    return strncmp(command->name, group, len) == 0 && command->name[len] == ' ';
}

bool command_is_group(const char *word)
{
    const struct command *command = commands;
    while (command->name != NULL && !command_is_in(command, word)) {
        command++;
    }
    return command->name != NULL;
}

/* Keep the nearer of two names. Short words have many neighbours, so they must be nearer. */
static void consider(const char *word, const char *name, const char **best, unsigned *least)
{
    unsigned distance = text_distance(word, name);
    if (distance < *least && distance < NEAR && 2ul * distance <= strlen(name)) {
        *least = distance;
        *best = name;
    }
}

static const char *command_suggest(const char *name)
{
    const char *best = NULL;
    unsigned least = NEAR;
    for (const struct command *command = commands; command->name != NULL; command++) {
        if (!command->hidden) {
            consider(name, command->name, &best, &least);
        }
    }
    return best;
}

int command_read(struct call *call, const char *name, const struct command **out)
{
    *out = command_find(name);
    if (*out != NULL) {
        return 0;
    }
    const char *near = command_suggest(name);
    return near != NULL ? call_fail(call, ERR_USAGE, "There is no command '%s': did you mean '%s'?",
                                    name, near)
                        : call_fail(call, ERR_USAGE,
                                    "There is no command '%s': `meshlog help` lists them.", name);
}

const char *flag_suggest(const struct command *command, const char *name)
{
    const char *best = NULL;
    unsigned least = NEAR;
    const struct flag *own = command != NULL ? command->flags : NULL;
    for (const struct flag *flag = own; flag != NULL && flag->name != NULL; flag++) {
        consider(name, flag->name, &best, &least);
    }
    for (const struct flag *flag = common_flags; flag->name != NULL; flag++) {
        consider(name, flag->name, &best, &least);
    }
    return best;
}

static const struct flag *flag_in(const struct flag *flags, struct bytes name)
{
    for (const struct flag *flag = flags; flag != NULL && flag->name != NULL; flag++) {
        if (bytes_equal(name, bytes_of_text(flag->name))) {
            return flag;
        }
    }
    return NULL;
}

const struct flag *flag_find(const struct command *command, struct bytes name)
{
    const struct flag *own = flag_in(command != NULL ? command->flags : NULL, name);
    return own != NULL ? own : flag_in(common_flags, name);
}
