/* SPDX-License-Identifier: MIT */
/* P21 and P22: what of an environment reaches a command. */
#include "session/session.h"
#include "test.h"

static const struct environment everything = { .inherit = ENV_ALL };

struct made {
	struct arena a;
	struct child_environment env;
	struct err e;
	bool is_made;
};

#define scoped_made SCOPED(made_done) struct made

static void made_done(struct made *m)
{
	arena_done(&m->a);
}

static void make(struct made *m, struct environment_request in)
{
	*m = (struct made){ .a = ARENA_INIT(1 << 20), .e = ERR_INIT };
	if (!in.policy)
		in.policy = &everything;
	if (!in.backend)
		in.backend = "native";
	m->is_made = environment_make(&m->a, &in, &m->env, &m->e) == 0;
}

/* All of it in one line, in order. */
static const char *line_of(const struct made *m)
{
	static char line[1024];
	size_t used = 0;

	line[0] = '\0';
	for (size_t i = 0; m->is_made && m->env.list[i]; i++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s", i ? " " : "",
					 m->env.list[i]);
	return m->is_made ? line : m->e.text;
}

TEST(what_looks_like_a_secret_is_withheld_and_counted)
{
	const char *base[] = {
		"A=1", "MY_TOKEN=x", "github_password=y", "B=2=3", "AWS_KEY=z", NULL
	};
	scoped_made m;

	make(&m, (struct environment_request){ .base = base });
	CHECK_STR(line_of(&m), "A=1 B=2=3 CORDON_SANDBOX=native");
	CHECK_INT(m.env.count, 3);
	CHECK_INT(m.env.inherited, 2);
	REQUIRE(m.env.withheld.count == 3);
	CHECK_STR(m.env.withheld.items[0].p, "MY_TOKEN");
	CHECK_STR(m.env.withheld.items[2].p, "AWS_KEY");
}

TEST(additions_pass_on_set_and_replace)
{
	const char *base[] = { "A=1", "MY_TOKEN=x", "OTHER_TOKEN=y", NULL };
	const char *more[] = { "MY_TOKEN", "A=2", "C=3", "A=4", "NOT_THERE", NULL };
	scoped_made m;

	make(&m, (struct environment_request){ .base = base, .more = more });
	CHECK_STR(line_of(&m), "MY_TOKEN=x C=3 A=4 CORDON_SANDBOX=native");
	CHECK_INT(m.env.withheld.count, 1);
}

TEST(the_policy_sets_and_the_call_comes_before_it)
{
	struct env_value set[] = { { .name = STR_INIT("A"), .value = STR_INIT("policy") },
				   { .name = STR_INIT("B"), .value = STR_INIT("policy") } };
	const struct environment policy = { .inherit = ENV_NONE,
					    .set = { .items = set, .count = 2 } };
	const char *base[] = { "A=base", "PATH=/bin", NULL };
	const char *more[] = { "B=call", "PATH", NULL };
	scoped_made m;

	make(&m, (struct environment_request){ .policy = &policy, .base = base, .more = more });
	CHECK_STR(line_of(&m), "PATH=/bin A=policy B=call CORDON_SANDBOX=native");
}

/* As Windows has it; and beside each that names stay apart elsewhere. */
TEST(what_is_withheld_is_withheld_in_every_spelling_where_names_fold)
{
	const char *base[] = { "Lib_Path=1", "aws_secret_access_key=x", "Codex_Sandbox=y", NULL };
	const char *more[] = { "LIB_PATH=2", "Lib_path=3", NULL };
	const char *const kept_back[] = { "LIB_PATH", NULL };
	scoped_made m;
	scoped_made apart;

	make(&m, (struct environment_request){
			 .base = base, .more = more, .withheld = kept_back, .names_fold = true });
	CHECK_STR(line_of(&m), "CORDON_SANDBOX=native");
	CHECK_INT(m.env.inherited, 0);
	make(&apart,
	     (struct environment_request){ .base = base, .more = more, .withheld = kept_back });
	CHECK_STR(line_of(&apart), "Lib_Path=1 Codex_Sandbox=y Lib_path=3 CORDON_SANDBOX=native");
}

TEST(one_spelling_of_a_name_stays_where_names_fold)
{
	struct env_value set[] = { { .name = STR_INIT("APPDATA"), .value = STR_INIT("policy") },
				   { .name = STR_INIT("temp"), .value = STR_INIT("first") },
				   { .name = STR_INIT("TEMP"), .value = STR_INIT("last") } };
	const struct environment policy = { .inherit = ENV_ALL,
					    .set = { .items = set, .count = 3 } };
	const char *base[] = { "AppData=base", "Path=one", "PATH=two", "My_Token=x", NULL };
	const char *more[] = { "MY_TOKEN", "X=1", "x=2", NULL };
	scoped_made m;
	scoped_made apart;

	make(&m, (struct environment_request){
			 .policy = &policy, .base = base, .more = more, .names_fold = true });
	CHECK_STR(line_of(&m), "Path=one My_Token=x APPDATA=policy TEMP=last x=2 "
			       "CORDON_SANDBOX=native");
	CHECK_INT(m.env.inherited, 2);
	CHECK_INT(m.env.count, 6);
	make(&apart, (struct environment_request){ .policy = &policy, .base = base, .more = more });
	CHECK_STR(line_of(&apart), "AppData=base Path=one PATH=two APPDATA=policy temp=first "
				   "TEMP=last X=1 x=2 CORDON_SANDBOX=native");
}

TEST(marks_and_ways_to_a_proxy_are_known_in_every_spelling_where_names_fold)
{
	const char *base[] = { "cordon_socket=x", "Https_Proxy=http://theirs", "A=1", NULL };
	const char *forged[] = { "cordon_Sandbox=none", NULL };
	const char *own[] = { "Http_Proxy=mine", NULL };
	scoped_made m;
	scoped_made refused;
	size_t proxies = 0;

	make(&refused,
	     (struct environment_request){ .base = base, .more = forged, .names_fold = true });
	CHECK(!refused.is_made);
	make(&m,
	     (struct environment_request){
		     .base = base, .more = own, .names_fold = true, .network_is_managed = true });
	REQUIRE(m.is_made);
	CHECK_STR(m.env.list[0], "A=1");
	for (size_t i = 0; i < m.env.count; i++) {
		CHECK(!strstr(m.env.list[i], "theirs"));
		CHECK(!strstr(m.env.list[i], "cordon_socket"));
		proxies += variable_begins(str_of(m.env.list[i]), STR("HTTP_PROXY="), true);
	}
	CHECK_INT(proxies, 1);
}

TEST(marks_are_made_here_and_nowhere_else)
{
	const char *base[] = {
		"CORDON_SANDBOX=none",	 "CODEX_SANDBOX=x",    "CODEX_SANDBOX_NETWORK_DISABLED=1",
		"CORDON_SANDBOX_LOST=y", "CORDON_PROFILE=dev", NULL
	};
	const char *forged[] = { "CODEX_SANDBOX=1", NULL };
	scoped_made m;
	scoped_made off;
	scoped_made seatbelt;
	scoped_made refused;

	/* What an outer sandbox says of the network stays true. */
	make(&m, (struct environment_request){ .base = base });
	CHECK_STR(line_of(&m), "CODEX_SANDBOX_NETWORK_DISABLED=1 CORDON_PROFILE=dev "
			       "CORDON_SANDBOX=native");
	make(&off, (struct environment_request){ .base = base,
						 .network_is_off = true,
						 .lost = GUARANTEE_BIT(G_IPC) |
							 GUARANTEE_BIT(G_LIMITS) });
	CHECK_STR(line_of(&off), "CORDON_PROFILE=dev npm_config_fetch_retries=0 PIP_RETRIES=0 "
				 "CARGO_NET_RETRY=0 CORDON_SANDBOX=native "
				 "CORDON_SANDBOX_NETWORK_DISABLED=1 "
				 "CODEX_SANDBOX_NETWORK_DISABLED=1 CORDON_SANDBOX_LOST=ipc,limits");
	make(&seatbelt, (struct environment_request){ .base = &base[5], .backend = "seatbelt" });
	CHECK_STR(line_of(&seatbelt), "CORDON_SANDBOX=seatbelt CODEX_SANDBOX=seatbelt");
	make(&refused, (struct environment_request){ .base = base, .more = forged });
	CHECK_INT(refused.e.code, ERR_ARGUMENT);
}

TEST(without_a_network_nobody_tries_again_unless_somebody_said_so)
{
	const char *base[] = { "PIP_RETRIES=3", NULL };
	const char *more[] = { "CARGO_NET_RETRY=2", NULL };
	scoped_made off;

	make(&off,
	     (struct environment_request){ .base = base, .more = more, .network_is_off = true });
	CHECK_STR(line_of(&off), "PIP_RETRIES=3 CARGO_NET_RETRY=2 npm_config_fetch_retries=0 "
				 "CORDON_SANDBOX=native CORDON_SANDBOX_NETWORK_DISABLED=1 "
				 "CODEX_SANDBOX_NETWORK_DISABLED=1");
}

/* npm reads its variables in any case, and of two of them not the one that is meant. */
TEST(what_is_said_to_npm_counts_in_any_case)
{
	const char *said[] = { "NPM_CONFIG_FETCH_RETRIES=5", NULL };
	const char *base[] = { "Npm_Config_fetch_retries=4", NULL };
	const char *others[] = { "pip_retries=3", "NPM_CONFIG_FETCH_RETRIE=1", NULL };
	const char *none[] = { NULL };
	scoped_made inherited;
	scoped_made set;
	scoped_made other;

	make(&inherited, (struct environment_request){ .base = base, .network_is_off = true });
	CHECK(strstr(line_of(&inherited), "Npm_Config_fetch_retries=4"));
	CHECK(!strstr(line_of(&inherited), "npm_config_fetch_retries"));
	make(&set,
	     (struct environment_request){ .base = none, .more = said, .network_is_off = true });
	CHECK(strstr(line_of(&set), "NPM_CONFIG_FETCH_RETRIES=5"));
	CHECK(!strstr(line_of(&set), "npm_config_fetch_retries"));
	make(&other, (struct environment_request){ .base = others, .network_is_off = true });
	CHECK(strstr(line_of(&other), "npm_config_fetch_retries=0"));
	CHECK(strstr(line_of(&other), "PIP_RETRIES=0"));
}

TEST(a_chosen_directory_is_the_one_that_pwd_names)
{
	const char *base[] = { "PWD=/old", "A=1", NULL };
	const char *more[] = { "PWD=/mine", NULL };
	scoped_made kept;
	scoped_made chosen;
	scoped_made said;

	make(&kept, (struct environment_request){ .base = base });
	CHECK_STR(line_of(&kept), "PWD=/old A=1 CORDON_SANDBOX=native");
	make(&chosen, (struct environment_request){ .base = base, .directory = "/new" });
	CHECK_STR(line_of(&chosen), "A=1 PWD=/new CORDON_SANDBOX=native");
	make(&said,
	     (struct environment_request){ .base = base, .directory = "/new", .more = more });
	CHECK_STR(line_of(&said), "A=1 PWD=/mine CORDON_SANDBOX=native");
}

TEST(what_is_no_variable_is_left_out_or_refused)
{
	const char *base[] = { "=x", "nothing", "", "A=", NULL };
	const char *more[] = { "=x", NULL };
	scoped_made m;
	scoped_made refused;

	make(&m, (struct environment_request){ .base = base });
	CHECK_STR(line_of(&m), "A= CORDON_SANDBOX=native");
	make(&refused, (struct environment_request){ .base = base, .more = more });
	CHECK(strstr(line_of(&refused), "'=x' names no variable") != NULL);
}

/* ---- A managed network ---------------------------------------------------------------- */

static const char *find(const struct made *m, const char *name, size_t *count)
{
	size_t length = strlen(name);
	const char *found = NULL;

	*count = 0;
	for (size_t i = 0; m->is_made && m->env.list[i]; i++)
		if (strncmp(m->env.list[i], name, length) == 0 && m->env.list[i][length] == '=') {
			found = m->env.list[i] + length + 1;
			++*count;
		}
	return found;
}

static void check_value(const struct made *m, const char *name, const char *value)
{
	size_t count;
	const char *found = find(m, name, &count);

	CHECK_INT(count, value != NULL);
	if (value && found)
		CHECK_STR(found, value);
}

TEST(a_tmpdir_that_is_set_to_nothing_is_not_set)
{
	const char *empty[] = { "TMPDIR=", "HOME=/h", NULL };
	const char *full[] = { "TMPDIR=/t", "HOME=/h", NULL };
	struct made m;

	make(&m, (struct environment_request){ .base = empty, .backend = "native" });
	check_value(&m, "TMPDIR", NULL);
	check_value(&m, "HOME", "/h");
	made_done(&m);
	make(&m, (struct environment_request){ .base = full, .backend = "native" });
	check_value(&m, "TMPDIR", "/t");
	made_done(&m);
}

TEST(a_managed_network_leads_to_its_proxy)
{
	const char *base[] = { "HTTP_PROXY=http://outside:1",
			       "no_proxy=*",
			       "JAVA_TOOL_OPTIONS=-Xmx1g",
			       "CODEX_NETWORK_PROXY_ACTIVE=forged",
			       "CORDON_SANDBOX_NETWORK=forged",
			       "HOME=/h",
			       NULL };
	scoped_made m;

	make(&m, (struct environment_request){ .base = base, .network_is_managed = true });
	check_value(&m, "HTTP_PROXY", "http://127.0.0.1:3128");
	check_value(&m, "https_proxy", "http://127.0.0.1:3128");
	check_value(&m, "ALL_PROXY", "socks5h://127.0.0.1:3128");
	check_value(&m, "no_proxy", "localhost,127.0.0.1,::1");
	check_value(&m, "NO_PROXY", "localhost,127.0.0.1,::1");
	check_value(&m, "CODEX_NETWORK_PROXY_ACTIVE", "1");
	check_value(&m, "CORDON_SANDBOX_NETWORK", "managed");
	check_value(&m, "HOME", "/h");
	check_value(&m, "JAVA_TOOL_OPTIONS",
		    "-Xmx1g -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 "
		    "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128 "
		    "-Dhttp.nonProxyHosts=localhost|127.0.0.1|[::1]");
	CHECK_INT(m.env.withheld.count, 0);
	CHECK_INT(m.env.inherited, 1); /* HOME */
}

TEST(on_the_hosts_loopback_the_proxy_is_named_with_its_token)
{
	const struct entrance way = { .fds = { -1, -1 }, .port = 40123, .token = "abc" };
	const char *base[] = { "CLOUDSDK_PROXY_PASSWORD=outside", NULL };
	struct environment_request in = { .base = base,
					  .network_is_managed = true,
					  .entrance = &way };
	scoped_made m, binds, inside;

	make(&m, in);
	check_value(&m, "HTTP_PROXY", "http://cordon:abc@127.0.0.1:40123");
	check_value(&m, "all_proxy", "socks5h://cordon:abc@127.0.0.1:40123");
	check_value(&m, "RSYNC_PROXY", "cordon:abc@127.0.0.1:40123");
	check_value(&m, "CLOUDSDK_PROXY_PORT", "40123");
	check_value(&m, "CLOUDSDK_PROXY_PASSWORD", "abc");
	/* The JVM prints this at its start. */
	check_value(&m, "JAVA_TOOL_OPTIONS",
		    "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=40123 "
		    "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=40123 "
		    "-Dhttp.nonProxyHosts=localhost|127.0.0.1|[::1]");
	check_value(&m, "CODEX_NETWORK_ALLOW_LOCAL_BINDING", NULL);
	in.may_listen = true;
	make(&binds, in);
	check_value(&binds, "CODEX_NETWORK_ALLOW_LOCAL_BINDING", "1");
	/* In a network of its own it always may, and there is no password. */
	make(&inside, (struct environment_request){ .base = base, .network_is_managed = true });
	check_value(&inside, "CODEX_NETWORK_ALLOW_LOCAL_BINDING", "1");
	check_value(&inside, "CLOUDSDK_PROXY_PASSWORD", NULL);
}

TEST(without_one_the_callers_proxies_stay)
{
	const char *base[] = { "HTTP_PROXY=http://outside:1", "JAVA_TOOL_OPTIONS=-Xmx1g", NULL };
	scoped_made m;

	make(&m, (struct environment_request){ .base = base });
	CHECK_STR(line_of(&m), "HTTP_PROXY=http://outside:1 JAVA_TOOL_OPTIONS=-Xmx1g "
			       "CORDON_SANDBOX=native");
}

TEST(who_sets_a_proxy_for_this_run_is_heard)
{
	static struct env_value set[] = { { .name = STR_INIT("no_proxy"),
					    .value = STR_INIT("a") } };
	const struct environment policy = { .inherit = ENV_ALL,
					    .set = { .items = set, .count = 1, .room = 1 } };
	const char *base[] = { "HTTP_PROXY=http://outside:1", NULL };
	const char *more[] = { "HTTP_PROXY=mine", "JAVA_TOOL_OPTIONS=", NULL };
	scoped_made m;

	make(&m,
	     (struct environment_request){
		     .base = base, .more = more, .policy = &policy, .network_is_managed = true });
	check_value(&m, "HTTP_PROXY", "mine");
	check_value(&m, "http_proxy", "http://127.0.0.1:3128");
	check_value(&m, "no_proxy", "a");
	check_value(&m, "JAVA_TOOL_OPTIONS", "");
}

TEST(secrets_are_no_part_of_the_javas_options)
{
	static const struct environment none = { .inherit = ENV_NONE };
	const char *base[] = { "JAVA_TOOL_OPTIONS=-Dsecret=1", NULL };
	scoped_made m;
	size_t count;
	const char *java;

	make(&m, (struct environment_request){
			 .base = base, .policy = &none, .network_is_managed = true });
	java = find(&m, "JAVA_TOOL_OPTIONS", &count);
	REQUIRE(java && count == 1);
	CHECK(strstr(java, "secret") == NULL);
}
