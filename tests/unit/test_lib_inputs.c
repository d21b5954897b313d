/* SPDX-License-Identifier: MIT */
/* Tests of src/lib/inputs.c: which files make a policy, through cordon.h, on real files. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/macros.h"
#include "cordon.h"
#include "scratch.h"
#include "test.h"

static char warned[4096];

static void keep_warning(void *user, const char *text)
{
	(void)user;
	(void)snprintf(warned + strlen(warned), sizeof(warned) - strlen(warned), "%s\n", text);
}

/* A place of its own for each test: home/, repo/ and etc/ in `name`. */
static bool start(const char *name)
{
	return mkdir(name, 0700) == 0 && chdir(name) == 0 && mkdir("home", 0700) == 0 &&
	       mkdir("home/.config", 0700) == 0 && mkdir("home/.config/cordon", 0700) == 0 &&
	       mkdir("repo", 0700) == 0 && mkdir("repo/.cordon", 0700) == 0 &&
	       mkdir("etc", 0700) == 0;
}

struct fixture {
	char home[256], xdg_config[256], xdg_state[256], repo[256], etc[256];
	const char *environment[4];
	struct cordon_load_options options;
};

static void fixture_init(struct fixture *f, bool has_xdg)
{
	char top[200];

	if (!getcwd(top, sizeof(top)))
		exit(1);
	memset(f, 0, sizeof(*f));
	(void)snprintf(f->home, sizeof(f->home), "HOME=%s/home", top);
	(void)snprintf(f->xdg_config, sizeof(f->xdg_config), "XDG_CONFIG_HOME=%s/home/xc", top);
	(void)snprintf(f->xdg_state, sizeof(f->xdg_state), "XDG_STATE_HOME=%s/home/xs", top);
	(void)snprintf(f->repo, sizeof(f->repo), "%s/repo", top);
	(void)snprintf(f->etc, sizeof(f->etc), "%s/etc", top);
	f->environment[0] = f->home;
	f->environment[1] = has_xdg ? f->xdg_config : NULL;
	f->environment[2] = has_xdg ? f->xdg_state : NULL;
	f->options.size = sizeof(f->options);
	f->options.directory = f->repo;
	f->options.system_directory = f->etc;
	f->options.environment = f->environment;
	f->options.on_warning = keep_warning;
	warned[0] = '\0';
}

static const char *cause; /* of the last failure of loaded() */

/* What is wrong with loading, "" when nothing is; `check` has to say the same. */
static const char *loaded(struct fixture *f)
{
	static char text[2048];
	cordon_policy *policy = NULL;
	cordon_report *report = NULL;
	cordon_error *error = NULL;
	int checked;

	text[0] = '\0';
	warned[0] = '\0';
	checked = cordon_check(&f->options, &report, NULL);
	if (checked == 0) {
		checked = cordon_report_error_count(report) ? -1 : 0;
		cordon_report_free(report);
	}
	if (cordon_policy_load(&f->options, &policy, &error) < 0) {
		(void)snprintf(text, sizeof(text), "%s", cordon_error_text(error));
		cause = cordon_error_cause(error);
		cordon_error_free(error);
	}
	CHECK((checked < 0) == (text[0] != '\0'));
	cordon_policy_free(policy);
	return text;
}

static void leave(void)
{
	CHECK_INT(chdir(scratch_top), 0);
}

/* The layer `file` as a dangling link, below one, and below a file: each an error that names it. */
static void check_layer(struct fixture *f, const char *dir, const char *file)
{
	char moved[64], path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, file);
	(void)snprintf(moved, sizeof(moved), "%s.moved", dir);
	CHECK_STR(loaded(f), ""); /* nothing lies there */
	REQUIRE(symlink("gone", path) == 0);
	CHECK(strstr(loaded(f), dir) && strstr(loaded(f), "leads nowhere"));
	REQUIRE(unlink(path) == 0 && symlink(file, path) == 0);
	CHECK(strstr(loaded(f), path));
	REQUIRE(unlink(path) == 0 && rename(dir, moved) == 0 && symlink("gone", dir) == 0);
	CHECK(strstr(loaded(f), dir) && strstr(loaded(f), "leads nowhere"));
	REQUIRE(unlink(dir) == 0);
	scratch_put(dir, "");
	CHECK(strstr(loaded(f), dir) && strstr(loaded(f), "is not a directory"));
	REQUIRE(unlink(dir) == 0);
	CHECK_STR(loaded(f), ""); /* not even the directory */
	REQUIRE(rename(moved, dir) == 0);
	scratch_put(path, "");
	CHECK_STR(loaded(f), "");
	if (geteuid() != 0) {
		REQUIRE(chmod(path, 0) == 0);
		CHECK(strstr(loaded(f), path));
		CHECK_STR(cause, "file_unreadable");
	}
	REQUIRE(unlink(path) == 0);
}

TEST(a_layer_that_leads_nowhere_is_never_left_out)
{
	struct fixture f;

	REQUIRE(start("nowhere"));
	fixture_init(&f, false);
	check_layer(&f, "repo/.cordon", "config.toml");
	check_layer(&f, "home/.config/cordon", "config.toml");
	check_layer(&f, "etc", "config.toml");
	check_layer(&f, "etc", "requirements.toml");
	leave();
}

TEST(a_layer_that_has_another_name_is_warned_of)
{
	struct fixture f;

	REQUIRE(start("names"));
	fixture_init(&f, false);
	scratch_put("home/.config/cordon/config.toml", "");
	scratch_put("repo/.cordon/config.toml", "");
	CHECK_STR(loaded(&f), "");
	CHECK_STR(warned, "");
	REQUIRE(link("repo/.cordon/config.toml", "repo/other") == 0);
	CHECK_STR(loaded(&f), "");
	CHECK(strstr(warned, "repo/.cordon/config.toml has a second name"));
	REQUIRE(unlink("repo/other") == 0);
	REQUIRE(link("home/.config/cordon/config.toml", "repo/other") == 0);
	CHECK_STR(loaded(&f), "");
	CHECK(strstr(warned, "cordon/config.toml has a second name"));
	CHECK(!strstr(warned, "repo/.cordon"));
	f.options.config_file = "repo/other";
	CHECK_STR(loaded(&f), "");
	CHECK(strstr(warned, "repo/other has a second name"));
	leave();
}

static int access_to(struct fixture *f, const char *path)
{
	cordon_policy *policy = NULL;
	uint32_t access = 99;

	f->options.profile = "p";
	if (cordon_policy_load(&f->options, &policy, NULL) < 0)
		return -1;
	CHECK_INT(cordon_policy_access(policy, path, strlen(path), 0, &access, NULL), 0);
	cordon_policy_free(policy);
	return (int)access;
}

TEST(the_users_own_files_are_protected_at_every_place)
{
	static const char *const overrides[] = {
		"permissions.p.filesystem={':root'='read','~'='write'}"
	};
	struct fixture f;

	REQUIRE(start("own"));
	for (int has_xdg = 0; has_xdg < 2; has_xdg++) {
		fixture_init(&f, has_xdg);
		f.options.overrides = overrides;
		f.options.override_count = 1;
		CHECK_INT(access_to(&f, "../home/.config/x"), CORDON_ACCESS_WRITE);
		CHECK_INT(access_to(&f, "../home/.config/cordon/config.toml"), CORDON_ACCESS_READ);
		CHECK_INT(access_to(&f, "../home/.local/state/cordon/x"), CORDON_ACCESS_READ);
		CHECK_INT(access_to(&f, "../home/.local/state/cordon/secrets"), CORDON_ACCESS_DENY);
		CHECK_INT(access_to(&f, "../home/xc/cordon/config.toml"),
			  has_xdg ? CORDON_ACCESS_READ : CORDON_ACCESS_WRITE);
		CHECK_INT(access_to(&f, "../home/xs/cordon/secrets"),
			  has_xdg ? CORDON_ACCESS_DENY : CORDON_ACCESS_WRITE);
	}
	leave();
}

TEST(the_ceiling_says_whether_what_was_always_allowed_is_in_force)
{
	static const char *const overrides[] = { "permissions.p.filesystem={':root'='read'}" };
	struct fixture f;
	char text[1024], out[300];

	REQUIRE(start("always") && mkdir("out", 0700) == 0);
	fixture_init(&f, false);
	f.options.overrides = overrides;
	f.options.override_count = 1;
	(void)snprintf(out, sizeof(out), "%s/../out", f.repo);
	(void)snprintf(text, sizeof(text),
		       "version = 1\n[[grant]]\nid = \"0123456789ab\"\nkind = \"write\"\n"
		       "subject = \"%.*sout\"\ndir = true\nprofile = \"p\"\n"
		       "date = 2026-11-18T19:42:06Z\nby = \"tty\"\n# end\n",
		       (int)(strlen(f.repo) - strlen("repo")), f.repo);
	scratch_put("home/.config/cordon/approvals.toml", text);
	REQUIRE(chmod("home/.config/cordon/approvals.toml", 0600) == 0);
	CHECK_INT(access_to(&f, out), CORDON_ACCESS_WRITE);
	scratch_put("etc/requirements.toml", "allow = [\"always\"]\n");
	warned[0] = '\0';
	CHECK_INT(access_to(&f, out), CORDON_ACCESS_WRITE);
	CHECK_STR(warned, "");
	scratch_put("etc/requirements.toml", "allow = [\"none\"]\n");
	CHECK_INT(access_to(&f, out), CORDON_ACCESS_READ);
	CHECK(strstr(warned, "approvals.toml:2:"));
	leave();
}
