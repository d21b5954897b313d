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
				    enum cause cause)
{
	struct err e = ERR_INIT;
	struct examined *x = VEC_PUSH(a, &d->backends, &e);

	*x = (struct examined){ .backend = backend_find(str_of(name)),
				.works = cause == CAUSE_OK,
				.reason = { cause, STR("why") } };
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
		.room_reason = REASON_NONE,
		.has_program = true,
		.control = { .is_there = true, .reason = REASON_NONE },
		.usual = { .is_enforced = true },
	};
}

/* The identifiers, with a "!" at what is needed. */
static const char *advised(struct diagnosis *d, enum cause native, enum cause bwrap)
{
	static char text[500];
	scoped_arena a = ARENA_INIT(1U << 20);
	struct err e = ERR_INIT;
	size_t used = 0;

	add_backend(&a, d, "native", native);
	add_backend(&a, d, "bwrap", bwrap);
	d->usual.is_enforced = native == CAUSE_OK || bwrap == CAUSE_OK;
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

#define FINE	  CAUSE_OK
#define FORBIDDEN CAUSE_NAMESPACES_FORBIDDEN
#define NO_BWRAP  CAUSE_BWRAP_MISSING

TEST(where_all_is_well_nothing_is_advised)
{
	struct diagnosis d = well();

	CHECK_STR(advised(&d, FINE, FINE), "");
	CHECK_STR(advised(&d, FINE, NO_BWRAP), "");
}

TEST(each_cause_has_its_advice)
{
	static const struct {
		enum cause cause;
		const char *advice;
	} cases[] = {
		{ CAUSE_NAMESPACES_FORBIDDEN, "namespaces!" },
		{ CAUSE_NAMESPACE_RIGHTS, "namespaces!" },
		{ CAUSE_NAMESPACES_OFF, "userns_clone!" },
		{ CAUSE_NAMESPACES_EXHAUSTED, "namespaces_exhausted!" },
		{ CAUSE_NAMESPACES_UNSUPPORTED, "namespaces_unsupported!" },
		{ CAUSE_APPARMOR_USERNS, "apparmor_userns!" },
		{ CAUSE_APPARMOR_PROFILE, "apparmor_profile!" },
		{ CAUSE_PROC_MOUNT_REFUSED, "namespaces!" },
		{ CAUSE_PROC_FOREIGN, "proc_foreign!" },
		{ CAUSE_PROC_READ_ONLY, "proc_read_only!" },
		{ CAUSE_KERNEL_TOO_OLD, "kernel_old!" },
		{ CAUSE_SYS, "" },
	};
	struct diagnosis d = well();

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		CHECK_STR(advised(&d, cases[i].cause, CAUSE_BWRAP_FAILED), cases[i].advice);
}

TEST(facts_of_the_host_make_a_cause_more_exact)
{
	struct diagnosis d = well();

	d.host.is_chroot = true;
	CHECK_STR(advised(&d, FORBIDDEN, NO_BWRAP), "chroot! bwrap_missing!");
	CHECK_STR(advised(&d, CAUSE_APPARMOR_USERNS, NO_BWRAP), "apparmor_userns! bwrap_missing!");
	d.host.limit = &(const struct host_limit){ "", "user.max_net_namespaces is 0", "" };
	CHECK_STR(advised(&d, CAUSE_NAMESPACES_OFF, NO_BWRAP), "userns_max! bwrap_missing!");
	CHECK_STR(advised(&d, CAUSE_PROC_READ_ONLY, NO_BWRAP), "proc_read_only! bwrap_missing!");
	d.host.around =
		&(const struct os_outer_sandbox){ .name = "x", .mark = "y", .way_out = "z" };
	CHECK_STR(advised(&d, CAUSE_NAMESPACES_OFF, NO_BWRAP), "sandbox_around! bwrap_missing!");
}

TEST(what_is_there_and_not_trusted_need_not_be_installed)
{
	struct diagnosis d = well();

	CHECK_STR(advised(&d, FORBIDDEN, NO_BWRAP), "namespaces! bwrap_missing!");
	CHECK_STR(advised(&d, FORBIDDEN, CAUSE_BWRAP_UNTRUSTED), "namespaces! bwrap_untrusted!");
}

TEST(what_another_backend_makes_up_for_is_not_needed)
{
	struct diagnosis d = well();

	CHECK_STR(advised(&d, CAUSE_APPARMOR_USERNS, FINE), "apparmor_userns");
}

TEST(a_covered_proc_counts_only_where_it_is_in_the_way)
{
	struct diagnosis d = well();

	d.host.is_proc_covered = true;
	CHECK_STR(advised(&d, FINE, FINE), "");
	CHECK_STR(advised(&d, CAUSE_PROC_MOUNT_REFUSED, NO_BWRAP), "proc_masked! bwrap_missing!");
	CHECK_STR(advised(&d, FORBIDDEN, FINE), "namespaces");
}

TEST(landlock_is_missing_off_or_old)
{
	struct diagnosis d = well();

	d.host.landlock_abi = 5;
	CHECK_STR(advised(&d, FINE, FINE), "landlock_old");
	d.host.landlock_abi = 0;
	d.host.landlock_error = ENOSYS;
	CHECK_STR(advised(&d, CAUSE_LANDLOCK_MISSING, CAUSE_LANDLOCK_MISSING), "landlock_missing!");
	d.host.landlock_error = EOPNOTSUPP;
	CHECK_STR(advised(&d, CAUSE_LANDLOCK_OFF, CAUSE_LANDLOCK_OFF), "landlock_off!");
}

TEST(what_is_no_host_at_all_is_the_only_advice)
{
	struct diagnosis d = well();

	d.host.wsl = 1;
	CHECK_STR(advised(&d, CAUSE_WSL1, CAUSE_WSL1), "wsl1!");
	d.host.wsl = 2;
	CHECK_STR(advised(&d, FINE, FINE), "");
	d.host.is_nested = true;
	CHECK_STR(advised(&d, CAUSE_INSIDE_CORDON, CAUSE_INSIDE_CORDON), "nested!");
}

TEST(that_nothing_could_be_tried_is_said)
{
	struct diagnosis d = well();

	d.control = (struct control){ .reason = { CAUSE_SYS, STR("why") } };
	CHECK_STR(advised(&d, FINE, FINE), "no_probe");
	d.room_reason = (struct reason){ CAUSE_SYS, STR("why") };
	CHECK_STR(advised(&d, FINE, FINE), "no_directory");
	d.has_program = false;
	CHECK_STR(advised(&d, FINE, FINE), "no_probe");
}

TEST(a_shortage_is_not_taken_for_a_prohibition)
{
	struct diagnosis d = well();

	CHECK_STR(advised(&d, CAUSE_PROCESS_LIMIT, FINE), "");
	d.host.open_files = FACT_UNKNOWN;
	CHECK_STR(advised(&d, FINE, FINE), "");
	d.host.open_files = 20;
	d.control = (struct control){ .reason = { CAUSE_SYS, STR("why") } };
	CHECK_STR(advised(&d, FORBIDDEN, FORBIDDEN), "open_files!");
	CHECK_STR(advised(&d, FINE, FORBIDDEN), "open_files");
	d.host.has_proc = false;
	CHECK_STR(advised(&d, FORBIDDEN, FORBIDDEN), "no_proc!");
}

TEST(sockets_that_are_not_listed_are_only_advice)
{
	struct diagnosis d = well();

	d.host.lists_sockets = false;
	CHECK_STR(advised(&d, FINE, FINE), "unix_diag");
}

TEST(git_is_only_advice)
{
	struct diagnosis d = well();

	d.host.has_git = true;
	CHECK_STR(advised(&d, FINE, FINE), "git_bare_repository");
	d.host.bare_repository = STR("all");
	CHECK_STR(advised(&d, FINE, FINE), "git_bare_repository");
	d.host.bare_repository = STR("explicit");
	CHECK_STR(advised(&d, FINE, FINE), "");
}
