/* SPDX-License-Identifier: MIT */
/* Which grants are offered for an attempt, and that what is denied is never one of them. */
#include "approve/offers.h"
#include "test.h"
#include "world.h"

#define DEV "default_permissions = 'dev'\n[permissions.dev]\n"
#define RO  DEV "[permissions.dev.filesystem]\n'/' = 'read'\n':workspace_roots' = 'write'\n"
#define NET                                                                                       \
	"[permissions.dev.network]\nenabled = true\n[permissions.dev.network.domains]\n'ok.com' " \
	"= 'allow'\n"

static const char host_text[] =
	"d /repo/.git/hooks\nf /repo/.git/config\nf /repo/.git/HEAD\nd /repo/.git/objects\n"
	"d /repo/.git/refs\nd /home/me/.cache\nf /home/me/.bashrc\nd /opt/app/bin\nf "
	"/opt/app/conf\n"
	"d /opt/app/.vscode\nd /opt/lib\nl /opt/link -> /opt/app\nd /srv/secret\nd /tmp\n"
	"d /opt/repo/.git/hooks\nf /opt/repo/.git/config\nd /opt/repo/sub/.vscode/x\n"
	"d /opt/repo/.github/hooks\nd /opt/repo/.github/workflows\nd /opt/repo/src\n"
	"f /opt/bare/HEAD\nd /opt/bare/objects\nd /opt/bare/refs\nf /opt/bare/config\n"
	"d /opt/bare/hooks\nf /opt/tree/HEAD\nf /opt/tree/commondir\n"
	"f /opt/no/HEAD\nd /opt/no/refs\nf /opt/no/config\n"
	"d /proc/self\nd /state/cordon\no /run/x.sock\no /run/no.sock\n";

static const struct own_file own[] = { { STR_INIT("/state/cordon"), ACCESS_READ, "state" } };

static bool start(struct world *w, const char *user)
{
	world_init(w, host_text, "/repo");
	w->user = user;
	w->own = own;
	w->own_count = 1;
	if (world_plan(w))
		return true;
	printf("# %s\n", w->e.text);
	return false;
}

/* "/opt/app/conf:1e /opt/app/:1e": with a slash a directory, and the scopes. */
static const char *print(struct world *w, const struct ask *ask)
{
	static char text[1024];
	size_t used = 0;

	(void)w;
	text[0] = '\0';
	for (size_t i = 0; i < ask->offer_count; i++) {
		const struct offer *o = &ask->offers[i];

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.*s%s:%s%s",
					 i ? " " : "", STR_ARG(o->grant.subject),
					 o->grant.is_dir ? "/" : "",
					 o->scopes & SCOPE_BIT(SCOPE_ONCE) ? "o" : "",
					 o->scopes & SCOPE_BIT(SCOPE_RUN) ? "r" : "");
	}
	return text;
}

static const char *path(struct world *w, enum operation operation, const char *opens,
			const char *subject, bool can_once)
{
	const struct attempt_needs needs = { .opens = str_of(opens),
					     .subject = str_of(subject),
					     .access = ACCESS_WRITE };
	struct ask ask = { .kind = ASK_WRITE };

	if (offers_for_path(&w->a, &w->in, w->plan, &needs, operation, can_once, &ask, &w->e) < 0)
		return w->e.text;
	return print(w, &ask);
}

static const char *host(struct world *w, const char *text, bool can_once)
{
	struct ask ask = { .kind = ASK_CONNECT };
	struct hostname name;
	uint16_t port;

	if (hostname_parse_port(&w->a, str_of(text), &name, &port, &w->e) < 0 ||
	    offers_for_host(&w->a, &w->in, &name, port, can_once, &ask, &w->e) < 0)
		return w->e.text;
	return print(w, &ask);
}

static const char *unix_socket(struct world *w, const char *at)
{
	struct ask ask = { .kind = ASK_UNIX_SOCKET };

	if (offers_for_socket(&w->a, &w->in, w->plan, str_of(at), true, &ask, &w->e) < 0)
		return w->e.text;
	return print(w, &ask);
}

/* "" or why not */
static const char *check(struct world *w, enum ask_kind kind, const char *subject, bool is_dir)
{
	struct grant grant = { .kind = kind, .subject = str_of(subject), .is_dir = is_dir };
	const char *why_not;

	if (offers_check(&w->a, &w->in, &grant, &why_not, &w->e) < 0)
		return w->e.text;
	return why_not ? why_not : "";
}

TEST(a_file_is_offered_before_its_directory)
{
	scoped_world w;

	REQUIRE(start(&w, RO));
	CHECK_STR(path(&w, OPERATION_OPEN_WRITE, "/opt/app/conf", "/opt/app/conf", false),
		  "/opt/app/conf:r /opt/app/:r");
	CHECK_STR(path(&w, OPERATION_CHMOD, "/opt/app/conf", "/opt/app/conf", false),
		  "/opt/app/conf:r /opt/app/:r");
	CHECK_STR(path(&w, OPERATION_OPEN_WRITE, "/opt/app/conf", "/opt/app/conf", true),
		  "/opt/app/conf:or /opt/app/:r");
}

TEST(a_directory_is_offered_for_what_changes_its_names)
{
	scoped_world w;

	REQUIRE(start(&w, RO));
	CHECK_STR(path(&w, OPERATION_UNLINK, "/opt/app", "/opt/app/conf", false), "/opt/app/:r");
	CHECK_STR(path(&w, OPERATION_RENAME, "/opt/app", "/opt/app/conf", false), "/opt/app/:r");
	CHECK_STR(path(&w, OPERATION_CREATE, "/opt/app", "/opt/app/new", false), "/opt/app/:r");
	CHECK_STR(path(&w, OPERATION_CREATE, "/opt/app", "/opt/app/new", true),
		  "/opt/app/new:o /opt/app/:r");
}

TEST(a_directory_that_is_changed_itself_is_offered_before_the_one_around_it)
{
	scoped_world w;

	REQUIRE(start(&w, RO));
	CHECK_STR(path(&w, OPERATION_OPEN_WRITE, "/opt/lib", "/opt/lib", false),
		  "/opt/lib/:r /opt/:r");
	w.user = RO "'/opt/app' = 'write'\n";
	REQUIRE(world_plan(&w));
	CHECK_STR(path(&w, OPERATION_CREATE, "/opt/lib", "/opt/lib/x", false), "/opt/lib/:r");
}

TEST(no_home_and_nothing_above_one_is_offered)
{
	scoped_world w;

	REQUIRE(start(&w, RO));
	CHECK_STR(path(&w, OPERATION_OPEN_WRITE, "/home/me/.bashrc", "/home/me/.bashrc", false),
		  "/home/me/.bashrc:r");
	CHECK_STR(path(&w, OPERATION_CREATE, "/home/me", "/home/me/.new", false), "");
	CHECK_STR(path(&w, OPERATION_CREATE, "/home/me", "/home/me/.new", true), "/home/me/.new:o");
	CHECK_STR(path(&w, OPERATION_CREATE, "/home", "/home/other", false), "");
	CHECK_STR(path(&w, OPERATION_CREATE, "/", "/new", false), "");
	CHECK_STR(path(&w, OPERATION_CREATE, "/home/me/.cache", "/home/me/.cache/x", false),
		  "/home/me/.cache/:r");
}

TEST(cordons_own_files_and_what_contains_them_are_not_offered)
{
	scoped_world w;

	REQUIRE(start(&w, RO));
	CHECK_STR(path(&w, OPERATION_CREATE, "/state/cordon", "/state/cordon/x", true), "");
	CHECK_STR(path(&w, OPERATION_CREATE, "/state", "/state/x", false), "");
}

TEST(the_kernels_trees_are_not_offered)
{
	scoped_world w;

	REQUIRE(start(&w, RO));
	CHECK_STR(path(&w, OPERATION_CREATE, "/proc/self", "/proc/self/x", true), "");
}

TEST(what_an_entry_or_a_glob_denies_is_not_offered)
{
	scoped_world w;

	REQUIRE(start(&w, RO "'/srv/secret' = 'deny'\n'/opt/**/conf' = 'deny'\n"));
	CHECK_STR(path(&w, OPERATION_CREATE, "/srv/secret", "/srv/secret/x", true), "");
	CHECK_STR(path(&w, OPERATION_OPEN_WRITE, "/opt/app/conf", "/opt/app/conf", true), "");
	CHECK_STR(path(&w, OPERATION_CREATE, "/opt/app", "/opt/app/new", false), "/opt/app/:r");
	CHECK_STR(path(&w, OPERATION_CREATE, "/srv", "/srv/x", false), "/srv/:r");
}

TEST(protected_metadata_is_not_offered)
{
	scoped_world w;

	REQUIRE(start(&w, RO));
	CHECK_STR(path(&w, OPERATION_OPEN_WRITE, "/repo/.git/config", "/repo/.git/config", true),
		  "");
	CHECK_STR(path(&w, OPERATION_CREATE, "/repo", "/repo/.vscode", true), "");
	/* In a directory that a grant would make a root, too. */
	CHECK_STR(path(&w, OPERATION_CREATE, "/opt/app", "/opt/app/.mcp.json", true), "");
	CHECK_STR(path(&w, OPERATION_CREATE, "/opt/app", "/opt/app/x", false), "/opt/app/:r");
}

TEST(metadata_outside_of_every_root_is_not_offered)
{
	static const char *const in_repo[] = { "/.git/config", "/sub/.vscode/x", "/sub/.vscode",
					       "/.git/hooks",  "/.github/hooks", "/.git" };
	scoped_world w;

	REQUIRE(start(&w, RO));
	for (size_t i = 0; i < COUNT_OF(in_repo); i++) {
		struct str name;

		REQUIRE(arena_printf(&w.a, &name, &w.e, "/opt/repo%s", in_repo[i]) == 0);
		CHECK_STR(path(&w, OPERATION_OPEN_WRITE, name.p, name.p, true), "");
		CHECK_STR(check(&w, ASK_WRITE, name.p, i > 0), "it is protected metadata");
	}
	CHECK_STR(
		path(&w, OPERATION_CREATE, "/opt/repo/.git/hooks", "/opt/repo/.git/hooks/x", true),
		"");
	CHECK_STR(
		path(&w, OPERATION_CREATE, "/opt/repo/src", "/opt/repo/src/new/.git/config", true),
		"");
	CHECK_STR(path(&w, OPERATION_CREATE, "/opt/repo/src", "/opt/repo/src/.gitignore", true),
		  "/opt/repo/src/.gitignore:o /opt/repo/src/:r");
	CHECK_STR(check(&w, ASK_WRITE, "/opt/repo", true), "");
}

/* Below a root .github/hooks is protected; below .github nothing would be. */
TEST(a_directory_that_metadata_lies_directly_in_is_not_offered)
{
	scoped_world w;

	REQUIRE(start(&w, RO));
	CHECK_STR(path(&w, OPERATION_CREATE, "/opt/repo/.github", "/opt/repo/.github/x", true),
		  "/opt/repo/.github/x:o");
	CHECK_STR(check(&w, ASK_WRITE, "/opt/repo/.github", true), "it is protected metadata");
	CHECK_STR(path(&w, OPERATION_CREATE, "/opt/repo/.github/workflows",
		       "/opt/repo/.github/workflows/x", false),
		  "/opt/repo/.github/workflows/:r");
}

TEST(a_git_directory_of_any_name_is_not_offered)
{
	scoped_world w;

	REQUIRE(start(&w, RO));
	CHECK_STR(path(&w, OPERATION_OPEN_WRITE, "/opt/bare/config", "/opt/bare/config", true), "");
	CHECK_STR(path(&w, OPERATION_CREATE, "/opt/bare/hooks", "/opt/bare/hooks/x", true), "");
	CHECK_STR(path(&w, OPERATION_CREATE, "/opt/tree", "/opt/tree/x", true), "");
	CHECK_STR(check(&w, ASK_WRITE, "/opt/bare", true), "it is in a git directory");
	CHECK_STR(check(&w, ASK_WRITE, "/opt/bare/hooks", true), "it is in a git directory");
	CHECK_STR(path(&w, OPERATION_OPEN_WRITE, "/opt/no/config", "/opt/no/config", true),
		  "/opt/no/config:or /opt/no/:r");
}

TEST(metadata_that_the_profile_opens_is_offered_and_what_it_protects_is_not)
{
	scoped_world w;

	REQUIRE(start(&w, DEV "git = 'write'\nunprotect = ['.vscode']\nprotect = ['src']\n"
			      "[permissions.dev.filesystem]\n'/' = 'read'\n"
			      "':workspace_roots' = 'write'\n"));
	CHECK_STR(check(&w, ASK_WRITE, "/opt/repo/.git/config", false), "");
	CHECK_STR(check(&w, ASK_WRITE, "/opt/bare/hooks", true), "");
	CHECK_STR(check(&w, ASK_WRITE, "/opt/repo/sub/.vscode/x", true), "");
	CHECK_STR(check(&w, ASK_WRITE, "/opt/repo/src", true), "it is protected metadata");
	CHECK_STR(check(&w, ASK_WRITE, "/opt/repo/.github/hooks", true),
		  "it is protected metadata");
}

TEST(what_a_narrowing_layer_refuses_is_not_offered)
{
	scoped_world w;

	REQUIRE(start(&w, RO));
	w.requirements = "[filesystem]\n'/opt/app' = 'read'\n";
	REQUIRE(world_plan(&w));
	CHECK_STR(path(&w, OPERATION_CREATE, "/opt/app", "/opt/app/x", true), "");
	CHECK_STR(path(&w, OPERATION_CREATE, "/opt/lib", "/opt/lib/x", false), "/opt/lib/:r");
}

TEST(a_host_is_offered_with_its_port_first)
{
	scoped_world w;

	REQUIRE(start(&w, DEV NET));
	CHECK_STR(host(&w, "a.com:443", true), "a.com:443:or a.com:r");
	CHECK_STR(host(&w, "a.com", false), "a.com:r");
	CHECK_STR(host(&w, "[2606:4700::1]:443", false), "[2606:4700::1]:443:r 2606:4700::1:r");
	CHECK_STR(host(&w, "ok.com:443", false), "");
}

TEST(a_host_that_is_denied_or_guarded_is_not_offered)
{
	scoped_world w;

	REQUIRE(start(&w, DEV NET "'no.com' = 'deny'\n'part.com:25' = 'deny'\n"));
	CHECK_STR(host(&w, "no.com:443", true), "");
	CHECK_STR(host(&w, "10.0.0.1:443", true), "");
	CHECK_STR(host(&w, "localhost:443", true), "");
	CHECK_STR(host(&w, "127.0.0.1:443", true), "");
	CHECK_STR(host(&w, "part.com:25", false), "");
	CHECK_STR(host(&w, "part.com:443", false), "part.com:443:r part.com:r");
	w.requirements = "[network.domains]\n'a.com' = 'deny'\n";
	REQUIRE(world_plan(&w));
	CHECK_STR(host(&w, "a.com:443", true), "");
	CHECK_STR(host(&w, "b.com:443", false), "b.com:443:r b.com:r");
}

TEST(a_network_that_is_off_offers_nothing)
{
	scoped_world w;

	REQUIRE(start(&w, DEV));
	CHECK_STR(host(&w, "a.com:443", true), "");
	CHECK_STR(unix_socket(&w, "/run/x.sock"), "");
}

TEST(a_socket_is_offered_unless_it_is_denied)
{
	scoped_world w;

	REQUIRE(start(&w,
		      RO NET "[permissions.dev.network.unix_sockets]\n'/run/no.sock' = 'deny'\n"));
	CHECK_STR(unix_socket(&w, "/run/x.sock"), "/run/x.sock:or");
	CHECK_STR(unix_socket(&w, "/run/no.sock"), "");
	w.user = RO "'/run/x.sock' = 'deny'\n" NET;
	REQUIRE(world_plan(&w));
	CHECK_STR(unix_socket(&w, "/run/x.sock"), "");
	CHECK_STR(unix_socket(&w, "/run/no.sock"), "/run/no.sock:or");
}

TEST(a_grant_is_checked_before_it_is_made_live)
{
	scoped_world w;

	REQUIRE(start(&w, RO "'/srv/secret' = 'deny'\n" NET));
	CHECK_STR(check(&w, ASK_WRITE, "/opt/app", true), "");
	CHECK_STR(check(&w, ASK_WRITE, "/opt/app/conf", false), "");
	CHECK_STR(check(&w, ASK_WRITE, "/opt/app", false), "it is a directory");
	CHECK_STR(check(&w, ASK_WRITE, "/opt/app/conf", true), "it is no directory");
	CHECK_STR(check(&w, ASK_WRITE, "/opt/missing", true),
		  "it is neither a file nor a directory");
	CHECK_STR(check(&w, ASK_WRITE, "/opt/link", true), "it leads through a link");
	CHECK_STR(check(&w, ASK_WRITE, "/opt/link/bin", true), "it leads through a link");
	CHECK_STR(check(&w, ASK_WRITE, "/opt/../opt", true), "it is not written as a grant");
	CHECK_STR(check(&w, ASK_WRITE, "/home/me", true), "it is a home, or contains one");
	CHECK_STR(check(&w, ASK_WRITE, "/", true), "Cordon's own files are there");
	CHECK_STR(check(&w, ASK_WRITE, "/state", true), "Cordon's own files are there");
	CHECK_STR(check(&w, ASK_WRITE, "/proc/self", true), "the sandbox has its own");
	CHECK_STR(check(&w, ASK_WRITE, "/srv/secret", true),
		  "the policy does not let it be granted");
	CHECK_STR(check(&w, ASK_CONNECT, "a.com:443", false), "");
	CHECK_STR(check(&w, ASK_CONNECT, "*.com", false), "it is no host");
	CHECK_STR(check(&w, ASK_CONNECT, "10.0.0.1", false),
		  "the policy does not let it be granted");
	CHECK_STR(check(&w, ASK_UNIX_SOCKET, "/run/x.sock", false), "");
}

TEST(the_policy_with_grants_opens_them_and_leaves_the_first_as_it_was)
{
	const struct grant grants[] = {
		{ .kind = ASK_WRITE, .subject = STR("/opt/app"), .is_dir = true },
		{ .kind = ASK_CONNECT, .subject = STR("a.com:443") },
		{ .kind = ASK_UNIX_SOCKET, .subject = STR("/run/x.sock") },
		{ .kind = ASK_ESCALATE, .subject = STR("") },
	};
	const struct origin origin = { .file = "approved at the terminal" };
	const struct policy *first, *second;
	struct plan_inputs in;
	const struct plan *plan;
	scoped_world w;

	REQUIRE(start(&w, RO NET));
	REQUIRE(offers_add_grants(&w.a, w.policy, grants, 4, origin, &first, &w.e) == 0);
	REQUIRE(offers_add_grants(&w.a, w.policy, NULL, 0, origin, &second, &w.e) == 0);
	in = w.in;
	in.policy = first;
	plan = plan_build(&w.a, &in, &w.e);
	REQUIRE(plan);
	CHECK_INT(plan_resolve(plan, STR("/opt/app/x")).access, ACCESS_WRITE);
	CHECK_STR(plan_resolve(plan, STR("/opt/app/x")).rule->origin.file, origin.file);
	CHECK_INT(plan_resolve(plan, STR("/opt/appx")).access, ACCESS_READ);
	CHECK_INT(net_resolve_socket(plan->net, STR("/run/x.sock"), STR("/home/me")).decision,
		  DECISION_ALLOW);
	CHECK_INT(net_resolve_socket(plan->net, STR("/run/no.sock"), STR("/home/me")).decision,
		  DECISION_DENY);
	CHECK_INT(second->grants.count + second->net_grants.count + second->socket_grants.count, 0);
	CHECK_INT(w.policy->grants.count, 0);
}
