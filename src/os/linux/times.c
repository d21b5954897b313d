/* SPDX-License-Identifier: MIT */
/*
 * Times of files, by the raw statx() call: not every C library has it, and the kernel's header
 * conflicts with theirs.
 */
#include "os/times.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { CURRENT_DIRECTORY = -100, NO_FOLLOW = 0x100, EMPTY_PATH = 0x1000 };
enum { MAJOR_SHIFT = 32, SETTLED_NS = 20 * 1000 * 1000, NS_PER_S = 1000 * 1000 * 1000 };

static struct timespec time_of(struct statx_timestamp t)
{
	return (struct timespec){ .tv_sec = t.tv_sec, .tv_nsec = (long)t.tv_nsec };
}

bool os_look_times(const char *path, struct os_times *out)
{
	struct statx st;

	if (syscall(SYS_statx, CURRENT_DIRECTORY, path, NO_FOLLOW, STATX_CTIME | STATX_BTIME, &st) <
	    0)
		return false;
	*out = (struct os_times){ .change = time_of(st.stx_ctime),
				  .birth = time_of(st.stx_btime),
				  .has_birth = (st.stx_mask & STATX_BTIME) != 0 };
	return true;
}

bool os_look_stamp(int directory, const char *path, struct stamp *out)
{
	struct statx st;

	if (syscall(SYS_statx, directory, path, NO_FOLLOW | EMPTY_PATH, STATX_INO | STATX_CTIME,
		    &st) < 0)
		return false;
	*out = (struct stamp){ .device = (uint64_t)st.stx_dev_major << MAJOR_SHIFT |
					 st.stx_dev_minor,
			       .inode = st.stx_ino,
			       .seconds = st.stx_ctime.tv_sec,
			       .nanoseconds = st.stx_ctime.tv_nsec };
	return true;
}

/* File systems that change a directory's time with each name, by the kernel's clock. */
static bool is_exact(int directory)
{
	enum { MAGIC_XFS = 0x58465342 };
	struct statfs fs;

	if (fstatfs(directory, &fs) < 0)
		return false;
	switch ((unsigned long)fs.f_type) {
	case EXT4_SUPER_MAGIC:
	case MAGIC_XFS:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case OVERLAYFS_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

/*
 * SECURITY: trust a stamp only some time after the change. The clock may tick only every 10 ms, so
 * a directory can change twice with the same time, and an old ext4 stores whole seconds. Else a
 * change after the stamp, such as a new file to protect, would go unnoticed.
 */
static bool is_settled(const struct stamp *stamp)
{
	struct timespec now;
	int64_t age;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	age = (now.tv_sec - stamp->seconds) * NS_PER_S + now.tv_nsec - stamp->nanoseconds;
	return stamp->nanoseconds != 0 && age > SETTLED_NS;
}

void os_take_stamp(int directory, struct os_stamp_kind *kind, struct stamp *out)
{
	if (!os_look_stamp(directory, "", out)) {
		out->inode = 0;
		return;
	}
	if (kind->device != out->device)
		*kind = (struct os_stamp_kind){ out->device, is_exact(directory) };
	if (!kind->is_exact || !is_settled(out))
		out->inode = 0;
}

bool os_look_stamp_of(const char *path, struct stamp *out)
{
	return os_look_stamp(AT_FDCWD, path, out);
}

/* The coarse clock is the one that file systems use: the fine one could be ahead of a change. */
void os_take_start(struct timespec *out)
{
	(void)clock_gettime(CLOCK_REALTIME_COARSE, out);
}
