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
 * Modes, owners, times and attributes of files, which Landlock does not govern, also
 * by a descriptor for reading. Requests of ioctl() change files, too: without mounts they are a
 * list of what is allowed, beside a stream those of file systems are.
 */
enum filter_metadata {
	FILTER_METADATA_FREE,	 /* the mounts decide */
	FILTER_METADATA_REFUSED, /* nothing is writable */
	FILTER_METADATA_ASKED,	 /* the supervisor judges, and does it */
	FILTER_METADATA_STREAMS, /* likewise: the mounts decide but for a standard stream's file */
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
	 * isolation.userns of the profile: namespaces, and the mounts that they are
	 * for. A sandbox inside can then be made.
	 */
	bool allows_userns;
	/*
	 * With it: mounts keep names in place in something writable, so that no namespace
	 * without them may be had. A sandbox inside that leaves its old root behind can't be.
	 */
	bool keeps_mounts;
	/*
	 * A standard stream is only for appending: what could overwrite or cut it is asked for,
	 * and opening for writing, too, lest the stream can't be opened by its name.
	 */
	bool keeps_appending;

	/* What namespaces and mounts do elsewhere, where there are none but Landlock is. */
	bool has_no_network; /* the only network is the host's: no inet sockets at all */
	bool refuses_ipc;    /* SysV and message queues answer as in a kernel without them */
	enum filter_metadata metadata;
	/* Landlock before ABI 3: truncation by path, and by opening for reading, is left to this. */
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
