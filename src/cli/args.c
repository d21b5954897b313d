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

static bool is_named(const struct option *option, const char *name, size_t length)
{
	return option->name && strlen(option->name) == length &&
	       memcmp(option->name, name, length) == 0;
}

const struct option *option_find(const char *word, const char **value)
{
	bool is_long = word[1] == '-';
	size_t length = is_long ? strcspn(word + 2, "=") : 0;

	*value = NULL;
	if (is_long && word[2 + length] == '=')
		*value = word + 2 + length + 1;
	else if (!is_long && word[2])
		*value = word + 2;
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (is_long ? is_named(&options[i], word + 2, length)
			    : options[i].letter == word[1])
			return &options[i];
	return NULL;
}

static bool complain_twice(const struct args *args, const struct option *option, const char *first,
			   const char *second)
{
	complain(args, "option_conflict", "--%s is given twice, with '%s' and '%s'", option->name,
		 first, second);
	return false;
}

/* Two different values are a mistake: don't pick one silently. */
static bool set_text(struct args *args, const struct option *option, const char **place,
		     const char *value)
{
	if (*place && strcmp(*place, value) != 0)
		return complain_twice(args, option, *place, value);
	*place = value;
	return true;
}

static bool set_time(struct args *args, const struct option *option, uint64_t *place,
		     const char *value)
{
	uint64_t ms = 0;
	const char *wrong = parse_duration(value, &ms);

	if (wrong) {
		complain_usage(args, "--%s '%s' %s", option->name, value, wrong);
		return false;
	}
	if (*place && *place != ms) {
		complain(args, "option_conflict", "--%s is given twice, with different times",
			 option->name);
		return false;
	}
	*place = ms;
	return true;
}

/* The list that the values of `option` are added to, or NULL when it is full. */
static const char **add_value(struct args *args, const struct option *option, const char *value)
{
	size_t number = (size_t)(option - options);

	if (args->counts[number] == MAX_LISTED) {
		complain(args, "limit", "--%s is given more than %d times", option->name,
			 MAX_LISTED);
		return NULL;
	}
	args->lists[number][args->counts[number]++] = value;
	return args->lists[number];
}

static bool add_to_list(struct args *args, const struct option *option, const char *value)
{
	struct option_list list = { .items = (const char *const *)add_value(args, option, value),
				    .count = args->counts[option - options] };

	if (!list.items)
		return false;
	memcpy(option_member(&option->value, &args->load, &args->run), &list, sizeof(list));
	return true;
}

static bool add_to_words(struct args *args, const struct option *option, const char *value)
{
	const char *const **place = option_member(&option->value, &args->load, &args->run);
	const char **list = add_value(args, option, value);

	if (!list)
		return false;
	*place = (const char *const *)list;
	return true;
}

/* --enable X is --config features.X=true, in the order in which they are given. */
static bool add_feature(struct args *args, const struct option *option, const char *name)
{
	char *text = args->features + args->feature_bytes;
	size_t room = sizeof(args->features) - args->feature_bytes;
	int n = snprintf(text, room, "features.%s=%s", name,
			 option == &options[OPT_ENABLE] ? "true" : "false");

	if (n < 0 || (size_t)n >= room) {
		complain(args, "limit", "the names of the features are too long");
		return false;
	}
	args->feature_bytes += (size_t)n + 1;
	return add_to_list(args, &options[OPT_CONFIG], text);
}

/* What is wrong with a value that the library would take to mean something else; or NULL. */
static const char *find_fault(const struct option *option, const char *value)
{
	if (option == &options[OPT_CONFIG_FILE] && strcmp(value, "-") == 0)
		return "is the standard input, which only 'cordon check -' can read";
	if (option == &options[OPT_ENV] && (value[0] == '\0' || value[0] == '='))
		return "names no variable; write NAME=VALUE, or NAME alone";
	return NULL;
}

static bool take_option(struct args *args, const struct option *option, const char *value)
{
	void *place = option_member(&option->value, &args->load, &args->run);
	const char *fault = find_fault(option, value);
	uint64_t *flags = place;

	if (fault) {
		complain_usage(args, "--%s '%s' %s", option->name, value, fault);
		return false;
	}
	args->seen[option - options] = true;
	switch (option->value.kind) {
	case VALUE_TEXT:
		return set_text(args, option, place, value);
	case VALUE_LIST:
		return add_to_list(args, option, value);
	case VALUE_WORDS:
		return add_to_words(args, option, value);
	case VALUE_FEATURE:
		return add_feature(args, option, value);
	case VALUE_TIME:
		return set_time(args, option, place, value);
	case VALUE_FLAG:
		*flags |= option->value.flag;
		return true;
	case VALUE_OWN_TEXT:
		return set_text(args, option, &args->texts[option - options], value);
	case VALUE_OWN_WORDS:
		return add_value(args, option, value) != NULL;
	case VALUE_OWN_SWITCH:
	case VALUE_COPIED:
		return true;
	}
	return true;
}

static bool complain_unknown(const struct args *args, const char *word)
{
	const char *known[OPTION_COUNT];
	const char *meant;
	size_t count = 0;

	for (size_t i = 0; i < OPTION_COUNT; i++)
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
	if (value && !option->argument) {
		complain_usage(args, "'%s' takes no value", word);
		return false;
	}
	/* A "--" ends the options. It is never a value, so that a forgotten one is noticed. */
	if (option->argument && !value && words->at < words->count &&
	    strcmp(words->items[words->at], "--") != 0)
		value = words->items[words->at++];
	if (option->argument && !value) {
		complain_usage(args, "'%s' needs a value: %s", word, option->argument);
		return false;
	}
	return take_option(args, option, value ? value : "");
}

static bool take_command(struct args *args, const char *word)
{
	const char *known[COMMAND_COUNT];
	const char *meant;

	args->command = command_find(word);
	if (args->command)
		return true;
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		known[i] = commands[i].name;
	meant = suggest(word, known, COMMAND_COUNT);
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
	if (args->operand_count == args->command->max_operands ||
	    args->operand_count == MAX_OPERANDS) {
		if (args->command->max_operands == 1)
			complain_usage(
				args, "'cordon %s' takes one operand, but '%s' and '%s' were given",
				args->command->name, args->operand, word);
		else
			complain_usage(args, "'cordon %s' takes at most %u operands",
				       args->command->name, (unsigned)args->command->max_operands);
		return false;
	}
	if (!args->operand)
		args->operand = word;
	args->operands[args->operand_count++] = word;
	return true;
}

/* Each command takes only some options: one that would be ignored is a mistake. */
static bool check_options(const struct args *args)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		if (!args_have(args, (enum option_id)i) ||
		    command_takes(args->command, &options[i]))
			continue;
		if (!args->command)
			complain(args, "no_command", "no command is given");
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
 * --full-auto stands for other options, and refuses those that contradict it. Options that open
 * part of the network make it managed, even if a trusted project opens all of it.
 */
static bool expand_full_auto(struct args *args)
{
	const bool opens = args_have(args, OPT_ALLOW_HOST) || args_have(args, OPT_DENY_HOST) ||
			   args_have(args, OPT_ALLOW_SOCKET) || args_have(args, OPT_PUBLISH) ||
			   args_have(args, OPT_HOST_PORT);

	if (!args_have(args, OPT_FULL_AUTO))
		return true;
	if (args->load.profile)
		complain_conflict(args, "--full-auto", "--profile");
	else if (args->load.mode && strcmp(args->load.mode, "workspace-write") != 0)
		complain(args, "option_conflict",
			 "--full-auto means --mode workspace-write, but --mode '%s' is given",
			 args->load.mode);
	else {
		args->load.mode = "workspace-write";
		if (!args->load.network)
			args->load.network = opens ? "managed" : "off";
		return true;
	}
	return false;
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

			i += option && option->argument && !value;
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
	args->run.size = sizeof(args->run);
	if (has_json(argc, argv))
		args->seen[OPT_JSON] = true;
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
	return check_options(args) && expand_full_auto(args);
}
