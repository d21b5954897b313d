/* SPDX-License-Identifier: MIT */
/* What would fix what. Pure: from what was found to what to do. */
#include <errno.h>

#include "backend/host.h"
#include "doctor/doctor.h"

enum {
	ABI_WITH_SCOPES = 6,
	ENOUGH_FILES = 64, /* twice what the hungriest backend and the doctor itself have open */
};

static int add(struct arena *a, struct diagnosis *d, const char *id, bool is_needed,
	       const char *what, const char *fix, struct err *e)
{
	struct advice *added = VEC_PUSH(a, &d->advice, e);

	if (!added)
		return err_result(e);
	*added = (struct advice){
		.id = id, .is_needed = is_needed, .what = str_of(what), .fix = str_of(fix)
	};
	return 0;
}

static const struct examined *find_examined(const struct diagnosis *d, const char *name)
{
	for (size_t i = 0; i < d->backends.count; i++)
		if (strcmp(d->backends.items[i].backend->name, name) == 0)
			return &d->backends.items[i];
	return NULL;
}

static bool says(const struct examined *x, const char *part)
{
	return x && strstr(x->reason.p, part) != NULL;
}

/* ---- Namespaces ---------------------------------------------------------------------------- */

/* Why the native backend does not work; the first that is true is the cause. */
static int advise_namespaces(struct arena *a, struct diagnosis *d, const struct examined *native,
			     bool is_needed, struct err *e)
{
	const struct host_facts *h = &d->host;
	struct str what, fix;

	if (h->around) {
		if (arena_printf(a, &what, e,
				 "%s is around this process (%s), and no other can be made in it",
				 h->around->name, h->around->mark) < 0)
			return err_result(e);
		return add(a, d, "sandbox_around", is_needed, what.p, h->around->way_out, e);
	}
	if (h->limit) {
		if (arena_printf(a, &what, e, "some namespaces can't be made: %s", h->limit->what) <
			    0 ||
		    arena_printf(a, &fix, e,
				 "as root: %s (to keep it: the last word of that in a file in "
				 "/etc/sysctl.d)",
				 h->limit->fix) < 0)
			return err_result(e);
		return add(a, d, "userns_max", is_needed, what.p, fix.p, e);
	}
	if (h->userns_clone == 0 && !h->is_root)
		return add(a, d, "userns_clone", is_needed,
			   "ordinary users can't make user namespaces: "
			   "kernel.unprivileged_userns_clone is 0",
			   "as root: sysctl -w kernel.unprivileged_userns_clone=1 (to keep it: the "
			   "last word of that in a file in /etc/sysctl.d)",
			   e);
	if (says(native, "AppArmor's profile"))
		return add(
			a, d, "apparmor_profile", is_needed,
			"AppArmor has a profile in force for this process, and it or a container "
			"forbids namespaces or mounts in them",
			"as root: put Cordon's profile (packaging/apparmor/cordon) to "
			"/etc/apparmor.d/cordon, run apparmor_parser -r /etc/apparmor.d/cordon, "
			"and "
			"let the profile in force change to it (a rule like '/usr/bin/cordon "
			"px,'); "
			"in a container: docker run --security-opt apparmor=unconfined "
			"--security-opt "
			"seccomp=unconfined; or run cordon outside of it",
			e);
	if (h->apparmor_userns == 1 && !h->is_root)
		return add(
			a, d, "apparmor_userns", is_needed,
			"AppArmor lets only named programs make user namespaces "
			"(kernel.apparmor_restrict_unprivileged_userns is 1)",
			"as root: put Cordon's profile (packaging/apparmor/cordon) to "
			"/etc/apparmor.d/cordon and run apparmor_parser -r /etc/apparmor.d/cordon; "
			"it is for /usr/bin/cordon and /usr/local/bin/cordon; the Debian package "
			"does so",
			e);
	if (says(native, "/proc of its own") && h->is_proc_covered)
		return add(
			a, d, "proc_masked", is_needed,
			"parts of /proc are covered, as containers do it, and so no new /proc may "
			"be mounted",
			"start the container with an unmasked /proc: docker run --security-opt "
			"systempaths=unconfined, podman run --security-opt unmask=ALL, in "
			"Kubernetes "
			"procMount: Unmasked",
			e);
	if (says(native, "can't make its namespaces") && h->is_chroot)
		return add(a, d, "chroot", is_needed,
			   "this is a chroot, in which the kernel lets nobody make user namespaces",
			   "enter that directory as a container does, for example with "
			   "systemd-nspawn -D, or run cordon outside of it",
			   e);
	if (says(native, "backend can't"))
		return add(
			a, d, "namespaces", is_needed,
			"something around this process, likely a container, forbids namespaces or "
			"mounts in them",
			"start the container with them allowed: docker run --security-opt "
			"seccomp=unconfined --security-opt apparmor=unconfined, or with a seccomp "
			"profile that allows clone, unshare, mount and the new mount calls; or run "
			"cordon outside of it",
			e);
	return 0;
}

/* With too few descriptors anything fails, anywhere, and looks like something else. */
static bool has_few_files(const struct diagnosis *d)
{
	return d->host.open_files != FACT_UNKNOWN && d->host.open_files < ENOUGH_FILES;
}

static int advise_trying(struct arena *a, struct diagnosis *d, struct err *e)
{
	if (d->room_reason.len && d->has_program)
		return add(a, d, "no_directory", false, d->room_reason.p,
			   "set TMPDIR to a directory that can be written", e);
	if (!d->has_program || !d->control.is_there)
		return add(a, d, "no_probe", false,
			   d->has_program ? d->control.reason.p : d->room_reason.p,
			   "run 'cordon doctor' itself, or name that program", e);
	return 0;
}

/* ---- Kernel ----------------------------------------------------------------------------------- */

static int advise_landlock(struct arena *a, struct diagnosis *d, bool is_needed, struct err *e)
{
	const struct host_facts *h = &d->host;

	if (h->landlock_error == EOPNOTSUPP)
		return add(
			a, d, "landlock_off", is_needed,
			"the kernel has Landlock, but it was turned off at boot",
			"add landlock to the lsm= list of the kernel's command line (the list in "
			"force is in /sys/kernel/security/lsm), and start again",
			e);
	if (h->landlock_abi == 0)
		return add(a, d, "landlock_missing", is_needed,
			   "the kernel has no Landlock, or a filter around this process hides it",
			   "use Linux 5.13 or newer, built with CONFIG_SECURITY_LANDLOCK; in a "
			   "container, a seccomp profile that allows landlock_create_ruleset, "
			   "landlock_add_rule and landlock_restrict_self",
			   e);
	if (h->landlock_abi < ABI_WITH_SCOPES)
		return add(
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
		return add(a, d, "seccomp_missing", is_needed,
			   "system calls can't be filtered here",
			   "use a kernel with CONFIG_SECCOMP_FILTER; in a container, a seccomp "
			   "profile "
			   "that allows seccomp()",
			   e);
	if (!h->has_notify)
		return add(a, d, "notify_missing", is_needed,
			   "the kernel has no seccomp notifications", "use Linux 5.9 or newer", e);
	return 0;
}

static int advise_sockets(struct arena *a, struct diagnosis *d, struct err *e)
{
	if (d->host.lists_sockets)
		return 0;
	return add(
		a, d, "unix_diag", false,
		"the kernel does not list unix sockets, and so those that a command makes itself, "
		"as files, are refused like those of the host",
		"as root: modprobe unix_diag; or use a kernel with CONFIG_UNIX_DIAG", e);
}

/* ---- Programs ---------------------------------------------------------------------------------- */

static int advise_programs(struct arena *a, struct diagnosis *d, bool is_needed, struct err *e)
{
	const struct examined *bwrap = find_examined(d, "bwrap");
	const struct examined *native = find_examined(d, "native");

	/* Where the native one works nobody needs the other. */
	if (bwrap && !bwrap->works && native && !native->works && says(bwrap, "no bwrap on PATH") &&
	    add(a, d, "bwrap_missing", is_needed, bwrap->reason.p,
		says(bwrap, "was passed over")
			? "have one on PATH that belongs to root or to you, and that neither "
			  "others "
			  "nor commands can change, as the distribution's bubblewrap is"
			: "install bubblewrap from the distribution: it may be allowed what cordon "
			  "is not",
		e) < 0)
		return err_result(e);
	if (d->host.has_git && !str_is(d->host.bare_repository, "explicit"))
		return add(
			a, d, "git_bare_repository", false,
			"git takes any directory that looks like a bare repository for one, also "
			"one that a command has made in the workspace, and runs what its "
			"configuration names",
			"git config --global safe.bareRepository explicit", e);
	return 0;
}

int doctor_advise(struct arena *a, struct diagnosis *d, struct err *e)
{
	const struct examined *native = find_examined(d, "native");
	bool is_needed = !d->usual.is_enforced;

	if (d->host.wsl == 1)
		return add(a, d, "wsl1", true, "this is WSL1, which is no Linux kernel",
			   "convert the distribution to WSL2, in Windows: wsl --set-version "
			   "DISTRIBUTION 2",
			   e);
	if (d->host.is_nested)
		return add(a, d, "nested", true, "this is already inside a Cordon sandbox",
			   "run cordon outside of it; what runs in here is confined", e);
	if (!d->host.has_proc)
		return add(a, d, "no_proc", true, "there is no /proc, which Cordon works with",
			   "as root: mount -t proc proc /proc; in a container or chroot, start it "
			   "with one",
			   e);
	if (has_few_files(d)) {
		if (add(a, d, "open_files", is_needed,
			"this process may open only a few files (ulimit -n)",
			"ulimit -n 1024, in the shell that cordon is started from", e) < 0)
			return err_result(e);
	} else if (advise_trying(a, d, e) < 0)
		return err_result(e);
	if (native && !native->works && !has_few_files(d) && d->host.landlock_abi > 0 &&
	    advise_namespaces(a, d, native, is_needed, e) < 0)
		return err_result(e);
	if (advise_landlock(a, d, is_needed, e) < 0 || advise_seccomp(a, d, is_needed, e) < 0 ||
	    advise_sockets(a, d, e) < 0)
		return err_result(e);
	return advise_programs(a, d, is_needed, e);
}
