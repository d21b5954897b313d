/* SPDX-License-Identifier: MIT */
/*
 * opencode's "permission": for each tool an action, or patterns with one each, of which the last that matches
 * counts. It has no sandbox: what a command may do is what its tools may do with files.
 */
#include "agents/json_edit.h"
#include "import/rules.h"

struct pattern_rule {
	struct str pattern; /* "*": everything */
	bool is_allow, is_ask;
	bool is_void; /* another rule counts instead */
	const struct import_file *file;
	struct origin origin;
};

typedef VEC(struct pattern_rule) pattern_list;

static int read_action(const struct json *value, const struct import_file *file,
		       struct pattern_rule *out, struct err *e)
{
	out->is_allow = value->type == JSON_STRING && str_is(value->string, "allow");
	out->is_ask = value->type == JSON_STRING && str_is(value->string, "ask");
	if (out->is_allow || out->is_ask ||
	    (value->type == JSON_STRING && str_is(value->string, "deny")))
		return 0;
	return FAIL_AT(e, ERR_POLICY, value_origin(file->name, value),
		       "an action is \"allow\", \"ask\" or \"deny\"");
}

static int add_action(struct rules *r, const struct json *value, struct str pattern,
		      const struct import_file *file, pattern_list *out, struct err *e)
{
	struct pattern_rule rule = { .pattern = pattern, .file = file };
	struct pattern_rule *added;

	rule.origin = value_origin(file->name, value);
	if (read_action(value, file, &rule, e) < 0)
		return err_result(e);
	added = VEC_PUSH(r->a, out, e);
	if (!added)
		return err_result(e);
	*added = rule;
	return 0;
}

static int add_actions(struct rules *r, const struct json *value, const struct import_file *file,
		       pattern_list *out, struct err *e)
{
	if (value->type != JSON_OBJECT)
		return add_action(r, value, STR("*"), file, out, e);
	for (size_t i = 0; i < value->object.count; i++)
		if (add_action(r, &value->object.items[i].value, value->object.items[i].name, file,
			       out, e) < 0)
			return err_result(e);
	return 0;
}

static int find_rules(struct rules *r, const struct json *permission,
		      const struct import_file *file, const char *tool, pattern_list *out,
		      struct err *e)
{
	const char *const names[] = { tool, NULL };

	if (permission->type != JSON_OBJECT)
		return add_actions(r, permission, file, out, e);
	for (size_t i = 0; i < permission->object.count; i++) {
		const struct json_member *m = &permission->object.items[i];
		bool is_meant;

		if (names_one_of(r, m->name, names, &is_meant, e) < 0 ||
		    (is_meant && add_actions(r, &m->value, file, out, e) < 0))
			return err_result(e);
	}
	return 0;
}

static bool is_everything(struct str pattern)
{
	return str_is(pattern, "*") || str_is(pattern, "**") || str_is(pattern, "**/*");
}

/*
 * The last rule for everything of each file, and of these the one that allows least: in which order two merged
 * files count is unclear. NULL: there is none.
 */
static const struct pattern_rule *find_default(const pattern_list *rules)
{
	const struct pattern_rule *found = NULL, *last = NULL;

	for (size_t i = 0; i < rules->count; i++) {
		const struct pattern_rule *p = &rules->items[i];

		if (is_everything(p->pattern))
			last = p;
		if (i + 1 < rules->count && rules->items[i + 1].file == p->file)
			continue;
		if (last && (!found || last->is_allow < found->is_allow ||
			     (last->is_allow == found->is_allow && last->is_ask < found->is_ask)))
			found = last;
		last = NULL;
	}
	return found;
}

/*
 * In one file a later rule for everything replaces what is before it. Of two files a deny stays whatever the other
 * says, and an allow counts for nothing where the other does not allow everything.
 */
static bool is_replaced(const pattern_list *rules, const struct pattern_rule *p)
{
	bool is_replaced = false, is_alone = true;

	for (size_t i = 0; i < rules->count; i++) {
		const struct pattern_rule *q = &rules->items[i];
		bool is_other = q->file != p->file;

		if (is_other)
			is_alone = false;
		if (is_everything(q->pattern) && (is_other ? p->is_allow && !q->is_allow : q > p))
			is_replaced = true;
	}
	return is_replaced && (p->is_allow || is_alone);
}

/* Finds the default, and what is void. An allow that is lost to another file is noted. */
static int settle(struct rules *r, pattern_list *rules, const struct pattern_rule **all,
		  struct err *e)
{
	*all = find_default(rules);
	for (size_t i = 0; i < rules->count; i++) {
		struct pattern_rule *p = &rules->items[i];

		p->is_void = is_everything(p->pattern) || is_replaced(rules, p);
		if (p->is_allow && *all && !(*all)->is_allow && (*all)->file != p->file &&
		    p->is_void &&
		    rules_note(r, p->origin, e,
			       "\"%.*s\" is allowed, but another file does not allow everything",
			       STR_ARG(p->pattern)) < 0)
			return err_result(e);
	}
	return 0;
}

/* "~/x", "$HOME/x", "/x", or below the project. */
static int add_pattern(struct rules *r, enum rule_kind kind, const struct pattern_rule *p,
		       struct err *e)
{
	static const struct str home = STR_INIT("$HOME");

	if (str_has_prefix(p->pattern, home) &&
	    (p->pattern.len == home.len || p->pattern.p[home.len] == '/'))
		return rules_add_path(r, kind, BASE_HOME, str_from(p->pattern, home.len),
				      SYNTAX_CROSSING, p->pattern, p->origin, e);
	return rules_add_text(r, kind, p->pattern, SYNTAX_CROSSING, p->origin, e);
}

static int add_deny(struct rules *r, enum rule_kind kind, const struct pattern_rule *p,
		    struct err *e)
{
	if (p->is_ask && rules_note(r, p->origin, e, "\"%.*s\" asks first; here it is denied",
				    STR_ARG(p->pattern)) < 0)
		return err_result(e);
	return add_pattern(r, kind, p, e);
}

/* An allow below a deny, unless everything is allowed anyway. */
static int add_exception(struct rules *r, const struct pattern_rule *p, bool opens, struct err *e)
{
	if (!opens)
		return rules_note(r, p->origin, e,
				  "\"%.*s\" is allowed, but what other rules deny stays denied",
				  STR_ARG(p->pattern));
	return add_pattern(r, RULE_WRITE, p, e);
}

/* Each but the void ones: a deny as `kind`. */
static int add_patterns(struct rules *r, const pattern_list *rules, enum rule_kind kind, bool opens,
			struct err *e)
{
	for (size_t i = 0; i < rules->count; i++) {
		const struct pattern_rule *p = &rules->items[i];

		if (p->is_void)
			continue;
		if ((p->is_allow ? add_exception(r, p, opens, e) : add_deny(r, kind, p, e)) < 0)
			return err_result(e);
	}
	return 0;
}

static int add_edits(struct rules *r, pattern_list *rules, struct err *e)
{
	const struct pattern_rule *all;
	bool opens;

	if (settle(r, rules, &all, e) < 0)
		return err_result(e);
	opens = !all || all->is_allow;
	if (all && all->is_ask &&
	    rules_note(r, all->origin, e,
		       "every edit asks first; here nothing is writable until it is asked for "
		       "(cordon run --ask tty)") < 0)
		return err_result(e);
	if (opens && rules_add_path(r, RULE_WRITE, BASE_WORKSPACE, STR(""), SYNTAX_LITERAL,
				    all ? all->pattern : STR("edits are allowed by default"),
				    all ? all->origin : r->whole, e) < 0)
		return err_result(e);
	return add_patterns(r, rules, RULE_NO_WRITE, !opens, e);
}

static int add_reads(struct rules *r, pattern_list *rules, struct err *e)
{
	static const char *const own[] = { "*.env", "*.env.*" };
	const struct pattern_rule *all;

	if (settle(r, rules, &all, e) < 0 ||
	    (all && !all->is_allow && add_deny(r, RULE_NOTHING, all, e) < 0))
		return err_result(e);
	/* Its own defaults. "*.env.example" is open there, and a pattern can't leave it out. */
	for (size_t i = 0; i < COUNT_OF(own); i++)
		if (rules_add_path(r, RULE_NOTHING, BASE_WORKSPACE, str_of(own[i]), SYNTAX_CROSSING,
				   str_of(own[i]), r->whole, e) < 0)
			return err_result(e);
	return add_patterns(r, rules, RULE_NOTHING, false, e);
}

static int add_outside(struct rules *r, pattern_list *rules, bool writes, struct err *e)
{
	const struct pattern_rule *all;

	if (settle(r, rules, &all, e) < 0)
		return err_result(e);
	if (all && !all->is_allow) {
		r->reads_little = true;
		r->reads_origin = all->origin;
	}
	if (all && all->is_allow &&
	    rules_note(r, all->origin, e,
		       "every directory outside is allowed; here they can be read, and none is "
		       "writable") < 0)
		return err_result(e);
	for (size_t i = 0; i < rules->count; i++) {
		const struct pattern_rule *p = &rules->items[i];
		int n;

		if (p->is_void)
			continue;
		n = p->is_allow ? add_pattern(r, writes ? RULE_WRITE : RULE_READ, p, e)
				: add_deny(r, RULE_NOTHING, p, e);
		if (n < 0)
			return n;
	}
	return 0;
}

struct tools {
	pattern_list edit, read, outside;
};

static int add_denied(struct rules *r, struct origin origin, const struct import_file *file,
		      pattern_list *out, struct err *e)
{
	struct pattern_rule *added = VEC_PUSH(r->a, out, e);

	if (!added)
		return err_result(e);
	*added = (struct pattern_rule){ .pattern = STR("*"), .file = file, .origin = origin };
	return 0;
}

/* The older "tools": { "edit": false }. */
static int add_tool(struct rules *r, const struct json_member *m, const struct import_file *file,
		    struct tools *t, struct err *e)
{
	static const char *const writers[] = { "edit",	    "write",	   "patch",
					       "multiedit", "apply_patch", NULL };
	static const char *const readers[] = { "read", NULL };
	struct origin origin = value_origin(file->name, &m->value);
	bool writes, reads;

	if (m->value.type != JSON_BOOL)
		return FAIL_AT(e, ERR_POLICY, origin, "'tools.%.*s' has to be true or false",
			       STR_ARG(m->name));
	if (names_one_of(r, m->name, writers, &writes, e) < 0 ||
	    names_one_of(r, m->name, readers, &reads, e) < 0)
		return err_result(e);
	if (m->value.boolean || (!writes && !reads))
		return rules_note(r, origin, e, "tools.%.*s: %s", STR_ARG(m->name),
				  m->value.boolean ? "opens nothing that another rule denies"
						   : no_such_rules);
	if ((writes && add_denied(r, origin, file, &t->edit, e) < 0) ||
	    (reads && add_denied(r, origin, file, &t->read, e) < 0))
		return err_result(e);
	return 0;
}

static int note_rest(struct rules *r, const struct json *permission, const struct import_file *file,
		     struct err *e)
{
	static const char *const known[] = { "edit", "read", "external_directory", "*", NULL };

	return permission->type != JSON_OBJECT
		       ? 0
		       : members_note(r, permission, file->name, "permission", known, true, e);
}

static int import_file(struct rules *r, const struct import_file *file, struct tools *t,
		       struct err *e)
{
	static const char *const known[] = { "permission", "tools", "$schema", NULL };
	const struct json *root = jsonc_parse(r->a, file->text, e), *permission, *tools, *agents;

	if (!root)
		return err_wrap(e, "%s", file->name);
	if (file_check_not_empty(file, e) < 0)
		return err_result(e);
	if (root->type != JSON_OBJECT)
		return FAIL_AT(e, ERR_POLICY, value_origin(file->name, root),
			       "this is no configuration of opencode");
	if (member_get(root, file->name, "tools", JSON_OBJECT, &tools, e) < 0)
		return err_result(e);
	permission = json_find(root, "permission");
	if (permission &&
	    (find_rules(r, permission, file, "edit", &t->edit, e) < 0 ||
	     find_rules(r, permission, file, "read", &t->read, e) < 0 ||
	     find_rules(r, permission, file, "external_directory", &t->outside, e) < 0 ||
	     note_rest(r, permission, file, e) < 0))
		return err_result(e);
	for (size_t i = 0; tools && i < tools->object.count; i++)
		if (add_tool(r, &tools->object.items[i], file, t, e) < 0)
			return err_result(e);
	agents = json_find(root, "agent");
	if (agents && rules_note(r, value_origin(file->name, agents), e,
				 "permissions of single agents are not carried over") < 0)
		return err_result(e);
	return members_note_unrelated(r, root, file->name, known, e);
}

static bool writes_anything(const struct rules *r)
{
	for (size_t i = 0; i < r->paths.count; i++)
		if (r->paths.items[i].kind == RULE_WRITE)
			return true;
	return false;
}

int import_opencode(struct rules *r, const struct import_file *files, size_t count, struct err *e)
{
	struct tools t = { 0 };

	r->whole = (struct origin){ .file = files[count - 1].name, .line = 1, .column = 1 };
	for (size_t i = 0; i < count; i++)
		if (import_file(r, &files[i], &t, e) < 0)
			return err_result(e);
	if (add_edits(r, &t.edit, e) < 0 || add_reads(r, &t.read, e) < 0)
		return err_result(e);
	return add_outside(r, &t.outside, writes_anything(r), e);
}
