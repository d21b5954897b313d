/* SPDX-License-Identifier: MIT */
/* `cordon proxy` until Ctrl-C or Ctrl-Break. There is no signal that would make it read its rules again. */
#include <windows.h>

#include "cli/cli.h"
#include "cli/system.h"

const char about_proxy[] =
	"Runs the filtering proxy of a managed network on its own: HTTP and SOCKS5 on one port,\n"
	"with the rules of the profile in force. When it is ready it prints its addresses as\n"
	"one line of JSON. Ctrl-C or Ctrl-Break stops it. Nothing forces a program to use it, and\n"
	"on Windows it is not confined itself.\n";

/* SECURITY: whether others can read a file is not looked at here, so none is taken. */
bool proxy_read_token(const struct args *args, char *token, size_t room)
{
	(void)token;
	(void)room;
	complain(args, "other_platform",
		 "--token-file is not built for Windows in this version; use --token-env");
	return false;
}

void proxy_wipe_token(char *token, size_t bytes)
{
	(void)SecureZeroMemory(token, bytes);
}

bool proxy_life_hold(const struct args *args, struct proxy_life *life)
{
	struct signals signals;

	*life = (struct proxy_life){ .fd = -1, .step_ms = step_ms };
	if (find_verbosity(args) != SAY_LITTLE)
		print_warning(
			NULL,
			"on Windows the proxy is not confined: it runs with all your rights, and "
			"writes no log");
	if (signals_hold(&signals))
		return true;
	print_error("can't wait for Ctrl-C");
	return false;
}

bool proxy_life_await(const struct proxy_life *life, int descriptor)
{
	(void)life;
	(void)descriptor;
	return true;
}

enum proxy_event proxy_life_take(const struct proxy_life *life)
{
	(void)life;
	return signals_end_the_start() ? PROXY_ENDS : PROXY_GOES_ON;
}
