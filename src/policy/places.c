/* SPDX-License-Identifier: MIT */
/* What the anchors of P5 stand for on a given host; see places.h. */
#include "policy/places.h"

#include "base/path.h"
#include "policy/fs_key.h"
#include "policy/schema.h"

const char *const places_minimal[] = {
	"/usr",
	"/bin",
	"/sbin",
	"/lib",
	"/lib32",
	"/lib64",
	"/libx32",
	"/etc",
	"/nix/store",
	"/gnu/store",
	"/run/current-system/sw",
	NULL,
};

/* What programs of the system and their libraries are, and what they are configured by. */
const char *const places_minimal_macos[] = {
	"/System",
	"/usr/bin",
	"/usr/lib",
	"/usr/libexec",
	"/usr/sbin",
	"/usr/share",
	"/bin",
	"/sbin",
	"/Library/Apple",
	"/Library/Developer",
	"/Library/Frameworks",
	"/opt/homebrew",
	"/usr/local",
	"/private/etc",
	"/private/var/db/timezone",
	"/private/var/select",
	NULL,
};

const char *const places_minimal_windows[] = {
	"/C:/Windows", "/C:/Program Files", "/C:/Program Files (x86)", "/C:/ProgramData", NULL,
};

/* The same tools keep them in other places there. */
const char *const places_secret_paths_windows[] = {
	"AppData/Local/Microsoft/Credentials",
	"AppData/Local/Microsoft/Vault",
	"AppData/Roaming/Microsoft/Credentials",
	"AppData/Roaming/Microsoft/Protect",
	"AppData/Roaming/GitHub CLI",
	"AppData/Roaming/NuGet/NuGet.Config",
	"AppData/Roaming/gcloud",
	"AppData/Roaming/gnupg",
	"AppData/Roaming/postgresql/pgpass.conf",
	"AppData/Roaming/rclone",
	"AppData/Roaming/sops/age",
	"_netrc",
	NULL,
};

/*
 * A directory is listed if it holds only secrets, else the single file: an agent that can't read
 * its settings does not start.
 */
const char *const places_secret_paths[] = {
	/* keys, and password stores */
	".ssh",
	".gnupg",
	".netrc",
	".git-credentials",
	".config/git/credentials",
	".config/sops/age",
	".local/share/keyrings",
	".local/share/kwalletd",
	".password-store",
	".vault-token",
	".config/op",
	"Library/Keychains",
	/* coding agents */
	".claude/.credentials.json",
	".claude.json",
	".codex/auth.json",
	".codex/.credentials.json",
	".config/cursor/auth.json",
	".config/github-copilot",
	".config/goose/secrets.yaml",
	".config/io.datasette.llm/keys.json",
	".copilot/config.json",
	".copilot/mcp-oauth-config",
	".aider/oauth-keys.env",
	".factory/auth.json",
	".gemini/.env",
	".gemini/gemini-credentials.json",
	".gemini/mcp-oauth-tokens.json",
	".gemini/oauth_creds.json",
	".local/share/amp/secrets.json",
	".local/share/crush/crush.json",
	".local/share/opencode/auth.json",
	".local/share/opencode/mcp-auth.json",
	".pi/agent/auth.json",
	".qwen/.env",
	".qwen/mcp-oauth-tokens.json",
	".qwen/oauth_creds.json",
	/* forges and clouds */
	".aws",
	".azure",
	".boto",
	".config/doctl",
	".config/gcloud",
	".config/gh",
	".config/glab-cli",
	".config/hcloud",
	".config/hub",
	".config/rclone",
	".cache/huggingface/token",
	".fly/config.yml",
	".kube",
	".oci",
	".s3cfg",
	".terraform.d/credentials.tfrc.json",
	/* registries of packages, and databases */
	".bundle/config",
	".cargo/credentials",
	".cargo/credentials.toml",
	".composer/auth.json",
	".config/containers/auth.json",
	".docker/config.json",
	".gem/credentials",
	".gradle/gradle.properties",
	".m2/settings.xml",
	".my.cnf",
	".mylogin.cnf",
	".npmrc",
	".pgpass",
	".pypirc",
	".yarnrc.yml",
	NULL,
};

/* Not ".env.example" and ".env.sample", which hold no secrets. */
const char *const places_secret_globs[] = {
	"**/.env",
	"**/.envrc",
	"**/.env.local",
	"**/.env.*.local",
	"**/.env.{dev,development,prod,production,stage,staging,test}",
	NULL,
};

/* An entry while its places are listed. */
struct spread {
	struct arena *a;
	const struct places *places;
	const struct fs_entry *entry;
	place_list *out;
};

static int add_place(const struct spread *s, struct str base, struct str below, bool is_optional,
		     struct err *e)
{
	struct place *added;
	struct str path;

	if (path_join(s->a, base, below, &path, e) < 0)
		return err_wrap_place(e, s->entry->origin);
	added = VEC_PUSH(s->a, s->out, e);
	if (!added)
		return err_result(e);
	*added = (struct place){ .path = path, .glob = STR_EMPTY, .is_optional = is_optional };
	return 0;
}

/* The place of the entry itself, with its glob, below `base`. */
static int add_below(const struct spread *s, struct str base, bool is_optional, struct err *e)
{
	const struct fs_entry *entry = s->entry;
	int r = add_place(s, base, entry->path,
			  is_optional && entry->path.len == 0 && entry->glob.len == 0, e);

	if (r < 0)
		return r;
	s->out->items[s->out->count - 1].glob = entry->glob;
	s->out->items[s->out->count - 1].matcher = entry->matcher;
	return 0;
}

/* A place that only the user's environment names. */
struct known_by {
	const char *what, *remedy;
	enum cause cause;
};
static const struct known_by by_home = { "the home directory, which is unknown", "set HOME",
					 CAUSE_HOME_UNKNOWN };
static const struct known_by by_tmpdir = { "$TMPDIR, which is not set to an absolute path",
					   "set TMPDIR", CAUSE_POLICY };

/*
 * SECURITY: drop an entry with an unknown place only if it gives write access (P3). A "read" may make
 * something writable read-only, in a profile and in a layer above it.
 */
static int check_known(const struct spread *s, struct str base, const struct known_by *by,
		       struct err *e)
{
	if (base.len > 0 || s->entry->access == ACCESS_WRITE)
		return 0;
	(void)FAIL_AT(e, ERR_POLICY, s->entry->origin, "'%s' = \"%s\" is about %s; %s",
		      SHOWN(s->entry->key), access_name(s->entry->access), by->what, by->remedy);
	e->cause = by->cause;
	return err_result(e);
}

static int add_below_known(const struct spread *s, struct str base, const struct known_by *by,
			   struct err *e)
{
	int r = check_known(s, base, by, e);

	return r < 0 || base.len == 0 ? r : add_below(s, base, false, e);
}

static int add_minimal(const struct spread *s, struct err *e)
{
	static const char *const *const lists[] = {
		[PLACES_LINUX] = places_minimal,
		[PLACES_MACOS] = places_minimal_macos,
		[PLACES_WINDOWS] = places_minimal_windows,
	};
	const char *const *list = lists[s->places->system];
	int r = 0;

	for (size_t i = 0; i < s->places->minimal_count && r == 0; i++)
		r = add_place(s, s->places->minimal[i], STR_EMPTY, true, e);
	for (size_t i = 0; !s->places->minimal_count && list[i] && r == 0; i++)
		r = add_place(s, str_of(list[i]), STR_EMPTY, true, e);
	return r;
}

static int add_secret_globs(const struct spread *s, struct err *e)
{
	for (size_t i = 0; places_secret_globs[i]; i++) {
		struct str text = str_of(places_secret_globs[i]);
		const struct glob *matcher = glob_parse(s->a, text, e);

		if (!matcher)
			return err_result(e);
		for (size_t j = 0; j < s->places->root_count; j++) {
			int r = add_place(s, s->places->roots[j], STR_EMPTY, true, e);

			if (r < 0)
				return r;
			s->out->items[s->out->count - 1].glob = text;
			s->out->items[s->out->count - 1].matcher = matcher;
		}
	}
	return 0;
}

static int add_secrets(const struct spread *s, struct err *e)
{
	int r = check_known(s, s->places->home, &by_home, e);

	for (size_t i = 0; s->places->home.len > 0 && places_secret_paths[i] && r == 0; i++)
		r = add_place(s, s->places->home, str_of(places_secret_paths[i]), true, e);
	if (s->places->home.len > 0 && s->places->system == PLACES_WINDOWS)
		for (size_t i = 0; places_secret_paths_windows[i] && r == 0; i++)
			r = add_place(s, s->places->home, str_of(places_secret_paths_windows[i]),
				      true, e);
	return r < 0 ? r : add_secret_globs(s, e);
}

static int add_roots(const struct spread *s, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < s->places->root_count && r == 0; i++)
		r = add_below(s, s->places->roots[i], false, e);
	return r;
}

int places_expand(struct arena *a, const struct places *p, const struct fs_entry *entry,
		  place_list *out, struct err *e)
{
	struct spread s = { .a = a, .places = p, .entry = entry, .out = out };

	switch (entry->anchor) {
	case FS_ABSOLUTE: {
		int r = add_place(&s, entry->path, STR_EMPTY, false, e);

		if (r < 0)
			return r;
		out->items[out->count - 1].glob = entry->glob;
		out->items[out->count - 1].matcher = entry->matcher;
		return 0;
	}
	case FS_HOME:
		return add_below_known(&s, p->home, &by_home, e);
	case FS_ROOT:
		return add_below(&s, STR("/"), false, e);
	case FS_MINIMAL:
		return add_minimal(&s, e);
	case FS_WORKSPACE_ROOTS:
		return add_roots(&s, e);
	case FS_TMPDIR:
		return add_below_known(&s, p->tmpdir, &by_tmpdir, e);
	case FS_SLASH_TMP:
		if (p->system == PLACES_WINDOWS)
			return 0;
		return add_below(&s, STR("/tmp"), true, e);
	case FS_SECRETS:
		return add_secrets(&s, e);
	}
	return FAIL(e, ERR_INTERNAL, "an entry has no anchor");
}

/*
 * Most users in /etc/passwd are no people, and their "home" is a system directory: /usr/sbin,
 * /var/empty, /nonexistent. If those counted as homes, root could work nowhere in /usr and /var. So
 * only these users have a home: root, uids from 1000 on, and homes in /home (some hosts count from
 * 500); and never a system directory. The data directory of a service (/var/lib/x) is no home: no
 * login reads files there.
 */
enum { FIRST_PERSON = 1000 };

static const char *const nobodys_homes[] = { "/proc", "/sys",	      "/dev",	    "/run",
					     "/boot", "/nonexistent", "/var/empty", NULL };

bool places_is_persons(uint64_t uid, struct str home)
{
	for (size_t i = 0; places_minimal[i]; i++)
		if (path_is_under(home, str_of(places_minimal[i])))
			return false;
	for (size_t i = 0; nobodys_homes[i]; i++)
		if (path_is_under(home, str_of(nobodys_homes[i])))
			return false;
	return uid == 0 || uid >= FIRST_PERSON ||
	       (path_is_under(home, STR("/home")) && home.len > strlen("/home"));
}

int places_root(struct arena *a, const struct places *p, const struct root *root, struct str *out,
		struct err *e)
{
	struct str base = root->anchor == FS_HOME ? p->home : places_workspace(p);

	if (root->anchor == FS_ABSOLUTE) {
		*out = root->path;
		return 0;
	}
	if (base.len == 0)
		return FAIL_CAUSE_AT(e, CAUSE_HOME_UNKNOWN, root->origin,
				     "the workspace root '~/%s' is in the home directory, which is "
				     "unknown; set HOME",
				     SHOWN(root->path));
	if (path_join(a, base, root->path, out, e) < 0)
		return err_wrap_place(e, root->origin);
	return 0;
}
