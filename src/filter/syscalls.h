/* SPDX-License-Identifier: MIT */
/*
 * The system calls that the filter has something to say about, and which
 * numbers are system calls at all, for each architecture.
 *
 * The numbers are Linux's interface and never change. New calls have the same
 * number everywhere since 424; SYSCALL_LAST is the newest that was looked at
 * (Linux 7.0). Whoever raises it has judged each call up to it.
 */
#pragma once

#include <stdint.h>

#include "base/macros.h"
#include "filter/filter.h"

enum { SYSCALL_LAST = 471, SYSCALL_NONE = -1 };

/* name, number on x86_64, on aarch64 */
#define SYSCALLS(X)                           \
	X(open, 2, SYSCALL_NONE)              \
	X(ioctl, 16, 29)                      \
	X(shmget, 29, 194)                    \
	X(shmat, 30, 196)                     \
	X(shmctl, 31, 195)                    \
	X(socket, 41, 198)                    \
	X(connect, 42, 203)                   \
	X(sendto, 44, 206)                    \
	X(sendmsg, 46, 211)                   \
	X(socketpair, 53, 199)                \
	X(execve, 59, 221)                    \
	X(fcntl, 72, 25)                      \
	X(clone, 56, 220)                     \
	X(semget, 64, 190)                    \
	X(semop, 65, 193)                     \
	X(semctl, 66, 191)                    \
	X(shmdt, 67, 197)                     \
	X(msgget, 68, 186)                    \
	X(msgsnd, 69, 189)                    \
	X(msgrcv, 70, 188)                    \
	X(msgctl, 71, 187)                    \
	X(truncate, 76, 45)                   \
	X(ftruncate, 77, 46)                  \
	X(rename, 82, SYSCALL_NONE)           \
	X(mkdir, 83, SYSCALL_NONE)            \
	X(rmdir, 84, SYSCALL_NONE)            \
	X(creat, 85, SYSCALL_NONE)            \
	X(link, 86, SYSCALL_NONE)             \
	X(unlink, 87, SYSCALL_NONE)           \
	X(symlink, 88, SYSCALL_NONE)          \
	X(chmod, 90, SYSCALL_NONE)            \
	X(fchmod, 91, 52)                     \
	X(chown, 92, SYSCALL_NONE)            \
	X(fchown, 93, 55)                     \
	X(lchown, 94, SYSCALL_NONE)           \
	X(syslog, 103, 116)                   \
	X(utime, 132, SYSCALL_NONE)           \
	X(mknod, 133, SYSCALL_NONE)           \
	X(uselib, 134, SYSCALL_NONE)          \
	X(personality, 135, 92)               \
	X(setpriority, 141, 140)              \
	X(sched_setparam, 142, 118)           \
	X(sched_setscheduler, 144, 119)       \
	X(vhangup, 153, 58)                   \
	X(modify_ldt, 154, SYSCALL_NONE)      \
	X(pivot_root, 155, 41)                \
	X(_sysctl, 156, SYSCALL_NONE)         \
	X(chroot, 161, 51)                    \
	X(acct, 163, 89)                      \
	X(settimeofday, 164, 170)             \
	X(mount, 165, 40)                     \
	X(umount2, 166, 39)                   \
	X(swapon, 167, 224)                   \
	X(swapoff, 168, 225)                  \
	X(reboot, 169, 142)                   \
	X(iopl, 172, SYSCALL_NONE)            \
	X(ioperm, 173, SYSCALL_NONE)          \
	X(create_module, 174, SYSCALL_NONE)   \
	X(init_module, 175, 105)              \
	X(delete_module, 176, 106)            \
	X(get_kernel_syms, 177, SYSCALL_NONE) \
	X(query_module, 178, SYSCALL_NONE)    \
	X(quotactl, 179, 60)                  \
	X(nfsservctl, 180, 42)                \
	X(afs_syscall, 183, SYSCALL_NONE)     \
	X(tuxcall, 184, SYSCALL_NONE)         \
	X(security, 185, SYSCALL_NONE)        \
	X(setxattr, 188, 5)                   \
	X(lsetxattr, 189, 6)                  \
	X(fsetxattr, 190, 7)                  \
	X(removexattr, 197, 14)               \
	X(lremovexattr, 198, 15)              \
	X(fremovexattr, 199, 16)              \
	X(sched_setaffinity, 203, 122)        \
	X(io_setup, 206, 0)                   \
	X(lookup_dcookie, 212, 18)            \
	X(semtimedop, 220, 192)               \
	X(clock_settime, 227, 112)            \
	X(utimes, 235, SYSCALL_NONE)          \
	X(vserver, 236, SYSCALL_NONE)         \
	X(mq_open, 240, 180)                  \
	X(mq_unlink, 241, 181)                \
	X(mq_timedsend, 242, 182)             \
	X(mq_timedreceive, 243, 183)          \
	X(mq_notify, 244, 184)                \
	X(mq_getsetattr, 245, 185)            \
	X(kexec_load, 246, 104)               \
	X(add_key, 248, 217)                  \
	X(request_key, 249, 218)              \
	X(keyctl, 250, 219)                   \
	X(ioprio_set, 251, 30)                \
	X(openat, 257, 56)                    \
	X(mkdirat, 258, 34)                   \
	X(mknodat, 259, 33)                   \
	X(fchownat, 260, 54)                  \
	X(futimesat, 261, SYSCALL_NONE)       \
	X(unlinkat, 263, 35)                  \
	X(renameat, 264, 38)                  \
	X(linkat, 265, 37)                    \
	X(symlinkat, 266, 36)                 \
	X(fchmodat, 268, 53)                  \
	X(unshare, 272, 97)                   \
	X(utimensat, 280, 88)                 \
	X(fallocate, 285, 47)                 \
	X(perf_event_open, 298, 241)          \
	X(prlimit64, 302, 261)                \
	X(open_by_handle_at, 304, 265)        \
	X(sendmmsg, 307, 269)                 \
	X(setns, 308, 268)                    \
	X(process_vm_readv, 310, 270)         \
	X(process_vm_writev, 311, 271)        \
	X(finit_module, 313, 273)             \
	X(sched_setattr, 314, 274)            \
	X(renameat2, 316, 276)                \
	X(kexec_file_load, 320, 294)          \
	X(bpf, 321, 280)                      \
	X(execveat, 322, 281)                 \
	X(userfaultfd, 323, 282)              \
	X(pwritev2, 328, 287)                 \
	X(io_uring_setup, 425, 425)           \
	X(io_uring_enter, 426, 426)           \
	X(io_uring_register, 427, 427)        \
	X(open_tree, 428, 428)                \
	X(move_mount, 429, 429)               \
	X(fsopen, 430, 430)                   \
	X(fsconfig, 431, 431)                 \
	X(fsmount, 432, 432)                  \
	X(fspick, 433, 433)                   \
	X(clone3, 435, 435)                   \
	X(openat2, 437, 437)                  \
	X(pidfd_getfd, 438, 438)              \
	X(process_madvise, 440, 440)          \
	X(mount_setattr, 442, 442)            \
	X(quotactl_fd, 443, 443)              \
	X(memfd_secret, 447, 447)             \
	X(fchmodat2, 452, 452)                \
	X(setxattrat, 463, 463)               \
	X(removexattrat, 466, 466)            \
	X(open_tree_attr, 467, 467)           \
	X(file_setattr, 469, 469)             \
	X(listns, 470, 470)

#define SYSCALL_ENUM(name, x86_64, aarch64) SYSCALL_##name,
enum syscall { SYSCALLS(SYSCALL_ENUM) SYSCALL_COUNT };
#undef SYSCALL_ENUM

struct syscall_entry {
	const char *name;
	int16_t numbers[2]; /* by enum filter_arch; SYSCALL_NONE: there is none */
};

extern const struct syscall_entry syscalls[SYSCALL_COUNT];

/* Numbers that are system calls, or were once. Between the ranges there are none. */
struct syscall_range {
	uint16_t first, last;
};

enum { SYSCALL_RANGES = 3 };

/* In order; unused ones at the end have `last` 0. */
extern const struct syscall_range syscall_ranges[2][SYSCALL_RANGES];
