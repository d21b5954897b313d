/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "import/import.h"
#include "policy/policy.h"
#include "test.h"

enum { ROOM = 64 << 20 };

static struct err e;

static const struct import_host host = { .home = STR_INIT("/home/me"),
					 .temporary = STR_INIT(""),
					 .directory = STR_INIT("/home/me/p") };

static bool translate(struct arena *a, enum import_format format, const char *path,
		      const char *text, struct imported *out)
{
	const struct import_file file = { .name = "f", .path = str_of(path), .text = str_of(text) };

	err_clear(&e);
	return import_translate(a, format, &file, 1, &host, out, &e) == 0;
}

/* Whether the policy has that line, up to its comment. */
static bool has_line(const struct imported *im, const char *line)
{
	const char *at = im->text.p;

	for (; (at = strstr(at, line)); at++)
		if ((at == im->text.p || at[-1] == '\n') &&
		    (at[strlen(line)] == '\n' || strncmp(at + strlen(line), " #", 2) == 0))
			return true;
	return false;
}

static bool has_note(const struct imported *im, const char *word)
{
	for (size_t i = 0; i < im->notes.count; i++)
		if (strstr(im->notes.items[i].text.p, word))
			return true;
	return false;
}

#define SRT(fs) \
	"{\"network\": {\"allowedDomains\": [], \"deniedDomains\": []}, \"filesystem\": {" fs "}}"
#define LINE(line)                                                             \
	do {                                                                   \
		if (!has_line(&im, (line)))                                    \
			printf("# without %s in:\n# %s\n", (line), im.text.p); \
		CHECK(has_line(&im, (line)));                                  \
	} while (0)
#define NO_LINE(line) CHECK(!has_line(&im, (line)))

static const char user[] = "/home/me/.claude/settings.json";
static const char project[] = "/home/me/p/.claude/settings.json";

TEST(a_line_of_srt_is_a_line_of_the_policy)
{
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;

	REQUIRE(translate(&a, IMPORT_SRT, "/s.json",
			  SRT("\"denyRead\": [\"~/.ssh\"], \"allowRead\": [\"~/.ssh/known_hosts\"],"
			      "\"allowWrite\": [\".\", \"/out\"], \"denyWrite\": [\"secrets\"]"),
			  &im));
	LINE("\"~/.ssh\" = \"deny\"");
	LINE("\"~/.ssh/known_hosts\" = \"read\"");
	LINE("\".\" = \"write\"");
	LINE("\"/out\" = \"write\"");
	LINE("secrets = \"read\"");
	LINE("enabled = false");
	CHECK(im.directory.len == 0);
	CHECK_INT((int)im.notes.count, 0);
	CHECK(strstr(im.text.p, "# f:1 secrets\n") != NULL);
}

TEST(what_may_not_be_written_beats_what_may)
{
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;

	REQUIRE(translate(&a, IMPORT_SRT, "/s.json",
			  SRT("\"denyRead\": [], \"allowWrite\": [\"/a/b\", \"/c\"], "
			      "\"denyWrite\": [\"/a\"]"),
			  &im));
	LINE("\"/c\" = \"write\"");
	NO_LINE("\"/a/b\" = \"write\"");
	CHECK(has_note(&im, "\"/a/b\": not writable"));
}

/* The policy or a note has these words. */
static bool says(const struct imported *im, const char *words)
{
	return strstr(im->text.p, words) != NULL;
}

TEST(hosts_that_a_deny_of_fetching_takes_back_are_named)
{
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;

	REQUIRE(translate(&a, IMPORT_CLAUDE, user,
			  "{\"permissions\": {\n\"allow\": [\"WebFetch(domain:one.example)\"],\n"
			  "\"deny\": [\"WebFetch\"]},\n"
			  "\"sandbox\": {\"network\": {\"allowedDomains\": [\"two.example\"]}}}",
			  &im));
	LINE("enabled = false");
	CHECK(says(&im, "enabled = false # off, because f:3 denies WebFetch\n"));
	CHECK(has_note(&im, "\"one.example\" is left out: the network is off, because f:3 denies"));
	CHECK(has_note(&im, "\"two.example\" is left out"));
	CHECK(says(&im, "#   f:2: the host \"one.example\""));
	REQUIRE(translate(&a, IMPORT_CLAUDE, user, "{}", &im));
	CHECK(says(&im, "enabled = false # no host is allowed\n"));
}

TEST(the_top_says_what_is_not_carried_over)
{
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;

	REQUIRE(translate(&a, IMPORT_CLAUDE, user,
			  "{\"permissions\": {\"deny\": [\"Bash(git push:*)\"],"
			  "\"ask\": [\"Write(package.json)\", \"Edit(./a/b)\"]}, \"env\": {}}",
			  &im));
	CHECK(says(&im, "# The exception: rules for commands and MCP tools are not carried over"));
	CHECK(!says(&im, "allows more than"));
	CHECK(has_note(&im, "\"Bash(git push:*)\": left out: Cordon has no rules for commands"));
	CHECK(has_note(&im, "ignored, says nothing about files or hosts: env"));
	CHECK(has_note(&im, "\"Write(package.json)\": nor can it be read"));
	CHECK(!has_note(&im, "\"Edit(./a/b)\": nor can"));
	CHECK(says(&im, "# claude closes these for writing; a pattern closes reading, too\n"));
	CHECK(says(&im, "\".bashrc\" = \"read\" # what claude does by itself\n"));
	REQUIRE(translate(&a, IMPORT_SRT, "/s.json",
			  SRT("\"denyRead\": [], \"allowWrite\": [], \"denyWrite\": []"), &im));
	CHECK(!says(&im, "The exception"));
}

TEST(a_mode_that_codex_does_not_have_is_named)
{
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;

	REQUIRE(translate(&a, IMPORT_CODEX, "/c.toml", "sandbox_mode = \"workspce-write\"\n", &im));
	CHECK(has_note(&im, "no sandbox_mode \"workspce-write\", so it is read-only here; did you "
			    "mean \"workspace-write\"?"));
	REQUIRE(translate(&a, IMPORT_CODEX, "/c.toml", "sandbox_mode = \"read-only\"\n", &im));
	CHECK(!has_note(&im, "no sandbox_mode"));
}

TEST(nothing_is_imported_from_an_empty_file)
{
	static const enum import_format formats[] = { IMPORT_GEMINI, IMPORT_OPENCODE, IMPORT_SRT };
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;

	for (size_t i = 0; i < COUNT_OF(formats); i++) {
		CHECK(!translate(&a, formats[i], "/s.json", "", &im));
		CHECK(!translate(&a, formats[i], "/s.json", " \n", &im));
		if (formats[i] != IMPORT_SRT)
			CHECK(strstr(e.text, "the file is empty") != NULL);
	}
	CHECK(translate(&a, IMPORT_GEMINI, "/s.json", "{}", &im));
	CHECK(translate(&a, IMPORT_OPENCODE, "/s.json", "{}", &im));
}

TEST(an_absolute_deny_binds_relative_writes_to_the_directory)
{
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;

	REQUIRE(translate(
		&a, IMPORT_SRT, "/s.json",
		SRT("\"denyRead\": [], \"allowWrite\": [\".\"], \"denyWrite\": [\"/home/me/p/x\"]"),
		&im));
	CHECK_STR(im.directory.p, "/home/me/p");
	LINE("\"/home/me/p\" = \"write\"");
	LINE("\"/home/me/p/x\" = \"read\"");
	CHECK(has_note(&im, "relative paths are not those of every workspace"));
}

TEST(an_unclear_pattern_denies_more_and_allows_nothing)
{
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;

	REQUIRE(translate(&a, IMPORT_SRT, "/s.json",
			  SRT("\"denyRead\": [\"a{b/c\", \"**/*.pem\", \"d/**\"], \"allowWrite\": "
			      "[\"*.o\", \"o/**\"],"
			      "\"denyWrite\": [\"o/[!a]\"]"),
			  &im));
	LINE("\"a*\" = \"deny\"");
	LINE("\"**/*.pem\" = \"deny\"");
	LINE("d = \"deny\"");
	LINE("o = \"write\"");
	LINE("\"o/*/**\" = \"deny\"");
	NO_LINE("\"*.o\" = \"write\"");
	CHECK(has_note(&im, "\"*.o\" allows writing by a pattern"));
}

TEST(a_name_ends_neither_its_comment_nor_its_key)
{
	static const char settings[] =
		SRT("\"denyRead\": [\"x\\n[permissions.srt.network]\\nenabled = true\", "
		    "\"\\u202ey\\\"\"],"
		    "\"allowWrite\": [], \"denyWrite\": []");
	scoped_arena a = ARENA_INIT(ROOM);
	struct config_inputs in = { .user = { .file = "f", .is_present = true } };
	const struct selection selection = { .fallback = ":read-only" };
	const struct profile_doc *doc;
	const struct config *config;
	const struct policy *policy;
	struct imported im;

	REQUIRE(translate(&a, IMPORT_SRT, "/s.json", settings, &im));
	in.user.text = im.text;
	config = config_load(&a, &in, &e);
	REQUIRE(config);
	doc = config_select(&a, config, &selection, &e);
	REQUIRE(doc);
	policy = policy_compile(&a, config, doc, NULL, 0, NULL, &e);
	REQUIRE(policy);
	CHECK_INT(policy->profile->net.access, NET_OFF);
	CHECK(strstr(im.text.p, "\\u{202e}y") != NULL);
	CHECK(strstr(im.text.p, "# f:1 \xe2") == NULL);
}

TEST(what_srt_would_refuse_is_an_error)
{
	static const char *const wrong[] = {
		"[]",
		"{}",
		"{\"network\": {}, \"filesystem\": {}}",
		SRT("\"denyRead\": [1], \"allowWrite\": [], \"denyWrite\": []"),
		SRT("\"denyRead\": [], \"allowWrite\": []"),
	};
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;

	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		CHECK(!translate(&a, IMPORT_SRT, "/s.json", wrong[i], &im));
		CHECK_INT(e.code, ERR_POLICY);
	}
	CHECK(translate(&a, IMPORT_SRT, "/s.json",
			SRT("\"denyRead\": [], \"allowWrite\": [], \"denyWrite\": [], "
			    "\"denyread\": [\"x\"]"),
			&im));
	CHECK(has_note(&im, "denyread"));
}

TEST(hosts_keep_their_ports_and_denies_their_places)
{
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;

	REQUIRE(translate(
		&a, IMPORT_SRT, "/s.json",
		"{\"network\": {\"allowedDomains\": [\"a.example\", \"*.b.example:443\", "
		"\"localhost\"],"
		"\"deniedDomains\": [\"x.b.example\", \"*:22\"]},"
		"\"filesystem\": {\"denyRead\": [], \"allowWrite\": [], \"denyWrite\": []}}",
		&im));
	LINE("\"a.example:1-21\" = \"allow\"");
	LINE("\"a.example:23-65535\" = \"allow\"");
	LINE("\"*.b.example:443\" = \"allow\"");
	LINE("\"x.b.example\" = \"deny\"");
	CHECK(has_note(&im, "localhost"));
	REQUIRE(translate(
		&a, IMPORT_SRT, "/s.json",
		"{\"network\": {\"allowedDomains\": [\"a.example\"], \"deniedDomains\": [\"*\"]},"
		"\"filesystem\": {\"denyRead\": [], \"allowWrite\": [], \"denyWrite\": []}}",
		&im));
	LINE("enabled = false");
}

TEST(paths_of_claude_begin_where_it_says)
{
	static const char settings[] = "{\"permissions\": {\"allow\": [\"Edit(/gen/**)\", "
				       "\"Edit(//opt/x)\", \"Read(/y)\", \"Bash(ls)\"],"
				       "\"ask\": [\"Edit(./ci/**)\"], \"deny\": [\"Read(.env)\", "
				       "\"Read(~/.ssh/**)\", \"Read(//srv/k)\"]}}";
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;

	REQUIRE(translate(&a, IMPORT_CLAUDE, project, settings, &im));
	LINE("\".\" = \"write\"");
	LINE("gen = \"write\"");
	LINE("\"/opt/x\" = \"write\"");
	LINE("ci = \"read\"");
	LINE("\".env\" = \"deny\"");
	LINE("\"**/.env/**\" = \"deny\"");
	/* A pattern, since a workspace may lie in it. */
	LINE("\"~/.ssh/**\" = \"deny\"");
	LINE("\"/srv/k/**\" = \"deny\"");
	CHECK(has_note(&im, "Bash(ls)"));
	CHECK(has_note(&im, "Edit(./ci/**)"));
	REQUIRE(translate(&a, IMPORT_CLAUDE, user, settings, &im));
	LINE("\"~/.claude/gen\" = \"write\"");
	NO_LINE("gen = \"write\"");
	/* Neither the one nor the other place: no allow. */
	REQUIRE(translate(&a, IMPORT_CLAUDE, "/tmp/copy.json", settings, &im));
	NO_LINE("gen = \"write\"");
	NO_LINE("\"~/.claude/gen\" = \"write\"");
	CHECK(has_note(&im, "not clear where this path begins"));
}

TEST(a_tool_that_is_denied_takes_all_of_it)
{
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;

	REQUIRE(translate(&a, IMPORT_CLAUDE, project, "{\"permissions\": {\"deny\": [\"Edit\"]}}",
			  &im));
	NO_LINE("\".\" = \"write\"");
	REQUIRE(translate(&a, IMPORT_CLAUDE, project,
			  "{\"permissions\": {\"allow\": [\"WebFetch(domain:a.example)\"], "
			  "\"deny\": [\"WebFetch\"]}}",
			  &im));
	LINE("enabled = false");
	REQUIRE(translate(&a, IMPORT_CLAUDE, project,
			  "{\"permissions\": {\"allow\": [\"WebFetch(domain:a.example)\"]}}", &im));
	LINE("\"a.example\" = \"allow\"");
	/* What may deny is not passed over. */
	CHECK(!translate(&a, IMPORT_CLAUDE, project, "{\"permissions\": {\"denyTheMoon\": true}}",
			 &im));
	CHECK_INT(e.code, ERR_POLICY);
}

TEST(of_opencode_the_last_rule_counts)
{
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;

	REQUIRE(translate(
		&a, IMPORT_OPENCODE, "/o.json",
		"{ // mine\n\"permission\": {\"edit\": {\"a/*\": \"deny\", \"*\": \"deny\", "
		"\"docs/*\": \"allow\","
		"\"docs/x/*\": \"deny\"}, \"read\": {\"*.key\": \"deny\"},"
		"\"external_directory\": {\"~/notes/**\": \"allow\"}, \"bash\": \"ask\"}, }",
		&im));
	LINE("docs = \"write\"");
	LINE("\"docs/x\" = \"read\"");
	LINE("\"~/notes\" = \"write\"");
	LINE("\"**/*.key/**\" = \"deny\"");
	LINE("\"**/*.env/**\" = \"deny\"");
	NO_LINE("\".\" = \"write\"");
	NO_LINE("a = \"read\"");
	CHECK(has_note(&im, "permission.bash"));
	REQUIRE(translate(&a, IMPORT_OPENCODE, "/o.json", "{\"permission\": \"ask\"}", &im));
	NO_LINE("\".\" = \"write\"");
	LINE("\":minimal\" = \"read\"");
	REQUIRE(translate(&a, IMPORT_OPENCODE, "/o.json", "{}", &im));
	LINE("\".\" = \"write\"");
}

static bool translate_two(struct arena *a, enum import_format format, const char *lower,
			  const char *upper, struct imported *out)
{
	const struct import_file files[] = {
		{ .name = "a", .path = STR("/a.json"), .text = str_of(lower) },
		{ .name = "b", .path = STR("/b.json"), .text = str_of(upper) },
	};

	err_clear(&e);
	return import_translate(a, format, files, 2, &host, out, &e) == 0;
}

TEST(an_allow_of_one_file_of_opencode_replaces_no_deny_of_another)
{
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;

	REQUIRE(translate_two(&a, IMPORT_OPENCODE,
			      "{\"permission\": {\"*\": \"ask\", \"edit\": \"deny\"}}",
			      "{\"permission\": {\"*\": \"allow\"}}", &im));
	NO_LINE("\".\" = \"write\"");
	LINE("\":minimal\" = \"read\"");
	CHECK(has_note(&im, "another file does not allow everything"));
	/* Which of the two is the later one once they are merged, nobody knows. */
	REQUIRE(translate_two(&a, IMPORT_OPENCODE,
			      "{\"permission\": {\"edit\": {\"docs/*\": \"allow\"}}}",
			      "{\"permission\": {\"edit\": {\"*\": \"deny\"}}}", &im));
	NO_LINE("docs = \"write\"");
	REQUIRE(translate_two(
		&a, IMPORT_OPENCODE, "{\"permission\": {\"edit\": {\"*\": \"allow\"}}}",
		"{\"permission\": {\"edit\": {\"k\": \"deny\", \"*\": \"allow\"}}}", &im));
	LINE("\".\" = \"write\"");
	LINE("k = \"read\"");
	REQUIRE(translate(&a, IMPORT_OPENCODE, "/o.json",
			  "{\"permission\": {\"edit\": {\"k\": \"deny\", \"*\": \"allow\"}}}",
			  &im));
	NO_LINE("k = \"read\"");
}

TEST(tools_of_opencode_may_be_patterns)
{
	static const char *const denied[] = { "*", "multiedit", "mult*", "writ?", "patch" };
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;
	char text[64];

	for (size_t i = 0; i < COUNT_OF(denied); i++) {
		(void)snprintf(text, sizeof(text), "{\"tools\": {\"%s\": false}}", denied[i]);
		REQUIRE(translate(&a, IMPORT_OPENCODE, "/o.json", text, &im));
		NO_LINE("\".\" = \"write\"");
		CHECK(has_line(&im, "\".\" = \"deny\"") == (i == 0));
	}
	REQUIRE(translate(&a, IMPORT_OPENCODE, "/o.json",
			  "{\"tools\": {\"bash\": false, \"edit\": true}}", &im));
	LINE("\".\" = \"write\"");
	CHECK(has_note(&im, "tools.bash: left out"));
	CHECK(has_note(&im, "tools.edit: opens nothing"));
	CHECK(!translate(&a, IMPORT_OPENCODE, "/o.json", "{\"tools\": {\"e*\": \"no\"}}", &im));
	CHECK_INT(e.code, ERR_POLICY);
}

TEST(gemini_has_rules_for_tools_alone)
{
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;

	REQUIRE(translate(&a, IMPORT_GEMINI, "/r.toml",
			  "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = "
			  "\"rm\"\ndecision = \"deny\"\n",
			  &im));
	LINE("\".\" = \"write\"");
	CHECK(has_note(&im, "run_shell_command"));
	REQUIRE(translate(
		&a, IMPORT_GEMINI, "/r.toml",
		"[[rule]]\ntoolName = [\"write_file\"]\ndecision = \"deny\"\nargsPattern = \"x\"\n",
		&im));
	NO_LINE("\".\" = \"write\"");
	CHECK(!translate(
		&a, IMPORT_GEMINI, "/r.toml",
		"[[rule]]\ntoolName = \"read_file\"\ndecision = \"deny\"\nargsPattern = \"x\"\n",
		&im));
	REQUIRE(translate(&a, IMPORT_GEMINI, "/s.json",
			  "{\"tools\": {\"exclude\": [\"write_file\"]}, \"context\": "
			  "{\"includeDirectories\": [\"/x\"]}}",
			  &im));
	NO_LINE("\"/x\" = \"write\"");
}

TEST(tools_of_gemini_have_older_keys_and_names)
{
	static const struct {
		const char *settings;
		bool writes, reads;
	} all[] = {
		{ "{\"excludeTools\": [\"run_shell_command\"]}", true, true },
		{ "{\"excludeTools\": [\"write_file\"]}", false, true },
		{ "{\"excludeTools\": [\"write_file\", \"read_file\"]}", false, false },
		{ "{\"coreTools\": [\"read_file\"]}", false, true },
		{ "{\"coreTools\": [\"ReadFileTool\", \"EditTool\"]}", true, true },
		{ "{\"coreTools\": [\"ShellTool(ls)\"]}", false, false },
		{ "{\"tools\": {\"core\": [\"*\"]}}", false, false },
		{ "{\"tools\": {\"core\": [\"write_file\"]}}", false, false },
		{ "{\"tools\": {\"exclude\": [\"WriteFileTool\"]}}", false, true },
		{ "{\"tools\": {\"exclude\": [\"EditTool\", \"ReadFileTool\"]}}", false, false },
		{ "{\"tools\": {\"exclude\": [\"mcp_x_y\", \"x__y\", \"ShellTool\"]}}", true,
		  true },
	};
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;

	for (size_t i = 0; i < COUNT_OF(all); i++) {
		REQUIRE(translate(&a, IMPORT_GEMINI, "/s.json", all[i].settings, &im));
		CHECK_INT(has_line(&im, "\".\" = \"write\""), all[i].writes);
		CHECK_INT(!has_line(&im, "\".\" = \"deny\""), all[i].reads);
	}
	CHECK(!translate(&a, IMPORT_GEMINI, "/s.json", "{\"excludeTools\": [\"WriteFiel\"]}", &im));
	CHECK_INT(e.code, ERR_POLICY);
	REQUIRE(translate(&a, IMPORT_GEMINI, "/r.toml",
			  "[[rule]]\ntoolName = \"*\"\ndecision = \"deny\"\n", &im));
	NO_LINE("\".\" = \"write\"");
	LINE("\".\" = \"deny\"");
	REQUIRE(translate(&a, IMPORT_GEMINI, "/s.json", "{\"includeDirectories\": [\"/x\"]}", &im));
	LINE("\"/x\" = \"write\"");
	REQUIRE(translate(&a, IMPORT_GEMINI, "/s.json",
			  "{\"includeDirectories\": [\"/x\"], \"excludeTools\": [\"glob\"]}", &im));
	NO_LINE("\"/x\" = \"write\"");
	LINE("\"/x\" = \"deny\"");
}

TEST(a_profile_of_codex_stays_one)
{
	static const char config[] =
		"default_permissions = \"x\"\nmodel = \"m\"\n[permissions.x]\nextends = "
		"\":workspace\"\n"
		"[permissions.x.filesystem]\n\"~/.ssh\" = \"deny\"\n\"~/.ssh/pub\" = "
		"\"read\"\n\":odd\" = \"read\"\n"
		"[permissions.x.network]\nenabled = "
		"true\n[permissions.x.network.domains]\n\"a.example\" = \"allow\"\n"
		"\"r*.b.example\" = \"deny\"\n";
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;

	REQUIRE(translate(&a, IMPORT_CODEX, "/c.toml", config, &im));
	LINE("\":root\" = \"read\"");
	LINE("\":workspace_roots\".\".\" = \"write\"");
	LINE("\":slash_tmp\".\".\" = \"write\"");
	LINE("\":slash_tmp\".\".git\" = \"read\"");
	LINE("\"~/.ssh\" = \"deny\"");
	NO_LINE("\"~/.ssh/pub\" = \"read\"");
	LINE("\"a.example\" = \"allow\"");
	LINE("\"**.b.example\" = \"deny\"");
	CHECK(has_note(&im, ":odd"));
	CHECK(has_note(&im, "model"));
	CHECK(!translate(&a, IMPORT_CODEX, "/c.toml", "default_permissions = \"gone\"\n", &im));
	CHECK(!translate(&a, IMPORT_CODEX, "/c.toml",
			 "default_permissions = \"x\"\n[permissions.x]\ndeny_read = [\"/x\"]\n",
			 &im));
}

TEST(modes_of_codex_are_profiles)
{
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;

	REQUIRE(translate(&a, IMPORT_CODEX, "/c.toml", "", &im));
	NO_LINE("\":workspace_roots\".\".\" = \"write\"");
	REQUIRE(translate(&a, IMPORT_CODEX, "/c.toml",
			  "sandbox_mode = \"workspace-write\"\n[sandbox_workspace_write]\n"
			  "writable_roots = [\"/x\"]\nexclude_slash_tmp = true\n",
			  &im));
	LINE("\":workspace_roots\".\".\" = \"write\"");
	LINE("\"/x\" = \"write\"");
	LINE("enabled = false");
	NO_LINE("\":slash_tmp\".\".\" = \"write\"");
	REQUIRE(translate(&a, IMPORT_CODEX, "/c.toml", "sandbox_mode = \"danger-full-access\"\n",
			  &im));
	LINE("\":root\" = \"read\"");
	CHECK(has_note(&im, "no sandbox"));
	REQUIRE(translate(&a, IMPORT_CODEX, "/c.toml",
			  "sandbox_mode = \"danger-full-access\"\nprofile = \"p\"\n[profiles.p]\n"
			  "sandbox_mode = \"read-only\"\n",
			  &im));
	NO_LINE("\":workspace_roots\".\".\" = \"write\"");
}

static bool translate_tmpdir(struct arena *a, const char *tmpdir, const char *access,
			     struct imported *out)
{
	struct import_host own = host;
	struct import_file file = { .name = "f", .path = STR("/c.toml") };
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "default_permissions = \"x\"\n[permissions.x.filesystem]\n\":root\" = "
		       "\"read\"\n\":tmpdir\" = \"%s\"\n",
		       access);
	own.temporary = str_of(tmpdir);
	file.text = str_of(text);
	err_clear(&e);
	return import_translate(a, IMPORT_CODEX, &file, 1, &own, out, &e) == 0;
}

TEST(a_deny_of_the_temporary_directory_of_codex_stays)
{
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;

	REQUIRE(translate_tmpdir(&a, "/tmp", "deny", &im));
	LINE("\"/tmp\" = \"deny\"");
	REQUIRE(translate_tmpdir(&a, "/tmp", "read", &im));
	LINE("\"/tmp\" = \"read\"");
	REQUIRE(translate_tmpdir(&a, "/var/t", "write", &im));
	LINE("\"/var/t\" = \"write\"");
	REQUIRE(translate_tmpdir(&a, "/tmp", "write", &im));
	NO_LINE("\"/tmp\" = \"write\"");
	CHECK(has_note(&im, "':tmpdir' opens nothing"));
	REQUIRE(translate_tmpdir(&a, "", "write", &im));
	CHECK(has_note(&im, "':tmpdir' opens nothing"));
	CHECK(!translate_tmpdir(&a, "", "deny", &im));
	CHECK_INT(e.code, ERR_POLICY);
	CHECK(!translate_tmpdir(&a, "", "read", &im));
	CHECK_INT(e.code, ERR_POLICY);
}

TEST(a_pattern_of_claude_denies_each_tool_that_it_matches)
{
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;

	REQUIRE(translate(&a, IMPORT_CLAUDE, project,
			  "{\"permissions\": {\"allow\": [\"WebFetch(domain:a.example)\"], "
			  "\"deny\": [\"*\"]}}",
			  &im));
	LINE("\":root\" = \"deny\"");
	NO_LINE("\".\" = \"write\"");
	LINE("enabled = false");
	REQUIRE(translate(&a, IMPORT_CLAUDE, project, "{\"permissions\": {\"ask\": [\"Re*\"]}}",
			  &im));
	LINE("\":root\" = \"deny\"");
	REQUIRE(translate(&a, IMPORT_CLAUDE, project,
			  "{\"permissions\": {\"deny\": [\"*dit(./ci)\", \"mcp__*\"]}}", &im));
	LINE("\".\" = \"write\"");
	LINE("ci = \"read\"");
	CHECK(has_note(&im, "\"mcp__*\": left out"));
	REQUIRE(translate(&a, IMPORT_CLAUDE, project,
			  "{\"permissions\": {\"allow\": [\"Ed*(//opt/x)\"]}}", &im));
	NO_LINE("\"/opt/x\" = \"write\"");
}

TEST(layers_of_claude_are_merged_and_managed_ones_may_be_the_only_ones)
{
	const struct import_file files[] = {
		{ .name = "u",
		  .path = str_of(user),
		  .text = STR("{\"permissions\": {\"allow\": [\"WebFetch(domain:u.example)\"], "
			      "\"deny\": [\"Read(~/k)\"]}}") },
		{ .name = "m",
		  .path = STR("/etc/claude-code/managed-settings.json"),
		  .text = STR("{\"sandbox\": {\"network\": {\"allowManagedDomainsOnly\": true,"
			      "\"allowedDomains\": [\"m.example\"]}}}") },
	};
	scoped_arena a = ARENA_INIT(ROOM);
	struct imported im;

	err_clear(&e);
	REQUIRE(import_translate(&a, IMPORT_CLAUDE, files, 2, &host, &im, &e) == 0);
	LINE("\"m.example\" = \"allow\"");
	NO_LINE("\"u.example\" = \"allow\"");
	LINE("\"~/k/**\" = \"deny\"");
}
