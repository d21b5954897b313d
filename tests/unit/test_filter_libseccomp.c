/* SPDX-License-Identifier: MIT */
/*
 * The filter compared with libseccomp: the same policy, written down a second
 * time in its terms, has to give the same verdict on every number with every
 * class of arguments, for both architectures and all options.
 *
 * Its rules say what is refused, or, for calls with a list of what is allowed, what
 * is. It can't say "every number above" and does not know the newest names, so
 * those few are said by hand (verdict_by_hand()).
 */
#include "filter/filter.h"

#include "filter/syscalls.h"
#include "filter_cases.h"
#include "test.h"

#ifndef HAVE_LIBSECCOMP

TEST(the_filter_agrees_with_libseccomp)
{
	SKIP("libseccomp was not found when this was built");
}

#else
#include <errno.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#define GARBAGE 0xdeadbeef00000000u
#define INT	0xffffffffu /* the mask of an argument that the kernel takes as an int */

/* ---- The policy a second time ------------------------------------------------ */

/* Ends with NULL. */
typedef const char *const name_list[];

static name_list eperm = {
	"process_vm_readv",
	"process_vm_writev",
	"pidfd_getfd",
	"bpf",
	"perf_event_open",
	"userfaultfd",
	"kexec_load",
	"kexec_file_load",
	"init_module",
	"finit_module",
	"delete_module",
	"open_by_handle_at",
	"swapon",
	"swapoff",
	"reboot",
	"acct",
	"quotactl",
	"quotactl_fd",
	"settimeofday",
	"clock_settime",
	"iopl",
	"ioperm",
	"syslog",
	"lookup_dcookie",
	"vhangup",
	NULL,
};
static name_list enosys = {
	"io_uring_setup",  "io_uring_enter",  "io_uring_register",
	"process_madvise", "add_key",	      "request_key",
	"keyctl",	   "memfd_secret",    "modify_ldt",
	"uselib",	   "_sysctl",	      "nfsservctl",
	"create_module",   "get_kernel_syms", "query_module",
	"afs_syscall",	   "tuxcall",	      "security",
	"vserver",	   "listns",	      NULL,
};
static name_list eperm_without_userns = {
	"mount",    "umount2", "pivot_root", "chroot", "open_tree",	"move_mount",	  "fsopen",
	"fsconfig", "fsmount", "fspick",     "setns",  "mount_setattr", "open_tree_attr", NULL,
};
/* The process is argument 0. */
static name_list not_of_pid_1 = {
	"sched_setscheduler", "sched_setparam", "sched_setattr",
	"sched_setaffinity",  "prlimit64",	NULL,
};
static name_list mode_is_1 = { "mknod", "creat", NULL };
static name_list mode_is_2 = { "mknodat", NULL };
static name_list new_mode_is_1 = { "chmod", "fchmod", NULL };
static name_list new_mode_is_2 = { "fchmodat", "fchmodat2", NULL };

static name_list ipc = {
	"shmget",	   "shmat",	"shmctl",	 "shmdt",     "semget",
	"semop",	   "semctl",	"semtimedop",	 "msgget",    "msgsnd",
	"msgrcv",	   "msgctl",	"mq_open",	 "mq_unlink", "mq_timedsend",
	"mq_timedreceive", "mq_notify", "mq_getsetattr", NULL,
};
static name_list metadata = {
	"chmod",	"fchmod",	 "fchmodat",  "fchmodat2",  "chown",	   "lchown",
	"fchown",	"fchownat",	 "utime",     "utimes",	    "futimesat",   "utimensat",
	"setxattr",	"lsetxattr",	 "fsetxattr", "setxattrat", "removexattr", "lremovexattr",
	"fremovexattr", "removexattrat", NULL,
};

struct compared {
	struct filter_options options;
	uint32_t scmp_arch;
	int socket, socketpair, unshare, personality, ioctl, open, openat; /* numbers */
	bool knows_open_tree_attr, knows_listns, knows_xattrat;
	struct filter ours;
	/* libseccomp's: all calls; and, asked instead of it, those that list what they allow. */
	struct filter theirs, theirs_socket, theirs_unshare, theirs_personality;
	/* Asked as well as it: rules of its own that overlap have no order. */
	struct filter theirs_ioctl, theirs_ioctl_letters, theirs_truncation, theirs_appending;
};

static struct arena arena = ARENA_INIT(64u << 20);

__attribute__((destructor)) static void empty_arena(void)
{
	arena_done(&arena);
}

static int number_of(const struct compared *c, const char *name)
{
	return seccomp_syscall_resolve_name_arch(c->scmp_arch, name);
}

/* Of a name that this architecture lacks or libseccomp does not know yet, nothing is said. */
static void add(const struct compared *c, scmp_filter_ctx ctx, uint32_t action, const char *name,
		unsigned count, const struct scmp_arg_cmp *args)
{
	if (number_of(c, name) < 0)
		return;
	if (!CHECK_INT(seccomp_rule_add_array(ctx, action, seccomp_syscall_resolve_name(name),
					      count, args),
		       0))
		printf("#   %s\n", name);
}

static void add_list(const struct compared *c, scmp_filter_ctx ctx, uint32_t action,
		     const char *const *names)
{
	for (; *names; names++)
		add(c, ctx, action, *names, 0, NULL);
}

static scmp_filter_ctx start(const struct compared *c, uint32_t action)
{
	scmp_filter_ctx ctx = seccomp_init(action);

	CHECK(ctx != NULL);
	if (c->scmp_arch != seccomp_arch_native()) {
		CHECK_INT(seccomp_arch_add(ctx, c->scmp_arch), 0);
		CHECK_INT(seccomp_arch_remove(ctx, seccomp_arch_native()), 0);
	}
	CHECK_INT(seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), 0);
	CHECK_INT(seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2), 0);
	return ctx;
}

/* Exports the program and ends the context. */
static struct filter finish(scmp_filter_ctx ctx)
{
	struct filter f = { .count = 0 };
	struct err e = ERR_INIT;
	int fd = memfd_create("program", MFD_CLOEXEC);
	off_t size;

	CHECK(fd >= 0);
	CHECK_INT(seccomp_export_bpf(ctx, fd), 0);
	seccomp_release(ctx);
	size = lseek(fd, 0, SEEK_END);
	f.insns = arena_alloc(&arena, (size_t)size, &e);
	f.count = (size_t)size / sizeof(*f.insns);
	CHECK(f.insns && pread(fd, f.insns, (size_t)size, 0) == size);
	(void)close(fd);
	CHECK_STR(bpf_find_fault(f.insns, f.count), NULL);
	return f;
}

/* Who changes a mode is asked about the group's bit. */
static void add_new_mode(const struct compared *c, scmp_filter_ctx ctx)
{
	const struct scmp_arg_cmp user_1 = SCMP_A1(SCMP_CMP_MASKED_EQ, 04000, 04000);
	const struct scmp_arg_cmp user_2 = SCMP_A2(SCMP_CMP_MASKED_EQ, 04000, 04000);
	const struct scmp_arg_cmp group_1 = SCMP_A1(SCMP_CMP_MASKED_EQ, 06000, 02000);
	const struct scmp_arg_cmp group_2 = SCMP_A2(SCMP_CMP_MASKED_EQ, 06000, 02000);

	for (const char *const *name = new_mode_is_1; *name; name++) {
		add(c, ctx, SCMP_ACT_ERRNO(EPERM), *name, 1, &user_1);
		add(c, ctx, SCMP_ACT_NOTIFY, *name, 1, &group_1);
	}
	for (const char *const *name = new_mode_is_2; *name; name++) {
		add(c, ctx, SCMP_ACT_ERRNO(EPERM), *name, 1, &user_2);
		add(c, ctx, SCMP_ACT_NOTIFY, *name, 1, &group_2);
	}
}

static void add_set_id(const struct compared *c, scmp_filter_ctx ctx)
{
	static const unsigned making[] = { 0x40 /* O_CREAT */, 0x400000 /* O_TMPFILE */ };

	for (unsigned bit = 02000; bit <= 04000; bit *= 2) {
		struct scmp_arg_cmp mode_1 = SCMP_A1(SCMP_CMP_MASKED_EQ, bit, bit);
		struct scmp_arg_cmp mode_2 = SCMP_A2(SCMP_CMP_MASKED_EQ, bit, bit);
		struct scmp_arg_cmp mode_3 = SCMP_A3(SCMP_CMP_MASKED_EQ, bit, bit);

		for (const char *const *name = mode_is_1; *name; name++)
			add(c, ctx, SCMP_ACT_ERRNO(EPERM), *name, 1, &mode_1);
		for (const char *const *name = mode_is_2; *name; name++)
			add(c, ctx, SCMP_ACT_ERRNO(EPERM), *name, 1, &mode_2);
		for (size_t i = 0; i < COUNT_OF(making); i++) {
			const struct scmp_arg_cmp open[] = {
				SCMP_A1(SCMP_CMP_MASKED_EQ, making[i], making[i]), mode_2
			};
			const struct scmp_arg_cmp openat[] = {
				SCMP_A2(SCMP_CMP_MASKED_EQ, making[i], making[i]), mode_3
			};

			add(c, ctx, SCMP_ACT_ERRNO(EPERM), "open", 2, open);
			add(c, ctx, SCMP_ACT_ERRNO(EPERM), "openat", 2, openat);
		}
	}
}

static void add_pid_1(const struct compared *c, scmp_filter_ctx ctx)
{
	static const struct {
		const char *name;
		unsigned process, group, user;
	} calls[] = { { "setpriority", 0, 1, 2 }, { "ioprio_set", 1, 2, 3 } };
	const uint32_t no = SCMP_ACT_ERRNO(EPERM);

	for (const char *const *name = not_of_pid_1; *name; name++)
		add(c, ctx, no, *name, 1, &SCMP_A0(SCMP_CMP_MASKED_EQ, INT, 1));
	for (size_t i = 0; i < COUNT_OF(calls); i++) {
		const struct scmp_arg_cmp process[] = {
			SCMP_A0(SCMP_CMP_MASKED_EQ, INT, calls[i].process),
			SCMP_A1(SCMP_CMP_MASKED_EQ, INT, 1),
		};

		add(c, ctx, no, calls[i].name, 2, process);
		add(c, ctx, no, calls[i].name, 1,
		    &SCMP_A0(SCMP_CMP_MASKED_EQ, INT, calls[i].group));
		add(c, ctx, no, calls[i].name, 1, &SCMP_A0(SCMP_CMP_MASKED_EQ, INT, calls[i].user));
	}
}

static uint32_t metadata_action(const struct compared *c)
{
	return c->options.metadata == FILTER_METADATA_ASKED ||
			       c->options.metadata == FILTER_METADATA_STREAMS
		       ? SCMP_ACT_NOTIFY
		       : SCMP_ACT_ERRNO(EPERM);
}

static void add_stand_ins(const struct compared *c, scmp_filter_ctx ctx)
{
	if (c->options.refuses_ipc)
		add_list(c, ctx, SCMP_ACT_ERRNO(ENOSYS), ipc);
	if (c->options.metadata != FILTER_METADATA_FREE) {
		add_list(c, ctx, metadata_action(c), metadata);
		add(c, ctx, SCMP_ACT_ERRNO(ENOSYS), "file_setattr", 0, NULL);
	}
	if (c->options.lacks_truncate)
		add(c, ctx, metadata_action(c), "truncate", 0, NULL);
}

/* What may be asked of any file: the rest is refused. */
static struct filter make_ioctl(const struct compared *c)
{
	static const unsigned letters[] = { 'T', 0x89, 0x8a, '!', 'R', 0xb7, 0xff };
	static const unsigned fine[] = { 2,	     0x80086601, 0x80087601, 0x801c581f, 0xc020660b,
					 0x80111500, 0x80811501, 0x40049409, 0x4020940d };
	static const unsigned changing[] = { 0x40086602, 0x401c5820 };
	scmp_filter_ctx ctx = start(c, SCMP_ACT_ERRNO(EPERM));

	for (size_t i = 0; i < COUNT_OF(letters) && c->options.metadata != FILTER_METADATA_STREAMS;
	     i++)
		add(c, ctx, SCMP_ACT_ALLOW, "ioctl", 1,
		    &SCMP_A1(SCMP_CMP_MASKED_EQ, 0xff00, letters[i] << 8));
	for (size_t i = 0; i < COUNT_OF(fine); i++)
		add(c, ctx, SCMP_ACT_ALLOW, "ioctl", 1, &SCMP_A1(SCMP_CMP_MASKED_EQ, INT, fine[i]));
	for (size_t i = 0; i < COUNT_OF(changing) && metadata_action(c) == SCMP_ACT_NOTIFY; i++)
		add(c, ctx, SCMP_ACT_NOTIFY, "ioctl", 1,
		    &SCMP_A1(SCMP_CMP_MASKED_EQ, INT, changing[i]));
	return finish(ctx);
}

/* Beside a stream, what is not known by its number: letters of file systems. */
static struct filter make_ioctl_letters(const struct compared *c)
{
	static const unsigned letters[] = { 'f', 'X', 'v', 'r', 0x94, 0xf5, 'n', 'o', 0xcf, 0xbc };
	scmp_filter_ctx ctx = start(c, SCMP_ACT_ALLOW);

	for (size_t i = 0; i < COUNT_OF(letters); i++)
		add(c, ctx, SCMP_ACT_ERRNO(EPERM), "ioctl", 1,
		    &SCMP_A1(SCMP_CMP_MASKED_EQ, 0xff00, letters[i] << 8));
	return finish(ctx);
}

static struct filter make_appending(const struct compared *c)
{
	scmp_filter_ctx ctx = start(c, SCMP_ACT_ALLOW);
	const struct scmp_arg_cmp cleared[] = { SCMP_A1(SCMP_CMP_MASKED_EQ, INT, 4),
						SCMP_A2(SCMP_CMP_MASKED_EQ, 02000, 0) };

	for (unsigned access = 1; access <= 2; access++) {
		add(c, ctx, SCMP_ACT_NOTIFY, "open", 1, &SCMP_A1(SCMP_CMP_MASKED_EQ, 3, access));
		add(c, ctx, SCMP_ACT_NOTIFY, "openat", 1, &SCMP_A2(SCMP_CMP_MASKED_EQ, 3, access));
	}
	add(c, ctx, SCMP_ACT_NOTIFY, "creat", 0, NULL);
	add(c, ctx, SCMP_ACT_NOTIFY, "truncate", 0, NULL);
	add(c, ctx, SCMP_ACT_NOTIFY, "ftruncate", 0, NULL);
	add(c, ctx, SCMP_ACT_NOTIFY, "fcntl", COUNT_OF(cleared), cleared);
	add(c, ctx, SCMP_ACT_ERRNO(EOPNOTSUPP), "fallocate", 0, NULL);
	add(c, ctx, SCMP_ACT_ERRNO(EOPNOTSUPP), "pwritev2", 1,
	    &SCMP_A5(SCMP_CMP_MASKED_EQ, 0x20, 0x20));
	add(c, ctx, SCMP_ACT_ERRNO(ENOSYS), "io_setup", 0, NULL);
	return finish(ctx);
}

static struct filter make_truncation(const struct compared *c)
{
	static const unsigned neither[] = { 0x200, 0x203 }; /* O_TRUNC, not for writing */
	scmp_filter_ctx ctx = start(c, SCMP_ACT_ALLOW);

	for (size_t i = 0; i < COUNT_OF(neither); i++) {
		add(c, ctx, SCMP_ACT_ERRNO(EACCES), "open", 1,
		    &SCMP_A1(SCMP_CMP_MASKED_EQ, 0x203, neither[i]));
		add(c, ctx, SCMP_ACT_ERRNO(EACCES), "openat", 1,
		    &SCMP_A2(SCMP_CMP_MASKED_EQ, 0x203, neither[i]));
	}
	return finish(ctx);
}

enum { FAST_OPEN = 0x20000000 };

/* Each bit that is not among `known`; of the upper half as well when the call has 64. */
static void refuse_other_bits(const struct compared *c, scmp_filter_ctx ctx, const char *name,
			      unsigned argument, uint64_t known)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t mask = UINT64_C(1) << bit;
		const struct scmp_arg_cmp has_it = {
			.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = mask
		};

		if (!(known & mask))
			add(c, ctx, SCMP_ACT_ERRNO(EPERM), name, 1, &has_it);
	}
}

/* No namespace without the mounts of the policy. */
static void add_kept(const struct compared *c, scmp_filter_ctx ctx)
{
	const uint64_t upper = UINT64_C(0xffffffff) << 32;

	refuse_other_bits(c, ctx, "umount2", 1, upper | 0xd);
	refuse_other_bits(c, ctx, "open_tree", 2, upper | 0x89901);
	if (c->knows_open_tree_attr)
		refuse_other_bits(c, ctx, "open_tree_attr", 2, upper | 0x89901);
	refuse_other_bits(c, ctx, "fsmount", 1, upper | 1);
}

static struct filter make_refusals(const struct compared *c)
{
	static const unsigned requests[] = { 0x540c, 0x5412, 0x541c, 0x541d, 0x5423 };
	const struct scmp_arg_cmp stop_output[] = { SCMP_A1(SCMP_CMP_MASKED_EQ, INT, 0x540a),
						    SCMP_A2(SCMP_CMP_MASKED_EQ, INT, 0) };
	static const unsigned namespaces[] = { 0x20000,	   0x2000000,  0x4000000, 0x8000000,
					       0x10000000, 0x20000000, 0x40000000 };
	scmp_filter_ctx ctx = start(c, SCMP_ACT_ALLOW);

	add_list(c, ctx, SCMP_ACT_ERRNO(EPERM), eperm);
	add_list(c, ctx, SCMP_ACT_ERRNO(ENOSYS), enosys);
	add_pid_1(c, ctx);
	add(c, ctx, SCMP_ACT_ERRNO(EPERM), "fcntl", 1, &SCMP_A1(SCMP_CMP_MASKED_EQ, INT, 1024));
	for (size_t i = 0; i < COUNT_OF(requests); i++)
		add(c, ctx, SCMP_ACT_ERRNO(EPERM), "ioctl", 1,
		    &SCMP_A1(SCMP_CMP_MASKED_EQ, INT, requests[i]));
	add(c, ctx, SCMP_ACT_ERRNO(EPERM), "ioctl", COUNT_OF(stop_output), stop_output);
	if (!c->options.allows_userns) {
		add_list(c, ctx, SCMP_ACT_ERRNO(EPERM), eperm_without_userns);
		for (size_t i = 0; i < COUNT_OF(namespaces); i++)
			add(c, ctx, SCMP_ACT_ERRNO(EPERM), "clone", 1,
			    &SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces[i], namespaces[i]));
	} else {
		add(c, ctx, SCMP_ACT_ERRNO(EPERM), "clone", 1,
		    &SCMP_A0(SCMP_CMP_MASKED_EQ, 0x2000000, 0x2000000));
		refuse_other_bits(c, ctx, "unshare", 0, 0x7c070f80);
	}
	add(c, ctx, SCMP_ACT_ERRNO(ENOSYS), "clone3", 0, NULL);
	if (c->options.keeps_mounts)
		add_kept(c, ctx);
	if (c->options.asks_connect) {
		add(c, ctx, SCMP_ACT_NOTIFY, "connect", 0, NULL);
		add(c, ctx, SCMP_ACT_ERRNO(EOPNOTSUPP), "sendto", 1,
		    &SCMP_A3(SCMP_CMP_MASKED_EQ, FAST_OPEN, FAST_OPEN));
		add(c, ctx, SCMP_ACT_ERRNO(EOPNOTSUPP), "sendmsg", 1,
		    &SCMP_A2(SCMP_CMP_MASKED_EQ, FAST_OPEN, FAST_OPEN));
		add(c, ctx, SCMP_ACT_ERRNO(EOPNOTSUPP), "sendmmsg", 1,
		    &SCMP_A3(SCMP_CMP_MASKED_EQ, FAST_OPEN, FAST_OPEN));
	}
	add_set_id(c, ctx);
	/* Else the supervisor's, or nobody's, whatever the mode is. */
	if (c->options.metadata == FILTER_METADATA_FREE)
		add_new_mode(c, ctx);
	add(c, ctx, SCMP_ACT_ERRNO(ENOSYS), "openat2", 0, NULL);
	add_stand_ins(c, ctx);
	return finish(ctx);
}

static void add_socket(const struct compared *c, scmp_filter_ctx ctx, uint32_t action,
		       unsigned family, unsigned type, int protocol)
{
	const struct scmp_arg_cmp args[] = {
		SCMP_A0(SCMP_CMP_MASKED_EQ, INT, family),
		SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, type),
		SCMP_A2(SCMP_CMP_MASKED_EQ, INT, (unsigned)protocol),
	};
	unsigned count = protocol < 0 ? 2 : 3;

	add(c, ctx, action, "socket", count, args);
	add(c, ctx, action, "socketpair", count, args);
}

static struct filter make_socket(const struct compared *c)
{
	static const int stream[] = { 0, 6, 262 }, datagram[] = { 0, 17, 1, 58 };
	scmp_filter_ctx ctx = start(c, SCMP_ACT_ERRNO(EAFNOSUPPORT));

	for (unsigned type = 0; type < 16; type++) {
		bool fine = c->options.reaches_host || type == 1 || type == 5;

		add_socket(c, ctx, fine ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(ESOCKTNOSUPPORT), 1, type,
			   -1);
		add_socket(c, ctx, SCMP_ACT_ALLOW, 16, type, 0);
		if (c->options.has_no_network)
			continue;
		if (type == 3)
			add_socket(c, ctx, SCMP_ACT_ALLOW, 2, type, -1);
		if (type == 3)
			add_socket(c, ctx, SCMP_ACT_ALLOW, 10, type, -1);
		for (unsigned family = 2; family <= 10 && (type == 0 || type > 3); family += 8)
			add_socket(c, ctx, SCMP_ACT_ERRNO(ESOCKTNOSUPPORT), family, type, -1);
	}
	for (unsigned family = 2; family <= 10; family += 8) {
		if (c->options.has_no_network) {
			const struct scmp_arg_cmp it = SCMP_A0(SCMP_CMP_MASKED_EQ, INT, family);

			add(c, ctx, SCMP_ACT_ERRNO(EACCES), "socket", 1, &it);
			add(c, ctx, SCMP_ACT_ERRNO(EACCES), "socketpair", 1, &it);
			continue;
		}
		for (size_t i = 0; i < COUNT_OF(stream); i++)
			add_socket(c, ctx, SCMP_ACT_ALLOW, family, 1, stream[i]);
		for (size_t i = 0; i < COUNT_OF(datagram); i++)
			add_socket(c, ctx, SCMP_ACT_ALLOW, family, 2, datagram[i]);
	}
	return finish(ctx);
}

static struct filter make_unshare(const struct compared *c)
{
	const uint64_t harmless = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000;
	scmp_filter_ctx ctx = start(c, SCMP_ACT_ERRNO(EPERM));

	add(c, ctx, SCMP_ACT_ALLOW, "unshare", 1, &SCMP_A0(SCMP_CMP_MASKED_EQ, ~harmless, 0));
	return finish(ctx);
}

static struct filter make_personality(const struct compared *c)
{
	static const unsigned fine[] = { 0,	  8,	   0x20000, 0x20008,   0x40000,
					 0x40008, 0x60000, 0x60008, 0xffffffff };
	scmp_filter_ctx ctx = start(c, SCMP_ACT_ERRNO(EPERM));

	for (size_t i = 0; i < COUNT_OF(fine); i++)
		add(c, ctx, SCMP_ACT_ALLOW, "personality", 1,
		    &SCMP_A0(SCMP_CMP_MASKED_EQ, INT, fine[i]));
	return finish(ctx);
}

static bool make_compared(struct compared *c, unsigned n)
{
	struct err e = ERR_INIT;

	*c = (struct compared){ .options = filter_option_set(n) };
	c->scmp_arch = c->options.arch == FILTER_X86_64 ? SCMP_ARCH_X86_64 : SCMP_ARCH_AARCH64;
	c->socket = number_of(c, "socket");
	c->socketpair = number_of(c, "socketpair");
	c->unshare = number_of(c, "unshare");
	c->personality = number_of(c, "personality");
	c->ioctl = number_of(c, "ioctl");
	c->open = number_of(c, "open");
	c->openat = number_of(c, "openat");
	c->knows_xattrat = number_of(c, "setxattrat") >= 0;
	c->knows_open_tree_attr = number_of(c, "open_tree_attr") >= 0;
	c->knows_listns = number_of(c, "listns") >= 0;
	/* What this kernel can do is not asked: nothing is loaded. */
	CHECK_INT(seccomp_api_set(6), 0);
	if (!CHECK_INT(filter_build(&arena, &c->options, &c->ours, &e), 0))
		return false;
	c->theirs = make_refusals(c);
	c->theirs_socket = make_socket(c);
	c->theirs_unshare = make_unshare(c);
	c->theirs_personality = make_personality(c);
	c->theirs_ioctl = make_ioctl(c);
	c->theirs_ioctl_letters = make_ioctl_letters(c);
	c->theirs_truncation = make_truncation(c);
	c->theirs_appending = make_appending(c);
	return !test_failed;
}

/* ---- The comparison ------------------------------------------------------------ */

static bool is_gap(enum filter_arch arch, uint32_t number)
{
	return arch == FILTER_X86_64
		       ? number >= 337 && number < 424
		       : (number >= 244 && number < 260) || (number >= 295 && number < 424);
}

/* 0: libseccomp can say it. */
static uint32_t verdict_by_hand(const struct compared *c, uint32_t number)
{
	bool may_be_x32 = c->options.arch == FILTER_X86_64 && number >= 0x40000000;

	if (number == 467 && !c->options.allows_userns && !c->knows_open_tree_attr)
		return ANSWER_ERRNO(EPERM);
	if (number == 470 && !c->knows_listns)
		return ANSWER_ERRNO(ENOSYS);
	if (c->options.metadata != FILTER_METADATA_FREE && !c->knows_xattrat) {
		if (number == 463 || number == 466)
			return c->options.metadata == FILTER_METADATA_REFUSED ? ANSWER_ERRNO(EPERM)
									      : ANSWER_NOTIFY;
		if (number == 469)
			return ANSWER_ERRNO(ENOSYS);
	}
	if (is_gap(c->options.arch, number))
		return ANSWER_ERRNO(ENOSYS);
	return number > 471 && number != UINT32_MAX && !may_be_x32 ? ANSWER_ERRNO(ENOSYS) : 0;
}

/*
 * A protocol that is refused is the one thing that the rules of sockets can't say:
 * "none of these" of a pair that is otherwise known. Their answer is then that the
 * family is unknown.
 */
static uint32_t verdict_of_socket(const struct compared *c, const struct bpf_call *call)
{
	uint32_t verdict = bpf_eval(c->theirs_socket.insns, call).value;
	uint32_t family = (uint32_t)call->args[0];
	bool has_protocols = family == 2 || family == 10 || family == 16;

	return verdict == ANSWER_ERRNO(EAFNOSUPPORT) && has_protocols
		       ? ANSWER_ERRNO(EPROTONOSUPPORT)
		       : verdict;
}

static uint32_t verdict_of_ioctl(const struct compared *c, const struct bpf_call *call)
{
	uint32_t verdict = bpf_eval(c->theirs.insns, call).value;

	if (verdict != ANSWER_ALLOW)
		return ANSWER_ALLOW; /* it is asked anyway */
	verdict = bpf_eval(c->theirs_ioctl.insns, call).value;
	if (c->options.metadata != FILTER_METADATA_STREAMS || verdict != ANSWER_ERRNO(EPERM))
		return verdict;
	return bpf_eval(c->theirs_ioctl_letters.insns, call).value;
}

static uint32_t their_verdict(const struct compared *c, const struct bpf_call *call)
{
	int number = (int)call->number;
	uint32_t by_hand = 0, overlapping = ANSWER_ALLOW;

	if (call->arch != filter_audit_arch(c->options.arch))
		return bpf_eval(c->theirs.insns, call).value;
	/* It has the flags where open_tree has them. */
	if (number == 467 && c->options.keeps_mounts && !c->knows_open_tree_attr)
		return bpf_eval(c->theirs.insns,
				&(struct bpf_call){ .arch = call->arch,
						    .number = 428,
						    .args = { 0, 0, call->args[2] } })
			.value;
	by_hand = verdict_by_hand(c, call->number);
	if (by_hand)
		return by_hand;
	if (number == c->socket || number == c->socketpair)
		return verdict_of_socket(c, call);
	if (number == c->personality)
		return bpf_eval(c->theirs_personality.insns, call).value;
	if (number == c->unshare && !c->options.allows_userns)
		return bpf_eval(c->theirs_unshare.insns, call).value;
	if (number == c->ioctl && c->options.metadata != FILTER_METADATA_FREE)
		overlapping = verdict_of_ioctl(c, call);
	else if (number >= 0 && (number == c->open || number == c->openat) &&
		 c->options.lacks_truncate)
		overlapping = bpf_eval(c->theirs_truncation.insns, call).value;
	if (overlapping == ANSWER_ALLOW)
		overlapping = bpf_eval(c->theirs.insns, call).value;
	if (overlapping == ANSWER_ALLOW && c->options.keeps_appending)
		overlapping = bpf_eval(c->theirs_appending.insns, call).value;
	return overlapping;
}

static uint64_t calls_compared;

static void compare(const struct compared *c, const struct bpf_call *call)
{
	uint32_t ours = bpf_eval(c->ours.insns, call).value, theirs;

	if (test_failed)
		return; /* one is enough to look at */
	calls_compared++;
	theirs = their_verdict(c, call);
	if (!CHECK_INT(ours, theirs))
		printf("#   arch %#x number %#x args %#" PRIx64 " %#" PRIx64 " %#" PRIx64
		       " %#" PRIx64 "\n",
		       call->arch, call->number, call->args[0], call->args[1], call->args[2],
		       call->args[3]);
}

static struct bpf_call make_call(const struct compared *c, uint32_t number)
{
	return (struct bpf_call){ .number = number, .arch = filter_audit_arch(c->options.arch) };
}

/* All six arguments are the same: nothing, everything, each bit, each half. */
static void compare_number(const struct compared *c, uint32_t number)
{
	struct bpf_call call = make_call(c, number);

	for (unsigned i = 0; i < 64 + 4; i++) {
		static const uint64_t others[] = { 0, UINT64_MAX, GARBAGE, UINT32_MAX };
		uint64_t value = i < 64 ? 1ull << i : others[i - 64];

		for (unsigned arg = 0; arg < 6; arg++)
			call.args[arg] = value;
		compare(c, &call);
	}
}

static void compare_foreign(const struct compared *c, uint32_t number)
{
	static const uint32_t arches[] = {
		(uint32_t)AUDIT_X86_64,
		(uint32_t)AUDIT_AARCH64,
		0x40000003 /* i386 */,
		0x40000028 /* arm */,
		0x800000b7,
		0x3e,
		0,
		UINT32_MAX,
	};

	for (size_t i = 0; i < COUNT_OF(arches); i++) {
		struct bpf_call call = make_call(c, number);

		call.arch = arches[i];
		compare(c, &call);
		memset(call.args, 0xff, sizeof(call.args));
		compare(c, &call);
	}
}

static void for_each_option_set(void (*run)(const struct compared *c))
{
	calls_compared = 0;
	for (unsigned n = 0; n < FILTER_OPTION_SETS; n++) {
		struct compared c;

		REQUIRE(make_compared(&c, n));
		run(&c);
	}
	printf("# %" PRIu64 " calls compared\n", calls_compared);
}

static void compare_all_numbers(const struct compared *c)
{
	static const uint32_t odd[] = {
		0x3fffffff, 0x7fffffff, 0x80000000, 0x80000001,
		0xbfffffff, 0xc0000000, 0xfffffffe, 0xffffffff,
	};

	for (uint32_t number = 0; number < 600; number++) {
		compare_number(c, number);
		compare_number(c, 0x40000000 + number);
		compare_foreign(c, number);
		compare_foreign(c, 0x40000000 + number);
	}
	for (size_t i = 0; i < COUNT_OF(odd); i++) {
		compare_number(c, odd[i]);
		compare_foreign(c, odd[i]);
	}
}

TEST(every_number_gets_the_same_verdict)
{
	for_each_option_set(compare_all_numbers);
}

static void compare_socket(const struct compared *c, const char *name)
{
	static const uint64_t families[] = { 1, 2, 10, 16 };
	static const uint64_t flags[] = { 0, 02000000, 02004000, 0x10, 0x70000000, GARBAGE };
	static const uint64_t protocols[] = {
		0,   1,	  2,   4,   6,	 7,   12,  15,	16,	 17,	     33,      58,
		115, 132, 136, 255, 256, 262, 263, 518, 0x10006, 0xffffffff, GARBAGE, GARBAGE | 6,
	};
	struct bpf_call call = make_call(c, (uint32_t)number_of(c, name));

	for (uint64_t family = 0; family < 96; family++) {
		call.args[0] = family < 48 ? family : GARBAGE | (family - 48);
		for (uint64_t type = 0; type < 16 * COUNT_OF(flags); type++) {
			call.args[1] = type % 16 | flags[type / 16];
			for (size_t i = 0; i < COUNT_OF(protocols); i++) {
				call.args[2] = protocols[i];
				compare(c, &call);
			}
		}
	}
	/* The family in the upper half only, or with one bit more. */
	for (size_t i = 0; i < COUNT_OF(families) * 64; i++) {
		call.args[0] = families[i / 64] ^ 1ull << i % 64;
		call.args[1] = 1;
		call.args[2] = 0;
		compare(c, &call);
		call.args[0] = families[i / 64] << 32;
		compare(c, &call);
	}
}

static void compare_sockets(const struct compared *c)
{
	compare_socket(c, "socket");
	compare_socket(c, "socketpair");
}

TEST(every_socket_gets_the_same_verdict)
{
	for_each_option_set(compare_sockets);
}

/* Each pair of bits, and what is one bit away from a value that counts, in each argument. */
static void compare_bits(const struct compared *c, const char *name)
{
	static const uint64_t values[] = {
		1024,	 0x540a,     0x540c,	 0x5412,     0x541c,	 0x541d,
		0x5423,	 0x60008,    0xffffffff, 0x50f00,    0x410000,	 06755,
		0100644, GARBAGE,    0x40086602, 0x401c5820, 0x80086601, 0x8927,
		0xb703,	 0x4020940d, 0xc020660b, 0x5000940e,
	};
	int number = number_of(c, name);
	struct bpf_call call;

	if (number < 0)
		return;
	for (unsigned arg = 0; arg < 6; arg++) {
		call = make_call(c, (uint32_t)number);
		for (unsigned i = 0; i < 64 * 64; i++) {
			call.args[arg] = 1ull << i / 64 | 1ull << i % 64;
			compare(c, &call);
		}
		for (unsigned i = 0; i < 64 * COUNT_OF(values); i++) {
			call.args[arg] = values[i / 64];
			compare(c, &call);
			call.args[arg] ^= 1ull << i % 64;
			compare(c, &call);
			call.args[arg] = values[i / 64] | GARBAGE;
			compare(c, &call);
			call.args[arg] = values[i / 64] << 32;
			compare(c, &call);
		}
	}
}

static void compare_flags(const struct compared *c)
{
	static name_list names = { "clone",	  "clone3",   "unshare",  "setns",     "ioctl",
				   "personality", "connect",  "prctl",	  "sendto",    "sendmsg",
				   "sendmmsg",	  "fcntl",    "truncate", "ftruncate", "fallocate",
				   "pwritev2",	  "io_setup", NULL };

	for (const char *const *name = names; *name; name++)
		compare_bits(c, *name);
	for (const char *const *name = not_of_pid_1; *name; name++)
		compare_bits(c, *name);
	for (const char *const *name = mode_is_1; *name; name++)
		compare_bits(c, *name);
	for (const char *const *name = mode_is_2; *name; name++)
		compare_bits(c, *name);
	for (const char *const *name = new_mode_is_1; *name; name++)
		compare_bits(c, *name);
	for (const char *const *name = new_mode_is_2; *name; name++)
		compare_bits(c, *name);
}

TEST(every_flag_gets_the_same_verdict)
{
	for_each_option_set(compare_flags);
}

static void compare_file_flags(const struct compared *c)
{
	struct bpf_call call = make_call(c, (uint32_t)number_of(c, "fcntl"));

	for (unsigned i = 0; i < 64 * 64; i++) {
		for (uint64_t command = 0; command < 16; command++) {
			call.args[1] = command < 8 ? command : GARBAGE | (command - 8);
			call.args[2] = 1ull << i / 64 | 1ull << i % 64;
			compare(c, &call);
		}
	}
}

TEST(every_change_of_file_flags_gets_the_same_verdict)
{
	for_each_option_set(compare_file_flags);
}

static void compare_opens(const struct compared *c)
{
	static const uint64_t modes[] = { 0,	 0644,	  01777,	   02000,
					  04000, 06000,	  07777,	   0104644,
					  2,	 GARBAGE, GARBAGE | 04644, 02000ull << 32 };
	static name_list names = { "open", "openat", "openat2", NULL }; /* flags, then a mode */

	for (const char *const *name = names; *name; name++) {
		int number = number_of(c, *name);
		unsigned flags = strcmp(*name, "open") == 0 ? 1 : 2;
		struct bpf_call call;

		if (number < 0)
			continue;
		call = make_call(c, (uint32_t)number);
		for (unsigned i = 0; i < 64 * 64; i++) {
			for (size_t m = 0; m < COUNT_OF(modes); m++) {
				call.args[flags] = 1ull << i / 64 | 1ull << i % 64;
				call.args[flags + 1] = modes[m];
				compare(c, &call);
			}
		}
	}
}

TEST(every_open_gets_the_same_verdict)
{
	for_each_option_set(compare_opens);
}

static void compare_priorities(const struct compared *c)
{
	static name_list names = { "setpriority", "ioprio_set", NULL };
	static const uint64_t parts[] = { 0, GARBAGE, 1ull << 32, 1u << 31, UINT64_MAX << 2 };
	enum { VALUES = 4 * COUNT_OF(parts) };

	for (const char *const *name = names; *name; name++) {
		struct bpf_call call = make_call(c, (uint32_t)number_of(c, *name));

		compare_bits(c, *name);
		for (unsigned i = 0; i < VALUES * VALUES; i++) {
			call.args[0] = parts[i / VALUES / 4] | i / VALUES % 4;
			call.args[1] = parts[i % VALUES / 4] | i % 4;
			compare(c, &call);
		}
	}
}

TEST(every_priority_gets_the_same_verdict)
{
	for_each_option_set(compare_priorities);
}

/* ---- The numbers ----------------------------------------------------------------- */

TEST(every_name_has_the_number_that_libseccomp_gives_it)
{
	static const uint32_t arches[] = {
		[FILTER_X86_64] = SCMP_ARCH_X86_64,
		[FILTER_AARCH64] = SCMP_ARCH_AARCH64,
	};
	unsigned compared = 0, unknown = 0;

	for (unsigned arch = 0; arch < 2; arch++) {
		for (unsigned i = 0; i < SYSCALL_COUNT; i++) {
			int theirs =
				seccomp_syscall_resolve_name_arch(arches[arch], syscalls[i].name);

			if (theirs == __NR_SCMP_ERROR) {
				printf("# libseccomp does not know %s\n", syscalls[i].name);
				unknown++;
				continue;
			}
			/* Below 0 it is a name of another architecture. */
			if (!CHECK_INT(syscalls[i].numbers[arch], MAX_OF(theirs, SYSCALL_NONE)))
				printf("#   %s\n", syscalls[i].name);
			compared++;
		}
	}
	/* open_tree_attr, listns, *xattrat and file_setattr are newer than some libseccomp. */
	CHECK(unknown <= 2 * 5);
	CHECK_INT(compared + unknown, 2 * SYSCALL_COUNT);
}

TEST(every_number_that_libseccomp_knows_is_known_here)
{
	static const uint32_t arches[] = {
		[FILTER_X86_64] = SCMP_ARCH_X86_64,
		[FILTER_AARCH64] = SCMP_ARCH_AARCH64,
	};

	for (unsigned arch = 0; arch < 2; arch++) {
		for (int number = 0; number <= SYSCALL_LAST; number++) {
			char *name = seccomp_syscall_resolve_num_arch(arches[arch], number);

			CHECK(!name || !is_gap((enum filter_arch)arch, (uint32_t)number));
			free(name);
		}
	}
}

#endif
