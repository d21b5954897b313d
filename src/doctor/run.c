/* SPDX-License-Identifier: MIT */
/* Runs of the doctor: the probe in a sandbox of each backend, and without one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "doctor/doctor.h"
#include "doctor/probe.h"
#include "os/os.h"

enum {
	RUN_TIMEOUT_MS = 5000,
	RUN_CAPTURE_BYTES = 64 << 10,
	ARGUMENT_COUNT = 2 + PROBE_FACT_COUNT + GUARANTEE_COUNT + 1,
};

static const char *const attempts[GUARANTEE_COUNT] = {
	[G_FS_WRITE] = "open a file outside for writing",
	[G_FS_READ] = "open a denied file",
	[G_FS_CARVE] = "write a read-only file inside a writable directory",
	[G_FS_REOPEN] = "read a file that is open again inside a denied directory",
	[G_PROTECT_MISSING] = "create a path that has to stay missing",
	[G_NET_OFF] = "connect to a port of the host",
	[G_NET_MANAGED] = "reach a port that no rule allows, also by the proxy",
	[G_IPC] = "find shared memory and an abstract socket of the host",
	[G_PROC] = "see or signal a process of the host",
	[G_KERNEL] = "call io_uring_setup() and keyctl()",
	[G_TREE_DEATH] = "leave a process behind in a session of its own",
};

const char *doctor_attempt(enum guarantee g)
{
	return g < GUARANTEE_COUNT ? attempts[g] : NULL;
}

static uint64_t now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- One run --------------------------------------------------------------------------------- */

struct run {
	const cordon_policy *policy;
	const cordon_policy *usual; /* by which a bwrap is trusted as well; NULL: none */
	const char *backend;	    /* NULL: by the order of the configuration */
	guarantee_set accepted;
	const char *program; /* NULL: argv[0] */
	const char *const *argv;
	const char *audit_file; /* of a managed network; NULL: it is none */
};

struct ran {
	struct outcome outcome; /* without what the session owns */
	struct str output;
};

static void hear_nothing(void *user, struct str text)
{
	(void)user;
	(void)text;
}

static int run(struct arena *a, const struct run *r, struct ran *out, struct err *e)
{
	const struct session_request in = {
		.plan = r->policy->plan,
		.host = &r->policy->host,
		/* One without a sandbox has nothing that could be trusted less for it. */
		.stands_for = r->usual && !r->usual->plan->is_unsandboxed ? r->usual->plan : NULL,
		.directory = r->policy->plan_inputs.places.cwd.p,
		.sets_pwd = true,
		.program = r->program,
		.argv = r->argv,
		.environment = os_environment(),
		.backend = r->backend,
		.accepted = r->accepted,
		.timeout_ms = RUN_TIMEOUT_MS,
		.capture_limit = RUN_CAPTURE_BYTES,
		.captures = true,
		.has_no_stdin = true,
		.is_quiet = true,
		.warn = hear_nothing,
		.trace = hear_nothing,
		.audit_file = str_of(r->audit_file ? r->audit_file : ""),
	};
	struct session *session;
	int status;

	if (session_start(a, &in, &session, e) < 0)
		return err_result(e);
	do
		status = session_step(session, -1, e);
	while (status == 0);
	if (status > 0) {
		out->outcome = *session_outcome(session);
		status = arena_copy(a, buf_str(&out->outcome.captured[0].bytes), &out->output, e);
	}
	session_done(session);
	return status < 0 ? err_result(e) : 0;
}

/* ---- The probe ---------------------------------------------------------------------------------- */

struct arguments {
	char numbers[4][24];
	const char *list[ARGUMENT_COUNT];
};

static void fill_arguments(struct arguments *args, const struct doctor_room *room,
			   guarantee_set which)
{
	const long numbers[] = { room->port, room->open_port, room->memory, (long)getpid() };
	size_t n = 0;

	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		(void)snprintf(args->numbers[i], sizeof(args->numbers[i]), "%ld", numbers[i]);
	args->list[n++] = PROBE_NAME;
	args->list[n++] = PROBE_NAME;
	args->list[n++] = room->directory;
	args->list[n++] = args->numbers[0];
	args->list[n++] = args->numbers[1];
	args->list[n++] = room->socket;
	args->list[n++] = args->numbers[2];
	args->list[n++] = args->numbers[3];
	args->list[n++] = room->born;
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if ((which & GUARANTEE_BIT(g)) && attempts[g])
			args->list[n++] = guarantee_name((enum guarantee)g);
	args->list[n] = NULL;
}

/* What the probe said about `name`; -1: nothing. */
static int find_number(struct str output, const char *name)
{
	size_t len = strlen(name);

	while (output.len) {
		struct str line = str_first(output, str_find(output, '\n'));

		if (line.len > len + 1 && str_is(str_first(line, len), name) && line.p[len] == ' ')
			return (int)strtol(line.p + len + 1, NULL, 10);
		output = str_from(output, line.len + 1);
	}
	return -1;
}

static bool is_whole(struct str output)
{
	return str_has_prefix(output, STR(PROBE_GREETING "\n")) && find_number(output, "end") == 0;
}

static void name_in_room(const struct doctor_room *room, const char *name,
			 char path[static PATH_MAX_BYTES])
{
	(void)snprintf(path, PATH_MAX_BYTES, "%s/%s", room->directory, name);
}

/*
 * The policy under which it is tried: ALL_RULES that can be asked of a backend, else only
 * what the modes can say (P19), and with a network that is off, or MANAGED. The user's
 * configuration has no say.
 */
enum { FEW_RULES = 0, ALL_RULES = 1 << 0, MANAGED = 1 << 1 };

static cordon_policy *load_probe_policy(const struct doctor_room *room, unsigned what,
					struct err *e)
{
	char host[sizeof("127.0.0.1:65535")];
	const char *const hosts[] = { host };
	char work[PATH_MAX_BYTES], carved[PATH_MAX_BYTES], missing[PATH_MAX_BYTES];
	char denied[PATH_MAX_BYTES], open[PATH_MAX_BYTES];
	char config[PATH_MAX_BYTES], system_directory[PATH_MAX_BYTES];
	const char *const writable[] = { work };
	const char *const readable[] = { carved, missing, open };
	const char *const closed[] = { denied };
	struct cordon_load_options load = { .size = sizeof(load),
					    .directory = work,
					    .config_file = config,
					    .system_directory = system_directory,
					    .profile = ":read-only",
					    .add_write = writable,
					    .add_write_count = 1 };

	name_in_room(room, "work", work);
	name_in_room(room, "work/carved", carved);
	name_in_room(room, "work/missing", missing);
	name_in_room(room, "denied", denied);
	name_in_room(room, "denied/open", open);
	name_in_room(room, "config.toml", config);
	name_in_room(room, "none", system_directory);
	if (what & MANAGED) {
		(void)snprintf(host, sizeof(host), "127.0.0.1:%u",
			       (unsigned)(uint16_t)room->open_port);
		load.network = "managed";
		load.allow_hosts = hosts;
		load.allow_host_count = COUNT_OF(hosts);
	}
	if (what & ALL_RULES) {
		load.add_read = readable;
		load.add_read_count = COUNT_OF(readable);
		load.deny = closed;
		load.deny_count = COUNT_OF(closed);
	}
	return load_new(&load, NULL, e);
}

int reason_keep(struct arena *a, const struct err *why, struct reason *out, struct err *e)
{
	out->cause = why->cause;
	return arena_copy(a, str_of(why->text), &out->text, e);
}

int doctor_control(struct arena *a, const struct doctor_room *room, struct control *out,
		   struct err *e)
{
	cordon_policy *policy = load_probe_policy(room, FEW_RULES, e);
	struct arguments args;
	struct run r = { .policy = policy,
			 .backend = backend_none.name,
			 .program = room->program,
			 .argv = args.list };
	struct ran ran = { .output = STR_EMPTY };
	struct err why = ERR_INIT;

	*out = (struct control){ .reason = REASON_NONE };
	if (!policy)
		return err_result(e);
	fill_arguments(&args, room, ~(guarantee_set)0);
	if (run(a, &r, &ran, &why) == 0 && !is_whole(ran.output))
		(void)FAIL(&why, ERR_SYS,
			   "the probe did not run; the program has to call cordon_inner_main()");
	cordon_policy_free(policy);
	if (why.code != ERR_OK)
		return reason_keep(a, &why, &out->reason, e);
	out->is_there = true;
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		out->errors[g] = find_number(ran.output, guarantee_name((enum guarantee)g));
	if (out->errors[G_TREE_DEATH] == 0 && !room_has_life(room))
		out->errors[G_TREE_DEATH] = ESRCH;
	return 0;
}

/* ---- Verdicts ------------------------------------------------------------------------------------- */

static void set_checked(struct checked *c, enum probed verdict, enum cause cause, const char *text)
{
	c->verdict = verdict;
	c->reason = (struct reason){ cause, str_of(text) };
}

/* Whether the attempt came to what the guarantee promises. */
static bool is_as_promised(enum guarantee g, struct str output, bool has_life)
{
	int got = find_number(output, guarantee_name(g));

	if (g == G_FS_REOPEN)
		return got == 0 && find_number(output, guarantee_name(G_FS_READ)) > 0;
	if (g == G_TREE_DEATH)
		return got == 0 && !has_life;
	return got > 0;
}

static int judge(struct arena *a, const struct control *control, struct str output, bool has_life,
		 enum guarantee g, struct checked *c, struct err *e)
{
	struct err why = ERR_INIT;

	c->os_error = find_number(output, guarantee_name(g));
	if (!attempts[g] || !control->is_there || c->os_error < 0) {
		set_checked(c, VERDICT_UNTESTED, CAUSE_UNTESTABLE, "it can't be tried here");
	} else if (control->errors[g] != 0) {
		(void)FAIL_SYS(&why, control->errors[g],
			       "the attempt fails without a sandbox, too");
		c->verdict = VERDICT_UNTESTED;
		return reason_keep(a, &why, &c->reason, e);
	} else if (is_as_promised(g, output, has_life)) {
		c->verdict = VERDICT_HELD;
	} else {
		set_checked(c, VERDICT_BROKEN, CAUSE_GUARANTEE_BROKEN,
			    "the attempt succeeded inside the sandbox: this is a bug of Cordon or "
			    "of the kernel");
	}
	return 0;
}

static const char *explain_lack(const struct backend *backend, enum guarantee g)
{
	const char *why_not = backend->why_not(g);

	return why_not && why_not[0] ? why_not : "this host does not give it";
}

static int judge_all(struct arena *a, const struct control *control, const struct ran *ran,
		     bool has_life, struct examined *x, struct err *e)
{
	guarantee_set gives = x->backend->gives(NULL) & ~ran->outcome.lost;

	for (int i = 0; i < GUARANTEE_COUNT; i++) {
		enum guarantee g = (enum guarantee)i;
		struct checked *c = &x->checks[g];

		if (!(gives & GUARANTEE_BIT(g)))
			set_checked(c, VERDICT_LACKING, CAUSE_GUARANTEE_MISSING,
				    explain_lack(x->backend, g));
		else if (judge(a, control, ran->output, has_life, g, c, e) < 0)
			return err_result(e);
		if (c->verdict == VERDICT_HELD)
			x->held |= GUARANTEE_BIT(g);
	}
	return 0;
}

/* The backend does not work, so it gives nothing. */
static int give_up(struct arena *a, const struct err *why, struct examined *x, struct err *e)
{
	guarantee_set gives = x->backend->gives(NULL);

	if (reason_keep(a, why, &x->reason, e) < 0)
		return err_result(e);
	for (int i = 0; i < GUARANTEE_COUNT; i++) {
		enum guarantee g = (enum guarantee)i;

		if (gives & GUARANTEE_BIT(g))
			set_checked(&x->checks[g], VERDICT_LACKING, x->reason.cause,
				    "the backend does not work here");
		else
			set_checked(&x->checks[g], VERDICT_LACKING, CAUSE_GUARANTEE_MISSING,
				    explain_lack(x->backend, g));
	}
	return 0;
}

/* Another run: a network is either off or managed. */
static int examine_network(struct arena *a, const struct doctor_room *room,
			   const struct control *control, struct examined *x, struct err *e)
{
	cordon_policy *policy = load_probe_policy(room, MANAGED, e);
	struct checked *c = &x->checks[G_NET_MANAGED];
	char audit[PATH_MAX_BYTES];
	struct arguments args;
	struct run r = { .policy = policy,
			 .usual = room->usual,
			 .backend = x->backend->name,
			 .program = room->program,
			 .argv = args.list,
			 .audit_file = audit };
	struct ran ran = { .output = STR_EMPTY };
	struct err why = ERR_INIT;
	int status;

	if (!policy)
		return err_result(e);
	(void)snprintf(audit, sizeof(audit), "%s/audit.jsonl", room->directory);
	fill_arguments(&args, room, GUARANTEE_BIT(G_NET_MANAGED));
	r.accepted = policy->plan->needs_set & ~x->backend->gives(policy->plan);
	status = run(a, &r, &ran, &why);
	cordon_policy_free(policy);
	if (status < 0) {
		c->verdict = VERDICT_LACKING;
		return reason_keep(a, &why, &c->reason, e);
	}
	*c = (struct checked){ .reason = REASON_NONE };
	if (judge(a, control, ran.output, false, G_NET_MANAGED, c, e) < 0)
		return err_result(e);
	/* A network that lets nothing through keeps every promise, and is of no use. */
	if (c->verdict == VERDICT_HELD && find_number(ran.output, PROBE_OPEN) != 0)
		set_checked(c, VERDICT_LACKING, CAUSE_WEAKER,
			    "a port that a rule allows can't be reached either");
	if (c->verdict == VERDICT_HELD)
		x->held |= GUARANTEE_BIT(G_NET_MANAGED);
	return 0;
}

int doctor_examine(struct arena *a, const struct doctor_room *room, const struct control *control,
		   const struct backend *backend, struct examined *out, struct err *e)
{
	guarantee_set gives = backend->gives(NULL);
	bool is_full = (gives & GUARANTEE_BIT(G_FS_CARVE)) && (gives & GUARANTEE_BIT(G_FS_REOPEN));
	cordon_policy *policy = load_probe_policy(room, is_full ? ALL_RULES : FEW_RULES, e);
	struct arguments args;
	struct run r = { .policy = policy,
			 .usual = room->usual,
			 .backend = backend->name,
			 .program = room->program,
			 .argv = args.list };
	struct ran ran = { .output = STR_EMPTY };
	struct err why = ERR_INIT;
	uint64_t started = now_us();
	bool has_life;

	*out = (struct examined){ .backend = backend, .reason = REASON_NONE };
	if (!policy)
		return err_result(e);
	fill_arguments(&args, room, gives & ~GUARANTEE_BIT(G_NET_MANAGED));
	r.accepted = policy->plan->needs_set & ~gives;
	if (run(a, &r, &ran, &why) == 0 && !is_whole(ran.output))
		(void)FAIL(&why, ERR_SYS, "the probe ended with %d before it was done",
			   ran.outcome.status);
	if (why.code == ERR_OK && find_number(ran.output, PROBE_WORK) != 0)
		(void)FAIL_SYS(&why, find_number(ran.output, PROBE_WORK),
			       "what may be written can't be written");
	out->duration_us = now_us() - started;
	has_life = room_has_life(room);
	cordon_policy_free(policy);
	if (why.code != ERR_OK)
		return give_up(a, &why, out, e);
	out->works = true;
	if (judge_all(a, control, &ran, has_life, out, e) < 0)
		return err_result(e);
	if (!(gives & GUARANTEE_BIT(G_NET_MANAGED)))
		return 0;
	return examine_network(a, room, control, out, e);
}

/* ---- The default profile ---------------------------------------------------------------------------- */

int doctor_try_default(struct arena *a, const cordon_policy *policy, struct err *why,
		       struct tried_default *out, struct err *e)
{
	/* No program has this name: that the sandbox stands is all that is asked. */
	static const char *const argv[] = { "/" PROBE_NAME "/none", NULL };
	struct run r = { .policy = policy, .argv = argv };
	struct ran ran = { .output = STR_EMPTY };
	int status = 0;

	*out = (struct tried_default){ .profile = STR_EMPTY, .reason = REASON_NONE };
	if (policy) {
		status = arena_copy(a, policy->policy->profile->name, &out->profile, e);
		out->needed = policy->plan->needs_set;
		if (policy->plan->is_unsandboxed)
			(void)FAIL_CAUSE(why, CAUSE_NO_SANDBOX, "the profile has no sandbox");
		else if (run(a, &r, &ran, why) == 0) {
			out->is_enforced = true;
			out->backend = ran.outcome.backend->name;
			out->lost = ran.outcome.lost;
		}
	}
	if (status == 0 && why->code != ERR_OK)
		status = reason_keep(a, why, &out->reason, e);
	return status < 0 ? err_result(e) : 0;
}

/* ---- Git ---------------------------------------------------------------------------------------------- */

int doctor_ask_git(struct arena *a, const struct doctor_room *room, const struct backend *backend,
		   struct host_facts *facts, struct err *e)
{
	static const char *const argv[] = { "git", "config", "--get", "safe.bareRepository", NULL };
	cordon_policy *policy = load_probe_policy(room, false, e);
	struct run r = {
		.policy = policy, .usual = room->usual, .backend = backend->name, .argv = argv
	};
	struct ran ran = { .output = STR_EMPTY };
	struct err why = ERR_INIT;

	if (!policy)
		return err_result(e);
	r.accepted = policy->plan->needs_set & ~backend->gives(policy->plan);
	if (run(a, &r, &ran, &why) == 0 && !ran.outcome.exec_error) {
		facts->has_git = true;
		facts->bare_repository = str_first(ran.output, str_find(ran.output, '\n'));
	}
	cordon_policy_free(policy);
	return 0;
}
