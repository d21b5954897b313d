/* SPDX-License-Identifier: MIT */
/*
 * Codex: its permission profiles, which Cordon's are much like, and its older sandbox modes. Here, too, the longest
 * entry decides, so each line stays a line.
 */
#include "base/glob.h"
#include "base/nearest.h"
#include "base/toml.h"
#include "import/rules.h"
#include "policy/tree.h"

enum { TEXT_MAX_BYTES = 8 << 20, EXTENDS_MAX = 32 };

struct codex {
	struct rules *r;
	struct arena *a;
	const struct toml *config; /* of all files */
	struct buf top, files, environment;
	VEC(struct str) keys; /* that were written, a table and a key each */
	bool has_network;     /* besides `enabled` */
	bool is_enabled, is_off, is_limited;
};

static void codex_done(struct codex *c)
{
	buf_done(&c->top);
	buf_done(&c->files);
	buf_done(&c->environment);
}

static void end_line(struct buf *b, struct origin origin)
{
	buf_add_text(b, " # ");
	comment_add_origin(b, origin);
	buf_add_text(b, origin.file ? "\n" : "what codex does by itself\n");
}

static int find_typed(const struct toml *table, const char *name, enum toml_type type,
		      const struct toml **out, struct err *e)
{
	const struct toml *value = table ? toml_find(table, name) : NULL;

	if (value && value->type != type)
		return FAIL_AT(e, ERR_POLICY, value->origin, "'%s' has to be a %s", name,
			       toml_type_name(type));
	*out = value;
	return 0;
}

/* ---- Files -------------------------------------------------------------------- */

static bool is_new_key(struct codex *c, struct str key, bool *out, struct err *e)
{
	struct str *added;

	*out = true;
	for (size_t i = 0; i < c->keys.count; i++)
		if (str_eq(c->keys.items[i], key))
			*out = false;
	if (!*out)
		return true;
	added = VEC_PUSH(c->a, &c->keys, e);
	if (added)
		*added = key;
	return added != NULL;
}

/* `base` ":tmpdir" or "", `key` below it, both as fs_key.h has them. */
static int add_entry(struct codex *c, struct str table, struct str key, const char *access,
		     struct origin origin, struct err *e)
{
	struct str both;
	bool is_new;

	if (arena_printf(c->a, &both, e, "%.*s%c%.*s", (int)table.len, table.p, '\n', (int)key.len,
			 key.p) < 0 ||
	    !is_new_key(c, both, &is_new, e))
		return err_result(e);
	if (!is_new)
		return FAIL_AT(e, ERR_POLICY, origin, "'%.*s' is said twice", STR_ARG(key));
	if (table.len) {
		toml_add_key(&c->files, table);
		buf_add_char(&c->files, '.');
	}
	toml_add_key(&c->files, key);
	buf_printf(&c->files, " = \"%s\"", access);
	end_line(&c->files, origin);
	return 0;
}

static int read_access(const struct toml *value, enum rule_kind *kind, const char **name,
		       struct err *e)
{
	static const struct {
		const char *word, *name;
		enum rule_kind kind;
	} all[] = {
		{ "write", "write", RULE_WRITE },
		{ "read", "read", RULE_READ },
		{ "deny", "deny", RULE_NOTHING },
		{ "none", "deny", RULE_NOTHING },
	};

	for (size_t i = 0; value->type == TOML_STRING && i < COUNT_OF(all); i++)
		if (str_is(value->string, all[i].word)) {
			*kind = all[i].kind;
			*name = all[i].name;
			return 0;
		}
	return FAIL_AT(e, ERR_POLICY, value->origin,
		       "an access is \"read\", \"write\" or \"deny\"");
}

/* Directly in a temporary directory codex protects what it protects in a workspace. */
static int protect_temporary(struct codex *c, struct str key, struct err *e)
{
	static const char *const names[] = { ".git", ".agents", ".codex", ".aws" };
	const struct origin nowhere = { .file = NULL };

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (add_entry(c, key, str_of(names[i]), "read", nowhere, e) < 0)
			return err_result(e);
	return 0;
}

static int add_path(struct codex *c, struct str text, enum rule_base base, const struct toml *value,
		    struct err *e)
{
	struct str path = base == BASE_HOME ? str_from(text, 1) : text;
	size_t before = c->r->paths.count;
	enum rule_kind kind;
	const char *access;

	if (read_access(value, &kind, &access, e) < 0 ||
	    rules_add_path(c->r, kind, base, path, SYNTAX_GLOB, text, value->origin, e) < 0)
		return err_result(e);
	if (c->r->paths.count > before && c->r->paths.items[before].leaves)
		return FAIL_AT(e, ERR_POLICY, value->origin, "'%.*s' leads out of the workspace",
			       STR_ARG(text));
	return 0;
}

static int print_paths(struct codex *c, struct err *e)
{
	if (rules_hide_reads(c->r, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < c->r->paths.count; i++) {
		const struct path_rule *p = &c->r->paths.items[i];
		const char *access = p->kind == RULE_WRITE  ? "write"
				     : p->kind == RULE_READ ? "read"
							    : "deny";
		struct key_text key;

		if (p->is_gone) {
			if (rules_note(c->r, p->origin, e, "\"%.*s\": %s", STR_ARG(p->text),
				       p->why) < 0)
				return err_result(e);
			continue;
		}
		if (key_text(c->a, p->base, p->path, p->glob, &key, e) < 0)
			return err_wrap_place(e, p->origin);
		if (add_entry(c, key.table, key.key, access, p->origin, e) < 0)
			return err_result(e);
	}
	return 0;
}

/*
 * ":tmpdir": by its path, as then what codex protects in it is protected, and as an entry that narrows below it is
 * an error where $TMPDIR is not set. ":slash_tmp" alone opens /tmp.
 */
static int add_tmpdir(struct codex *c, const struct toml *value, enum rule_kind kind, struct err *e)
{
	struct str path = c->r->host->temporary;

	if (!path.len && kind != RULE_WRITE)
		return FAIL_AT(e, ERR_POLICY, value->origin,
			       "which directory ':tmpdir' is can't be known, as $TMPDIR is not set "
			       "to an absolute path");
	if (kind == RULE_WRITE && (!path.len || str_is(path, "/tmp")))
		return rules_note(
			c->r, value->origin, e, "':tmpdir' opens nothing, as $TMPDIR is %s",
			path.len ? "/tmp, which is ':slash_tmp'" : "not set to an absolute path");
	if (rules_note(c->r, value->origin, e,
		       "':tmpdir' is the directory that $TMPDIR names now") < 0)
		return err_result(e);
	return add_path(c, path, BASE_ROOT, value, e);
}

static int add_special(struct codex *c, struct str key, const struct toml *value, struct err *e)
{
	static const char *const known[] = {
		":root",      ":minimal", ":workspace_roots", ":project_roots", ":tmpdir",
		":slash_tmp", NULL
	};
	bool is_roots = str_is(key, ":project_roots") || str_is(key, ":workspace_roots");
	enum rule_kind kind;
	const char *access;

	if (read_access(value, &kind, &access, e) < 0)
		return err_result(e);
	if (!is_one_of(key, known))
		return rules_note(c->r, value->origin, e,
				  "'%.*s' is unknown, and the original ignores it", STR_ARG(key));
	if (str_is(key, ":tmpdir"))
		return add_tmpdir(c, value, kind, e);
	if (!str_is(key, ":slash_tmp") || kind != RULE_WRITE)
		return is_roots ? add_path(c, STR(""), BASE_WORKSPACE, value, e)
				: add_entry(c, STR_EMPTY, key, access, value->origin, e);
	if (add_entry(c, key, STR("."), access, value->origin, e) < 0)
		return err_result(e);
	return protect_temporary(c, key, e);
}

static int add_scoped(struct codex *c, struct str key, const struct toml *table, struct err *e)
{
	for (size_t i = 0; i < table->table.count; i++) {
		const struct toml_member *m = &table->table.items[i];
		bool is_roots = str_is(key, ":workspace_roots") || str_is(key, ":project_roots");
		struct str whole;
		int n;

		if (key.len && key.p[0] == ':' && !is_roots) {
			n = rules_note(c->r, m->value.origin, e,
				       "'%.*s' is unknown, and the original ignores it",
				       STR_ARG(key));
		} else if (is_roots) {
			n = add_path(c, m->name, BASE_WORKSPACE, &m->value, e);
		} else {
			n = arena_printf(c->a, &whole, e, "%.*s/%.*s", (int)key.len, key.p,
					 (int)m->name.len, m->name.p);
			if (n == 0)
				n = add_path(c, whole, key.p[0] == '~' ? BASE_HOME : BASE_ROOT,
					     &m->value, e);
		}
		if (n < 0)
			return n;
	}
	return 0;
}

static int add_file_key(struct codex *c, const struct toml_member *m, struct err *e)
{
	struct str key = m->name;
	bool is_path = str_has_prefix(key, STR("/")) || str_is(key, "~") ||
		       str_has_prefix(key, STR("~/"));

	if (str_is(key, "glob_scan_max_depth"))
		return rules_note(c->r, m->value.origin, e,
				  "glob_scan_max_depth: here patterns hold at every depth");
	if (!is_path && !str_has_prefix(key, STR(":")))
		return FAIL_AT(e, ERR_POLICY, m->name_origin, "'%.*s' is no path that codex takes",
			       STR_ARG(key));
	if (m->value.type == TOML_TABLE)
		return add_scoped(c, key, &m->value, e);
	if (!is_path)
		return add_special(c, key, &m->value, e);
	return add_path(c, key, key.p[0] == '~' ? BASE_HOME : BASE_ROOT, &m->value, e);
}

static int add_files(struct codex *c, const struct toml *profile, struct err *e)
{
	const struct toml *filesystem;

	if (find_typed(profile, "filesystem", TOML_TABLE, &filesystem, e) < 0)
		return err_result(e);
	for (size_t i = 0; filesystem && i < filesystem->table.count; i++)
		if (add_file_key(c, &filesystem->table.items[i], e) < 0)
			return err_result(e);
	return 0;
}

/* ---- The network -------------------------------------------------------------- */

/* "a*b.example.com" denied: all of ".example.com" is. */
static int deny_wider(struct codex *c, const struct toml_member *m, struct err *e)
{
	struct str rest = m->name, text;
	size_t star = rest.len;

	while (star > 0 && rest.p[star - 1] != '*')
		star--;
	rest = str_from(rest, star);
	rest = str_from(rest, str_find(rest, '.'));
	if (!star || rest.len < 2) {
		c->is_off = true;
		return rules_note(c->r, m->name_origin, e,
				  "\"%.*s\" can't be denied, so no host is allowed",
				  STR_ARG(m->name));
	}
	if (rules_note(c->r, m->name_origin, e,
		       "\"%.*s\" means something else here, so more is denied",
		       STR_ARG(m->name)) < 0 ||
	    arena_printf(c->a, &text, e, "**%.*s", (int)rest.len, rest.p) < 0)
		return err_result(e);
	return rules_add_host(c->r, false, text, m->name_origin, e);
}

static int add_domain(struct codex *c, const struct toml_member *m, struct err *e)
{
	bool is_allow = m->value.type == TOML_STRING && str_is(m->value.string, "allow");
	struct err wrong = ERR_INIT;
	struct host_rule *added;
	struct domain d;

	c->has_network = true;
	if (!is_allow && (m->value.type != TOML_STRING ||
			  (!str_is(m->value.string, "deny") && !str_is(m->value.string, "none"))))
		return FAIL_AT(e, ERR_POLICY, m->value.origin, "a host is \"allow\" or \"deny\"");
	if (domain_parse(c->a, m->name, &d, &wrong) < 0) {
		if (wrong.code == ERR_NOMEM) {
			*e = wrong;
			return err_result(e);
		}
		return is_allow ? rules_note(c->r, m->name_origin, e,
					     "\"%.*s\" is no pattern here; write the names, or "
					     "\"*.\" and the "
					     "domain",
					     STR_ARG(m->name))
				: deny_wider(c, m, e);
	}
	if (!is_allow && d.kind == DOMAIN_ANY) {
		c->is_off = true;
		return 0;
	}
	added = VEC_PUSH(c->a, &c->r->hosts, e);
	if (!added)
		return err_result(e);
	*added = (struct host_rule){
		.domain = d, .is_allow = is_allow, .text = m->name, .origin = m->name_origin
	};
	return 0;
}

static int add_socket(struct codex *c, const struct toml_member *m, struct err *e)
{
	c->has_network = true;
	if (m->value.type == TOML_STRING && str_is(m->value.string, "allow"))
		return rules_note(c->r, m->name_origin, e,
				  "on Linux the original opens no single socket; add \"%.*s\" to "
				  "network.unix_sockets",
				  STR_ARG(m->name));
	/* None is allowed, so none has to be denied. */
	return 0;
}

static int each(struct codex *c, const struct toml *table,
		int (*add)(struct codex *c, const struct toml_member *m, struct err *e),
		struct err *e)
{
	for (size_t i = 0; table && i < table->table.count; i++)
		if (add(c, &table->table.items[i], e) < 0)
			return err_result(e);
	return 0;
}

static int add_network_key(struct codex *c, const struct toml_member *m, struct err *e)
{
	static const char *const ignored[] = { "proxy_url",	      "socks_url",
					       "enable_socks5",	      "enable_socks5_udp",
					       "allow_local_binding", "allow_upstream_proxy" };
	bool is_true = m->value.type == TOML_BOOLEAN && m->value.boolean;

	if (str_is(m->name, "enabled")) {
		c->is_enabled = is_true;
		return 0;
	}
	if (str_is(m->name, "domains") && m->value.type == TOML_TABLE)
		return each(c, &m->value, add_domain, e);
	if (str_is(m->name, "unix_sockets") && m->value.type == TOML_TABLE)
		return each(c, &m->value, add_socket, e);
	if (str_is(m->name, "mode")) {
		c->has_network = true;
		c->is_limited = m->value.type != TOML_STRING || !str_is(m->value.string, "full");
		return 0;
	}
	for (size_t i = 0; i < COUNT_OF(ignored); i++)
		if (str_is(m->name, ignored[i]))
			return rules_note(c->r, m->name_origin, e, "network.%s: not carried over",
					  ignored[i]);
	if (str_has_prefix(m->name, STR("dangerously_")))
		return rules_note(c->r, m->name_origin, e, "network.%.*s: here it is never so",
				  STR_ARG(m->name));
	/* "mitm" has hooks that deny requests; what else there is, nobody knows. */
	c->is_off = true;
	return rules_note(
		c->r, m->name_origin, e,
		"network.%.*s: may deny what can't be denied here, so there is no network",
		STR_ARG(m->name));
}

static int add_network(struct codex *c, const struct toml *profile, struct err *e)
{
	const struct toml *network;

	if (find_typed(profile, "network", TOML_TABLE, &network, e) < 0)
		return err_result(e);
	return each(c, network, add_network_key, e);
}

static bool allows_host(const struct rules *r)
{
	for (size_t i = 0; i < r->hosts.count; i++)
		if (r->hosts.items[i].is_allow)
			return true;
	return false;
}

static int print_hosts(struct codex *c, struct buf *b, struct err *e)
{
	const struct rules *r = c->r;

	for (size_t pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < r->hosts.count; i++) {
			const struct host_rule *h = &r->hosts.items[i];
			struct str key;
			bool is_new;

			if (h->is_allow != (pass == 1))
				continue;
			if (arena_printf(c->a, &key, e, "host\n%.*s", (int)h->domain.text.len,
					 h->domain.text.p) < 0 ||
			    !is_new_key(c, key, &is_new, e))
				return err_result(e);
			if (!is_new)
				continue;
			toml_add_key(b, h->domain.text);
			buf_printf(b, " = \"%s\"", h->is_allow ? "allow" : "deny");
			end_line(b, h->origin);
		}
	return 0;
}

static int print_network(struct codex *c, struct buf *b, struct err *e)
{
	buf_add_text(b, "\n[permissions.codex.network]\n");
	if (!c->is_enabled || c->is_off || (c->has_network && !allows_host(c->r))) {
		buf_add_text(b, "enabled = false\n");
		return 0;
	}
	buf_add_text(b, "enabled = true\n");
	if (c->is_limited)
		buf_add_text(b, "mode = \"limited\"\n");
	if (!c->has_network)
		return 0;
	buf_add_text(b, "\n[permissions.codex.network.domains]\n");
	return print_hosts(c, b, e);
}

/* ---- Variables ---------------------------------------------------------------- */

static int add_patterns(struct codex *c, const struct toml *list, struct err *e)
{
	buf_add_text(&c->environment, "exclude = [\n");
	for (size_t i = 0; i < list->array.count; i++) {
		const struct toml *item = &list->array.items[i];

		if (item->type != TOML_STRING)
			return FAIL_AT(e, ERR_POLICY, item->origin,
				       "'exclude' has to be a list of strings");
		for (size_t k = 0; k < item->string.len; k++) {
			char ch = item->string.p[k];

			if (!ascii_is_alpha(ch) && !ascii_is_digit(ch) && ch != '_' && ch != '*' &&
			    ch != '?')
				return FAIL_AT(e, ERR_POLICY, item->origin,
					       "'%.*s' is no pattern of names",
					       STR_ARG(item->string));
		}
		buf_add_char(&c->environment, '\t');
		toml_add_string(&c->environment, item->string);
		buf_add_char(&c->environment, ',');
		end_line(&c->environment, item->origin);
	}
	buf_add_text(&c->environment, "]\n");
	return 0;
}

static int add_environment(struct codex *c, struct err *e)
{
	const struct toml *policy, *inherit, *exclude, *only, *set;
	const char *word = "all";

	if (find_typed(c->config, "shell_environment_policy", TOML_TABLE, &policy, e) < 0)
		return err_result(e);
	if (!policy)
		return 0;
	if (find_typed(policy, "inherit", TOML_STRING, &inherit, e) < 0 ||
	    find_typed(policy, "exclude", TOML_ARRAY, &exclude, e) < 0 ||
	    find_typed(policy, "include_only", TOML_ARRAY, &only, e) < 0 ||
	    find_typed(policy, "set", TOML_TABLE, &set, e) < 0)
		return err_result(e);
	if (inherit && !str_is(inherit->string, "all"))
		word = str_is(inherit->string, "core") ? "core" : "none";
	if (only && only->array.count) {
		word = "none";
		if (rules_note(c->r, only->origin, e,
			       "include_only: here no variable is inherited; set those that are "
			       "needed") < 0)
			return err_result(e);
	}
	if (set &&
	    rules_note(c->r, set->origin, e, "shell_environment_policy.set: not carried over") < 0)
		return err_result(e);
	buf_printf(&c->environment, "\n[permissions.codex.environment]\ninherit = \"%s\"", word);
	end_line(&c->environment, policy->origin);
	return exclude ? add_patterns(c, exclude, e) : 0;
}

/* ---- Which profile ------------------------------------------------------------ */

static int parse_builtin(struct codex *c, bool writes, struct toml **out, struct err *e)
{
	static const char read_only[] = "filesystem = { \":root\" = \"read\" }\n";
	static const char workspace[] =
		"filesystem = { \":root\" = \"read\", \":workspace_roots\" = \"write\", "
		"\":slash_tmp\" = \"write\", \":tmpdir\" = \"write\" }\n";

	*out = toml_parse(c->a, "codex", str_of(writes ? workspace : read_only), e);
	return *out ? 0 : err_result(e);
}

static int check_profile_keys(const struct toml *profile, struct err *e)
{
	static const char *const known[] = { "description", "extends", "workspace_roots",
					     "filesystem",  "network", NULL };

	for (size_t i = 0; i < profile->table.count; i++) {
		const struct toml_member *m = &profile->table.items[i];

		if (!is_one_of(m->name, known))
			return FAIL_AT(e, ERR_POLICY, m->name_origin,
				       "'%.*s' is no key of a profile that is known here, and may "
				       "deny something",
				       STR_ARG(m->name));
	}
	return 0;
}

/* The profile with its parents below it. */
static int find_profile(struct codex *c, struct str name, struct origin origin, size_t depth,
			struct toml **out, struct err *e)
{
	const struct toml *all, *profile, *extends;

	if (str_is(name, ":read-only") || str_is(name, ":workspace"))
		return parse_builtin(c, str_is(name, ":workspace"), out, e);
	if (find_typed(c->config, "permissions", TOML_TABLE, &all, e) < 0)
		return err_result(e);
	profile = all && !str_has_prefix(name, STR(":")) ? tree_find(all, name) : NULL;
	if (!profile || profile->type != TOML_TABLE || depth > EXTENDS_MAX)
		return FAIL_AT(e, ERR_POLICY, origin,
			       depth > EXTENDS_MAX ? "profile '%.*s' extends itself"
						   : "there is no profile '%.*s'",
			       STR_ARG(name));
	if (check_profile_keys(profile, e) < 0 ||
	    find_typed(profile, "extends", TOML_STRING, &extends, e) < 0)
		return err_result(e);
	if (extends) {
		if (find_profile(c, extends->string, extends->origin, depth + 1, out, e) < 0)
			return err_result(e);
	} else {
		*out = toml_parse(c->a, "codex", STR_EMPTY, e);
		if (!*out)
			return err_result(e);
	}
	return tree_merge(c->a, *out, profile, e);
}

static int add_roots(struct codex *c, const struct toml *profile, struct err *e)
{
	const struct toml *roots;

	if (find_typed(profile, "workspace_roots", TOML_TABLE, &roots, e) < 0 || !roots)
		return e->code != ERR_OK ? err_result(e) : 0;
	buf_add_text(&c->top, "\n[permissions.codex.workspace_roots]\n");
	for (size_t i = 0; i < roots->table.count; i++) {
		const struct toml_member *m = &roots->table.items[i];
		struct str way = m->name, part;

		if (m->value.type != TOML_BOOLEAN || !m->value.boolean)
			continue;
		for (size_t at = 0; at <= way.len; at += part.len + 1) {
			part = str_first(str_from(way, at), str_find(str_from(way, at), '/'));
			if (str_is(part, ".."))
				return rules_note(
					c->r, m->name_origin, e,
					"the workspace root \"%.*s\" leads out of the workspace",
					STR_ARG(way));
		}
		toml_add_key(&c->top, way);
		buf_add_text(&c->top, " = true");
		end_line(&c->top, m->name_origin);
	}
	return 0;
}

static int use_profile(struct codex *c, struct str name, struct origin origin, struct err *e)
{
	struct toml *profile;

	if (find_profile(c, name, origin, 0, &profile, e) < 0 || add_files(c, profile, e) < 0 ||
	    add_network(c, profile, e) < 0)
		return err_result(e);
	return add_roots(c, profile, e);
}

/* sandbox_mode = "workspace-write", and its table. */
static int use_workspace_mode(struct codex *c, struct err *e)
{
	const struct toml *mode, *roots, *network, *no_tmpdir, *no_tmp;
	struct toml *profile, *filesystem;
	size_t kept = 0;

	if (find_typed(c->config, "sandbox_workspace_write", TOML_TABLE, &mode, e) < 0 ||
	    find_typed(mode, "writable_roots", TOML_ARRAY, &roots, e) < 0 ||
	    find_typed(mode, "network_access", TOML_BOOLEAN, &network, e) < 0 ||
	    find_typed(mode, "exclude_tmpdir_env_var", TOML_BOOLEAN, &no_tmpdir, e) < 0 ||
	    find_typed(mode, "exclude_slash_tmp", TOML_BOOLEAN, &no_tmp, e) < 0 ||
	    parse_builtin(c, true, &profile, e) < 0)
		return err_result(e);
	filesystem = &profile->table.items[0].value;
	for (size_t i = 0; i < filesystem->table.count; i++) {
		struct str name = filesystem->table.items[i].name;

		if (!(no_tmpdir && no_tmpdir->boolean && str_is(name, ":tmpdir")) &&
		    !(no_tmp && no_tmp->boolean && str_is(name, ":slash_tmp")))
			filesystem->table.items[kept++] = filesystem->table.items[i];
	}
	filesystem->table.count = kept;
	c->is_enabled = network && network->boolean;
	if (add_files(c, profile, e) < 0)
		return err_result(e);
	for (size_t i = 0; roots && i < roots->array.count; i++) {
		const struct toml *item = &roots->array.items[i];
		struct toml access = { .type = TOML_STRING, .origin = item->origin };

		access.string = STR("write");
		if (item->type != TOML_STRING || !str_has_prefix(item->string, STR("/")))
			return FAIL_AT(e, ERR_POLICY, item->origin,
				       "a writable root is an absolute path");
		if (add_path(c, item->string, BASE_ROOT, &access, e) < 0)
			return err_result(e);
	}
	return 0;
}

static int mode_rank(const struct toml *mode)
{
	if (str_is(mode->string, "danger-full-access"))
		return 2;
	return str_is(mode->string, "workspace-write") ? 1 : 0;
}

static int note_unknown_mode(struct codex *c, const struct toml *mode, struct err *e)
{
	static const char *const known[] = { "read-only", "workspace-write", "danger-full-access" };
	const char *meant;

	for (size_t i = 0; i < COUNT_OF(known); i++)
		if (str_is(mode->string, known[i]))
			return 0;
	meant = nearest_name(mode->string, known, COUNT_OF(known));
	return rules_note(c->r, mode->origin, e,
			  "codex has no sandbox_mode \"%.*s\", so it is read-only here%s%s%s",
			  STR_ARG(mode->string), meant ? "; did you mean \"" : "",
			  meant ? meant : "", meant ? "\"?" : "");
}

/* The lesser of what the file says at its top and in its [profiles.X]. */
static int find_mode(struct codex *c, const struct toml **out, struct err *e)
{
	const struct toml *name, *profiles, *inner;
	const struct toml *profile = NULL;

	if (find_typed(c->config, "sandbox_mode", TOML_STRING, out, e) < 0 ||
	    find_typed(c->config, "profile", TOML_STRING, &name, e) < 0 ||
	    find_typed(c->config, "profiles", TOML_TABLE, &profiles, e) < 0)
		return err_result(e);
	if (name && profiles)
		profile = tree_find(profiles, name->string);
	if (profile && find_typed(profile, "sandbox_mode", TOML_STRING, &inner, e) < 0)
		return err_result(e);
	if (profile && inner && (!*out || mode_rank(inner) < mode_rank(*out)))
		*out = inner;
	return 0;
}

static int use_selected(struct codex *c, struct err *e)
{
	static const struct origin nowhere = { .file = NULL };
	const struct toml *name, *mode;

	if (find_typed(c->config, "default_permissions", TOML_STRING, &name, e) < 0 ||
	    find_mode(c, &mode, e) < 0)
		return err_result(e);
	if (mode && note_unknown_mode(c, mode, e) < 0)
		return err_result(e);
	if (name && mode) {
		if (rules_note(c->r, mode->origin, e,
			       "both 'default_permissions' and 'sandbox_mode' are set, so "
			       "everything is read-only") < 0)
			return err_result(e);
		return use_profile(c, STR(":read-only"), nowhere, e);
	}
	if ((name && str_is(name->string, ":danger-full-access")) ||
	    (mode && mode_rank(mode) == 2)) {
		if (rules_note(
			    c->r, name ? name->origin : mode->origin, e,
			    "codex has no sandbox then; this is the widest profile that has one") <
		    0)
			return err_result(e);
		return use_profile(c, STR(":workspace"), nowhere, e);
	}
	if (name)
		return use_profile(c, name->string, name->origin, e);
	if (mode && mode_rank(mode) == 1)
		return use_workspace_mode(c, e);
	if (!mode && rules_note(c->r, nowhere, e,
				"neither 'default_permissions' nor 'sandbox_mode' is set: codex "
				"lets commands write in "
				"projects that it knows, this profile in none") < 0)
		return err_result(e);
	return use_profile(c, STR(":read-only"), nowhere, e);
}

/* ---- All together ------------------------------------------------------------- */

static int note_unrelated(struct codex *c, struct err *e)
{
	static const char *const known[] = { "default_permissions",
					     "permissions",
					     "sandbox_mode",
					     "sandbox_workspace_write",
					     "shell_environment_policy",
					     NULL };
	scoped_buf list = BUF_INIT(1 << 20);

	for (size_t i = 0; i < c->config->table.count; i++)
		unrelated_add(&list, c->config->table.items[i].name, known);
	return unrelated_note(c->r, c->config->origin, &list, e);
}

static int print(struct codex *c, struct err *e)
{
	scoped_buf text = BUF_INIT(TEXT_MAX_BYTES);
	struct imported *out = c->r->out;

	comment_add_head(&text, c->r);
	comment_add_notes(&text, out);
	buf_add_text(&text, "\ndefault_permissions = \"codex\"\n\n[permissions.codex]\n"
			    "description = \"imported from codex\"\n"
			    "protect = [\".aws\"] # what codex does by itself\n");
	buf_add(&text, buf_str(&c->top));
	buf_add_text(&text, "\n[permissions.codex.filesystem]\n");
	buf_add(&text, buf_str(&c->files));
	buf_add_text(&text, "\"/tmp/codex-daemon-*/**\" = \"deny\" # what codex does by itself\n");
	if (print_network(c, &text, e) < 0)
		return err_result(e);
	buf_add(&text, buf_str(&c->environment));
	if (buf_check(&c->top, e) < 0 || buf_check(&c->files, e) < 0 ||
	    buf_check(&c->environment, e) < 0 || buf_check(&text, e) < 0)
		return err_result(e);
	out->profile = STR("codex");
	return arena_copy(c->a, buf_str(&text), &out->text, e);
}

int import_codex(struct rules *r, const struct import_file *files, size_t count, struct err *e)
{
	SCOPED(codex_done)
	struct codex c = { .r = r,
			   .a = r->a,
			   .top = BUF_INIT(TEXT_MAX_BYTES),
			   .files = BUF_INIT(TEXT_MAX_BYTES),
			   .environment = BUF_INIT(TEXT_MAX_BYTES) };
	struct toml *all = NULL;

	for (size_t i = 0; i < count; i++) {
		struct toml *config = toml_parse(r->a, files[i].name, files[i].text, e);

		if (!config)
			return err_result(e);
		if (!all)
			all = config;
		else if (tree_merge(r->a, all, config, e) < 0)
			return err_result(e);
	}
	c.config = all;
	if (use_selected(&c, e) < 0 || print_paths(&c, e) < 0 || add_environment(&c, e) < 0 ||
	    note_unrelated(&c, e) < 0)
		return err_result(e);
	return print(&c, e);
}
