/* SPDX-License-Identifier: MIT */
/* Tests of os/cgroup.h, on a tree that looks like the kernel's, and on the kernel's where it may be used. */
#include "os/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch.h"
#include "test.h"

static const struct os_cgroup_limits memory = { .memory = 1 << 20 };
static const struct os_cgroup_limits tasks = { .tasks = 9 };
static const struct os_cgroup_limits both = { .memory = 1 << 20, .tasks = 9 };

static void make_tree(const char *controllers)
{
	(void)mkdir("slice", 0755);
	scratch_put("slice/cgroup.procs", "");
	scratch_put("slice/cgroup.subtree_control", controllers);
}

TEST(a_group_may_be_used_that_counts_what_is_wanted)
{
	make_tree("cpu memory pids\n");
	CHECK(os_cgroup_may_use("slice", &both));
	make_tree("memory\n");
	CHECK(os_cgroup_may_use("slice", &memory) && !os_cgroup_may_use("slice", &tasks));
	make_tree("pids memory_other\n");
	CHECK(os_cgroup_may_use("slice", &tasks) && !os_cgroup_may_use("slice", &memory));
	make_tree("");
	CHECK(!os_cgroup_may_use("slice", &both));
	CHECK(!os_cgroup_may_use("missing", &both));
	make_tree("memory pids\n");
	REQUIRE(unlink("slice/cgroup.procs") == 0);
	CHECK(!os_cgroup_may_use("slice", &both));
	make_tree("memory pids\n");
	CHECK(!os_cgroup_may_use("slice/cgroup.procs", &both));
	if (geteuid() == 0) {
		/* Where nobody else is mapped, nothing can be another's. */
		if (chown("slice", 12345, 12345) == 0)
			CHECK(!os_cgroup_may_use("slice",
						 &both)); /* another's, whatever root may */
		REQUIRE(chown("slice", 0, 0) == 0);
	} else {
		REQUIRE(chmod("slice", 0555) == 0);
		CHECK(!os_cgroup_may_use("slice", &both));
		REQUIRE(chmod("slice", 0755) == 0);
	}
}

static int count_groups(void)
{
	int count = 0;

	for (long pid = 0; pid < 2; pid++)
		for (int i = 0; i < 3; i++) {
			char path[64];

			(void)snprintf(path, sizeof(path), "slice/cordon-%ld-%d",
				       pid ? (long)getpid() : 999999999L, i);
			count += access(path, F_OK) == 0;
		}
	return count;
}

/* Directories of an ordinary file system have no files of the kernel's in them. */
TEST(what_can_not_be_limited_is_no_group_and_is_removed)
{
	struct os_cgroup group = OS_CGROUP_NONE;
	struct err e = ERR_INIT;

	make_tree("memory pids\n");
	REQUIRE(mkdir("slice/cordon-999999999-0", 0755) == 0); /* of nobody */
	CHECK_INT(os_cgroup_make("slice", &memory, &group, &e), -ERR_SYS);
	CHECK_INT(group.dir, -1);
	CHECK_INT(count_groups(), 0);
	err_clear(&e);
	CHECK_INT(os_cgroup_make("slice", &tasks, &group, &e), -ERR_SYS);
	CHECK_INT(count_groups(), 0);
}

TEST(those_of_live_processes_are_left_alone)
{
	struct os_cgroup one = OS_CGROUP_NONE, other = OS_CGROUP_NONE;
	const struct os_cgroup_limits none = { .memory = 0 };
	struct err e = ERR_INIT;

	make_tree("memory pids\n");
	REQUIRE(os_cgroup_make("slice", &none, &one, &e) == 0);
	REQUIRE(os_cgroup_make("slice", &none, &other, &e) == 0);
	CHECK_INT(count_groups(), 2);
	os_cgroup_remove(&one);
	CHECK_INT(count_groups(), 1);
	os_cgroup_remove(&other);
	CHECK_INT(count_groups(), 0);
	os_cgroup_remove(&other);
	CHECK_INT(one.dir, -1);
}

TEST(the_kernel_tells_that_memory_ran_out)
{
	struct os_cgroup group = OS_CGROUP_NONE;

	make_tree("memory\n");
	group.dir = open("slice", O_PATH | O_DIRECTORY | O_CLOEXEC);
	REQUIRE(group.dir >= 0);
	CHECK(!os_cgroup_ran_out(&group));
	scratch_put("slice/memory.events", "low 0\nhigh 0\nmax 7\noom 1\noom_kill 0\n");
	CHECK(!os_cgroup_ran_out(&group));
	scratch_put("slice/memory.events", "low 0\nmax 7\noom 1\noom_kill 12\noom_group_kill 0\n");
	CHECK(os_cgroup_ran_out(&group));
	CHECK_INT(os_cgroup_enter(&group, 77), 0);
	REQUIRE(unlink("slice/cgroup.procs") == 0);
	CHECK_INT(os_cgroup_enter(&group, 77), -ENOENT);
	close(group.dir);
}

TEST(what_is_not_there_is_not_found)
{
	char place[OS_CGROUP_BYTES];

	/* Whatever this host has: it is one that may be used, or none. */
	CHECK(!os_cgroup_find(&both, place) || os_cgroup_may_use(place, &both));
}
