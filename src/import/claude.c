/* SPDX-License-Identifier: MIT */
/*
 * The settings of Claude Code: its rules for tools and its sandbox, whose directory can be written. Lists of
 * all files count together, and a deny counts for more than an ask, and that for more than an allow.
 */
#include "base/path.h"
#include "import/rules.h"

/* Where relative paths of a file begin. */
enum place { PLACE_PROJECT, PLACE_USER, PLACE_UNKNOWN };

static enum place find_place(const struct rules *r, const struct import_file *file)
{
	struct str dir = path_parent(file->path);
	bool is_settings = str_is(path_name(file->path), "settings.json") ||
			   str_is(path_name(file->path), "settings.local.json");

	if (!is_settings || !str_is(path_name(dir), ".claude"))
		return PLACE_UNKNOWN;
	return r->host->home.len && str_eq(path_parent(dir), r->host->home) ? PLACE_USER
									    : PLACE_PROJECT;
}

static bool is_deny(enum rule_kind kind)
{
	return kind != RULE_WRITE && kind != RULE_READ;
}

/* Relative to the place of its file: where that is unclear, a deny holds in every such place. */
static int add_placed(struct rules *r, enum rule_kind kind, struct str path,
		      enum rule_syntax syntax, const struct import_file *file, struct str text,
		      struct origin origin, struct err *e)
{
	enum place place = find_place(r, file);
	struct str below;

	if (place == PLACE_UNKNOWN && !is_deny(kind))
		return rules_note(r, origin, e,
				  "\"%.*s\": it is not clear where this path begins, as the file "
				  "is not where "
				  "settings are",
				  STR_ARG(text));
	if (place != PLACE_USER &&
	    rules_add_path(r, kind, BASE_WORKSPACE, path, syntax, text, origin, e) < 0)
		return err_result(e);
	if (place == PLACE_PROJECT || (place == PLACE_UNKNOWN && !r->host->home.len))
		return 0;
	if (arena_printf(r->a, &below, e, ".claude/%.*s", (int)path.len, path.p) < 0)
		return err_result(e);
	return rules_add_path(r, kind, BASE_HOME, below, syntax, text, origin, e);
}

/* A path of the sandbox: "/x" is absolute, as is "//x". */
static int add_sandbox_path(struct rules *r, enum rule_kind kind, struct str text,
			    enum rule_syntax syntax, const struct import_file *file,
			    struct origin origin, struct err *e)
{
	if (str_is(text, "~") || str_has_prefix(text, STR("~/")) || str_has_prefix(text, STR("/")))
		return rules_add_text(r, kind, text, syntax, origin, e);
	return add_placed(r, kind, text, syntax, file, text, origin, e);
}

/* ---- Rules for tools ---------------------------------------------------------- */

/* As .gitignore has it: a name without a slash matches at every depth. */
static int add_any_depth(struct rules *r, enum rule_kind kind, struct str path, struct str text,
			 struct origin origin, struct err *e)
{
	struct str deep;
	struct str bare = str_has_suffix(path, STR("/")) ? str_first(path, path.len - 1) : path;

	if (rules_add_path(r, kind, BASE_WORKSPACE, path, SYNTAX_GLOB, text, origin, e) < 0)
		return err_result(e);
	if (!is_deny(kind) || !bare.len || str_find(bare, '/') < bare.len || str_is(bare, "**"))
		return 0;
	if (kind == RULE_NO_WRITE &&
	    rules_note(r, origin, e,
		       "\"%.*s\": nor can it be read, as only a pattern names it at every depth, "
		       "and a pattern denies both",
		       STR_ARG(text)) < 0)
		return err_result(e);
	if (arena_printf(r->a, &deep, e, "**/%.*s", (int)bare.len, bare.p) < 0)
		return err_result(e);
	return rules_add_path(r, kind, BASE_WORKSPACE, deep, SYNTAX_GLOB, text, origin, e);
}

static int add_rule_path(struct rules *r, enum rule_kind kind, struct str path,
			 const struct import_file *file, struct str text, struct origin origin,
			 struct err *e)
{
	if (is_deny(kind) && str_has_prefix(path, STR("!"))) {
		if (rules_note(r, origin, e, "\"%.*s\": the '!' is taken for nothing",
			       STR_ARG(text)) < 0)
			return err_result(e);
		path = str_from(path, 1);
	}
	if (!path.len)
		return rules_add_path(r, kind, BASE_WORKSPACE, path, SYNTAX_GLOB, text, origin, e);
	if (str_has_prefix(path, STR("//")))
		return rules_add_path(r, kind, BASE_ROOT, path, SYNTAX_GLOB, text, origin, e);
	if (str_is(path, "~") || str_has_prefix(path, STR("~/")))
		return rules_add_path(r, kind, BASE_HOME, str_from(path, 1), SYNTAX_GLOB, text,
				      origin, e);
	if (path.p[0] == '/') {
		/* Of no known place it may be meant as absolute. */
		if (is_deny(kind) && find_place(r, file) == PLACE_UNKNOWN &&
		    rules_add_path(r, kind, BASE_ROOT, path, SYNTAX_GLOB, text, origin, e) < 0)
			return err_result(e);
		return add_placed(r, kind, path, SYNTAX_GLOB, file, text, origin, e);
	}
	if (str_has_prefix(path, STR("./")))
		return rules_add_path(r, kind, BASE_WORKSPACE, path, SYNTAX_GLOB, text, origin, e);
	return add_any_depth(r, kind, path, text, origin, e);
}

struct tool_rule {
	struct str text, tool, specifier;
	bool is_bare; /* every use of the tool */
	enum tool_answer { RULE_IS_ALLOW, RULE_IS_ASK, RULE_IS_DENY } what;
	const struct import_file *file;
	struct origin origin;
};

static int add_file_rule(struct rules *r, const struct tool_rule *t, bool writes, struct err *e)
{
	enum rule_kind kind = writes ? RULE_NO_WRITE : RULE_NOTHING;

	if (t->what == RULE_IS_ASK &&
	    rules_note(r, t->origin, e, "\"%.*s\" asks first; here it is denied",
		       STR_ARG(t->text)) < 0)
		return err_result(e);
	if (t->what == RULE_IS_ALLOW && (!writes || t->is_bare || !str_is(t->tool, "Edit")))
		return writes ? rules_note(r, t->origin, e,
					   "\"%.*s\" opens nothing but the workspace",
					   STR_ARG(t->text))
			      : 0;
	if (t->is_bare)
		return rules_add_path(r, kind, BASE_ROOT, STR("/"), SYNTAX_LITERAL, t->text,
				      t->origin, e);
	return add_rule_path(r, t->what == RULE_IS_ALLOW ? RULE_WRITE : kind, t->specifier, t->file,
			     t->text, t->origin, e);
}

static int add_fetch_rule(struct rules *r, const struct tool_rule *t, struct err *e)
{
	static const struct str domain = STR_INIT("domain:");

	if (t->is_bare && t->what != RULE_IS_ALLOW) {
		rules_turn_off(r, t->text, t->origin);
		return 0;
	}
	if (!str_has_prefix(t->specifier, domain)) {
		if (t->what == RULE_IS_ALLOW)
			return rules_note(r, t->origin, e, "\"%.*s\" names no host",
					  STR_ARG(t->text));
		/* Nobody knows what it denies. */
		rules_turn_off(r, t->text, t->origin);
		return rules_note(r, t->origin, e, "\"%.*s\" names no host, so none is allowed",
				  STR_ARG(t->text));
	}
	return rules_add_host(r, t->what == RULE_IS_ALLOW, str_from(t->specifier, domain.len),
			      t->origin, e);
}

/* The name of the tool may be a pattern, and then be about all of them. Of an allow it is none. */
static int add_named(struct rules *r, const struct tool_rule *t, struct err *e)
{
	static const char *const readers[] = { "Read", "Glob", "Grep", "LS", "NotebookRead", NULL };
	static const char *const writers[] = { "Edit", "Write", "MultiEdit", "NotebookEdit", NULL };
	static const char *const fetchers[] = { "WebFetch", NULL };
	bool reads = is_one_of(t->tool, readers), writes = is_one_of(t->tool, writers);
	bool fetches = is_one_of(t->tool, fetchers);

	if (t->what != RULE_IS_ALLOW && (names_one_of(r, t->tool, readers, &reads, e) < 0 ||
					 names_one_of(r, t->tool, writers, &writes, e) < 0 ||
					 names_one_of(r, t->tool, fetchers, &fetches, e) < 0))
		return err_result(e);
	if ((reads && add_file_rule(r, t, false, e) < 0) ||
	    (writes && add_file_rule(r, t, true, e) < 0) ||
	    (fetches && add_fetch_rule(r, t, e) < 0))
		return err_result(e);
	return reads || writes || fetches ? 0
					  : rules_note(r, t->origin, e, "\"%.*s\": %s",
						       STR_ARG(t->text), no_such_rules);
}

static int add_tool_rule(struct rules *r, struct tool_rule *t, struct err *e)
{
	size_t open = str_find(t->text, '(');

	t->tool = str_first(t->text, open);
	t->is_bare = open == t->text.len;
	if (!t->is_bare && t->text.p[t->text.len - 1] != ')')
		return FAIL_AT(e, ERR_POLICY, t->origin, "'%.*s' is no rule", STR_ARG(t->text));
	if (!t->is_bare)
		t->specifier = (struct str){ t->text.p + open + 1, t->text.len - open - 2 };
	/* "Edit(*)" is the whole tool, too. */
	t->is_bare = t->is_bare || str_is(t->specifier, "*") || str_is(t->specifier, "**");
	return add_named(r, t, e);
}

static int add_tool_rules(struct rules *r, const struct json *permissions,
			  const struct import_file *file, struct err *e)
{
	static const char *const names[] = { "allow", "ask", "deny" };

	for (size_t n = 0; n < COUNT_OF(names); n++) {
		const struct json *list;

		if (member_strings(permissions, file->name, names[n], &list, e) < 0)
			return err_result(e);
		for (size_t i = 0; list && i < list->array.count; i++) {
			const struct json *item = &list->array.items[i];
			struct tool_rule t = { .text = item->string,
					       .what = (enum tool_answer)n,
					       .file = file,
					       .origin = value_origin(file->name, item) };

			if (add_tool_rule(r, &t, e) < 0)
				return err_result(e);
		}
	}
	return 0;
}

/* ---- A file ------------------------------------------------------------------- */

static int add_permissions(struct rules *r, const struct json *permissions,
			   const struct import_file *file, struct err *e)
{
	static const char *const known[] = { "allow",
					     "ask",
					     "deny",
					     "additionalDirectories",
					     "blockReadsOutsideWorkingDirectories",
					     "blockWritesOutsideWorkingDirectories",
					     "denyInsteadOfPrompting",
					     "allowManagedPermissionRulesOnly",
					     NULL };
	const struct json *hidden;

	if (member_get(permissions, file->name, "blockReadsOutsideWorkingDirectories", JSON_BOOL,
		       &hidden, e) < 0)
		return err_result(e);
	if (hidden && hidden->boolean) {
		r->reads_little = true;
		r->reads_origin = value_origin(file->name, hidden);
	}
	if (add_tool_rules(r, permissions, file, e) < 0 ||
	    member_paths(r, permissions, file, "additionalDirectories", RULE_WRITE, e) < 0)
		return err_result(e);
	return members_note(r, permissions, file->name, "permissions", known, false, e);
}

static int add_sandbox(struct rules *r, const struct json *sandbox, const struct import_file *file,
		       struct err *e)
{
	static const char *const known[] = { "network", "filesystem", "credentials", "enabled",
					     NULL };
	const struct json *network, *filesystem, *credentials;

	if (member_get(sandbox, file->name, "network", JSON_OBJECT, &network, e) < 0 ||
	    member_get(sandbox, file->name, "filesystem", JSON_OBJECT, &filesystem, e) < 0 ||
	    member_get(sandbox, file->name, "credentials", JSON_OBJECT, &credentials, e) < 0)
		return err_result(e);
	if ((network && sandbox_add_network(r, network, file, false, e) < 0) ||
	    (filesystem &&
	     sandbox_add_filesystem(r, filesystem, file, false, add_sandbox_path, e) < 0) ||
	    (credentials && sandbox_add_credentials(r, credentials, file, add_sandbox_path, e) < 0))
		return err_result(e);
	return members_note(r, sandbox, file->name, "sandbox", known, false, e);
}

/* Allows of other files do not count then. Denies do here, whatever else is meant. */
static int find_only(struct rules *r, const struct json *object, const char *name,
		     const struct import_file *file, struct err *e)
{
	const struct json *value = NULL;

	if (object && member_get(object, file->name, name, JSON_BOOL, &value, e) < 0)
		return err_result(e);
	if (value && value->boolean)
		r->only_file = file->name;
	return 0;
}

static int import_file(struct rules *r, const struct import_file *file, struct err *e)
{
	static const char *const known[] = { "permissions", "sandbox", "$schema",
					     "allowManagedPermissionRulesOnly", NULL };
	const struct json *root = json_parse(r->a, file->text, e), *permissions, *sandbox;

	if (!root)
		return err_wrap(e, "%s", file->name);
	if (root->type != JSON_OBJECT)
		return FAIL_AT(e, ERR_POLICY, value_origin(file->name, root),
			       "these are no settings of Claude Code");
	if (member_get(root, file->name, "permissions", JSON_OBJECT, &permissions, e) < 0 ||
	    member_get(root, file->name, "sandbox", JSON_OBJECT, &sandbox, e) < 0)
		return err_result(e);
	if (find_only(r, root, "allowManagedPermissionRulesOnly", file, e) < 0 ||
	    find_only(r, permissions, "allowManagedPermissionRulesOnly", file, e) < 0 ||
	    find_only(r, sandbox ? json_find(sandbox, "network") : NULL, "allowManagedDomainsOnly",
		      file, e) < 0 ||
	    find_only(r, sandbox ? json_find(sandbox, "filesystem") : NULL,
		      "allowManagedReadPathsOnly", file, e) < 0)
		return err_result(e);
	if ((permissions && add_permissions(r, permissions, file, e) < 0) ||
	    (sandbox && add_sandbox(r, sandbox, file, e) < 0))
		return err_result(e);
	return members_note_unrelated(r, root, file->name, known, e);
}

int import_claude(struct rules *r, const struct import_file *files, size_t count, struct err *e)
{
	const struct origin all = { .file = files[count - 1].name, .line = 1, .column = 1 };

	for (size_t i = 0; i < count; i++)
		if (import_file(r, &files[i], e) < 0)
			return err_result(e);
	rules_drop_others(r);
	/* What its sandbox opens for every command. */
	if (rules_add_path(
		    r, RULE_WRITE, BASE_WORKSPACE, STR(""), SYNTAX_LITERAL,
		    STR("the sandbox of Claude Code lets commands write the working directory"),
		    all, e) < 0)
		return err_result(e);
	return rules_add_mandatory(r, false, e);
}
