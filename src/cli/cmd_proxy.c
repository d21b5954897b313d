/* SPDX-License-Identifier: MIT */
/* cordon proxy: the filtering proxy alone, until a signal ends it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
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

enum { TOKEN_BYTES = 256 };

/* ---- The token ------------------------------------------------------------------------- */

static bool complain_file(const struct args *args, const char *why)
{
	complain_usage(args, "--token-file '%s': %s", args_text(args, OPT_TOKEN_FILE), why);
	return false;
}

/* The first line of a file that nobody else may read. */
static bool read_token_file(const struct args *args, char token[TOKEN_BYTES])
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
	n = read(fd, token, TOKEN_BYTES - 1);
	close(fd);
	if (n < 0)
		return complain_file(args, strerror(errno));
	token[n] = '\0';
	token[strcspn(token, "\r\n")] = '\0';
	return true;
}

/* Never an option's value: that everybody on the host can read. */
static bool find_token(const struct args *args, char token[TOKEN_BYTES], const char **out)
{
	const char *variable = args_text(args, OPT_TOKEN_ENV);
	const char *value;

	*out = NULL;
	if (args_have(args, OPT_TOKEN_FILE) && variable) {
		complain_conflict(args, "--token-file", "--token-env");
		return false;
	}
	if (args_have(args, OPT_TOKEN_FILE)) {
		*out = token;
		return read_token_file(args, token);
	}
	if (!variable)
		return true;
	value = getenv(variable);
	if (!value) {
		complain_usage(args, "--token-env %s: the variable is not set", variable);
		return false;
	}
	*out = value;
	return true;
}

/* ---- Running ------------------------------------------------------------------------------ */

static int hold_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -1;
	return signal_fd_open(&set);
}

/* A configuration that is wrong now leaves the proxy as it was. */
static void reload(const struct args *args, cordon_proxy *proxy)
{
	struct cordon_load_options load = args->load;
	cordon_policy *policy;
	cordon_error *error;

	load.flags = CORDON_LOAD_HOSTS_ONLY;
	show_warnings(args, &load);
	if (cordon_policy_load(&load, &policy, &error) < 0) {
		(void)finish_error(args, error);
		print_warning(NULL, "the rules stay as they were");
		return;
	}
	/* Whether they do then, its text says. */
	if (cordon_proxy_reload(proxy, policy, &error) < 0)
		(void)finish_error(args, error);
	else if (!args_have(args, OPT_QUIET))
		(void)fputs("cordon: the rules were read anew\n", stderr);
	cordon_policy_free(policy);
}

/* False when it is to end. */
static bool take_signals(const struct args *args, cordon_proxy *proxy, int fd)
{
	bool goes_on = true;
	int number;

	while (signal_fd_take(fd, &number, NULL)) {
		if (number == SIGHUP)
			reload(args, proxy);
		else
			goes_on = false;
	}
	return goes_on;
}

static int serve(const struct args *args, cordon_proxy *proxy, int signals)
{
	struct pollfd ready[] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = cordon_proxy_descriptor(proxy), .events = POLLIN },
	};
	cordon_error *error;

	do {
		if (poll(ready, COUNT_OF(ready), -1) < 0 && errno != EINTR)
			break;
		if (cordon_proxy_poll(proxy, 0, &error) < 0)
			return finish_error(args, error);
	} while (take_signals(args, proxy, signals));
	return 0;
}

static cordon_proxy *start(const struct args *args, const char *token)
{
	struct cordon_load_options load = args->load;
	struct cordon_proxy_options asked = { .size = sizeof(asked) };
	cordon_proxy *proxy = NULL;
	cordon_policy *policy;
	cordon_error *error;

	asked.listen = args_text(args, OPT_LISTEN);
	asked.audit = args->run.audit_file;
	asked.token = token;
	load.flags = CORDON_LOAD_HOSTS_ONLY;
	show_warnings(args, &load);
	if (cordon_policy_load(&load, &policy, &error) < 0) {
		(void)finish_error(args, error);
		return NULL;
	}
	if (cordon_proxy_start(policy, &asked, &proxy, &error) < 0)
		(void)finish_error(args, error);
	cordon_policy_free(policy);
	return proxy;
}

int cmd_proxy(const struct args *args)
{
	char read_token[TOKEN_BYTES];
	const char *token;
	cordon_proxy *proxy;
	cordon_error *error;
	int signals, status;

	if (!find_token(args, read_token, &token))
		return EXIT_CORDON;
	signals = hold_signals();
	if (signals < 0) {
		perror("cordon: can't wait for signals");
		return EXIT_CORDON;
	}
	proxy = start(args, token);
	wipe(read_token, sizeof(read_token));
	if (!proxy)
		return EXIT_CORDON;
	(void)printf("{\"http\":\"%s\",\"socks\":\"%s\"}\n", cordon_proxy_address(proxy),
		     cordon_proxy_address(proxy));
	status = finish_output(0);
	if (status == 0)
		status = serve(args, proxy, signals);
	if (cordon_proxy_stop(proxy, &error) < 0)
		status = finish_error(args, error);
	return status;
}
