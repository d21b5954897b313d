/* SPDX-License-Identifier: MIT */
/* See arguments.h. */
#include "filter/arguments.h"

enum {
	LINUX_EPROTONOSUPPORT = 93,
	LINUX_ESOCKTNOSUPPORT = 94,
	LINUX_EAFNOSUPPORT = 97,
};

static bpf_label load_low(struct bpf *b, unsigned argument, bpf_label next)
{
	return bpf_load(b, FILTER_ARGUMENTS_AT + 8 * argument, next);
}

static bpf_label load_high(struct bpf *b, unsigned argument, bpf_label next)
{
	return bpf_load(b, FILTER_ARGUMENTS_AT + 8 * argument + 4, next);
}

/* Tests whether the loaded value is one of these. */
static bpf_label is_one_of(struct bpf *b, const uint32_t *values, size_t count, bpf_label yes,
			   bpf_label no)
{
	for (size_t i = count; i-- > 0;)
		no = bpf_test(b, BPF_EQUAL, values[i], yes, no);
	return no;
}

static bpf_label refuse(struct bpf *b, unsigned os_error)
{
	return bpf_return(b, FILTER_ERRNO | os_error);
}

/* Tests that an int has no bits but these. */
static bpf_label has_only(const struct arguments *a, unsigned argument, uint32_t bits)
{
	struct bpf *b = a->bpf;

	return load_low(b, argument, bpf_test(b, BPF_ANY_BIT, ~bits, a->refuse, a->allow));
}

/* Flags of clone() and unshare(). */
enum {
	LINUX_CLONE_VM = 0x100,
	LINUX_CLONE_FS = 0x200,
	LINUX_CLONE_FILES = 0x400,
	LINUX_CLONE_SIGHAND = 0x800,
	LINUX_CLONE_THREAD = 0x10000,
	LINUX_CLONE_SYSVSEM = 0x40000,
	/* Mount, cgroup, uts, ipc, user, pid, net. (Time is unshare's alone: clone has a signal there.) */
	LINUX_CLONE_NAMESPACES = 0x7e020000,
	LINUX_CLONE_NEWTIME = 0x80,
	LINUX_CLONE_NEWCGROUP = 0x2000000,
	LINUX_UNSHARE_HARMLESS = LINUX_CLONE_VM | LINUX_CLONE_FS | LINUX_CLONE_FILES |
				 LINUX_CLONE_SIGHAND | LINUX_CLONE_THREAD | LINUX_CLONE_SYSVSEM,
};

bpf_label arguments_clone(const struct arguments *a)
{
	struct bpf *b = a->bpf;

	return load_low(b, 0,
			bpf_test(b, BPF_ANY_BIT, LINUX_CLONE_NAMESPACES, a->refuse, a->allow));
}

/* SECURITY: the flags have 64 bits, and unknown ones may be new namespaces: refuse them. */
bpf_label arguments_unshare(const struct arguments *a)
{
	struct bpf *b = a->bpf;
	bpf_label low = has_only(a, 0, LINUX_UNSHARE_HARMLESS);

	return load_high(b, 0, bpf_test(b, BPF_EQUAL, 0, low, a->refuse));
}

bpf_label arguments_clone_some(const struct arguments *a)
{
	struct bpf *b = a->bpf;

	return load_low(b, 0, bpf_test(b, BPF_ANY_BIT, LINUX_CLONE_NEWCGROUP, a->refuse, a->allow));
}

/* Refuses unknown flags: a newer one makes an empty mount namespace. */
bpf_label arguments_unshare_some(const struct arguments *a)
{
	/* All namespaces but cgroup namespaces. */
	const uint32_t namespaces = (LINUX_CLONE_NAMESPACES | LINUX_CLONE_NEWTIME) ^
				    LINUX_CLONE_NEWCGROUP;
	struct bpf *b = a->bpf;
	bpf_label low = has_only(a, 0, LINUX_UNSHARE_HARMLESS | namespaces);

	return load_high(b, 0, bpf_test(b, BPF_EQUAL, 0, low, a->refuse));
}

bpf_label arguments_umount(const struct arguments *a)
{
	return has_only(a, 1, 1 | 4 | 8 /* MNT_FORCE, MNT_EXPIRE, UMOUNT_NOFOLLOW */);
}

bpf_label arguments_open_tree(const struct arguments *a)
{
	const uint32_t clone = 1, cloexec = 0x80000, no_follow = 0x100, no_automount = 0x800,
		       empty_path = 0x1000, recursive = 0x8000;

	return has_only(a, 2, clone | cloexec | no_follow | no_automount | empty_path | recursive);
}

bpf_label arguments_fsmount(const struct arguments *a)
{
	return has_only(a, 1, 1 /* FSMOUNT_CLOEXEC */);
}

enum {
	LINUX_AF_UNIX = 1,
	LINUX_AF_INET = 2,
	LINUX_AF_INET6 = 10,
	LINUX_AF_NETLINK = 16,

	LINUX_SOCK_TYPE = 0xf, /* the rest are SOCK_CLOEXEC and SOCK_NONBLOCK */
	LINUX_SOCK_STREAM = 1,
	LINUX_SOCK_DGRAM = 2,
	LINUX_SOCK_RAW = 3,
	LINUX_SOCK_SEQPACKET = 5,

	LINUX_NETLINK_ROUTE = 0,
};

static const uint32_t stream_protocols[] = { 0, 6 /* TCP */, 262 /* MPTCP */ };
static const uint32_t datagram_protocols[] = { 0, 17 /* UDP */, 1 /* ICMP: ping */,
					       58 /* ICMPv6 */ };

/*
 * Allows TCP, UDP and ping. Any other protocol (SCTP, DCCP, L2TP) could make the kernel load
 * a module that hardly anybody uses, and SOCK_PACKET would open an AF_PACKET socket. The kernel
 * refuses raw sockets itself, because they need a capability.
 */
static bpf_label check_inet(const struct arguments *a, bpf_label bad_type, bpf_label bad_protocol)
{
	struct bpf *b = a->bpf;
	bpf_label allow = a->allow;
	bpf_label stream = load_low(
		b, 2,
		is_one_of(b, stream_protocols, COUNT_OF(stream_protocols), allow, bad_protocol));
	bpf_label datagram = load_low(b, 2,
				      is_one_of(b, datagram_protocols, COUNT_OF(datagram_protocols),
						allow, bad_protocol));
	bpf_label next = bpf_test(b, BPF_EQUAL, LINUX_SOCK_RAW, allow, bad_type);

	next = bpf_test(b, BPF_EQUAL, LINUX_SOCK_DGRAM, datagram, next);
	next = bpf_test(b, BPF_EQUAL, LINUX_SOCK_STREAM, stream, next);
	return load_low(b, 1, bpf_mask(b, LINUX_SOCK_TYPE, next));
}

/*
 * SECURITY: a datagram socket can send to any path without connect(), unsupervised; so can one end of
 * a socketpair(). For unix sockets SOCK_RAW means a datagram socket.
 */
static bpf_label check_unix(const struct arguments *a, bool reaches_host, bpf_label bad_type)
{
	static const uint32_t connected[] = { LINUX_SOCK_STREAM, LINUX_SOCK_SEQPACKET };
	struct bpf *b = a->bpf;
	bpf_label next;

	if (reaches_host)
		return a->allow;
	next = is_one_of(b, connected, COUNT_OF(connected), a->allow, bad_type);
	return load_low(b, 1, bpf_mask(b, LINUX_SOCK_TYPE, next));
}

/*
 * SECURITY: only listed address families are allowed. AF_VSOCK ignores network namespaces and reaches
 * the host of a virtual machine; AF_ALG and most others are used mainly for attacks. Netlink is
 * allowed for getaddrinfo() and "ip addr".
 */
bpf_label arguments_socket(const struct arguments *a, bool reaches_host, bool has_no_network)
{
	struct bpf *b = a->bpf;
	bpf_label bad_type = refuse(b, LINUX_ESOCKTNOSUPPORT);
	bpf_label bad_protocol = refuse(b, LINUX_EPROTONOSUPPORT);
	bpf_label bad_family = refuse(b, LINUX_EAFNOSUPPORT);
	bpf_label inet = has_no_network ? refuse(b, LINUX_EACCES)
					: check_inet(a, bad_type, bad_protocol);
	bpf_label local = check_unix(a, reaches_host, bad_type);
	bpf_label netlink =
		load_low(b, 2, bpf_test(b, BPF_EQUAL, LINUX_NETLINK_ROUTE, a->allow, bad_protocol));
	bpf_label next = bpf_test(b, BPF_EQUAL, LINUX_AF_NETLINK, netlink, bad_family);

	next = bpf_test(b, BPF_EQUAL, LINUX_AF_INET6, inet, next);
	next = bpf_test(b, BPF_EQUAL, LINUX_AF_INET, inet, next);
	next = bpf_test(b, BPF_EQUAL, LINUX_AF_UNIX, local, next);
	return load_low(b, 0, next);
}

/* The kernel's error if TCP fast open is turned off; callers then use connect(). */
bpf_label arguments_send(const struct arguments *a, unsigned flags)
{
	const uint32_t fast_open = 0x20000000;
	struct bpf *b = a->bpf;
	bpf_label no = refuse(b, LINUX_EOPNOTSUPP);

	return load_low(b, flags, bpf_test(b, BPF_ANY_BIT, fast_open, no, a->allow));
}

static const uint32_t refused_requests[] = {
	0x540c, /* TIOCEXCL: no other process could open the terminal, even after the run */
	0x5412, /* TIOCSTI: puts characters into the input queue */
	0x541c, /* TIOCLINUX: pastes into the console */
	0x541d, /* TIOCCONS: redirects the console's output */
	0x5423, /* TIOCSETD: loads line disciplines, many of them vulnerable */
};

/*
 * SECURITY: if the command stopped the terminal's output, Cordon itself would block when it writes
 * to the terminal, and would never end.
 */
static bpf_label check_flow(const struct arguments *a, bpf_label other)
{
	const uint32_t request = 0x540a /* TCXONC */, stop_output = 0 /* TCOOFF */;
	struct bpf *b = a->bpf;
	bpf_label action = load_low(b, 2, bpf_test(b, BPF_EQUAL, stop_output, a->refuse, a->allow));

	return bpf_test(b, BPF_EQUAL, request, action, other);
}

bpf_label arguments_ioctl(const struct arguments *a)
{
	struct bpf *b = a->bpf;
	bpf_label next = check_flow(a, a->allow);

	return load_low(
		b, 1, is_one_of(b, refused_requests, COUNT_OF(refused_requests), a->refuse, next));
}

bpf_label arguments_fcntl(const struct arguments *a, bool keeps_appending)
{
	const uint32_t set_lease = 1024 /* F_SETLEASE */, set_flags = 4 /* F_SETFL */,
		       append = 02000;
	struct bpf *b = a->bpf;
	bpf_label next = a->allow;

	if (keeps_appending) {
		bpf_label flags =
			load_low(b, 2, bpf_test(b, BPF_ANY_BIT, append, a->allow, a->ask));

		next = bpf_test(b, BPF_EQUAL, set_flags, flags, next);
	}
	return load_low(b, 1, bpf_test(b, BPF_EQUAL, set_lease, a->refuse, next));
}

static const uint32_t harmless_requests[] = {
	0x2,	    /* FIGETBSZ */
	0x80086601, /* FS_IOC_GETFLAGS */
	0x80087601, /* FS_IOC_GETVERSION */
	0x801c581f, /* FS_IOC_FSGETXATTR */
	0xc020660b, /* FS_IOC_FIEMAP */
	0x80111500, /* FS_IOC_GETFSUUID */
	0x80811501, /* FS_IOC_GETFSSYSFSPATH */
	/* The kernel requires a target that is open for writing, and not for appending. */
	0x40049409, /* FICLONE */
	0x4020940d, /* FICLONERANGE */
};
static const uint32_t attribute_requests[] = {
	0x40086602, /* FS_IOC_SETFLAGS */
	0x401c5820, /* FS_IOC_FSSETXATTR */
};

/* Requests that are known by number; at `rest` the request is loaded. */
static bpf_label check_requests(const struct arguments *a, bpf_label attributes, bpf_label rest)
{
	struct bpf *b = a->bpf;

	rest = is_one_of(b, attribute_requests, COUNT_OF(attribute_requests), attributes, rest);
	rest = is_one_of(b, harmless_requests, COUNT_OF(harmless_requests), a->allow, rest);
	rest = check_flow(a, rest);
	rest = is_one_of(b, refused_requests, COUNT_OF(refused_requests), a->refuse, rest);
	return load_low(b, 1, rest);
}

/*
 * SECURITY: a file system can have requests that change a file through a descriptor for reading
 * (FS_IOC_SETFLAGS, FAT_IOCTL_SET_ATTRIBUTES, subvolumes of btrfs). So only listed requests are
 * allowed: whole groups (by their type byte) that no file system uses, and single harmless ones.
 */
bpf_label arguments_ioctl_listed(const struct arguments *a, bpf_label attributes)
{
	static const uint32_t letters[] = {
		'T' << 8,  /* terminals, and requests for all files: FIONREAD, FIOCLEX */
		0x89 << 8, /* sockets */
		0x8a << 8, /* epoll */
		'!' << 8,  /* seccomp notifications */
		'R' << 8,  /* /dev/random */
		0xb7 << 8, /* namespaces */
		0xff << 8, /* pidfds */
	};
	bpf_label next = is_one_of(a->bpf, letters, COUNT_OF(letters), a->allow, a->refuse);

	return check_requests(a, attributes, bpf_mask(a->bpf, 0xff00, next));
}

/*
 * SECURITY: a stream's file may be on any file system, so the requests of all of them are listed. The
 * devices that the profile allows use other type bytes; all their requests are allowed.
 */
bpf_label arguments_ioctl_beside_streams(const struct arguments *a)
{
	static const uint32_t letters[] = {
		'f' << 8,  /* most file systems; ext4, verity, encryption */
		'X' << 8,  /* XFS; its requests to allocate and punch holes work on all */
		'v' << 8,  /* versions */
		'r' << 8,  /* FAT */
		0x94 << 8, /* btrfs */
		0xf5 << 8, /* F2FS */
		'n' << 8,  /* NILFS */
		'o' << 8,  /* OCFS2 */
		0xcf << 8, /* CIFS */
		0xbc << 8, /* bcachefs */
	};
	bpf_label next = is_one_of(a->bpf, letters, COUNT_OF(letters), a->refuse, a->allow);

	return check_requests(a, a->ask, bpf_mask(a->bpf, 0xff00, next));
}

/*
 * Allows reading it, turning off address randomisation (gdb), and what setarch makes uname() return.
 * Refuses mapping address 0, making readable memory executable, and old memory layouts.
 */
bpf_label arguments_personality(const struct arguments *a)
{
	const uint32_t read = 0xffffffff, linux32 = 8, uname26 = 0x20000, no_randomize = 0x40000;
	struct bpf *b = a->bpf;
	bpf_label next =
		bpf_test(b, BPF_ANY_BIT, ~(linux32 | uname26 | no_randomize), a->refuse, a->allow);

	return load_low(b, 0, bpf_test(b, BPF_EQUAL, read, a->allow, next));
}

static bpf_label is_not_pid_1(const struct arguments *a, unsigned pid)
{
	struct bpf *b = a->bpf;

	return load_low(b, pid, bpf_test(b, BPF_EQUAL, 1, a->refuse, a->allow));
}

bpf_label arguments_process(const struct arguments *a)
{
	return is_not_pid_1(a, 0);
}

/* SECURITY: refuses groups and users as well: PID 1 has the command's group and user. */
bpf_label arguments_priority(const struct arguments *a, unsigned process)
{
	const uint32_t many[] = { process + 1, process + 2 };
	struct bpf *b = a->bpf;
	bpf_label next = is_one_of(b, many, COUNT_OF(many), a->refuse, a->allow);

	next = bpf_test(b, BPF_EQUAL, process, is_not_pid_1(a, 1), next);
	return load_low(b, 0, next);
}

enum { SET_USER_ID = 04000, SET_GROUP_ID = 02000 };

bpf_label arguments_chmod(const struct arguments *a, unsigned mode, bool asks)
{
	struct bpf *b = a->bpf;
	bpf_label group = asks ? a->ask : bpf_test(b, BPF_ANY_BIT, SET_GROUP_ID, a->ask, a->allow);

	return load_low(b, mode, bpf_test(b, BPF_ANY_BIT, SET_USER_ID, a->refuse, group));
}

static bpf_label refuse_set_id(const struct arguments *a, unsigned mode, bpf_label next)
{
	struct bpf *b = a->bpf;

	return load_low(b, mode,
			bpf_test(b, BPF_ANY_BIT, SET_USER_ID | SET_GROUP_ID, a->refuse, next));
}

bpf_label arguments_mode(const struct arguments *a, unsigned mode, bool asks)
{
	return refuse_set_id(a, mode, asks ? a->ask : a->allow);
}

bpf_label arguments_path(const struct arguments *a, unsigned path)
{
	struct bpf *b = a->bpf;
	bpf_label high = load_high(b, path, bpf_test(b, BPF_EQUAL, 0, a->allow, a->ask));

	return load_low(b, path, bpf_test(b, BPF_EQUAL, 0, high, a->ask));
}

/* The error of a kernel that does not know the flag (RWF_NOAPPEND, Linux 6.9). */
bpf_label arguments_write_flags(const struct arguments *a, unsigned flags)
{
	const uint32_t no_append = 0x20;
	struct bpf *b = a->bpf;
	bpf_label no = refuse(b, LINUX_EOPNOTSUPP);

	return load_low(b, flags, bpf_test(b, BPF_ANY_BIT, no_append, no, a->allow));
}

/*
 * The kernel uses the mode only if it creates a file. O_TMPFILE has two bits, one of which is
 * O_DIRECTORY; no program sets the other one alone.
 */
static bpf_label check_mode(const struct arguments *a, unsigned flags, bpf_label next)
{
	const uint32_t o_creat = 0x40, o_tmpfile = 0x400000;
	struct bpf *b = a->bpf;
	bpf_label mode = refuse_set_id(a, flags + 1, next);

	return load_low(b, flags, bpf_test(b, BPF_ANY_BIT, o_creat | o_tmpfile, mode, next));
}

/* SECURITY: refuses O_TRUNC unless the file is opened for writing, which Landlock governs. */
bpf_label arguments_open(const struct arguments *a, unsigned flags, struct open_checks checks)
{
	static const uint32_t writing[] = { 1, 2 };
	const uint32_t o_accmode = 3, o_creat = 0x40, o_trunc = 0x200;
	struct bpf *b = a->bpf;
	bpf_label next = a->allow;
	bpf_label opened;

	if (checks.asks_all) {
		next = a->ask;
	} else if (checks.asks_changing) {
		next = bpf_test(b, BPF_ANY_BIT, o_accmode | o_creat | o_trunc, a->ask, a->allow);
		next = load_low(b, flags, next);
	} else if (checks.asks_writing) {
		next = is_one_of(b, writing, COUNT_OF(writing), a->ask, a->allow);
		next = load_low(b, flags, bpf_mask(b, o_accmode, next));
	}
	next = check_mode(a, flags, next);
	if (!checks.truncate)
		return next;
	opened = is_one_of(b, writing, COUNT_OF(writing), next, refuse(b, LINUX_EACCES));
	opened = load_low(b, flags, bpf_mask(b, o_accmode, opened));
	return load_low(b, flags, bpf_test(b, BPF_ANY_BIT, o_trunc, opened, next));
}
