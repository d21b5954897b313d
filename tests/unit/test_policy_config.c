/* SPDX-License-Identifier: MIT */
/* Layers, their order and their strictness (P1, P3), and which profile is in force. */
#include "../support/policy_text.h"
#include "base/buf.h"
#include "policy/agent.h"
#include "policy/config.h"
#include "test.h"

static const char *selected(const struct texts *t)
{
	static char name[sizeof(((struct err *)NULL)->text)];
	scoped_outcome o = compile_texts(t);

	(void)snprintf(name, sizeof(name), "%s", o.policy ? o.policy->profile->name.p : o.e.text);
	return name;
}

static bool is_said_at(const struct outcome *o, const char *key, const char *file, uint32_t line)
{
	const struct fs_entry *entry = find_entry(o, key);

	return entry && strcmp(entry->origin.file, file) == 0 && entry->origin.line == line;
}

TEST(nothing_set_selects_the_fallback)
{
	CHECK_STR(selected(&(struct texts){ 0 }), ":read-only");
	CHECK_STR(selected(&(struct texts){ .user = "" }), ":read-only");
}

TEST(the_higher_layer_names_the_profile)
{
	struct texts t = { .system = "default_permissions = ':workspace'" };

	CHECK_STR(selected(&t), ":workspace");
	t.user = "default_permissions = 'u'\n[permissions.u]\n[permissions.e]\n[permissions.o]\n"
		 "[permissions.p]\n";
	CHECK_STR(selected(&t), "u");
	t.env_profile = "e";
	CHECK_STR(selected(&t), "e");
	t.overrides[0] = "default_permissions=o";
	CHECK_STR(selected(&t), "o");
	t.profile = "p";
	CHECK_STR(selected(&t), "p");
}

static void check_preview(const char *name, const char *on, const char *off_text)
{
	scoped_outcome with = compile_texts(&(struct texts){ .user = on });
	scoped_outcome off = compile_texts(&(struct texts){ .user = off_text });
	scoped_outcome without = compile_texts(&(struct texts){ .user = "" });

	CHECK(with.policy && settings_have_feature(&with.policy->settings, name));
	CHECK(off.policy && !settings_have_feature(&off.policy->settings, name));
	CHECK(without.policy && !settings_have_feature(&without.policy->settings, name));
	CHECK(is_refused_texts(&(struct texts){ .system = on }, "configuration of a user"));
}

TEST(a_preview_is_switched_on_by_a_user_alone)
{
	check_preview("macos_preview", "features.macos_preview = true",
		      "features.macos_preview = false");
	check_preview("windows_preview", "features.windows_preview = true",
		      "features.windows_preview = false");
	CHECK(!is_refused_texts(&(struct texts){ .system = "features.other = true" },
				"configuration of a user"));
}

TEST(modes_select_the_built_in_profiles)
{
	CHECK_STR(selected(&(struct texts){ .mode = "workspace-write" }), ":workspace");
	CHECK_STR(selected(&(struct texts){ .mode = "read-only" }), ":read-only");
	CHECK_STR(selected(&(struct texts){ .mode = "danger-full-access" }), ":danger-full-access");
	CHECK_STR(selected(&(struct texts){ .env_mode = "workspace-write" }), ":workspace");
	CHECK(is_refused_texts(&(struct texts){ .mode = "readonly" }, "did you mean 'read-only'?"));
	CHECK(is_refused_texts(&(struct texts){ .env_mode = "x" }, "CORDON_MODE"));
}

TEST(a_profile_and_a_mode_at_once_are_refused)
{
	CHECK(is_refused_texts(&(struct texts){ .profile = ":workspace", .mode = "read-only" },
			       "both be chosen"));
	CHECK(is_refused_texts(
		&(struct texts){ .env_profile = ":workspace", .env_mode = "read-only" },
		"both set"));
	CHECK_STR(selected(&(struct texts){ .env_profile = ":read-only",
					    .env_mode = "read-only",
					    .profile = ":workspace" }),
		  ":workspace");
	CHECK_STR(selected(&(struct texts){ .env_profile = "", .env_mode = "workspace-write" }),
		  ":workspace");
}

TEST(an_unknown_profile_is_refused_with_the_nearest)
{
	CHECK(is_refused(
		"default_permissions = ':workspce'",
		"config.toml:1:23: 'default_permissions' names the profile ':workspce', which "
		"does not exist; did you mean ':workspace'?"));
	CHECK(is_refused_texts(
		&(struct texts){ .user = "[permissions.develop]", .profile = "develp" },
		"there is no profile 'develp'; did you mean 'develop'?"));
	CHECK(is_refused_texts(&(struct texts){ .env_profile = "a\x1b[1m" }, "a\\x1b[1m"));
	CHECK(is_refused_texts(&(struct texts){ .user = "[permissions.own]", .profile = "zzz" },
			       "there is no profile 'zzz'; known are: :agent, :agent-claude, "));
	CHECK(is_refused("[permissions.a]\nextends = 'zzz'", "known are: :agent, "));
	CHECK(is_refused("default_permissions = 'zzz'", "does not exist; known are: "));
}

TEST(a_profile_that_the_caller_names_is_not_found)
{
	scoped_outcome asked = compile_texts(&(struct texts){ .profile = "zzz" });
	scoped_outcome written =
		compile_texts(&(struct texts){ .user = "default_permissions = 'zzz'" });

	CHECK_INT(asked.e.code, ERR_NOTFOUND);
	CHECK_INT(written.e.code, ERR_POLICY);
}

TEST(what_is_wrong_is_told_with_what_is_right)
{
	CHECK(is_refused("[shop]\nx = 1",
			 "1:2: unknown key 'shop' in the configuration; a profile is "
			 "written [permissions.shop]"));
	CHECK(is_refused("[permissions.dev.isolation]\nzzz = 1",
			 "; it may hold: ipc, proc, userns"));
	CHECK(is_refused("permisions = 1", "did you mean 'permissions'?"));
	CHECK(is_refused_texts(&(struct texts){ .project = "[permissions.x]" },
			       "; it may hold: filesystem, network, limits, protect"));
	CHECK(is_refused("[permissions.dev.filesystem]\n'/a' = true",
			 "the access is a boolean; it has to be \"deny\", \"read\" or \"write\""));
	CHECK(is_refused("[permissions.dev.network]\ndomains = ['a.com']",
			 "is an array; it has to be a table: domains = { \"example.com\" = "
			 "\"allow\" }"));
	CHECK(is_refused("[permissions.':mine']", "built in; call it 'mine'"));
}

TEST(keys_of_a_higher_layer_replace_those_of_a_lower_one)
{
	const struct texts t = {
		.system = "[permissions.dev]\ngit = 'commit'\ntmp = 'private'\n"
			  "filesystem = { '/a' = 'read', '/b' = 'deny' }\nprotect = ['.x']\n",
		.user = "[permissions.dev]\ngit = 'write'\nfilesystem = { '/a/' = 'write' }\n"
			"protect = ['.y']\n",
		.overrides = { "permissions.dev.limits.timeout=5m",
			       "permissions.dev.limits.memory=7" },
		.profile = "dev",
	};
	scoped_outcome o = compile_texts(&t);

	REQUIRE(o.policy);
	CHECK_INT(o.policy->profile->git, GIT_WRITE);
	CHECK_STR(o.policy->profile->git_origin.file, "config.toml");
	CHECK(o.policy->profile->tmp_is_private);
	CHECK_INT(o.policy->profile->fs.count, 2);
	CHECK_INT(access_of(&o.policy->profile->fs, "/a"), ACCESS_WRITE);
	CHECK(is_said_at(&o, "/a", "config.toml", 3));
	CHECK_INT(access_of(&o.policy->profile->fs, "/b"), ACCESS_DENY);
	CHECK(is_said_at(&o, "/b", "system.toml", 4));
	REQUIRE(o.policy->profile->protect.count == 1);
	CHECK_STR(o.policy->profile->protect.items[0].name.p, ".y");
	CHECK_INT(o.policy->profile->limits.value[LIMIT_TIMEOUT], 300000);
	CHECK_INT(o.policy->profile->limits.value[LIMIT_MEMORY], 7);
}

TEST(a_later_override_wins)
{
	const struct texts t = { .overrides = { "features.x=true", "features.x=false",
						"features.y=true" } };
	scoped_outcome o = compile_texts(&t);

	REQUIRE(o.policy);
	REQUIRE(o.policy->settings.features.count == 2);
	CHECK_STR(o.policy->settings.features.items[0].name.p, "x");
	CHECK(!o.policy->settings.features.items[0].is_on);
	CHECK(has_warning(&o, "the feature 'x' is not known"));
}

TEST(unknown_keys_are_refused_with_the_nearest)
{
	CHECK(is_refused("[permissions.dev]\nfilesytem = {}",
			 "config.toml:2:1: unknown key 'filesytem' in profile 'dev'; did you mean "
			 "'filesystem'?"));
	CHECK(is_refused("default_permission = 'x'", "config.toml:1:1: unknown key"));
	CHECK(is_refused("[permissions.dev.network]\nenable = true",
			 "2:1: unknown key 'enable' in 'network' of profile 'dev'; did you mean "
			 "'enabled'?"));
	CHECK(is_refused("[permissions.dev.limits]\ntimeot = 1", "did you mean 'timeout'?"));
	CHECK(is_refused("[permissions.dev.isolation]\nips = true", "did you mean 'ipc'?"));
	CHECK(is_refused("[permissions.dev.environment]\nexcludes = []",
			 "did you mean 'exclude'?"));
	CHECK(is_refused("[linux]\nbackend = ['native']", "did you mean 'backends'?"));
	CHECK(is_refused("\"a\\u001bb\" = 1", "unknown key 'a\\x1bb'"));
	CHECK(is_refused_texts(&(struct texts){ .overrides = { "foo=1" } },
			       "--config:1:1: unknown key 'foo'"));
}

TEST(wrong_types_are_refused)
{
	CHECK(is_refused("permissions = 3",
			 "config.toml:1:15: 'permissions' in the configuration is "
			 "an integer; it has to be a table"));
	CHECK(is_refused("[permissions]\ndev = 'x'", "config.toml:2:7: profile 'dev' is a string"));
	CHECK(is_refused("[permissions.dev]\ngit = 1", "2:7: 'git' in profile 'dev'"));
	CHECK(is_refused("[permissions.dev]\nprotect = 'x'", "it has to be an array"));
	CHECK(is_refused("[permissions.dev.limits]\nmemory = true",
			 "it has to be a string or an integer"));
	CHECK(is_refused("[permissions.dev.filesystem]\n'/x' = 3",
			 "2:8: the access is an integer"));
	CHECK(is_refused("[permissions.dev.filesystem]\n'/x' = { y = {} }",
			 "the access is a table"));
	CHECK(is_refused("[features]\nx = 1", "the value of a feature is an integer"));
}

TEST(an_error_in_a_layer_is_not_hidden_by_a_higher_one)
{
	CHECK(is_refused_texts(&(struct texts){ .system = "[permissions.dev]\ngit = 'x'",
						.user = "[permissions.dev]\ngit = 'read'" },
			       "system.toml:2:7: 'git' can't be \"x\""));
}

TEST(syntax_errors_and_bad_utf8_name_the_place)
{
	scoped_outcome o = compile_texts(&(struct texts){ .user = "a = [\n" });
	scoped_outcome bad = compile_texts(&(struct texts){ .user = "a = '\xff'" });

	CHECK_INT(o.e.code, ERR_SYNTAX);
	CHECK(strncmp(o.e.text, "config.toml:", 12) == 0);
	CHECK_INT(bad.e.code, ERR_SYNTAX);
}

TEST(a_file_over_the_limit_is_refused)
{
	static char text[CONFIG_MAX_BYTES + 2];

	memset(text, '\n', sizeof(text) - 1);
	scoped_outcome o = compile_texts(&(struct texts){ .user = text });
	CHECK_INT(o.e.code, ERR_LIMIT);
	CHECK(strstr(o.e.text, "config.toml:1:1: the file has"));
}

TEST(what_only_the_user_may_say_is_refused_in_the_system_layer)
{
	CHECK(fails_with(&(struct texts){ .system = "unavailable = 'passthrough'" },
			 CAUSE_KEY_NOT_ALLOWED_HERE, "system.toml:1:1: "));
	CHECK(fails_with(&(struct texts){ .system = "accept_missing = ['ipc']" },
			 CAUSE_KEY_NOT_ALLOWED_HERE, "system.toml:1:1: "));
	CHECK(fails_with(&(struct texts){ .system = "[trust]" }, CAUSE_KEY_NOT_ALLOWED_HERE,
			 "system.toml:1:2: "));
}

TEST(settings_come_from_the_user_or_the_command_line)
{
	const struct texts t = { .user = "unavailable = 'passthrough'\naccept_missing = ['ipc']\n"
					 "linux.backends = ['bwrap', 'native']",
				 .overrides = { "accept_missing=['proc', 'kernel']" } };
	scoped_outcome o = compile_texts(&t);

	REQUIRE(o.policy);
	CHECK_INT(o.policy->settings.unavailable, UNAVAILABLE_PASSTHROUGH);
	REQUIRE(o.policy->settings.accept_missing.count == 2);
	CHECK_STR(o.policy->settings.accept_missing.items[1].name.p, "kernel");
	REQUIRE(o.policy->settings.linux_backends.count == 2);
	CHECK_STR(o.policy->settings.linux_backends.items[0].name.p, "bwrap");
}

TEST(settings_have_defaults)
{
	scoped_outcome o = compile_texts(&(struct texts){ 0 });

	REQUIRE(o.policy);
	CHECK_INT(o.policy->settings.unavailable, UNAVAILABLE_REFUSE);
	CHECK_INT(o.policy->settings.linux_backends.count, 3);
	CHECK_STR(o.policy->settings.linux_backends.items[0].name.p, "native");
	CHECK(o.policy->settings.allow & ALLOW_NONE);
	CHECK(o.policy->settings.allow & ALLOW_ESCALATE);
}

TEST(bad_settings_are_refused)
{
	CHECK(is_refused("linux.backends = ['none']", "can't be \"none\""));
	CHECK(is_refused("linux.backends = []", "'linux.backends' is empty"));
	CHECK(fails_with(&(struct texts){ .user = "linux.backends = ['native', 'native']" },
			 CAUSE_BAD_VALUE, "config.toml:1:29: "));
	CHECK(is_refused("linux.backends = ['natve']", "did you mean 'native'?"));
	CHECK(is_refused("accept_missing = ['fs_rite']", "did you mean 'fs_write'?"));
	CHECK(is_refused("accept_missing = [1]", "is an integer"));
	CHECK(is_refused("unavailable = 'pass'", "it has to be \"refuse\" or \"passthrough\""));
}

TEST(trust_takes_plain_directories_and_digests)
{
	CHECK(is_refused("[trust]\n'x' = 'sha256:00'", "2:1: 'x' can't be trusted"));
	CHECK(is_refused("[trust]\n'/x' = 'sha256:00'", "2:8: 'sha256:00' is not a digest"));
	CHECK(is_refused("[trust]\n'/x' = 'md5:0'", "is not a digest"));
	CHECK(is_refused("[trust]\n'/x' = true", "is a boolean"));
	CHECK(is_refused(
		"[trust]\n'/x/' = "
		"'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'",
		"write the directory as '/x'"));
	CHECK(is_refused(
		"[trust]\n'/x' = "
		"'sha256:g3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'",
		"is not a digest"));
}

TEST(all_profiles_are_listed_the_built_in_ones_first)
{
	const struct texts t = { .user = "default_permissions = 'b'\n[permissions.b]\n"
					 "description = 'bee'\nextends = ':workspace'\n"
					 "[permissions.a]" };
	scoped_outcome o = compile_texts(&t);
	profile_names all;
	const struct profile_name *own;

	REQUIRE(o.config);
	REQUIRE(config_profiles(&o.a, o.config, &all, &o.e) == 0);
	REQUIRE(all.count == 5 + 1 + agent_profile_count);
	CHECK_STR(all.items[0].name.p, ":read-only");
	CHECK_STR(all.items[1].name.p, ":workspace");
	CHECK_STR(all.items[2].name.p, ":danger-full-access");
	CHECK_STR(all.items[3].name.p, ":agent");
	own = &all.items[4 + agent_profile_count];
	CHECK_STR(own[0].name.p, "b");
	CHECK_STR(own[0].description.p, "bee");
	CHECK_STR(own[0].extends.p, ":workspace");
	CHECK(own[0].is_default);
	CHECK(!own[1].is_default);
	CHECK_INT(own[1].origin.line, 5);
}

TEST(a_hundred_thousand_entries_compile_in_time)
{
	enum { COUNT = 100000, LINE = 64 };
	size_t room = (size_t)COUNT * LINE + 256;
	char *text = malloc(room);
	size_t used;

	REQUIRE(text != NULL);
	used = (size_t)snprintf(text, room,
				"[permissions.dev]\nextends = ':workspace'\n"
				"[permissions.dev.filesystem]\n");
	for (int i = 0; i < COUNT; i++)
		used += (size_t)snprintf(text + used, room - used, "'/d%d/s%d/x' = 'read'\n",
					 i % 100, i);
	{
		struct texts t = { .system = text, .user = text, .profile = "dev" };
		clock_t start = clock();
		scoped_outcome o = compile_texts(&t);

		CHECK(o.policy != NULL);
		if (o.policy)
			CHECK_INT(o.policy->profile->fs.count, COUNT + 4);
		CHECK((clock() - start) / CLOCKS_PER_SEC < 30);
	}
	free(text);
}

/* Every allocation fails once: each time with a reason, and never a half-made policy. */
TEST(too_little_memory_is_always_an_error)
{
	static const char user[] =
		"default_permissions = 'dev'\nfeatures.x = true\n[permissions.base]\n"
		"filesystem = { '/a/\\*' = 'read', ':root' = { 'b/*' = 'deny' }, ':x' = 'read' }\n"
		"network = { enabled = true, domains = { 'a.b' = 'deny' }, unix_sockets = { '/s' = "
		"'allow' } }\n[permissions.dev]\nextends = 'base'\nprotect = ['x']\n"
		"environment = { exclude = ['a*'], set = { b = 'c' } }\nworkspace_roots.d = true\n";
	size_t refused = 0;

	for (size_t limit = 0; limit < 64 << 10; limit += 16) {
		scoped_arena a = ARENA_INIT(limit);
		struct config_inputs in = { .user = text_source("config.toml", user),
					    .requirements =
						    text_source("req.toml", "limits.memory = 1") };
		struct project project = { .dir = STR("/p"),
					   .source = text_source("p.toml", "protect = ['y']") };
		struct selection selection = { .fallback = ":read-only" };
		struct err e = ERR_INIT;
		const struct config *c = config_load(&a, &in, &e);
		const struct profile_doc *doc = c ? config_select(&a, c, &selection, &e) : NULL;
		const struct policy *p = doc ? policy_compile(&a, c, doc, &project, 1, NULL, &e)
					     : NULL;

		if (p) {
			CHECK_INT(p->layers.count, 3);
			CHECK_INT(p->profile->protect.count, 2);
			continue;
		}
		refused++;
		CHECK_INT(e.code, ERR_LIMIT);
	}
	CHECK(refused > 100);
	CHECK(refused < 4096);
}

static void check_built_in(struct arena *a, struct toml *top)
{
	scoped_buf as_written = BUF_INIT(1 << 20);
	scoped_buf checked = BUF_INIT(1 << 20);
	warning_list warnings = { .items = NULL };
	struct err e = ERR_INIT;

	REQUIRE(top != NULL);
	toml_print(&as_written, top);
	CHECK_INT(layer_check(a, top, IN_BUILTIN, &warnings, &e), 0);
	toml_print(&checked, top);
	CHECK_INT(warnings.count, 0);
	CHECK(as_written.len > 100);
	CHECK_STR(checked.p, as_written.p);
}

/* It is not checked when it is read, so it is here. */
TEST(the_built_in_layer_is_right_and_in_normal_form)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;

	check_built_in(&a, builtin_parse(&a, &e));
	for (size_t i = 0; i < agent_profile_count; i++) {
		scoped_buf text = BUF_INIT(1 << 20);

		agent_profile_write(&text, &agent_profiles[i]);
		REQUIRE(buf_check(&text, &e) == 0);
		check_built_in(&a, toml_parse(&a, "built-in", buf_str(&text), &e));
	}
}

/* Of an agent's profile the layer has the name alone. */
TEST(a_profile_of_an_agent_is_whole_where_it_is_used)
{
	struct texts t = { .user = "[permissions.a]\nextends = ':agent-codex'" };
	scoped_outcome o = compile_texts(&t);
	struct toml table;

	REQUIRE(o.config);
	REQUIRE(config_resolve(&o.a, o.config, STR(":agent-codex"), &table, &o.e) == 0);
	CHECK(toml_find(toml_find(&table, "filesystem"), "~/.codex") != NULL);
	REQUIRE(config_resolve(&o.a, o.config, STR("a"), &table, &o.e) == 0);
	CHECK(toml_find(toml_find(&table, "filesystem"), "~/.codex") != NULL);
	REQUIRE(config_resolve(&o.a, o.config, STR(":workspace"), &table, &o.e) == 0);
	CHECK(toml_find(toml_find(&table, "filesystem"), "~/.codex") == NULL);
}
