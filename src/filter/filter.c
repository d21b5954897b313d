/* SPDX-License-Identifier: MIT */
/*
 * See filter.h. The table below says which call gets which verdict; the rest of
 * the file turns it into a program:
 *
 *	architecture	another one is killed
 *	number		a binary search over the runs of numbers with one verdict, and
 *			then the few in such a run that have another one
 *	arguments	a block of tests for each verdict that looks at them (arguments.c)
 */
#include "filter/filter.h"

#include <string.h>

#include "base/err.h"
#include "filter/arguments.h"
#include "filter/bpf.h"
#include "filter/syscalls.h"

enum verdict {
	ALLOW,
	REFUSE, /* EPERM: what a caller without rights gets */
	ABSENT, /* ENOSYS: what a caller on an older kernel gets: it knows another way */
	KILL,
	NOTIFY,
	CHECK_SOCKET,
	CHECK_CLONE,
	CHECK_UNSHARE,
	CHECK_CLONE_SOME,
	CHECK_UNSHARE_SOME,
	CHECK_UMOUNT,
	CHECK_OPEN_TREE,
	CHECK_FSMOUNT,
	CHECK_IOCTL,
	CHECK_FCNTL,
	CHECK_PERSONALITY,
	CHECK_PROCESS,
	CHECK_PRIORITY,
	CHECK_IO_PRIORITY,
	CHECK_SEND_2, /* the flags are argument 2 */
	CHECK_SEND_3,
	CHECK_CHMOD_1, /* the mode is argument 1 */
	CHECK_CHMOD_2,
	CHECK_FCHMOD,
	CHECK_MODE_1, /* of a new file */
	CHECK_MODE_2,
	CHECK_PATH_1, /* argument 1 is a path, or there is none */
	CHECK_OPEN_1, /* the flags are argument 1, the mode is the next one */
	CHECK_OPEN_2,
	CHECK_CREAT,
	CHECK_WRITE_FLAGS,
	UNSUPPORTED, /* EOPNOTSUPP: what a file system says that can't do it */
	VERDICTS,
	METADATA, /* REFUSE or NOTIFY, as the options say */
};

enum condition {
	ALWAYS,
	NO_USERNS,
	USERNS,
	KEEPS_MOUNTS,
	ASKS,
	CONNECTS,
	IPC,
	METADATA_IS_OURS,
	TRUNCATES,
	APPENDS,
	NAMES_WRITES,
	NAMES_READS,
};

/*
 * EPERM is the answer unless something else is said: it is the kernel's own to a
 * caller without the capability, which most of these need.
 *
 * Not here on purpose: ptrace (gdb works; its targets are the pid namespace's),
 * kcmp, migrate_pages and move_pages (likewise, by the rules of ptrace), seccomp
 * and landlock_* (they only narrow), statmount and listmount (what mountinfo
 * says), name_to_handle_at (a number, useless without opening it), fanotify (no
 * more than inotify for those without rights), adjtimex and clock_adjtime (reading
 * is for everyone, and what they read and write the filter can't tell apart: the
 * kernel wants CAP_SYS_TIME), uprobe and uretprobe (the kernel's own trampolines).
 */
static const struct rule {
	enum syscall call;
	enum verdict verdict;
	enum condition condition;
} rules[] = {
	/* Other processes' memory and descriptors, past what ptrace shows a debugger. */
	{ SYSCALL_process_vm_readv, REFUSE, ALWAYS },
	{ SYSCALL_process_vm_writev, REFUSE, ALWAYS },
	{ SYSCALL_pidfd_getfd, REFUSE, ALWAYS },
	/* Allocators call it for themselves and do without on kernels before 5.10. */
	{ SYSCALL_process_madvise, ABSENT, ALWAYS },

	/*
	 * SECURITY: PID 1 runs as the command's user, and ends the sandbox. With an idle priority,
	 * no CPU, or no CPU time it would die late or never, and a command could outlive its run. So
	 * the command must not change PID 1's scheduling or limits.
	 */
	{ SYSCALL_sched_setscheduler, CHECK_PROCESS, ALWAYS },
	{ SYSCALL_sched_setparam, CHECK_PROCESS, ALWAYS },
	{ SYSCALL_sched_setattr, CHECK_PROCESS, ALWAYS },
	{ SYSCALL_sched_setaffinity, CHECK_PROCESS, ALWAYS },
	{ SYSCALL_prlimit64, CHECK_PROCESS, ALWAYS },
	{ SYSCALL_setpriority, CHECK_PRIORITY, ALWAYS },
	{ SYSCALL_ioprio_set, CHECK_IO_PRIORITY, ALWAYS },

	/*
	 * Its operations pass no filter: connect, openat and sendmsg would all be free.
	 * libuv, tokio and others take ENOSYS for an old kernel and use epoll.
	 */
	{ SYSCALL_io_uring_setup, ABSENT, ALWAYS },
	{ SYSCALL_io_uring_enter, ABSENT, ALWAYS },
	{ SYSCALL_io_uring_register, ABSENT, ALWAYS },

	/* Code in the kernel, and where most of its holes were. */
	{ SYSCALL_bpf, REFUSE, ALWAYS },
	/* Measures other processes and the kernel; a frequent hole. */
	{ SYSCALL_perf_event_open, REFUSE, ALWAYS },
	/* Stops the kernel in the middle of a copy: what turns races into exploits. */
	{ SYSCALL_userfaultfd, REFUSE, ALWAYS },
	/* Memory that even the supervisor can't read; was off by default until 6.5. */
	{ SYSCALL_memfd_secret, ABSENT, ALWAYS },
	/* Segments of one's own making, for 16-bit programs; kernels without it say ENOSYS. */
	{ SYSCALL_modify_ldt, ABSENT, ALWAYS },

	/*
	 * The session keyring is inherited from outside and knows no namespace. ENOSYS
	 * is a kernel without keyrings: Kerberos and runc then go on without.
	 */
	{ SYSCALL_add_key, ABSENT, ALWAYS },
	{ SYSCALL_request_key, ABSENT, ALWAYS },
	{ SYSCALL_keyctl, ABSENT, ALWAYS },

	/* Another kernel, or parts of one. */
	{ SYSCALL_kexec_load, REFUSE, ALWAYS },
	{ SYSCALL_kexec_file_load, REFUSE, ALWAYS },
	{ SYSCALL_init_module, REFUSE, ALWAYS },
	{ SYSCALL_finit_module, REFUSE, ALWAYS },
	{ SYSCALL_delete_module, REFUSE, ALWAYS },

	/*
	 * The mounts are the policy. Whoever may have a user namespace has one to
	 * mount in: there what came from outside is locked, so it can only be covered.
	 */
	{ SYSCALL_mount, REFUSE, NO_USERNS },
	{ SYSCALL_umount2, REFUSE, NO_USERNS },
	{ SYSCALL_pivot_root, REFUSE, NO_USERNS },
	{ SYSCALL_chroot, REFUSE, NO_USERNS },
	{ SYSCALL_open_tree, REFUSE, NO_USERNS },
	{ SYSCALL_open_tree_attr, REFUSE, NO_USERNS },
	{ SYSCALL_move_mount, REFUSE, NO_USERNS },
	{ SYSCALL_mount_setattr, REFUSE, NO_USERNS },
	{ SYSCALL_fsopen, REFUSE, NO_USERNS },
	{ SYSCALL_fsconfig, REFUSE, NO_USERNS },
	{ SYSCALL_fsmount, REFUSE, NO_USERNS },
	{ SYSCALL_fspick, REFUSE, NO_USERNS },
	/*
	 * SECURITY: the kernel refuses to rename or remove a name with a mount on it, but only if the
	 * mount is in the caller's own namespace. A command in a namespace without the policy's mounts
	 * could replace protected names. So it must not detach them all at once (a lazy umount of the
	 * old root), nor start from an empty namespace (Linux 7.0 and later).
	 */
	{ SYSCALL_umount2, CHECK_UMOUNT, KEEPS_MOUNTS },
	{ SYSCALL_open_tree, CHECK_OPEN_TREE, KEEPS_MOUNTS },
	{ SYSCALL_open_tree_attr, CHECK_OPEN_TREE, KEEPS_MOUNTS },
	{ SYSCALL_fsmount, CHECK_FSMOUNT, KEEPS_MOUNTS },
	/* Opens by inode number, whatever directory or mount is in the way. */
	{ SYSCALL_open_by_handle_at, REFUSE, ALWAYS },

	/* All capabilities over a new namespace: what most holes of the kernel start from. */
	{ SYSCALL_clone, CHECK_CLONE, NO_USERNS },
	{ SYSCALL_unshare, CHECK_UNSHARE, NO_USERNS },
	{ SYSCALL_setns, REFUSE, NO_USERNS },
	/*
	 * SECURITY: in a cgroup namespace the command could mount its control group, which may hold
	 * processes of the host, Cordon's among them, and freeze or kill these.
	 */
	{ SYSCALL_clone, CHECK_CLONE_SOME, USERNS },
	{ SYSCALL_unshare, CHECK_UNSHARE_SOME, USERNS },
	/* Its flags are in memory, out of sight; every libc then uses clone. */
	{ SYSCALL_clone3, ABSENT, ALWAYS },
	/* Tells of namespaces elsewhere; nobody has needed it before 6.19. */
	{ SYSCALL_listns, ABSENT, ALWAYS },

	/* The ways out that are no files. */
	{ SYSCALL_socket, CHECK_SOCKET, ALWAYS },
	{ SYSCALL_socketpair, CHECK_SOCKET, ALWAYS },
	{ SYSCALL_connect, NOTIFY, CONNECTS },
	/* MSG_FASTOPEN connects as well, and a standard stream may be a socket of the host's. */
	{ SYSCALL_sendto, CHECK_SEND_3, ASKS },
	{ SYSCALL_sendmsg, CHECK_SEND_2, ASKS },
	{ SYSCALL_sendmmsg, CHECK_SEND_3, ASKS },
	/* Typing into the terminal that the caller of cordon sits at. */
	{ SYSCALL_ioctl, CHECK_IOCTL, ALWAYS },
	{ SYSCALL_vhangup, REFUSE, ALWAYS },
	/*
	 * A lease takes no more than reading, also through a read-only mount, and whoever opens
	 * the file for writing then waits for its end, on the host, too.
	 */
	{ SYSCALL_fcntl, CHECK_FCNTL, ALWAYS },
	/* A process that is easier to exploit. */
	{ SYSCALL_personality, CHECK_PERSONALITY, ALWAYS },

	/* The machine itself, for whoever should keep a capability by mistake. */
	{ SYSCALL_swapon, REFUSE, ALWAYS },
	{ SYSCALL_swapoff, REFUSE, ALWAYS },
	{ SYSCALL_reboot, REFUSE, ALWAYS },
	{ SYSCALL_acct, REFUSE, ALWAYS },
	{ SYSCALL_quotactl, REFUSE, ALWAYS },
	{ SYSCALL_quotactl_fd, REFUSE, ALWAYS },
	{ SYSCALL_settimeofday, REFUSE, ALWAYS },
	{ SYSCALL_clock_settime, REFUSE, ALWAYS },
	{ SYSCALL_iopl, REFUSE, ALWAYS },
	{ SYSCALL_ioperm, REFUSE, ALWAYS },
	/* The kernel's log is the host's: addresses, devices, others' crashes. */
	{ SYSCALL_syslog, REFUSE, ALWAYS },
	/* Paths of files that a profiler saw, of all processes. */
	{ SYSCALL_lookup_dcookie, REFUSE, ALWAYS },

	/* Gone from the kernel, or taken by modules from elsewhere. */
	{ SYSCALL_uselib, ABSENT, ALWAYS },
	{ SYSCALL__sysctl, ABSENT, ALWAYS },
	{ SYSCALL_nfsservctl, ABSENT, ALWAYS },
	{ SYSCALL_create_module, ABSENT, ALWAYS },
	{ SYSCALL_get_kernel_syms, ABSENT, ALWAYS },
	{ SYSCALL_query_module, ABSENT, ALWAYS },
	{ SYSCALL_afs_syscall, ABSENT, ALWAYS },
	{ SYSCALL_tuxcall, ABSENT, ALWAYS },
	{ SYSCALL_security, ABSENT, ALWAYS },
	{ SYSCALL_vserver, ABSENT, ALWAYS },

	/*
	 * What is made inside belongs to the same user outside, so a set-id file would be a
	 * real one. (mkdir drops these bits by itself.) Of a directory set-group-ID is harmless
	 * and in use: whether it is one the supervisor sees.
	 */
	{ SYSCALL_chmod, CHECK_CHMOD_1, ALWAYS },
	{ SYSCALL_fchmod, CHECK_FCHMOD, ALWAYS },
	{ SYSCALL_fchmodat, CHECK_CHMOD_2, ALWAYS },
	{ SYSCALL_fchmodat2, CHECK_CHMOD_2, ALWAYS },
	{ SYSCALL_mknod, CHECK_MODE_1, ALWAYS },
	{ SYSCALL_mknodat, CHECK_MODE_2, ALWAYS },
	{ SYSCALL_creat, CHECK_CREAT, ALWAYS },
	{ SYSCALL_open, CHECK_OPEN_1, ALWAYS },
	{ SYSCALL_openat, CHECK_OPEN_2, ALWAYS },
	/* Its mode and flags are in memory, out of sight; callers know openat from before 5.6. */
	{ SYSCALL_openat2, ABSENT, ALWAYS },

	/*
	 * So that refusals can be named; the supervisor lets these continue. What changes a file by
	 * a descriptor is left out: to have one for writing, its path was opened before.
	 */
	{ SYSCALL_rename, NOTIFY, NAMES_WRITES },
	{ SYSCALL_renameat, NOTIFY, NAMES_WRITES },
	{ SYSCALL_renameat2, NOTIFY, NAMES_WRITES },
	{ SYSCALL_unlink, NOTIFY, NAMES_WRITES },
	{ SYSCALL_unlinkat, NOTIFY, NAMES_WRITES },
	{ SYSCALL_rmdir, NOTIFY, NAMES_WRITES },
	{ SYSCALL_mkdir, NOTIFY, NAMES_WRITES },
	{ SYSCALL_mkdirat, NOTIFY, NAMES_WRITES },
	{ SYSCALL_link, NOTIFY, NAMES_WRITES },
	{ SYSCALL_linkat, NOTIFY, NAMES_WRITES },
	{ SYSCALL_symlink, NOTIFY, NAMES_WRITES },
	{ SYSCALL_symlinkat, NOTIFY, NAMES_WRITES },
	{ SYSCALL_chown, NOTIFY, NAMES_WRITES },
	{ SYSCALL_lchown, NOTIFY, NAMES_WRITES },
	{ SYSCALL_fchownat, NOTIFY, NAMES_WRITES },
	{ SYSCALL_utime, NOTIFY, NAMES_WRITES },
	{ SYSCALL_utimes, NOTIFY, NAMES_WRITES },
	{ SYSCALL_futimesat, NOTIFY, NAMES_WRITES },
	{ SYSCALL_setxattr, NOTIFY, NAMES_WRITES },
	{ SYSCALL_lsetxattr, NOTIFY, NAMES_WRITES },
	{ SYSCALL_setxattrat, NOTIFY, NAMES_WRITES },
	{ SYSCALL_removexattr, NOTIFY, NAMES_WRITES },
	{ SYSCALL_lremovexattr, NOTIFY, NAMES_WRITES },
	{ SYSCALL_removexattrat, NOTIFY, NAMES_WRITES },
	{ SYSCALL_truncate, NOTIFY, NAMES_WRITES },
	{ SYSCALL_utimensat, CHECK_PATH_1, NAMES_WRITES },
	{ SYSCALL_execve, NOTIFY, NAMES_READS },
	{ SYSCALL_execveat, NOTIFY, NAMES_READS },

	/*
	 * A stream that is only for appending. The flags of asynchronous writes are in memory;
	 * who allocates or punches has to live with file systems that can't.
	 */
	{ SYSCALL_ftruncate, NOTIFY, APPENDS },
	{ SYSCALL_truncate, NOTIFY, APPENDS },
	{ SYSCALL_fallocate, UNSUPPORTED, APPENDS },
	{ SYSCALL_pwritev2, CHECK_WRITE_FLAGS, APPENDS },
	{ SYSCALL_io_setup, ABSENT, APPENDS },

	/* The host's, where there is no namespace for them. */
	{ SYSCALL_shmget, ABSENT, IPC },
	{ SYSCALL_shmat, ABSENT, IPC },
	{ SYSCALL_shmctl, ABSENT, IPC },
	{ SYSCALL_shmdt, ABSENT, IPC },
	{ SYSCALL_semget, ABSENT, IPC },
	{ SYSCALL_semop, ABSENT, IPC },
	{ SYSCALL_semctl, ABSENT, IPC },
	{ SYSCALL_semtimedop, ABSENT, IPC },
	{ SYSCALL_msgget, ABSENT, IPC },
	{ SYSCALL_msgsnd, ABSENT, IPC },
	{ SYSCALL_msgrcv, ABSENT, IPC },
	{ SYSCALL_msgctl, ABSENT, IPC },
	{ SYSCALL_mq_open, ABSENT, IPC },
	{ SYSCALL_mq_unlink, ABSENT, IPC },
	/* Also of a queue that was opened as a file. */
	{ SYSCALL_mq_timedsend, ABSENT, IPC },
	{ SYSCALL_mq_timedreceive, ABSENT, IPC },
	{ SYSCALL_mq_notify, ABSENT, IPC },
	{ SYSCALL_mq_getsetattr, ABSENT, IPC },

	/* What Landlock does not govern. These come last: they replace what is said above. */
	{ SYSCALL_chmod, METADATA, METADATA_IS_OURS },
	{ SYSCALL_fchmod, METADATA, METADATA_IS_OURS },
	{ SYSCALL_fchmodat, METADATA, METADATA_IS_OURS },
	{ SYSCALL_fchmodat2, METADATA, METADATA_IS_OURS },
	{ SYSCALL_chown, METADATA, METADATA_IS_OURS },
	{ SYSCALL_lchown, METADATA, METADATA_IS_OURS },
	{ SYSCALL_fchown, METADATA, METADATA_IS_OURS },
	{ SYSCALL_fchownat, METADATA, METADATA_IS_OURS },
	{ SYSCALL_utime, METADATA, METADATA_IS_OURS },
	{ SYSCALL_utimes, METADATA, METADATA_IS_OURS },
	{ SYSCALL_futimesat, METADATA, METADATA_IS_OURS },
	{ SYSCALL_utimensat, METADATA, METADATA_IS_OURS },
	{ SYSCALL_setxattr, METADATA, METADATA_IS_OURS },
	{ SYSCALL_lsetxattr, METADATA, METADATA_IS_OURS },
	{ SYSCALL_fsetxattr, METADATA, METADATA_IS_OURS },
	{ SYSCALL_setxattrat, METADATA, METADATA_IS_OURS },
	{ SYSCALL_removexattr, METADATA, METADATA_IS_OURS },
	{ SYSCALL_lremovexattr, METADATA, METADATA_IS_OURS },
	{ SYSCALL_fremovexattr, METADATA, METADATA_IS_OURS },
	{ SYSCALL_removexattrat, METADATA, METADATA_IS_OURS },
	/* Newer than 6.17, and every caller knows the ioctl() for it. */
	{ SYSCALL_file_setattr, ABSENT, METADATA_IS_OURS },
	{ SYSCALL_truncate, METADATA, TRUNCATES },
};

/* A number in the middle of a run that has another verdict than that. */
struct island {
	uint32_t number;
	enum verdict verdict;
};

struct run {
	uint32_t first; /* number; the run ends where the next one begins */
	enum verdict verdict;
	uint32_t islands, island_count; /* the first one of its own, and how many */
};

enum {
	/* In a run: each is one more test on the way of all others in it. */
	MAX_ISLANDS = 4,
	MAX_RUNS = 2 * (COUNT_OF(rules) + SYSCALL_RANGES) + 4,
	ROOM = 1024, /* several times what is needed */
};

struct build {
	const struct filter_options *options;
	struct bpf bpf;
	struct run runs[MAX_RUNS];
	size_t run_count;
	struct island islands[MAX_RUNS];
	uint32_t island_count;
	bpf_label labels[VERDICTS];
	bool is_used[VERDICTS];
};

static enum verdict metadata_verdict(const struct filter_options *options)
{
	return options->metadata == FILTER_METADATA_ASKED ||
			       options->metadata == FILTER_METADATA_STREAMS
		       ? NOTIFY
		       : REFUSE;
}

static bpf_label make_ioctl(struct build *s, const struct arguments *args)
{
	switch (s->options->metadata) {
	case FILTER_METADATA_FREE:
		break;
	case FILTER_METADATA_STREAMS:
		return arguments_ioctl_beside_streams(args);
	case FILTER_METADATA_REFUSED:
	case FILTER_METADATA_ASKED:
		return arguments_ioctl_listed(args, s->labels[metadata_verdict(s->options)]);
	}
	return arguments_ioctl(args);
}

static bpf_label make_block(struct build *s, enum verdict verdict)
{
	const struct arguments args = {
		.bpf = &s->bpf,
		.allow = s->labels[ALLOW],
		.refuse = s->labels[REFUSE],
		.ask = s->labels[NOTIFY],
	};
	const struct open_checks opens = {
		.truncate = s->options->lacks_truncate,
		.asks_writing = s->options->keeps_appending,
		.asks_changing = s->options->names_writes,
		.asks_all = s->options->names_reads,
	};

	switch (verdict) {
	case ALLOW:
		return bpf_return(&s->bpf, FILTER_ALLOW);
	case REFUSE:
		return bpf_return(&s->bpf, FILTER_ERRNO | LINUX_EPERM);
	case ABSENT:
		return bpf_return(&s->bpf, FILTER_ERRNO | LINUX_ENOSYS);
	case NOTIFY:
		return bpf_return(&s->bpf, FILTER_NOTIFY);
	case CHECK_SOCKET:
		return arguments_socket(&args, s->options->reaches_host,
					s->options->has_no_network);
	case CHECK_CLONE:
		return arguments_clone(&args);
	case CHECK_UNSHARE:
		return arguments_unshare(&args);
	case CHECK_CLONE_SOME:
		return arguments_clone_some(&args);
	case CHECK_UNSHARE_SOME:
		return arguments_unshare_some(&args);
	case CHECK_UMOUNT:
		return arguments_umount(&args);
	case CHECK_OPEN_TREE:
		return arguments_open_tree(&args);
	case CHECK_FSMOUNT:
		return arguments_fsmount(&args);
	case CHECK_IOCTL:
		return make_ioctl(s, &args);
	case CHECK_FCNTL:
		return arguments_fcntl(&args, s->options->keeps_appending);
	case CHECK_PERSONALITY:
		return arguments_personality(&args);
	case CHECK_PROCESS:
		return arguments_process(&args);
	case CHECK_PRIORITY:
		return arguments_priority(&args, LINUX_PRIO_PROCESS);
	case CHECK_IO_PRIORITY:
		return arguments_priority(&args, LINUX_IOPRIO_WHO_PROCESS);
	case CHECK_SEND_2:
		return arguments_send(&args, 2);
	case CHECK_SEND_3:
		return arguments_send(&args, 3);
	case CHECK_CHMOD_1:
		return arguments_chmod(&args, 1, s->options->names_writes);
	case CHECK_CHMOD_2:
		return arguments_chmod(&args, 2, s->options->names_writes);
	case CHECK_FCHMOD:
		return arguments_chmod(&args, 1, false);
	case CHECK_MODE_1:
		return arguments_mode(&args, 1, s->options->names_writes);
	case CHECK_MODE_2:
		return arguments_mode(&args, 2, s->options->names_writes);
	case CHECK_PATH_1:
		return arguments_path(&args, 1);
	case CHECK_OPEN_1:
		return arguments_open(&args, 1, opens);
	case CHECK_OPEN_2:
		return arguments_open(&args, 2, opens);
	case CHECK_CREAT:
		return arguments_mode(&args, 1, opens.asks_writing || opens.asks_changing);
	case CHECK_WRITE_FLAGS:
		return arguments_write_flags(&args, 5);
	case UNSUPPORTED:
		return bpf_return(&s->bpf, FILTER_ERRNO | LINUX_EOPNOTSUPP);
	case KILL:
	case VERDICTS:
	case METADATA:
		break;
	}
	return bpf_return(&s->bpf, FILTER_KILL);
}

static bool holds(enum condition condition, const struct filter_options *options)
{
	switch (condition) {
	case NO_USERNS:
		return !options->allows_userns;
	case USERNS:
		return options->allows_userns;
	case KEEPS_MOUNTS:
		return options->allows_userns && options->keeps_mounts;
	case ASKS:
		return options->asks_connect;
	case CONNECTS:
		return options->asks_connect || options->hears_connect;
	case APPENDS:
		return options->keeps_appending;
	case IPC:
		return options->refuses_ipc;
	case METADATA_IS_OURS:
		return options->metadata != FILTER_METADATA_FREE;
	case TRUNCATES:
		return options->lacks_truncate;
	case NAMES_WRITES:
		return options->names_writes;
	case NAMES_READS:
		return options->names_reads;
	case ALWAYS:
		break;
	}
	return true;
}

/* The verdict on each number: indexed, so that nothing needs to be sorted. */
static void set_verdicts(const struct filter_options *options, uint8_t verdicts[SYSCALL_LAST + 1])
{
	const struct syscall_range *range = syscall_ranges[options->arch];

	memset(verdicts, ABSENT, SYSCALL_LAST + 1);
	for (size_t i = 0; i < SYSCALL_RANGES && range[i].last > 0; i++)
		memset(verdicts + range[i].first, ALLOW,
		       (size_t)(range[i].last - range[i].first) + 1);
	for (size_t i = 0; i < COUNT_OF(rules); i++) {
		int number = syscalls[rules[i].call].numbers[options->arch];
		enum verdict verdict = rules[i].verdict;

		if (verdict == METADATA)
			verdict = metadata_verdict(options);
		if (number >= 0 && holds(rules[i].condition, options))
			verdicts[number] = (uint8_t)verdict;
	}
}

/*
 * Of three runs, the middle one of a single number and the others with one verdict, one is made:
 * the kernel translates each instruction when the filter is set, and so each costs time at
 * every start.
 */
static bool join(struct build *s, uint32_t first, enum verdict verdict)
{
	struct run *run, *single;

	if (s->run_count < 2)
		return false;
	run = &s->runs[s->run_count - 2];
	single = run + 1;
	if (run->verdict != verdict || first - single->first != 1 ||
	    run->island_count == MAX_ISLANDS)
		return false;
	if (run->island_count++ == 0)
		run->islands = s->island_count;
	s->islands[s->island_count++] =
		(struct island){ .number = single->first, .verdict = single->verdict };
	s->run_count--;
	return true;
}

static void add_run(struct build *s, uint32_t first, enum verdict verdict)
{
	if (s->run_count > 0 && s->runs[s->run_count - 1].verdict == verdict)
		return;
	s->is_used[verdict] = true;
	if (!join(s, first, verdict))
		s->runs[s->run_count++] = (struct run){ .first = first, .verdict = verdict };
}

static void find_runs(struct build *s)
{
	uint8_t verdicts[SYSCALL_LAST + 1];

	set_verdicts(s->options, verdicts);
	for (uint32_t number = 0; number <= SYSCALL_LAST; number++)
		add_run(s, number, (enum verdict)verdicts[number]);
	add_run(s, SYSCALL_LAST + 1, ABSENT);
	/*
	 * SECURITY: numbers with this bit are x32's, another table for the same architecture, and would
	 * bypass every rule. No ordinary program uses it.
	 */
	if (s->options->arch == FILTER_X86_64)
		add_run(s, 0x40000000, KILL);
	/* A tracer has cancelled the call: the kernel does nothing, the answer is the tracer's. */
	add_run(s, UINT32_MAX, ALLOW);
}

static bpf_label search_run(struct build *s, const struct run *run)
{
	bpf_label next = s->labels[run->verdict];

	for (size_t i = run->islands; i < run->islands + run->island_count; i++)
		next = bpf_test(&s->bpf, BPF_EQUAL, s->islands[i].number,
				s->labels[s->islands[i].verdict], next);
	return next;
}

/* Looks for the number that was loaded in the runs from `low` up to, not including, `high`. */
static bpf_label search(struct build *s, size_t low, size_t high)
{
	size_t middle = low + (high - low) / 2;
	bpf_label above, below;

	if (high - low == 1)
		return search_run(s, &s->runs[low]);
	above = search(s, middle, high);
	below = search(s, low, middle);
	return bpf_test(&s->bpf, BPF_AT_LEAST, s->runs[middle].first, above, below);
}

static void make_program(struct build *s)
{
	static const uint32_t audit_arch[] = {
		[FILTER_X86_64] = 0xc000003e,
		[FILTER_AARCH64] = 0xc00000b7,
	};
	struct bpf *b = &s->bpf;
	bpf_label next;

	s->is_used[KILL] = s->is_used[NOTIFY] = true;
	for (unsigned i = 0; i < VERDICTS; i++)
		if (s->is_used[i])
			s->labels[i] = make_block(s, (enum verdict)i);
	next = bpf_load(b, FILTER_NUMBER_AT, search(s, 0, s->run_count));
	/* SECURITY: another architecture's numbers mean other calls, and would bypass the rules. */
	next = bpf_test(b, BPF_EQUAL, audit_arch[s->options->arch], next, s->labels[KILL]);
	(void)bpf_load(b, FILTER_ARCH_AT, next);
}

int filter_build(struct arena *a, const struct filter_options *options, struct filter *out,
		 struct err *e)
{
	UNINITIALIZED struct bpf_insn room[ROOM];
	struct build s = { .options = options, .bpf = { .room = room, .size = ROOM } };
	struct bpf_insn *insns;

	find_runs(&s);
	make_program(&s);
	if (s.bpf.is_full)
		return FAIL(e, ERR_LIMIT, "the system-call filter is longer than %d instructions",
			    ROOM);
	insns = arena_array(a, s.bpf.count, sizeof(*insns), e);
	if (!insns)
		return err_result(e);
	memcpy(insns, bpf_first(&s.bpf), s.bpf.count * sizeof(*insns));
	out->insns = insns;
	out->count = s.bpf.count;
	return 0;
}
