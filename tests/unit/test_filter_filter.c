/* SPDX-License-Identifier: MIT */
/*
 * Tests of filter/filter.c and filter/arguments.c: what they answer. That every
 * answer is right is compared in test_filter_libseccomp.c, that the kernel takes
 * it in test_filter_kernel.c.
 */
#include "filter/filter.h"

#include <errno.h>
#include <time.h>

#include "filter/syscalls.h"
#include "filter_cases.h"
#include "test.h"

#define GARBAGE 0xdeadbeef00000000u

static struct arena arena = ARENA_INIT(16 << 20);

__attribute__((destructor)) static void empty_arena(void)
{
	arena_done(&arena);
}

static struct filter build(const struct filter_options *options)
{
	struct filter f = { .count = 0 };
	struct err e = ERR_INIT;

	CHECK_INT(filter_build(&arena, options, &f, &e), 0);
	CHECK_STR(bpf_find_fault(f.insns, f.count), NULL);
	return f;
}

static struct filter build_plain(void)
{
	return build(&(struct filter_options){ .arch = FILTER_X86_64 });
}

static uint32_t ask(const struct filter *f, enum syscall call, uint64_t a, uint64_t b, uint64_t c,
		    uint64_t d)
{
	const struct bpf_call asked = {
		.number = (uint32_t)syscalls[call].numbers[FILTER_X86_64],
		.arch = (uint32_t)AUDIT_X86_64,
		.args = { a, b, c, d },
	};

	return bpf_eval(f->insns, &asked).value;
}

static uint32_t ask_number(const struct filter *f, uint32_t arch, uint32_t number)
{
	const struct bpf_call asked = { .number = number, .arch = arch };

	return bpf_eval(f->insns, &asked).value;
}

TEST(another_architecture_is_killed)
{
	for (unsigned n = 0; n < FILTER_OPTION_SETS; n++) {
		struct filter_options options = filter_option_set(n);
		struct filter f = build(&options);
		uint32_t own = filter_audit_arch(options.arch);

		CHECK_INT(ask_number(&f, own ^ 1, 0), ANSWER_KILL);
		CHECK_INT(ask_number(&f, 0x40000003 /* i386 */, 20), ANSWER_KILL);
		CHECK_INT(ask_number(&f, 0x40000028 /* arm */, 20), ANSWER_KILL);
		CHECK_INT(ask_number(&f, own, 20), ANSWER_ALLOW);
	}
}

TEST(x32_is_killed_and_a_cancelled_call_is_not)
{
	struct filter f = build_plain();

	CHECK_INT(ask_number(&f, (uint32_t)AUDIT_X86_64, 0x40000000), ANSWER_KILL);
	CHECK_INT(ask_number(&f, (uint32_t)AUDIT_X86_64, 0x40000000 + 39), ANSWER_KILL);
	CHECK_INT(ask_number(&f, (uint32_t)AUDIT_X86_64, 0xfffffffe), ANSWER_KILL);
	CHECK_INT(ask_number(&f, (uint32_t)AUDIT_X86_64, 0xffffffff), ANSWER_ALLOW);
}

TEST(unknown_numbers_do_not_exist)
{
	static const uint32_t x86_64[] = { 337, 387, 423, SYSCALL_LAST + 1, 512, 0x3fffffff };
	static const uint32_t aarch64[] = { 244, 259, 295, 423, SYSCALL_LAST + 1, 0x40000000 };

	for (unsigned n = 0; n < FILTER_OPTION_SETS; n++) {
		struct filter_options options = filter_option_set(n);
		struct filter f = build(&options);
		const uint32_t *numbers = options.arch == FILTER_X86_64 ? x86_64 : aarch64;
		uint32_t own = filter_audit_arch(options.arch);

		for (size_t i = 0; i < COUNT_OF(x86_64); i++)
			CHECK_INT(ask_number(&f, own, numbers[i]), ANSWER_ERRNO(ENOSYS));
		CHECK_INT(ask_number(&f, own, 424), ANSWER_ALLOW);
		CHECK_INT(ask_number(&f, own, SYSCALL_LAST), ANSWER_ALLOW);
	}
}

TEST(numbers_are_those_of_system_calls_and_each_has_one_name)
{
	for (unsigned arch = 0; arch < 2; arch++) {
		for (unsigned i = 0; i < SYSCALL_COUNT; i++) {
			int number = syscalls[i].numbers[arch];
			bool is_known = number == SYSCALL_NONE;

			for (unsigned r = 0; r < SYSCALL_RANGES; r++)
				is_known |= number >= syscall_ranges[arch][r].first &&
					    number <= syscall_ranges[arch][r].last;
			CHECK(is_known);
			for (unsigned other = 0; number != SYSCALL_NONE && other < i; other++)
				CHECK(syscalls[other].numbers[arch] != number);
		}
	}
}

TEST(new_namespaces_need_a_profile_that_says_so)
{
	struct filter f = build_plain();
	struct filter open = build(&(struct filter_options){ .allows_userns = true });

	for (unsigned bit = 0; bit < 32; bit++) {
		bool is_namespace = bit == 17 || (bit >= 25 && bit <= 30);
		uint32_t want = is_namespace ? ANSWER_ERRNO(EPERM) : ANSWER_ALLOW;

		CHECK_INT(ask(&f, SYSCALL_clone, 1u << bit, 0, 0, 0), want);
		CHECK_INT(ask(&f, SYSCALL_clone, GARBAGE | 1u << bit | 17, 0, 0, 0), want);
		CHECK_INT(ask(&open, SYSCALL_clone, 1u << bit, 0, 0, 0),
			  bit == 25 ? ANSWER_ERRNO(EPERM) : ANSWER_ALLOW);
		if (is_namespace) {
			CHECK_INT(ask(&f, SYSCALL_unshare, 1u << bit, 0, 0, 0), want);
			CHECK_INT(ask(&open, SYSCALL_unshare, 1u << bit, 0, 0, 0),
				  bit == 25 ? ANSWER_ERRNO(EPERM) : ANSWER_ALLOW);
		}
	}
	CHECK_INT(ask(&open, SYSCALL_unshare, 0x80 | 0x200 | 0x400, 0, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&open, SYSCALL_unshare, 0x120000, 0, 0, 0), ANSWER_ERRNO(EPERM));
	CHECK_INT(ask(&open, SYSCALL_unshare, 1ull << 37, 0, 0, 0), ANSWER_ERRNO(EPERM));
	CHECK_INT(ask(&f, SYSCALL_unshare, 0x200 | 0x400 | 0x40000, 0, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&f, SYSCALL_unshare, 0x80 /* time */, 0, 0, 0), ANSWER_ERRNO(EPERM));
	CHECK_INT(ask(&f, SYSCALL_unshare, 1ull << 32, 0, 0, 0), ANSWER_ERRNO(EPERM));
	CHECK_INT(ask(&f, SYSCALL_clone3, 0, 0, 0, 0), ANSWER_ERRNO(ENOSYS));
	CHECK_INT(ask(&open, SYSCALL_clone3, 0, 0, 0, 0), ANSWER_ERRNO(ENOSYS));
	CHECK_INT(ask(&f, SYSCALL_mount, 0, 0, 0, 0), ANSWER_ERRNO(EPERM));
	CHECK_INT(ask(&open, SYSCALL_mount, 0, 0, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&open, SYSCALL_open_by_handle_at, 0, 0, 0, 0), ANSWER_ERRNO(EPERM));
}

TEST(mounts_that_keep_names_are_not_left_behind)
{
	struct filter open = build(&(struct filter_options){ .allows_userns = true });
	struct filter kept =
		build(&(struct filter_options){ .allows_userns = true, .keeps_mounts = true });
	struct filter plain = build(&(struct filter_options){ .keeps_mounts = true });
	const uint32_t no = ANSWER_ERRNO(EPERM);

	CHECK_INT(ask(&open, SYSCALL_umount2, 0, 2, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&plain, SYSCALL_umount2, 0, 0, 0, 0), no);
	CHECK_INT(ask(&kept, SYSCALL_umount2, 0, 0, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&kept, SYSCALL_umount2, 0, GARBAGE | 1 | 4 | 8, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&kept, SYSCALL_umount2, 0, 2, 0, 0), no);
	CHECK_INT(ask(&kept, SYSCALL_umount2, 0, GARBAGE | 2 | 8, 0, 0), no);
	CHECK_INT(ask(&kept, SYSCALL_open_tree, 0, 0, 0x88001, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&kept, SYSCALL_open_tree, 0, 0, 0x88002, 0), no);
	CHECK_INT(ask(&kept, SYSCALL_open_tree_attr, 0, 0, 2, 0), no);
	CHECK_INT(ask(&kept, SYSCALL_fsmount, 0, 1, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&kept, SYSCALL_fsmount, 0, 2, 0, 0), no);
	CHECK_INT(ask(&kept, SYSCALL_pivot_root, 0, 0, 0, 0), ANSWER_ALLOW);
}

enum { STREAM = 1, DGRAM = 2, RAW = 3, SEQPACKET = 5, PACKET = 10, CLOEXEC = 02000000 };

TEST(unix_datagrams_need_a_reachable_host)
{
	struct filter f = build_plain();
	struct filter open = build(&(struct filter_options){ .reaches_host = true });

	for (unsigned i = 0; i < 2; i++) {
		enum syscall call = i ? SYSCALL_socketpair : SYSCALL_socket;

		for (uint64_t type = 0; type < 16; type++) {
			bool fine = type == STREAM || type == SEQPACKET;
			uint32_t want = fine ? ANSWER_ALLOW : ANSWER_ERRNO(ESOCKTNOSUPPORT);

			CHECK_INT(ask(&f, call, 1, type, 0, 0), want);
			CHECK_INT(ask(&f, call, 1, type | CLOEXEC, 0, 0), want);
			CHECK_INT(ask(&f, call, GARBAGE | 1, GARBAGE | type, 0, 0), want);
			CHECK_INT(ask(&open, call, 1, type, 0, 0), ANSWER_ALLOW);
		}
	}
}

TEST(only_the_families_that_a_network_needs_exist)
{
	for (unsigned n = 0; n < FILTER_OPTION_SETS; n += 2) {
		struct filter_options options = filter_option_set(n);
		struct filter f = build(&options);

		for (uint64_t family = 0; family < 100; family++) {
			bool is_inet = family == 2 || family == 10;
			bool fine = family == 1 || is_inet || family == 16;
			uint32_t want = fine ? ANSWER_ALLOW : ANSWER_ERRNO(EAFNOSUPPORT);

			if (is_inet && options.has_no_network)
				want = ANSWER_ERRNO(EACCES);

			CHECK_INT(ask(&f, SYSCALL_socket, family, STREAM, 0, 0), want);
			CHECK_INT(ask(&f, SYSCALL_socket, GARBAGE | family, STREAM, 0, 0), want);
		}
		CHECK_INT(ask(&f, SYSCALL_socket, 16, RAW, 0, 0), ANSWER_ALLOW);
		CHECK_INT(ask(&f, SYSCALL_socket, 16, RAW, 16, 0), ANSWER_ERRNO(EPROTONOSUPPORT));
		CHECK_INT(ask(&f, SYSCALL_socket, 16, RAW, GARBAGE, 0), ANSWER_ALLOW);
	}
}

TEST(inet_is_tcp_udp_and_ping)
{
	static const struct {
		uint64_t type, protocol;
		uint32_t want;
	} cases[] = {
		{ STREAM, 0, ANSWER_ALLOW },
		{ STREAM, 6, ANSWER_ALLOW },
		{ STREAM | CLOEXEC, 262, ANSWER_ALLOW },
		{ STREAM, 132 /* SCTP */, ANSWER_ERRNO(EPROTONOSUPPORT) },
		{ STREAM, 256 /* SMC */, ANSWER_ERRNO(EPROTONOSUPPORT) },
		{ DGRAM, 0, ANSWER_ALLOW },
		{ DGRAM, 17, ANSWER_ALLOW },
		{ DGRAM, 1, ANSWER_ALLOW },
		{ DGRAM, 58, ANSWER_ALLOW },
		{ DGRAM, 115 /* L2TP */, ANSWER_ERRNO(EPROTONOSUPPORT) },
		{ RAW, 255, ANSWER_ALLOW },
		{ SEQPACKET, 132, ANSWER_ERRNO(ESOCKTNOSUPPORT) },
		{ 6 /* DCCP */, 33, ANSWER_ERRNO(ESOCKTNOSUPPORT) },
		{ PACKET, 0, ANSWER_ERRNO(ESOCKTNOSUPPORT) },
	};
	struct filter f = build_plain();

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		for (uint64_t family = 2; family <= 10; family += 8) {
			CHECK_INT(ask(&f, SYSCALL_socket, family, cases[i].type, cases[i].protocol,
				      0),
				  cases[i].want);
			CHECK_INT(ask(&f, SYSCALL_socket, family, cases[i].type,
				      GARBAGE | cases[i].protocol, 0),
				  cases[i].want);
		}
	}
}

TEST(nothing_types_into_the_terminal)
{
	static const uint64_t requests[] = { 0x540c, 0x5412, 0x541c, 0x541d, 0x5423 };
	struct filter f = build_plain();

	for (size_t i = 0; i < COUNT_OF(requests); i++) {
		CHECK_INT(ask(&f, SYSCALL_ioctl, 0, requests[i], 0, 0), ANSWER_ERRNO(EPERM));
		CHECK_INT(ask(&f, SYSCALL_ioctl, 0, GARBAGE | requests[i], 0, 0),
			  ANSWER_ERRNO(EPERM));
	}
	CHECK_INT(ask(&f, SYSCALL_ioctl, 0, 0x5401 /* TCGETS */, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&f, SYSCALL_ioctl, 0, 0x5413 /* TIOCGWINSZ */, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&f, SYSCALL_ioctl, 0x5412, 0, 0x5412, 0), ANSWER_ALLOW);
}

TEST(the_output_of_a_terminal_is_not_stopped)
{
	enum { FLOW = 0x540a, OUTPUT_OFF = 0, OUTPUT_ON = 1 };
	struct filter plain = build_plain();
	struct filter asked = build(&(struct filter_options){ .metadata = FILTER_METADATA_ASKED });
	const struct filter *filters[] = { &plain, &asked };

	for (size_t i = 0; i < COUNT_OF(filters); i++) {
		CHECK_INT(ask(filters[i], SYSCALL_ioctl, 0, FLOW, OUTPUT_OFF, 0),
			  ANSWER_ERRNO(EPERM));
		CHECK_INT(ask(filters[i], SYSCALL_ioctl, 0, GARBAGE | FLOW, OUTPUT_OFF, 0),
			  ANSWER_ERRNO(EPERM));
		CHECK_INT(ask(filters[i], SYSCALL_ioctl, 0, FLOW, OUTPUT_ON, 0), ANSWER_ALLOW);
	}
}

TEST(nothing_connects_by_sending)
{
	struct filter f = build(&(struct filter_options){ .asks_connect = true });
	const uint64_t fast_open = 0x20000000;

	CHECK_INT(ask(&f, SYSCALL_sendto, 0, 0, 0, fast_open), ANSWER_ERRNO(EOPNOTSUPP));
	CHECK_INT(ask(&f, SYSCALL_sendmmsg, 0, 0, 0, GARBAGE | fast_open | 1),
		  ANSWER_ERRNO(EOPNOTSUPP));
	CHECK_INT(ask(&f, SYSCALL_sendmsg, 0, 0, fast_open, 0), ANSWER_ERRNO(EOPNOTSUPP));
	CHECK_INT(ask(&f, SYSCALL_sendmsg, 0, 0, ~fast_open, fast_open), ANSWER_ALLOW);
	CHECK_INT(ask(&f, SYSCALL_sendto, 0, 0, fast_open, 0x4000), ANSWER_ALLOW);
	f = build_plain();
	CHECK_INT(ask(&f, SYSCALL_sendto, 0, 0, 0, fast_open), ANSWER_ALLOW);
}

TEST(a_personality_is_harmless)
{
	static const uint64_t fine[] = { 0, 8, 0x20000, 0x20008, 0x40000, 0x60008, 0xffffffff };
	static const uint64_t bad[] = { 0x400000, 0x100000, 0x200000, 0x8000000, 1, 0x440000 };
	struct filter f = build_plain();

	for (size_t i = 0; i < COUNT_OF(fine); i++)
		CHECK_INT(ask(&f, SYSCALL_personality, GARBAGE | fine[i], 0, 0, 0), ANSWER_ALLOW);
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		CHECK_INT(ask(&f, SYSCALL_personality, bad[i], 0, 0, 0), ANSWER_ERRNO(EPERM));
}

static const enum syscall calls_on_a_process[] = {
	SYSCALL_sched_setscheduler, SYSCALL_sched_setparam, SYSCALL_sched_setattr,
	SYSCALL_sched_setaffinity,  SYSCALL_prlimit64,
};

TEST(pid_1_is_not_slowed_down_or_limited)
{
	static const uint64_t others[] = { 0, 2, 3, 4711, 0xffffffff, 0x80000001, 1ull << 32 };
	struct filter f = build_plain();
	const uint32_t no = ANSWER_ERRNO(EPERM);

	for (size_t i = 0; i < COUNT_OF(calls_on_a_process); i++) {
		enum syscall call = calls_on_a_process[i];

		CHECK_INT(ask(&f, call, 1, 0, 0, 0), no);
		CHECK_INT(ask(&f, call, GARBAGE | 1, 5, 5, 5), no);
		for (size_t other = 0; other < COUNT_OF(others); other++)
			CHECK_INT(ask(&f, call, others[other], 1, 1, 1), ANSWER_ALLOW);
	}
	for (uint64_t process = 0; process < 2; process++) {
		enum syscall call = process ? SYSCALL_ioprio_set : SYSCALL_setpriority;

		CHECK_INT(ask(&f, call, process, 1, 0, 0), no);
		CHECK_INT(ask(&f, call, GARBAGE | process, GARBAGE | 1, 0, 0), no);
		for (size_t other = 0; other < COUNT_OF(others); other++)
			CHECK_INT(ask(&f, call, process, others[other], 1, 1), ANSWER_ALLOW);
		/* Groups and users, whosoever: PID 1 is among them. */
		for (uint64_t who = 0; who < 3; who++) {
			CHECK_INT(ask(&f, call, process + 1, who, 0, 0), no);
			CHECK_INT(ask(&f, call, GARBAGE | (process + 2), who, 0, 0), no);
		}
		/* No such kind: the kernel says so. */
		CHECK_INT(ask(&f, call, process + 3, 1, 0, 0), ANSWER_ALLOW);
		CHECK_INT(ask(&f, call, process - 1, 1, 0, 0), ANSWER_ALLOW);
	}
}

TEST(nobody_makes_set_id_files)
{
	const uint64_t create = 0x40, temporary = 0x400000 | 0x10000, directory = 0x10000;
	struct filter f = build_plain();
	const uint32_t no = ANSWER_ERRNO(EPERM);

	for (uint64_t mode = 0; mode < 010000; mode++) {
		uint32_t want = mode & 06000 ? no : ANSWER_ALLOW;
		/* Of the group, when that is all: it may be a directory. */
		uint32_t changed = (mode & 06000) == 02000 ? ANSWER_NOTIFY : want;

		if (!CHECK(ask(&f, SYSCALL_chmod, 0, mode, 0, 0) == changed &&
			   ask(&f, SYSCALL_fchmod, 0, GARBAGE | mode, 0, 0) == changed &&
			   ask(&f, SYSCALL_fchmodat, 0, 0, mode, 0) == changed &&
			   ask(&f, SYSCALL_fchmodat2, 0, 0, mode, 0) == changed &&
			   ask(&f, SYSCALL_mknod, 0, 0100000 | mode, 0, 0) == want &&
			   ask(&f, SYSCALL_mknodat, 0, 0, 010000 | mode, 0) == want &&
			   ask(&f, SYSCALL_creat, 0, mode, 0, 0) == want &&
			   ask(&f, SYSCALL_open, 0, create, mode, 0) == want &&
			   ask(&f, SYSCALL_open, 0, GARBAGE | temporary, mode, 0) == want &&
			   ask(&f, SYSCALL_openat, 0, 0, create | 2, GARBAGE | mode) == want))
			return;
	}
	/* A mode that is not used is whatever was in the register. */
	CHECK_INT(ask(&f, SYSCALL_open, 0, directory, 06755, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&f, SYSCALL_openat, 0, 0, 2, UINT64_MAX), ANSWER_ALLOW);
	CHECK_INT(ask(&f, SYSCALL_openat2, 0, 0, 0, 0), ANSWER_ERRNO(ENOSYS));
}

/* Arguments that decide something: flags of opens, modes, paths that are NULL or not. */
static const uint64_t argument_values[] = { 0,	       1,	2,	   3,	  0100,
					    0200,      01000,	02755,	   04755, 0644,
					    020000000, GARBAGE, UINT64_MAX };

static void check_naming(const struct filter *plain, const struct filter *named,
			 struct bpf_call *call, uint64_t *changed)
{
	uint32_t before = bpf_eval(plain->insns, call).value;
	uint32_t after = bpf_eval(named->insns, call).value;

	if (before == after)
		return;
	++*changed;
	if (!CHECK_INT(before, ANSWER_ALLOW) || !CHECK_INT(after, ANSWER_NOTIFY))
		printf("#   number %u args %llx %llx %llx\n", call->number,
		       (unsigned long long)call->args[0], (unsigned long long)call->args[1],
		       (unsigned long long)call->args[2]);
}

TEST(naming_refusals_only_turns_what_is_allowed_into_what_is_notified)
{
	for (unsigned n = 0; n < 2 * FILTER_OPTION_SETS; n++) {
		struct filter_options options = filter_option_set(n / 2);
		struct filter plain = build(&options), named;
		uint64_t changed = 0;

		options.names_writes = true;
		options.names_reads = n % 2;
		named = build(&options);
		for (uint32_t number = 0; number <= SYSCALL_LAST + 8 && !test_failed; number++)
			for (size_t i = 0; i < 3 * COUNT_OF(argument_values); i++) {
				struct bpf_call call = { .number = number,
							 .arch = filter_audit_arch(options.arch) };

				call.args[i % 3] = argument_values[i / 3];
				call.args[(i + 1) % 3] =
					argument_values[(i / 3 + i) % COUNT_OF(argument_values)];
				check_naming(&plain, &named, &call, &changed);
			}
		CHECK(changed > 0);
	}
}

TEST(refusals_are_named_for_paths_and_not_for_descriptors)
{
	struct filter f = build(&(struct filter_options){ .names_writes = true });
	struct filter all =
		build(&(struct filter_options){ .names_writes = true, .names_reads = true });

	CHECK_INT(ask(&f, SYSCALL_openat, 0, 0, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&all, SYSCALL_openat, 0, 0, 0, 0), ANSWER_NOTIFY);
	CHECK_INT(ask(&f, SYSCALL_openat, 0, 0, 1, 0), ANSWER_NOTIFY);
	CHECK_INT(ask(&f, SYSCALL_openat, 0, 0, 0100, 0644), ANSWER_NOTIFY);
	CHECK_INT(ask(&f, SYSCALL_openat, 0, 0, 0101, 04755), ANSWER_ERRNO(EPERM));
	CHECK_INT(ask(&f, SYSCALL_unlinkat, 0, 0, 0, 0), ANSWER_NOTIFY);
	CHECK_INT(ask(&f, SYSCALL_chmod, 0, 0644, 0, 0), ANSWER_NOTIFY);
	CHECK_INT(ask(&f, SYSCALL_chmod, 0, 04755, 0, 0), ANSWER_ERRNO(EPERM));
	CHECK_INT(ask(&f, SYSCALL_fchmod, 3, 0644, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&f, SYSCALL_utimensat, 3, 0, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&f, SYSCALL_utimensat, 3, 4096, 0, 0), ANSWER_NOTIFY);
	CHECK_INT(ask(&f, SYSCALL_utimensat, 3, 1ull << 32, 0, 0), ANSWER_NOTIFY);
	CHECK_INT(ask(&f, SYSCALL_execve, 0, 0, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&all, SYSCALL_execve, 0, 0, 0, 0), ANSWER_NOTIFY);
}

TEST(a_stream_for_appending_is_asked_about)
{
	enum { SETFL = 4, APPEND = 02000, NO_APPEND = 0x20, CREATE = 0100 };
	struct filter plain = build_plain();
	struct filter f = build(&(struct filter_options){ .keeps_appending = true,
							  .metadata = FILTER_METADATA_STREAMS });
	struct bpf_call write = { .number = 328, .arch = (uint32_t)AUDIT_X86_64 };

	for (uint64_t mode = 0; mode < 4; mode++) {
		bool writes = mode == 1 || mode == 2;

		CHECK_INT(ask(&f, SYSCALL_open, 0, GARBAGE | CREATE | mode, 0644, 0),
			  writes ? ANSWER_NOTIFY : ANSWER_ALLOW);
		CHECK_INT(ask(&f, SYSCALL_openat, 0, 0, mode, 0),
			  writes ? ANSWER_NOTIFY : ANSWER_ALLOW);
		CHECK_INT(ask(&plain, SYSCALL_openat, 0, 0, mode, 0), ANSWER_ALLOW);
	}
	/* Set-id bits are nobody's to ask for. */
	CHECK_INT(ask(&f, SYSCALL_open, 0, CREATE | 1, 04755, 0), ANSWER_ERRNO(EPERM));
	CHECK_INT(ask(&f, SYSCALL_creat, 0, 0644, 0, 0), ANSWER_NOTIFY);
	CHECK_INT(ask(&f, SYSCALL_creat, 0, 02755, 0, 0), ANSWER_ERRNO(EPERM));
	CHECK_INT(ask(&f, SYSCALL_fcntl, 0, GARBAGE | SETFL, 04000, 0), ANSWER_NOTIFY);
	CHECK_INT(ask(&f, SYSCALL_fcntl, 0, SETFL, (uint64_t)APPEND << 32, 0), ANSWER_NOTIFY);
	CHECK_INT(ask(&f, SYSCALL_fcntl, 0, SETFL, 04000 | APPEND, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&f, SYSCALL_fcntl, 0, SETFL - 1, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&plain, SYSCALL_fcntl, 0, SETFL, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&f, SYSCALL_ftruncate, 1, 0, 0, 0), ANSWER_NOTIFY);
	CHECK_INT(ask(&f, SYSCALL_truncate, 1, 0, 0, 0), ANSWER_NOTIFY);
	CHECK_INT(ask(&plain, SYSCALL_ftruncate, 1, 0, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&f, SYSCALL_fallocate, 1, 0, 0, 0), ANSWER_ERRNO(EOPNOTSUPP));
	CHECK_INT(ask(&f, SYSCALL_io_setup, 1, 0, 0, 0), ANSWER_ERRNO(ENOSYS));
	CHECK_INT(bpf_eval(f.insns, &write).value, ANSWER_ALLOW);
	write.args[5] = GARBAGE | NO_APPEND | 1;
	CHECK_INT(bpf_eval(f.insns, &write).value, ANSWER_ERRNO(EOPNOTSUPP));
	CHECK_INT(bpf_eval(plain.insns, &write).value, ANSWER_ALLOW);
}

TEST(beside_a_stream_devices_may_be_asked_anything_and_file_systems_may_not)
{
	enum { SETFLAGS = 0x40086602, GETFLAGS = 0x80086601, FAT_SET = 0x40047211 };
	enum { PUNCH = 0x4030582b, MOVE = 0xc028660f, KVM = 0xae01, TIOCSTI = 0x5412 };
	struct filter f = build(&(struct filter_options){ .metadata = FILTER_METADATA_STREAMS });

	CHECK_INT(ask(&f, SYSCALL_ioctl, 3, GARBAGE | SETFLAGS, 0, 0), ANSWER_NOTIFY);
	CHECK_INT(ask(&f, SYSCALL_ioctl, 3, GETFLAGS, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&f, SYSCALL_ioctl, 3, FAT_SET, 0, 0), ANSWER_ERRNO(EPERM));
	CHECK_INT(ask(&f, SYSCALL_ioctl, 3, PUNCH, 0, 0), ANSWER_ERRNO(EPERM));
	CHECK_INT(ask(&f, SYSCALL_ioctl, 3, MOVE, 0, 0), ANSWER_ERRNO(EPERM));
	CHECK_INT(ask(&f, SYSCALL_ioctl, 3, TIOCSTI, 0, 0), ANSWER_ERRNO(EPERM));
	CHECK_INT(ask(&f, SYSCALL_ioctl, 3, KVM, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&f, SYSCALL_fchmod, 1, 0644, 0, 0), ANSWER_NOTIFY);
	CHECK_INT(ask(&f, SYSCALL_file_setattr, 0, 0, 0, 0), ANSWER_ERRNO(ENOSYS));
}

TEST(connect_is_answered_by_the_supervisor_when_it_asks)
{
	struct filter plain = build_plain();
	struct filter f = build(&(struct filter_options){ .asks_connect = true });

	CHECK_INT(ask(&plain, SYSCALL_connect, 0, 0, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&f, SYSCALL_connect, 0, 0, 0, 0), ANSWER_NOTIFY);
}

TEST(metadata_is_refused_or_asked_about_where_no_mount_decides)
{
	static const enum syscall calls[] = {
		SYSCALL_chmod,	    SYSCALL_fchmod,	   SYSCALL_fchmodat,  SYSCALL_fchmodat2,
		SYSCALL_chown,	    SYSCALL_lchown,	   SYSCALL_fchown,    SYSCALL_fchownat,
		SYSCALL_utime,	    SYSCALL_utimes,	   SYSCALL_futimesat, SYSCALL_utimensat,
		SYSCALL_setxattr,   SYSCALL_lsetxattr,	   SYSCALL_fsetxattr, SYSCALL_removexattr,
		SYSCALL_setxattrat, SYSCALL_removexattrat,
	};
	struct filter plain = build_plain();
	struct filter refused =
		build(&(struct filter_options){ .metadata = FILTER_METADATA_REFUSED });
	struct filter asked = build(&(struct filter_options){ .metadata = FILTER_METADATA_ASKED });

	for (size_t i = 0; i < COUNT_OF(calls); i++) {
		CHECK_INT(ask(&plain, calls[i], 0, 0, 0, 0), ANSWER_ALLOW);
		CHECK_INT(ask(&refused, calls[i], 0, 0, 0, 0), ANSWER_ERRNO(EPERM));
		/* Also with set-id bits: who is asked looks at the mode. */
		CHECK_INT(ask(&asked, calls[i], 06755, 06755, 06755, 0), ANSWER_NOTIFY);
	}
	CHECK_INT(ask(&plain, SYSCALL_file_setattr, 0, 0, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&asked, SYSCALL_file_setattr, 0, 0, 0, 0), ANSWER_ERRNO(ENOSYS));
	CHECK_INT(ask(&asked, SYSCALL_truncate, 0, 0, 0, 0), ANSWER_ALLOW);
}

TEST(requests_of_file_systems_are_a_list_where_no_mount_decides)
{
	enum { SETFLAGS = 0x40086602, GETFLAGS = 0x80086601, FAT_SET = 0x40047211 };
	enum { SUBVOLUME = 0x5000940e, FIONREAD = 0x541b, TIOCSTI = 0x5412, SIOCGIFFLAGS = 0x8913 };
	struct filter plain = build_plain();
	struct filter refused =
		build(&(struct filter_options){ .metadata = FILTER_METADATA_REFUSED });
	struct filter asked = build(&(struct filter_options){ .metadata = FILTER_METADATA_ASKED });

	CHECK_INT(ask(&plain, SYSCALL_ioctl, 3, SETFLAGS, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&refused, SYSCALL_ioctl, 3, SETFLAGS, 0, 0), ANSWER_ERRNO(EPERM));
	CHECK_INT(ask(&asked, SYSCALL_ioctl, 3, SETFLAGS, 0, 0), ANSWER_NOTIFY);
	CHECK_INT(ask(&asked, SYSCALL_ioctl, 3, GARBAGE | SETFLAGS, 0, 0), ANSWER_NOTIFY);
	CHECK_INT(ask(&asked, SYSCALL_ioctl, 3, GETFLAGS, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&asked, SYSCALL_ioctl, 3, FAT_SET, 0, 0), ANSWER_ERRNO(EPERM));
	CHECK_INT(ask(&asked, SYSCALL_ioctl, 3, SUBVOLUME, 0, 0), ANSWER_ERRNO(EPERM));
	CHECK_INT(ask(&asked, SYSCALL_ioctl, 3, FIONREAD, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&asked, SYSCALL_ioctl, 3, SIOCGIFFLAGS, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&asked, SYSCALL_ioctl, 3, TIOCSTI, 0, 0), ANSWER_ERRNO(EPERM));
}

TEST(truncation_is_for_who_opens_for_writing_where_landlock_lacks_it)
{
	const uint64_t trunc = 01000;
	struct filter plain = build_plain();
	struct filter f = build(&(struct filter_options){ .lacks_truncate = true });
	struct filter asked = build(&(struct filter_options){ .lacks_truncate = true,
							      .metadata = FILTER_METADATA_ASKED });

	for (uint64_t mode = 0; mode < 4; mode++) {
		bool writes = mode == 1 || mode == 2;
		uint32_t want = writes ? ANSWER_ALLOW : ANSWER_ERRNO(EACCES);

		CHECK_INT(ask(&plain, SYSCALL_openat, 0, 0, trunc | mode, 0), ANSWER_ALLOW);
		CHECK_INT(ask(&f, SYSCALL_openat, 0, 0, GARBAGE | trunc | mode, 0), want);
		CHECK_INT(ask(&f, SYSCALL_open, 0, trunc | mode, 0, 0), want);
		CHECK_INT(ask(&f, SYSCALL_openat, 0, 0, mode, 0), ANSWER_ALLOW);
	}
	CHECK_INT(ask(&f, SYSCALL_openat2, 0, 0, 0, 0), ANSWER_ERRNO(ENOSYS));
	CHECK_INT(ask(&f, SYSCALL_truncate, 0, 0, 0, 0), ANSWER_ERRNO(EPERM));
	CHECK_INT(ask(&asked, SYSCALL_truncate, 0, 0, 0, 0), ANSWER_NOTIFY);
}

TEST(without_a_network_and_ipc_of_its_own_there_is_none)
{
	struct filter plain = build_plain();
	struct filter f =
		build(&(struct filter_options){ .has_no_network = true, .refuses_ipc = true });

	for (uint64_t family = 2; family <= 10; family += 8) {
		CHECK_INT(ask(&plain, SYSCALL_socket, family, STREAM, 0, 0), ANSWER_ALLOW);
		CHECK_INT(ask(&f, SYSCALL_socket, family, STREAM, 0, 0), ANSWER_ERRNO(EACCES));
		CHECK_INT(ask(&f, SYSCALL_socket, family, DGRAM, 17, 0), ANSWER_ERRNO(EACCES));
		CHECK_INT(ask(&f, SYSCALL_socket, family, RAW, 255, 0), ANSWER_ERRNO(EACCES));
	}
	CHECK_INT(ask(&f, SYSCALL_socket, 1, STREAM, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&plain, SYSCALL_shmget, 0, 0, 0, 0), ANSWER_ALLOW);
	CHECK_INT(ask(&f, SYSCALL_shmget, 0, 0, 0, 0), ANSWER_ERRNO(ENOSYS));
	CHECK_INT(ask(&f, SYSCALL_mq_timedreceive, 0, 0, 0, 0), ANSWER_ERRNO(ENOSYS));
}

/* Only then does the kernel remember the answer and run no program for such a call. */
TEST(a_call_that_is_always_allowed_is_known_by_its_number)
{
	for (unsigned n = 0; n < FILTER_OPTION_SETS; n++) {
		struct filter_options options = filter_option_set(n);
		struct filter f = build(&options);
		unsigned by_number = 0;

		for (uint32_t number = 0; number <= SYSCALL_LAST; number++) {
			const struct bpf_call call = {
				.number = number,
				.arch = filter_audit_arch(options.arch),
			};
			struct bpf_answer answer = bpf_eval(f.insns, &call);

			by_number += answer.value == ANSWER_ALLOW && !answer.looked_at_address;
			/* A list of all requests of ioctl() that are allowed takes more. */
			CHECK(answer.steps <= (options.metadata ? 44 : 24));
		}
		CHECK(by_number + (options.keeps_appending ? 6 : 0) >=
		      (options.arch == FILTER_X86_64 ? 262 : 192));
	}
}

TEST(programs_are_short)
{
	size_t shortest = FILTER_MAX_INSNS, longest = 0;

	for (unsigned n = 0; n < FILTER_OPTION_SETS; n++) {
		struct filter_options options = filter_option_set(n);
		struct filter f = build(&options);

		shortest = MIN_OF(shortest, f.count);
		longest = MAX_OF(longest, f.count);
	}
	printf("# %zu to %zu instructions\n", shortest, longest);
	CHECK(longest <= 256);
}

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* It is built at every start. The best of many: others use the machine too. */
TEST(building_takes_no_time)
{
	const struct filter_options options = { .asks_connect = true };
	double best = 1e9;

	for (unsigned i = 0; i < 200; i++) {
		scoped_arena a = ARENA_INIT(1u << 20);
		struct filter f;
		struct err e = ERR_INIT;
		double start = now_us();

		REQUIRE(filter_build(&a, &options, &f, &e) == 0);
		best = MIN_OF(best, now_us() - start);
	}
	printf("# %.1f us\n", best);
	CHECK(best < 60);
}

TEST(no_memory_is_an_error)
{
	scoped_arena a = ARENA_INIT(64);
	struct filter f = { .count = 77 };
	struct err e = ERR_INIT;

	CHECK_INT(filter_build(&a, &(struct filter_options){ .arch = FILTER_X86_64 }, &f, &e),
		  -ERR_LIMIT);
	CHECK_INT(f.count, 77);
}
