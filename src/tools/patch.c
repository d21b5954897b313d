/* SPDX-License-Identifier: MIT */
/*
 * See patch.h. Hunk by hunk, as the format has it: each is read, computed and written before the next
 * one is looked at. An atomic patch, and a trial, go through all hunks first, so each file may occur
 * once only.
 */
#include "tools/patch.h"

#include <stdio.h>

#include "base/path.h"
#include "base/utf8.h"
#include "os/fd.h"
#include "tools/patch_mode.h"

enum {
	SHOWN_BYTES = 512,
	WORDS_BYTES = 4096,
	LEFT_DESCRIPTORS = 64, /* for all else than the files of an atomic patch */
	DESCRIPTORS_A_FILE = 3,
	PROGRESS_HUNKS = 64,
};

#define SHOWN(s) utf8_show((s), (char[SHOWN_BYTES]){ 0 }, SHOWN_BYTES)

/* What a hunk does to files: one edit, or two for a move. */
struct change {
	const struct patch_hunk *hunk;
	struct edit target; /* what is added, updated or deleted; of a move the new file */
	struct edit source; /* of a move: the old file */
	bool is_move;	    /* to another file */
	struct str content; /* of `target` */
};

struct job {
	struct call *call;
	const struct patch_request *request;
	struct patch patch;
	struct patch_allowance allowance;
	struct patch_outcome *outcome;
	/* Of an atomic patch: all of them. */
	struct change *changes;
	size_t count;
};

/* ---- Failing ----------------------------------------------------------------------------------- */

static int note_place(struct job *job, const struct patch_place *place, struct err *e)
{
	if (job->outcome->place.len)
		return 0;
	if (place->chunk)
		return arena_printf(job->call->a, &job->outcome->place, e,
				    "chunk %u of hunk %u, at line %u of the patch",
				    (unsigned)place->chunk, (unsigned)place->hunk,
				    (unsigned)place->line);
	return arena_printf(job->call->a, &job->outcome->place, e,
			    "hunk %u, at line %u of the patch", (unsigned)place->hunk,
			    (unsigned)place->line);
}

/* Puts what was to be done before the reason of a refusal, as programs for such patches print it. */
static int fail_hunk(struct job *job, const struct patch_hunk *hunk, const char *what,
		     struct str path, struct err *e)
{
	struct refusal *refusal = &job->call->refusal;

	if (note_place(job, &hunk->place, e) < 0)
		return err_result(e);
	if (!refusal->is_set && e->code == ERR_LIMIT) {
		err_clear(e);
		return call_refuse(job->call, REFUSAL_TOO_LARGE, "%s %s: it takes too much memory",
				   what, SHOWN(path));
	}
	if (!refusal->is_set)
		return err_wrap(e, "%s %s", what, SHOWN(path));
	return arena_printf(job->call->a, &refusal->message, e, "%s %s: %.*s", what, SHOWN(path),
			    (int)refusal->message.len, refusal->message.p) < 0
		       ? err_result(e)
		       : CALL_REFUSED;
}

/* From the errors of src/patch: the headline, and below it lines that the file lacks and the place. */
static int refuse_patch(struct job *job, struct err *e)
{
	static const struct {
		enum cause cause;
		enum tool_refusal_kind kind;
	} kinds[] = {
		{ CAUSE_PATCH_SYNTAX, REFUSAL_INVALID },
		{ CAUSE_PATCH_LIMIT, REFUSAL_TOO_LARGE },
		{ CAUSE_PATCH_MISMATCH, REFUSAL_CONFLICT },
	};
	const struct err failure = *e;
	scoped_buf lines = BUF_INIT(sizeof(failure.text) * 2);

	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		struct str headline = err_line(&failure, 0);

		if (failure.cause != kinds[i].cause)
			continue;
		for (size_t n = 1; n <= failure.line_count; n++) {
			buf_add(&lines, err_line(&failure, n));
			buf_add_char(&lines, '\n');
		}
		err_clear(e);
		if (buf_check(&lines, e) < 0 ||
		    arena_copy(job->call->a, buf_str(&lines), &job->outcome->missing_lines, e) < 0)
			return err_result(e);
		return call_refuse(job->call, kinds[i].kind, "%.*s", (int)headline.len, headline.p);
	}
	return err_result(e);
}

/* ---- What a hunk makes -------------------------------------------------------------------------- */

static bool is_ascii(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.p[i] >= 0x80)
			return false;
	return true;
}

static bool adds_only_ascii(const struct job *job, const struct patch_hunk *hunk)
{
	for (size_t i = 0; i < hunk->chunk_count; i++) {
		struct str body = job->patch.chunks.items[hunk->first_chunk + i].body, line;

		while (patch_next_line(&body, &line))
			if (line.len && line.p[0] == '+' && !is_ascii(line))
				return false;
	}
	return true;
}

/* A file that is no text is not changed; text in another encoding only by what it surely holds. */
static int check_text(struct job *job, const struct patch_hunk *hunk, struct str text)
{
	if (str_has_nul(text))
		return call_refuse(job->call, REFUSAL_BINARY,
				   "it is binary, or text in an encoding other than UTF-8");
	if (utf8_check(text) != text.len && !adds_only_ascii(job, hunk))
		return call_refuse(
			job->call, REFUSAL_INVALID,
			"its text is not UTF-8, but text that is added is and is not ASCII");
	return 0;
}

static int compute_update(struct job *job, const struct patch_hunk *hunk, const struct edit *edit,
			  struct str *out, struct err *e)
{
	scoped_buf text = BUF_INIT(PATCH_MAX_FILE_BYTES);
	int r;

	if (edit->at.fd < 0) {
		(void)call_refuse(job->call, REFUSAL_NOT_FOUND,
				  "No such file or directory (os error 2)");
		return fail_hunk(job, hunk, "Failed to read file to update", hunk->path, e);
	}
	r = check_text(job, hunk, edit->content);
	if (r < 0)
		return fail_hunk(job, hunk, "Failed to read file to update", hunk->path, e);
	if (patch_update_text(&job->patch, hunk, edit->content, &job->allowance, &text, e) < 0) {
		if (note_place(job, &hunk->place, e) < 0)
			return err_result(e);
		return refuse_patch(job, e);
	}
	return arena_copy(job->call->a, buf_str(&text), out, e);
}

static int compute_add(struct job *job, const struct patch_hunk *hunk, struct str *out,
		       struct err *e)
{
	scoped_buf text = BUF_INIT(PATCH_MAX_FILE_BYTES);

	return patch_add_text(hunk, &text, e) < 0
		       ? err_result(e)
		       : arena_copy(job->call->a, buf_str(&text), out, e);
}

/* ---- One hunk ----------------------------------------------------------------------------------- */

static const char *what_fails(const struct patch_hunk *hunk)
{
	switch (hunk->kind) {
	case PATCH_ADD:
		return "Failed to write file";
	case PATCH_DELETE:
		return "Failed to delete file";
	case PATCH_UPDATE:
		break;
	}
	return "Failed to read file to update";
}

static bool is_same_path(const struct edit *a, const struct edit *b)
{
	return str_eq(a->at.path, b->at.path);
}

/*
 * Edits of one directory share its lock, which another edit of this process would wait for in vain. The
 * directory is known when the path has been opened; who holds its lock is `*beside` then.
 */
static int find_holder(struct job *job, struct str path, const struct edit **beside, struct err *e)
{
	scoped_opened o = OPENED_NONE;
	struct file_facts mine, other;
	int r;

	*beside = NULL;
	if (!job->count)
		return 0;
	r = open_path(job->call, path, OPEN_EDIT, &o, e);
	if (r < 0 || o.directory < 0 || open_look(o.directory, &mine) < 0)
		return r;
	for (size_t i = 0; i < job->count && !*beside; i++) {
		const struct edit *edits[] = { &job->changes[i].target, &job->changes[i].source };

		for (size_t n = 0; n < COUNT_OF(edits) && !*beside; n++)
			if (edits[n]->lock >= 0 && open_look(edits[n]->lock, &other) == 0 &&
			    other.device == mine.device && other.inode == mine.inode)
				*beside = edits[n];
	}
	return 0;
}

static int begin_edit(struct job *job, struct str path, struct edit *edit, const struct edit *other,
		      struct err *e)
{
	*edit = (struct edit)EDIT_NONE;
	if (find_holder(job, path, &edit->beside, e) < 0)
		return call_result(job->call, e);
	/* The two files of a move may lie in one directory as well. */
	if (!edit->beside && other && other->at.directory >= 0) {
		scoped_opened o = OPENED_NONE;
		struct file_facts mine, theirs;

		if (open_path(job->call, path, OPEN_EDIT, &o, e) < 0)
			return call_result(job->call, e);
		if (o.directory >= 0 && open_look(o.directory, &mine) == 0 &&
		    open_look(other->at.directory, &theirs) == 0 && mine.device == theirs.device &&
		    mine.inode == theirs.inode)
			edit->beside = other->beside ? other->beside : other;
	}
	return edit_begin(job->call, path, STR_EMPTY, edit, e) < 0 ? call_result(job->call, e) : 0;
}

/* Opens what the hunk is about and computes what it makes; changes nothing. */
static int begin_change(struct job *job, const struct patch_hunk *hunk, struct change *c,
			struct err *e)
{
	int r;

	*c = (struct change){
		.hunk = hunk, .target = EDIT_NONE, .source = EDIT_NONE, .content = STR_EMPTY
	};
	if (begin_edit(job, hunk->path, &c->target, NULL, e) < 0)
		return fail_hunk(job, hunk, what_fails(hunk), hunk->path, e);
	switch (hunk->kind) {
	case PATCH_ADD:
		return compute_add(job, hunk, &c->content, e);
	case PATCH_DELETE:
		if (c->target.at.fd >= 0)
			return 0;
		(void)call_refuse(job->call, REFUSAL_NOT_FOUND, "there is no such file");
		return fail_hunk(job, hunk, "Failed to delete file", hunk->path, e);
	case PATCH_UPDATE:
		break;
	}
	r = compute_update(job, hunk, &c->target, &c->content, e);
	if (r < 0 || !hunk->to.len)
		return r;
	c->source = c->target;
	c->target = (struct edit)EDIT_NONE;
	if (begin_edit(job, hunk->to, &c->target, &c->source, e) < 0)
		return fail_hunk(job, hunk, "Failed to write file", hunk->to, e);
	/* SECURITY: a file that is moved to where it is must not be removed afterwards. */
	c->is_move = !is_same_path(&c->source, &c->target);
	return 0;
}

/*
 * Directories that are missing are made when a change is staged. If one before it is in the same new
 * directory, they share the lock.
 */
static void share_new_directory(const struct job *job, struct change *c)
{
	struct str parent = path_parent(c->target.at.path);

	for (size_t i = 0; c->target.at.directory < 0 && !c->target.beside && i < job->count; i++) {
		const struct edit *other = &job->changes[i].target;

		if (other->lock >= 0 && str_eq(path_parent(other->at.path), parent))
			c->target.beside = other;
	}
}

static int stage_change(struct job *job, struct change *c, struct err *e)
{
	const struct patch_hunk *hunk = c->hunk;

	if (hunk->kind == PATCH_DELETE) {
		if (edit_stage_delete(&c->target, e) < 0)
			return fail_hunk(job, hunk, "Failed to delete file", hunk->path, e);
		return 0;
	}
	share_new_directory(job, c);
	if (edit_stage(&c->target, c->content, e) < 0)
		return fail_hunk(job, hunk, "Failed to write file",
				 hunk->to.len ? hunk->to : hunk->path, e);
	if (c->is_move && edit_stage_delete(&c->source, e) < 0)
		return fail_hunk(job, hunk, "Failed to remove original", hunk->path, e);
	return 0;
}

static int note_done(struct job *job, const struct change *c, struct err *e)
{
	const struct patch_hunk *hunk = c->hunk;
	struct patched *p = VEC_PUSH(job->call->a, &job->outcome->files, e);

	if (!p)
		return err_result(e);
	*p = (struct patched){ .change = hunk->kind == PATCH_ADD      ? PATCH_ADDED
					 : hunk->kind == PATCH_DELETE ? PATCH_DELETED
					 : c->is_move		      ? PATCH_MOVED
								      : PATCH_MODIFIED,
			       .path = hunk->to.len ? hunk->to : hunk->path,
			       .from = c->is_move ? hunk->path : STR_EMPTY,
			       .in_place = c->target.in_place };
	return 0;
}

/* A move writes the new file before the old one goes: nothing is ever in neither. */
static int commit_change(struct job *job, struct change *c, struct err *e)
{
	const struct patch_hunk *hunk = c->hunk;
	bool was_there = c->target.at.fd >= 0;
	uint32_t mode = c->source.at.facts.mode;

	if (edit_commit(&c->target, e) < 0)
		return fail_hunk(job, hunk,
				 hunk->kind == PATCH_DELETE ? "Failed to delete file"
							    : "Failed to write file",
				 hunk->to.len ? hunk->to : hunk->path, e);
	if (c->is_move && !was_there)
		patch_take_mode(&c->target, mode);
	if (c->is_move && edit_commit(&c->source, e) < 0)
		return fail_hunk(job, hunk, "Failed to remove original", hunk->path, e);
	return note_done(job, c, e);
}

static void end_change(const struct change *c)
{
	edit_end(&c->source);
	edit_end(&c->target);
}

static bool is_cancelled(struct job *job, size_t done)
{
	struct call *call = job->call;

	if (call->progress && done % PROGRESS_HUNKS == PROGRESS_HUNKS - 1)
		call->progress(call->user, done, job->patch.hunks.count, STR("applying the patch"));
	if (!call_is_cancelled(call))
		return false;
	(void)call_refuse(call, REFUSAL_TIMEOUT, "the patch was cancelled");
	return true;
}

/* ---- Hunk by hunk ------------------------------------------------------------------------------- */

static int apply_in_turn(struct job *job, struct err *e)
{
	for (size_t i = 0; i < job->patch.hunks.count; i++) {
		struct change c;
		int r;

		if (is_cancelled(job, i))
			return CALL_REFUSED;
		r = begin_change(job, &job->patch.hunks.items[i], &c, e);
		if (r == 0)
			r = stage_change(job, &c, e);
		if (r == 0)
			r = commit_change(job, &c, e);
		end_change(&c);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- All or none -------------------------------------------------------------------------------- */

static bool touches(const struct change *c, const struct edit *edit)
{
	return edit->at.path.len &&
	       (is_same_path(&c->target, edit) || (c->is_move && is_same_path(&c->source, edit)));
}

static int refuse_twice(struct job *job, const struct change *c, struct err *e)
{
	for (size_t i = 0; i < job->count; i++) {
		const struct change *other = &job->changes[i];

		if (!touches(other, &c->target) && !(c->is_move && touches(other, &c->source)))
			continue;
		if (note_place(job, &c->hunk->place, e) < 0)
			return err_result(e);
		return call_refuse(job->call, REFUSAL_INVALID,
				   "multiple operations target %s, which an atomic patch or a dry "
				   "run can't have",
				   SHOWN(c->hunk->to.len ? c->hunk->to : c->hunk->path));
	}
	return 0;
}

static int begin_all(struct job *job, struct err *e)
{
	for (size_t i = 0; i < job->patch.hunks.count; i++) {
		struct change *c = &job->changes[i];
		int r;

		if (is_cancelled(job, i))
			return CALL_REFUSED;
		r = begin_change(job, &job->patch.hunks.items[i], c, e);
		if (r == 0)
			r = refuse_twice(job, c, e);
		job->count++;
		if (r < 0)
			return r;
	}
	return 0;
}

/* Backwards, so that of a move the old file is back before the new one goes. */
static void undo(struct job *job, size_t count)
{
	bool is_whole = true;

	for (size_t i = count; i-- > 0;) {
		struct change *c = &job->changes[i];
		struct call quiet = *job->call;
		struct err ignored = ERR_INIT;

		c->source.call = c->target.call = &quiet;
		quiet.refusal.is_set = false;
		is_whole &= !c->is_move || edit_undo(&c->source, &ignored) == 0;
		is_whole &= edit_undo(&c->target, &ignored) == 0;
		c->source.call = c->target.call = job->call;
	}
	job->outcome->was_undone = is_whole;
	if (is_whole)
		job->outcome->files.count = 0;
}

static int commit_all(struct job *job, struct err *e)
{
	int r = 0;
	size_t i = 0;

	for (; r == 0 && i < job->count; i++)
		r = stage_change(job, &job->changes[i], e);
	if (r < 0)
		return r;
	for (i = 0; r == 0 && i < job->count; i++)
		r = commit_change(job, &job->changes[i], e);
	if (r < 0)
		undo(job, i);
	return r;
}

static size_t most_files(void)
{
	uint64_t limit = fd_room();

	if (limit <= LEFT_DESCRIPTORS)
		return 1;
	return (size_t)MIN_OF((limit - LEFT_DESCRIPTORS) / DESCRIPTORS_A_FILE,
			      (uint64_t)PATCH_MAX_ATOMIC_FILES);
}

static int apply_at_once(struct job *job, struct err *e)
{
	size_t most = most_files();
	int r;

	if (job->patch.hunks.count > most)
		return call_refuse(job->call, REFUSAL_TOO_LARGE,
				   "the patch has %zu hunks; an atomic one, or a dry run, can have "
				   "%zu here",
				   job->patch.hunks.count, most);
	job->changes = arena_array(job->call->a, job->patch.hunks.count, sizeof(*job->changes), e);
	if (!job->changes)
		return err_result(e);
	r = begin_all(job, e);
	if (r == 0 && !job->request->is_dry_run)
		r = commit_all(job, e);
	for (size_t i = 0; i < job->count; i++) {
		if (r == 0 && job->request->is_dry_run)
			r = note_done(job, &job->changes[i], e);
	}
	for (size_t i = job->count; i-- > 0;)
		end_change(&job->changes[i]);
	return r;
}

int patch_files(struct call *call, const struct patch_request *request, struct patch_outcome *out,
		struct err *e)
{
	struct job job = {
		.call = call, .request = request, .allowance = PATCH_ALLOWANCE_INIT, .outcome = out
	};
	int r;

	*out = (struct patch_outcome){ .place = STR_EMPTY, .missing_lines = STR_EMPTY };
	if (patch_parse(call->a, request->text, &job.patch, e) < 0)
		return refuse_patch(&job, e);
	r = request->is_atomic || request->is_dry_run ? apply_at_once(&job, e)
						      : apply_in_turn(&job, e);
	if (r < 0 && !call->refusal.is_set && e->code == ERR_LIMIT) {
		err_clear(e);
		return call_refuse(call, REFUSAL_TOO_LARGE, "the patch takes too much memory");
	}
	return r;
}

/* ---- What was done ------------------------------------------------------------------------------ */

void patch_print_summary(const struct patch_outcome *outcome, bool is_dry_run, struct buf *out)
{
	static const char marks[] = { 'A', 'M', 'D' };

	buf_add_text(out, is_dry_run ? "Success. Would update the following files:\n"
				     : "Success. Updated the following files:\n");
	for (size_t kind = 0; kind < COUNT_OF(marks); kind++) {
		for (size_t i = 0; i < outcome->files.count; i++) {
			const struct patched *p = &outcome->files.items[i];
			size_t is = p->change == PATCH_MOVED ? PATCH_MODIFIED : (size_t)p->change;

			if (is != kind)
				continue;
			buf_printf(out, "%c ", marks[kind]);
			utf8_add_shown(out, p->path);
			buf_add_char(out, '\n');
		}
	}
}

void patch_print_json(const struct patch_outcome *outcome, const struct patch_request *request,
		      struct json_writer *w)
{
	static const char *const changes[] = { "added", "modified", "deleted", "moved" };
	bool is_atomic = true;

	json_key(w, "files");
	json_begin_array(w);
	for (size_t i = 0; i < outcome->files.count; i++) {
		const struct patched *p = &outcome->files.items[i];

		is_atomic = is_atomic && !p->in_place;
		json_begin_object(w);
		json_key(w, "path");
		json_add_str(w, p->path);
		json_key(w, "change");
		json_add_text(w, changes[p->change]);
		if (p->from.len) {
			json_key(w, "from");
			json_add_str(w, p->from);
		}
		json_end_object(w);
	}
	json_end_array(w);
	json_key(w, "atomic");
	json_add_bool(w, is_atomic);
	json_key(w, "dry_run");
	json_add_bool(w, request->is_dry_run);
}

/* ---- The tool ----------------------------------------------------------------------------------- */

/* What came before the failure is not lost: the model has to know it. */
static void explain_failure(struct call *call, const struct patch_request *request,
			    const struct patch_outcome *outcome)
{
	call->refusal.keeps_members = true;
	buf_clear(&call->text);
	if (outcome->missing_lines.len) {
		buf_add_text(&call->text, "The file does not have what the patch changes:\n");
		buf_add(&call->text, outcome->missing_lines);
	} else if (outcome->place.len) {
		buf_add(&call->text, outcome->place);
		buf_add_char(&call->text, '\n');
	}
	if (outcome->files.count) {
		buf_add_text(&call->text, "These changes were made before it, and stay:\n");
		for (size_t i = 0; i < outcome->files.count; i++) {
			utf8_add_shown(&call->text, outcome->files.items[i].path);
			buf_add_char(&call->text, '\n');
		}
	} else {
		buf_add_text(&call->text, "Nothing was changed.\n");
	}
	patch_print_json(outcome, request, &call->json);
	if (outcome->place.len) {
		json_key(&call->json, "place");
		json_add_str(&call->json, outcome->place);
	}
}

int tool_apply_patch(struct call *call, struct err *e)
{
	struct patch_request request = { .text = STR_EMPTY };
	struct patch_outcome outcome;
	int r;

	if (call_get_str(call, "patch", &request.text) < 0 ||
	    call_get_bool(call, "atomic", &request.is_atomic) < 0 ||
	    call_get_bool(call, "dry_run", &request.is_dry_run) < 0)
		return CALL_REFUSED;
	r = patch_files(call, &request, &outcome, e);
	if (r < 0 && call->refusal.is_set)
		explain_failure(call, &request, &outcome);
	if (r < 0)
		return r;
	patch_print_summary(&outcome, request.is_dry_run, &call->text);
	patch_print_json(&outcome, &request, &call->json);
	return 0;
}
