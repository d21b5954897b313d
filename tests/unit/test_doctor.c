/* SPDX-License-Identifier: MIT */
/* What the doctor reads out of what the kernel says, and what it advises. */
#include <errno.h>

#include "backend/host.h"
#include "doctor/doctor.h"
#include "os/cgroup.h"
#include "test.h"

/* ---- The texts of the kernel --------------------------------------------------------------- */

static const char plain_mounts[] =
	"21 26 0:19 / /sys rw,nosuid - sysfs sysfs rw\n"
	"22 26 0:20 / /proc rw,nosuid - proc proc rw\n"
	"33 22 0:30 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n"
	"26 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw\n"
	"30 21 0:25 / /sys/fs/cgroup rw shared:5 - cgroup2 cgroup2 rw\n";

TEST(mounts_below_proc_cover_it)
{
	CHECK(!doctor_proc_is_covered(STR("")));
	CHECK(!doctor_proc_is_covered(str_of(plain_mounts)));
	CHECK(!doctor_proc_is_covered(STR("40 1 0:1 / /procedures/x rw - tmpfs none rw\n")));
	CHECK(doctor_proc_is_covered(STR("40 22 0:1 /null /proc/kcore rw - devtmpfs none rw\n")));
	CHECK(doctor_proc_is_covered(STR("40 22 0:1 / /proc/acpi ro - tmpfs tmpfs ro")));
}

TEST(a_chroot_has_mostly_no_mount_for_its_root)
{
	CHECK(doctor_has_root_mount(str_of(plain_mounts)));
	CHECK(!doctor_has_root_mount(STR("")));
	CHECK(!doctor_has_root_mount(STR("40 22 0:1 / /proc rw - proc proc rw\n")));
}

static const char *cgroup(const char *mounts, const char *own)
{
	static char text[200];

	return os_cgroup_own(str_of(mounts), str_of(own), text, sizeof(text)) ? text : "";
}

TEST(the_control_group_is_below_its_mount)
{
	CHECK_STR(cgroup(plain_mounts, "0::/user.slice/a\n"), "/sys/fs/cgroup/user.slice/a");
	CHECK_STR(cgroup(plain_mounts, "0::/\n"), "/sys/fs/cgroup");
	/* Version 1 beside it. */
	CHECK_STR(cgroup(plain_mounts, "5:memory:/m\n0::/x\n"), "/sys/fs/cgroup/x");
	CHECK_STR(cgroup(plain_mounts, "5:memory:/m\n"), "");
	CHECK_STR(cgroup("30 21 0:25 / /sys/fs/cgroup rw - cgroup cgroup rw\n", "0::/x\n"), "");
	CHECK_STR(cgroup("", ""), "");
	CHECK_STR(cgroup("nonsense", "0::/x"), "");
}

/* ---- Advice ------------------------------------------------------------------------------------- */

static struct examined *add_backend(struct arena *a, struct diagnosis *d, const char *name,
				    const char *reason)
{
	struct err e = ERR_INIT;
	struct examined *x = VEC_PUSH(a, &d->backends, &e);

	*x = (struct examined){ .backend = backend_find(str_of(name)),
				.works = !reason,
				.reason = reason ? str_of(reason) : STR_EMPTY };
	return x;
}

/* A host on which all is well. */
static struct diagnosis well(void)
{
	return (struct diagnosis){
		.host = { .max_user_namespaces = 15000,
			  .userns_clone = FACT_UNKNOWN,
			  .apparmor_userns = FACT_UNKNOWN,
			  .has_proc = true,
			  .open_files = 1024,
			  .landlock_abi = 7,
			  .lsm = STR_INIT(""),
			  .has_filter = true,
			  .has_notify = true,
			  .lists_sockets = true,
			  .bare_repository = STR_INIT("") },
		.room_reason = STR_INIT(""),
		.has_program = true,
		.control = { .is_there = true, .reason = STR_INIT("") },
		.usual = { .is_enforced = true },
	};
}

/* The identifiers, with a "!" at what is needed. */
static const char *advised(struct diagnosis *d, const char *native, const char *bwrap)
{
	static char text[500];
	scoped_arena a = ARENA_INIT(1U << 20);
	struct err e = ERR_INIT;
	size_t used = 0;

	add_backend(&a, d, "native", native);
	add_backend(&a, d, "bwrap", bwrap);
	d->usual.is_enforced = !native || !bwrap;
	text[0] = '\0';
	if (doctor_advise(&a, d, &e) < 0)
		return "failed";
	for (size_t i = 0; i < d->advice.count; i++) {
		CHECK(d->advice.items[i].what.len > 0 && d->advice.items[i].fix.len > 0);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%s",
					 used ? " " : "", d->advice.items[i].id,
					 d->advice.items[i].is_needed ? "!" : "");
	}
	d->backends.items = NULL;
	d->backends.count = d->backends.room = 0;
	d->advice.items = NULL;
	d->advice.count = d->advice.room = 0;
	return text;
}

#define CANT	 "the native backend can't make its namespaces"
#define NO_BWRAP "the bwrap backend can't be used: there is no bwrap on PATH"

TEST(where_all_is_well_nothing_is_advised)
{
	struct diagnosis d = well();

	CHECK_STR(advised(&d, NULL, NULL), "");
	CHECK_STR(advised(&d, NULL, NO_BWRAP), "");
}

TEST(the_cause_is_the_first_that_is_true)
{
	struct diagnosis d = well();

	CHECK_STR(advised(&d, CANT, NO_BWRAP), "namespaces! bwrap_missing!");
	d.host.is_chroot = true;
	CHECK_STR(advised(&d, CANT, NO_BWRAP), "chroot! bwrap_missing!");
	d.host.is_chroot = false;
	d.host.apparmor_userns = 1;
	CHECK_STR(advised(&d, CANT, NO_BWRAP), "apparmor_userns! bwrap_missing!");
	/* That switch is about processes without a profile. */
	CHECK_STR(advised(&d, CANT ": AppArmor's profile 'x (enforce)'", NO_BWRAP),
		  "apparmor_profile! bwrap_missing!");
	d.host.userns_clone = 0;
	CHECK_STR(advised(&d, CANT, NO_BWRAP), "userns_clone! bwrap_missing!");
	d.host.is_root = true; /* whom neither is about */
	CHECK_STR(advised(&d, CANT, NO_BWRAP), "namespaces! bwrap_missing!");
	d.host.limit = &(const struct host_limit){ "", "user.max_net_namespaces is 0", "" };
	CHECK_STR(advised(&d, CANT, NO_BWRAP), "userns_max! bwrap_missing!");
}

static bool is_told_to_install(const char *bwrap)
{
	scoped_arena a = ARENA_INIT(1U << 20);
	struct diagnosis d = well();
	struct err e = ERR_INIT;

	add_backend(&a, &d, "native", CANT);
	add_backend(&a, &d, "bwrap", bwrap);
	return doctor_advise(&a, &d, &e) == 0 && d.advice.count == 2 &&
	       strstr(d.advice.items[1].fix.p, "install") != NULL;
}

TEST(what_is_there_and_not_trusted_need_not_be_installed)
{
	CHECK(is_told_to_install(NO_BWRAP));
	CHECK(!is_told_to_install(NO_BWRAP "; '/x/bwrap' was passed over: it can't be opened"));
}

TEST(what_another_backend_makes_up_for_is_not_needed)
{
	struct diagnosis d = well();

	d.host.apparmor_userns = 1;
	CHECK_STR(advised(&d, CANT, NULL), "apparmor_userns");
}

TEST(a_covered_proc_counts_only_where_it_is_in_the_way)
{
	struct diagnosis d = well();

	d.host.is_proc_covered = true;
	CHECK_STR(advised(&d, NULL, NULL), "");
	CHECK_STR(advised(&d, "the native backend can't mount a /proc of its own", NO_BWRAP),
		  "proc_masked! bwrap_missing!");
	CHECK_STR(advised(&d, CANT, NULL), "namespaces");
}

TEST(landlock_is_missing_off_or_old)
{
	struct diagnosis d = well();

	d.host.landlock_abi = 5;
	CHECK_STR(advised(&d, NULL, NULL), "landlock_old");
	d.host.landlock_abi = 0;
	d.host.landlock_error = ENOSYS;
	CHECK_STR(advised(&d, "no Landlock", "no Landlock"), "landlock_missing!");
	d.host.landlock_error = EOPNOTSUPP;
	CHECK_STR(advised(&d, "no Landlock", "no Landlock"), "landlock_off!");
}

TEST(what_is_no_host_at_all_is_the_only_advice)
{
	struct diagnosis d = well();

	d.host.wsl = 1;
	CHECK_STR(advised(&d, "this is WSL1", "this is WSL1"), "wsl1!");
	d.host.wsl = 2;
	CHECK_STR(advised(&d, NULL, NULL), "");
	d.host.is_nested = true;
	CHECK_STR(advised(&d, "nested", "nested"), "nested!");
}

TEST(that_nothing_could_be_tried_is_said)
{
	struct diagnosis d = well();

	d.control = (struct control){ .reason = STR("why") };
	CHECK_STR(advised(&d, NULL, NULL), "no_probe");
	d.room_reason = STR("why");
	CHECK_STR(advised(&d, NULL, NULL), "no_directory");
	d.has_program = false;
	CHECK_STR(advised(&d, NULL, NULL), "no_probe");
}

TEST(a_shortage_is_not_taken_for_a_prohibition)
{
	struct diagnosis d = well();

	CHECK_STR(advised(&d, "can't start a sandbox: Resource temporarily unavailable", NULL), "");
	d.host.open_files = FACT_UNKNOWN;
	CHECK_STR(advised(&d, NULL, NULL), "");
	d.host.open_files = 20;
	d.control = (struct control){ .reason = STR("why") };
	CHECK_STR(advised(&d, CANT, CANT), "open_files!");
	CHECK_STR(advised(&d, NULL, CANT), "open_files");
	d.host.has_proc = false;
	CHECK_STR(advised(&d, CANT, CANT), "no_proc!");
}

TEST(sockets_that_are_not_listed_are_only_advice)
{
	struct diagnosis d = well();

	d.host.lists_sockets = false;
	CHECK_STR(advised(&d, NULL, NULL), "unix_diag");
}

TEST(git_is_only_advice)
{
	struct diagnosis d = well();

	d.host.has_git = true;
	CHECK_STR(advised(&d, NULL, NULL), "git_bare_repository");
	d.host.bare_repository = STR("all");
	CHECK_STR(advised(&d, NULL, NULL), "git_bare_repository");
	d.host.bare_repository = STR("explicit");
	CHECK_STR(advised(&d, NULL, NULL), "");
}
