/* SPDX-License-Identifier: MIT */
/* cordon_profiles(): lists the profiles, or shows one. */
#include "base/utf8.h"
#include "lib/lib.h"
#include "policy/agent.h"
#include "policy/metadata.h"
#include "report/report.h"

struct listing {
	profile_names profiles;
	const struct profile *shown; /* NULL: the list */
	const struct profile_name *name;
};

static void print_list_text(struct page *p, const void *data)
{
	const struct listing *l = data;
	size_t name_width = 0;
	size_t parent_width = 0;

	for (size_t i = 0; i < l->profiles.count; i++) {
		name_width = MAX_OF(name_width, utf8_shown_width(l->profiles.items[i].name));
		parent_width = MAX_OF(parent_width, utf8_shown_width(l->profiles.items[i].extends));
	}
	for (size_t i = 0; i < l->profiles.count; i++) {
		const struct profile_name *n = &l->profiles.items[i];

		if (p->is_brief) {
			page_str(p, n->name);
			page_line(p);
			continue;
		}
		page_style(p, STYLE_GOOD, n->is_default ? "* " : "  ");
		page_column(p, n->name, name_width);
		if (parent_width) {
			page_text(p, n->extends.len ? "  extends " : "          ");
			page_column(p, n->extends, parent_width);
		}
		page_text(p, "  ");
		page_str(p, n->description);
		page_line(p);
	}
	if (!p->is_brief)
		page_text(p, "\n* is the default; "
			     "'cordon profiles NAME' shows one.\n");
}

static void json_name(struct json_writer *w, const struct profile_name *n)
{
	json_str(w, "name", n->name);
	json_str(w, "description", n->description);
	json_str_or_null(w, "extends", n->extends);
	json_bool(w, "built_in", n->name.len && n->name.p[0] == ':');
	json_bool(w, "default", n->is_default);
	json_origin(w, &n->origin);
}

static void print_list_json(struct json_writer *w, const void *data)
{
	const struct listing *l = data;

	json_begin_object(w);
	json_key(w, "profiles");
	json_begin_array(w);
	for (size_t i = 0; i < l->profiles.count; i++) {
		json_begin_object(w);
		json_name(w, &l->profiles.items[i]);
		json_end_object(w);
	}
	json_end_array(w);
	json_end_object(w);
}

/* As TOML comments, so that the whole output stays TOML. */
static void print_stands_for(struct page *p, const char *token, const char *prefix,
			     const char *const *names_of)
{
	page_style(p, STYLE_FAINT, "# %s", token);
	for (size_t i = 0; names_of[i]; i++) {
		bool starts_line = i % 6 == 0;

		page_style(p, STYLE_FAINT, "%s%s%s", starts_line ? "\n#   " : "  ", prefix,
			   names_of[i]);
	}
	page_line(p);
}

static void print_metadata(struct page *p)
{
	page_style(
		p, STYLE_FAINT,
		"# Directly below a writable directory these names can't be created or changed,\n"
		"# because programs act on them without being told to. 'unprotect' or --unprotect\n"
		"# opens one; for .git set 'git = \"commit\"'; " METADATA_OWN
		" needs an entry for its own path:");
	for (size_t i = 0; i < metadata_name_count; i++)
		page_style(p, STYLE_FAINT, "\n#   %-18s  %s", metadata_names[i].name,
			   metadata_names[i].reason);
	page_line(p);
}

/* Why a profile of an agent says what it says. */
static void print_agent(struct page *p, const struct agent_profile *agent)
{
	page_style(p, STYLE_FAINT, "# what it saves, and what is read-only nevertheless:");
	for (const struct agent_file *f = agent->files; f->path; f++)
		page_style(p, STYLE_FAINT, "\n#   %-38s  %s", f->path, f->reason);
	page_style(p, STYLE_FAINT, "\n# hosts:");
	for (const struct agent_host *h = agent->hosts; h->pattern; h++)
		page_style(p, STYLE_FAINT, "\n#   %-38s  %s", h->pattern, h->reason);
	page_style(p, STYLE_FAINT, "\n# 'cordon agent %s' starts it so.", agent->name);
	page_line(p);
}

static void print_one_text(struct page *p, const void *data)
{
	const struct listing *l = data;

	if (!p->is_brief && l->name->extends.len) {
		page_style(p, STYLE_FAINT, "# includes what it inherits from ");
		page_str(p, l->name->extends);
		page_line(p);
	}
	profile_print(p->out, l->shown);
	if (p->is_brief)
		return;
	page_line(p);
	if (agent_profile_of(l->name->name))
		print_agent(p, agent_profile_of(l->name->name));
	print_stands_for(p, "\":minimal\" stands for those of these that exist:", "",
			 places_minimal);
	print_stands_for(p, "\":secrets\" stands for these in your home directory,", "~/",
			 places_secret_paths);
	print_stands_for(p, "and for these names in every workspace root:", "",
			 places_secret_globs);
	print_metadata(p);
}

static void json_list(struct json_writer *w, const char *key, const char *const *items)
{
	json_key(w, key);
	json_begin_array(w);
	for (size_t i = 0; items[i]; i++)
		json_add_text(w, items[i]);
	json_end_array(w);
}

static void json_metadata(struct json_writer *w)
{
	json_key(w, "protected");
	json_begin_array(w);
	for (size_t i = 0; i < metadata_name_count; i++) {
		json_begin_object(w);
		json_text(w, "name", metadata_names[i].name);
		json_text(w, "type", metadata_names[i].kind == METADATA_DIR ? "directory" : "file");
		json_text(w, "reason", metadata_names[i].reason);
		json_end_object(w);
	}
	json_end_array(w);
}

static void print_one_json(struct json_writer *w, const void *data)
{
	const struct listing *l = data;
	scoped_buf toml = BUF_INIT(REPORT_MAX_BYTES);

	profile_print(&toml, l->shown);
	if (toml.failed != ERR_OK)
		json_fail(w, toml.failed);
	json_begin_object(w);
	json_name(w, l->name);
	json_str(w, "toml", buf_str(&toml));
	json_list(w, "minimal", places_minimal);
	json_list(w, "secret_paths", places_secret_paths);
	json_list(w, "secret_globs", places_secret_globs);
	json_metadata(w);
	json_end_object(w);
}

static int show_one(cordon_report *report, const struct config *config,
		    const struct cordon_load_options *options, const char *name, struct listing *l,
		    struct err *e)
{
	const struct selection selection = { .profile = name, .fallback = ":read-only" };
	const struct profile_doc *doc = config_select(&report->arena, config, &selection, e);
	const struct policy *policy;

	if (!doc)
		return err_result(e);
	policy = policy_compile(&report->arena, config, doc, NULL, 0, NULL, e);
	if (!policy)
		return err_result(e);
	l->shown = policy->profile;
	for (size_t i = 0; i < l->profiles.count; i++)
		if (str_eq(l->profiles.items[i].name, policy->profile->name))
			l->name = &l->profiles.items[i];
	if (!l->name)
		return FAIL(e, ERR_INTERNAL, "a profile was found that is not in the list");
	for (size_t i = 0; i < policy->warnings.count; i++)
		if (load_warn(options, policy->warnings.items[i].origin,
			      policy->warnings.items[i].text, e) < 0)
			return err_result(e);
	report->print_text = print_one_text;
	report->schema = "profile/1";
	report->describe = print_one_json;
	return 0;
}

static int list_profiles(cordon_report *report, const struct cordon_load_options *options,
			 const char *name, struct err *e)
{
	scoped_arena texts = ARENA_INIT(TEXTS_MAX_BYTES);
	struct inputs in = { .a = &report->arena, .texts = &texts, .options = options };
	struct listing *l = ARENA_NEW(&report->arena, struct listing, e);
	const struct config *config;

	if (!l || inputs_find(&in, e) < 0 || inputs_read(&in, e) < 0)
		return err_result(e);
	config = config_load(&report->arena, &in.config, e);
	if (!config || config_profiles(&report->arena, config, &l->profiles, e) < 0)
		return err_result(e);
	report->data = l;
	report->print_text = print_list_text;
	report->schema = "profiles/1";
	report->describe = print_list_json;
	return name ? show_one(report, config, options, name, l, e) : 0;
}

int cordon_profiles(const struct cordon_load_options *options, const char *name,
		    cordon_report **report, cordon_error **error)
{
	struct err e = ERR_INIT;
	struct cordon_load_options own;
	cordon_report *r = NULL;

	if (!report)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_profiles needs a place for the report");
	else if (options_read(options, &own, &e) == 0)
		r = report_new(&e);
	if (!r)
		return error_give(&e, error);
	if (list_profiles(r, &own, name, &e) < 0) {
		cordon_report_free(r);
		return error_give(&e, error);
	}
	*report = r;
	return 0;
}
