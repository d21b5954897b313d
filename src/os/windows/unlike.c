/* SPDX-License-Identifier: MIT */
/*
 * What Windows has nothing like, or what this version does not build for it: each call says so, and who asked
 * refuses by name. Nothing here pretends to have done anything.
 */
#include <errno.h>

#include "os/outer_sandbox.h"
#include "os/pipe.h"
#include "os/program.h"
#include "os/pty.h"
#include "os/write_signals.h"

static int fail(void)
{
	errno = ENOTSUP;
	return -1;
}

/* ---- Bytes from socket to socket: they are copied ---------------------------------------------------------- */

bool pipe_open(struct pipe *out, size_t bytes)
{
	(void)bytes;
	*out = (struct pipe){ -1, -1 };
	return false;
}

ssize_t pipe_fill(const struct pipe *p, int socket, size_t bytes)
{
	(void)p;
	(void)socket;
	(void)bytes;
	return fail();
}

ssize_t pipe_empty(const struct pipe *p, int socket, size_t bytes)
{
	(void)p;
	(void)socket;
	(void)bytes;
	return fail();
}

/* ---- Programs outside of every sandbox ------------------------------------------------------------------------ */

const char *os_distrust_path(const char *path, char *where, size_t room)
{
	(void)path;
	if (room > 0)
		where[0] = '\0';
	return "can't be judged on Windows in this version";
}

/* SECURITY: what can't be told counts as what the command could change. */
bool os_may_write(const char *path)
{
	(void)path;
	return true;
}

int os_program_open(const char *path, char *start, size_t room)
{
	(void)path;
	(void)start;
	(void)room;
	return -ENOTSUP;
}

int os_program_start(const struct os_program *program, int *helper)
{
	(void)program;
	*helper = -1;
	return -ENOTSUP;
}

void os_program_kill(int helper)
{
	(void)helper;
}

/* ---- A terminal of the command's own ------------------------------------------------------------------------------ */

int os_pty_open(struct os_pty *out)
{
	*out = (struct os_pty)OS_PTY_NONE;
	return -ENOTSUP;
}

void os_pty_close(struct os_pty *pty)
{
	(void)pty;
}

int os_tty_open(void)
{
	return -ENOTSUP;
}

bool os_tty_is(int fd, int terminal)
{
	(void)fd;
	(void)terminal;
	return false;
}

int os_tty_open_lock(int terminal, const char *path)
{
	(void)terminal;
	(void)path;
	return -ENOTSUP;
}

bool os_tty_lock(int lock, bool alone)
{
	(void)lock;
	(void)alone;
	return false;
}

void os_tty_unlock(int lock)
{
	(void)lock;
}

bool os_tty_get_size(int terminal, struct os_tty_size *out)
{
	(void)terminal;
	(void)out;
	return false;
}

void os_tty_set_size(int terminal, const struct os_tty_size *size)
{
	(void)terminal;
	(void)size;
}

int os_tty_get(int terminal, struct terminal_attributes *out)
{
	(void)terminal;
	(void)out;
	return -ENOTSUP;
}

int os_tty_set(int terminal, const struct terminal_attributes *attributes)
{
	(void)terminal;
	(void)attributes;
	return -ENOTSUP;
}

void os_tty_make_raw(struct terminal_attributes *attributes)
{
	(void)attributes;
}

bool os_tty_are_equal(const struct terminal_attributes *a, const struct terminal_attributes *b)
{
	(void)a;
	(void)b;
	return true;
}

bool os_tty_is_stop_key(const struct terminal_attributes *attributes, char byte)
{
	(void)attributes;
	(void)byte;
	return false;
}

ssize_t os_tty_read(int terminal, void *data, size_t room)
{
	(void)terminal;
	(void)data;
	(void)room;
	return -ENOTSUP;
}

ssize_t os_tty_write(int terminal, const void *data, size_t bytes)
{
	(void)terminal;
	(void)data;
	(void)bytes;
	return -ENOTSUP;
}

bool os_tty_discard(int terminal)
{
	(void)terminal;
	return false;
}

/* ---- Signals, other sandboxes: there are none ---------------------------------------------------------------- */

void os_write_signals_block(struct os_write_signals *signals)
{
	signals->before[0] = 0;
}

void os_write_signals_restore(const struct os_write_signals *signals)
{
	(void)signals;
}

const struct os_outer_sandbox *os_outer_sandbox_find(void)
{
	return NULL;
}

const char *os_outer_container(void)
{
	return NULL;
}

const struct os_outer_sandbox *os_outer_sandbox_recognise(const char *const *environment,
							  bool is_confined)
{
	(void)environment;
	(void)is_confined;
	return NULL;
}
