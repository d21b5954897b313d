/* SPDX-License-Identifier: MIT */
/*
 * Receives notifications, passes each to its handler, and sends the answer. Refuses every call that
 * has no handler.
 */
#include "linux/notify/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "linux/notify/caller.h"
#include "os/fd.h"

/* Newer than the headers of some systems. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS	   SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND (1UL << 1) /* Linux 5.14 */
#endif

enum { PIDFD_OF_THREAD = O_EXCL }; /* PIDFD_THREAD, Linux 6.9 */

/* A newer kernel's structs may be larger than those of these headers. */
enum { NOTIFY_MAX_BYTES = 512 };
union request {
	struct seccomp_notif it;
	char room[NOTIFY_MAX_BYTES];
};
union response {
	struct seccomp_notif_resp it;
	char room[NOTIFY_MAX_BYTES];
};

/* The C libraries differ in the type of a request. */
static long listener_call(int listener, unsigned long request, void *argument)
{
	return syscall(SYS_ioctl, listener, request, argument);
}

static void respond(const struct engine *engine, uint64_t id, int64_t value, uint32_t flags)
{
	union response response = { .room = { 0 } };

	response.it.id = id;
	response.it.flags = flags;
	if (value < 0)
		response.it.error = (int32_t)value;
	else
		response.it.val = value;
	/* ENOENT: the caller has ended. Nothing else can fail here. */
	(void)listener_call(engine->watcher.fd, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

void engine_reply(struct engine *engine, uint64_t id, int64_t value)
{
	respond(engine, id, value, 0);
}

bool engine_is_waiting(const struct engine *engine, uint64_t id)
{
	return listener_call(engine->watcher.fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

static const struct engine_handler *find_handler(const struct engine *engine, int32_t number)
{
	for (size_t i = 0; i < engine->handler_count; i++)
		if (engine->handlers[i].number == number)
			return &engine->handlers[i];
	return NULL;
}

static void answer(struct engine *engine, const struct engine_call *call, bool is_known)
{
	const struct engine_handler *handler = find_handler(engine, call->number);
	enum engine_answer answer = ENGINE_RETURN;
	int64_t value = -EPERM; /* SECURITY: refuse a call that has no handler. */

	if (handler)
		answer = handler->call(handler->user, engine, call, &value);
	else if (is_known)
		answer = ENGINE_CONTINUE;
	switch (answer) {
	case ENGINE_RETURN:
		respond(engine, call->id, value, 0);
		break;
	case ENGINE_CONTINUE:
		respond(engine, call->id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
		break;
	case ENGINE_LATER:
		break;
	}
}

void engine_go_on(struct engine *engine, const struct engine_call *call)
{
	answer(engine, call, true);
}

static void dispatch(struct engine *engine, const struct engine_call *call)
{
	enum engine_observed seen = OBSERVED_NOT;

	if (engine->observer)
		seen = engine->observer(engine->observer_user, call);
	if (seen != OBSERVED_LATER)
		answer(engine, call, seen == OBSERVED);
}

static int on_ready(void *user, uint32_t events, struct err *e)
{
	struct engine *engine = user;
	union request request = { .room = { 0 } };
	struct engine_call call;

	/*
	 * Receiving without a waiting call would block, and once all processes with the filter have
	 * ended no call will ever come.
	 */
	if (!(events & LOOP_IN)) {
		if (events & LOOP_GONE)
			loop_remove(engine->loop, &engine->watcher);
		return 0;
	}
	if (listener_call(engine->watcher.fd, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0) {
		/* ENOENT: the caller was killed, or a signal interrupted its call. */
		if (errno == ENOENT || errno == EINTR || errno == EAGAIN)
			return 0;
		return FAIL_SYS(e, errno, "can't receive a system call of the command");
	}
	engine->handled++;
	call = (struct engine_call){
		.id = request.it.id,
		.pid = (int32_t)request.it.pid,
		.number = request.it.data.nr,
	};
	for (size_t i = 0; i < COUNT_OF(call.args); i++)
		call.args[i] = request.it.data.args[i];
	dispatch(engine, &call);
	return 0;
}

int engine_start(struct engine *engine, struct loop *loop, int listener, struct err *e)
{
	struct seccomp_notif_sizes sizes = { .seccomp_notif = 0 };

	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
		return FAIL_SYS(e, errno, "can't ask for the size of a notification");
	if (sizes.seccomp_notif > sizeof(union request) ||
	    sizes.seccomp_notif_resp > sizeof(union response))
		return FAIL_SYS(e, EOVERFLOW, "notifications of this kernel are too large");
	*engine = (struct engine){
		.loop = loop,
		/* Urgent: a caller waits for the answer. */
		.watcher = { .fd = listener, .ready = on_ready, .user = engine, .is_urgent = true },
	};
	/* Wakes the caller on the same CPU, which is faster (Linux 6.6). */
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	if (loop_add(loop, &engine->watcher, LOOP_IN, e) < 0) {
		engine->watcher.fd = -1;
		return err_wrap(e, "system calls of the command");
	}
	return 0;
}

void engine_stop(struct engine *engine)
{
	loop_remove(engine->loop, &engine->watcher);
	if (engine->watcher.fd >= 0)
		(void)close(engine->watcher.fd);
	engine->watcher.fd = -1;
}

void engine_handle(struct engine *engine, const struct engine_handler *handler)
{
	if (engine->handler_count < ENGINE_MAX_HANDLERS)
		engine->handlers[engine->handler_count++] = *handler;
}

void engine_observe(struct engine *engine, engine_observer *observer, void *user)
{
	engine->observer = observer;
	engine->observer_user = user;
}

/* ---- The caller's memory ---------------------------------------------------- */

/*
 * For kernels without process_vm_readv(), and filters around this process that
 * refuse it.
 */
static ssize_t read_mem_file(int32_t pid, uint64_t address, void *out, size_t size)
{
	scoped_fd mem = caller_open(pid, "mem", O_RDONLY);

	if (mem < 0)
		return -1;
	if (address > INT64_MAX) {
		errno = EFAULT;
		return -1;
	}
	return pread(mem, out, size, (off_t)address);
}

static int copy_memory(const struct engine_call *call, uint64_t address, void *out, size_t size)
{
	struct iovec here = { .iov_base = out, .iov_len = size };
	struct iovec there = { .iov_len = size };
	ssize_t got;

	memcpy(&there.iov_base, &address, sizeof(there.iov_base));
	got = process_vm_readv(call->pid, &here, 1, &there, 1, 0);
	if (got < 0 && (errno == ENOSYS || errno == EPERM))
		got = read_mem_file(call->pid, address, out, size);
	if (got < 0)
		return errno == EIO ? -EFAULT : -errno;
	return (size_t)got == size ? 0 : -EFAULT;
}

int engine_read(const struct engine *engine, const struct engine_call *call, uint64_t address,
		void *out, size_t size)
{
	int r = size == 0 ? 0 : copy_memory(call, address, out, size);

	/* SECURITY: if the caller has ended, its pid, and so the memory, may be another's. */
	if (r == 0 && size > 0 && !engine_is_waiting(engine, call->id))
		return -ESRCH;
	return r;
}

/* Reads page by page: the page after the end of the string may not be mapped. */
int engine_peek_text(const struct engine_call *call, uint64_t address, char *out, size_t size)
{
	const size_t page = 4096;
	size_t got = 0;

	while (got < size) {
		size_t part = MIN_OF(size - got, page - (address + got) % page);
		int r = copy_memory(call, address + got, out + got, part);

		if (r < 0)
			return r;
		if (memchr(out + got, '\0', part))
			return 0;
		got += part;
	}
	return -ENAMETOOLONG;
}

int engine_read_text(const struct engine *engine, const struct engine_call *call, uint64_t address,
		     char *out, size_t size)
{
	int r = engine_peek_text(call, address, out, size);

	/* SECURITY: as in engine_read(). */
	return r == 0 && !engine_is_waiting(engine, call->id) ? -ESRCH : r;
}

/* ---- The caller's descriptors ----------------------------------------------- */

/*
 * Older kernels can take descriptors only from the main thread. Checks that the calling thread's `fd`
 * is the same file: threads may have separate descriptor tables.
 */
static bool is_same_file(const struct engine_call *call, int fd, int taken)
{
	char path[CALLER_PATH_BYTES];
	struct stat theirs, ours;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", call->pid, fd);
	return stat(path, &theirs) == 0 && fstat(taken, &ours) == 0 &&
	       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

static int take_from_main_thread(const struct engine_call *call, int fd)
{
	struct caller_status status;
	scoped_fd process = -1;
	int taken;

	if (!caller_read_status(call->pid, &status))
		return -ESRCH;
	process = (int)syscall(SYS_pidfd_open, status.process, 0);
	if (process < 0)
		return -errno;
	taken = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	if (taken < 0)
		return -errno;
	if (!is_same_file(call, fd, taken)) {
		(void)close(taken);
		return -EBADF;
	}
	return taken;
}

static int take(const struct engine_call *call, int fd)
{
	scoped_fd thread = (int)syscall(SYS_pidfd_open, call->pid, PIDFD_OF_THREAD);
	int taken;

	if (thread < 0)
		return errno == EINVAL ? take_from_main_thread(call, fd) : -errno;
	taken = (int)syscall(SYS_pidfd_getfd, thread, fd, 0);
	return taken < 0 ? -errno : taken;
}

int engine_take_fd(const struct engine *engine, const struct engine_call *call, int fd)
{
	int taken = take(call, fd);

	/* SECURITY: if the caller has ended, its pid, and so the descriptor, may be another's. */
	if (taken >= 0 && !engine_is_waiting(engine, call->id)) {
		(void)close(taken);
		return -ESRCH;
	}
	return taken;
}

enum engine_answer engine_give_fd(struct engine *engine, const struct engine_call *call, int fd,
				  int flags, int64_t *value)
{
	struct seccomp_notif_addfd add = { .id = call->id,
					   .flags = SECCOMP_ADDFD_FLAG_SEND,
					   .srcfd = (uint32_t)fd,
					   .newfd_flags = (uint32_t)flags };
	long r = listener_call(engine->watcher.fd, SECCOMP_IOCTL_NOTIF_ADDFD, &add);

	if (r >= 0)
		return ENGINE_LATER; /* SECCOMP_ADDFD_FLAG_SEND has answered the call */
	/* Two steps on older kernels. A caller killed between them does no harm. */
	add.flags = 0;
	if (errno == EINVAL)
		r = listener_call(engine->watcher.fd, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
	*value = r < 0 ? -errno : r;
	return ENGINE_RETURN;
}

int engine_replace_fd(struct engine *engine, const struct engine_call *call, int fd, int number,
		      int flags)
{
	struct seccomp_notif_addfd add = { .id = call->id,
					   .flags = SECCOMP_ADDFD_FLAG_SETFD,
					   .srcfd = (uint32_t)fd,
					   .newfd = (uint32_t)number,
					   .newfd_flags = (uint32_t)flags };

	return listener_call(engine->watcher.fd, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0 ? -errno : 0;
}
