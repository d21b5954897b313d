/* SPDX-License-Identifier: MIT */
/* See error_name.h. A table, because not every C library has strerrorname_np(). */
#include "base/error_name.h"

#include <errno.h>
#include <stddef.h>

#include "base/macros.h"

#define ERROR_NAMES(X)  \
	X(E2BIG)        \
	X(EACCES)       \
	X(EADDRINUSE)   \
	X(EAFNOSUPPORT) \
	X(EAGAIN)       \
	X(EBADF)        \
	X(EBUSY)        \
	X(ECONNREFUSED) \
	X(EEXIST)       \
	X(EFAULT)       \
	X(EHOSTUNREACH) \
	X(EINVAL)       \
	X(EIO)          \
	X(EISDIR)       \
	X(ELOOP)        \
	X(EMFILE)       \
	X(EMLINK)       \
	X(ENAMETOOLONG) \
	X(ENETUNREACH)  \
	X(ENFILE)       \
	X(ENODEV)       \
	X(ENOENT)       \
	X(ENOEXEC)      \
	X(ENOMEM)       \
	X(ENOSPC)       \
	X(ENOSYS)       \
	X(ENOTDIR)      \
	X(ENOTEMPTY)    \
	X(ENOTSOCK)     \
	X(ENXIO)        \
	X(EOPNOTSUPP)   \
	X(EPERM)        \
	X(EROFS)        \
	X(ETIMEDOUT)    \
	X(EXDEV)

static const struct {
	int number;
	const char *name;
} names[] = {
#define ERROR_ROW(name) { name, #name },
	ERROR_NAMES(ERROR_ROW)
#undef ERROR_ROW
};

const char *error_name(int os_error)
{
	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (names[i].number == os_error)
			return names[i].name;
	return NULL;
}
