/* SPDX-License-Identifier: MIT */
/*
 * cordon_hook(): what a coding agent's hook answers. Before a tool that opens files: what the policy says of
 * their paths. After one that runs commands: what was refused to them.
 *
 * SECURITY: this is advice, and no enforcement: the agent opens the file later, and perhaps another one. What
 * can't be judged is an error, which the caller makes a refusal.
 */
#include "agents/hook.h"
#include "audit/refused.h"
#include "base/path.h"
#include "base/utf8.h"
#include "os/os.h"
#include "report/report.h"
#include "report/request.h"
#include "session/outer.h"
#include "session/session.h"

enum { ANSWER_BYTES = 128 << 10, CONTEXT_BYTES = 64 << 10 };

enum hook_decision { DECIDES_NOTHING, DECIDES_ASK, DECIDES_DENY, DECIDES_CONTEXT };

struct hook {
	struct arena *a;
	const struct cordon_load_options *load;
	struct hook_call call;
	struct outer proof;
	cordon_policy *policy; /* NULL: not loaded */
	enum hook_decision decision;
	struct str reason;
	struct str answer; /* what the agent is to read; "": nothing */
};

/* What it is about, in the arena. */
static int set_reason(struct hook *h, const char *head, struct str text, struct err *e)
{
	scoped_buf whole = BUF_INIT(CONTEXT_BYTES);

	buf_add_text(&whole, head);
	buf_add(&whole, text);
	return buf_check(&whole, e) < 0 ? err_result(e)
					: arena_copy(h->a, buf_str(&whole), &h->reason, e);
}

/* ---- Before a tool -------------------------------------------------------------------------------- */

static int find_policy(struct hook *h, struct err *e)
{
	struct cordon_load_options load = *h->load;
	struct str directory, own;

	if (arena_copy(h->a, h->call.directory, &directory, e) < 0)
		return err_result(e);
	load.directory = directory.p;
	h->policy = load_new(&load, NULL, e);
	if (!h->policy)
		return err_result(e);
	if (!h->proof.is_there)
		return 0;
	/* Inside, the configuration may be another one than that of the sandbox. */
	if (plan_digest(h->a, h->policy->plan, &own, e) < 0)
		return err_result(e);
	return str_eq(own, h->proof.policy) ? 0
					    : FAIL(e, ERR_POLICY,
						   "the sandbox has another policy, "
						   "workspace, home or $TMPDIR than the "
						   "hook finds");
}

static bool is_of_kernel(struct str path)
{
	static const char *const places[] = { "/proc", "/sys", "/dev" };

	for (size_t i = 0; i < COUNT_OF(places); i++)
		if (path_is_under(path, str_of(places[i])))
			return !str_is(path, "/dev/null");
	return false;
}

/* The first reason stays, unless a harder one comes. */
static int refuse(struct hook *h, bool asks, struct str reason, struct err *e)
{
	enum hook_decision decision = asks ? DECIDES_ASK : DECIDES_DENY;

	if (decision <= h->decision)
		return 0;
	h->decision = decision;
	return set_reason(h, "Cordon: ", reason, e);
}

static int judge_place(struct hook *h, const struct hook_file *file, struct str path, struct err *e)
{
	const struct advice_context in = { .plan = h->policy->plan,
					   .plan_inputs = &h->policy->plan_inputs };
	scoped_buf text = BUF_INIT(CONTEXT_BYTES);
	struct verdict verdict = plan_resolve(in.plan, path);
	struct denial denial = { .kind = DENIAL_PATH,
				 .operation = file->is_written ? OPERATION_OPEN_WRITE
							       : OPERATION_READ,
				 .subject = path,
				 .named = file->path,
				 .opens = path,
				 .by = verdict.rule,
				 .program = h->call.tool };

	if (is_of_kernel(path)) {
		advice_add_name(&text, file->path);
		buf_add_text(&text, " is the kernel's own, and not for tools");
		return refuse(h, false, buf_str(&text), e);
	}
	if (verdict.access >= (file->is_written ? ACCESS_WRITE : ACCESS_READ))
		return 0;
	denial_add_advice(&text, &in, &denial);
	if (buf_check(&text, e) < 0)
		return err_result(e);
	return refuse(h, h->call.can_ask && denial_can_be_allowed(&in, &denial), buf_str(&text), e);
}

/* What the kernel finds there; then what a program finds that takes ".." out of the text first. */
static int judge_reading(struct hook *h, const struct hook_file *file, struct str path,
			 struct err *e)
{
	struct located located;
	struct str plain;

	if (load_reach(h->a, h->policy, path, &located, e) < 0 ||
	    judge_place(h, file, located.path, e) < 0 ||
	    path_plain(h->a, h->call.directory, path, &plain, e) < 0 ||
	    load_reach(h->a, h->policy, plain, &located, e) < 0)
		return err_result(e);
	return judge_place(h, file, located.path, e);
}

static int judge_file(struct hook *h, const struct hook_file *file, struct err *e)
{
	struct str readings[HOOK_READINGS];
	size_t count;

	if (hook_find_readings(h->a, file->path, h->policy->inputs.places.home, readings, &count,
			       e) < 0)
		return err_result(e);
	for (size_t i = 0; i < count; i++)
		if (judge_reading(h, file, readings[i], e) < 0)
			return err_result(e);
	return 0;
}

/* In the sandbox of a whole agent its tools are in it as well: that judges when they open something. */
static int judge(struct hook *h, struct err *e)
{
	scoped_buf out = BUF_INIT(ANSWER_BYTES);

	if (!h->call.files.count || (h->proof.is_there && !h->proof.is_shell))
		return 0;
	if (find_policy(h, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < h->call.files.count; i++)
		if (judge_file(h, &h->call.files.items[i], e) < 0)
			return err_result(e);
	if (h->decision == DECIDES_NOTHING)
		return 0;
	hook_print_refusal(&out, &h->call, h->decision == DECIDES_ASK, h->reason);
	return buf_check(&out, e) < 0 ? err_result(e)
				      : arena_copy(h->a, buf_str(&out), &h->answer, e);
}

/* ---- After a command ------------------------------------------------------------------------------ */

static int take_kept(struct hook *h, struct buf *lines, struct err *e)
{
	char starter[OS_STARTER_BYTES];
	struct str kept = STR_EMPTY;

	if (find_policy(h, e) < 0)
		return err_result(e);
	if (h->policy->inputs.state_dir.len && os_find_starter(starter) &&
	    refused_take(h->a, h->policy->inputs.state_dir, str_of(starter), &kept, e) < 0)
		return err_result(e);
	buf_add(lines, kept);
	return 0;
}

static int tell(struct hook *h, struct err *e)
{
	scoped_buf lines = BUF_INIT(CONTEXT_BYTES), out = BUF_INIT(ANSWER_BYTES);
	int r = h->proof.is_there ? request_refused(h->a, &lines, e) : take_kept(h, &lines, e);

	if (r < 0 || buf_check(&lines, e) < 0)
		return err_result(e);
	if (!lines.len)
		return 0;
	h->decision = DECIDES_CONTEXT;
	if (set_reason(h, "Cordon refused to commands of this session:\n", buf_str(&lines), e) < 0)
		return err_result(e);
	hook_print_context(&out, &h->call, h->reason);
	return buf_check(&out, e) < 0 ? err_result(e)
				      : arena_copy(h->a, buf_str(&out), &h->answer, e);
}

/* ---- The report ------------------------------------------------------------------------------------ */

static void describe(struct json_writer *w, const void *data)
{
	static const char *const decisions[] = { [DECIDES_NOTHING] = "none",
						 [DECIDES_ASK] = "ask",
						 [DECIDES_DENY] = "deny",
						 [DECIDES_CONTEXT] = "context" };
	const struct hook *h = data;

	json_begin_object(w);
	json_text(w, "event", h->call.event);
	json_str(w, "tool", h->call.tool);
	json_text(w, "decision", decisions[h->decision]);
	json_str_or_null(w, "text", h->reason);
	json_end_object(w);
}

/* As it is: JSON of the agent, in which nothing is for a terminal. */
static void print(struct page *p, const void *data)
{
	const struct hook *h = data;

	buf_add(p->out, h->answer);
}

static int answer(cordon_report *r, const struct cordon_load_options *load,
		  const struct hook_dialect *dialect, struct str text, struct err *e)
{
	struct hook *h = ARENA_NEW(&r->arena, struct hook, e);
	int status;

	if (!h)
		return err_result(e);
	*h = (struct hook){ .a = &r->arena, .load = load };
	if (hook_read(&r->arena, dialect, text, &h->call, e) < 0 ||
	    outer_find(&r->arena, &h->proof, e) < 0)
		return err_result(e);
	if (!h->call.is_after)
		status = judge(h, e);
	else
		status = h->call.is_shell ? tell(h, e) : 0;
	cordon_policy_free(h->policy);
	h->policy = NULL;
	if (status < 0)
		return status;
	r->data = h;
	r->error_count = h->decision == DECIDES_ASK || h->decision == DECIDES_DENY;
	r->schema = "hook/1";
	r->describe = describe;
	r->print_text = print;
	return 0;
}

int cordon_hook(const struct cordon_load_options *options, const char *agent, const char *input,
		size_t length, cordon_report **report, cordon_error **error)
{
	const struct hook_dialect *dialect = agent ? hook_find(agent) : NULL;
	struct cordon_load_options load;
	struct err e = ERR_INIT;
	cordon_report *r = NULL;

	if (!report || !input)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_hook was called without a report or an input");
	else if (!dialect)
		(void)FAIL(&e, ERR_ARGUMENT, "there are hooks for %s", hook_agents);
	else if (options_read(options, &load, &e) == 0)
		r = report_new(&e);
	if (!r)
		return error_give(&e, error);
	if (answer(r, &load, dialect, (struct str){ input, length }, &e) < 0) {
		cordon_report_free(r);
		return error_give(&e, error);
	}
	*report = r;
	return 0;
}
