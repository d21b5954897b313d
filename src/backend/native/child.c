/* SPDX-License-Identifier: MIT */
/* PID 1 of a native sandbox, from the clone to the command. */
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/native/native.h"
#include "os/linux/raw_call.h"
#include "os/linux/sanitizer.h"

static void make_network(struct native_job *job)
{
	if (!job->inner.has_own_network)
		return;
	if (unshare(CLONE_NEWNET) < 0)
		native_fail(job, NATIVE_NETWORK, 0);
	inner_make_network(&job->inner);
	if (!job->inner.asks_connect)
		return;
	/* Through it the supervisor asks which unix sockets were bound inside. */
	job->inner.unix_diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (job->inner.unix_diag < 0)
		native_fail(job, NATIVE_NETWORK, 1);
}

/* ---- PID 1 ------------------------------------------------------------------ */

/* The second process: it makes the mounts and the Landlock ruleset. */
static int mount_beside(void *arg)
{
	struct native_job *job = arg;
	struct init_order mapped;

	native_open_sources(job);
	if (!init_wait(job->inner.channel, job->inner.host, INIT_MAPPED, &mapped))
		_exit(1);
	native_mount_all(job);
	if (chdir(job->inner.directory) < 0)
		native_fail(job, INNER_DIRECTORY, 0);
	job->inner.root = open("/", O_PATH | O_CLOEXEC);
	inner_prepare_landlock(&job->inner);
	inner_reopen_streams(&job->inner);
	inner_open_terminal(&job->inner);
	job->is_mounted = true;
	return 0;
}

/*
 * Making a network namespace and dropping privileges takes the kernel about as long as all the
 * mounts, so two processes do them at the same time. The second process shares everything with
 * PID 1 but credentials, filter and network. They also share errno, so while both run PID 1 may
 * set it only in a failure that ends it.
 */
static pid_t start_mounter(struct native_job *job)
{
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID |
		    SIGCHLD;
	/* mmap() here, not the arena: only the pages that are used cost anything. */
	char *stack = mmap(NULL, NATIVE_STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	if (stack == MAP_FAILED)
		return -1;
	sanitizer_use_own_stacks();
	return clone(mount_beside, stack + NATIVE_STACK_BYTES, flags, job, &job->mounter, NULL,
		     &job->mounter);
}

/* The kernel clears the pid when the mounter ends, for whatever reason. */
static void await_mounter(struct native_job *job)
{
	uint32_t seen;

	while ((seen = __atomic_load_n(&job->mounter, __ATOMIC_ACQUIRE)) != 0)
		raw_call(SYS_futex, (long)&job->mounter, 0 /* FUTEX_WAIT */, seen, 0);
	/* If it failed, it has reported why. */
	if (!job->is_mounted)
		_exit(0);
}

_Noreturn void native_child(struct native_job *job)
{
	struct inner_job *inner = &job->inner;
	struct init_order go;
	mode_t mask;
	int listener;
	pid_t command;

	inner_leave_group(inner);
	inner_raise_open_files(inner);
	/* Before the mounter starts, which shares errno, and before the filter slows each call. */
	inner->signals = command_take_signals();
	mask = umask(0);
	if (start_mounter(job) < 0)
		native_fail(job, INNER_FORK, 1);
	make_network(job);
	inner_drop_capabilities(inner);
	listener = inner_lock_filter(inner);
	await_mounter(job);
	umask(mask);
	if (!init_wait(inner->channel, inner->host, INIT_GO, &go))
		_exit(0);
	inner_take_terminal(inner);
	inner_hide_self(inner);
	inner_enter_landlock(inner);
	inner_tell_ready(inner, listener);
	command = inner_start_command(inner);
	inner_keep_ties(inner);
	init_run(&(struct init_ties){ inner->channel, inner->host, inner->terminal }, command);
}
