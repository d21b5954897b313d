/* SPDX-License-Identifier: MIT */
/* Project files (P2), the requirements (P1), and what neither can make of a policy. */
#include "../support/policy_text.h"
#include "base/sha256.h"
#include "test.h"

/* A user layer that trusts the project file with that text. */
static const char *trusting(const char *project, const char *rest)
{
	static char text[1024];
	char digest[SHA256_HEX_BYTES];

	sha256_hex(str_of(project), digest);
	(void)snprintf(text, sizeof(text), "[trust]\n'/repo' = 'sha256:%s'\n%s", digest, rest);
	return text;
}

TEST(without_projects_and_requirements_there_is_one_layer)
{
	scoped_outcome o = compile_texts(&(struct texts){ .profile = ":workspace" });

	REQUIRE(o.policy);
	REQUIRE(o.policy->layers.count == 1);
	CHECK_INT(o.policy->layers.items[0].kind, LAYER_PROFILE);
	CHECK_STR(o.policy->layers.items[0].name.p, "profile :workspace");
	CHECK_INT(o.policy->layers.items[0].fs.count, 4);
	CHECK(o.policy->layers.items[0].has_net);
}

TEST(a_project_is_a_narrowing_layer)
{
	const struct texts t = { .project = "protect = ['.hg']\n[filesystem]\n'/etc' = 'deny'\n"
					    "':workspace_roots' = { '**/*.pem' = 'deny' }\n"
					    "[limits]\ntimeout = 5\n",
				 .user = "[permissions.dev]\nextends = ':workspace'\n"
					 "protect = ['.svn', '.hg']\nlimits.timeout = 9\n"
					 "limits.memory = 1",
				 .profile = "dev" };
	scoped_outcome o = compile_texts(&t);
	const struct layer *layer;

	REQUIRE(o.policy);
	REQUIRE(o.policy->layers.count == 2);
	CHECK(!o.project.is_trusted);
	layer = &o.policy->layers.items[1];
	CHECK_INT(layer->kind, LAYER_PROJECT);
	CHECK_STR(layer->name.p, "project /repo");
	CHECK(str_is(layer->dir, "/repo"));
	CHECK_INT(layer->fs.count, 2);
	CHECK(!layer->has_net);
	CHECK_INT(o.policy->profile->fs.count, 4);
	CHECK_INT(o.policy->profile->limits.value[LIMIT_TIMEOUT], 5000);
	CHECK_STR(o.policy->profile->limits.origin[LIMIT_TIMEOUT].file, "project.toml");
	CHECK_INT(o.policy->profile->limits.value[LIMIT_MEMORY], 1);
	CHECK_INT(o.policy->profile->protect.count, 2);
}

TEST(a_project_may_hold_nothing_else)
{
	CHECK(fails_with(&(struct texts){ .project = "git = 'write'" }, CAUSE_KEY_NOT_ALLOWED_HERE,
			 "project.toml:1:1: "));
	CHECK(fails_with(&(struct texts){ .project = "default_permissions = 'x'" },
			 CAUSE_UNKNOWN_KEY, "project.toml:1:1: "));
	CHECK(fails_with(&(struct texts){ .project = "[trust]" }, CAUSE_UNKNOWN_KEY,
			 "project.toml:1:2: "));
	CHECK(fails_with(&(struct texts){ .project = "[permissions.x]" }, CAUSE_UNKNOWN_KEY,
			 "project.toml:1:2: "));
	CHECK(fails_with(&(struct texts){ .project = "allow = ['none']" },
			 CAUSE_KEY_NOT_ALLOWED_HERE, "project.toml:1:1: "));
	CHECK(is_refused_texts(&(struct texts){ .project = "[filesystem]\n'x' = 'deny'" },
			       "project.toml:2:1: the path 'x' is relative"));
}

TEST(the_network_of_a_project_narrows)
{
	const struct texts off = { .project = "network.enabled = false", .profile = ":workspace" };
	const struct texts deny = { .project = "network.domains = { 'a.b' = 'deny' }" };
	const struct texts limited = { .project = "network.mode = 'limited'" };
	const struct texts nothing = { .project = "network = {}" };
	scoped_outcome a = compile_texts(&off);
	scoped_outcome b = compile_texts(&deny);
	scoped_outcome c = compile_texts(&limited);
	scoped_outcome d = compile_texts(&nothing);

	REQUIRE(a.policy && b.policy && c.policy && d.policy);
	CHECK(a.policy->layers.items[1].has_net);
	CHECK_INT(a.policy->layers.items[1].net.access, NET_OFF);
	CHECK_INT(b.policy->layers.items[1].net.access, NET_MANAGED);
	CHECK_INT(c.policy->layers.items[1].net.access, NET_MANAGED);
	CHECK(c.policy->layers.items[1].net.is_limited);
	CHECK_INT(d.policy->layers.items[1].net.access, NET_FULL);
	CHECK(d.policy->layers.items[1].net.allows_local_binding);
}

TEST(what_a_project_asks_for_and_does_not_get_is_reported)
{
	const struct texts t = { .project = "limits.timeout = 10\n[network]\nenabled = true\n"
					    "domains = { 'a.b' = 'allow' }\n"
					    "unix_sockets = { '/s' = 'allow' }\n",
				 .user = "[permissions.dev]\nlimits.timeout = 5",
				 .profile = "dev" };
	scoped_outcome o = compile_texts(&t);

	REQUIRE(o.policy);
	CHECK(has_warning(&o, "'network.enabled = true' is ignored"));
	CHECK(has_warning(&o, "the allow of 'a.b' changes nothing"));
	CHECK(has_warning(&o, "the allow of '/s' changes nothing"));
	CHECK(has_warning(&o, "'limits.timeout' stays as the profile has it"));
	CHECK_INT(o.policy->profile->net.access, NET_OFF);
	CHECK_INT(o.policy->profile->limits.value[LIMIT_TIMEOUT], 5000);
}

TEST(network_keys_that_a_project_does_not_get_are_reported)
{
	struct texts t = { .project = "[network]\nallow_local_binding = true\n"
				      "allow_upstream_proxy = true\n",
			   .user = "[permissions.dev]\nnetwork = { enabled = true, "
				   "allow_upstream_proxy = false }",
			   .profile = "dev" };
	scoped_outcome managed = compile_texts(&t);
	scoped_outcome off = compile_texts(
		(t.user = "[permissions.dev]\nnetwork.allow_upstream_proxy = false", &t));

	REQUIRE(managed.policy && off.policy);
	CHECK(has_warning(&managed, "'network.allow_local_binding = true' is ignored"));
	CHECK(has_warning(&managed, "'network.allow_upstream_proxy = true' is ignored"));
	CHECK(has_warning(&off, "'network.allow_local_binding = true' is ignored"));
	CHECK(has_warning(&off, "'network.allow_upstream_proxy = true' is ignored"));
}

TEST(a_project_that_asks_for_what_it_has_is_not_reported)
{
	const struct texts t = { .project = "[network]\nenabled = true\nmode = 'full'\n"
					    "allow_local_binding = true",
				 .user = "[permissions.dev]\nnetwork = { enabled = true, "
					 "allow_local_binding = true }",
				 .profile = "dev" };
	scoped_outcome o = compile_texts(&t);

	REQUIRE(o.policy);
	CHECK_INT(o.policy->warnings.count, 0);
}

TEST(a_trusted_project_is_merged_into_the_profile)
{
	static const char project[] = "protect = ['.hg']\n[filesystem]\n'/opt' = 'write'\n"
				      "':workspace_roots' = { docs = 'read' }\n"
				      "[network]\nenabled = true\n[limits]\ntimeout = 9\n";
	const struct texts t = { .project = project,
				 .user = trusting(project,
						  "[permissions.dev]\nextends = ':workspace'\n"
						  "protect = ['.svn']\nlimits.timeout = 5"),
				 .profile = "dev" };
	scoped_outcome o = compile_texts(&t);

	REQUIRE(o.policy);
	CHECK(o.project.is_trusted);
	CHECK_INT(o.policy->layers.count, 1);
	CHECK_INT(access_of(&o.policy->profile->fs, "/opt"), ACCESS_WRITE);
	CHECK_INT(access_of(&o.policy->profile->fs, ":workspace_roots"), ACCESS_WRITE);
	CHECK_INT(access_of(&o.policy->profile->fs, ":workspace_roots → docs"), ACCESS_READ);
	CHECK_INT(o.policy->profile->net.access, NET_FULL);
	CHECK_INT(o.policy->profile->limits.value[LIMIT_TIMEOUT], 9000);
	CHECK_INT(o.policy->profile->protect.count, 2);
	CHECK_INT(o.policy->warnings.count, 0);
}

TEST(a_changed_project_is_untrusted_and_named)
{
	const struct texts t = { .project = "filesystem = { '/opt' = 'write' }",
				 .user = trusting("filesystem = {}", "") };
	scoped_outcome o = compile_texts(&t);

	REQUIRE(o.policy);
	CHECK(!o.project.is_trusted);
	CHECK_INT(o.policy->layers.count, 2);
	CHECK_INT(o.policy->profile->fs.count, 1);
	CHECK(has_warning(&o, "project.toml has changed since it was trusted"));
	CHECK(has_warning(&o, "it now is sha256:"));
}

TEST(trust_is_for_one_directory_only)
{
	static const char project[] = "filesystem = { '/opt' = 'write' }";
	char user[1024];
	char *at;

	(void)snprintf(user, sizeof(user), "%s", trusting(project, ""));
	at = strstr(user, "/repo");
	REQUIRE(at != NULL);
	memcpy(at, "/Repo", 5);
	scoped_outcome o = compile_texts(&(struct texts){ .project = project, .user = user });
	REQUIRE(o.policy);
	CHECK(!o.project.is_trusted);
}

TEST(a_digest_may_be_in_capitals)
{
	static const char project[] = "filesystem = { '/opt' = 'write' }";
	char user[1024];

	(void)snprintf(user, sizeof(user), "%s", trusting(project, ""));
	for (char *c = strstr(user, "sha256:") + 7; *c != '\''; c++)
		if (*c >= 'a' && *c <= 'f')
			*c = (char)(*c - 'a' + 'A');
	scoped_outcome o = compile_texts(&(struct texts){ .project = project, .user = user });
	REQUIRE(o.policy);
	CHECK(o.project.is_trusted);
}

TEST(an_unknown_token_that_narrows_is_an_error)
{
	struct texts t = { .project = "filesystem = { ':new' = 'read' }" };

	CHECK(is_refused_texts(&t, "project.toml:1:16: unknown token ':new'"));
	t.project = "filesystem = { ':new' = 'write' }";
	scoped_outcome o = compile_texts(&t);
	CHECK(has_warning(&o, "unknown token ':new', which has no effect"));
}

/* ---- The requirements --------------------------------------------------- */

TEST(the_requirements_are_the_last_layer)
{
	const struct texts t = { .requirements = "protect = ['.hg']\n[filesystem]\n"
						 "':secrets' = 'deny'\n[limits]\nmemory = '1G'",
				 .project = "filesystem = {}",
				 .profile = ":workspace" };
	scoped_outcome o = compile_texts(&t);

	REQUIRE(o.policy);
	REQUIRE(o.policy->layers.count == 3);
	CHECK_INT(o.policy->layers.items[2].kind, LAYER_REQUIREMENTS);
	CHECK_STR(o.policy->layers.items[2].name.p, "requirements");
	CHECK_INT(o.policy->layers.items[2].fs.count, 1);
	CHECK_INT(o.policy->profile->limits.value[LIMIT_MEMORY], 1 << 30);
	CHECK_INT(o.policy->profile->protect.count, 1);
	CHECK_INT(o.policy->settings.allow, 0);
}

TEST(the_requirements_say_what_else_is_allowed)
{
	const struct texts t = { .requirements = "allow = ['none', 'always']",
				 .profile = ":danger-full-access" };
	scoped_outcome o = compile_texts(&t);

	REQUIRE(o.policy);
	CHECK_INT(o.policy->settings.allow, ALLOW_NONE | ALLOW_ALWAYS);
}

TEST(the_requirements_forbid_what_they_do_not_allow)
{
	CHECK(is_refused_texts(
		&(struct texts){ .requirements = "filesystem = {}",
				 .profile = ":danger-full-access" },
		"requirements.toml:1:1: the requirements do not allow to run without a "
		"sandbox"));
	CHECK(is_refused_texts(&(struct texts){ .requirements = "allow = ['always']",
						.user = "unavailable = 'passthrough'" },
			       "requirements.toml:1:9: the requirements do not allow unavailable = "
			       "\"passthrough\" (config.toml:1)"));
	CHECK(is_refused_texts(&(struct texts){ .requirements = "allow = ['none']",
						.user = "accept_missing = ['ipc']" },
			       "the requirements do not allow 'accept_missing' (config.toml:1)"));
}

TEST(bad_requirements_are_refused)
{
	CHECK(is_refused_texts(
		&(struct texts){ .requirements = "alow = []" },
		"requirements.toml:1:1: unknown key 'alow' in the requirements; did you "
		"mean 'allow'?"));
	CHECK(is_refused_texts(&(struct texts){ .requirements = "allow = ['nothing']" },
			       "1:10: a name in 'allow' can't be"));
	CHECK(fails_with(&(struct texts){ .requirements = "git = 'read'" },
			 CAUSE_KEY_NOT_ALLOWED_HERE, "requirements.toml:1:1: "));
}

TEST(a_layer_that_could_not_be_enforced_is_refused)
{
	struct texts t = { .profile = ":danger-full-access" };

	t.project = "[filesystem]\n'/x' = 'deny'";
	CHECK(is_refused_texts(&t, "what project /repo takes away would be lost"));
	t.project = "[filesystem]\n'/x' = 'read'";
	CHECK(is_refused_texts(&t, "would be lost"));
	t.project = "network.enabled = false";
	CHECK(is_refused_texts(&t, "would be lost"));
	t.project = "network.allow_local_binding = false";
	CHECK(is_refused_texts(&t, "would be lost"));
	t.project = "limits.timeout = 5";
	CHECK(is_refused_texts(&t, "would be lost"));
	t.project = "protect = ['.hg']";
	CHECK(is_refused_texts(&t, "would be lost"));
	t.project = NULL;
	t.requirements = "allow = ['none']\nfilesystem = { '/x' = 'deny' }";
	CHECK(is_refused_texts(&t, "what requirements takes away would be lost"));
	t.requirements = NULL;
	t.extra = (struct fs_entry){ .path = STR("/x"), .key = STR("/x") };
	CHECK(is_refused_texts(&t, "runs without a sandbox"));
}

TEST(a_layer_that_takes_nothing_away_is_no_hindrance)
{
	const struct texts t = { .project = "filesystem = { '/x' = 'write' }\nnetwork = {}",
				 .profile = ":danger-full-access" };
	scoped_outcome o = compile_texts(&t);

	CHECK(o.policy != NULL);
}

TEST(a_trusted_project_can_not_lose_its_denies_either)
{
	static const char project[] = "filesystem = { '/x' = 'deny' }";

	CHECK(is_refused_texts(&(struct texts){ .project = project,
						.user = trusting(project, ""),
						.profile = ":danger-full-access" },
			       "would be lost"));
}
