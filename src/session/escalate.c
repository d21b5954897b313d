/* SPDX-License-Identifier: MIT */
/* See escalate.h. */
#include "session/escalate.h"

#include "approve/question.h"
#include "audit/audit.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/utf8.h"
#include "os/os.h"
#include "session/run.h"

enum {
	ESCALATION_BYTES = 4 << 20, /* of one, its words included */
	ANSWER_MAX_BYTES = 32 << 10,
	SHOWN_BYTES = 512,
	MINUTE_MS = 60 * 1000,
	END_MS = 10 * 1000, /* for what was killed; a loaded machine takes its time */
	END_STEP_MS = 100,
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
static void keep(struct escalation *x, bool is_allow, struct str message)
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
	x->reported = o->escalated.count;
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
	char shown[SHOWN_BYTES];
	struct err e = ERR_INIT;

	loop_remove(&s->loop, &x->watcher);
	s->in.escalations->finish(x->run, &end);
	x->run = NULL;
	if (log_line(x, true, STR_EMPTY, STR_EMPTY, &end, &e) < 0)
		session_warn(&s->in, "that '%s' has ended can't be logged: %s",
			     utf8_show(str_of(x->argv[0]), shown, sizeof(shown)), e.text);
	if (x->reported)
		s->outcome.escalated.items[x->reported - 1].status = end.status;
	answer_exit(x, &end);
	drop(x);
}

/* Until it is over: it was cancelled, so that is soon. False: it can't be ended. */
static bool end_run(const struct escalation *x)
{
	const uint64_t until = loop_now() + END_MS;

	while (!x->s->in.escalations->step(x->run, END_STEP_MS))
		if (loop_now() >= until)
			return false;
	return true;
}

/* What the kernel does not let die must not keep the run from its end. The run outside is lost. */
static void abandon(struct escalation *x)
{
	struct session *s = x->s;
	char shown[SHOWN_BYTES];

	session_warn(&s->in,
		     "'%s' runs outside and can't be ended: process %lld and what it has started "
		     "go on",
		     utf8_show(str_of(x->argv[0]), shown, sizeof(shown)),
		     (long long)s->in.escalations->process(x->run));
	x->run = NULL;
}

static int is_ready(void *user, uint32_t events, struct err *e)
{
	struct escalation *x = user;

	(void)events;
	(void)e;
	if (x->s->in.escalations->step(x->run, 0))
		finish(x);
	return 0;
}

bool escalation_is_unsandboxed(const struct escalation *x)
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
		.path = x->path,
		.git_ceiling = x->git_ceiling,
		.withheld = x->withheld,
		.profile = x->profile.p,
		.is_unsandboxed = escalation_is_unsandboxed(x),
		.directory = x->directory,
		.device = x->taken.device,
		.inode = x->taken.inode,
		.directory_fd = x->taken.cwd,
		.stdio = { x->taken.stdio[0], x->taken.stdio[1], x->taken.stdio[2] },
		.has_terminal = x->taken.has_terminal,
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
	if (end_run(x))
		s->in.escalations->finish(x->run, &(struct escalation_end){ .status = 0 });
	else
		abandon(x);
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
	if (answer->is_allow) {
		/* SECURITY: what was true when it was asked may be so no longer. */
		const char *why_not = escalation_check_program(x);

		if (!why_not)
			why_not = escalation_check(x);
		if (why_not)
			deny(x, nobody, str_of(why_not), false, STR_EMPTY);
		else
			run_outside(x, STR_EMPTY);
	} else if (arena_copy(&x->arena, why, &copy, &e) == 0)
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
			 escalation_is_unsandboxed(x) ? "it would run without a sandbox"
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
static struct str word_at(const struct inside_request *in, size_t i)
{
	return i == 0 && in->file.len ? in->file : in->command[i];
}

static int take_words(struct escalation *x, const struct inside_request *in, struct str **words,
		      struct err *e)
{
	const char **argv = arena_array(&x->arena, in->command_count + 1, sizeof(*argv), e);
	struct str *list = arena_array(&x->arena, in->command_count, sizeof(*list), e);

	if (!argv || !list)
		return err_result(e);
	for (size_t i = 0; i < in->command_count; i++) {
		if (arena_copy(&x->arena, word_at(in, i), &list[i], e) < 0)
			return err_result(e);
		argv[i] = list[i].p;
	}
	x->argv = argv;
	*words = list;
	return 0;
}

/* The paths are asked about again when somebody has answered. */
static int take_paths(struct escalation *x, const struct inside_request *in, struct err *e)
{
	struct str directory = in->taken ? in->taken->path : in->cwd;

	if (arena_copy(&x->arena, directory, &x->taken.path, e) < 0)
		return err_result(e);
	x->directory = x->taken.path.p;
	for (size_t i = 0; in->taken && i < COUNT_OF(x->taken.reopens); i++)
		if (arena_copy(&x->arena, in->taken->reopens[i], &x->taken.reopens[i], e) < 0)
			return err_result(e);
	return 0;
}

static int judge(struct escalation *x, const struct str *words, size_t count,
		 struct exec_ruling *out, struct err *e)
{
	const struct exec_finder finder = { .find = escalation_find_program, .user = x };
	const struct exec_command command = { .program = x->program ? str_of(x->program)
								    : STR_EMPTY,
					      .argv = words,
					      .argv_count = count,
					      .cwd = str_of(x->directory) };

	*out = (struct exec_ruling){ .rule = NULL };
	return exec_rules_judge(x->s->escalations.rules, &command, &finder, out, e);
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
	why = escalation_check(x);
	if (why)
		deny(x, nobody, str_of(why), false, in->reason);
	else if (x->rule && x->rule->decision == EXEC_ALLOW)
		run_outside(x, in->reason);
	else if (!ask(x, in, words))
		deny(x, nobody,
		     x->s->approvals.is_on ? STR("nobody can be asked about it any more, or the "
						 "command is too long to be shown")
		     : x->rule ? STR("a rule of [[exec]] wants somebody to be asked, and nobody is "
				     "(cordon run --ask)")
		     : ruling->elsewhere ? STR("the rule of [[exec]] about this command is for "
					       "another directory")
					 : STR("no rule of [[exec]] is about this command, and "
					       "nobody is asked"),
		     !x->rule, in->reason);
}

static void take(struct escalation *x, const struct inside_request *in)
{
	struct exec_ruling ruling;
	struct err e = ERR_INIT;
	struct str *words = NULL;
	const char *why;

	x->by = nobody;
	x->profile = STR_EMPTY;
	x->path = "PATH=";
	if (take_words(x, in, &words, &e) < 0 || take_paths(x, in, &e) < 0) {
		answer_deny(x->s, in->id, nobody, str_of(e.text), NULL);
		drop(x);
		return;
	}
	why = escalation_check_program(x);
	if (judge(x, words, in->command_count, &ruling, &e) < 0)
		why = e.text;
	if (in->refused && !why)
		why = in->refused;
	if (in->is_optional && !ruling.rule) {
		answer_run(x->s, x->id);
		drop(x);
	} else if (why) {
		deny(x, nobody, str_of(why), false, in->reason);
	} else {
		decide(x, in, words, &ruling);
	}
}

static void pass_signal(struct session *s, const struct inside_request *in)
{
	struct escalation *x = find(s, in->id);

	if (x && x->run)
		s->in.escalations->signal(x->run, in->signal);
}

/* A shell asks about each command: most are its own to execute, and none of those counts as a request. */
static bool is_shells_own(const struct session *s, const struct inside_request *in)
{
	return in->is_optional && (!s->in.escalations || !s->escalations.rules ||
				   !exec_rules_may_name(s->escalations.rules, word_at(in, 0),
							in->command, in->command_count));
}

static const char *find_obstacle(struct session *s, const struct inside_request *in)
{
	if (!s->in.escalations || !s->escalations.rules)
		return "no command is run outside of this run";
	if (in->file.len && !str_eq(path_name(in->file), path_name(in->command[0])))
		return "the first word of the command is not the program's name";
	return may_ask(&s->escalations) ? NULL : "too many commands are to be run outside";
}

static void begin(struct session *s, const struct inside_request *in, const char *why)
{
	struct escalation *x = why ? NULL : find_room(s);

	if (!x) {
		if (in->taken)
			supervisor_close_taken(in->taken);
		answer_deny(s, in->id, nobody,
			    str_of(why ? why : "too many commands run outside at the same time"),
			    NULL);
		return;
	}
	*x = (struct escalation){ .s = s,
				  .id = in->id,
				  .arena = ARENA_INIT(ESCALATION_BYTES),
				  .taken = { .stdio = { -1, -1, -1 }, .cwd = -1 } };
	if (in->taken)
		x->taken = *in->taken;
	take(x, in);
}

void escalations_take(struct session *s, const struct inside_request *in)
{
	if (in->kind == INSIDE_SIGNAL) {
		pass_signal(s, in);
	} else if (is_shells_own(s, in)) {
		if (in->taken)
			supervisor_close_taken(in->taken);
		answer_run(s, in->id);
	} else {
		begin(s, in, find_obstacle(s, in));
	}
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
		if (end_run(x)) {
			finish(x);
			continue;
		}
		loop_remove(&s->loop, &x->watcher);
		abandon(x);
		drop(x);
	}
	if (all->log)
		audit_close(all->log);
	all->log = NULL;
}
