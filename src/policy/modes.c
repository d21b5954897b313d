/* SPDX-License-Identifier: MIT */
/* Modes (P19): the built-in profiles with a few switches. */
#include "base/path.h"
#include "policy/config.h"

static const struct {
	const char *name;
	const char *profile;
} modes[] = {
	[MODE_READ_ONLY] = { "read-only", ":read-only" },
	[MODE_WORKSPACE_WRITE] = { "workspace-write", ":workspace" },
	[MODE_FULL_ACCESS] = { "danger-full-access", builtin_full_access },
};

bool mode_kind_parse(struct str text, enum mode_kind *out)
{
	for (size_t i = 0; i < COUNT_OF(modes); i++) {
		if (!str_is(text, modes[i].name))
			continue;
		*out = (enum mode_kind)i;
		return true;
	}
	return false;
}

const char *mode_kind_name(enum mode_kind kind)
{
	return modes[kind].name;
}

const char *mode_kind_profile(enum mode_kind kind)
{
	return modes[kind].profile;
}

static struct profile *builtin_profile(struct arena *a, const char *name, struct err *e)
{
	struct decode d = { .a = a, .where = "the mode" };
	const struct toml *top = builtin_parse(a, e);
	const struct toml *permissions = top ? toml_find(top, "permissions") : NULL;
	const struct toml *table = permissions ? toml_find(permissions, name) : NULL;

	if (!top)
		return NULL;
	if (!table)
		return FAIL_NULL(e, ERR_INTERNAL, "the built-in profile '%s' is missing", name);
	return decode_profile(&d, str_of(name), table, e);
}

static void exclude(struct profile *p, enum fs_anchor anchor)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->fs.count; i++)
		if (p->fs.items[i].anchor != anchor)
			p->fs.items[kept++] = p->fs.items[i];
	p->fs.count = kept;
}

static int add_root(struct arena *a, struct profile *p, struct str path, struct err *e)
{
	struct fs_entry entry = { .anchor = FS_ABSOLUTE,
				  .glob = STR_EMPTY,
				  .access = ACCESS_WRITE };
	struct fs_entry *added;
	int r;

	if (!path_is_absolute(path))
		return FAIL(e, ERR_ARGUMENT, "the writable root '%s' is not an absolute path",
			    SHOWN(path));
	r = path_plain(a, STR("/"), path, &entry.path, e);
	if (r < 0)
		return r;
	entry.key = entry.path;
	added = VEC_PUSH(a, &p->fs, e);
	if (!added)
		return err_result(e);
	*added = entry;
	return 0;
}

struct profile *mode_profile(struct arena *a, const struct mode *m, struct err *e)
{
	struct profile *p = builtin_profile(a, mode_kind_profile(m->kind), e);

	if (!p)
		return NULL;
	p->is_unsandboxed = m->kind == MODE_FULL_ACCESS;
	if (m->network_access)
		p->net.access = NET_FULL;
	if (m->exclude_tmpdir_env_var)
		exclude(p, FS_TMPDIR);
	if (m->exclude_slash_tmp)
		exclude(p, FS_SLASH_TMP);
	if (m->kind != MODE_WORKSPACE_WRITE && m->writable_roots.count > 0)
		return FAIL_NULL(e, ERR_ARGUMENT, "the mode %s has no writable roots",
				 mode_kind_name(m->kind));
	for (size_t i = 0; i < m->writable_roots.count; i++)
		if (add_root(a, p, m->writable_roots.items[i], e) < 0)
			return NULL;
	return p;
}

/* ---- Policies that are a mode --------------------------------------------- */

static bool has_entry(const fs_entries *fs, enum fs_anchor anchor, enum access access)
{
	for (size_t i = 0; i < fs->count; i++)
		if (fs->items[i].anchor == anchor && fs->items[i].access == access &&
		    fs->items[i].path.len == 0 && fs->items[i].glob.len == 0)
			return true;
	return false;
}

/* As builtin.c has them. */
static bool are_of_read_only(const fs_entries *fs)
{
	return fs->count == 1 && has_entry(fs, FS_ROOT, ACCESS_READ);
}

static bool are_of_workspace(const fs_entries *fs)
{
	return fs->count == 4 && has_entry(fs, FS_ROOT, ACCESS_READ) &&
	       has_entry(fs, FS_WORKSPACE_ROOTS, ACCESS_WRITE) &&
	       has_entry(fs, FS_SLASH_TMP, ACCESS_WRITE) && has_entry(fs, FS_TMPDIR, ACCESS_WRITE);
}

bool mode_is_exact(const struct mode *m, const struct policy *q)
{
	const struct profile *p = q->profile;

	if (q->layers.count != 1 || q->grants.count > 0 || p->roots.count > 0 ||
	    p->protect.count > 0 || p->unprotect.count > 0 || p->git != GIT_READ ||
	    p->nested_is_open)
		return false;
	if (m->kind == MODE_READ_ONLY)
		return are_of_read_only(&q->layers.items[0].fs);
	return m->kind == MODE_WORKSPACE_WRITE && m->writable_roots.count == 0 &&
	       !m->exclude_tmpdir_env_var && !m->exclude_slash_tmp &&
	       are_of_workspace(&q->layers.items[0].fs);
}
