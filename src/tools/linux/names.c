/* SPDX-License-Identifier: MIT */
/* See tools/posix/native.h. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/linux/mark.h"
#include "tools/posix/native.h"

/* ---- Names ------------------------------------------------------------------------------------------ */

static enum file_type type_of(unsigned char type)
{
	switch (type) {
	case DT_REG:
		return FILE_REGULAR;
	case DT_DIR:
		return FILE_DIRECTORY;
	case DT_LNK:
		return FILE_LINK;
	case DT_UNKNOWN:
		return FILE_MISSING;
	default:
		return FILE_OTHER;
	}
}

int tools_list(int directory, void *block, size_t bytes, tools_name_fn *each, void *user)
{
	for (;;) {
		long got = syscall(SYS_getdents64, directory, block, bytes);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		for (long at = 0; at < got;) {
			const struct entry *entry = (const void *)((const char *)block + at);
			int r = strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0
					? 0
					: each(user, entry->name, type_of(entry->type));

			if (r)
				return r;
			at += entry->len;
		}
	}
}

/* ---- The worker ------------------------------------------------------------------------------------- */

void tools_die_with_parent(void)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/*
 * There is room for one descriptor. SECURITY:
 * CMSG_SPACE() would be room for two, and the kernel would install both.
 */
ssize_t tools_receive(int fd, void *block, size_t size, int *passed)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { block, size };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = CMSG_LEN(sizeof(int)) };
	ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *found = n < 0 ? NULL : CMSG_FIRSTHDR(&message);

	if (found && found->cmsg_level == SOL_SOCKET && found->cmsg_type == SCM_RIGHTS &&
	    found->cmsg_len == CMSG_LEN(sizeof(int))) {
		fd_close(passed);
		memcpy(passed, CMSG_DATA(found), sizeof(int));
	}
	if (n >= 0 && (message.msg_flags & MSG_CTRUNC)) {
		errno = EPROTO;
		n = -1;
	}
	return n;
}
