/* SPDX-License-Identifier: MIT */
/*
 * Suggests edits that change the answer for a path. In each round, the rule that decides leads to
 * a few edits to try. The first that gives the wanted answer is taken; else the first after which
 * another rule decides, and the next round starts from that rule.
 */
#include "plan/suggest.h"

#include "base/path.h"
#include "base/utf8.h"
#include "plan/builder.h"
#include "plan/suggest_edit.h"
#include "plan/words.h"

enum trial_kind {
	TRIAL_CHANGE, /* the access of an entry for this path alone */
	TRIAL_ADD,    /* an entry */
	TRIAL_REMOVE, /* an entry */
	TRIAL_GIT,    /* P10's key */
};

struct trial {
	enum trial_kind kind;
	size_t layer;
	size_t entry;	 /* of layers[layer].fs; TRIAL_CHANGE, TRIAL_REMOVE */
	struct str path; /* TRIAL_ADD */
	enum access access;
	enum git_access git;
	bool is_wide;	 /* the entry covers more than this path */
	bool needs_path; /* tried as if the path existed */
};

enum { MAX_TRIALS = 8 };

struct path_change {
	struct suggester f;
	struct str path;
	enum access wanted;
	const struct plan *first;      /* before any edit */
	const struct plan *plan;       /* with the edits so far */
	size_t missing_from;	       /* of the path, as in struct canon */
	bool is_canonical;	       /* no part of the path is a link */
	struct suggest_host_view view; /* with f.change.needs_path, once that is set */
	struct trial trials[MAX_TRIALS];
	size_t trial_count;
};

/* ---- Trying ------------------------------------------------------------- */

/* The key for a literal path: the characters of globs are escaped. */
static int spell_path(struct suggester *f, struct str path, struct str *out)
{
	struct str escaped;

	return glob_escape(f->a, path, &escaped, f->e) < 0 ? err_result(f->e)
							   : arena_copy(f->a, escaped, out, f->e);
}

static struct policy *apply(struct suggester *f, const struct trial *t)
{
	static const struct origin suggested = { .file = "suggestion" };
	struct policy *p = suggest_copy_fs(f, f->policy, t->layer);
	struct profile *profile;
	fs_entries *fs;

	if (!p)
		return NULL;
	fs = &p->layers.items[t->layer].fs;
	profile = ARENA_NEW(f->a, struct profile, f->e);
	if (!profile)
		return NULL;
	*profile = *p->profile;
	switch (t->kind) {
	case TRIAL_CHANGE:
		fs->items[t->entry].access = t->access;
		break;
	case TRIAL_REMOVE:
		memmove(&fs->items[t->entry], &fs->items[t->entry + 1],
			(fs->count - t->entry - 1) * sizeof(*fs->items));
		fs->count--;
		break;
	case TRIAL_ADD:
		fs->items[fs->count++] = (struct fs_entry){ .anchor = FS_ABSOLUTE,
							    .path = t->path,
							    .glob = STR_EMPTY,
							    .access = t->access,
							    .layer = FS_LAYER_USER,
							    .key = t->path,
							    .origin = suggested };
		break;
	case TRIAL_GIT:
		profile->git = t->git;
		break;
	}
	if (t->layer == 0)
		profile->fs = *fs;
	p->profile = profile;
	return p;
}

/* Whether plan_narrow() is enough to apply it. */
static bool only_narrows(const struct path_change *pf, const struct trial *t)
{
	return t->kind == TRIAL_ADD && t->layer == 0 && !t->needs_path && pf->is_canonical &&
	       !pf->plan->is_unsandboxed && str_eq(t->path, pf->path) &&
	       t->access < plan_resolve(pf->plan, t->path).access;
}

/* The plan after an edit; NULL without an error if Cordon would refuse such a policy. */
static int try_edit(struct path_change *pf, const struct trial *t, struct policy **policy,
		    const struct plan **plan)
{
	struct plan_inputs in = *pf->f.in;
	struct suggest_host_view view;

	*plan = NULL;
	*policy = apply(&pf->f, t);
	if (!*policy)
		return err_result(pf->f.e);
	if (only_narrows(pf, t)) {
		*plan = plan_narrow(pf->f.a, pf->plan, t->path, t->access, pf->f.e);
		return *plan ? 0 : err_result(pf->f.e);
	}
	in.policy = *policy;
	if (pf->f.change.needs_path.len) {
		in.host = &pf->view.host;
	} else if (t->needs_path) {
		suggest_host_view_init(&view, pf->f.in->host, pf->path, pf->missing_from);
		in.host = &view.host;
	}
	*plan = plan_build_answers(pf->f.a, &in, pf->f.e);
	if (*plan)
		return 0;
	if (pf->f.e->code != ERR_POLICY)
		return err_result(pf->f.e);
	err_clear(pf->f.e);
	return 0;
}

/* ---- What to try -------------------------------------------------------- */

static void suggest(struct path_change *pf, struct trial t)
{
	if (pf->trial_count < MAX_TRIALS)
		pf->trials[pf->trial_count++] = t;
}

/* The entry that a rule comes from; false for a built-in rule. */
static bool find_entry(const struct path_change *pf, const struct rule *rule, size_t *layer,
		       size_t *entry)
{
	const struct policy *p = pf->f.policy;

	for (*layer = 0; *layer < p->layers.count; ++*layer) {
		const fs_entries *fs = &p->layers.items[*layer].fs;

		for (*entry = 0; *entry < fs->count; ++*entry)
			if (suggest_same_origin(&fs->items[*entry].origin, &rule->origin) &&
			    (rule->kind == RULE_MISSING || *layer == rule->layer))
				return true;
	}
	return false;
}

static bool is_of_secrets(const struct path_change *pf, const struct rule *rule)
{
	size_t layer, entry;

	return find_entry(pf, rule, &layer, &entry) &&
	       pf->f.policy->layers.items[layer].fs.items[entry].anchor == FS_SECRETS;
}

static int count_places(struct path_change *pf, const struct fs_entry *entry, size_t *out)
{
	place_list places = { .count = 0 };
	int r = places_expand(pf->f.a, &pf->f.in->places, entry, &places, pf->f.e);

	*out = places.count;
	return r;
}

/* A new entry, or the one that has this key already. */
static void suggest_entry(struct path_change *pf, size_t layer, struct str path)
{
	const fs_entries *fs = &pf->f.policy->layers.items[layer].fs;
	struct trial t = { .kind = TRIAL_ADD, .layer = layer, .path = path, .access = pf->wanted };

	for (size_t i = 0; i < fs->count; i++) {
		const struct fs_entry *entry = &fs->items[i];

		if (entry->anchor != FS_ABSOLUTE || entry->glob.len || !str_eq(entry->path, path))
			continue;
		t.kind = TRIAL_CHANGE;
		t.entry = i;
		if (!suggest_is_ours(&pf->f, &entry->origin))
			return;
	}
	suggest(pf, t);
}

/*
 * Cordon ignores entries for missing paths (P11), so the same entry is also tried as if the path
 * existed.
 *
 * SECURITY: never suggest the parent directory instead. That would open everything in it, and for
 * "/nonexistent" it is "/".
 */
static void suggest_entries(struct path_change *pf, size_t layer)
{
	size_t first = pf->trial_count;

	suggest_entry(pf, layer, pf->path);
	if (!pf->missing_from || pf->f.change.needs_path.len || pf->trial_count == first)
		return;
	suggest_entry(pf, layer, pf->path);
	if (pf->trial_count > first + 1)
		pf->trials[first + 1].needs_path = true;
}

/*
 * Edits of the line that decided. `is_last`: also of a line that covers more than this path. The line
 * is changed rather than removed, since without it the same key of a parent profile would apply. A glob
 * can only deny, so it is removed.
 */
static int suggest_change(struct path_change *pf, const struct rule *rule, bool is_last)
{
	struct trial t = { .kind = TRIAL_CHANGE, .access = pf->wanted };
	const struct fs_entry *entry;
	size_t places;

	if (!find_entry(pf, rule, &t.layer, &t.entry))
		return 0;
	entry = &pf->f.policy->layers.items[t.layer].fs.items[t.entry];
	/* Never suggest to open all secrets for the sake of one. */
	if (!suggest_is_ours(&pf->f, &entry->origin) || entry->anchor == FS_SECRETS)
		return 0;
	if (count_places(pf, entry, &places) < 0)
		return err_result(pf->f.e);
	t.is_wide = entry->glob.len || places != 1 || !str_eq(rule->path, pf->path);
	if (entry->glob.len)
		t.kind = TRIAL_REMOVE;
	if (t.is_wide == is_last)
		suggest(pf, t);
	return 0;
}

static void suggest_git(struct path_change *pf)
{
	enum git_access is = pf->f.policy->profile->git;

	if (is < GIT_COMMIT)
		suggest(pf, (struct trial){ .kind = TRIAL_GIT, .git = GIT_COMMIT });
	if (is < GIT_WRITE)
		suggest(pf, (struct trial){ .kind = TRIAL_GIT, .git = GIT_WRITE });
}

static int suggest_wider(struct path_change *pf, const struct rule *rule)
{
	switch (rule->kind) {
	case RULE_OWN:
	case RULE_UNSANDBOXED:
		return 0;
	case RULE_PROTECTED:
	case RULE_GIT:
		suggest_git(pf);
		suggest_entries(pf, 0);
		return 0;
	case RULE_MISSING:
		suggest_entries(pf, 0);
		return suggest_change(pf, rule, true);
	case RULE_ENTRY:
	case RULE_GLOB:
	case RULE_GRANT:
	case RULE_UNCOVERED:
		break;
	}
	if (layer_is_fixed(&pf->f.policy->layers.items[rule->layer]))
		return 0;
	if (suggest_change(pf, rule, false) < 0)
		return err_result(pf->f.e);
	suggest_entries(pf, rule->layer);
	return suggest_change(pf, rule, true);
}

static int suggest_edits(struct path_change *pf, const struct verdict *v)
{
	pf->trial_count = 0;
	if (pf->wanted > v->access)
		return suggest_wider(pf, v->rule);
	if (v->rule->layer == 0 && suggest_change(pf, v->rule, false) < 0)
		return err_result(pf->f.e);
	suggest_entry(pf, 0, pf->path);
	return 0;
}

/* ---- Recording ---------------------------------------------------------- */

/* The entry shown as "/x → sub" is "sub" in the table of "/x". */
static int record_entry(struct suggester *f, const struct trial *t, const struct fs_entry *entry,
			struct str value)
{
	static const struct str arrow = STR_INIT(" → ");
	struct str table = STR("filesystem"), key = entry->key, base;

	for (size_t i = 0; i + arrow.len < entry->key.len; i++) {
		if (!str_has_prefix(str_from(entry->key, i), arrow))
			continue;
		key = str_from(entry->key, i + arrow.len);
		if (suggest_key(f, str_first(entry->key, i), &base) < 0 ||
		    arena_printf(f->a, &table, f->e, "filesystem.%.*s", (int)base.len, base.p) < 0)
			return err_result(f->e);
		break;
	}
	if (suggest_key(f, key, &key) < 0 ||
	    suggest_record(f, t->layer, table.p, &entry->origin, key, value) < 0)
		return err_result(f->e);
	f->change.edits[f->change.edit_count - 1].is_wide = t->is_wide;
	return 0;
}

static int record(struct suggester *f, const struct trial *t)
{
	static const char *const git_names[] = { "read", "commit", "write" };
	const fs_entries *fs = &f->policy->layers.items[t->layer].fs;
	struct str key = t->path, value = STR_EMPTY;

	if (t->kind == TRIAL_REMOVE)
		return record_entry(f, t, &fs->items[t->entry], STR_EMPTY);
	if (t->kind == TRIAL_GIT) {
		if (suggest_string(f, str_of(git_names[t->git]), &value) < 0)
			return err_result(f->e);
		return suggest_record(f, 0, "", &f->policy->profile->git_origin, STR("git"), value);
	}
	if (suggest_string(f, str_of(access_name(t->access)), &value) < 0)
		return err_result(f->e);
	if (t->kind == TRIAL_CHANGE)
		return record_entry(f, t, &fs->items[t->entry], value);
	if (spell_path(f, t->path, &key) < 0 || suggest_key(f, key, &key) < 0)
		return err_result(f->e);
	return suggest_record(f, t->layer, "filesystem", NULL, key, value);
}

/* ---- The rounds --------------------------------------------------------- */

static bool is_same_rule(const struct rule *a, const struct rule *b)
{
	/* Two keys may be the same glob. */
	return a->kind == b->kind && a->layer == b->layer && a->secret == b->secret &&
	       str_eq(a->path, b->path) && str_eq(a->glob, b->glob);
}

/* From here on, edits are tried as if `path`, the one in question or one above it, existed. */
static void need_path(struct path_change *pf, struct str path)
{
	pf->f.change.needs_path = path;
	suggest_host_view_init(&pf->view, pf->f.in->host, path, pf->missing_from);
}

/* Takes the best of the suggested edits; `*found` is false when none helps. */
static int take_edit(struct path_change *pf, const struct verdict *before, bool *found)
{
	struct policy *policy, *best_policy = NULL;
	const struct plan *plan, *best_plan = NULL;
	const struct trial *best = NULL;

	for (size_t i = 0; i < pf->trial_count; i++) {
		struct verdict v;

		if (try_edit(pf, &pf->trials[i], &policy, &plan) < 0)
			return err_result(pf->f.e);
		if (!plan)
			continue;
		v = plan_resolve(plan, pf->path);
		if (v.access != pf->wanted && (best || is_same_rule(v.rule, before->rule)))
			continue;
		best = &pf->trials[i];
		best_policy = policy;
		best_plan = plan;
		if (v.access == pf->wanted)
			break;
	}
	*found = best != NULL;
	if (!best)
		return 0;
	if (record(&pf->f, best) < 0)
		return err_result(pf->f.e);
	if (best->needs_path)
		need_path(pf, pf->path);
	pf->f.policy = best_policy;
	pf->plan = best_plan;
	return 0;
}

static int explain_fixed(struct suggester *f, const struct rule *rule)
{
	struct str place;

	if (suggest_place(f, &rule->origin, &place) < 0)
		return err_result(f->e);
	return suggest_explain_fixed(f, rule->layer, place);
}

/* A deny of exactly this path, which no entry overrides. */
static bool is_final_deny(const struct path_change *pf, const struct rule *rule)
{
	return rule->access == ACCESS_DENY && rule->origin.file &&
	       (rule->kind == RULE_GLOB ||
		(rule->kind == RULE_ENTRY && str_eq(rule->path, pf->path)));
}

static bool is_said_before(const struct path_change *pf, const rule_trace *trace, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (is_final_deny(pf, trace->items[i]) &&
		    suggest_same_origin(&trace->items[i]->origin, &trace->items[at]->origin))
			return true;
	return false;
}

/* ":secrets (user.toml:5) and the glob (user.toml:6)": each line that denies it, once. */
static int list_denies(struct path_change *pf, struct str *out)
{
	struct suggester *f = &pf->f;
	rule_trace trace = { .count = 0 };
	struct verdict v;

	*out = STR_EMPTY;
	if (plan_trace(f->a, pf->first, pf->path, &v, &trace, f->e) < 0)
		return err_result(f->e);
	for (size_t i = 0; i < trace.count; i++) {
		const struct rule *rule = trace.items[i];
		struct str before = *out, place;

		if (!is_final_deny(pf, rule) || is_said_before(pf, &trace, i))
			continue;
		if (suggest_place(f, &rule->origin, &place) < 0 ||
		    arena_printf(f->a, out, f->e, "%.*s%s%.*s (%.*s)", STR_ARG(before),
				 before.len ? " and " : "", STR_ARG(rule->key), STR_ARG(place)) < 0)
			return err_result(f->e);
	}
	return 0;
}

/* P7: no entry overrides the :secrets of a project, and no file the :secrets of an option. */
static int explain_secret(struct path_change *pf, const struct rule *rule)
{
	struct suggester *f = &pf->f;
	struct str denies;

	if (list_denies(pf, &denies) < 0)
		return err_result(f->e);
	return arena_printf(f->a, &f->change.why_not, f->e,
			    "%.*s denies it%s%.*s, and no entry of your configuration file "
			    "overrides that line: %.*s",
			    STR_ARG(rule->key), rule->glob.len ? " as " : "", STR_ARG(rule->glob),
			    STR_ARG(denies));
}

/* An option overrides every file, so suggest another option. */
static int explain_option(struct path_change *pf, const struct rule *rule)
{
	static const char *const instead[] = {
		[ACCESS_DENY] = "--deny", [ACCESS_READ] = "--add-read", [ACCESS_WRITE] = "--add-write"
	};
	struct suggester *f = &pf->f;

	return arena_printf(
		f->a, &f->change.why_not, f->e,
		"no line of a file overrides %s, an option of this call: leave it out%s%s",
		rule->origin.file, str_eq(rule->path, pf->path) ? ", or use instead " : "",
		str_eq(rule->path, pf->path) ? instead[pf->wanted] : "");
}

static int explain(struct path_change *pf, const struct rule *rule)
{
	struct suggester *f = &pf->f;
	struct str place;

	if (rule->kind == RULE_OWN)
		return arena_printf(f->a, &f->change.why_not, f->e,
				    "%.*s belongs to Cordon itself, and no policy opens it",
				    STR_ARG(pf->path));
	if (rule->kind == RULE_UNSANDBOXED)
		return arena_printf(f->a, &f->change.why_not, f->e,
				    "this profile has no sandbox; choose another one");
	if (layer_is_fixed(&f->policy->layers.items[rule->layer]))
		return explain_fixed(f, rule);
	if (is_of_secrets(pf, rule) && (rule->glob.len || str_eq(rule->path, pf->path)))
		return explain_secret(pf, rule);
	if (suggest_place(f, &rule->origin, &place) < 0)
		return err_result(f->e);
	if (rule->kind == RULE_PROTECTED && !rule->origin.file)
		return arena_printf(f->a, &f->change.why_not, f->e,
				    "%.*s is always protected in a writable root",
				    STR_ARG(rule->key));
	if (suggest_is_trusted(f, &rule->origin))
		return suggest_explain_trusted(f, place);
	if (rule->kind == RULE_GRANT)
		return suggest_explain_granted(f, place);
	if (rule->kind == RULE_ENTRY && rule->origin.file && rule->origin.file[0] == '-')
		return explain_option(pf, rule);
	return arena_printf(f->a, &f->change.why_not, f->e,
			    "%.*s (%.*s) decides, and no single line changes that",
			    STR_ARG(rule->key), STR_ARG(place));
}

/* An entry that Cordon ignores because its path is missing (P11). */
struct left_out {
	const struct fs_entry *entry; /* NULL: none */
	struct str missing;
};

/* Creating its path comes first, and may be enough. */
static int take_left_out(struct path_change *pf, const struct left_out *left)
{
	struct suggester *f = &pf->f;
	struct plan_inputs in = *f->in;
	struct str key, place;

	need_path(pf, left->missing);
	f->needs_directory = left->missing.len < pf->path.len;
	in.host = &pf->view.host;
	pf->plan = plan_build_answers(f->a, &in, f->e);
	if (!pf->plan || suggest_key(f, left->entry->key, &key) < 0 ||
	    suggest_place(f, &left->entry->origin, &place) < 0)
		return err_result(f->e);
	return arena_printf(f->a, &f->said_by, f->e, "%.*s = \"%s\" (%.*s)", STR_ARG(key),
			    access_name(left->entry->access), STR_ARG(place));
}

/*
 * Finds an ignored entry that would give the wanted answer if its path existed. To open the directory
 * above instead would give more than was asked for.
 */
static int find_left_out(struct path_change *pf, const struct verdict *v, struct left_out *out)
{
	const fs_entries *fs = &pf->f.policy->layers.items[0].fs;
	place_list places = { .count = 0 };

	out->entry = NULL;
	if (pf->wanted != ACCESS_WRITE || v->rule->layer > 0 ||
	    (v->rule->kind != RULE_ENTRY && v->rule->kind != RULE_UNCOVERED))
		return 0;
	for (size_t i = 0; pf->missing_from && !out->entry && i < fs->count; i++) {
		if (fs->items[i].access != ACCESS_WRITE)
			continue;
		places.count = 0;
		if (places_expand(pf->f.a, &pf->f.in->places, &fs->items[i], &places, pf->f.e) < 0)
			return err_result(pf->f.e);
		for (size_t k = 0; k < places.count; k++) {
			struct str path = places.items[k].path;

			if (path.len >= pf->missing_from && path_is_under(pf->path, path) &&
			    path_depth(path) > v->rule->depth)
				*out = (struct left_out){ &fs->items[i], path };
		}
	}
	return 0;
}

static int suggest_rounds(struct path_change *pf)
{
	struct verdict now = plan_resolve(pf->plan, pf->path);
	struct left_out left;
	struct canon canon;

	if (canon_resolve(pf->f.a, pf->f.in->host, pf->path, true, &canon, NULL, pf->f.e) < 0)
		return err_result(pf->f.e);
	pf->missing_from = canon.missing_from;
	pf->is_canonical = str_eq(canon.path, pf->path);
	if (find_left_out(pf, &now, &left) < 0 || (left.entry && take_left_out(pf, &left) < 0))
		return err_result(pf->f.e);
	/* SECURITY: one attempt must not lead a person to open what the agent obeys. */
	if (pf->wanted == ACCESS_WRITE && now.access < pf->wanted &&
	    rule_keeps_agent(now.rule, pf->f.in->places.home))
		return arena_printf(pf->f.a, &pf->f.change.why_not, pf->f.e, "%.*s %s",
				    STR_ARG(pf->path), rule_agent_reason);
	for (size_t round = 0;; round++) {
		struct verdict v = plan_resolve(pf->plan, pf->path);
		bool found = false;

		if (v.access == pf->wanted)
			return suggest_finish(&pf->f);
		if (round < SUGGEST_MAX_EDITS &&
		    (suggest_edits(pf, &v) < 0 || take_edit(pf, &v, &found) < 0))
			return err_result(pf->f.e);
		if (!found)
			return explain(pf, v.rule);
	}
}

int plan_suggest_path(struct arena *a, const struct plan_inputs *in, const struct plan *p,
		      struct str path, enum access wanted, struct change *out, struct err *e)
{
	struct path_change pf = {
		.f = { .a = a, .in = in, .policy = in->policy, .e = e },
		.path = path,
		.wanted = wanted,
		.first = p,
		.plan = p,
	};
	int r;

	if (utf8_check(path) < path.len)
		r = arena_printf(a, &pf.f.change.why_not, e,
				 "a configuration file can't hold a path that is not UTF-8");
	else
		r = suggest_rounds(&pf);
	if (r < 0)
		return r;
	if (!pf.f.change.is_possible) {
		pf.f.change.edit_count = 0;
		pf.f.change.needs_own_profile = false;
		pf.f.change.needs_path = STR_EMPTY;
	}
	*out = pf.f.change;
	return 0;
}
