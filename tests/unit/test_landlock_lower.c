/* SPDX-License-Identifier: MIT */
/* Plans as Landlock rules that stand alone (backend/landlock/lower.c). */
#include "test.h"

#include "backend/landlock/landlock.h"
#include "base/path.h"
#include "plan_lists.h"

/* The rules in words, one a line, or why there are none. */
static const char *lowered(struct world *w, const kernel_mounts *kernel,
			   struct landlock_rules *landlock, struct buf *out)
{
	const kernel_mounts none = { .items = NULL };
	const struct landlock_facts facts = { .abi = 7, .kernel = kernel ? kernel : &none };
	const struct launch in = { .plan = w->plan, .host = &w->host.host };

	buf_clear(out);
	err_clear(&w->e);
	if (landlock_lower(&w->a, &in, &facts, landlock, &w->e) < 0)
		return w->e.text;
	for (size_t i = 0; i < landlock->rules.count; i++) {
		landlock_describe_rule(&landlock->rules.items[i], out);
		buf_add_char(out, '\n');
	}
	return out->p;
}

static bool plan(struct world *w, const char *user)
{
	w->user = user;
	w->profile = "dev";
	if (world_plan(w))
		return true;
	printf("# %s\n", w->e.text);
	return false;
}

#define DEVICES                                                                  \
	"use   /dev/null\nuse   /dev/zero\nuse   /dev/full\nuse   /dev/random\n" \
	"use   /dev/urandom\nuse   /dev/tty\n"
#define HOST "d /repo/.git\nd /etc\nd /dev/shm\nd /home/me\nl /bin -> usr/bin\nd /usr/bin\n"

TEST(a_workspace_is_a_list_of_what_may_be_written_and_read)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct landlock_rules landlock;

	world_init(&w, HOST, "/repo");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK_STR(
		lowered(&w, NULL, &landlock, &out),
		"write /repo\nlist  /\nread  /etc\nread  /home\nread  /repo\nread  /usr\n" DEVICES);
	CHECK(landlock.rules.items[0].is_checked && landlock.rules.items[0].inode != 0);
	CHECK(landlock.refuses_network);
	CHECK_INT(landlock.abi, 7);
}

TEST(what_is_read_only_has_nothing_to_write)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct landlock_rules landlock;

	world_init(&w, HOST, "/repo");
	w.user = "";
	w.profile = ":read-only";
	REQUIRE(world_plan(&w));
	CHECK(strstr(lowered(&w, NULL, &landlock, &out), "write") == NULL);
	CHECK(strstr(out.p, "read  /repo\n") != NULL);
	CHECK(strstr(out.p, "/dev/shm") == NULL);
}

TEST(without_isolation_the_hosts_memory_may_be_read)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct landlock_rules landlock;

	world_init(&w, HOST, "/repo");
	REQUIRE(plan(&w, "[permissions.dev]\nextends = ':workspace'\nisolation.ipc = false\n"));
	CHECK(strstr(lowered(&w, NULL, &landlock, &out), "read  /dev/shm\n") != NULL);
}

TEST(what_no_mode_says_is_refused)
{
	static const char *const policies[] = {
		"[permissions.dev.filesystem]\n'/' = 'read'\n'/repo' = 'write'\n'/repo/a' = "
		"'read'\n",
		"[permissions.dev.filesystem]\n'/' = 'read'\n'/repo' = 'write'\n'/etc' = 'deny'\n",
		"[permissions.dev.filesystem]\n'/' = 'read'\n'/repo' = 'write'\n'/repo/*.x' = "
		"'deny'\n",
		"[permissions.dev.filesystem]\n'/' = 'read'\n'/etc' = 'write'\n",
		"[permissions.dev]\nextends = ':workspace'\ntmp = 'private'\n",
	};
	scoped_buf out = BUF_INIT(1 << 16);

	for (size_t i = 0; i < COUNT_OF(policies); i++) {
		scoped_world w;
		struct landlock_rules landlock;

		world_init(&w, HOST "d /repo/a\nd /tmp\n", "/repo");
		REQUIRE(plan(&w, policies[i]));
		if (!CHECK(strstr(lowered(&w, NULL, &landlock, &out), "only the modes") != NULL))
			printf("#   %zu: %s\n", i, out.p ? out.p : w.e.text);
		CHECK_INT(w.e.cause, CAUSE_BACKEND_UNSUITED);
	}
}

TEST(own_files_and_windows_inside_what_is_writable_are_refused)
{
	const struct own_file own = { .path = STR("/repo/.config/cordon"),
				      .access = ACCESS_READ,
				      .what = "your configuration" };
	struct str window = STR("/repo/chroot/proc");
	const kernel_mounts kernel = { .items = &window, .count = 1 };
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct landlock_rules landlock;

	world_init(&w, HOST, "/repo");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK(strstr(lowered(&w, &kernel, &landlock, &out), "/repo/chroot/proc") != NULL);
	CHECK_INT(w.e.cause, CAUSE_BACKEND_UNSUITED);
	w.own = &own;
	w.own_count = 1;
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK(strstr(lowered(&w, NULL, &landlock, &out), "/repo/.config/cordon") != NULL);
	CHECK_INT(w.e.cause, CAUSE_BACKEND_UNSUITED);
}

TEST(user_namespaces_are_refused)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct landlock_rules landlock;

	world_init(&w, HOST, "/repo");
	REQUIRE(plan(&w, "[permissions.dev]\nextends = ':workspace'\nisolation.userns = true\n"));
	CHECK(strstr(lowered(&w, NULL, &landlock, &out), "isolation.userns") != NULL);
}
