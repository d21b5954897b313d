/* SPDX-License-Identifier: MIT */
/*
 * Words to struct args. Options may stand anywhere, also before the command;
 * "--" ends them. "--name value", "--name=value", "-X value" and "-Xvalue" are
 * the same.
 */
#include <string.h>

#include "cli/cli.h"

struct words {
	int count;
	char **items;
	int at;
	bool options_ended;
};

static bool add_override(struct args *args, const char *text)
{
	if (args->load.override_count == MAX_OVERRIDES) {
		complain_usage(args, "more than %d of --config, --enable and --disable",
			       MAX_OVERRIDES);
		return false;
	}
	args->overrides[args->load.override_count++] = text;
	args->load.overrides = args->overrides;
	return true;
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
	if (*place && value && strcmp(*place, value) != 0) {
		complain_usage(args, "%s is given twice, '%s' and '%s'", name, *place, value);
		return false;
	}
	*place = value;
	return true;
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
	case OPT_CONFIG_FILE:
		if (value && strcmp(value, "-") == 0) {
			complain_usage(args,
				       "--config-file needs a file that can be protected; only "
				       "'cordon check -' reads the standard input");
			return false;
		}
		return set_once(args, &args->load.config_file, "--config-file", value);
	case OPT_PLATFORM:
		return set_once(args, &args->platform, "--platform", value);
	case OPT_CONFIG:
		return add_override(args, value);
	case OPT_ENABLE:
		return add_feature(args, value, "true");
	case OPT_DISABLE:
		return add_feature(args, value, "false");
	case OPT_READ:
	case OPT_WRITE:
	case OPT_PATH:
	case OPT_HOST:
	case OPT_SYNTAX_ONLY:
	case OPT_FORCE:
	case OPT_JSON:
	case OPT_QUIET:
	case OPT_HELP_SHORT:
	case OPT_HELP:
	case OPT_VERSION:
		return true;
	}
	return true;
}

static const struct option *find_by_name(const char *name, size_t length)
{
	for (size_t i = 0; i < option_count; i++)
		if (options[i].name && strlen(options[i].name) == length &&
		    memcmp(options[i].name, name, length) == 0)
			return &options[i];
	return NULL;
}

static const struct option *find_by_letter(char letter)
{
	for (size_t i = 0; i < option_count; i++)
		if (options[i].letter == letter)
			return &options[i];
	return NULL;
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
	bool is_long = word[1] == '-';
	size_t length = strcspn(word + 2, "=");
	const struct option *option = is_long ? find_by_name(word + 2, length)
					      : find_by_letter(word[1]);
	const char *value = NULL;

	if (is_long && word[2 + length] == '=')
		value = word + 2 + length + 1;
	else if (!is_long && word[2])
		value = word + 2;
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
	return take_option(args, option, value);
}

/* Commands that later versions will have: no typos of others. */
static bool is_planned(const char *word)
{
	static const char *const planned[] = { "run",	    "sandbox",	"doctor",
					       "proxy",	    "mcp",	"audit",
					       "approvals", "escalate", "apply-patch" };

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
		complain_usage(args,
			       "'%s' is not in this version: it explains policies and enforces "
			       "nothing yet",
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

static bool take_word(struct args *args, const char *word)
{
	if (!args->command)
		return take_command(args, word);
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
	uint32_t taken = OPTS_ALWAYS;

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

bool args_parse(struct args *args, int argc, char **argv)
{
	struct words words = { .count = argc, .items = argv, .at = 1 };

	memset(args, 0, sizeof(*args));
	args->load.size = sizeof(args->load);
	/* Known before anything can be wrong, so that errors come as JSON too. */
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--json") == 0)
			args->seen |= OPT_BIT(OPT_JSON);
	while (words.at < words.count) {
		const char *word = words.items[words.at];

		if (words.options_ended || word[0] != '-' || word[1] == '\0') {
			words.at++;
			if (!take_word(args, word))
				return false;
		} else if (strcmp(word, "--") == 0) {
			words.at++;
			words.options_ended = true;
		} else if (!parse_option(args, &words)) {
			return false;
		}
	}
	return check_options(args);
}
