/* SPDX-License-Identifier: MIT */
/* What was refused during a run, in its report. The keys are part of the interface. */
#include "base/error_name.h"
#include "base/hostname.h"
#include "base/path.h"
#include "lib/run.h"
#include "plan/net.h"
#include "plan/obeyed.h"
#include "plan/words.h"
#include "report/suggestion.h"

/* ---- For people ------------------------------------------------------------------------- */

void denials_print(struct page *p, const struct denials *d)
{
	if (d->total == 0)
		return;
	page_line(p);
	page_style(p, STYLE_TITLE, "refused");
	page_line(p);
	for (size_t i = 0; i < d->items.count; i++) {
		const struct denial *denial = &d->items.items[i];
		scoped_buf line = BUF_INIT(64 << 10);

		denial_add_sentence(&line, denial);
		page_text(p, "  ");
		page_str(p, buf_str(&line));
		page_line(p);
		if (!denial->way_out.len)
			continue;
		page_text(p, "    ");
		page_style(p, STYLE_FAINT, "to allow it: ");
		page_str(p, denial->way_out);
		page_line(p);
	}
	if (d->unlisted)
		page_printf(p, "  and %llu more\n", (unsigned long long)d->unlisted);
}

/* ---- For programs ------------------------------------------------------------------------- */

static void json_rule_of(struct json_writer *w, const struct denial *denial)
{
	struct origin origin = denial_origin(denial);
	scoped_buf text = BUF_INIT(64 << 10);

	/* An entry says all by itself; of the others people want to know why they exist. */
	if (denial->by && denial->by->note.len)
		buf_printf(&text, "%.*s: %.*s", STR_ARG(denial->by->key),
			   STR_ARG(denial->by->note));
	else
		denial_add_rule(&text, denial);
	json_key(w, "rule");
	json_begin_object(w);
	json_str(w, "text", buf_str(&text));
	json_text(w, "file", origin.file);
	json_int_or_null(w, "line", origin.line);
	json_end_object(w);
}

void denial_print_json(struct json_writer *w, const struct denial *denial)
{
	json_text(w, "kind", denial_kind_name(denial->kind));
	json_text(w, "operation", operation_name(denial->operation));
	json_str(w, "subject", denial->subject);
	json_str_or_null(w, "named", denial->named);
	json_rule_of(w, denial);
	json_text(w, "errno", error_name(denial->os_error));
	json_str(w, "program", denial->program);
	json_str_or_null(w, "executable", denial->executable);
	json_int(w, "pid", denial->pid);
	json_bool(w, "guess", denial->is_guess);
	json_number(w, "count", denial->count);
	json_number(w, "first_ms", denial->first_ms);
	json_number(w, "last_ms", denial->last_ms);
}

static int suggest_host(struct arena *a, const struct cordon_policy *policy,
			const struct denial *denial, struct change *out, struct err *e)
{
	struct str target = denial->option ? denial->value : denial->subject;
	struct hostname host;
	uint16_t port;

	return hostname_parse_port(a, target, &host, &port, e) < 0
		       ? err_result(e)
		       : plan_suggest_host(a, &policy->plan_inputs, policy->plan, &host, port,
					   DECISION_ALLOW, out, e);
}

/* SECURITY: a git directory is opened by the key `git` alone, never as a whole. */
static int check_git(struct arena *a, const struct plan_inputs *in, struct str path,
		     struct change *change, struct err *e)
{
	struct obeyed git;

	if (obeyed_git_dir(a, in->host, in->policy->profile, path, &git, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < change->edit_count; i++)
		if (str_is(change->edits[i].key, "git"))
			return 0;
	change->is_possible &= !git.path.len;
	return 0;
}

static int suggest_path(struct arena *a, const struct cordon_policy *policy,
			const struct denial *denial, struct change *out, struct err *e)
{
	struct str path = denial_opens(a, &policy->plan_inputs, policy->plan, denial);

	*out = (struct change){ .is_possible = false };
	if (!path.len)
		return 0;
	if (plan_suggest_path(a, &policy->plan_inputs, policy->plan, path, denial_access(denial),
			      out, e) < 0)
		return err_result(e);
	return denial_access(denial) == ACCESS_WRITE
		       ? check_git(a, &policy->plan_inputs, path, out, e)
		       : 0;
}

/* Where an option decides about the network, no file has a say; nor about the host's ports. */
static bool is_beyond_files(const struct cordon_policy *policy, const struct denial *denial)
{
	const char *set_by = policy->policy->profile->net.access_origin.file;

	return denial->option &&
	       ((set_by && set_by[0] == '-') || strcmp(denial->option, "--host-port") == 0);
}

/* The edit of the configuration that would allow it, as `why` suggests it. */
static bool find_change(struct arena *a, const struct cordon_policy *policy,
			const struct denial *denial, struct change *out)
{
	struct err ignored = ERR_INIT;
	int status = 0;

	*out = (struct change){ .is_possible = false };
	if (denial->kind == DENIAL_PATH)
		status = suggest_path(a, policy, denial, out, &ignored);
	else if (is_beyond_files(policy, denial))
		return false;
	else if (denial->kind == DENIAL_HOST)
		status = suggest_host(a, policy, denial, out, &ignored);
	else if (path_is_absolute(denial->subject))
		status = plan_suggest_socket(a, &policy->plan_inputs, policy->plan, denial->subject,
					     DECISION_ALLOW, out, &ignored);
	return status == 0 && out->is_possible;
}

static void json_suggestions(struct json_writer *w, const struct cordon_policy *policy,
			     const struct denial *denial, bool wants_edits)
{
	const char *const argv[] = { denial->option, denial->value.p, NULL };
	scoped_arena a = ARENA_INIT(POLICY_MAX_BYTES);
	struct change change;
	bool has_change = wants_edits && find_change(&a, policy, denial, &change);

	json_key(w, "suggestions");
	json_begin_array(w);
	if (denial->way_out.len && (denial->option || !has_change))
		json_suggestion(w, &(struct suggestion){ .scope = denial->option ? "run" : "config",
							 .argv = denial->option ? argv : NULL,
							 .text = denial->way_out });
	if (has_change)
		json_config_suggestion(w, &change);
	json_end_array(w);
}

/* Why not more is named, and how to have it named; NULL: all is named. */
static const char *explain_naming(const struct outcome *o)
{
	if (!o->is_sandboxed)
		return "the command had no sandbox, so nothing was refused";
	if (o->naming == NAMING_ALL)
		return NULL;
	if (o->naming != NAMING_WRITES)
		return o->naming_asked == NAMING_OFF
			       ? "the profile says denials = \"off\""
			       : "this host or this backend can't name refused accesses to files";
	if (o->naming_asked == NAMING_ALL)
		return "this host or this backend can't name refused reads";
	return "refused reads are not named; --log-denials names them, and so does denials = "
	       "\"all\" in the profile";
}

static void json_naming(struct json_writer *w, const struct outcome *o)
{
	static const char *const texts[] = {
		[NAMING_AUTO] = "off", [NAMING_WRITES] = "writes", [NAMING_ALL] = "all", [NAMING_OFF] = "off"
	};

	json_key(w, "naming");
	json_begin_object(w);
	json_text(w, "what", o->is_sandboxed ? texts[o->naming] : "off");
	json_text(w, "why", explain_naming(o));
	json_end_object(w);
}

void denials_print_json(struct json_writer *w, const struct cordon_policy *policy,
			const struct outcome *o)
{
	const struct denials *d = &o->denials;

	json_naming(w, o);
	json_number(w, "denial_count", d->total);
	json_number(w, "denials_unlisted", d->unlisted);
	json_key(w, "denials");
	json_begin_array(w);
	for (size_t i = 0; i < d->items.count; i++) {
		json_begin_object(w);
		denial_print_json(w, &d->items.items[i]);
		json_text(w, "denied_by", d->items.items[i].denied_by);
		json_suggestions(w, policy, &d->items.items[i], i < DENIALS_WITH_EDITS);
		json_end_object(w);
	}
	json_end_array(w);
}
