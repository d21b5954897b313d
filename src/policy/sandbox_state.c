/* SPDX-License-Identifier: MIT */
/* See sandbox_state.h. */
#include "policy/sandbox_state.h"

#include "base/path.h"
#include "policy/fs_key.h"
#include "policy/keys.h"
#include "policy/schema.h"

/* For messages: an origin without a line, as that of an option. */
static const char origin_file[] = "the permission profile of codex";

/* What codex keeps read-only directly below what may be written, unless an entry opens it. */
static const struct str protected_names[] = { STR_INIT(".git"), STR_INIT(".agents"),
					      STR_INIT(".codex"), STR_INIT(".aws") };

/* What ":minimal" of codex reads on Linux. */
static const char *const minimal_paths[] = {
	"/bin", "/sbin", "/usr", "/etc", "/lib", "/lib64", "/nix/store", "/run/current-system/sw"
};

struct reader {
	struct arena *a;
	fs_entries *fs;
	struct err *e;
};

static int refuse(struct err *e, const char *what, struct str value)
{
	return FAIL_CAUSE(e, CAUSE_BAD_VALUE,
			  "%s '%s' is not known to this version of cordon, so it can't be held",
			  what, SHOWN(value));
}

static int refuse_shape(struct err *e, const char *what)
{
	return FAIL_CAUSE(e, CAUSE_BAD_VALUE,
			  "%s is not as this version of cordon knows it, so it can't be held",
			  what);
}

/* Every member is among `known`, which ends in NULL. */
static int check_members(const struct json *object, const char *const *known, const char *what,
			 struct err *e)
{
	if (!object || object->type != JSON_OBJECT)
		return refuse_shape(e, what);
	for (size_t i = 0; i < object->object.count; i++) {
		struct str name = object->object.items[i].name;
		size_t k = 0;

		while (known[k] && !str_is(name, known[k]))
			k++;
		if (!known[k])
			return refuse(e, what, name);
	}
	return 0;
}

static struct str find_text(const struct json *object, const char *name)
{
	const struct json *value = json_find(object, name);

	return value && value->type == JSON_STRING ? value->string : STR_EMPTY;
}

/* ---- Entries ------------------------------------------------------------------------------------- */

static struct fs_entry *add_entry(struct reader *r, struct str path, enum access access)
{
	struct fs_entry *added = VEC_PUSH(r->a, r->fs, r->e);

	if (added)
		*added = (struct fs_entry){ .anchor = FS_ABSOLUTE,
					    .path = path,
					    .glob = STR_EMPTY,
					    .access = access,
					    .key = path,
					    .origin = { .file = origin_file } };
	return added;
}

static int add_path(struct reader *r, struct str path, enum access access)
{
	struct str plain;

	if (!path_is_absolute(path))
		return refuse(r->e, "the relative path", path);
	if (path_plain(r->a, STR("/"), path, &plain, r->e) < 0)
		return err_result(r->e);
	/* With "..", a link would lead elsewhere than its spelling says. */
	if (!str_eq(plain, path) && !(path.len > 1 && str_eq(plain, str_first(path, path.len - 1))))
		return refuse(r->e, "the path", path);
	return add_entry(r, plain, access) ? 0 : err_result(r->e);
}

static int read_path(struct reader *r, const struct json *path, enum access access)
{
	static const char *const known[] = { "type", "path", NULL };

	if (check_members(path, known, "a path of the profile", r->e) < 0)
		return err_result(r->e);
	return add_path(r, find_text(path, "path"), access);
}

/* What codex and Cordon read in one way: "*" and "?", and "**" as a whole component. */
static bool is_plain_glob(struct str pattern)
{
	size_t at = 0;
	struct str name;

	while (path_next(pattern, &at, &name))
		for (size_t i = 0; i < name.len; i++)
			if (strchr("[]{}\\", name.p[i]) ||
			    (name.p[i] == '*' && name.len != 2 && i + 1 < name.len &&
			     name.p[i + 1] == '*'))
				return false;
	return true;
}

static int read_glob(struct reader *r, const struct json *path, enum access access)
{
	static const char *const known[] = { "type", "pattern", NULL };
	const struct origin origin = { .file = origin_file };
	struct str pattern = find_text(path, "pattern");
	struct fs_target target;
	struct fs_entry *added;
	struct fs_key key;

	if (check_members(path, known, "a glob of the profile", r->e) < 0)
		return err_result(r->e);
	if (access != ACCESS_DENY || !path_is_absolute(pattern) || !is_plain_glob(pattern))
		return refuse(r->e, "the glob", pattern);
	if (fs_key_parse(r->a, pattern, origin, &key, r->e) < 0 ||
	    fs_key_target(r->a, &key, ACCESS_DENY, origin, &target, r->e) < 0)
		return err_result(r->e);
	added = add_entry(r, target.path, ACCESS_DENY);
	if (!added)
		return err_result(r->e);
	added->key = pattern;
	added->glob = target.glob;
	if (target.glob.len)
		added->matcher = glob_parse(r->a, target.glob, r->e);
	return target.glob.len && !added->matcher ? err_result(r->e) : 0;
}

static int read_special(struct reader *r, const struct json *path, enum access access)
{
	static const char *const known[] = { "type", "value", NULL };
	static const char *const known_value[] = { "kind", NULL };
	const struct json *value = json_find(path, "value");
	struct str kind;

	if (check_members(path, known, "a place of the profile", r->e) < 0 ||
	    check_members(value, known_value, "a place of the profile", r->e) < 0)
		return err_result(r->e);
	kind = find_text(value, "kind");
	if (str_is(kind, "root"))
		return add_path(r, STR("/"), access);
	if (str_is(kind, "slash_tmp"))
		return add_path(r, STR("/tmp"), access);
	/* Codex's own TMPDIR is not known here, so what it opens stays closed. */
	if (str_is(kind, "tmpdir") && access == ACCESS_WRITE)
		return 0;
	if (!str_is(kind, "minimal") || access != ACCESS_READ)
		return refuse(r->e, "the place", kind);
	for (size_t i = 0; i < COUNT_OF(minimal_paths); i++)
		if (add_path(r, str_of(minimal_paths[i]), access) < 0)
			return err_result(r->e);
	return 0;
}

static int read_access(struct str text, enum access *out, struct err *e)
{
	if (str_is(text, "read"))
		*out = ACCESS_READ;
	else if (str_is(text, "write"))
		*out = ACCESS_WRITE;
	else if (str_is(text, "deny") || str_is(text, "none"))
		*out = ACCESS_DENY;
	else
		return refuse(e, "the access", text);
	return 0;
}

static int read_entry(struct reader *r, const struct json *entry)
{
	static const char *const known[] = { "path", "access", "missing_path_behavior", NULL };
	const struct json *path = json_find(entry, "path");
	const struct json *missing = json_find(entry, "missing_path_behavior");
	enum access access = ACCESS_DENY;
	struct str type;

	if (check_members(entry, known, "an entry of the profile", r->e) < 0 ||
	    read_access(find_text(entry, "access"), &access, r->e) < 0)
		return err_result(r->e);
	/* That codex leaves an entry out for a missing path would only widen. */
	if (missing && missing->type != JSON_NULL &&
	    !(missing->type == JSON_STRING && str_is(missing->string, "skip")))
		return refuse_shape(r->e, "'missing_path_behavior'");
	type = path ? find_text(path, "type") : STR_EMPTY;
	if (str_is(type, "path"))
		return read_path(r, path, access);
	if (str_is(type, "glob_pattern"))
		return read_glob(r, path, access);
	if (str_is(type, "special"))
		return read_special(r, path, access);
	return refuse(r->e, "the kind of path", type);
}

/* Whether an entry speaks of `path` itself, or opens something in it. */
static bool is_spoken_of(const fs_entries *fs, struct str path)
{
	for (size_t i = 0; i < fs->count; i++) {
		const struct fs_entry *entry = &fs->items[i];

		if (!entry->glob.len && path_is_under(entry->path, path) &&
		    (entry->access == ACCESS_WRITE || str_eq(entry->path, path)))
			return true;
	}
	return false;
}

/* Not in /tmp, which is no project. */
static int add_protected(struct reader *r)
{
	size_t count = r->fs->count;

	for (size_t i = 0; i < count; i++) {
		struct fs_entry entry = r->fs->items[i];

		if (entry.access != ACCESS_WRITE || str_is(entry.path, "/tmp"))
			continue;
		for (size_t n = 0; n < COUNT_OF(protected_names); n++) {
			struct str path;

			if (path_join(r->a, entry.path, protected_names[n], &path, r->e) < 0)
				return err_result(r->e);
			if (!is_spoken_of(r->fs, path) && !add_entry(r, path, ACCESS_READ))
				return err_result(r->e);
		}
	}
	return 0;
}

/* ---- The profile --------------------------------------------------------------------------------- */

static int read_restricted(struct reader *r, const struct json *files)
{
	static const char *const known[] = { "type", "entries", "glob_scan_max_depth", NULL };
	const struct json *entries = json_find(files, "entries");
	bool has_root = false;

	/* How deep codex looks for globs: here they count at every depth. */
	if (check_members(files, known, "'file_system'", r->e) < 0)
		return err_result(r->e);
	if (!entries || entries->type != JSON_ARRAY)
		return refuse_shape(r->e, "'entries'");
	if (entries->array.count > SANDBOX_STATE_MAX_ENTRIES)
		return FAIL(r->e, ERR_LIMIT, "the profile has more than %d entries",
			    SANDBOX_STATE_MAX_ENTRIES);
	for (size_t i = 0; i < entries->array.count; i++)
		if (read_entry(r, &entries->array.items[i]) < 0)
			return err_result(r->e);
	if (add_protected(r) < 0)
		return err_result(r->e);
	for (size_t i = 0; i < r->fs->count; i++)
		has_root |= !r->fs->items[i].glob.len && str_is(r->fs->items[i].path, "/");
	/* SECURITY: what it does not name is denied; a layer would leave it as it is. */
	return has_root || add_entry(r, STR("/"), ACCESS_DENY) ? 0 : err_result(r->e);
}

static int read_files(struct reader *r, const struct json *files)
{
	static const char *const known[] = { "type", NULL };
	struct str type = files && files->type == JSON_OBJECT ? find_text(files, "type")
							      : STR_EMPTY;

	if (str_is(type, "restricted"))
		return read_restricted(r, files);
	if (str_is(type, "unrestricted"))
		return check_members(files, known, "'file_system'", r->e);
	return refuse_shape(r->e, "'file_system'");
}

static void set_network(struct layer *out, bool is_off)
{
	struct profile nothing = { .name = STR_EMPTY };

	keys_init_narrowing(&nothing);
	out->has_net = is_off;
	out->net = nothing.net;
	out->net.access = is_off ? NET_OFF : NET_FULL;
	out->net.access_origin = (struct origin){ .file = origin_file };
}

static int read_network(const struct json *profile, struct layer *out, struct err *e)
{
	const struct json *network = json_find(profile, "network");

	if (network && network->type != JSON_STRING)
		return refuse_shape(e, "'network'");
	if (network && !str_is(network->string, "restricted") &&
	    !str_is(network->string, "enabled"))
		return refuse(e, "the network", network->string);
	set_network(out, !network || str_is(network->string, "restricted"));
	return 0;
}

static int read_profile(struct reader *r, const struct json *profile, struct layer *out)
{
	static const char *const managed[] = { "type", "file_system", "network", NULL };
	static const char *const external[] = { "type", "network", NULL };
	static const char *const disabled[] = { "type", NULL };
	struct str type = profile && profile->type == JSON_OBJECT ? find_text(profile, "type")
								  : STR_EMPTY;

	if (str_is(type, "managed"))
		return check_members(profile, managed, "the profile", r->e) < 0 ||
				       read_network(profile, out, r->e) < 0
			       ? err_result(r->e)
			       : read_files(r, json_find(profile, "file_system"));
	if (str_is(type, "external"))
		return check_members(profile, external, "the profile", r->e) < 0
			       ? err_result(r->e)
			       : read_network(profile, out, r->e);
	if (!str_is(type, "disabled"))
		return refuse(r->e, "the kind of profile", type);
	set_network(out, false);
	return check_members(profile, disabled, "the profile", r->e);
}

int sandbox_state_read(struct arena *a, const struct json *state, struct layer *out,
		       bool *takes_away, struct err *e)
{
	/* Behind the profile: how codex starts its own sandbox. */
	static const char *const known[] = {
		"permissionProfile", "sandboxCwd", "codexLinuxSandboxExe",
		"useLegacyLandlock", "useMxc",	   NULL
	};
	struct layer layer = { .kind = LAYER_CALL,
			       .name = str_of(origin_file),
			       .dir = STR_EMPTY,
			       .digest = STR_EMPTY };
	struct reader r = { .a = a, .fs = &layer.fs, .e = e };

	if (check_members(state, known, "the state of codex's sandbox", e) < 0 ||
	    read_profile(&r, json_find(state, "permissionProfile"), &layer) < 0)
		return err_result(e);
	*takes_away = layer.fs.count > 0 || layer.has_net;
	*out = layer;
	return 0;
}
