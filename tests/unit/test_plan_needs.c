/* SPDX-License-Identifier: MIT */
/* Tests of plan/needs.c: rule P16, with the rows of P7's table as cases. */
#include "policy/guarantee.h"

#include "test.h"
#include "world.h"

#define DEV "default_permissions = 'dev'\n[permissions.dev]\n"
#define FS  "[permissions.dev.filesystem]\n"

static const char host_text[] =
	"d /repo/.git\nf /repo/a/b/x\nd /repo/docs/x\nd /home/me/.config/git\n"
	"d /usr/bin\nd /tmp\n";

/* The names of all needs but those of every sandbox, in the order of the enum. */
static const char *list_needs(const struct plan *p)
{
	static char text[512];
	const guarantee_set always = GUARANTEE_BIT(G_KERNEL) | GUARANTEE_BIT(G_TREE_DEATH) |
				     GUARANTEE_BIT(G_IPC) | GUARANTEE_BIT(G_PROC);

	text[0] = '\0';
	for (unsigned i = 0; i < GUARANTEE_COUNT; i++) {
		size_t used = strlen(text);

		if (p->needs_set & ~always & GUARANTEE_BIT(i))
			(void)snprintf(text + used, sizeof(text) - used, "%s%s", used ? " " : "",
				       guarantee_name((enum guarantee)i));
	}
	return text;
}

static const struct need *find_need(const struct plan *p, enum guarantee g)
{
	for (size_t i = 0; i < p->needs.count; i++)
		if (p->needs.items[i].guarantee == g)
			return &p->needs.items[i];
	return NULL;
}

/* The needs of a user layer, or what went wrong. */
static const char *needs_of(const char *user, const char *profile)
{
	static char copy[512];
	scoped_world w;

	world_init(&w, host_text, "/repo");
	w.user = user;
	w.profile = profile;
	if (!world_plan(&w)) {
		printf("# %s\n", w.e.text);
		return "failed";
	}
	(void)snprintf(copy, sizeof(copy), "%s", list_needs(w.plan));
	return copy;
}

TEST(read_only_needs_what_p16_says)
{
	scoped_world w;

	world_init(&w, host_text, "/repo");
	REQUIRE(world_plan(&w));
	CHECK_STR(list_needs(w.plan), "fs_write net_off");
	CHECK_INT(w.plan->needs_set, GUARANTEE_BIT(G_FS_WRITE) | GUARANTEE_BIT(G_NET_OFF) |
					     GUARANTEE_BIT(G_KERNEL) | GUARANTEE_BIT(G_TREE_DEATH) |
					     GUARANTEE_BIT(G_IPC) | GUARANTEE_BIT(G_PROC));
	CHECK_INT(w.plan->needs.count, 6);
}

/* With session secrets at /home/me/secrets, on a host with `more` files. */
static const char *needs_with_secrets(const char *more)
{
	static const struct own_file secrets = { STR_INIT("/home/me/secrets"), ACCESS_DENY,
						 "session secrets" };
	static char copy[512];
	scoped_world w;

	world_init(&w, host_text, "/repo");
	fake_host_add(&w.host, more);
	w.profile = ":read-only";
	w.own = &secrets;
	w.own_count = 1;
	if (!world_plan(&w))
		return w.e.text[0] ? "failed" : "failed without a text";
	(void)snprintf(copy, sizeof(copy), "%s", list_needs(w.plan));
	return copy;
}

TEST(session_secrets_need_hiding_only_once_they_are_there)
{
	CHECK_STR(needs_with_secrets("d /home/me"), "fs_write net_off");
	CHECK_STR(needs_with_secrets("d /home/me/secrets"), "fs_write fs_read fs_carve net_off");
}

TEST(workspace_needs_carving_and_protection_of_the_missing)
{
	CHECK_STR(needs_of(NULL, ":workspace"), "fs_write fs_carve protect_missing net_off");
}

TEST(workspace_needs_the_same_when_all_names_exist)
{
	scoped_world w;

	world_init(&w, host_text, "/repo");
	fake_host_add(&w.host, "d /repo/.codex\nd /repo/.agents\nd /repo/.cordon\n");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	CHECK_STR(list_needs(w.plan), "fs_write fs_carve protect_missing net_off");
}

TEST(unsandboxed_needs_nothing)
{
	scoped_world w;

	world_init(&w, host_text, "/repo");
	w.profile = ":danger-full-access";
	REQUIRE(world_plan(&w));
	CHECK_INT(w.plan->needs_set, 0);
	CHECK_INT(w.plan->needs.count, 0);
}

TEST(rows_of_p7_need_carving_and_reopening_as_nested)
{
	static const struct {
		const char *entries, *want;
	} rows[] = {
		{ "'/repo' = 'write'\n'/repo/a' = 'deny'\n'/repo/a/b' = 'write'\n",
		  "fs_write fs_read fs_carve fs_reopen protect_missing net_off" },
		{ "'/' = 'read'\n'/repo' = 'write'\n'/repo/docs' = 'read'\n",
		  "fs_write fs_carve protect_missing net_off" },
		{ "'/' = 'read'\n'/repo' = 'write'\n'/repo/docs' = 'read'\n'/repo/docs/x' = "
		  "'write'\n",
		  "fs_write fs_carve fs_reopen protect_missing net_off" },
		{ "'/' = 'read'\n'/repo' = 'write'\n'/repo/**/.env' = 'deny'\n",
		  "fs_write fs_read fs_carve protect_missing net_off" },
		{ "'/' = 'read'\n'~' = 'deny'\n'~/.config/git' = 'read'\n",
		  "fs_write fs_read fs_carve fs_reopen net_off" },
		{ "'/' = 'read'\n'~' = 'deny'\n", "fs_write fs_read fs_carve net_off" },
		{ "'/repo' = 'read'\n", "fs_write fs_read net_off" },
		{ "'/repo' = 'read'\n'/usr' = 'read'\n", "fs_write fs_read net_off" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char text[512];

		(void)snprintf(text, sizeof(text), DEV FS "%s", rows[i].entries);
		CHECK_STR(needs_of(text, NULL), rows[i].want);
	}
}

TEST(an_entry_that_changes_nothing_needs_nothing)
{
	CHECK_STR(needs_of(DEV FS "'/' = 'read'\n'/usr' = 'read'\n'/usr/bin' = 'read'\n", NULL),
		  "fs_write net_off");
}

TEST(an_entry_below_what_a_glob_closes_needs_reopening)
{
	CHECK_STR(needs_of(DEV FS "'/' = 'read'\n'/repo/d*' = 'deny'\n'/repo/docs/x' = 'read'\n",
			   NULL),
		  "fs_write fs_read fs_carve fs_reopen net_off");
}

TEST(strict_globs_need_deny_future)
{
	CHECK_STR(needs_of(DEV "globs = 'strict'\n" FS "'/' = 'read'\n'/**/.env' = 'deny'\n", NULL),
		  "fs_write fs_read fs_carve deny_future net_off");
	CHECK_STR(needs_of(DEV "globs = 'strict'\n" FS "'/' = 'read'\n", NULL), "fs_write net_off");
}

TEST(network_needs_follow_the_mode)
{
	CHECK_STR(needs_of(DEV "network = { enabled = true }\n" FS "'/' = 'read'\n", NULL),
		  "fs_write");
	CHECK_STR(needs_of(DEV "network = { enabled = true, mode = 'full' }\n" FS "'/' = 'read'\n",
			   NULL),
		  "fs_write net_managed");
}

TEST(only_memory_and_processes_need_limits)
{
	CHECK_STR(needs_of(DEV "limits = { memory = '1G' }\n" FS "'/' = 'read'\n", NULL),
		  "fs_write net_off limits");
	CHECK_STR(needs_of(DEV "limits = { processes = 10 }\n" FS "'/' = 'read'\n", NULL),
		  "fs_write net_off limits");
	CHECK_STR(needs_of(DEV "limits = { timeout = '10s', open_files = 10 }\n" FS
			       "'/' = 'read'\n",
			   NULL),
		  "fs_write net_off");
}

TEST(ipc_and_proc_can_be_dropped)
{
	scoped_world w;

	world_init(&w, host_text, "/repo");
	w.user = DEV "isolation = { ipc = false, proc = false }\n" FS "'/' = 'read'\n";
	REQUIRE(world_plan(&w));
	CHECK(!find_need(w.plan, G_IPC));
	CHECK(!find_need(w.plan, G_PROC));
	CHECK(find_need(w.plan, G_KERNEL));
	CHECK(find_need(w.plan, G_TREE_DEATH));
}

TEST(a_need_names_its_rule_and_says_why)
{
	const struct need *need;
	scoped_world w;

	world_init(&w, host_text, "/repo");
	w.user = DEV FS "'/' = 'read'\n'~' = 'deny'\n'~/.config/git' = 'read'\n";
	REQUIRE(world_plan(&w));
	need = find_need(w.plan, G_FS_READ);
	REQUIRE(need && need->rule);
	CHECK_INT(need->rule->origin.line, 5);
	CHECK_STR(need->because.p, "/home/me may not be read");
	need = find_need(w.plan, G_FS_REOPEN);
	REQUIRE(need && need->rule);
	CHECK_INT(need->rule->origin.line, 6);
	need = find_need(w.plan, G_NET_OFF);
	REQUIRE(need);
	CHECK(need->because.len > 0);
}

TEST(a_writable_file_is_no_root_and_needs_no_protection)
{
	CHECK_STR(needs_of(DEV FS "'/' = 'read'\n'/repo/a/b/x' = 'write'\n", NULL),
		  "fs_write net_off");
}
