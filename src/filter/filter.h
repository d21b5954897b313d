/* SPDX-License-Identifier: MIT */
/*
 * The system-call filter: options -> a seccomp program. Pure; the instructions
 * are those of classic BPF, and apply.c hands them to the kernel.
 *
 * It is a list of what is refused; filter.c gives the reason for each. What a
 * number alone decides, the kernel remembers as "always allowed" (since 5.11), so
 * calls that are not in the list cost nothing. A number beyond those known here
 * answers ENOSYS: a system call that is newer than this list is not allowed by
 * accident.
 *
 *	bpf.h		an assembler with labels: blocks of tests, jumps of any length
 *	syscalls.h	names and numbers for each architecture
 *	filter.c	which call gets which verdict
 *	arguments.h	the calls whose arguments decide
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

enum filter_arch { FILTER_X86_64, FILTER_AARCH64 };

/* The architecture of this build. */
extern const enum filter_arch filter_this_arch;

/*
 * Who decides about modes, owners, times and attributes of files. Landlock does not govern them, and
 * a descriptor for reading is enough to change them. ioctl() can change them, too: without mounts
 * only listed requests are allowed, and with a protected stream only listed ones of file systems.
 */
enum filter_metadata {
	FILTER_METADATA_FREE,	 /* the mounts decide */
	FILTER_METADATA_REFUSED, /* nothing is writable */
	FILTER_METADATA_ASKED,	 /* the supervisor decides, and makes the change */
	FILTER_METADATA_STREAMS, /* the same for the files of streams; mounts decide for others */
};

struct filter_options {
	enum filter_arch arch;
	/*
	 * The host may be reached (network full): unix datagrams are allowed. Else
	 * only unix streams and sequenced packets exist, inet of the own namespace,
	 * and netlink for routes.
	 */
	bool reaches_host;
	/* connect() is answered by the supervisor (SECCOMP_RET_USER_NOTIF). */
	bool asks_connect;
	/*
	 * The same with the host's network, so that the command can ask for more (P22): all but such
	 * a connect() continues.
	 */
	bool hears_connect;
	/*
	 * isolation.userns of the profile: namespaces, and the mounts that they are
	 * for. A sandbox inside can then be made.
	 */
	bool allows_userns;
	/*
	 * With allows_userns: mounts protect names inside something writable, so a namespace without
	 * these mounts must not be made. A nested sandbox that leaves its old root does not work then.
	 */
	bool keeps_mounts;
	/*
	 * A standard stream can only be appended to: calls that could overwrite or truncate it are
	 * notified, and so is opening for writing, so that the stream can be opened by its name.
	 */
	bool keeps_appending;

	/*
	 * The supervisor is notified of what creates, changes or removes files by a path, and with
	 * `names_reads` of all opens and executions, so that it can name what is refused. SECURITY:
	 * it lets these calls continue. So these options only turn what would be allowed into what
	 * is notified; everything that is refused without them is refused with them.
	 */
	bool names_writes, names_reads;

	/* For a sandbox without namespaces and mounts: what these do in the others. */
	bool has_no_network; /* the only network is the host's: no inet sockets at all */
	bool refuses_ipc;    /* SysV and message queues answer as in a kernel without them */
	enum filter_metadata metadata;
	/* Landlock before ABI 3 does not govern truncation, so the filter does. */
	bool lacks_truncate;
};

/* Same layout as struct sock_filter, which is Linux's alone. */
struct bpf_insn {
	uint16_t code;
	uint8_t jump_true, jump_false;
	uint32_t k;
};

enum { FILTER_MAX_INSNS = 4096 }; /* BPF_MAXINSNS of the kernel */

struct filter {
	struct bpf_insn *insns;
	size_t count;
};

/* ERR_LIMIT when the program would be too long, ERR_NOMEM. */
int filter_build(struct arena *a, const struct filter_options *options, struct filter *out,
		 struct err *e) MUST_CHECK NONNULL;
