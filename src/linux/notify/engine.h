/* SPDX-License-Identifier: MIT */
/*
 * The seccomp-notification engine. A filter chain has only one listener, so everything that answers
 * system calls of the command is a handler of this engine: connects, metadata, streams. To add one,
 * put the call's number into filter/syscalls.h, a rule into filter/filter.c, and a row into the
 * table of handlers in a file of this directory.
 *
 * SECURITY: a call's arguments point into the command's memory, and another thread can change that,
 * or what a descriptor number means, at any time. So a handler copies what it checks, acts on
 * the copy for the caller, and answers with the result. ENGINE_CONTINUE makes the kernel read the
 * arguments again: use it only where mounts and filter enforce the same without the handler.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "os/loop.h"

struct engine_call {
	uint64_t id;
	int32_t pid; /* of the calling thread, in this process's pid namespace */
	int32_t number;
	uint64_t args[6];
};

enum engine_answer {
	ENGINE_RETURN,	 /* `value` >= 0 is the result, < 0 is -errno */
	ENGINE_CONTINUE, /* see above */
	ENGINE_LATER,	 /* engine_reply() will be called */
};

struct engine;
struct engine_handler {
	int32_t number; /* of the system call */
	enum engine_answer (*call)(void *user, struct engine *engine,
				   const struct engine_call *call, int64_t *value);
	void *user;
};

enum { ENGINE_MAX_HANDLERS = 48 };

/*
 * Sees each call before it is answered. SECURITY: OBSERVED only for calls that the filter would
 * allow if there were no observer (names_writes and names_reads of filter.h), because the kernel
 * alone decides about them.
 */
enum engine_observed {
	OBSERVED_NOT,	/* it does not know this call */
	OBSERVED,	/* the call may continue if no handler answers it */
	OBSERVED_LATER, /* engine_go_on() or another answer will come, or has come */
};
typedef enum engine_observed engine_observer(void *user, const struct engine_call *call);

struct engine {
	struct loop *loop;
	struct watcher watcher;
	struct engine_handler handlers[ENGINE_MAX_HANDLERS];
	size_t handler_count;
	engine_observer *observer; /* NULL: none */
	void *observer_user;
	uint64_t handled; /* calls, for the report */
};

/* Takes over `listener`. ERR_SYS. */
int engine_start(struct engine *engine, struct loop *loop, int listener, struct err *e)
	MUST_CHECK NONNULL;
void engine_stop(struct engine *engine) NONNULL;

void engine_handle(struct engine *engine, const struct engine_handler *handler) NONNULL;

void engine_observe(struct engine *engine, engine_observer *observer, void *user) NONNULL;

/* Answers a call that was ENGINE_LATER. Does nothing if the caller has ended. */
void engine_reply(struct engine *engine, uint64_t id, int64_t value) NONNULL;

/*
 * Answers a call that was OBSERVED_LATER as if it had been OBSERVED: its handler does, or it
 * continues.
 */
void engine_go_on(struct engine *engine, const struct engine_call *call) NONNULL;

/* Whether the caller still waits. If so, /proc/PID read before this call was the caller's. */
bool engine_is_waiting(const struct engine *engine, uint64_t id) NONNULL;

/* ---- What handlers need of the caller -------------------------------------- */

/* Copies `size` bytes of its memory. 0 or -errno. */
int engine_read(const struct engine *engine, const struct engine_call *call, uint64_t address,
		void *out, size_t size) MUST_CHECK NONNULL;

/* Copies a string with its NUL. 0, -ENAMETOOLONG when it does not fit, or -errno. */
int engine_read_text(const struct engine *engine, const struct engine_call *call, uint64_t address,
		     char *out, size_t size) MUST_CHECK NONNULL;

/*
 * The same with one system call less. SECURITY: it may be another process's string, if the caller has
 * ended: nothing may rest on it before engine_is_waiting() has been true.
 */
int engine_peek_text(const struct engine_call *call, uint64_t address, char *out, size_t size)
	MUST_CHECK NONNULL;

/* A descriptor of this process for the caller's descriptor `fd`: the descriptor or -errno. */
int engine_take_fd(const struct engine *engine, const struct engine_call *call, int fd)
	MUST_CHECK NONNULL;

/*
 * Gives the caller a copy of `fd` as the result of its call; close-on-exec if `flags` has O_CLOEXEC.
 * A handler returns this as its answer.
 */
enum engine_answer engine_give_fd(struct engine *engine, const struct engine_call *call, int fd,
				  int flags, int64_t *value) MUST_CHECK NONNULL;

/*
 * Puts a copy of `fd` in the place of the caller's descriptor `number`, as dup3() with `flags` does.
 * The call still has to be answered. 0 or -errno.
 */
int engine_replace_fd(struct engine *engine, const struct engine_call *call, int fd, int number,
		      int flags) MUST_CHECK NONNULL;
