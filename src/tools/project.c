/* SPDX-License-Identifier: MIT */
/* See box.h: the projects of a session, and the tool open_project. */
#include "base/mem.h"
#include "base/path.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "os/os.h"
#include "tools/box.h"

enum { PROJECT_MAX_BYTES = 64 << 20 };

/* ---- Projects ------------------------------------------------------------------------------------ */

static int find_identity(struct tool_project *p, struct err *e)
{
	struct os_file file;

	if (os_look(p->path, &file, e) < 0)
		return err_result(e);
	if (file.type != OS_DIR)
		return FAIL(e, ERR_NOTFOUND, "the project is no directory");
	p->device = file.device;
	p->inode = file.inode;
	return 0;
}

bool box_project_is_there(const struct tool_project *p)
{
	struct err ignored = ERR_INIT;
	struct os_file file;

	return os_look(p->path, &file, &ignored) == 0 && file.type == OS_DIR &&
	       file.device == p->device && file.inode == p->inode;
}

void box_free_project(struct tool_project *p)
{
	while (p->limited) {
		struct tool_project *limited = p->limited;

		p->limited = limited->next;
		box_free_project(limited);
	}
	line_free_all(p);
	cordon_policy_free(p->policy);
	arena_done(&p->arena);
	mem_free(p);
}

void box_free_projects(struct toolbox *box)
{
	while (box->projects) {
		struct tool_project *p = box->projects;

		box->projects = p->next;
		box_free_project(p);
	}
}

static void tell_warning(void *user, const char *text)
{
	const struct tool_project *p = user;

	box_log(p->box, "%s", text);
}

/* The same with the project's ceiling. */
static cordon_policy *narrow(const struct tool_project *p, cordon_policy *policy, struct err *e)
{
	const struct cordon_load_options quiet = { .size = sizeof(quiet) };
	const struct run_needs needs = { .asks = true, .ceiling = &p->layer };
	cordon_policy *narrowed;

	if (!policy || !p->ceiling.len)
		return policy;
	narrowed = load_again(policy, &quiet, &needs, e);
	cordon_policy_free(policy);
	return narrowed;
}

cordon_policy *box_load(const struct tool_project *p, struct str directory, struct err *e)
{
	const struct tool_project *first = p->box->projects;
	struct cordon_load_options load = p->asked.load;
	struct run_needs needs = { .asks = true };

	if (directory.len) {
		load.directory = directory.p;
		load.workspace = first ? first->policy->workspace.path.p : load.workspace;
	}
	/* SECURITY: what is denied or protected in the first one's workspace stays so. */
	if (first && !str_eq(first->path, p->path)) {
		needs.root = p->path;
		needs.root_is_read_only = p->is_read_only;
	}
	return narrow(p, load_new(&load, &needs, e), e);
}

static int add_read_only(struct tool_project *p, struct str root, struct err *e)
{
	const char *const *name = p->box->options.read_only;
	struct cordon_load_options *load = &p->asked.load;

	for (; *name; name++) {
		const char **list =
			arena_array(&p->arena, load->add_read_count + 1, sizeof(*list), e);
		struct str path;

		if (!list || path_plain(&p->arena, root, str_of(*name), &path, e) < 0)
			return err_result(e);
		if (!path_is_under(path, root) || path.len == root.len)
			return FAIL(e, ERR_ARGUMENT,
				    "read_only has '%s', which is not below a project", *name);
		for (uint64_t i = 0; i < load->add_read_count; i++)
			list[i] = load->add_read[i];
		list[load->add_read_count++] = path.p;
		load->add_read = list;
	}
	return 0;
}

/*
 * In the policy, so that commands are held as well. The profile may open the directories of other projects:
 * those that are known now are protected in this one too.
 */
static int protect(struct tool_project *p, struct str path, struct err *e)
{
	const struct toolbox_options *options = &p->box->options;
	const char *named = p->asked.load.directory;
	struct str root = path;

	if (!options->read_only)
		return 0;
	for (const struct tool_project *q = p->box->projects; q; q = q->next)
		if (add_read_only(p, q->path, e) < 0)
			return err_result(e);
	if (!root.len && (named ? os_canonical_directory(&p->arena, str_of(named), &root, e)
				: os_working_directory(&p->arena, &root, e)) < 0)
		return err_result(e);
	if (add_read_only(p, root, e) < 0)
		return err_result(e);
	for (size_t i = 0; options->roots && options->roots[i]; i++)
		if (os_canonical_directory(&p->arena, str_of(options->roots[i]), &root, e) < 0 ||
		    add_read_only(p, root, e) < 0)
			return err_result(e);
	return 0;
}

/* The first has the directory of the options, whatever its workspace is. */
static int load_project(struct tool_project *p, struct str path, struct err *e)
{
	const struct toolbox *box = p->box;
	static const char *const command[] = { "cordon-tools", NULL };
	struct cordon_run_options run = box->run;

	run.command = command;
	run.load = &box->load;
	run.ask_timeout_ms = 0; /* nobody asks the worker */
	if (asked_read(NULL, &run, &p->asked, e) < 0 ||
	    asked_add_features(&p->arena, &p->asked, e) < 0)
		return err_result(e);
	p->asked.run.enable = p->asked.run.disable = NULL;
	p->asked.load.on_warning = tell_warning;
	p->asked.load.user = p;
	p->asked.run.load = &p->asked.load;
	p->path = path;
	if (protect(p, path, e) < 0)
		return err_result(e);
	p->policy = box_load(p, path, e);
	if (!p->policy)
		return err_result(e);
	p->asked.run.policy = p->policy;
	return arena_copy(&p->arena, p->policy->plan_inputs.places.cwd, &p->path, e) < 0
		       ? err_result(e)
		       : find_identity(p, e);
}

struct tool_project *box_open_project(struct toolbox *box, struct str path, bool is_read_only,
				      struct err *e)
{
	struct tool_project **last = &box->projects, *p;
	struct str copy;

	if (toolbox_root_count(box) == SCOPE_MAX_ROOTS) {
		(void)FAIL(e, ERR_LIMIT, "a session has at most %d projects", SCOPE_MAX_ROOTS);
		return NULL;
	}
	p = mem_new(sizeof(*p), e);
	if (!p)
		return NULL;
	*p = (struct tool_project){ .box = box,
				    .arena = ARENA_INIT(PROJECT_MAX_BYTES),
				    .is_read_only = is_read_only };
	if (arena_copy(&p->arena, path, &copy, e) < 0 || load_project(p, copy, e) < 0) {
		box_free_project(p);
		return NULL;
	}
	while (*last)
		last = &(*last)->next;
	*last = p;
	return p;
}

/* What runs there goes on under the policy that it has. */
static int open_for_writing(struct tool_project *p, struct err *e)
{
	cordon_policy *policy;

	p->is_read_only = false;
	policy = box_load(p, p->path, e);
	if (!policy) {
		p->is_read_only = true;
		return err_result(e);
	}
	line_end(p);
	cordon_policy_free(p->policy);
	p->policy = policy;
	p->asked.run.policy = policy;
	return 0;
}

/* The deepest whose root the path lies in; else the first: the policy decides, not the root. */
struct tool_project *box_project_of(struct toolbox *box, struct str path)
{
	struct tool_project *best = box->projects;
	size_t depth = 0;

	if (!path.len || path.p[0] != '/')
		return best;
	for (struct tool_project *p = box->projects; p; p = p->next)
		if (path_is_under(path, p->path) && p->path.len > depth) {
			best = p;
			depth = p->path.len;
		}
	return best;
}

int box_choose_project(struct toolbox_call *call, struct str path, struct err *e)
{
	struct tool_project *p = ceiling_project(call, box_project_of(call->box, path), e);

	if (!p)
		return err_wrap(e, "the sandbox that codex has chosen can't be held");
	call->project = p;
	return 0;
}

int box_print_sandbox(struct arena *a, const struct tool_project *p, const char *backend,
		      struct str *out, struct err *e)
{
	scoped_buf text = BUF_INIT(64 << 10);
	struct json_writer w = JSON_LINE_INIT(&text);

	json_begin_object(&w);
	json_key(&w, "backend");
	if (p->box->is_outer)
		json_add_str(&w, p->box->outer_backend);
	else
		json_add_text(&w, backend);
	json_key(&w, "enforced");
	json_add_bool(&w, p->box->is_outer || strcmp(backend, "none") != 0);
	if (p->box->is_outer) {
		json_key(&w, "outer");
		json_add_str(&w, p->box->outer_profile);
	}
	json_key(&w, "profile");
	json_add_str(&w, p->policy->policy->profile->name);
	json_end_object(&w);
	return buf_check(&text, e) < 0 ? err_result(e) : arena_copy(a, buf_str(&text), out, e);
}

/* ---- What all of them allow ---------------------------------------------------------------------------- */

/* SECURITY: what can't be hashed is never the same again, so that what was asked about it is asked anew. */
static void add_digest(struct toolbox *box, const struct tool_project *p, struct buf *out)
{
	const struct cordon_policy *policy = line_policy(p);
	const struct scope scope = { .plan = policy ? policy->plan : p->policy->plan,
				     .folds = p->policy->plan->host->folds,
				     .home = STR_EMPTY,
				     .private_tmp = { STR_EMPTY, STR_EMPTY },
				     .sandbox = STR_EMPTY };
	scoped_buf text = BUF_INIT(SCOPE_MAX_BYTES);
	char hex[SHA256_HEX_BYTES];

	buf_add(&text, p->path);
	scope_print(&text, &scope);
	sha256_hex(buf_str(&text), hex);
	buf_add_text(out, hex);
	if (text.failed != ERR_OK)
		buf_printf(out, "%llu", (unsigned long long)++box->undigested);
}

const char *toolbox_digest(struct toolbox *box)
{
	scoped_buf text = BUF_INIT(SCOPE_MAX_BYTES);

	if (box->has_digest)
		return box->digest;
	for (const struct tool_project *p = box->projects; p; p = p->next)
		add_digest(box, p, &text);
	for (size_t i = 0; i < box->grants.count; i++)
		buf_add(&text, box->grants.items[i].grant.subject);
	box->has_digest = text.failed == ERR_OK;
	if (!box->has_digest) {
		buf_clear(&text);
		buf_printf(&text, "%llu", (unsigned long long)++box->undigested);
	}
	sha256_hex(buf_str(&text), box->digest);
	return box->digest;
}

void box_policy_changed(struct toolbox *box)
{
	for (struct tool_project *p = box->projects; p; p = p->next) {
		line_end(p);
		for (struct tool_project *q = p->limited; q; q = q->next)
			line_end(q);
	}
	box->has_digest = false;
}

/* The workers have the same policies as before, and go on. */
static void roots_changed(struct toolbox *box)
{
	for (struct tool_project *p = box->projects; p; p = p->next) {
		line_tell_roots(p);
		for (struct tool_project *q = p->limited; q; q = q->next)
			line_tell_roots(q);
	}
	box->has_digest = false;
}

/* ---- open_project ------------------------------------------------------------------------------------ */

static void answer_project(struct toolbox_call *call, const struct tool_project *p)
{
	const struct scope none = { .sandbox = STR_EMPTY, .home = STR_EMPTY };
	struct tool_result result;
	struct err e = ERR_INIT;
	struct call made;
	struct json_writer *w = &made.json;
	int r;

	call_init(&made, &call->arena, &none, call->arguments);
	json_key(w, "path");
	json_add_str(w, p->path);
	json_key(w, "access");
	json_add_text(w, p->is_read_only ? "read" : "write");
	json_key(w, "roots");
	json_begin_array(w);
	for (const struct tool_project *q = call->box->projects; q; q = q->next) {
		json_begin_object(w);
		json_key(w, "path");
		json_add_str(w, q->path);
		json_key(w, "access");
		json_add_text(w, q->is_read_only ? "read" : "write");
		json_end_object(w);
	}
	json_end_array(w);
	utf8_add_shown(&made.text, p->path);
	buf_printf(&made.text, ": opened, to %s", p->is_read_only ? "read" : "read and write");
	r = call_finish(&made, 0, &result, &e);
	if (r < 0)
		box_refuse(call, REFUSAL_CONFLICT, "%s", e.text);
	else
		box_finish(call, &result);
	call_done(&made);
}

static struct tool_project *find_project(struct toolbox *box, struct str path)
{
	for (struct tool_project *p = box->projects; p; p = p->next)
		if (str_eq(p->path, path))
			return p;
	return NULL;
}

static bool is_granted(const struct toolbox *box, struct str path)
{
	const struct grant wanted = { .kind = ASK_WRITE, .subject = path, .is_dir = true };

	for (size_t i = 0; i < box->grants.count; i++)
		if (grant_covers(&box->grants.items[i].grant, &wanted))
			return true;
	return false;
}

static void refuse_project(struct toolbox_call *call, struct str path, enum access wanted)
{
	const struct scope scope = { .plan = call->project->policy->plan,
				     .folds = call->project->policy->plan->host->folds,
				     .sandbox = STR_EMPTY,
				     .home = STR_EMPTY,
				     .private_tmp = { STR_EMPTY, STR_EMPTY } };
	struct tool_result result;
	struct err e = ERR_INIT;
	struct call made;

	call_init(&made, &call->arena, &scope, call->arguments);
	made.tool = call->request.tool->name;
	if (call_finish(&made, call_violates(&made, path, wanted, &e), &result, &e) < 0)
		box_refuse(call, REFUSAL_CONFLICT, "%s", e.text);
	else
		box_take(call, &result);
	call_done(&made);
}

/* SECURITY: what was granted was not granted to a call with a ceiling, which nobody raises. */
static bool may_open(const struct toolbox_call *call, struct str path, enum access wanted)
{
	return plan_resolve(call->project->policy->plan, path).access >= wanted ||
	       (!call->project->ceiling.len && is_granted(call->box, path));
}

/* SECURITY: opened for writing only where the policy allows it anyway, or somebody has granted it. */
void box_take_project(struct toolbox_call *call)
{
	struct toolbox *box = call->box;
	const struct plan *plan = call->project->policy->plan;
	struct str named = box_text(call->arguments, "path"), path, plain;
	bool writes = str_is(box_text(call->arguments, "access"), "write");
	enum access wanted = writes ? ACCESS_WRITE : ACCESS_READ;
	struct err e = ERR_INIT;
	struct tool_project *p;

	if (str_has_nul(named) ||
	    path_plain(&call->arena, box->projects->path, named, &plain, &e) < 0) {
		box_refuse(call, REFUSAL_INVALID, "that is no path");
		return;
	}
	/* Before it is known whether it exists: a denied path says nothing of that. */
	if (plan_resolve(plan, plain).access == ACCESS_DENY) {
		refuse_project(call, plain, wanted);
		return;
	}
	/* Nor does one that a link leads to. */
	if (os_canonical_directory(&call->arena, plain, &path, &e) < 0 ||
	    plan_resolve(plan, path).access == ACCESS_DENY) {
		box_refuse(call, REFUSAL_NOT_FOUND, "there is no such directory");
		return;
	}
	p = find_project(box, path);
	if (!(p && (!writes || !p->is_read_only)) && !may_open(call, path, wanted)) {
		refuse_project(call, path, wanted);
		return;
	}
	if (!p)
		p = box_open_project(box, path, !writes, &e);
	else if (writes && p->is_read_only && open_for_writing(p, &e) < 0)
		p = NULL;
	if (!p) {
		box_refuse(call, REFUSAL_VIOLATION, "it can't be opened as a project: %s", e.text);
		return;
	}
	roots_changed(box);
	answer_project(call, p);
}

/* ---- Roots -------------------------------------------------------------------------------------------- */

int toolbox_add_root(struct toolbox *box, const char *path, struct err *e)
{
	const struct plan *plan = box->projects->policy->plan;
	scoped_arena a = ARENA_INIT(1 << 20);
	struct str plain, found;
	enum access access;

	if (path_plain(&a, box->projects->path, str_of(path), &plain, e) < 0)
		return err_result(e);
	/* Before it is known whether it exists, as for open_project. */
	if (plan_resolve(plan, plain).access == ACCESS_DENY)
		return 1;
	if (os_canonical_directory(&a, plain, &found, e) < 0)
		return err_result(e);
	access = plan_resolve(plan, found).access;
	if (access == ACCESS_DENY)
		return 1;
	if (find_project(box, found))
		return 0;
	if (!box_open_project(box, found, access < ACCESS_WRITE, e))
		return err_result(e);
	roots_changed(box);
	return 0;
}

const cordon_policy *toolbox_policy(struct toolbox *box, struct str path)
{
	return box_project_of(box, path)->policy;
}

size_t toolbox_root_count(const struct toolbox *box)
{
	size_t n = 0;

	for (const struct tool_project *p = box->projects; p; p = p->next)
		n++;
	return n;
}

struct str toolbox_root(const struct toolbox *box, size_t i)
{
	const struct tool_project *p = box->projects;

	while (p && i--)
		p = p->next;
	return p ? p->path : STR_EMPTY;
}
