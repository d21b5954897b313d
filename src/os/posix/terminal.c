/* SPDX-License-Identifier: MIT */
/* See terminal.h. */
#include "os/terminal.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "os/child.h"
#include "os/os.h"

void terminal_find(struct terminal *t)
{
	*t = (struct terminal){ .fd = -1, .own_group = getpgrp() };
	/* Fails for a terminal that is not the controlling one. */
	for (int fd = 0; fd < 3 && t->fd < 0; fd++)
		if (tcgetpgrp(fd) >= 0)
			t->fd = fd;
	if (t->fd < 0) {
		t->fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
		t->owns_fd = t->fd >= 0;
	} else if (ttyname_r(t->fd, t->path, sizeof(t->path)) != 0) {
		t->path[0] = '\0';
	}
}

bool terminal_is_ours(const struct terminal *t)
{
	return t->fd >= 0 && tcgetpgrp(t->fd) == t->own_group;
}

bool terminal_is_given_at_once(const struct terminal *t, int output)
{
	struct sigaction ttin;

	return terminal_is_ours(t) && (isatty(output) || (sigaction(SIGTTIN, NULL, &ttin) == 0 &&
							  ttin.sa_handler == SIG_IGN));
}

/*
 * Whether what has the terminal was started by a process of our group: in a
 * pipeline of several runs each has a command with a group of its own, and the
 * shell knows only ours.
 */
static bool is_of_our_job(const struct terminal *t)
{
	pid_t group = t->fd >= 0 ? tcgetpgrp(t->fd) : -1;
	pid_t parent = group > 0 ? os_parent_of(group) : 0;

	return parent > 0 && getpgid(parent) == t->own_group;
}

static void set_attributes(const struct terminal *t)
{
	struct termios attributes;
	sigset_t ttou;
	sigset_t before;

	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	pthread_sigmask(SIG_BLOCK, &ttou, &before);
	memcpy(&attributes, t->attributes.bytes, sizeof(attributes));
	(void)tcsetattr(t->fd, TCSADRAIN, &attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void terminal_will_give(struct terminal *t)
{
	struct termios attributes;

	_Static_assert(sizeof(attributes) <= sizeof(t->attributes.bytes), "no room for them");
	t->was_given = true;
	t->has_attributes = tcgetattr(t->fd, &attributes) == 0;
	if (t->has_attributes)
		memcpy(t->attributes.bytes, &attributes, sizeof(attributes));
}

static void give(struct terminal *t, pid_t group)
{
	if (!t->was_given)
		terminal_will_give(t);
	os_set_foreground(t->fd, group);
}

/*
 * What was typed stops all of our job, as the terminal would have done it. What
 * the command did to itself is no reason to stop anyone but this process.
 */
void terminal_stop_self(int number, bool is_typed)
{
	sigset_t one;
	sigset_t before;

	sigemptyset(&one);
	sigaddset(&one, number);
	pthread_sigmask(SIG_UNBLOCK, &one, &before);
	if (number == SIGSTOP || !is_typed)
		(void)kill(getpid(), number);
	else
		(void)kill(0, number);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void terminal_stop(struct terminal *t, pid_t group, int number, bool is_typed)
{
	bool wants_terminal = number == SIGTTIN || number == SIGTTOU;

	/*
	 * Brought to the foreground without being told, as fg does with a running job; or
	 * another of our job was faster: the one that asks last has it.
	 */
	if (wants_terminal && (terminal_is_ours(t) || is_of_our_job(t))) {
		give(t, group);
		return;
	}
	if (t->fd >= 0 && tcgetpgrp(t->fd) == group)
		os_set_foreground(t->fd, t->own_group);
	terminal_stop_self(number, is_typed);
	/*
	 * Continued; or never stopped, because nobody is there who could continue us (an
	 * orphaned group ignores the terminal's stops): then the command is not to stop either.
	 */
	if (terminal_is_ours(t))
		give(t, group);
}

void terminal_done(struct terminal *t, pid_t group, bool was_killed)
{
	if (t->fd < 0)
		return;
	if (t->was_given && tcgetpgrp(t->fd) == group)
		os_set_foreground(t->fd, t->own_group);
	if (t->was_given && was_killed && t->has_attributes && terminal_is_ours(t))
		set_attributes(t);
	if (t->owns_fd)
		close(t->fd);
	t->fd = -1;
}
