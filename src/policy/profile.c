/* SPDX-License-Identifier: MIT */
/* One table in normal form to a struct profile (P4), or to a narrowing layer (P2). */
#include <stdarg.h>
#include <stdio.h>

#include "base/nearest.h"
#include "base/path.h"
#include "policy/decode.h"
#include "policy/fs_key.h"
#include "policy/metadata.h"

int decode_warn(const struct decode *d, struct origin origin, struct err *e, const char *fmt, ...)
{
	char text[2 * sizeof(e->text)];
	char shown[sizeof(e->text)];
	struct warning *added;
	va_list args;

	if (!d->warnings)
		return 0;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	added = VEC_PUSH(d->a, d->warnings, e);
	if (!added)
		return err_result(e);
	added->origin = origin;
	/* Cut at a whole character, as no text grows shorter by being escaped. */
	return arena_copy(d->a, str_of(utf8_show(str_of(text), shown, sizeof(shown))), &added->text,
			  e);
}

int decode_check(const struct decode *d, const struct toml *table, enum schema_table which,
		 const char *name, struct err *e)
{
	char where[SHOWN_BYTES + 64];

	(void)snprintf(where, sizeof(where), "'%s' of %s", name, d->where);
	return schema_check(table, which, SCHEMA_USER, where, e);
}

void profile_init(struct profile *p)
{
	*p = (struct profile){
		.name = STR_EMPTY,
		.description = STR_EMPTY,
		.net = { .access = NET_OFF, .allows_upstream_proxy = true },
		.git = GIT_READ,
		.isolates_ipc = true,
		.isolates_proc = true,
		.env = { .inherit = ENV_ALL },
	};
}

int decode_roots(const struct decode *d, const struct toml *profile, struct profile *out,
		 struct err *e)
{
	const struct toml *table = toml_find(profile, "workspace_roots");

	for (size_t i = 0; table && i < table->table.count; i++) {
		const struct toml_member *m = &table->table.items[i];
		struct root root = { .origin = m->name_origin };
		struct root *added;
		int r = schema_type(&m->value, TOML_BOOLEAN, "the value of a workspace root", e);

		if (r == 0)
			r = fs_literal_parse(d->a, m->name, true, "the workspace root",
					     m->name_origin, &root.anchor, &root.path, e);
		if (r < 0)
			return r;
		if (!m->value.boolean)
			continue;
		added = VEC_PUSH(d->a, &out->roots, e);
		if (!added)
			return err_result(e);
		*added = root;
	}
	return 0;
}

static int check_protected(const struct toml *value, struct err *e)
{
	struct str name;
	int r = schema_type(value, TOML_STRING, "a name in 'protect'", e);

	if (r < 0)
		return r;
	name = value->string;
	if (name.len == 0 || str_is(name, ".") || str_is(name, "..") || str_has_nul(name) ||
	    str_find(name, '/') < name.len)
		return FAIL_AT(
			e, ERR_POLICY, value->origin,
			"'%s' can't be protected: 'protect' takes single names like \".hg\"; "
			"for a path use 'filesystem' with \"read\"",
			SHOWN(name));
	if (name.len > PATH_MAX_COMPONENT)
		return FAIL_AT(e, ERR_LIMIT, value->origin,
			       "a name of %zu bytes is too long, the limit is %d", name.len,
			       PATH_MAX_COMPONENT);
	return 0;
}

int decode_protect(const struct decode *d, const struct toml *array, names *out, struct err *e)
{
	for (size_t i = 0; i < array->array.count; i++) {
		const struct toml *value = &array->array.items[i];
		struct named *added;
		int r = check_protected(value, e);

		if (r < 0)
			return r;
		added = VEC_PUSH(d->a, out, e);
		if (!added)
			return err_result(e);
		*added = (struct named){ value->string, value->origin };
	}
	return 0;
}

int decode_workspace(const struct toml *profile, bool *is_repo, struct err *e)
{
	static const char *const workspaces[] = { "cwd", "repo", NULL };
	const struct toml *workspace = toml_find(profile, "workspace");
	size_t which = 0;

	if (workspace && schema_choice(workspace, "'workspace'", workspaces, &which, e) < 0)
		return err_result(e);
	*is_repo = which == 1;
	return 0;
}

int unprotect_check(struct str name, struct origin origin, struct err *e)
{
	const char *known[METADATA_MAX_NAMES];
	const char *nearest;

	if (str_is(name, METADATA_OWN))
		return FAIL_AT(e, ERR_POLICY, origin,
			       "'" METADATA_OWN
			       "' can't be unprotected: the next run's policy is read from it");
	if (str_is(name, ".git"))
		return FAIL_AT(e, ERR_POLICY, origin,
			       "'.git' can't be unprotected so: 'git = \"commit\"' or "
			       "'git = \"write\"' opens it");
	if (metadata_find(name))
		return 0;
	for (size_t i = 0; i < metadata_name_count; i++)
		known[i] = metadata_names[i].name;
	nearest = nearest_name(name, known, metadata_name_count);
	return FAIL_AT(e, ERR_POLICY, origin,
		       "'%s' is no name that is protected by itself%s%s%s; 'cordon profiles "
		       ":workspace' lists them",
		       SHOWN(name), nearest ? " (did you mean '" : "", nearest ? nearest : "",
		       nearest ? "'?)" : "");
}

static int decode_unprotect(const struct decode *d, const struct toml *array, names *out,
			    struct err *e)
{
	for (size_t i = 0; i < array->array.count; i++) {
		const struct toml *value = &array->array.items[i];
		struct named *added;
		int r = schema_type(value, TOML_STRING, "a name in 'unprotect'", e);

		if (r == 0)
			r = unprotect_check(value->string, value->origin, e);
		if (r < 0)
			return r;
		added = VEC_PUSH(d->a, out, e);
		if (!added)
			return err_result(e);
		*added = (struct named){ value->string, value->origin };
	}
	return 0;
}

/* `git`, `nested`, `tmp` and `globs`. */
static int decode_choices(const struct toml *table, struct profile *p, struct err *e)
{
	static const char *const gits[] = { "read", "commit", "write", NULL };
	static const char *const nesteds[] = { "protect", "report", NULL };
	static const char *const tmps[] = { "shared", "private", NULL };
	static const char *const globs[] = { "default", "strict", NULL };
	const struct toml *git = toml_find(table, "git");
	const struct toml *nested = toml_find(table, "nested");
	const struct toml *tmp = toml_find(table, "tmp");
	const struct toml *glob = toml_find(table, "globs");
	size_t which;
	int r;

	if (git) {
		r = schema_choice(git, "'git'", gits, &which, e);
		if (r < 0)
			return r;
		p->git = (enum git_access)which;
		p->git_origin = git->origin;
	}
	if (nested) {
		r = schema_choice(nested, "'nested'", nesteds, &which, e);
		if (r < 0)
			return r;
		p->nested_is_open = which == 1;
	}
	if (tmp) {
		r = schema_choice(tmp, "'tmp'", tmps, &which, e);
		if (r < 0)
			return r;
		p->tmp_is_private = which == 1;
	}
	if (glob) {
		r = schema_choice(glob, "'globs'", globs, &which, e);
		if (r < 0)
			return r;
		p->globs_are_strict = which == 1;
	}
	return 0;
}

static int decode_isolation(const struct decode *d, const struct toml *table, struct profile *p,
			    struct err *e)
{
	const struct toml *ipc = toml_find(table, "ipc");
	const struct toml *proc = toml_find(table, "proc");
	const struct toml *userns = toml_find(table, "userns");
	int r = decode_check(d, table, SCHEMA_ISOLATION, "isolation", e);

	if (r < 0)
		return r;
	if (ipc)
		p->isolates_ipc = ipc->boolean;
	if (proc)
		p->isolates_proc = proc->boolean;
	if (userns)
		p->allows_userns = userns->boolean;
	return 0;
}

static int decode_tables(const struct decode *d, const struct toml *table, struct profile *p,
			 struct err *e)
{
	const struct toml *fs = toml_find(table, "filesystem");
	const struct toml *net = toml_find(table, "network");
	const struct toml *env = toml_find(table, "environment");
	const struct toml *limits = toml_find(table, "limits");
	const struct toml *protect = toml_find(table, "protect");
	const struct toml *unprotect = toml_find(table, "unprotect");
	const struct toml *isolation = toml_find(table, "isolation");
	int r = 0;

	p->net.access_origin = table->origin;
	if (fs)
		r = decode_filesystem(d, fs, &p->fs, e);
	if (r == 0 && net)
		r = decode_network(d, net, &p->net, e);
	if (r == 0 && env)
		r = decode_environment(d, env, &p->env, e);
	if (r == 0 && limits)
		r = decode_limits(d, limits, &p->limits, e);
	if (r == 0 && protect)
		r = decode_protect(d, protect, &p->protect, e);
	if (r == 0 && unprotect)
		r = decode_unprotect(d, unprotect, &p->unprotect, e);
	if (r == 0 && isolation)
		r = decode_isolation(d, isolation, p, e);
	return r;
}

struct profile *decode_profile(const struct decode *d, struct str name, const struct toml *table,
			       struct err *e)
{
	struct profile *p = ARENA_NEW(d->a, struct profile, e);
	const struct toml *description = toml_find(table, "description");

	if (!p)
		return NULL;
	profile_init(p);
	p->name = name;
	p->origin = table->origin;
	if (description)
		p->description = description->string;
	if (decode_tables(d, table, p, e) < 0 || decode_roots(d, table, p, e) < 0 ||
	    decode_choices(table, p, e) < 0 ||
	    decode_workspace(table, &p->workspace_is_repo, e) < 0)
		return NULL;
	return p;
}

int decode_narrowing(const struct decode *d, const struct toml *table, struct narrowing *out,
		     struct err *e)
{
	const struct toml *fs = toml_find(table, "filesystem");
	const struct toml *net = toml_find(table, "network");
	const struct toml *limits = toml_find(table, "limits");
	const struct toml *protect = toml_find(table, "protect");
	struct narrowing n = { .layer = { .name = STR_EMPTY, .dir = STR_EMPTY } };
	int r = 0;

	n.layer.net = (struct net_rules){ .access = NET_FULL,
					  .allows_local_binding = true,
					  .allows_upstream_proxy = true };
	n.layer.has_net = net != NULL;
	if (fs)
		r = decode_filesystem(d, fs, &n.layer.fs, e);
	if (r == 0 && net)
		r = decode_network(d, net, &n.layer.net, e);
	if (r == 0 && limits)
		r = decode_limits(d, limits, &n.limits, e);
	if (r == 0 && protect)
		r = decode_protect(d, protect, &n.protect, e);
	if (r == 0)
		*out = n;
	return r;
}
