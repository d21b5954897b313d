/* SPDX-License-Identifier: MIT */
/* cordon proxy: the filtering proxy alone, until a signal ends it. */
#include <stdlib.h>

#include "cli/cli.h"

enum { TOKEN_BYTES = 256 };

/* ---- The token ------------------------------------------------------------------------- */

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
		return proxy_read_token(args, token, TOKEN_BYTES);
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

static int serve(const struct args *args, cordon_proxy *proxy, const struct proxy_life *life)
{
	enum proxy_event event;
	cordon_error *error;

	do {
		if (!proxy_life_await(life, cordon_proxy_descriptor(proxy)))
			break;
		if (cordon_proxy_poll(proxy, life->step_ms, &error) < 0)
			return finish_error(args, error);
		while ((event = proxy_life_take(life)) == PROXY_READS_ANEW)
			reload(args, proxy);
	} while (event != PROXY_ENDS);
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
	struct proxy_life life;
	int status;

	if (!find_token(args, read_token, &token))
		return EXIT_CORDON;
	if (!proxy_life_hold(args, &life))
		return EXIT_CORDON;
	proxy = start(args, token);
	proxy_wipe_token(read_token, sizeof(read_token));
	if (!proxy)
		return EXIT_CORDON;
	(void)printf("{\"http\":\"%s\",\"socks\":\"%s\"}\n", cordon_proxy_address(proxy),
		     cordon_proxy_address(proxy));
	status = finish_output(0);
	if (status == 0)
		status = serve(args, proxy, &life);
	if (cordon_proxy_stop(proxy, &error) < 0)
		status = finish_error(args, error);
	return status;
}
