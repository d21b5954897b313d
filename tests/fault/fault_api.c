/* SPDX-License-Identifier: MIT */
/*
 * What happens when memory runs out: every allocation on the way from a
 * configuration to an answer is made to fail, one after the other. Each time
 * the call must say so (CORDON_E_NOMEM) and lose nothing; the leak check of the
 * sanitizer build looks at the end. The run that no failure reaches must succeed.
 *
 * The linker sends malloc, calloc and realloc of the library through here.
 */
#include <cordon.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../unit/test.h"
#include "failing_malloc.h"

/* Something of everything that a configuration may hold. */
static const char user_config[] =
	"default_permissions = \"dev\"\n"
	"accept_missing = [\"limits\"]\n"
	"[features]\n"
	"[linux]\n"
	"backends = [\"native\", \"landlock\"]\n"
	"[permissions.base]\n"
	"extends = \":workspace\"\n"
	"[permissions.base.filesystem]\n"
	"\":secrets\" = \"deny\"\n"
	"\"~/.cache\" = \"write\"\n"
	"[permissions.dev]\n"
	"description = \"for the test\"\n"
	"extends = \"base\"\n"
	"git = \"commit\"\n"
	"protect = [\".vscode\"]\n"
	"[permissions.dev.filesystem]\n"
	"\"/usr\" = \"read\"\n"
	"[permissions.dev.filesystem.\":workspace_roots\"]\n"
	"docs = \"read\"\n"
	"\"missing/below\" = \"deny\"\n"
	"\"**/*.pem\" = \"deny\"\n"
	"[permissions.dev.network]\n"
	"enabled = true\n"
	"domains = { \"*.example.com\" = \"allow\", \"10.0.0.0/8\" = \"deny\" }\n"
	"unix_sockets = { \"/run/x.sock\" = \"allow\" }\n"
	"[permissions.dev.environment]\n"
	"exclude = [\"X_*\"]\n"
	"set = { A = \"b\" }\n"
	"[permissions.dev.limits]\n"
	"timeout = \"5m\"\n"
	"memory = \"1GiB\"\n"
	"[[approve]]\n"
	"write = \"~/.cache/*\"\n"
	"answer = \"allow\"\n"
	"profile = \"dev\"\n"
	"[[approve]]\n"
	"host = \"*.example.com:443\"\n"
	"answer = \"deny\"\n";

static const char project_config[] = "protect = [\"ci\"]\n"
				     "[filesystem]\n"
				     "\":workspace_roots\" = { tools = \"read\" }\n"
				     "[network]\n"
				     "domains = { \"evil.example.com\" = \"deny\" }\n";

static char root[] = "/tmp/cordon-fault-XXXXXX";
static char config_path[sizeof(root) + 32];
static char home_variable[sizeof(root) + 32];

static void put(const char *name, const char *text)
{
	char path[sizeof(root) + 64];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", root, name);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f) != 0) {
		perror(path);
		_exit(1);
	}
}

static void make_dir(const char *name)
{
	char path[sizeof(root) + 64];

	(void)snprintf(path, sizeof(path), "%s/%s", root, name);
	if (mkdir(path, 0700) < 0) {
		perror(path);
		_exit(1);
	}
}

/* Removed in reverse when the program ends. */
static const char *const dirs[] = { "home", "work", "work/.cordon", "work/.git", "work/docs" };
static const char *const files[] = { "config.toml", "work/.cordon/config.toml", "work/.git/HEAD",
				     "work/key.pem" };

static void make_tree(void)
{
	if (!mkdtemp(root)) {
		perror(root);
		_exit(1);
	}
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		make_dir(dirs[i]);
	put(files[0], user_config);
	put(files[1], project_config);
	put(files[2], "ref: refs/heads/main\n");
	put(files[3], "key\n");
	(void)snprintf(config_path, sizeof(config_path), "%s/config.toml", root);
	(void)snprintf(home_variable, sizeof(home_variable), "HOME=%s/home", root);
}

static void remove_tree(void)
{
	char path[sizeof(root) + 64];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", root, files[i]);
		(void)unlink(path);
	}
	for (size_t i = sizeof(dirs) / sizeof(dirs[0]); i-- > 0;) {
		(void)snprintf(path, sizeof(path), "%s/%s", root, dirs[i]);
		(void)rmdir(path);
	}
	(void)rmdir(root);
}

struct setting {
	struct cordon_load_options options;
	const char *environment[2];
	char directory[sizeof(root) + 8];
};

static void fill(struct setting *s)
{
	*s = (struct setting){ .options = { .size = sizeof(s->options) } };
	(void)snprintf(s->directory, sizeof(s->directory), "%s/work", root);
	s->environment[0] = home_variable;
	s->options.directory = s->directory;
	s->options.config_file = config_path;
	s->options.system_directory = s->directory; /* holds no config.toml */
	s->options.environment = s->environment;
}

/* One whole use of the library; 0, or the code that some step failed with. */
typedef int scenario(const struct cordon_load_options *options, cordon_error **error);

static int take_report(int r, cordon_report *report, cordon_error **error)
{
	if (r == 0) {
		/* A report is written on demand: NULL is its way to say that memory is out. */
		if (!cordon_report_text(report, 0) || !cordon_report_json(report)) {
			r = -CORDON_E_NOMEM;
			*error = cordon_error_new(CORDON_E_NOMEM, "out of memory");
		}
		cordon_report_free(report);
	}
	return r;
}

static int load_and_ask(const struct cordon_load_options *options, cordon_error **error)
{
	cordon_policy *policy;
	uint32_t answer;
	int r = cordon_policy_load(options, &policy, error);

	if (r < 0)
		return r;
	r = cordon_policy_access(policy, "docs/x", 6, 0, &answer, error);
	if (r == 0)
		r = cordon_policy_host(policy, "www.example.com", 15, 443, &answer, error);
	cordon_policy_free(policy);
	return r;
}

static int why_path(const struct cordon_load_options *options, cordon_error **error)
{
	cordon_policy *policy;
	cordon_report *report = NULL;
	int r = cordon_policy_load(options, &policy, error);

	if (r < 0)
		return r;
	r = cordon_why_path(policy, "docs/x", 6, CORDON_ASK_WRITE, &report, error);
	r = take_report(r, report, error);
	cordon_policy_free(policy);
	return r;
}

static int why_host(const struct cordon_load_options *options, cordon_error **error)
{
	cordon_policy *policy;
	cordon_report *report = NULL;
	int r = cordon_policy_load(options, &policy, error);

	if (r < 0)
		return r;
	r = cordon_why_host(policy, "www.example.org:443", 19, &report, error);
	r = take_report(r, report, error);
	cordon_policy_free(policy);
	return r;
}

static int explain(const struct cordon_load_options *options, cordon_error **error)
{
	cordon_policy *policy;
	cordon_report *report = NULL;
	int r = cordon_policy_load(options, &policy, error);

	if (r < 0)
		return r;
	r = cordon_explain(policy, "linux", &report, error);
	r = take_report(r, report, error);
	cordon_policy_free(policy);
	return r;
}

static int check(const struct cordon_load_options *options, cordon_error **error)
{
	cordon_report *report = NULL;
	int r = cordon_check(options, &report, error);

	return take_report(r, report, error);
}

static int profiles(const struct cordon_load_options *options, cordon_error **error)
{
	cordon_report *report = NULL;
	int r = cordon_profiles(options, "dev", &report, error);

	return take_report(r, report, error);
}

static void ignore_text(void *user, const char *text)
{
	(void)user;
	(void)text;
}

static const char *const command[] = { "sh", "-c", "echo x; echo y >&2; exit 3", NULL };
static const char *const set[] = { "A=b", "C", NULL };

static struct cordon_run_options make_request(const struct cordon_load_options *load)
{
	return (struct cordon_run_options){ .size = sizeof(struct cordon_run_options),
					    .load = load,
					    .command = command,
					    .set_environment = set,
					    .flags = CORDON_RUN_CAPTURE | CORDON_RUN_NO_STDIN |
						     CORDON_RUN_TRACE,
					    .on_trace = ignore_text };
}

/* With the network off: managed, as the profile has it, can't be run yet. */
static struct cordon_load_options make_load(const struct cordon_load_options *options)
{
	struct cordon_load_options load = *options;

	load.network = "off";
	return load;
}

static int run_command(const struct cordon_load_options *options, cordon_error **error)
{
	struct cordon_load_options load = make_load(options);
	struct cordon_run_options request = make_request(&load);
	cordon_result *result = NULL;
	int r = cordon_run(NULL, &request, &result, error);

	if (r < 0)
		return r;
	CHECK_INT(cordon_result_status(result), 3);
	if (!cordon_result_report(result) || !cordon_report_json(cordon_result_report(result))) {
		r = -CORDON_E_NOMEM;
		*error = cordon_error_new(CORDON_E_NOMEM, "out of memory");
	}
	cordon_result_free(result);
	return r;
}

static int rehearse(const struct cordon_load_options *options, cordon_error **error)
{
	struct cordon_load_options load = make_load(options);
	struct cordon_run_options request = make_request(&load);
	cordon_report *report = NULL;
	int r = cordon_dry_run(NULL, &request, &report, error);

	return take_report(r, report, error);
}

static int make_words(const struct cordon_load_options *options, cordon_error **error)
{
	struct cordon_load_options load = make_load(options);
	struct cordon_run_options request = make_request(&load);
	cordon *handle = NULL;
	char **argv = NULL;
	int r;

	load.system_directory = NULL; /* words can't say it */
	r = cordon_new(&request, &handle, error);
	if (r < 0)
		return r;
	r = cordon_request_argv(handle, NULL, &argv, error);
	cordon_argv_free(argv);
	cordon_free(handle);
	return r;
}

/*
 * Fails each allocation of `run` in turn, until one run goes through untouched.
 * `may_do_without`: some only keep what is said, which is then lost and no failure.
 */
static void fail_each_of(scenario *run, bool may_do_without)
{
	struct setting s;
	size_t n = 1;
	size_t wrong = 0;

	fill(&s);
	for (;; n++) {
		cordon_error *error = NULL;
		bool was_reached;
		int r;

		allocations = 0;
		failing = n;
		r = run(&s.options, &error);
		was_reached = allocations >= n;
		failing = 0;
		if (!was_reached) {
			CHECK_INT(r, 0);
			if (error)
				CHECK_STR(cordon_error_text(error), "no error");
			cordon_error_free(error);
			break;
		}
		if (r == 0 && may_do_without)
			continue;
		if (r != -CORDON_E_NOMEM) {
			wrong++;
			printf("# allocation %zu failed, the result was %d: %s\n", n, r,
			       error ? cordon_error_text(error) : "(no error)");
			CHECK_INT(r, -CORDON_E_NOMEM);
		} else {
			CHECK(error && cordon_error_text(error)[0] != '\0');
		}
		cordon_error_free(error);
		if (wrong == 5 || n > 1000000)
			break;
	}
	printf("# %zu allocations failed in turn\n", n - 1);
	CHECK(n > 10);
}

static void fail_each(scenario *run)
{
	fail_each_of(run, false);
}

TEST(loading_a_policy_survives_every_failed_allocation)
{
	fail_each(load_and_ask);
}

TEST(explaining_a_path_survives_every_failed_allocation)
{
	fail_each(why_path);
}

TEST(explaining_a_host_survives_every_failed_allocation)
{
	fail_each(why_host);
}

TEST(explaining_a_plan_survives_every_failed_allocation)
{
	fail_each(explain);
}

TEST(checking_a_configuration_survives_every_failed_allocation)
{
	fail_each(check);
}

TEST(printing_a_profile_survives_every_failed_allocation)
{
	fail_each(profiles);
}

TEST(rehearsing_a_run_survives_every_failed_allocation)
{
	fail_each_of(rehearse, true);
}

TEST(a_run_survives_every_failed_allocation)
{
	fail_each_of(run_command, true);
}

TEST(making_words_survives_every_failed_allocation)
{
	fail_each(make_words);
}

__attribute__((constructor(101))) static void set_up(void)
{
	make_tree();
	if (atexit(remove_tree) != 0)
		_exit(1);
}
