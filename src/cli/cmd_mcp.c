/* SPDX-License-Identifier: MIT */
/*
 * cordon mcp: files and commands for an agent, over the Model Context Protocol. On stdout there is
 * nothing but the protocol; all else goes to stderr.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/posix/signal_fd.h"

const char about_mcp[] =
	"Serves the tools read_file, write_file, replace_in_file, delete_file, list_files,\n"
	"search_files, apply_patch, execute_command and open_project to an agent, over the Model\n"
	"Context Protocol on its standard input and output. Files and commands obey the same\n"
	"policy as 'cordon run'. The working directory (-C) is the first project; --root adds\n"
	"others. What is refused, and could be allowed, is asked about in the client. It ends,\n"
	"with all that it started, at the end of its input or at SIGTERM.\n"
	"\n"
	"  claude mcp add cordon -- cordon mcp\n"
	"\n"
	"docs/mcp.md says how to register it with other clients.";

static int hold_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	fd = signal_fd_open(&set);
	sigaddset(&set, SIGPIPE); /* a client that is gone is told by write() */
	return fd >= 0 && sigprocmask(SIG_BLOCK, &set, NULL) < 0 ? -1 : fd;
}

/* Until the client has ended, or a signal says so. */
static int serve(const struct args *args, cordon_mcp *server, int signals)
{
	struct pollfd ready[] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = cordon_mcp_descriptor(server), .events = POLLIN },
	};
	cordon_error *error;
	int state;

	while ((state = cordon_mcp_poll(server, 0, &error)) == 0) {
		if (poll(ready, COUNT_OF(ready), -1) < 0 && errno != EINTR)
			break;
		if (ready[0].revents)
			return 0;
	}
	return state < 0 ? finish_error(args, error) : 0;
}

int cmd_mcp(const struct args *args)
{
	struct cordon_load_options load = args->load;
	struct cordon_run_options run = args->run;
	struct cordon_mcp_options asked = { .size = sizeof(asked) };
	int signals = hold_signals();
	cordon_mcp *server;
	cordon_error *error;
	int status;

	if (signals < 0) {
		perror("cordon: can't wait for signals");
		return EXIT_CORDON;
	}
	if (!args_have(args, OPT_QUIET)) {
		load.on_warning = print_warning;
		asked.on_log = print_warning;
	}
	run.load = &load;
	asked.run = &run;
	asked.roots = args_words(args, OPT_ROOT);
	asked.approve_tool = args_have(args, OPT_APPROVE_TOOL);
	if (cordon_mcp_start(&asked, &server, &error) < 0)
		return finish_error(args, error);
	status = serve(args, server, signals);
	cordon_mcp_stop(server);
	return status;
}
