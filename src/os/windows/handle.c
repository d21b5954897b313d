/* SPDX-License-Identifier: MIT */
/* See handle.h. */
#include "os/windows/handle.h"

#include <errno.h>

#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/pipe_state.h"

enum { STANDARD = 3, MAX_DESCRIPTORS = 8192 };

struct entry {
	enum handle_kind kind;
	HANDLE handle;
	SOCKET socket;
	struct pipe_state *pipe; /* of HANDLE_READER and HANDLE_WRITER */
	void *object;
	void (*drop)(void *object);
};

/* The places of the standard streams stay empty: those may be changed by the program that we are in. */
static struct entry table[MAX_DESCRIPTORS];
static SRWLOCK lock = SRWLOCK_INIT;

/* ---- The standard streams -------------------------------------------------------------------------- */

static HANDLE standard(int fd)
{
	static const DWORD names[STANDARD] = { STD_INPUT_HANDLE, STD_OUTPUT_HANDLE,
					       STD_ERROR_HANDLE };
	HANDLE handle = GetStdHandle(names[fd]);

	return handle == INVALID_HANDLE_VALUE ? NULL : handle;
}

static enum handle_kind kind_of_file(HANDLE handle)
{
	DWORD mode;

	if (GetFileType(handle) == FILE_TYPE_CHAR && GetConsoleMode(handle, &mode))
		return HANDLE_CONSOLE;
	return HANDLE_FILE;
}

static struct entry look_up(int fd)
{
	struct entry found = { .kind = HANDLE_NONE };

	if (fd >= 0 && fd < STANDARD) {
		found.handle = standard(fd);
		if (found.handle)
			found.kind = kind_of_file(found.handle);
		return found;
	}
	if (fd < 0 || fd >= MAX_DESCRIPTORS)
		return found;
	AcquireSRWLockShared(&lock);
	found = table[fd];
	ReleaseSRWLockShared(&lock);
	return found;
}

/* ---- The table -------------------------------------------------------------------------------------- */

static int put(const struct entry *entry)
{
	int fd = -1;

	AcquireSRWLockExclusive(&lock);
	for (int i = STANDARD; i < MAX_DESCRIPTORS && fd < 0; i++)
		if (table[i].kind == HANDLE_NONE) {
			table[i] = *entry;
			fd = i;
		}
	ReleaseSRWLockExclusive(&lock);
	if (fd < 0)
		errno = EMFILE;
	return fd;
}

static void drop(const struct entry *entry)
{
	switch (entry->kind) {
	case HANDLE_SOCKET:
		(void)closesocket(entry->socket);
		if (entry->drop)
			entry->drop(entry->object);
		break;
	case HANDLE_OBJECT:
		if (entry->drop)
			entry->drop(entry->object);
		break;
	case HANDLE_READER:
	case HANDLE_WRITER:
		if (entry->pipe)
			pipe_state_free(entry->pipe, entry->handle);
		(void)CloseHandle(entry->handle);
		break;
	case HANDLE_FILE:
	case HANDLE_CONSOLE:
	case HANDLE_PROCESS:
	case HANDLE_EVENT:
		(void)CloseHandle(entry->handle);
		break;
	case HANDLE_NONE:
		break;
	}
}

static int put_or_drop(const struct entry *entry)
{
	int fd = put(entry);

	if (fd < 0) {
		drop(entry);
		errno = EMFILE;
	}
	return fd;
}

int handle_add(enum handle_kind kind, void *handle)
{
	if (!handle || handle == INVALID_HANDLE_VALUE)
		return -1;
	/* SECURITY: nothing here is ever inherited. A handle of the console's has no such flag in old Windows. */
	(void)SetHandleInformation(handle, HANDLE_FLAG_INHERIT, 0);
	return put_or_drop(&(struct entry){ .kind = kind, .handle = handle });
}

int handle_add_pipe(enum handle_kind kind, void *handle, struct pipe_state *pipe)
{
	return put_or_drop(&(struct entry){ .kind = kind, .handle = handle, .pipe = pipe });
}

int handle_add_socket(uintptr_t s)
{
	if (s == INVALID_SOCKET)
		return -1;
	(void)SetHandleInformation((HANDLE)s, HANDLE_FLAG_INHERIT, 0);
	return put_or_drop(&(struct entry){ .kind = HANDLE_SOCKET, .socket = s });
}

int handle_add_channel(uintptr_t s, void *object, void (*free_object)(void *object))
{
	(void)SetHandleInformation((HANDLE)s, HANDLE_FLAG_INHERIT, 0);
	return put_or_drop(&(struct entry){
		.kind = HANDLE_SOCKET, .socket = s, .object = object, .drop = free_object });
}

int handle_add_object(void *object, void (*free_object)(void *object))
{
	return put_or_drop(
		&(struct entry){ .kind = HANDLE_OBJECT, .object = object, .drop = free_object });
}

enum handle_kind handle_kind(int fd)
{
	return look_up(fd).kind;
}

void *handle_get(int fd)
{
	const struct entry found = look_up(fd);

	if (!found.handle)
		errno = EBADF;
	return found.handle;
}

uintptr_t handle_socket(int fd)
{
	const struct entry found = look_up(fd);

	if (found.kind == HANDLE_SOCKET)
		return found.socket;
	errno = found.kind == HANDLE_NONE ? EBADF : ENOTSOCK;
	return INVALID_SOCKET;
}

void *handle_object(int fd)
{
	return look_up(fd).object;
}

struct pipe_state *handle_pipe(int fd)
{
	return look_up(fd).pipe;
}

static SOCKET copy_socket(SOCKET s)
{
	WSAPROTOCOL_INFOW info;

	if (WSADuplicateSocketW(s, GetCurrentProcessId(), &info) != 0)
		return INVALID_SOCKET;
	return WSASocketW(FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, &info, 0,
			  WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
}

int handle_copy(int fd)
{
	const struct entry found = look_up(fd);
	HANDLE copy;

	if (found.kind == HANDLE_SOCKET) {
		SOCKET s = copy_socket(found.socket);

		return s == INVALID_SOCKET ? error_set((uint32_t)WSAGetLastError())
					   : handle_add_socket(s);
	}
	/* What a pipe of ours has read ahead belongs to one number alone. */
	if (!found.handle || found.pipe) {
		errno = found.pipe ? EINVAL : EBADF;
		return -1;
	}
	if (!DuplicateHandle(GetCurrentProcess(), found.handle, GetCurrentProcess(), &copy, 0,
			     FALSE, DUPLICATE_SAME_ACCESS))
		return error_set(GetLastError());
	return handle_add(found.kind, copy);
}

void handle_close(int fd)
{
	struct entry gone;

	if (fd < STANDARD || fd >= MAX_DESCRIPTORS)
		return;
	AcquireSRWLockExclusive(&lock);
	gone = table[fd];
	table[fd] = (struct entry){ .kind = HANDLE_NONE };
	ReleaseSRWLockExclusive(&lock);
	drop(&gone);
}

void *handle_wait(int fd, bool for_writing)
{
	const struct entry found = look_up(fd);

	switch (found.kind) {
	case HANDLE_READER:
	case HANDLE_WRITER:
		return pipe_state_wait(found.pipe, found.handle);
	case HANDLE_PROCESS:
	case HANDLE_EVENT:
		return found.handle;
	case HANDLE_CONSOLE:
		return for_writing ? NULL : found.handle;
	case HANDLE_NONE:
	case HANDLE_FILE:
	case HANDLE_SOCKET:
	case HANDLE_OBJECT:
		break;
	}
	return NULL;
}
