/* SPDX-License-Identifier: MIT */
/* See escalate.h. */
#include "session/escalate.h"

#include "approve/deciders.h"
#include "approve/offers.h"
#include "approve/question.h"
#include "audit/audit.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/utf8.h"
#include "os/os.h"
#include "os/program.h"
#include "session/run.h"

enum {
	ESCALATION_BYTES = 4 << 20, /* of one, its words included */
	ANSWER_MAX_BYTES = 32 << 10,
	SHOWN_BYTES = 512,
	MINUTE_MS = 60 * 1000,
};

static const char *const nobody = "nobody";

/* ---- Answers --------------------------------------------------------------------------------- */

static void send_answer(struct session *s, uint64_t id, struct buf *text, bool goes_on)
{
	static const char failed[] =
		"{\"type\": \"error\", \"message\": \"there is no memory left\"}";

	if (text->failed == ERR_OK)
		supervisor_answer_request(s->supervisor, id, buf_str(text), goes_on);
	else
		supervisor_answer_request(s->supervisor, id, str_of(failed), false);
}

static void add_text(struct json_writer *w, const char *name, const char *text)
{
	json_key(w, name);
	if (text)
		json_add_text(w, text);
	else
		json_add_null(w);
}

static void begin_action(struct json_writer *w, const char *action, const char *by)
{
	json_begin_object(w);
	add_text(w, "type", "action");
	add_text(w, "action", action);
	add_text(w, "by", by);
}

/* What the user would have to write, for whoever reads the answer. */
static void add_advice(struct json_writer *w, const struct escalation *x)
{
	scoped_buf text = BUF_INIT(ANSWER_MAX_BYTES / 2);
	struct json_writer words = JSON_LINE_INIT(&text);

	json_key(w, "suggestions");
	json_begin_array(w);
	if (x && x->argv) {
		buf_add_text(&text, "[[exec]]\nargv = ");
		json_begin_array(&words);
		for (size_t i = 0; x->argv[i]; i++)
			json_add_text(&words, x->argv[i]);
		json_end_array(&words);
		buf_add_text(&text, "decision = \"allow\"\nrun = \"PROFILE\"");
	}
	if (text.len && text.failed == ERR_OK) {
		json_begin_object(w);
		add_text(w, "scope", "configuration");
		json_key(w, "argv");
		json_begin_array(w);
		json_end_array(w);
		json_key(w, "edits");
		json_begin_array(w);
		json_end_array(w);
		json_key(w, "text");
		json_add_str(w, buf_str(&text));
		json_end_object(w);
	}
	json_end_array(w);
}

static void answer_deny(struct session *s, uint64_t id, const char *by, struct str message,
			const struct escalation *advise)
{
	scoped_buf text = BUF_INIT(ANSWER_MAX_BYTES);
	struct json_writer w = JSON_LINE_INIT(&text);

	begin_action(&w, "deny", by);
	json_key(&w, "message");
	json_add_str(&w, message);
	add_advice(&w, advise);
	json_end_object(&w);
	send_answer(s, id, &text, false);
}

static void answer_run(struct session *s, uint64_t id)
{
	scoped_buf text = BUF_INIT(ANSWER_MAX_BYTES);
	struct json_writer w = JSON_LINE_INIT(&text);

	begin_action(&w, "run", "policy");
	json_end_object(&w);
	send_answer(s, id, &text, false);
}

static void answer_escalate(const struct escalation *x)
{
	scoped_buf text = BUF_INIT(ANSWER_MAX_BYTES);
	struct json_writer w = JSON_LINE_INIT(&text);

	begin_action(&w, "escalate", x->by);
	json_key(&w, "profile");
	json_add_str(&w, x->profile);
	json_end_object(&w);
	send_answer(x->s, x->id, &text, true);
}

static void answer_exit(const struct escalation *x, const struct escalation_end *end)
{
	scoped_buf text = BUF_INIT(ANSWER_MAX_BYTES);
	struct json_writer w = JSON_LINE_INIT(&text);

	json_begin_object(&w);
	add_text(&w, "type", "exit");
	json_key(&w, "status");
	json_add_int(&w, end->status);
	json_key(&w, "signal");
	if (end->signal)
		json_add_int(&w, end->signal);
	else
		json_add_null(&w);
	json_end_object(&w);
	send_answer(x->s, x->id, &text, false);
}

/* ---- The log and the report ------------------------------------------------------------------- */

static int open_log(struct session *s, struct err *e)
{
	struct str path;

	if (s->escalations.log)
		return 0;
	if (audit_approvals_path(s->a, s->in.state_directory, &path, e) < 0 ||
	    audit_open(s->a, path, s->in.state_directory, s->outcome.run_id, &s->escalations.log,
		       e) < 0)
		return err_wrap(e, "the log of approvals");
	return 0;
}

static int log_line(const struct escalation *x, bool is_allow, struct str reason,
		    struct str message, const struct escalation_end *end, struct err *e)
{
	struct session *s = x->s;
	const struct audit_approvals of = { .run = s->outcome.run_id,
					    .session = s->in.approvals ? s->in.approvals->session
								       : STR_EMPTY };
	const struct audit_escalation line = {
		.id = x->id,
		.by = x->by,
		.is_allow = is_allow,
		.has_ended = end != NULL,
		.status = end ? end->status : 0,
		.argv = x->argv,
		.program = x->program ? str_of(x->program) : STR_EMPTY,
		.profile = x->profile,
		.cwd = str_of(x->directory),
		.reason = reason,
		.message = message,
		.rule = x->rule ? x->rule->origin : (struct origin){ .file = NULL },
	};

	return open_log(s, e) < 0 ? err_result(e)
				  : audit_add_escalation(s->escalations.log, &of, &line, e);
}

/* Memory that runs out only loses detail. */
static void keep(const struct escalation *x, bool is_allow, struct str message)
{
	struct outcome *o = &x->s->outcome;
	struct escalated made = { .by = x->by,
				  .is_allow = is_allow,
				  .status = -1,
				  .file = STR_EMPTY,
				  .line = x->rule ? x->rule->origin.line : 0 };
	scoped_buf words = BUF_INIT(SHOWN_BYTES);
	struct err ignored = ERR_INIT;
	struct escalated *added;

	for (size_t i = 0; x->argv[i]; i++) {
		buf_add_text(&words, i ? " " : "");
		buf_add_text(&words, x->argv[i]);
	}
	if (o->escalated.count >= ESCALATED_MAX ||
	    arena_copy(x->s->a, buf_str(&words), &made.command, &ignored) < 0 ||
	    arena_copy(x->s->a, x->profile, &made.profile, &ignored) < 0 ||
	    arena_copy(x->s->a, message, &made.message, &ignored) < 0 ||
	    (x->rule && x->rule->origin.file &&
	     arena_copy(x->s->a, str_of(x->rule->origin.file), &made.file, &ignored) < 0) ||
	    !(added = VEC_PUSH(x->s->a, &o->escalated, &ignored))) {
		o->escalated_unlisted++;
		return;
	}
	*added = made;
}

/* ---- One escalation ---------------------------------------------------------------------------- */

static void drop(struct escalation *x)
{
	struct session *s = x->s;

	if (x->taken.cwd >= 0)
		supervisor_close_taken(&x->taken);
	arena_done(&x->arena);
	*x = (struct escalation){ .s = s, .taken = { .cwd = -1 } };
}

static void deny(struct escalation *x, const char *by, struct str message, bool advises,
		 struct str reason)
{
	struct err ignored = ERR_INIT; /* it is denied in any case */

	x->by = by;
	(void)log_line(x, false, reason, message, NULL, &ignored);
	keep(x, false, message);
	answer_deny(x->s, x->id, by, message, advises ? x : NULL);
	drop(x);
}

static void finish(struct escalation *x)
{
	struct session *s = x->s;
	struct escalation_end end = { .status = 0 };
	struct outcome *o = &s->outcome;
	struct err e = ERR_INIT;

	loop_remove(&s->loop, &x->watcher);
	s->in.escalations->finish(x->run, &end);
	x->run = NULL;
	if (log_line(x, true, STR_EMPTY, STR_EMPTY, &end, &e) < 0)
		session_warn(&s->in, "that '%s' has ended can't be logged: %s", x->argv[0], e.text);
	for (size_t i = o->escalated.count; i > 0; i--) {
		struct escalated *kept = &o->escalated.items[i - 1];

		if (kept->is_allow && kept->status < 0) {
			kept->status = end.status;
			break;
		}
	}
	answer_exit(x, &end);
	drop(x);
}

/* Until it is over; it was cancelled, so that is soon. */
static void end_run(const struct escalation *x)
{
	bool is_over;

	do
		is_over = x->s->in.escalations->step(x->run, true);
	while (!is_over);
}

static int is_ready(void *user, uint32_t events, struct err *e)
{
	struct escalation *x = user;

	(void)events;
	(void)e;
	if (x->s->in.escalations->step(x->run, false))
		finish(x);
	return 0;
}

static bool is_unsandboxed(const struct escalation *x)
{
	return str_is(x->profile, mode_kind_profile(MODE_FULL_ACCESS));
}

/* SECURITY: what can't be logged does not run. */
static int launch(struct escalation *x, struct str reason, struct err *e)
{
	struct session *s = x->s;

	x->order = (struct escalation_order){
		.argv = x->argv,
		.program = x->program,
		.path = s->escalations.path.p,
		.profile = x->profile.p,
		.is_unsandboxed = is_unsandboxed(x),
		.directory = x->directory,
		.device = x->taken.device,
		.inode = x->taken.inode,
		.directory_fd = x->taken.cwd,
		.stdio = { x->taken.stdio[0], x->taken.stdio[1], x->taken.stdio[2] },
	};

	if (log_line(x, true, reason, STR_EMPTY, NULL, e) < 0 ||
	    s->in.escalations->start(s->in.user, &x->order, &x->run, e) < 0)
		return err_result(e);
	x->watcher = (struct watcher){ .fd = s->in.escalations->descriptor(x->run),
				       .ready = is_ready,
				       .user = x };
	if (loop_add(&s->loop, &x->watcher, LOOP_IN, e) == 0)
		return 0;
	s->in.escalations->cancel(x->run);
	end_run(x);
	s->in.escalations->finish(x->run, &(struct escalation_end){ .status = 0 });
	x->run = NULL;
	return err_result(e);
}

static void run_outside(struct escalation *x, struct str reason)
{
	struct session *s = x->s;
	char shown[SHOWN_BYTES];
	struct err e = ERR_INIT;

	if (launch(x, reason, &e) < 0) {
		deny(x, nobody, str_of(e.text), false, reason);
		return;
	}
	session_trace(&s->in, "'%s' runs outside, with the profile '%.*s', by %s",
		      utf8_show(str_of(x->argv[0]), shown, sizeof(shown)), STR_ARG(x->profile),
		      x->by);
	keep(x, true, STR_EMPTY);
	answer_escalate(x);
}

/* ---- What may be run ---------------------------------------------------------------------------- */

static const char *find_path_list(const struct session *s)
{
	return os_environment_find(s->in.environment, "PATH");
}

/* The program that a word names: the way to it, and where that leads. False: there is none. */
static bool find_program(struct arena *a, struct str path_list, struct str name, struct str *way,
			 char real[PATH_MAX_BYTES])
{
	struct err ignored = ERR_INIT;

	if (path_is_absolute(name)) {
		*way = name;
		return os_real_path(name.p, real) && os_is_executable(real);
	}
	if (!name.len || str_find(name, '/') < name.len)
		return false;
	while (path_list.len) {
		struct str dir = str_first(path_list, str_find(path_list, ':'));

		path_list = str_from(path_list, MIN_OF(dir.len + 1, path_list.len));
		if (arena_printf(a, way, &ignored, "%.*s/%.*s", STR_ARG(dir), STR_ARG(name)) == 0 &&
		    os_real_path(way->p, real) && os_is_executable(real))
			return true;
	}
	return false;
}

static struct str searched(const struct session *s)
{
	return str_from(s->escalations.path, strlen("PATH="));
}

/* For the rules. */
static int find_canonical(void *user, struct arena *a, struct str name, struct str *out,
			  struct err *e)
{
	const struct session *s = user;
	char real[PATH_MAX_BYTES];
	struct str way;

	*out = STR_EMPTY;
	return find_program(a, searched(s), name, &way, real) ? arena_copy(a, str_of(real), out, e)
							      : 0;
}

/* NULL: it may be run. */
static const char *check_program(struct escalation *x, struct str name)
{
	struct session *s = x->s;
	char real[PATH_MAX_BYTES];
	struct err e = ERR_INIT;
	struct str way, copy;

	/* What the kernel names there is this process's own, not the command's. */
	if (!find_program(&x->arena, searched(s), name, &way, real) || offers_is_kernel_path(way) ||
	    offers_is_kernel_path(str_of(real)))
		return "there is no such program outside of what the command may write";
	if (decider_check_program(&x->arena, live_plan(s), way, &e) < 0)
		return "the command or another user may change the program, or what it is run by";
	if (arena_copy(&x->arena, str_of(real), &copy, &e) < 0)
		return "there is no memory left";
	x->program = copy.p;
	return NULL;
}

static bool is_root(const struct session *s, struct str path, const struct inside_taken *taken)
{
	for (size_t i = 0; i < s->escalations.root_count; i++) {
		const struct escalation_root *root = &s->escalations.roots[i];

		if (str_eq(root->path, path))
			return root->device == taken->device && root->inode == taken->inode;
	}
	return false;
}

/*
 * NULL: it may be the directory. SECURITY: programs obey what they find in it (git the configuration of a
 * repository). So it is one that the command can't write to, or a workspace root, whose metadata P9 keeps;
 * not one below, where the command may have made a repository.
 */
static const char *check_directory(struct session *s, const struct inside_taken *taken)
{
	scoped_arena a = ARENA_INIT(64 << 10);
	const struct plan *plan = live_plan(s);
	struct err ignored = ERR_INIT;
	struct str config, hooks;

	if (!plan_may_replace(plan, taken->path, os_may_write))
		return NULL;
	if (!is_root(s, taken->path, taken))
		return "the command may write to this directory, so it has to be run in a "
		       "workspace "
		       "root, or in one that is read-only";
	if (path_join(&a, taken->path, STR(".git/config"), &config, &ignored) < 0 ||
	    path_join(&a, taken->path, STR(".git/hooks"), &hooks, &ignored) < 0)
		return "there is no memory left";
	if (plan_resolve(plan, config).access == ACCESS_WRITE ||
	    plan_resolve(plan, hooks).access == ACCESS_WRITE)
		return "the command may write the configuration or hooks of git here, and so "
		       "choose "
		       "what is run";
	return NULL;
}

static const char *check_streams(struct session *s, const struct inside_taken *taken)
{
	for (size_t i = 0; i < COUNT_OF(taken->reopens); i++)
		if (taken->reopens[i].len &&
		    plan_resolve(live_plan(s), taken->reopens[i]).access != ACCESS_WRITE)
			return "a standard stream is a file that the command may only read; pass "
			       "it "
			       "through a pipe";
	return NULL;
}

/* Which of what the user may allow is allowed at all (P1). NULL: it is. */
static const char *check_required(const struct escalation *x)
{
	uint32_t allow = x->s->in.plan->policy->settings.allow;

	if (!(allow & ALLOW_ESCALATE))
		return "the requirements of this machine do not allow it";
	if (!is_unsandboxed(x))
		return NULL;
	if (!(allow & ALLOW_NONE))
		return "the requirements of this machine do not allow to run without a sandbox";
	return x->s->in.needs_sandbox ? "a run of cordon-sh never runs anything without a sandbox"
				      : NULL;
}

/* ---- Asking -------------------------------------------------------------------------------------- */

static struct escalation *find(struct session *s, uint64_t id)
{
	for (size_t i = 0; s->escalations.slots && id && i < ESCALATIONS_MAX; i++)
		if (s->escalations.slots[i].id == id)
			return &s->escalations.slots[i];
	return NULL;
}

static void told(struct session *s, const struct asker *asker, const struct answer *answer)
{
	struct escalation *x = find(s, asker->call);
	struct str why = answer->message.len ? answer->message : STR("it was denied");
	struct str copy;
	struct err e = ERR_INIT;

	if (!x)
		return;
	x->ask = 0;
	x->by = answer->by;
	if (answer->is_allow)
		run_outside(x, STR_EMPTY);
	else if (arena_copy(&x->arena, why, &copy, &e) == 0)
		deny(x, answer->by, copy, false, STR_EMPTY);
	else
		deny(x, answer->by, STR("it was denied"), false, STR_EMPTY);
}

/* False: nobody can be asked, or not about a command that is too long to be shown. */
static bool ask(struct escalation *x, const struct inside_request *in, const struct str *words)
{
	struct session *s = x->s;
	const struct asker asker = { .told = told, .call = x->id };
	const scope_set scopes = SCOPE_BIT(SCOPE_ONCE) | SCOPE_BIT(SCOPE_RUN);
	struct ask request = { .kind = ASK_ESCALATE,
			       .operation = OPERATION_EXEC,
			       .subject = str_of(x->program),
			       .named = words[0],
			       .program = in->program,
			       .pid = in->pid,
			       .argv = words,
			       .argv_count = in->command_count,
			       .cwd = str_of(x->directory),
			       .origin = x->rule ? x->rule->origin : (struct origin){ .line = 0 },
			       .reason = in->reason,
			       .offers = { { { ASK_ESCALATE, STR_EMPTY, false }, scopes } },
			       .offer_count = 1 };
	struct err ignored = ERR_INIT;
	uint64_t id = 0, own = x->id;

	if (!s->approvals.is_on || (s->in.asks_at_terminal && !question_shows_command(&request)) ||
	    arena_printf(&x->arena, &request.rule, &ignored,
			 is_unsandboxed(x) ? "it would run without a sandbox"
					   : "it would run with the profile '%.*s'",
			 STR_ARG(x->profile)) < 0 ||
	    !approvals_ask(s, &request, &asker, &id))
		return false;
	/* It may be answered already, and its place taken. */
	x = find(s, own);
	if (x && !x->run)
		x->ask = id;
	return true;
}

/* ---- From request to decision -------------------------------------------------------------------- */

static struct escalation *find_room(struct session *s)
{
	struct escalations *all = &s->escalations;
	struct err ignored = ERR_INIT;

	if (!all->slots) {
		all->slots = arena_array(s->a, ESCALATIONS_MAX, sizeof(*all->slots), &ignored);
		for (size_t i = 0; all->slots && i < ESCALATIONS_MAX; i++)
			all->slots[i] = (struct escalation){ .s = s, .taken = { .cwd = -1 } };
	}
	for (size_t i = 0; all->slots && i < ESCALATIONS_MAX; i++)
		if (!all->slots[i].id)
			return &all->slots[i];
	return NULL;
}

static bool may_ask(struct escalations *all)
{
	uint64_t now = loop_now();

	if (now - all->minute_began_ms >= MINUTE_MS) {
		all->minute_began_ms = now;
		all->asked_this_minute = 0;
	}
	return all->asked_this_minute++ < ESCALATIONS_PER_MINUTE;
}

/*
 * The words that are executed: the first is what names the program. SECURITY: with another first word a
 * program may be another one, or look for its parts elsewhere.
 */
static int take_words(struct escalation *x, const struct inside_request *in, struct str **words,
		      struct err *e)
{
	const char **argv = arena_array(&x->arena, in->command_count + 1, sizeof(*argv), e);
	struct str *list = arena_array(&x->arena, in->command_count, sizeof(*list), e);
	struct str directory;

	if (!argv || !list)
		return err_result(e);
	for (size_t i = 0; i < in->command_count; i++) {
		struct str word = i == 0 && in->file.len ? in->file : in->command[i];

		if (arena_copy(&x->arena, word, &list[i], e) < 0)
			return err_result(e);
		argv[i] = list[i].p;
	}
	if (arena_copy(&x->arena, in->taken->path, &directory, e) < 0)
		return err_result(e);
	x->argv = argv;
	x->directory = directory.p;
	*words = list;
	return 0;
}

static int judge(struct escalation *x, const struct inside_request *in, const struct str *words,
		 struct exec_ruling *out, struct err *e)
{
	struct session *s = x->s;
	const struct exec_finder finder = { .find = find_canonical, .user = s };
	const struct exec_command command = { .program = x->program ? str_of(x->program)
								    : STR_EMPTY,
					      .argv = words,
					      .argv_count = in->command_count,
					      .cwd = str_of(x->directory) };

	*out = (struct exec_ruling){ .rule = NULL };
	return exec_rules_judge(s->escalations.rules, &command, &finder, out, e);
}

/* What is to become of it, when it may be run at all. */
static void decide(struct escalation *x, const struct inside_request *in, const struct str *words,
		   const struct exec_ruling *ruling)
{
	const char *why;

	x->rule = ruling->rule;
	x->by = x->rule ? "rule" : nobody;
	x->profile = x->rule ? x->rule->run.name : str_of(mode_kind_profile(MODE_FULL_ACCESS));
	if (x->rule && x->rule->decision == EXEC_DENY) {
		x->profile = STR_EMPTY;
		deny(x, "rule", STR("a rule of [[exec]] denies it"), false, in->reason);
		return;
	}
	why = check_required(x);
	if (!why)
		why = check_streams(x->s, in->taken);
	if (!why)
		why = check_directory(x->s, in->taken);
	if (why)
		deny(x, nobody, str_of(why), false, in->reason);
	else if (x->rule && x->rule->decision == EXEC_ALLOW)
		run_outside(x, in->reason);
	else if (!ask(x, in, words))
		deny(x, nobody,
		     x->s->approvals.is_on ? STR("nobody can be asked about it any more, or the "
						 "command is too long to be "
						 "shown")
		     : x->rule ? STR("a rule of [[exec]] wants somebody to be asked, and nobody is "
				     "(cordon run --ask)")
		     : ruling->elsewhere ? STR("the rule of [[exec]] about this command is for "
					       "another directory")
					 : STR("no rule of [[exec]] is about this command, and "
					       "nobody is asked"),
		     !x->rule, in->reason);
}

/* The program is looked for with the PATH of who started the run. */
static int prepare_path(struct session *s, struct err *e)
{
	if (s->escalations.path.len)
		return 0;
	return decider_clean_path(s->a, live_plan(s), find_path_list(s), &s->escalations.path, e);
}

static void take(struct escalation *x, const struct inside_request *in)
{
	struct exec_ruling ruling;
	struct err e = ERR_INIT;
	struct str *words = NULL;
	const char *why;

	if (take_words(x, in, &words, &e) < 0 || prepare_path(x->s, &e) < 0) {
		answer_deny(x->s, in->id, nobody, str_of(e.text), NULL);
		drop(x);
		return;
	}
	x->taken = *in->taken;
	x->by = nobody;
	x->profile = STR_EMPTY;
	why = check_program(x, words[0]);
	if (judge(x, in, words, &ruling, &e) < 0)
		deny(x, nobody, str_of(e.text), false, in->reason);
	else if (in->is_optional && !ruling.rule) {
		answer_run(x->s, x->id);
		drop(x);
	} else if (why)
		deny(x, nobody, str_of(why), false, in->reason);
	else
		decide(x, in, words, &ruling);
}

static void pass_signal(struct session *s, const struct inside_request *in)
{
	struct escalation *x = find(s, in->id);

	if (x && x->run)
		s->in.escalations->signal(x->run, in->signal);
}

static const char *find_obstacle(struct session *s, const struct inside_request *in)
{
	if (!s->in.escalations || !s->escalations.rules)
		return "no command is run outside of this run";
	if (in->refused)
		return in->refused;
	if (in->file.len && !str_eq(path_name(in->file), path_name(in->command[0])))
		return "the first word of the command is not the program's name";
	return may_ask(&s->escalations) ? NULL : "too many commands are to be run outside";
}

void escalations_take(struct session *s, const struct inside_request *in)
{
	struct escalation *x;
	const char *why;

	if (in->kind == INSIDE_SIGNAL) {
		pass_signal(s, in);
		return;
	}
	why = find_obstacle(s, in);
	x = why ? NULL : find_room(s);
	if (!why && !x)
		why = "too many commands run outside at the same time";
	if (why) {
		if (in->taken)
			supervisor_close_taken(in->taken);
		/* A shell that asks about each command goes on as without asking. */
		if (in->is_optional)
			answer_run(s, in->id);
		else
			answer_deny(s, in->id, nobody, str_of(why), NULL);
		return;
	}
	*x = (struct escalation){
		.s = s, .id = in->id, .arena = ARENA_INIT(ESCALATION_BYTES), .taken = *in->taken
	};
	take(x, in);
}

bool escalations_leave(struct session *s, uint64_t id)
{
	struct escalation *x = find(s, id);

	if (!x)
		return false;
	if (x->run) {
		s->in.escalations->cancel(x->run);
		return true;
	}
	approvals_withdraw(s, x->ask);
	drop(x);
	return true;
}

/* ---- From start to end --------------------------------------------------------------------------- */

int escalations_prepare(struct session *s, struct err *e)
{
	const struct places *places = &s->in.plan->places;
	struct escalations *all = &s->escalations;
	struct str *paths;

	if (!s->in.escalations || !s->outcome.is_sandboxed)
		return 0;
	all->roots = arena_array(s->a, places->root_count + 1, sizeof(*all->roots), e);
	paths = arena_array(s->a, places->root_count + 1, sizeof(*paths), e);
	if (!all->roots || !paths)
		return err_result(e);
	for (size_t i = 0; i < places->root_count; i++) {
		struct os_file file;

		if (os_look(places->roots[i], &file, e) < 0)
			return err_result(e);
		paths[i] = places->roots[i];
		all->roots[all->root_count++] = (struct escalation_root){ .path = paths[i],
									  .device = file.device,
									  .inode = file.inode };
	}
	return exec_rules_new(s->a, s->in.plan_inputs, paths, places->root_count, &all->rules, e);
}

void escalations_end(struct session *s)
{
	struct escalations *all = &s->escalations;

	for (size_t i = 0; all->slots && i < ESCALATIONS_MAX; i++)
		if (all->slots[i].run)
			s->in.escalations->cancel(all->slots[i].run);
	for (size_t i = 0; all->slots && i < ESCALATIONS_MAX; i++) {
		struct escalation *x = &all->slots[i];

		if (!x->id)
			continue;
		if (!x->run) {
			approvals_withdraw(s, x->ask);
			drop(x);
			continue;
		}
		end_run(x);
		finish(x);
	}
	if (all->log)
		audit_close(all->log);
	all->log = NULL;
}
