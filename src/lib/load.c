/* SPDX-License-Identifier: MIT */
/* From options to a loaded policy. */
#include "approve/offers.h"
#include "approve/rules.h"
#include "base/glob.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/utf8.h"
#include "base/windows_path.h"
#include "lib/lib.h"
#include "os/os.h"

static int add_note(struct cordon_policy *p, struct arena *a, struct note note, struct err *e)
{
	struct note *added = VEC_PUSH(a, &p->notes, e);

	if (!added)
		return err_result(e);
	*added = note;
	return 0;
}

/*
 * P25 and P9 protect the name of a file. A hard link is another name for the same file, and
 * may be in a writable directory.
 */
static int note_other_names(struct cordon_policy *p, struct arena *a, const struct source *source,
			    struct err *e)
{
	struct note note = { .is_warning = true, .text = STR_EMPTY };

	if (!source->is_present || !source->has_other_names)
		return 0;
	if (arena_printf(a, &note.text, e,
			 "%s has a second name (a hard link), through which the command may be "
			 "able to change it; replace the file with a copy",
			 source->file) < 0)
		return err_result(e);
	return add_note(p, a, note, e);
}

static int note_hard_links(struct cordon_policy *p, const struct inputs *in,
			   const project_list *projects, struct err *e)
{
	if (note_other_names(p, in->a, &in->config.user, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < projects->count; i++)
		if (note_other_names(p, in->a, &projects->items[i].source, e) < 0)
			return err_result(e);
	return 0;
}

static int note_workspace(struct cordon_policy *p, const struct inputs *in,
			  const struct workspace *workspace, struct err *e)
{
	struct note note = { .is_warning = true, .text = workspace->warning };

	if (!workspace->is_chosen && inputs_hint_at_repo(in, p->plan, &note.text, e) < 0)
		return err_result(e);
	return note.text.len ? add_note(p, in->a, note, e) : 0;
}

/* SECURITY: an error, not a warning: the files meant by the glob would stay accessible. */
static int refuse_glob(const struct fs_entry *entry, struct err *e)
{
	char shown[256];

	(void)FAIL_CAUSE(e, CAUSE_OPTION_USELESS,
			 "%s '%s' would deny nothing: no file has this name", entry->origin.file,
			 utf8_show(entry->key, shown, sizeof(shown)));
	err_add_line(e, "options take names, not globs");
	err_add_line(e, "to deny a glob, add it to a profile: "
			"\":workspace_roots\" = { \"**/*.tfstate\" = \"deny\" }");
	return err_result(e);
}

/*
 * Paths in options are literal (P6). One that looks like a glob and names no file is probably
 * a mistake.
 */
static int note_literals(struct cordon_policy *p, const struct inputs *in,
			 const struct additions *more, struct err *e)
{
	for (size_t i = 0; i < more->entry_count; i++) {
		const struct fs_entry *entry = &more->entries[i];
		struct note note = { .is_warning = true, .origin = entry->origin };
		struct host_file file;

		if (!glob_is_special(entry->key))
			continue;
		if (in->host->look(in->host->user, entry->path, &file, e) < 0)
			return err_result(e);
		if (file.type != HOST_MISSING)
			continue;
		if (entry->access == ACCESS_DENY)
			return refuse_glob(entry, e);
		if (arena_printf(in->a, &note.text, e,
				 "no file is named '%.*s'; options take names, not globs",
				 STR_ARG(entry->key)) < 0)
			return err_result(e);
		if (add_note(p, in->a, note, e) < 0)
			return err_result(e);
	}
	return 0;
}

/* Options without effect are probably mistakes. For rules in files, 'explain' says so. */
static int note_useless(struct cordon_policy *p, struct arena *a, const struct additions *more,
			struct err *e)
{
	const struct plan *plan = p->plan;

	for (size_t i = 0; more->entry_count && i < plan->rules.count; i++) {
		const struct rule *rule = &plan->rules.items[i];
		struct note note = { .is_warning = true, .origin = rule->origin };
		struct str why;

		if (!rule->origin.file || rule->origin.file[0] != '-')
			continue;
		if (plan_explain_redundant(a, plan, rule, &why, e) < 0)
			return err_result(e);
		if (why.len && (arena_printf(a, &note.text, e, "\"%.*s\" %.*s", STR_ARG(rule->key),
					     STR_ARG(why)) < 0 ||
				add_note(p, a, note, e) < 0))
			return err_result(e);
	}
	return 0;
}

/* The warnings of the policy and the notes of the plan. */
static int collect_notes(struct cordon_policy *p, struct arena *a, struct err *e)
{
	for (size_t i = 0; i < p->policy->warnings.count; i++) {
		const struct warning *w = &p->policy->warnings.items[i];
		struct note note = { .is_warning = true, .origin = w->origin, .text = w->text };

		if (add_note(p, a, note, e) < 0)
			return err_result(e);
	}
	for (size_t i = 0; i < p->plan->notes.count; i++)
		if (add_note(p, a, p->plan->notes.items[i], e) < 0)
			return err_result(e);
	return 0;
}

/* Homes matter only where something is writable, or may become so while the command runs. */
static bool may_write(const struct inputs *in, const struct policy *policy)
{
	const fs_entries *fs = &policy->layers.items[0].fs;

	for (size_t i = 0; i < fs->count; i++)
		if (fs->items[i].access == ACCESS_WRITE)
			return true;
	return policy->grants.count > 0 || (in->run && in->run->asks);
}

/* Before the view of the host is there that the plan is made from. */
static int check_rules(const struct inputs *in, const struct plan_inputs *plan, struct err *e)
{
	struct plan_inputs moment = *plan;

	moment.host = in->host;
	return approve_rules_check(in->a, &moment, e);
}

/* An allow for what no approval opens. */
static int note_idle_rules(struct arena *a, struct cordon_policy *p, const struct policy *policy,
			   struct err *e)
{
	for (size_t i = 0; i < policy->settings.approve.count; i++) {
		const struct approve_rule *rule = &policy->settings.approve.items[i];
		struct note *note;

		if (rule->answer != APPROVE_ALLOW || rule->subject != APPROVE_WRITE ||
		    rule->below_home || !offers_is_kernel_path(rule->path))
			continue;
		note = VEC_PUSH(a, &p->notes, e);
		if (!note)
			return err_result(e);
		*note = (struct note){ .is_warning = true, .origin = rule->origin };
		if (arena_printf(
			    a, &note->text, e,
			    "'%.*s' in 'approve' has no effect: the sandbox has its own /proc, "
			    "/sys and /dev, which no approval opens",
			    STR_ARG(str_first(rule->text, 256))) < 0)
			return err_result(e);
	}
	return 0;
}

/* The grants that last, of a policy that has none so far; then the homes, which grants make matter. */
static int add_lasting(struct cordon_policy *p, const struct inputs *in, struct policy *policy,
		       struct err *e)
{
	struct plan_inputs *plan = &p->plan_inputs;

	if (!in->view &&
	    approvals_load(in, p->workspace.path, policy, &p->lasting, &p->notes, e) < 0)
		return err_result(e);
	p->policy = plan->policy = policy;
	if (!plan->allows_home && (may_write(in, policy) || policy->settings.approve.count) &&
	    !plan->places.homes && inputs_find_homes(in, &plan->places, e) < 0)
		return err_result(e);
	if (check_rules(in, plan, e) < 0 || note_idle_rules(in->a, p, policy, e) < 0)
		return err_result(e);
	return in->view ? 0 : approvals_check(in->a, plan, e);
}

/*
 * SECURITY: checks that the policy was compiled for this directory. The view keeps what the
 * compilation saw, so a symbolic link that was there only for a moment is found.
 */
static int check_directory(const struct directory *dir, const struct host *host, struct err *e)
{
	struct host_file file = { .type = HOST_HIDDEN };
	char shown[256];
	struct str name;
	size_t at = 0;

	while (path_next(dir->path, &at, &name)) {
		if (host->look(host->user, str_first(dir->path, at), &file, e) < 0)
			return err_result(e);
		/* What can't be looked at was not followed either. */
		if (file.type != HOST_DIR && file.type != HOST_HIDDEN)
			break;
	}
	if (file.type == HOST_HIDDEN ||
	    (file.type == HOST_DIR && file.device == dir->device && file.inode == dir->inode))
		return 0;
	return FAIL_CAUSE(e, CAUSE_PATH_CHANGED,
			  "'%s' was replaced by another directory since the policy was loaded",
			  utf8_show(dir->path, shown, sizeof(shown)));
}

/*
 * SECURITY: the plan opens each workspace root, and the project file in it may deny paths. A root
 * that leads elsewhere now has a project file that nobody has read, so its denies would be lost.
 */
static int check_roots(const struct cordon_policy *p, struct err *e)
{
	char shown[256];

	for (size_t i = 1; i < p->roots.directories.count; i++) {
		const struct directory *seen = &p->roots.directories.items[i];
		struct str now = p->plan->places.roots[i];
		struct host_file file;

		if (seen->path.len && str_eq(seen->path, now)) {
			if (check_directory(seen, &p->host, e) < 0)
				return err_result(e);
			continue;
		}
		if (p->host.look(p->host.user, now, &file, e) < 0)
			return err_result(e);
		if (seen->path.len || file.type == HOST_DIR)
			return FAIL_CAUSE(e, CAUSE_PATH_CHANGED,
					  "the workspace root '%s' is another directory than when "
					  "the policy was loaded",
					  utf8_show(p->roots.paths.items[i], shown, sizeof(shown)));
	}
	return 0;
}

/*
 * The logs of a managed network and of approvals are in the state directory. Create that before the plan is made,
 * because the plan would put a placeholder in place of a missing one (P11).
 */
static int make_state(const struct inputs *in, const struct policy *policy, struct err *e)
{
	enum net_access access = policy->layers.items[0].net.access;
	struct str within;
	struct host_file file;

	bool has_log = in->run && in->run->keeps_log && access != NET_OFF &&
		       (access != NET_FULL || policy->layers.count > 1);

	if ((!has_log && !(in->run && in->run->asks)) || !in->state_dir.len ||
	    policy->profile->is_unsandboxed)
		return 0;
	if (host_now()->look(host_now()->user, in->state_dir, &file, e) < 0)
		return err_result(e);
	if (file.type != HOST_MISSING)
		return 0;
	if (path_join(in->a, in->state_dir, STR("audit"), &within, e) < 0)
		return err_result(e);
	/* If this fails, opening the log fails too, with a better message. */
	if (os_make_parents(within, e) < 0)
		err_clear(e);
	return 0;
}

/* SECURITY: CORDON_LOAD_HOSTS_ONLY does not apply to runs. */
static bool allows_home(const struct inputs *in)
{
	return in->run ? in->run->allows_home : (in->options->flags & CORDON_LOAD_HOSTS_ONLY) != 0;
}

/* Makes the plan from the files of the host as they are now. */
static int build_plan(struct cordon_policy *p, const struct inputs *in,
		      const struct cordon_load_options *options, struct err *e)
{
	struct teller teller;

	p->host = in->view ? *in->host : host_view_init(&p->view, in->a);
	if (in->run && in->run->make_count) {
		struct imagined_host *imagined = ARENA_NEW(in->a, struct imagined_host, e);
		const struct host below = p->host;

		if (!imagined)
			return err_result(e);
		p->host = imagined_host_init(imagined, &below, in->run->makes, in->run->make_count);
	}
	p->plan_inputs.host = &p->host;
	teller_init(&teller, options->on_progress, options->user);
	p->view.progress = &teller.progress;
	p->plan = plan_build(in->a, &p->plan_inputs, e);
	p->view.progress = NULL;
	if (!p->plan || check_directory(&in->directory, &p->host, e) < 0 ||
	    check_directory(&p->workspace, &p->host, e) < 0 || check_roots(p, e) < 0)
		return err_result(e);
	host_view_freeze(&p->view);
	return 0;
}

int load_policy(struct inputs *in, const struct config *config, const char *profile,
		struct cordon_policy *out, struct err *e)
{
	struct selection selection = { .profile = profile ? profile : in->options->profile,
				       .mode = profile ? NULL : in->options->mode,
				       .fallback = ":read-only" };
	own_list own = { .items = NULL };
	struct additions more = { .entries = NULL };
	struct places places = in->places;
	const struct profile_doc *doc;
	struct workspace workspace;
	struct policy *policy;

	out->config = config;
	if (profile) /* a session is for the profile in force */
		in->session = STR_EMPTY;
	doc = config_select(in->a, config, &selection, e);
	if (!doc || inputs_workspace(in, doc, &places, &workspace, e) < 0 ||
	    inputs_read_projects(in, &places, doc, &out->roots, e) < 0 ||
	    inputs_own_files(in, &own, e) < 0)
		return err_result(e);
	/* Options add to the profile in force only. */
	if (!profile && inputs_additions(in, &more, e) < 0)
		return err_result(e);
	policy = policy_compile(in->a, config, doc, out->roots.projects.items,
				out->roots.projects.count, &more, e);
	if (!policy || make_state(in, policy, e) < 0)
		return err_result(e);
	out->plan_inputs = (struct plan_inputs){ .places = places,
						 .own = own.items,
						 .own_count = own.count,
						 .has_decider = false,
						 .allows_home = allows_home(in) };
	out->plan_inputs.places.roots = out->roots.paths.items;
	out->plan_inputs.places.root_count = out->roots.paths.count;
	out->workspace = workspace.directory;
	if (add_lasting(out, in, policy, e) < 0 || build_plan(out, in, in->options, e) < 0)
		return err_result(e);
	if (note_workspace(out, in, &workspace, e) < 0 ||
	    note_hard_links(out, in, &out->roots.projects, e) < 0 ||
	    note_literals(out, in, &more, e) < 0 || note_useless(out, in->a, &more, e) < 0)
		return err_result(e);
	return collect_notes(out, in->a, e);
}

static int load(struct cordon_policy *p, const struct cordon_load_options *options,
		const struct run_needs *run, struct err *e)
{
	scoped_arena texts = ARENA_INIT(TEXTS_MAX_BYTES);
	const struct config *config;
	int status;

	p->inputs =
		(struct inputs){ .a = &p->arena, .texts = &texts, .options = options, .run = run };
	if (inputs_find(&p->inputs, e) < 0 || inputs_read(&p->inputs, e) < 0)
		return err_result(e);
	config = config_load(&p->arena, &p->inputs.config, e);
	if (!config)
		return err_result(e);
	status = load_policy(&p->inputs, config, NULL, p, e);
	/* These point to objects that the caller frees. */
	p->inputs.texts = NULL;
	p->inputs.options = NULL;
	p->inputs.run = NULL;
	p->inputs.environment = NULL;
	p->inputs.config = (struct config_inputs){ .env_profile = NULL };
	return status;
}

/*
 * SECURITY: a warning quotes files of the project, which may be hostile. All warnings are
 * escaped here, so that each is one line and can't send control sequences to a terminal.
 */
int load_warn(const struct cordon_load_options *o, struct origin origin, struct str text,
	      struct err *e)
{
	scoped_buf line = BUF_INIT(64 << 10);

	if (!o->on_warning)
		return 0;
	if (origin.file) {
		utf8_add_shown(&line, str_of(origin.file));
		/* An option has no lines. */
		if (origin.line)
			buf_printf(&line, ":%u:%u", (unsigned)origin.line, (unsigned)origin.column);
		buf_add_text(&line, ": ");
	}
	utf8_add_shown(&line, text);
	if (buf_check(&line, e) < 0)
		return err_result(e);
	o->on_warning(o->user, line.p);
	return 0;
}

static int warn(const struct cordon_policy *p, const struct cordon_load_options *o, struct err *e)
{
	for (size_t i = 0; i < p->notes.count; i++) {
		const struct note *note = &p->notes.items[i];

		if (note->is_warning && load_warn(o, note->origin, note->text, e) < 0)
			return err_result(e);
	}
	return 0;
}

static cordon_policy *new_policy(struct err *e)
{
	cordon_policy *p = mem_new(sizeof(*p), e);

	if (!p)
		return NULL;
	p->self = p;
	atomic_init(&p->users, 1);
	p->arena = (struct arena)ARENA_INIT(POLICY_MAX_BYTES);
	return p;
}

cordon_policy *load_new(const struct cordon_load_options *options, const struct run_needs *run,
			struct err *e)
{
	cordon_policy *p = new_policy(e);

	if (p && (load(p, options, run, e) < 0 || warn(p, options, e) < 0)) {
		cordon_policy_free(p);
		return NULL;
	}
	return p;
}

/* What was granted to a run that is repeated: it counts as if it had been kept. */
static int add_granted(struct cordon_policy *p, const struct run_needs *run, struct policy *policy,
		       struct err *e)
{
	struct stored_grant granted = { .origin = { .file = "an approval" } };

	if (!run || !run->grant_count)
		return 0;
	for (size_t i = 0; i < run->grant_count; i++) {
		granted.grant = run->grants[i];
		if (approvals_grant(&p->arena, policy, &granted, e) < 0)
			return err_result(e);
	}
	return approvals_check(&p->arena, &p->plan_inputs, e);
}

/* Who decides is another one in each run. */
static int own_decider(struct cordon_policy *p, const struct inputs *in, struct err *e)
{
	struct plan_inputs *plan = &p->plan_inputs;
	own_list own = { .items = NULL };

	for (size_t i = 0; i < plan->own_count; i++) {
		struct own_file *copy = VEC_PUSH(in->a, &own, e);

		if (!copy)
			return err_result(e);
		*copy = plan->own[i];
	}
	if (inputs_own_decider(in, &own, e) < 0)
		return err_result(e);
	plan->own = own.items;
	plan->own_count = own.count;
	return 0;
}

/* P3: without a sandbox it would take nothing away. */
static int add_ceiling(struct cordon_policy *p, const struct layer *ceiling, struct policy *policy,
		       struct err *e)
{
	VEC(struct layer) layers = { .items = NULL };

	if (policy->profile->is_unsandboxed)
		return FAIL_CAUSE(
			e, CAUSE_NO_SANDBOX_FOR_RULE,
			"the profile has no sandbox, so what %.*s takes away would be lost",
			STR_ARG(ceiling->name));
	for (size_t i = 0; i <= policy->layers.count; i++) {
		struct layer *added = VEC_PUSH(&p->arena, &layers, e);

		if (!added)
			return err_result(e);
		*added = i < policy->layers.count ? policy->layers.items[i] : *ceiling;
	}
	policy->layers.items = layers.items;
	policy->layers.count = layers.count;
	policy->layers.room = layers.room;
	return 0;
}

static int reload(struct cordon_policy *p, const struct cordon_load_options *options,
		  const struct run_needs *run, struct err *e)
{
	struct policy *policy = ARENA_NEW(&p->arena, struct policy, e);
	struct inputs in = p->base->inputs;

	if (!policy)
		return err_result(e);
	in.a = &p->arena;
	in.run = run;
	/* What was granted or revoked since it was loaded counts. */
	*policy = *p->policy;
	memset(&policy->grants, 0, sizeof(policy->grants));
	memset(&policy->net_grants, 0, sizeof(policy->net_grants));
	memset(&policy->socket_grants, 0, sizeof(policy->socket_grants));
	if (run && run->ceiling && add_ceiling(p, run->ceiling, policy, e) < 0)
		return err_result(e);
	if (make_state(&in, policy, e) < 0 || own_decider(p, &in, e) < 0 ||
	    add_lasting(p, &in, policy, e) < 0 || add_granted(p, run, policy, e) < 0 ||
	    build_plan(p, &in, options, e) < 0)
		return err_result(e);
	in.run = NULL;
	p->inputs = in;
	return collect_notes(p, &p->arena, e);
}

cordon_policy *load_again(const cordon_policy *policy, const struct cordon_load_options *options,
			  const struct run_needs *run, struct err *e)
{
	cordon_policy *p;

	/* SECURITY: nobody has checked that the workspace of such a policy is not a home. */
	if (policy->plan_inputs.places.system != inputs_own_system() || policy->inputs.view) {
		(void)FAIL_CAUSE(e, CAUSE_OTHER_PLATFORM,
				 "a policy for another platform or host can't be used for a run");
		return NULL;
	}
	if (policy->plan_inputs.allows_home) {
		(void)FAIL_CAUSE(
			e, CAUSE_OPTION_CONFLICT,
			"a policy loaded with CORDON_LOAD_HOSTS_ONLY can't be used for a run");
		return NULL;
	}
	p = new_policy(e);
	if (!p)
		return NULL;
	p->base = load_share(policy);
	p->config = policy->config;
	p->policy = policy->policy;
	p->roots = policy->roots;
	p->workspace = policy->workspace;
	p->plan_inputs = policy->plan_inputs;
	if (reload(p, options, run, e) < 0 || warn(p, options, e) < 0) {
		cordon_policy_free(p);
		return NULL;
	}
	return p;
}

int cordon_policy_load(const struct cordon_load_options *options, cordon_policy **policy,
		       cordon_error **error)
{
	struct err e = ERR_INIT;
	struct cordon_load_options own;
	cordon_policy *p = NULL;

	if (!policy) {
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_policy_load: policy is NULL");
		return error_give(&e, error);
	}
	if (options_read(options, &own, &e) == 0)
		p = load_new(&own, NULL, &e);
	if (!p)
		return error_give(&e, error);
	*policy = p;
	return 0;
}

void cordon_policy_free(cordon_policy *policy)
{
	if (!policy || atomic_fetch_sub(&policy->users, 1) > 1)
		return;
	arena_done(&policy->arena);
	cordon_policy_free(policy->base);
	mem_free(policy);
}

cordon_policy *load_share(const cordon_policy *policy)
{
	(void)atomic_fetch_add(&policy->self->users, 1);
	return policy->self;
}

/* What answers for a path now, and the path as Cordon has it. */
static int ask_now(struct arena *a, const struct cordon_policy *p, struct plan_inputs *in,
		   struct str *path, struct err *e)
{
	*in = p->plan_inputs;
	in->host = p->inputs.view ? &p->inputs.view->host : host_now();
	if (p->inputs.view)
		return view_asked(a, p->inputs.view, *path, path, e);
	if (in->places.system != PLACES_WINDOWS)
		return 0;
	if (windows_is_path(*path) && windows_show(a, *path, path, e) < 0)
		return err_result(e);
	return windows_path(a, in->places.cwd, *path, WINDOWS_ASKED, path, e);
}

int load_locate(struct arena *a, const struct cordon_policy *p, struct str path,
		struct located *out, struct err *e)
{
	struct plan_inputs in;

	if (ask_now(a, p, &in, &path, e) < 0)
		return err_result(e);
	return plan_locate(a, &in, path, out, e);
}

int load_reach(struct arena *a, const struct cordon_policy *p, struct str path, struct located *out,
	       struct err *e)
{
	struct plan_inputs in;

	if (ask_now(a, p, &in, &path, e) < 0)
		return err_result(e);
	return plan_reach(a, p->plan, &in, path, out, e);
}

int load_subject(struct arena *a, const struct cordon_policy *p, struct str path, struct str *out,
		 struct err *e)
{
	const struct places *places = &p->plan_inputs.places;

	if (!path.len)
		return FAIL(e, ERR_ARGUMENT, "the path is empty");
	if (path.p[0] != '~' || (path.len > 1 && path.p[1] != '/' &&
				 (path.p[1] != '\\' || places->system != PLACES_WINDOWS))) {
		*out = path;
		return 0;
	}
	if (!places->home.len)
		return FAIL_CAUSE(e, CAUSE_HOME_UNKNOWN, "can't expand '~': $HOME is not set");
	return path_plain(a, places->home, path.len > 2 ? str_from(path, 2) : STR("."), out, e);
}
