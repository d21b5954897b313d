/* SPDX-License-Identifier: MIT */
/*
 * Words to struct args. Options may stand anywhere, also before the command;
 * "--" ends them, and so does the first word of a command to run: what follows
 * is that command's. "--name value", "--name=value", "-X value" and "-Xvalue"
 * are the same.
 */
#include <string.h>

#include "cli/cli.h"

struct words {
	int count;
	char **items;
	int at;
	bool options_ended;
};

static bool add_to(struct args *args, struct listed *list, const char *names, const char *text)
{
	if (list->count == MAX_LISTED) {
		complain_usage(args, "more than %d of %s", MAX_LISTED, names);
		return false;
	}
	if (!list->items)
		list->items = args->lists[args->list_count++];
	list->items[list->count++] = text;
	return true;
}

static bool add_override(struct args *args, const char *text)
{
	return add_to(args, &args->overrides, "--config, --enable and --disable", text);
}

static bool add_feature(struct args *args, const char *name, const char *value)
{
	char *text = args->features + args->feature_bytes;
	size_t room = sizeof(args->features) - args->feature_bytes;
	int n = snprintf(text, room, "features.%s=%s", name, value);

	if (n < 0 || (size_t)n >= room) {
		complain_usage(args, "the features named are too long");
		return false;
	}
	args->feature_bytes += (size_t)n + 1;
	return add_override(args, text);
}

/* Two different values for one of these would leave a script guessing. */
static bool set_once(struct args *args, const char **place, const char *name, const char *value)
{
	if (*place && strcmp(*place, value) != 0) {
		complain_usage(args, "%s is given twice, '%s' and '%s'", name, *place, value);
		return false;
	}
	*place = value;
	return true;
}

/* Options that are kept as they are written. */
static bool set_text(struct args *args, const struct option *option, const char *value)
{
	const struct {
		enum option_id id;
		const char **place;
	} texts[] = {
		{ OPT_PLATFORM, &args->platform },   { OPT_BACKEND, &args->backend },
		{ OPT_SANDBOX, &args->sandbox },     { OPT_REPORT, &args->report },
		{ OPT_AUDIT, &args->audit },	     { OPT_RUN, &args->run },
		{ OPT_SINCE, &args->since },	     { OPT_LISTEN, &args->listen },
		{ OPT_TOKEN_ENV, &args->token_env }, { OPT_TOKEN_FILE, &args->token_file },
	};
	char name[64];

	(void)snprintf(name, sizeof(name), "--%s", option->name);
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (texts[i].id == option->id)
			return set_once(args, texts[i].place, name, value);
	return false;
}

static bool set_config_file(struct args *args, const char *value)
{
	if (strcmp(value, "-") == 0) {
		complain_usage(args, "--config-file needs a file that can be protected; only "
				     "'cordon check -' reads the standard input");
		return false;
	}
	return set_once(args, &args->load.config_file, "--config-file", value);
}

static bool set_network(struct args *args, const char *value)
{
	if (strcmp(value, "off") != 0 && strcmp(value, "managed") != 0 &&
	    strcmp(value, "full") != 0) {
		complain_usage(args, "--network can't be '%s'; it is off, managed or full", value);
		return false;
	}
	return set_once(args, &args->load.network, "--network", value);
}

static bool set_timeout(struct args *args, const char *value)
{
	uint64_t ms = 0;
	const char *wrong = parse_duration(value, &ms);

	if (wrong) {
		complain_usage(args, "--timeout '%s' %s", value, wrong);
		return false;
	}
	if (args->timeout_ms && args->timeout_ms != ms) {
		complain_usage(args, "--timeout is given twice, and the times differ");
		return false;
	}
	args->timeout_ms = ms;
	return true;
}

static bool add_env(struct args *args, const char *value)
{
	if (value[0] == '\0' || value[0] == '=') {
		complain_usage(args,
			       "--env '%s' names no variable; write NAME=VALUE, or NAME alone",
			       value);
		return false;
	}
	return add_to(args, &args->env, "--env", value);
}

static bool take_option(struct args *args, const struct option *option, const char *value)
{
	args->seen |= OPT_BIT(option->id);
	switch (option->id) {
	case OPT_PROFILE:
		return set_once(args, &args->load.profile, "--profile", value);
	case OPT_MODE:
		return set_once(args, &args->load.mode, "--mode", value);
	case OPT_DIRECTORY:
		return set_once(args, &args->load.directory, "-C", value);
	case OPT_WORKSPACE:
		return set_once(args, &args->load.workspace, "--workspace", value);
	case OPT_CONFIG_FILE:
		return set_config_file(args, value);
	case OPT_NETWORK:
		return set_network(args, value);
	case OPT_PLATFORM:
	case OPT_BACKEND:
	case OPT_SANDBOX:
	case OPT_REPORT:
	case OPT_AUDIT:
	case OPT_RUN:
	case OPT_SINCE:
	case OPT_LISTEN:
	case OPT_TOKEN_FILE:
	case OPT_TOKEN_ENV:
		return set_text(args, option, value);
	case OPT_TIMEOUT:
		return set_timeout(args, value);
	case OPT_CONFIG:
		return add_override(args, value);
	case OPT_ENABLE:
		return add_feature(args, value, "true");
	case OPT_DISABLE:
		return add_feature(args, value, "false");
	case OPT_ADD_READ:
		return add_to(args, &args->add_read, "--add-read", value);
	case OPT_ADD_WRITE:
		return add_to(args, &args->add_write, "--add-write", value);
	case OPT_DENY:
		return add_to(args, &args->deny, "--deny", value);
	case OPT_UNPROTECT:
		return add_to(args, &args->unprotect, "--unprotect", value);
	case OPT_ALLOW_HOST:
		return add_to(args, &args->allow_host, "--allow-host", value);
	case OPT_DENY_HOST:
		return add_to(args, &args->deny_host, "--deny-host", value);
	case OPT_ALLOW_SOCKET:
		return add_to(args, &args->allow_socket, "--allow-socket", value);
	case OPT_PUBLISH:
		return add_to(args, &args->publish, "--publish", value);
	case OPT_HOST_PORT:
		return add_to(args, &args->host_port, "--host-port", value);
	case OPT_ENV:
		return add_env(args, value);
	case OPT_ACCEPT_MISSING:
		return add_to(args, &args->accept_missing, "--accept-missing", value);
	case OPT_FULL_AUTO:
	case OPT_DRY_RUN:
	case OPT_TRACE:
	case OPT_READ:
	case OPT_WRITE:
	case OPT_PATH:
	case OPT_HOST:
	case OPT_SYNTAX_ONLY:
	case OPT_FORCE:
	case OPT_CLEAN:
	case OPT_FOLLOW:
	case OPT_SUMMARY:
	case OPT_DENIED:
	case OPT_JSON:
	case OPT_QUIET:
	case OPT_HELP_SHORT:
	case OPT_HELP:
	case OPT_VERSION:
		return true;
	}
	return true;
}

static bool complain_unknown(const struct args *args, const char *word)
{
	const char *known[MAX_KNOWN];
	const char *meant;
	size_t count = 0;

	for (size_t i = 0; i < option_count; i++)
		if (options[i].name)
			known[count++] = options[i].name;
	meant = word[1] == '-' ? suggest(word + 2, known, count) : NULL;
	if (meant)
		complain_usage(args, "unknown option '%s'; did you mean --%s?", word, meant);
	else
		complain_usage(args, "unknown option '%s'; 'cordon --help' lists them all", word);
	return false;
}

/* "--name", "--name=value", "-X", "-Xvalue"; the value may be the next word. */
static bool parse_option(struct args *args, struct words *words)
{
	const char *word = words->items[words->at++];
	const char *value = NULL;
	const struct option *option = option_find(word, &value);

	if (!option)
		return complain_unknown(args, word);
	if (value && !option->value) {
		complain_usage(args, "'%s': this option takes no value", word);
		return false;
	}
	if (option->value && !value && words->at < words->count)
		value = words->items[words->at++];
	if (option->value && !value) {
		complain_usage(args, "'%s' needs a value: %s", word, option->value);
		return false;
	}
	return take_option(args, option, value ? value : "");
}

/* Commands that later versions will have: no typos of others. */
static bool is_planned(const char *word)
{
	static const char *const planned[] = { "mcp", "approvals", "escalate", "apply-patch" };

	for (size_t i = 0; i < sizeof(planned) / sizeof(planned[0]); i++)
		if (strcmp(word, planned[i]) == 0)
			return true;
	return false;
}

static bool take_command(struct args *args, const char *word)
{
	const char *known[MAX_KNOWN];
	const char *meant;
	size_t count = 0;

	args->command = command_find(word);
	if (args->command)
		return true;
	if (is_planned(word)) {
		complain_usage(args, "'%s' is not in this version; 'cordon --help' lists what is",
			       word);
		return false;
	}
	for (const struct command *c = commands; c->name; c++)
		known[count++] = c->name;
	meant = suggest(word, known, count);
	if (meant)
		complain_usage(args, "unknown command '%s'; did you mean '%s'?", word, meant);
	else
		complain_usage(args, "unknown command '%s'; 'cordon --help' lists them all", word);
	return false;
}

static bool take_word(struct args *args, struct words *words)
{
	const char *word = words->items[words->at++];

	if (!args->command)
		return take_command(args, word);
	if (args->command->max_operands == OPERANDS_ARE_A_COMMAND) {
		args->words = words->items + words->at - 1;
		words->at = words->count;
		return true;
	}
	if (args->command->max_operands == 0) {
		complain_usage(args, "'cordon %s' takes no operand, but '%s' was given",
			       args->command->name, word);
		return false;
	}
	if (args->operand) {
		complain_usage(args, "'cordon %s' takes one operand, but '%s' and '%s' were given",
			       args->command->name, args->operand, word);
		return false;
	}
	args->operand = word;
	return true;
}

/* Each command takes only some options: one that would be ignored is a mistake. */
static bool check_options(const struct args *args)
{
	option_set taken = OPTS_ALWAYS;

	taken |= args->command ? args->command->options : OPT_BIT(OPT_VERSION);
	for (size_t i = 0; i < option_count; i++) {
		if ((args->seen & ~taken & OPT_BIT(options[i].id)) == 0)
			continue;
		if (!args->command)
			complain_usage(args, "no command is given");
		else if (options[i].name)
			complain_usage(args, "'cordon %s' has no option --%s", args->command->name,
				       options[i].name);
		else
			complain_usage(args, "'cordon %s' has no option -%c", args->command->name,
				       options[i].letter);
		return false;
	}
	return true;
}

/*
 * --full-auto is short for other options; what contradicts it would be a guess. Options that open
 * part of the network make it managed, also where a trusted project opens all of it.
 */
static bool expand_full_auto(struct args *args)
{
	bool asks_for_some = args->allow_host.count || args->deny_host.count ||
			     args->allow_socket.count || args->publish.count ||
			     args->host_port.count;

	if (!args_have(args, OPT_FULL_AUTO))
		return true;
	if (args->load.profile)
		complain_usage(args, "--full-auto and --profile exclude each other");
	else if (args->load.mode && strcmp(args->load.mode, "workspace-write") != 0)
		complain_usage(args,
			       "--full-auto is --mode workspace-write, and --mode '%s' was given",
			       args->load.mode);
	else {
		args->load.mode = "workspace-write";
		if (!args->load.network)
			args->load.network = asks_for_some ? "managed" : "off";
		return true;
	}
	return false;
}

static void hand_over_lists(struct args *args)
{
	args->load.overrides = (const char *const *)args->overrides.items;
	args->load.override_count = args->overrides.count;
	args->load.add_read = (const char *const *)args->add_read.items;
	args->load.add_read_count = args->add_read.count;
	args->load.add_write = (const char *const *)args->add_write.items;
	args->load.add_write_count = args->add_write.count;
	args->load.deny = (const char *const *)args->deny.items;
	args->load.deny_count = args->deny.count;
	args->load.unprotect = (const char *const *)args->unprotect.items;
	args->load.unprotect_count = args->unprotect.count;
	args->load.allow_hosts = (const char *const *)args->allow_host.items;
	args->load.allow_host_count = args->allow_host.count;
	args->load.deny_hosts = (const char *const *)args->deny_host.items;
	args->load.deny_host_count = args->deny_host.count;
	args->load.allow_sockets = (const char *const *)args->allow_socket.items;
	args->load.allow_socket_count = args->allow_socket.count;
}

/*
 * Whether --json is among the options: known before anything can be wrong, so
 * that errors come as JSON too. A --json of the command to run is none of ours.
 */
static bool has_json(int argc, char **argv)
{
	const struct command *command = NULL;
	const char *value;

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--json") == 0)
			return true;
		if (argv[i][0] == '-' && argv[i][1]) {
			const struct option *option = option_find(argv[i], &value);

			i += option && option->value && !value;
		} else if (!command) {
			command = command_find(argv[i]);
		} else if (command->max_operands == OPERANDS_ARE_A_COMMAND) {
			return false;
		}
	}
	return false;
}

bool args_parse(struct args *args, int argc, char **argv)
{
	struct words words = { .count = argc, .items = argv, .at = 1 };

	args->load.size = sizeof(args->load);
	if (has_json(argc, argv))
		args->seen |= OPT_BIT(OPT_JSON);
	while (words.at < words.count) {
		const char *word = words.items[words.at];

		if (words.options_ended || word[0] != '-' || word[1] == '\0') {
			if (!take_word(args, &words))
				return false;
		} else if (strcmp(word, "--") == 0) {
			words.at++;
			words.options_ended = true;
		} else if (!parse_option(args, &words)) {
			return false;
		}
	}
	hand_over_lists(args);
	return check_options(args) && expand_full_auto(args);
}
