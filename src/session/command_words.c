/* SPDX-License-Identifier: MIT */
#include "session/command_words.h"

#include "base/path.h"

/* What runs a file or a program that its arguments name. */
static const struct runner {
	const char *name;     /* a last "*" stands for any text, such as a version */
	bool reads_directory; /* what is in the working directory says what it runs */
} runners[] = {
	/* A variable by which a shell finds programs. */
	{ "PATH", false },    { ".", false },	    { "ash", false },	  { "awk", false },
	{ "bash", false },    { "bun", true },	    { "bundle", true },	  { "bunx", true },
	{ "busybox", false }, { "cargo", true },    { "chroot", false },  { "cmake", true },
	{ "cmd", false },     { "command", false }, { "composer", true }, { "csh", false },
	{ "dash", false },    { "deno", true },	    { "doas", false },	  { "env", false },
	{ "eslint", true },   { "eval", false },    { "exec", false },	  { "expect", false },
	{ "find", false },    { "fish", false },    { "flock", false },	  { "gawk*", false },
	{ "gmake", true },    { "go", true },	    { "gradle", true },	  { "guile*", false },
	{ "ionice", false },  { "java", false },    { "jruby", false },	  { "just", true },
	{ "ksh*", false },    { "lua*", false },    { "make", true },	  { "mawk", false },
	{ "mix", true },      { "mksh", false },    { "mvn", true },	  { "nawk", false },
	{ "nice", false },    { "ninja", true },    { "node*", false },	  { "nohup", false },
	{ "npm", true },      { "npx", true },	    { "nsenter", false }, { "parallel", false },
	{ "perl*", false },   { "php*", false },    { "pipx", true },	  { "pnpm", true },
	{ "poetry", true },   { "prettier", true }, { "pwsh", false },	  { "pypy*", false },
	{ "python*", false }, { "rake", true },	    { "rubocop", true },  { "ruby*", false },
	{ "sed", false },     { "setpriv", false }, { "setsid", false },  { "sh", false },
	{ "source", false },  { "stdbuf", false },  { "strace", false },  { "su", false },
	{ "sudo", false },    { "taskset", false }, { "tclsh*", false },  { "tcsh", false },
	{ "time", false },    { "timeout", false }, { "toybox", false },  { "tsx", true },
	{ "unshare", false }, { "uv", true },	    { "uvx", true },	  { "wish*", false },
	{ "xargs", false },   { "xonsh", false },   { "yarn", true },	  { "zsh", false },
};

/* Beyond what a program may be, also one that only a shell knows. */
static const char unclear[] = "$`){*[";

struct words {
	command_word *each;
	void *arg;
	bool starts;	   /* the next word is a program */
	bool runs;	   /* a program was there that runs what follows */
	bool waits;	   /* it has had no file yet */
	bool after_option; /* the next word may be a part of it */
	bool is_ssh;
	bool wants_config; /* the next word is a file of settings of ssh */
};

static const struct runner *find_runner(struct str word)
{
	struct str name = path_name(word);

	for (size_t i = 0; i < COUNT_OF(runners); i++) {
		struct str known = str_of(runners[i].name);

		if (known.p[known.len - 1] == '*'
			    ? str_has_prefix(name, str_first(known, known.len - 1))
			    : str_eq(name, known))
			return &runners[i];
	}
	return NULL;
}

static bool is_clear(struct str word)
{
	for (size_t i = 0; i < word.len; i++)
		if (memchr(unclear, word.p[i], sizeof(unclear) - 1))
			return false;
	return true;
}

/* One letter that takes no file or code, or takes what the program runs. */
static bool is_plain_option(struct str word)
{
	return word.len == 2 && memchr("ceEfnuwx", word.p[1], 8) != NULL;
}

/* A word without a slash, behind a program that runs what its arguments say. */
static int look_at_argument(struct words *w, struct str word)
{
	if (word.p[0] != '-')
		return w->each(w->arg, word, is_clear(word));
	/* What it reads is run. */
	if (str_is(word, "-") || str_is(word, "-s") || str_is(word, "-i"))
		return w->each(w->arg, STR("."), true);
	/* "-fclean.sed" */
	if (word.len > 2 && word.p[1] != '-')
		return w->each(w->arg, str_from(word, 2), is_clear(word));
	return 0;
}

/* ssh obeys the ProxyCommand of a file that -F names. */
static int look_at_ssh(struct words *w, struct str word)
{
	static const char flags[] = "46AaCfGgKkMNnqsTtVvXxYy";
	const bool wants = w->wants_config;
	size_t at = 1;

	w->wants_config = false;
	if (wants)
		return w->each(w->arg, word, is_clear(word));
	if (word.p[0] != '-')
		return 0;
	while (at < word.len && memchr(flags, word.p[at], sizeof(flags) - 1))
		at++;
	if (at == word.len || word.p[at] != 'F')
		return 0;
	w->wants_config = at + 1 == word.len;
	return w->wants_config ? 0 : w->each(w->arg, str_from(word, at + 1), is_clear(word));
}

/* "-I/x": the path behind a letter. */
static struct str skip_letter(struct str word)
{
	return word.len > 2 && word.p[0] == '-' && word.p[2] == '/' ? str_from(word, 2) : word;
}

static int look_at_word(struct words *w, struct str word)
{
	const bool is_option = word.p[0] == '-', starts = w->starts;
	const struct runner *runner = find_runner(word);
	int r = 0;

	w->starts = false;
	if (str_find(word, '/') < word.len) {
		r = w->each(w->arg, skip_letter(word), is_clear(word));
		if (!is_option && !w->after_option)
			w->waits = false;
	} else if (w->runs) {
		r = look_at_argument(w, word);
	}
	if (!r && w->is_ssh)
		r = look_at_ssh(w, word);
	if (r)
		return r;
	w->is_ssh = w->is_ssh || str_is(path_name(word), "ssh");
	w->after_option = is_option && !is_plain_option(word);
	/* "$SHELL x": any program. */
	if (runner || (starts && (word.p[0] == '$' || word.p[0] == '`')))
		w->runs = w->waits = true;
	return runner && runner->reads_directory ? w->each(w->arg, STR("."), true) : 0;
}

static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c) != NULL;
}

int command_words_each(struct str text, command_word *each, void *arg)
{
	struct words w = { .each = each, .arg = arg, .starts = true };
	char word[PATH_MAX_BYTES];
	size_t len = 0;
	int r;

	for (size_t i = 0; i <= text.len; i++) {
		char c = i < text.len ? text.p[i] : '\0';

		/* A shell would leave them out. */
		if (is_one_of(c, "\"'\\"))
			continue;
		if (c && !is_one_of(c, ":;,= \t\r\v\f\n|&(!<>")) {
			if (len == sizeof(word) - 1)
				return each(arg, STR("/"), false);
			word[len++] = c;
			continue;
		}
		word[len] = '\0';
		if (len && (r = look_at_word(&w, (struct str){ word, len })) != 0)
			return r;
		len = 0;
		w.starts = w.starts || is_one_of(c, ";|&(!\n");
		/* The value of an option or a variable is not what is run. */
		if (c == '=' && w.runs)
			w.after_option = true;
	}
	return w.waits ? each(arg, STR("."), true) : 0;
}
