/* SPDX-License-Identifier: MIT */
/* What to do about each problem that was found on Linux. Pure: decides by causes and facts alone. */
#include <errno.h>

#include "backend/host.h"
#include "doctor/native.h"

enum { ABI_WITH_SCOPES = 6 };

/* ---- Namespaces ---------------------------------------------------------------------------- */

static bool is_in_chroot(const struct host_facts *h)
{
	return h->is_chroot;
}

static bool has_covered_proc(const struct host_facts *h)
{
	return h->is_proc_covered;
}

#define FIX_CONTAINER                                                                          \
	"start the container with them allowed: docker run --security-opt seccomp=unconfined " \
	"--security-opt apparmor=unconfined, or with a seccomp profile that allows clone, "    \
	"unshare, mount and the new mount calls; or run cordon outside of it"
#define WHAT_CONTAINER                                                                          \
	"something around this process, probably a container, forbids namespaces or mounts in " \
	"them"

/* What to do when the native backend fails with `cause`. The first row that applies counts. */
static const struct remedy {
	enum cause cause;
	bool (*applies)(const struct host_facts *h); /* NULL: always */
	const char *id, *what, *fix;
} remedies[] = {
	{ CAUSE_NAMESPACES_OFF, NULL, "userns_clone",
	  "ordinary users can't make user namespaces: kernel.unprivileged_userns_clone is 0",
	  "as root: sysctl -w kernel.unprivileged_userns_clone=1 (to keep it, write the last word "
	  "of that to a file in /etc/sysctl.d)" },
	{ CAUSE_APPARMOR_PROFILE, NULL, "apparmor_profile",
	  "an AppArmor profile confines this process, and it or a container forbids namespaces or "
	  "mounts in them",
	  "as root: copy Cordon's profile (packaging/apparmor/cordon) to /etc/apparmor.d/cordon, "
	  "run apparmor_parser -r /etc/apparmor.d/cordon, and let the profile in force change to "
	  "it (a rule like '/usr/bin/cordon px,'); in a container: docker run --security-opt "
	  "apparmor=unconfined --security-opt seccomp=unconfined; or run cordon outside of it" },
	{ CAUSE_APPARMOR_USERNS, NULL, "apparmor_userns",
	  "AppArmor lets only named programs make user namespaces "
	  "(kernel.apparmor_restrict_unprivileged_userns is 1)",
	  "as root: copy Cordon's profile (packaging/apparmor/cordon) to /etc/apparmor.d/cordon "
	  "and run apparmor_parser -r /etc/apparmor.d/cordon; the profile is for /usr/bin/cordon "
	  "and /usr/local/bin/cordon; the Debian package installs it" },
	{ CAUSE_PROC_MOUNT_REFUSED, has_covered_proc, "proc_masked",
	  "parts of /proc are covered, as in a container, so the kernel lets nobody mount a new "
	  "/proc",
	  "start the container with an unmasked /proc: docker run --security-opt "
	  "systempaths=unconfined, podman run --security-opt unmask=ALL, in Kubernetes procMount: "
	  "Unmasked" },
	{ CAUSE_PROC_FOREIGN, NULL, "proc_foreign",
	  "the mounted /proc belongs to another pid namespace",
	  "mount the /proc of this pid namespace, for example with unshare --mount-proc" },
	{ CAUSE_PROC_READ_ONLY, NULL, "proc_read_only", "/proc is mounted read-only",
	  "mount a /proc that can be written" },
	{ CAUSE_NAMESPACES_FORBIDDEN, is_in_chroot, "chroot",
	  "this is a chroot, in which the kernel lets nobody make user namespaces",
	  "enter that directory as a container does, for example with systemd-nspawn -D, or run "
	  "cordon outside of it" },
	{ CAUSE_NAMESPACES_EXHAUSTED, NULL, "namespaces_exhausted",
	  "there are too many namespaces, or they are nested too deep",
	  "end the sandboxes and containers that are not needed, or raise user.max_*_namespaces" },
	{ CAUSE_NAMESPACES_UNSUPPORTED, NULL, "namespaces_unsupported",
	  "the kernel was built without one of the kinds of namespaces",
	  "use a kernel with user, mount, pid, network, ipc, uts and cgroup namespaces" },
	{ CAUSE_KERNEL_TOO_OLD, NULL, "kernel_old",
	  "the kernel, or a container around this process, lacks a system call",
	  "use Linux 5.13 or newer; in a container, a seccomp profile that allows the new mount "
	  "calls" },
	{ CAUSE_NAMESPACES_FORBIDDEN, NULL, "namespaces", WHAT_CONTAINER, FIX_CONTAINER },
	{ CAUSE_NAMESPACE_RIGHTS, NULL, "namespaces", WHAT_CONTAINER, FIX_CONTAINER },
	{ CAUSE_PROC_MOUNT_REFUSED, NULL, "namespaces", WHAT_CONTAINER, FIX_CONTAINER },
};

static int advise_around(struct arena *a, struct diagnosis *d, bool is_needed, struct err *e)
{
	const struct os_outer_sandbox *around = d->host.around;
	struct str what;

	if (arena_printf(a, &what, e,
			 "this process runs inside %s (%s), where no other sandbox "
			 "can be made",
			 around->name, around->mark) < 0)
		return err_result(e);
	return advice_add(a, d, "sandbox_around", is_needed, what.p, around->way_out, e);
}

static int advise_limit(struct arena *a, struct diagnosis *d, bool is_needed, struct err *e)
{
	const struct host_limit *limit = d->host.limit;
	struct str what, fix;

	if (arena_printf(a, &what, e, "some namespaces can't be made: %s", limit->what) < 0 ||
	    arena_printf(a, &fix, e,
			 "as root: %s (to keep it, write the last word of that to a "
			 "file in /etc/sysctl.d)",
			 limit->fix) < 0)
		return err_result(e);
	return advice_add(a, d, "userns_max", is_needed, what.p, fix.p, e);
}

static int advise_namespaces(struct arena *a, struct diagnosis *d, enum cause cause, bool is_needed,
			     struct err *e)
{
	if (d->host.around)
		return advise_around(a, d, is_needed, e);
	if (cause == CAUSE_NAMESPACES_OFF && d->host.limit)
		return advise_limit(a, d, is_needed, e);
	for (size_t i = 0; i < COUNT_OF(remedies); i++) {
		const struct remedy *r = &remedies[i];

		if (r->cause == cause && (!r->applies || r->applies(&d->host)))
			return advice_add(a, d, r->id, is_needed, r->what, r->fix, e);
	}
	return 0;
}

/* ---- Kernel ----------------------------------------------------------------------------------- */

static int advise_landlock(struct arena *a, struct diagnosis *d, bool is_needed, struct err *e)
{
	const struct host_facts *h = &d->host;

	if (h->landlock_error == EOPNOTSUPP)
		return advice_add(
			a, d, "landlock_off", is_needed,
			"the kernel has Landlock, but it was turned off at boot",
			"add landlock to the lsm= list of the kernel's command line (the list in "
			"force is in /sys/kernel/security/lsm), and start again",
			e);
	if (h->landlock_abi == 0)
		return advice_add(
			a, d, "landlock_missing", is_needed,
			"the kernel has no Landlock, or a filter around this process hides it",
			"use Linux 5.13 or newer, built with CONFIG_SECURITY_LANDLOCK; in a "
			"container, a seccomp profile that allows landlock_create_ruleset, "
			"landlock_add_rule and landlock_restrict_self",
			e);
	if (h->landlock_abi < ABI_WITH_SCOPES)
		return advice_add(
			a, d, "landlock_old", false,
			"this kernel's Landlock can't keep abstract sockets of the host away when "
			"the whole network is allowed",
			"use Linux 6.12 or newer, --network off, or isolation.ipc = false", e);
	return 0;
}

static int advise_seccomp(struct arena *a, struct diagnosis *d, bool is_needed, struct err *e)
{
	const struct host_facts *h = &d->host;

	if (!h->has_filter)
		return advice_add(
			a, d, "seccomp_missing", is_needed, "system calls can't be filtered here",
			"use a kernel with CONFIG_SECCOMP_FILTER; in a container, a seccomp "
			"profile "
			"that allows seccomp()",
			e);
	if (!h->has_notify)
		return advice_add(a, d, "notify_missing", is_needed,
				  "the kernel has no seccomp notifications",
				  "use Linux 5.9 or newer", e);
	return 0;
}

static int advise_sockets(struct arena *a, struct diagnosis *d, struct err *e)
{
	if (d->host.lists_sockets)
		return 0;
	return advice_add(
		a, d, "unix_diag", false,
		"the kernel does not list unix sockets, and so those that a command makes itself, "
		"as files, are refused like those of the host",
		"as root: modprobe unix_diag; or use a kernel with CONFIG_UNIX_DIAG", e);
}

/* ---- Programs ---------------------------------------------------------------------------------- */

static int advise_programs(struct arena *a, struct diagnosis *d, bool is_needed, struct err *e)
{
	const struct examined *bwrap = advice_find(d, "bwrap");
	const struct examined *native = advice_find(d, "native");

	/* Nobody needs bwrap where the native backend works. */
	if (bwrap && !bwrap->works && native && !native->works) {
		if (bwrap->reason.cause == CAUSE_BWRAP_MISSING &&
		    advice_add(
			    a, d, "bwrap_missing", is_needed, bwrap->reason.text.p,
			    "install bubblewrap from the distribution, which may be allowed what "
			    "cordon is not",
			    e) < 0)
			return err_result(e);
		if (bwrap->reason.cause == CAUSE_BWRAP_UNTRUSTED &&
		    advice_add(
			    a, d, "bwrap_untrusted", is_needed, bwrap->reason.text.p,
			    "put a bwrap on PATH that belongs to root or to you, and that neither "
			    "others nor commands can change, like the distribution's bubblewrap",
			    e) < 0)
			return err_result(e);
	}
	return advice_on_git(a, d, e);
}

int doctor_advise(struct arena *a, struct diagnosis *d, struct err *e)
{
	const struct examined *native = advice_find(d, "native");
	bool is_needed = !d->usual.is_enforced;

	if (d->host.wsl == 1)
		return advice_add(a, d, "wsl1", true, "this is WSL1, which is not a Linux kernel",
				  "convert the distribution to WSL2, in Windows: wsl --set-version "
				  "DISTRIBUTION 2",
				  e);
	if (d->host.is_nested)
		return advice_add(
			a, d, "nested", true, "this process already runs in a Cordon sandbox",
			"run cordon outside of it; commands that run in here are confined already",
			e);
	if (!d->host.has_proc)
		return advice_add(
			a, d, "no_proc", true, "there is no /proc, which Cordon needs",
			"as root: mount -t proc proc /proc; in a container or chroot, start it "
			"with one",
			e);
	if (advice_has_few_files(d)) {
		if (advice_on_files(a, d, is_needed, e) < 0)
			return err_result(e);
	} else if (advice_on_trying(a, d, e) < 0) {
		return err_result(e);
	}
	if (native && !native->works && !advice_has_few_files(d) && d->host.landlock_abi > 0 &&
	    advise_namespaces(a, d, native->reason.cause, is_needed, e) < 0)
		return err_result(e);
	if (advise_landlock(a, d, is_needed, e) < 0 || advise_seccomp(a, d, is_needed, e) < 0 ||
	    advise_sockets(a, d, e) < 0)
		return err_result(e);
	return advise_programs(a, d, is_needed, e);
}
