/* SPDX-License-Identifier: MIT */
/*
 * The one seccomp-notification engine. A filter chain has one listener, so all
 * who want to hear of system calls (unix connects now; denials, held calls and
 * TCP connects later) are handlers of this engine.
 *
 * SECURITY: what a call points to is the command's memory and may change at any
 * time; so may what a descriptor number means. A handler therefore copies what it
 * judges, acts on the copy itself (on the caller's behalf), and answers with the
 * result. ENGINE_CONTINUE lets the kernel look again: only where the mounts and
 * the filter enforce the same anyway.
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

struct engine {
	struct loop *loop;
	struct watcher watcher;
	struct engine_handler handlers[ENGINE_MAX_HANDLERS];
	size_t handler_count;
	uint64_t handled; /* calls, for the report */
};

/* Takes over `listener`. ERR_SYS. */
int engine_start(struct engine *engine, struct loop *loop, int listener, struct err *e)
	MUST_CHECK NONNULL;
void engine_stop(struct engine *engine) NONNULL;

void engine_handle(struct engine *engine, const struct engine_handler *handler) NONNULL;

/* Answers a call that was ENGINE_LATER. The caller may be gone: that is fine. */
void engine_reply(struct engine *engine, uint64_t id, int64_t value) NONNULL;

/* Whether the caller still waits: what was read from /proc/PID since was its own. */
bool engine_is_waiting(const struct engine *engine, uint64_t id) NONNULL;

/* ---- What handlers need of the caller -------------------------------------- */

/* Copies `size` bytes of its memory. 0 or -errno. */
int engine_read(const struct engine *engine, const struct engine_call *call, uint64_t address,
		void *out, size_t size) MUST_CHECK NONNULL;

/* Copies a string with its NUL. 0, -ENAMETOOLONG when it does not fit, or -errno. */
int engine_read_text(const struct engine *engine, const struct engine_call *call, uint64_t address,
		     char *out, size_t size) MUST_CHECK NONNULL;

/* A descriptor of this process for the caller's descriptor `fd`: the descriptor or -errno. */
int engine_take_fd(const struct engine *engine, const struct engine_call *call, int fd)
	MUST_CHECK NONNULL;

/*
 * The other way: the caller gets a copy of `fd`, whose number is its result, close-on-exec when
 * `flags` has O_CLOEXEC. For handlers, whose answer this is.
 */
enum engine_answer engine_give_fd(struct engine *engine, const struct engine_call *call, int fd,
				  int flags, int64_t *value) MUST_CHECK NONNULL;
