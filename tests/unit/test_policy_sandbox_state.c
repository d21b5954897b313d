/* SPDX-License-Identifier: MIT */
/* What codex says of its sandbox: the texts are those that codex 0.169 sends. */
#include <stdio.h>

#include "policy/sandbox_state.h"
#include "test.h"

#define STATE(profile)                                                                       \
	"{\"permissionProfile\":" profile ",\"codexLinuxSandboxExe\":\"/x\",\"sandboxCwd\":" \
	"\"file:///p\",\"useLegacyLandlock\":false,\"useMxc\":false}"
#define MANAGED(entries, network)                                                           \
	STATE("{\"type\":\"managed\",\"file_system\":{\"type\":\"restricted\",\"entries\":" \
	      "[" entries "]},\"network\":\"" network "\"}")
#define SPECIAL(kind, access)                                                                     \
	"{\"path\":{\"type\":\"special\",\"value\":{\"kind\":\"" kind "\"}},\"access\":\"" access \
	"\"}"
#define PATH(path, access) \
	"{\"path\":{\"type\":\"path\",\"path\":\"" path "\"},\"access\":\"" access "\"}"
#define GLOB(pattern, access)                                                                    \
	"{\"path\":{\"type\":\"glob_pattern\",\"pattern\":\"" pattern "\"},\"access\":\"" access \
	"\"}"
#define SKIPPED(path)                                                              \
	"{\"path\":{\"type\":\"path\",\"path\":\"" path "\"},\"access\":\"read\"," \
	"\"missing_path_behavior\":\"skip\"}"

/* "/=read /p=write …, network", or the error. */
static const char *read_state(const char *text)
{
	static char out[4000];
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	const struct json *state = json_parse(&a, str_of(text), &e);
	struct layer layer;
	bool takes_away;
	size_t at = 0;

	if (!state || sandbox_state_read(&a, state, &layer, &takes_away, &e) < 0) {
		(void)snprintf(out, sizeof(out), "error: %s", e.text);
		return out;
	}
	for (size_t i = 0; i < layer.fs.count; i++) {
		const struct fs_entry *f = &layer.fs.items[i];

		at += (size_t)snprintf(out + at, sizeof(out) - at, "%.*s%s%.*s=%s ",
				       STR_ARG(f->path), f->glob.len ? "|" : "", STR_ARG(f->glob),
				       access_name(f->access));
		CHECK(f->anchor == FS_ABSOLUTE && !f->matcher == !f->glob.len);
	}
	(void)snprintf(out + at, sizeof(out) - at, "%s%s",
		       !layer.has_net		     ? "any network"
		       : layer.net.access == NET_OFF ? "no network"
						     : "?",
		       takes_away ? "" : ", nothing");
	return out;
}

static bool is_refused(const char *text)
{
	const char *got = read_state(text);
	bool is = strncmp(got, "error: ", 7) == 0;

	if (!is)
		printf("#   %s\n#   gave %s\n", text, got);
	return is;
}

TEST(what_codex_sends_for_its_modes_becomes_a_layer)
{
	CHECK_STR(read_state(MANAGED(SPECIAL("root", "read"), "restricted")), "/=read no network");
	CHECK_STR(
		read_state(MANAGED(
			SPECIAL("root", "read") "," PATH("/p", "write") "," SPECIAL(
				"slash_tmp",
				"w"
				"r"
				"i"
				"t"
				"e") "," SPECIAL("tmpdir",
						 "write") "," SKIPPED("/p/.git") "," SKIPPED("/p/"
											     ".agen"
											     "ts") "," SKIPPED("/p/.codex") "," SKIPPED("/p/.aws"),
			"enabled")),
		"/=read /p=write /tmp=write /p/.git=read /p/.agents=read /p/.codex=read "
		"/p/.aws=read any network");
	CHECK_STR(read_state(STATE("{\"type\":\"disabled\"}")), "any network, nothing");
	CHECK_STR(read_state(STATE("{\"type\":\"external\",\"network\":\"restricted\"}")),
		  "no network");
	CHECK_STR(read_state(
			  STATE("{\"type\":\"managed\",\"file_system\":{\"type\":\"unrestricted\"},"
				"\"network\":\"enabled\"}")),
		  "any network, nothing");
}

TEST(what_the_profile_does_not_name_is_denied)
{
	CHECK_STR(read_state(MANAGED("", "enabled")), "/=deny any network");
	CHECK_STR(read_state(MANAGED(SPECIAL("minimal", "read"), "restricted")),
		  "/bin=read /sbin=read /usr=read /etc=read /lib=read /lib64=read /nix/store=read "
		  "/run/current-system/sw=read /=deny no network");
	CHECK_STR(read_state(STATE("{\"type\":\"managed\",\"file_system\":{\"type\":\"restricted\","
				   "\"entries\":[]}}")),
		  "/=deny no network");
	CHECK_STR(read_state(MANAGED(PATH("/", "write") "," PATH("/s", "none"), "enabled")),
		  "/=write /s=deny /.git=read /.agents=read /.codex=read /.aws=read any network");
}

TEST(metadata_is_read_only_unless_an_entry_opens_it)
{
	CHECK_STR(read_state(MANAGED(PATH("/p", "write"), "enabled")),
		  "/p=write /p/.git=read /p/.agents=read /p/.codex=read /p/.aws=read /=deny any "
		  "network");
	CHECK_STR(read_state(MANAGED(PATH("/p", "write") "," PATH("/p/.git", "write") "," PATH(
					     "/p/.codex/log", "write") "," PATH("/p/.aws", "deny"),
				     "enabled")),
		  "/p=write /p/.git=write /p/.codex/log=write /p/.aws=deny /p/.agents=read "
		  "/p/.git/.git=read /p/.git/.agents=read /p/.git/.codex=read /p/.git/.aws=read "
		  "/p/.codex/log/.git=read /p/.codex/log/.agents=read /p/.codex/log/.codex=read "
		  "/p/.codex/log/.aws=read /=deny any network");
}

TEST(globs_deny)
{
	CHECK_STR(
		read_state(MANAGED(SPECIAL("root", "read") "," GLOB(
					   "/srv/**/*.key", "deny") "," GLOB("/srv/plain", "deny"),
				   "enabled")),
		"/=read /srv|**/*.key=deny /srv/plain=deny any network");
	CHECK(is_refused(MANAGED(GLOB("/srv/*", "read"), "enabled")));
	CHECK(is_refused(MANAGED(GLOB("srv/*", "deny"), "enabled")));
	CHECK(is_refused(MANAGED(GLOB("/srv/{a,b}", "deny"), "enabled")));
	CHECK(is_refused(MANAGED(GLOB("/srv/[ab]", "deny"), "enabled")));
	CHECK(is_refused(MANAGED(GLOB("/srv/a**b", "deny"), "enabled")));
	CHECK(is_refused(MANAGED(GLOB("/srv/***", "deny"), "enabled")));
}

TEST(what_is_not_known_is_refused)
{
	CHECK(is_refused("5"));
	CHECK(is_refused("{}"));
	CHECK(is_refused("{\"permissionProfile\":{}}"));
	/* The shape of older ones, without a type. */
	CHECK(is_refused(
		STATE("{\"network\":{\"enabled\":true},\"file_system\":{\"read\":[\"/\"]}}")));
	CHECK(is_refused(STATE("{\"type\":\"later\"}")));
	CHECK(is_refused(STATE("{\"type\":\"disabled\",\"except\":[]}")));
	CHECK(is_refused("{\"permissionProfile\":{\"type\":\"disabled\"},\"more\":1}"));
	CHECK(is_refused(STATE("{\"type\":\"external\",\"network\":\"some\"}")));
	CHECK(is_refused(STATE("{\"type\":\"external\",\"network\":{}}")));
	CHECK(is_refused(STATE("{\"type\":\"managed\",\"network\":\"enabled\"}")));
	CHECK(is_refused(
		STATE("{\"type\":\"managed\",\"file_system\":{\"type\":\"external-sandbox\"}}")));
	CHECK(is_refused(
		STATE("{\"type\":\"managed\",\"file_system\":{\"type\":\"restricted\"}}")));
	CHECK(is_refused(STATE("{\"type\":\"managed\",\"file_system\":{\"type\":\"restricted\","
			       "\"entries\":[],\"deny_exec\":[]}}")));
	CHECK(is_refused(MANAGED("5", "enabled")));
	CHECK(is_refused(MANAGED(PATH("/p", "append"), "enabled")));
	CHECK(is_refused(MANAGED(PATH("p", "read"), "enabled")));
	CHECK(is_refused(MANAGED(PATH("/p/../q", "read"), "enabled")));
	CHECK(is_refused(MANAGED(PATH("", "deny"), "enabled")));
	CHECK(is_refused(
		MANAGED("{\"path\":{\"type\":\"path\",\"path\":\"/p\"},\"access\":\"read\","
			"\"missing_path_behavior\":\"fail\"}",
			"enabled")));
	CHECK(is_refused(MANAGED("{\"path\":{\"type\":\"path\",\"path\":\"/p\",\"below\":1},"
				 "\"access\":\"read\"}",
				 "enabled")));
	CHECK(is_refused(
		MANAGED("{\"path\":{\"type\":\"device\"},\"access\":\"read\"}", "enabled")));
	CHECK(is_refused(MANAGED("{\"access\":\"deny\"}", "enabled")));
	CHECK(is_refused(MANAGED(SPECIAL("project_roots", "write"), "enabled")));
	CHECK(is_refused(MANAGED(SPECIAL("unknown", "read"), "enabled")));
	CHECK(is_refused(MANAGED(SPECIAL("tmpdir", "read"), "enabled")));
	CHECK(is_refused(MANAGED(SPECIAL("minimal", "deny"), "enabled")));
	/* Beside it, what is known. */
	CHECK(!is_refused(MANAGED(PATH("/p/", "read") "," SKIPPED("/q"), "enabled")));
}
