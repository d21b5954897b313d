/* SPDX-License-Identifier: MIT */
/*
 * cordon_apply_patch(): a patch without a session, for the program apply_patch. Inside a sandbox the
 * kernel confines this process already; outside the policy's answer decides on every path (P20), and
 * exactly that path is opened.
 */
#include "base/path.h"
#include "base/shell.h"
#include "lib/lib.h"
#include "os/os.h"
#include "plan/suggest.h"
#include "report/report.h"
#include "session/session.h"
#include "tools/patch.h"

enum { WAY_MAX_BYTES = 16 << 10 };

static const struct json no_arguments = { .type = JSON_OBJECT };

/* ---- What may be touched ----------------------------------------------------------------------- */

static int add_root(struct arena *a, struct scope *scope, struct str path, struct err *e)
{
	struct scope_root *root = VEC_PUSH(a, &scope->roots, e);

	return root ? arena_copy(a, path, &root->path, e) : err_result(e);
}

/* Relative paths begin at the first root. The kernel says what else may be written. */
static int scope_inside(struct arena *a, const struct cordon_load_options *load, struct scope *out,
			struct err *e)
{
	struct str directory;
	int r = load && load->directory
			? os_canonical_directory(a, str_of(load->directory), &directory, e)
			: os_working_directory(a, &directory, e);

	if (r < 0 || scope_init_alone(a, directory, out, e) < 0)
		return err_result(e);
	return add_root(a, out, STR("/"), e);
}

static int scope_of_policy(struct arena *a, const cordon_policy *policy, struct scope *out,
			   struct err *e)
{
	const struct places *places = &policy->plan_inputs.places;
	bool is_private = policy->policy->profile->tmp_is_private;

	if (scope_init_alone(a, places->cwd, out, e) < 0 ||
	    scope_set_guard(a, &policy->policy->settings, out, e) < 0)
		return err_result(e);
	out->plan = policy->plan;
	out->home = places->home;
	out->folds = policy->plan->host->folds;
	for (size_t i = 0; i < PLACES_TMP_COUNT; i++)
		out->private_tmp[i] = is_private ? places_tmp(places, i) : STR_EMPTY;
	return 0;
}

/* ---- What came of it --------------------------------------------------------------------------- */

static enum cause cause_of(enum tool_refusal_kind kind)
{
	switch (kind) {
	case REFUSAL_VIOLATION:
		return CAUSE_POLICY;
	case REFUSAL_NOT_FOUND:
		return CAUSE_NOTFOUND;
	case REFUSAL_CONFLICT:
	case REFUSAL_BINARY:
		return CAUSE_PATCH_MISMATCH;
	case REFUSAL_INVALID:
		return CAUSE_PATCH_SYNTAX;
	case REFUSAL_TOO_LARGE:
		return CAUSE_PATCH_LIMIT;
	case REFUSAL_TIMEOUT:
		break;
	}
	return CAUSE_CANCELLED;
}

/* A line for each that was changed before the failure, as far as there is room. */
static void add_done(const struct patch_outcome *outcome, struct err *e)
{
	for (size_t i = 0; i < outcome->files.count; i++)
		err_add_line(e, "already changed: %.*s", STR_ARG(outcome->files.items[i].path));
}

static void add_lines(struct str lines, struct err *e)
{
	struct str line;

	while (str_next_line(&lines, &line))
		err_add_line(e, "%.*s", STR_ARG(line));
}

/* As for what a run was refused. What an entry or a guard forbids, no option is named for. */
static void add_way(const struct call *call, const cordon_policy *policy, struct err *e)
{
	const struct refusal *refusal = &call->refusal;
	const struct attempt_needs needs = { .subject = refusal->path,
					     .opens = refusal->opens,
					     .access = refusal->wanted };
	struct err ignored = ERR_INIT; /* then there is no suggestion */
	scoped_buf word = BUF_INIT(WAY_MAX_BYTES);
	struct option_change change;

	if (!policy || !refusal->path.len ||
	    plan_suggest_option(call->a, &policy->plan_inputs, policy->plan, &needs, &change,
				&ignored) < 0 ||
	    !change.option ||
	    (!refusal->grant_path.len && strcmp(change.option, "--unprotect") != 0))
		return;
	shell_add_word(&word, change.value);
	if (word.failed == ERR_OK)
		err_add_line(e, "to allow it, add: %s %.*s", change.option,
			     STR_ARG(buf_str(&word)));
}

static int give_refusal(const struct call *call, const struct patch_request *request,
			const struct patch_outcome *outcome, const cordon_policy *policy,
			struct err *e)
{
	const struct refusal *refusal = &call->refusal;

	err_clear(e);
	err_fail_cause(e, ERR_HERE, cause_of(refusal->kind), 0, "%.*s", (int)refusal->message.len,
		       refusal->message.p);
	if (outcome->missing_lines.len)
		add_lines(outcome->missing_lines, e);
	else if (outcome->place.len)
		err_add_line(e, "this is %.*s", STR_ARG(outcome->place));
	add_way(call, policy, e);
	add_done(outcome, e);
	if (request->is_atomic && outcome->was_undone)
		err_add_line(e, "what was changed before it is as it was");
	return err_result(e);
}

static void print_text(struct page *page, const void *data)
{
	const struct str *texts = data;

	buf_add(page->out, texts[0]);
}

static void print_json(struct json_writer *w, const void *data)
{
	const struct str *texts = data;
	scoped_arena a = ARENA_INIT(CALL_MAX_BYTES);
	struct err ignored = ERR_INIT;
	const struct json *root = json_parse(&a, texts[1], &ignored);

	json_begin_object(w);
	for (size_t i = 0; root && i < root->object.count; i++) {
		json_key(w, root->object.items[i].name.p);
		json_add_value(w, &root->object.items[i].value);
	}
	json_end_object(w);
}

static cordon_report *make_report(struct call *call, const struct patch_request *request,
				  const struct patch_outcome *outcome, struct err *e)
{
	cordon_report *r = report_new(e);
	struct str *texts = r ? arena_array(&r->arena, 2, sizeof(*texts), e) : NULL;

	patch_print_summary(outcome, request->is_dry_run, &call->text);
	patch_print_json(outcome, request, &call->json);
	json_end_object(&call->json);
	if (texts && buf_check(&call->text, e) == 0 && buf_check(&call->structured, e) == 0 &&
	    arena_copy(&r->arena, buf_str(&call->text), &texts[0], e) == 0 &&
	    arena_copy(&r->arena, buf_str(&call->structured), &texts[1], e) == 0) {
		r->schema = "apply-patch/1";
		r->data = texts;
		r->describe = print_json;
		r->print_text = print_text;
		return r;
	}
	cordon_report_free(r);
	return NULL;
}

/* `policy` NULL: inside a sandbox. */
static int apply(const struct scope *scope, const cordon_policy *policy,
		 const struct patch_request *request, cordon_report **out, struct err *e)
{
	scoped_arena a = ARENA_INIT(CALL_MAX_BYTES);
	struct patch_outcome outcome;
	struct call call;
	int r;

	call_init(&call, &a, scope, &no_arguments);
	r = patch_files(&call, request, &outcome, e);
	if (r < 0 && call.refusal.is_set)
		r = give_refusal(&call, request, &outcome, policy, e);
	else if (r < 0)
		add_done(&outcome, e);
	if (r == 0) {
		*out = make_report(&call, request, &outcome, e);
		r = *out ? 0 : err_result(e);
	}
	call_done(&call);
	return r;
}

/* ---- The function ------------------------------------------------------------------------------ */

static int apply_under_policy(const struct cordon_load_options *load,
			      const struct patch_request *request, cordon_report **out,
			      struct err *e)
{
	scoped_arena a = ARENA_INIT(CALL_MAX_BYTES);
	struct cordon_load_options options;
	cordon_policy *policy;
	struct scope scope;
	int r = options_read(load, &options, e);

	if (r < 0)
		return r;
	if (session_is_inside()) {
		if (scope_inside(&a, &options, &scope, e) < 0)
			return err_result(e);
		return apply(&scope, NULL, request, out, e);
	}
	policy = load_new(&options, NULL, e);
	if (!policy)
		return err_result(e);
	r = scope_of_policy(&a, policy, &scope, e);
	if (r == 0)
		r = apply(&scope, policy, request, out, e);
	cordon_policy_free(policy);
	return r;
}

int cordon_apply_patch(const struct cordon_load_options *load, const char *patch, size_t length,
		       uint32_t flags, cordon_report **report, cordon_error **error)
{
	const uint32_t known = CORDON_PATCH_ATOMIC | CORDON_PATCH_DRY_RUN;
	struct patch_request request = { .text = { patch ? patch : "", patch ? length : 0 },
					 .is_atomic = flags & CORDON_PATCH_ATOMIC,
					 .is_dry_run = flags & CORDON_PATCH_DRY_RUN };
	struct err e = ERR_INIT;
	cordon_report *r = NULL;

	if (!report || !patch || flags & ~known)
		(void)FAIL(&e, ERR_ARGUMENT,
			   "cordon_apply_patch was called without a patch, or with unknown flags");
	else if (apply_under_policy(load, &request, &r, &e) == 0)
		*report = r;
	return e.code ? error_give(&e, error) : 0;
}
