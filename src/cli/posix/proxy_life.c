/* SPDX-License-Identifier: MIT */
/* What a token file is here, and the signals of `cordon proxy`. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/posix/signal_fd.h"

const char about_proxy[] =
	"Runs the filtering proxy of a managed network on its own: HTTP and SOCKS5 on one port,\n"
	"with the rules of the profile in force. When it is ready it prints its addresses as\n"
	"one line of JSON. SIGTERM or SIGINT stops it; SIGHUP makes it read the rules again.\n"
	"Nothing forces a program to use it: 'cordon run' does that.";

static bool complain_file(const struct args *args, const char *why)
{
	complain_usage(args, "--token-file '%s': %s", args_text(args, OPT_TOKEN_FILE), why);
	return false;
}

/* The first line of a file that nobody else may read. */
bool proxy_read_token(const struct args *args, char *token, size_t room)
{
	int fd =
		open(args_text(args, OPT_TOKEN_FILE), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return complain_file(args, strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return complain_file(args, "not a regular file");
	}
	if (st.st_mode & 077) {
		close(fd);
		return complain_file(args, "other users can read it; run chmod 600 on it");
	}
	n = read(fd, token, room - 1);
	close(fd);
	if (n < 0)
		return complain_file(args, strerror(errno));
	token[n] = '\0';
	token[strcspn(token, "\r\n")] = '\0';
	return true;
}

void proxy_wipe_token(char *token, size_t bytes)
{
	wipe(token, bytes);
}

bool proxy_life_hold(const struct args *args, struct proxy_life *life)
{
	sigset_t set;

	(void)args;
	*life = (struct proxy_life){ .step_ms = 0 };
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	life->fd = sigprocmask(SIG_BLOCK, &set, NULL) < 0 ? -1 : signal_fd_open(&set);
	if (life->fd < 0)
		perror("cordon: can't wait for signals");
	return life->fd >= 0;
}

bool proxy_life_await(const struct proxy_life *life, int descriptor)
{
	struct pollfd ready[] = {
		{ .fd = life->fd, .events = POLLIN },
		{ .fd = descriptor, .events = POLLIN },
	};

	return poll(ready, COUNT_OF(ready), -1) >= 0 || errno == EINTR;
}

enum proxy_event proxy_life_take(const struct proxy_life *life)
{
	int number;

	if (!signal_fd_take(life->fd, &number, NULL))
		return PROXY_GOES_ON;
	return number == SIGHUP ? PROXY_READS_ANEW : PROXY_ENDS;
}
