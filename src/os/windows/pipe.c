/* SPDX-License-Identifier: MIT */
/*
 * Pipes of ours. Windows tells of no pipe whether it can be read or written: a read is begun ahead, into a
 * buffer, and a write is of a copy. Each pipe has one of them under way at a time.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/mem.h"
#include "os/random.h"
#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/pipe_state.h"

enum { ROOM = 64 << 10, NAME_ROOM = 96 };

struct pipe_state {
	OVERLAPPED io; /* its event is set unless something is under way */
	bool we_read, is_connected, is_pending;
	DWORD error; /* that ended it; 0: it goes on */
	size_t filled, taken;
	char bytes[ROOM];
};

/* ---- What is under way ------------------------------------------------------------------------------ */

static void end(struct pipe_state *p, DWORD error)
{
	p->is_pending = false;
	p->error = error;
	(void)SetEvent(p->io.hEvent);
}

/* An overlapped call has returned `done`. */
static void note_begun(struct pipe_state *p, BOOL done)
{
	DWORD error = done ? 0 : GetLastError();

	p->is_pending = true;
	if (error == ERROR_PIPE_CONNECTED) {
		p->is_connected = true;
		p->is_pending = false;
	} else if (error && error != ERROR_IO_PENDING) {
		end(p, error);
	}
}

/* True: nothing is under way. */
static bool look(struct pipe_state *p, HANDLE handle)
{
	DWORD bytes = 0;

	if (!p->is_pending)
		return true;
	if (!GetOverlappedResult(handle, &p->io, &bytes, FALSE)) {
		if (GetLastError() == ERROR_IO_INCOMPLETE)
			return false;
		end(p, GetLastError());
		return true;
	}
	p->is_pending = false;
	if (!p->is_connected) {
		p->is_connected = true;
	} else if (p->we_read) {
		p->filled = bytes;
		p->taken = 0;
	}
	return true;
}

static void reset(struct pipe_state *p)
{
	(void)ResetEvent(p->io.hEvent);
	p->io.Offset = p->io.OffsetHigh = 0;
}

/* True: nothing is under way, and the other end is there. */
static bool await_other(struct pipe_state *p, HANDLE handle)
{
	if (!look(p, handle))
		return false;
	if (p->is_connected || p->error)
		return true;
	reset(p);
	note_begun(p, ConnectNamedPipe(handle, &p->io));
	if (p->is_connected)
		(void)SetEvent(p->io.hEvent);
	return !p->is_pending;
}

/* True: there are bytes, or the end. A write of no bytes at the other end is no end. */
static bool await_bytes(struct pipe_state *p, HANDLE handle)
{
	for (int i = 0; i < 4; i++) {
		if (!await_other(p, handle))
			return false;
		if (p->taken < p->filled || p->error)
			return true;
		reset(p);
		note_begun(p, ReadFile(handle, p->bytes, ROOM, NULL, &p->io));
	}
	return look(p, handle) && (p->taken < p->filled || p->error);
}

void *pipe_state_wait(struct pipe_state *p, void *handle)
{
	if (p->we_read)
		(void)await_bytes(p, handle);
	else
		(void)await_other(p, handle);
	return p->io.hEvent;
}

void pipe_state_free(struct pipe_state *p, void *handle)
{
	DWORD bytes;

	/* The system writes into it until the call is over. */
	if (p->is_pending && CancelIoEx(handle, &p->io))
		(void)GetOverlappedResult(handle, &p->io, &bytes, TRUE);
	else if (p->is_pending)
		(void)GetOverlappedResult(handle, &p->io, &bytes, FALSE);
	(void)CloseHandle(p->io.hEvent);
	mem_free(p);
}

/* ---- Reading and writing ------------------------------------------------------------------------------ */

long long pipe_read(int fd, void *out, size_t room)
{
	struct pipe_state *p = handle_pipe(fd);
	size_t n;

	if (!p || !p->we_read)
		return -EBADF;
	if (!await_bytes(p, handle_get(fd)))
		return -EAGAIN;
	n = MIN_OF(room, p->filled - p->taken);
	if (n == 0)
		return p->error == ERROR_BROKEN_PIPE || p->error == ERROR_PIPE_NOT_CONNECTED
			       ? 0
			       : -error_number(p->error);
	memcpy(out, p->bytes + p->taken, n);
	p->taken += n;
	return (long long)n;
}

size_t pipe_count(int fd)
{
	const struct pipe_state *p = handle_pipe(fd);

	return p && p->we_read && await_bytes(handle_pipe(fd), handle_get(fd))
		       ? p->filled - p->taken
		       : 0;
}

long long pipe_write(int fd, const void *data, size_t bytes)
{
	struct pipe_state *p = handle_pipe(fd);
	size_t n = MIN_OF(bytes, (size_t)ROOM);

	if (!p || p->we_read)
		return -EBADF;
	if (!await_other(p, handle_get(fd)))
		return -EAGAIN;
	if (p->error)
		return -error_number(p->error);
	memcpy(p->bytes, data, n);
	reset(p);
	note_begun(p, WriteFile(handle_get(fd), p->bytes, (DWORD)n, NULL, &p->io));
	return p->error ? -error_number(p->error) : (long long)n;
}

/* ---- Making them ---------------------------------------------------------------------------------------- */

static struct pipe_state *new_state(bool we_read)
{
	struct err e = ERR_INIT;
	struct pipe_state *p = mem_new(sizeof(*p), &e);

	if (!p)
		return NULL;
	p->we_read = we_read;
	p->io.hEvent = CreateEventW(NULL, TRUE, TRUE, NULL);
	if (!p->io.hEvent) {
		mem_free(p);
		return NULL;
	}
	return p;
}

static int add_end(HANDLE handle, bool we_read, int *out)
{
	struct pipe_state *p = new_state(we_read);
	int fd;

	if (!p) {
		(void)CloseHandle(handle);
		return -ENOMEM;
	}
	fd = handle_add_pipe(we_read ? HANDLE_READER : HANDLE_WRITER, handle, p);
	if (fd < 0)
		return -EMFILE;
	*out = fd;
	return 0;
}

/*
 * SECURITY: one instance, the first of its name: who has made a pipe of that name before, or connects before the
 * client does for which it is meant, only makes this fail.
 */
static HANDLE make_end(const wchar_t *name, bool we_read, SECURITY_ATTRIBUTES *rights)
{
	return CreateNamedPipeW(name,
				(we_read ? PIPE_ACCESS_INBOUND : PIPE_ACCESS_OUTBOUND) |
					FILE_FLAG_OVERLAPPED | FILE_FLAG_FIRST_PIPE_INSTANCE,
				PIPE_TYPE_BYTE | PIPE_REJECT_REMOTE_CLIENTS, 1, ROOM, ROOM, 0,
				rights);
}

static int make_name(wchar_t name[NAME_ROOM])
{
	static _Atomic unsigned counter;
	unsigned long long random[2];
	int r = os_random(random, sizeof(random));

	if (r < 0)
		return r;
	(void)swprintf(name, NAME_ROOM, L"\\\\.\\pipe\\cordon-%lx-%x-%llx%llx",
		       (unsigned long)GetCurrentProcessId(), atomic_fetch_add(&counter, 1),
		       random[0], random[1]);
	return 0;
}

int pipe_ends(bool we_read, int *ours, int *theirs)
{
	wchar_t name[NAME_ROOM];
	HANDLE server, client;
	int r = make_name(name), fd;

	if (r < 0)
		return r;
	server = make_end(name, we_read, NULL);
	if (server == INVALID_HANDLE_VALUE)
		return -error_last();
	client = CreateFileW(name, we_read ? GENERIC_WRITE | FILE_READ_ATTRIBUTES : GENERIC_READ, 0,
			     NULL, OPEN_EXISTING, SECURITY_SQOS_PRESENT | SECURITY_ANONYMOUS, NULL);
	if (client == INVALID_HANDLE_VALUE) {
		r = -error_last();
		(void)CloseHandle(server);
		return r;
	}
	fd = handle_add(HANDLE_FILE, client);
	if (fd < 0) {
		(void)CloseHandle(server);
		return -EMFILE;
	}
	r = add_end(server, we_read, ours);
	if (r < 0) {
		handle_close(fd);
		return r;
	}
	*theirs = fd;
	return 0;
}

int pipe_listen(const wchar_t *name, const wchar_t *sddl, bool we_read, int *ours)
{
	SECURITY_ATTRIBUTES rights = { .nLength = sizeof(rights) };
	HANDLE server;
	int r;

	if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(
		    sddl, SDDL_REVISION_1, &rights.lpSecurityDescriptor, NULL))
		return -error_last();
	server = make_end(name, we_read, &rights);
	r = server == INVALID_HANDLE_VALUE ? -error_last() : 0;
	(void)LocalFree(rights.lpSecurityDescriptor);
	return r < 0 ? r : add_end(server, we_read, ours);
}

uint32_t pipe_client(int fd)
{
	struct pipe_state *p = handle_pipe(fd);
	ULONG id;

	if (!p || !await_other(p, handle_get(fd)))
		return 0;
	return GetNamedPipeClientProcessId(handle_get(fd), &id) ? id : 0;
}
