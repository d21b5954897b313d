/* SPDX-License-Identifier: MIT */
/* Plans as mount operations (backend/mounts/lower.c). */
#include "test.h"

#include "backend/mounts/lower.h"
#include "plan_lists.h"

/* The operations in words, one a line, without their reasons. */
static const char *lowered(struct world *w, struct mounts *mounts, struct buf *out)
{
	struct placeholders held = { .items = NULL };
	const kernel_mounts kernel = { .items = NULL };
	struct launch in = { .plan = w->plan, .host = &w->host.host, .held = &held };

	buf_clear(out);
	if (lower_mounts(&w->a, &in, &kernel, mounts, &w->e) < 0)
		return w->e.text;
	for (size_t i = 0; i < mounts->ops.count; i++) {
		struct mount_op op = mounts->ops.items[i];

		op.because = STR_EMPTY;
		lower_describe(&op, out);
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

#define DEV "[permissions.dev.filesystem]\n"

TEST(a_workspace_is_opened_in_a_closed_tree_and_its_metadata_closed_again)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct mounts mounts;

	world_init(&w, "d /repo/.git\nd /repo/src\nd /etc\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK_STR(lowered(&w, &mounts, &out), "read-only /\n"
					      "writable /repo\n"
					      "read-only /repo/.git\n");
}

TEST(what_is_open_below_what_is_hidden_has_a_way_made_to_it)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct mounts mounts;

	world_init(&w, "d /repo/.git\nd /repo/a/b/c\nf /repo/a/f\n", "/repo");
	REQUIRE(plan(&w, DEV "'/' = 'read'\n'/repo/a' = 'deny'\n'/repo/a/b/c' = 'write'\n"
			     "'/repo/a/f' = 'read'\n"));
	CHECK_STR(lowered(&w, &mounts, &out), "read-only /\n"
					      "hide but for what follows /repo/a\n"
					      "writable /repo/a/b/c\n"
					      "read-only /repo/a/f\n");
	REQUIRE(mounts.made.count == 4);
	CHECK_STR(mounts.made.items[0].path, "m0");
	CHECK_STR(mounts.made.items[1].path, "m0/b");
	CHECK_STR(mounts.made.items[2].path, "m0/b/c");
	CHECK_STR(mounts.made.items[3].path, "m0/f");
	CHECK_INT(mounts.made.items[1].mode, 0111);
	CHECK_INT(mounts.made.items[3].type, HOST_FILE);
}

TEST(a_hidden_root_shows_only_what_is_open_and_the_links_to_it)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct mounts mounts;
	bool has_link = false, has_proc = false;

	world_init(&w, "d /usr/bin\nl /bin -> usr/bin\nd /secret\nd /proc\nd /dev\n", "/usr");
	REQUIRE(plan(&w, DEV "'/usr' = 'read'\n"));
	CHECK_STR(lowered(&w, &mounts, &out), "hide but for what follows /\n"
					      "read-only /usr\n");
	for (size_t i = 0; i < mounts.made.count; i++) {
		const struct made *made = &mounts.made.items[i];

		has_link |= strcmp(made->path, "m0/bin") == 0 && made->type == HOST_LINK &&
			    strcmp(made->target, "usr/bin") == 0;
		has_proc |= strcmp(made->path, "m0/proc") == 0;
		CHECK(!strstr(made->path, "secret"));
	}
	CHECK(has_link);
	CHECK(has_proc);
}

TEST(masks_pins_and_links_come_in_the_order_of_their_paths)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct mounts mounts;

	world_init(&w, "d /repo/.git\nf /repo/a/.env\nl /repo/.codex -> /repo/b\nd /repo/b\n",
		   "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/**/.env' = 'deny'\n"));
	CHECK_STR(lowered(&w, &mounts, &out), "read-only /\n"
					      "writable /repo\n"
					      "keep the link /repo/.codex\n"
					      "read-only /repo/.git\n"
					      "keep in place /repo/a\n"
					      "hide /repo/a/.env\n"
					      "read-only /repo/b\n");
}

TEST(a_fresh_tmp_keeps_the_workspace_that_lies_in_it)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct mounts mounts;

	world_init(&w, "d /tmp/ws/.git\nd /tmp/other\n", "/tmp/ws");
	REQUIRE(plan(&w, WORKSPACE("tmp = 'private'")));
	CHECK_STR(lowered(&w, &mounts, &out), "read-only /\n"
					      "start empty /tmp\n"
					      "writable /tmp/ws\n"
					      "read-only /tmp/ws/.git\n");
}

TEST(a_device_is_opened_by_a_write_entry_and_by_nothing_else)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct mounts mounts;

	world_init(&w, "o /dev/kvm\no /dev/sda\nd /repo\n", "/repo");
	REQUIRE(plan(&w, DEV "'/' = 'deny'\n'/dev/kvm' = 'write'\n'/dev/sda' = 'read'\n"));
	CHECK_STR(lowered(&w, &mounts, &out), "hide but for what follows /\n"
					      "writable /dev/kvm\n");
}

TEST(what_changed_since_the_plan_was_made_is_refused)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct mounts mounts;

	world_init(&w, "d /repo/.git\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("")));
	fake_host_remove(&w.host, "/repo/.git");
	fake_host_add(&w.host, "l /repo/.git -> /etc\n");
	CHECK(strstr(lowered(&w, &mounts, &out), "changed while the policy was compiled"));
}

TEST(a_kernel_mount_is_hidden_wherever_it_is)
{
	const struct str info =
		STR("22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
		    "23 22 0:21 / /proc rw,relatime - proc proc rw\n"
		    "24 22 0:22 / /sys/kernel/debug rw shared:3 master:2 - debugfs debugfs rw\n"
		    "25 22 0:21 / /repo/a\\040b/proc rw - proc proc rw\n"
		    "26 22 0:23 / /repo/x rw shared:1 - tmpfs tmpfs rw\n"
		    "27 22 0:24 / /repo/s rw propagate_from:2 - sysfs sysfs rw\n");
	struct placeholders held = { .items = NULL };
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct mounts mounts;
	kernel_mounts kernel;
	struct launch in;

	world_init(&w, "d /repo/.git\nd /repo/a b/proc\nd /repo/s\nd /repo/x\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/s' = 'write'\n"));
	REQUIRE(kernel_mounts_parse(&w.a, info, &kernel, &w.e) == 0);
	CHECK_INT(kernel.count, 2);
	in = (struct launch){ .plan = w.plan, .host = &w.host.host, .held = &held };
	REQUIRE(lower_mounts(&w.a, &in, &kernel, &mounts, &w.e) == 0);
	for (size_t i = 0; i < mounts.ops.count; i++) {
		lower_describe(&mounts.ops.items[i], &out);
		buf_add_char(&out, '\n');
	}
	CHECK(strstr(out.p, "hide /repo/a b/proc  (a kernel mount"));
	CHECK(strstr(out.p, "hide /repo/s  (a kernel mount"));
	CHECK(!strstr(out.p, "/repo/x"));
	/* Where its owner closed the way to it, a command could open that way. */
	fake_host_add(&w.host, "c /repo/a b\n");
	CHECK_INT(lower_mounts(&w.a, &in, &kernel, &mounts, &w.e), -ERR_POLICY);
	CHECK_INT(w.e.cause, CAUSE_PATH_LOCKED);
}

/* The paths whose mounts are looked after, one a line. */
static const char *guarded(struct world *w, const struct mounts *mounts, struct buf *out)
{
	struct narrowed_list list;

	buf_clear(out);
	if (lower_narrowed(&w->a, mounts, &list, &w->e) < 0)
		return w->e.text;
	for (size_t i = 0; i < list.count; i++)
		buf_printf(out, "%s%s\n", list.items[i].path, list.items[i].may_go ? " ?" : "");
	return out->len ? out->p : "";
}

TEST(what_a_lost_mount_would_open_is_looked_after_and_nothing_else)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct mounts mounts;

	world_init(&w,
		   "d /repo/.git\nf /repo/key\nf /repo/sub/ro\nf /repo/one.pem\n"
		   "d /repo/a/b\nf /repo/two.pem\n",
		   "/repo");
	/* No pin, nothing writable, nothing in what is made, no name that is watched for. */
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/key' = 'deny'\n'/repo/sub/ro' = 'read'\n"
				       "'/repo/*.pem' = 'deny'\n'/repo/two.pem' = 'deny'\n"
				       "'/repo/a' = 'deny'\n'/repo/a/b' = 'read'\n"));
	(void)lowered(&w, &mounts, &out);
	CHECK_STR(guarded(&w, &mounts, &out), "/repo/.git\n/repo/a\n/repo/key\n/repo/sub/ro\n"
					      "/repo/two.pem\n");
}

TEST(worktrees_that_git_takes_away_may_go)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct mounts mounts;

	world_init(&w,
		   "f /repo/.git/HEAD\nd /repo/.git/objects\n"
		   "d /repo/.git/refs\nf /repo/.git/config\nd /repo/.git/worktrees/x\n"
		   "f /repo/.git/worktrees/x/gitdir\n",
		   "/repo");
	REQUIRE(plan(&w, "[permissions.dev]\nextends = ':workspace'\ngit = 'commit'\n"));
	(void)lowered(&w, &mounts, &out);
	(void)guarded(&w, &mounts, &out);
	CHECK(strstr(out.p, "/repo/.git/config\n"));
	CHECK(strstr(out.p, "/repo/.git/worktrees ?\n"));
	CHECK(strstr(out.p, "/repo/.git/worktrees/x/gitdir ?\n"));
}
