/* SPDX-License-Identifier: MIT */
/* See tools/posix/native.h: what POSIX can do by itself, if not as fast as Linux. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/fd.h"
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

/* By a description of its own, because closedir() closes it. */
static DIR *open_stream(int directory)
{
	int own = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *stream = own < 0 ? NULL : fdopendir(own);

	if (!stream)
		fd_done(&own);
	return stream;
}

int tools_list(int directory, void *block, size_t bytes, tools_name_fn *each, void *user)
{
	DIR *stream = open_stream(directory);
	const struct dirent *entry;
	int r = 0;

	(void)block;
	(void)bytes;
	if (!stream)
		return -errno;
	while (r == 0 && (errno = 0, entry = readdir(stream)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = each(user, entry->d_name, type_of(entry->d_type));
	/* ENOENT: it was removed meanwhile. */
	if (r == 0 && errno != ENOENT)
		r = -errno;
	(void)closedir(stream);
	return r;
}

/* ---- The worker ------------------------------------------------------------------------------------- */

/* Its pipe to the worker then has no reader, and the monitor of the run ends what the worker has started. */
void tools_die_with_parent(void)
{
}

/* There is room for one descriptor. SECURITY: CMSG_SPACE() may be room for two. */
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
	ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT);
	struct cmsghdr *found = n < 0 ? NULL : CMSG_FIRSTHDR(&message);

	if (found && found->cmsg_level == SOL_SOCKET && found->cmsg_type == SCM_RIGHTS &&
	    found->cmsg_len == CMSG_LEN(sizeof(int))) {
		fd_close(passed);
		memcpy(passed, CMSG_DATA(found), sizeof(int));
		(void)fcntl(*passed, F_SETFD, FD_CLOEXEC);
	}
	if (n >= 0 && (message.msg_flags & MSG_CTRUNC)) {
		errno = EPROTO;
		n = -1;
	}
	return n;
}
