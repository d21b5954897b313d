/* SPDX-License-Identifier: MIT */
/* See walk.h. */
#include "tools/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/sort.h"
#include "base/utf8.h"
#include "os/fd.h"
#include "session/git_index.h"
#include "tools/ignore.h"
#include "tools/posix/native.h"

enum {
	READ_BYTES = 32 << 10,
	/* Of the directories on the way to where the walk is, together. */
	NAMES_MAX_BYTES = 64 << 20,
	RULES_MAX_BYTES = 192 << 20,
	INDEX_MAX_BYTES = 128 << 20,
	PATHS_MAX_BYTES = 8 << 20, /* of the paths above the start */
};

static uint64_t now_ms(void)
{
	struct timespec t = { 0, 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void patience_begin(struct patience *p, struct call *call, uint64_t timeout_ms)
{
	*p = (struct patience){ .call = call, .until_ms = now_ms() + timeout_ms };
}

int patience_ask(void *patience, struct err *e)
{
	struct patience *p = patience;

	if (call_is_cancelled(p->call))
		return FAIL(e, ERR_CANCELLED, "nobody waits for the answer any more");
	p->is_over = now_ms() >= p->until_ms;
	return p->is_over ? FAIL(e, ERR_CANCELLED, "it takes too long") : 0;
}

int walk_read(int fd, void *out, uint64_t room, size_t *length)
{
	size_t done = 0;

	while (done < room) {
		ssize_t n = pread(fd, (char *)out + done, room - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	*length = done;
	return 0;
}

/* ---- The rules of git ---------------------------------------------------------------------------- */

/* A directory on the way down, with its rules. */
struct level {
	struct level *above;
	size_t path_bytes; /* of its path; that of "/" counts as none */
	bool is_top;	   /* of a repository: what is above does not count */
	struct arena a;	   /* of its rules: they go when the walk leaves the directory */
	struct ignore_rules rules, excluded;
};

struct rules_reader {
	const struct scope *scope;
	const struct regex_watch *watch;
	uint64_t *skipped; /* how many files over a limit were passed over; NULL: each is an error */
	size_t room;	   /* bytes that the rules of all levels may still take */
};

static size_t path_bytes(struct str path)
{
	return path.len == 1 ? 0 : path.len;
}

/* Reads a regular file that is open; what is no such file has no rules. */
static int read_open_rules(const struct rules_reader *r, struct arena *a, int fd,
			   struct ignore_rules *out, struct err *e)
{
	struct file_facts facts;
	size_t done = 0;
	char *text;

	if (open_look(fd, &facts) < 0 || facts.type != FILE_REGULAR)
		return 0;
	if (facts.size > IGNORE_MAX_BYTES)
		return FAIL(e, ERR_LIMIT, "an ignore file is larger than 1 MiB");
	text = arena_alloc(a, facts.size + 1, e);
	if (!text)
		return err_result(e);
	if (walk_read(fd, text, facts.size, &done) < 0)
		return 0;
	return ignore_rules_init(a, (struct str){ text, done }, r->watch, out, e);
}

/*
 * A list without the rules of a file shows more, and a note says so. Who asks for an edit gets an
 * error.
 */
static int read_rules(const struct rules_reader *r, struct arena *a, int fd,
		      struct ignore_rules *out, struct err *e)
{
	int status = read_open_rules(r, a, fd, out, e);

	if (status < 0 && e->code == ERR_LIMIT && r->skipped) {
		err_clear(e);
		++*r->skipped;
		return 0;
	}
	return status;
}

/* Whether the policy shows `directory` with `name` in it. */
static bool shows_below(const struct scope *s, struct str directory, struct str name)
{
	char path[2 * PATH_MAX_BYTES];

	if (directory.len + name.len + 1 > sizeof(path))
		return false;
	memcpy(path, directory.p, directory.len);
	path[directory.len] = '/';
	memcpy(path + directory.len + 1, name.p, name.len);
	return scope_shows(s, (struct str){ path, directory.len + 1 + name.len });
}

static int read_excluded(const struct rules_reader *r, int directory, struct level *level,
			 struct err *e)
{
	scoped_fd git = open_below(directory, ".git", true);
	scoped_fd info = git < 0 ? -1 : open_below(git, "info", true);
	scoped_fd file = info < 0 ? -1 : open_below(info, "exclude", false);

	return file < 0 ? 0 : read_rules(r, &level->a, file, &level->excluded, e);
}

static int read_level_rules(const struct rules_reader *r, int directory, struct str path,
			    bool has_rules, struct level *level, struct err *e)
{
	if (has_rules && shows_below(r->scope, path, STR(".gitignore"))) {
		scoped_fd file = open_below(directory, ".gitignore", false);

		if (file >= 0 && read_rules(r, &level->a, file, &level->rules, e) < 0)
			return err_wrap(e, "%.*s/.gitignore", STR_ARG(path));
	}
	if (level->is_top && shows_below(r->scope, path, STR(".git/info/exclude")) &&
	    read_excluded(r, directory, level, e) < 0)
		return err_wrap(e, "%.*s/.git/info/exclude", STR_ARG(path));
	return 0;
}

/* Reads the rules in an open directory; `level` has all but them. */
static int read_level(struct rules_reader *r, int directory, struct str path, bool has_rules,
		      struct level *level, struct err *e)
{
	int status;

	level->a = (struct arena)ARENA_INIT(r->room);
	status = read_level_rules(r, directory, str_first(path, level->path_bytes), has_rules,
				  level, e);
	r->room -= level->a.used_bytes;
	return status;
}

static void level_done(struct rules_reader *r, struct level *level)
{
	ignore_rules_done(&level->rules);
	ignore_rules_done(&level->excluded);
	r->room += level->a.used_bytes;
	arena_done(&level->a);
}

/* What the rules of all levels say of a path below the deepest, in which it lies. */
static int ask_levels(const struct level *deepest, struct str path, bool is_directory,
		      bool *is_ignored, struct err *e)
{
	enum ignore_answer answer = IGNORE_SILENT;
	const struct level *level;

	*is_ignored = false;
	for (level = deepest; level; level = level->above) {
		struct str below = str_from(path, level->path_bytes + 1);

		if (!ignore_rules_are_empty(&level->rules) &&
		    ignore_rules_ask(&level->rules, below, is_directory, &answer, e) < 0)
			return err_result(e);
		if (answer == IGNORE_SILENT && level->is_top &&
		    ignore_rules_ask(&level->excluded, below, is_directory, &answer, e) < 0)
			return err_result(e);
		if (answer != IGNORE_SILENT || level->is_top)
			break;
	}
	*is_ignored = answer == IGNORE_YES;
	return 0;
}

/* A list of levels in an arena, the deepest first. */
struct levels {
	struct level *deepest;
};

static void levels_done(struct rules_reader *r, const struct levels *l)
{
	for (struct level *level = l->deepest; level; level = level->above)
		level_done(r, level);
}

static int open_absolute(struct arena *a, struct str path, struct err *e)
{
	struct str copy;

	if (arena_copy(a, path, &copy, e) < 0)
		return err_result(e);
	return open_below(AT_FDCWD, copy.p, true);
}

/* Whether a repository begins in the directory: it has a ".git" that is no placeholder. */
static bool has_repository(int directory)
{
	struct file_facts here, facts;
	scoped_fd git = -1;

	if (open_look_at(directory, ".git", &facts) < 0)
		return false;
	if (facts.type != FILE_DIRECTORY)
		return facts.type == FILE_REGULAR || facts.type == FILE_LINK;
	git = open_below(directory, ".git", true);
	return git < 0 || open_look(directory, &here) < 0 ||
	       !tools_is_placeholder_directory(git, here.device);
}

/* ---- From the top of the repository down to the start -------------------------------------------- */

/*
 * The path of the repository that `directory` is in: the nearest one up that has a ".git". "": none.
 */
static int find_top(struct arena *a, struct str directory, struct str *out, struct err *e)
{
	*out = STR_EMPTY;
	for (;;) {
		scoped_fd fd = open_absolute(a, directory, e);

		if (fd >= 0 && has_repository(fd)) {
			*out = directory;
			return 0;
		}
		if (directory.len <= 1)
			return 0;
		directory = path_parent(directory);
	}
}

/* The levels from `top` down to `directory`, which is below it or the same. */
static int read_levels(struct arena *a, struct rules_reader *r, struct str top,
		       struct str directory, struct levels *out, struct err *e)
{
	size_t at = path_bytes(top);

	for (;;) {
		struct str path = at ? str_first(directory, at) : STR("/");
		struct level *level = ARENA_NEW(a, struct level, e);
		struct file_facts facts;
		scoped_fd fd = level ? open_absolute(a, path, e) : -1;
		size_t next;

		if (!level)
			return err_result(e);
		level->above = out->deepest;
		level->is_top = at == path_bytes(top);
		level->path_bytes = at;
		out->deepest = level;
		if (fd >= 0 && read_level(r, fd, path, open_look_at(fd, ".gitignore", &facts) == 0,
					  level, e) < 0)
			return err_result(e);
		if (at >= path_bytes(directory))
			return 0;
		next = str_find(str_from(directory, at + 1), '/');
		at = at + 1 + next;
	}
}

/* ---- Walking ------------------------------------------------------------------------------------- */

struct walker {
	struct tree_walk *w;
	struct rules_reader rules;
	struct buf path;
	size_t start_bytes;
	uint64_t device;
	uint64_t steps, listed;
	size_t names_room;
	/* Here, because a walk is as deep as its tree. */
	_Alignas(uint64_t) char block[READ_BYTES];
};

/* The names of one directory: a type and a name each, and where each begins. */
struct names {
	struct buf bytes;
	uint32_t *starts;
	size_t count;
	bool has_rules, has_git;
};

static void names_done(struct names *n)
{
	buf_done(&n->bytes);
	mem_free(n->starts);
}

struct lister {
	struct walker *k;
	struct names *names;
	int directory;
	struct err *e;
};

static int add_name(void *user, const char *text, enum file_type type)
{
	const struct lister *l = user;
	struct names *n = l->names;
	struct str name = str_of(text);
	struct file_facts facts;

	if ((++l->k->listed & 1023) == 0 && patience_ask(l->k->w->patience, l->e) < 0)
		return 1;
	if (type == FILE_MISSING && open_look_at(l->directory, text, &facts) == 0)
		type = facts.type;
	n->has_rules |= str_is(name, ".gitignore");
	if (str_is(name, ".git")) {
		n->has_git = true;
		return 0;
	}
	buf_add_char(&n->bytes, (char)type);
	buf_add(&n->bytes, name);
	buf_add_char(&n->bytes, '\0');
	n->count++;
	return 0;
}

static int name_order(const void *context, uint32_t a, uint32_t b)
{
	const char *bytes = context;

	return strcmp(bytes + a + 1, bytes + b + 1);
}

static int sort_names(struct names *n, struct err *e)
{
	uint32_t at = 0;

	n->starts = mem_new((2 * n->count + 1) * sizeof(*n->starts), e);
	if (!n->starts)
		return err_result(e);
	for (size_t i = 0; i < n->count; i++) {
		n->starts[i] = at;
		at += (uint32_t)strlen(n->bytes.p + at + 1) + 2;
	}
	sort_numbers(n->starts, n->starts + n->count, n->count, name_order, n->bytes.p);
	return 0;
}

static int read_names(struct walker *k, int directory, struct names *out, struct err *e)
{
	struct lister l = { .k = k, .names = out, .directory = directory, .e = e };
	int r = tools_list(directory, k->block, sizeof(k->block), add_name, &l);

	if (r > 0)
		return err_result(e);
	k->w->unreadable += r < 0;
	if (patience_ask(k->w->patience, e) < 0)
		return err_result(e);
	if (buf_check(&out->bytes, e) < 0)
		return err_wrap(e, "a directory has too many names");
	return sort_names(out, e);
}

static int walk_directory(struct walker *k, int fd, struct level *level, bool is_ignored,
			  size_t depth, struct err *e);

/* Enters the directory that k->path names; `fd` is below 0 when it can't be opened. */
static int enter(struct walker *k, int fd, struct level *level, bool is_ignored, size_t depth,
		 struct err *e)
{
	struct level here = { .above = level };
	struct file_facts facts;
	int status;

	if (depth > WALK_MAX_DEPTH) {
		k->w->too_deep++;
		return 0;
	}
	if (fd < 0 || open_look(fd, &facts) < 0 || lseek(fd, 0, SEEK_SET) < 0) {
		k->w->unreadable++;
		return 0;
	}
	/* SECURITY: another file system is the kernel's, or one that hides what the policy denies. */
	if (facts.device != k->device) {
		k->w->other_system++;
		return 0;
	}
	status = walk_directory(k, fd, &here, is_ignored, depth, e);
	level_done(&k->rules, &here);
	return status;
}

static int walk_entry(struct walker *k, const struct walk_entry *entry, struct level *level,
		      struct err *e)
{
	bool is_directory = entry->type == FILE_DIRECTORY;
	scoped_fd fd = is_directory ? open_below(entry->directory, entry->name, true) : -1;
	int status;

	if (fd >= 0 ? tools_is_placeholder_directory(fd, k->device)
		    : entry->type == FILE_OTHER &&
			      tools_is_placeholder_socket(entry->directory, entry->name))
		return 0;
	status = k->w->each(k->w->user, entry, e);
	if (status == WALK_PASS)
		return 0;
	if (status || !is_directory || (k->w->max_depth && entry->depth >= k->w->max_depth))
		return status;
	return enter(k, fd, level, entry->is_ignored, entry->depth + 1, e);
}

static int walk_name(struct walker *k, int fd, struct level *level, bool is_ignored,
		     const char *entry_bytes, size_t depth, struct err *e)
{
	struct walk_entry entry = { .name = entry_bytes + 1,
				    .type = (enum file_type)entry_bytes[0],
				    .directory = fd,
				    .depth = depth };
	bool is_directory = entry.type == FILE_DIRECTORY;

	if ((++k->steps & 255) == 0 && patience_ask(k->w->patience, e) < 0)
		return err_result(e);
	entry.path = buf_str(&k->path);
	if (entry.path.len >= PATH_MAX_BYTES) {
		k->w->too_deep++;
		return 0;
	}
	if (!scope_shows(k->w->call->scope, entry.path))
		return 0;
	if (!is_ignored && ask_levels(level, entry.path, is_directory, &is_ignored, e) < 0)
		return err_result(e);
	if (is_ignored && !k->w->has_ignored) {
		k->w->ignored++;
		return 0;
	}
	entry.is_ignored = is_ignored;
	entry.below = str_from(entry.path, k->start_bytes + 1);
	return walk_entry(k, &entry, level, e);
}

static int walk_names(struct walker *k, int fd, const struct names *n, struct level *level,
		      bool is_ignored, size_t depth, struct err *e)
{
	size_t len = k->path.len;

	for (size_t i = 0; i < n->count; i++) {
		const char *entry = n->bytes.p + n->starts[i];
		int status;

		k->path.len = len;
		buf_add_char(&k->path, '/');
		buf_add_text(&k->path, entry + 1);
		if (buf_check(&k->path, e) < 0)
			return err_result(e);
		status = walk_name(k, fd, level, is_ignored, entry, depth, e);
		if (status)
			return status;
	}
	k->path.len = len;
	return 0;
}

/* `level` is that of this directory, to be filled; `depth` that of the names in it. */
static int walk_directory(struct walker *k, int fd, struct level *level, bool is_ignored,
			  size_t depth, struct err *e)
{
	struct names n SCOPED(names_done) = { .bytes = BUF_INIT(k->names_room) };
	struct str path = k->path.len ? buf_str(&k->path) : STR("/");
	int status;

	if (read_names(k, fd, &n, e) < 0)
		return err_result(e);
	/* The start has its level already. */
	if (depth > 1) {
		level->is_top = n.has_git && has_repository(fd);
		level->path_bytes = k->path.len;
		if ((n.has_rules || n.has_git) &&
		    read_level(&k->rules, fd, path, n.has_rules, level, e) < 0)
			return err_result(e);
	}
	k->names_room -= n.bytes.len;
	status = walk_names(k, fd, &n, level, is_ignored, depth, e);
	k->names_room += n.bytes.len;
	return status;
}

int walk_tree(struct tree_walk *w, const struct opened *start, struct err *e)
{
	scoped_arena a = ARENA_INIT(PATHS_MAX_BYTES);
	struct regex_watch watch = { patience_ask, w->patience };
	struct walker k = { .w = w,
			    .rules = { w->call->scope, &watch, &w->skipped_rules, RULES_MAX_BYTES },
			    .path = BUF_INIT(4 * PATH_MAX_BYTES),
			    .start_bytes = path_bytes(start->path),
			    .device = start->facts.device,
			    .names_room = NAMES_MAX_BYTES };
	struct levels levels = { .deepest = NULL };
	struct str top;
	int status = find_top(&a, start->path, &top, e);

	/* Without a repository the rules begin here. */
	if (status == 0)
		status = read_levels(&a, &k.rules, top.len ? top : start->path, start->path,
				     &levels, e);
	buf_add(&k.path, str_first(start->path, k.start_bytes));
	if (status == 0)
		status = walk_directory(&k, start->fd, levels.deepest, false, 1, e);
	buf_done(&k.path);
	levels_done(&k.rules, &levels);
	return status;
}

int walk_failed(struct call *call, struct err *e)
{
	if (!call->refusal.is_set && e->code == ERR_LIMIT) {
		err_clear(e);
		return call_refuse(
			call, REFUSAL_TOO_LARGE,
			"the tree is too large to be walked at once; ask for a part of it");
	}
	return call_result(call, e);
}

void walk_add_str(struct json_writer *w, struct str s)
{
	scoped_buf quoted = BUF_INIT(64 << 10);

	if (utf8_check(s) == s.len) {
		json_add_str(w, s);
		return;
	}
	utf8_add_quoted(&quoted, s, false);
	if (quoted.failed)
		json_fail(w, quoted.failed);
	else
		json_add_raw(w, buf_str(&quoted));
}

void walk_add_notes(const struct tree_walk *w, const struct str *more, size_t count)
{
	const struct {
		uint64_t count;
		const char *text;
	} notes[] = {
		{ w->other_system, "other file systems are not entered" },
		{ w->too_deep, "what lies very deep is left out" },
		{ w->unreadable, "some directories can't be read" },
		{ w->skipped_rules, "an ignore file is too large, and was not obeyed" },
	};
	struct json_writer *json = &w->call->json;

	json_key(json, "notes");
	json_begin_array(json);
	for (size_t i = 0; i < COUNT_OF(notes); i++)
		if (notes[i].count) {
			json_add_text(json, notes[i].text);
			buf_printf(&w->call->text, "[%s]\n", notes[i].text);
		}
	for (size_t i = 0; i < count; i++) {
		json_add_str(json, more[i]);
		buf_printf(&w->call->text, "[%.*s]\n", STR_ARG(more[i]));
	}
	json_end_array(json);
}

/* ---- One path ------------------------------------------------------------------------------------ */

static int read_index(struct arena *a, struct str top, struct str *out, struct err *e)
{
	scoped_fd directory = open_absolute(a, top, e);
	scoped_fd git = directory < 0 ? -1 : open_below(directory, ".git", true);
	scoped_fd file = git < 0 ? -1 : open_below(git, "index", false);
	struct file_facts facts;
	size_t done = 0;
	char *text;

	*out = STR_EMPTY;
	if (file < 0 || open_look(file, &facts) < 0 || facts.type != FILE_REGULAR)
		return 0;
	if (facts.size > INDEX_MAX_BYTES)
		return FAIL(e, ERR_LIMIT, "the index of git is too large");
	text = arena_alloc(a, facts.size + 1, e);
	if (!text)
		return err_result(e);
	if (walk_read(file, text, facts.size, &done) < 0)
		return 0;
	*out = (struct str){ text, done };
	return 0;
}

/* Whether the patterns match the path, or a directory on the way to it. */
static int is_matched(const struct levels *levels, struct str top, struct str path,
		      bool is_directory, bool *out, struct err *e)
{
	size_t at = path_bytes(top);

	*out = false;
	while (!*out && at < path.len) {
		const struct level *level = levels->deepest;
		size_t end = at + 1 + str_find(str_from(path, at + 1), '/');

		/* The rules of the directory that this component is in, and those above it. */
		while (level && level->path_bytes > at)
			level = level->above;
		if (ask_levels(level, str_first(path, end), end < path.len || is_directory, out,
			       e) < 0)
			return err_result(e);
		at = end;
	}
	return 0;
}

static bool is_directory(struct arena *a, struct str path)
{
	struct err e = ERR_INIT;
	scoped_fd fd = open_absolute(a, path, &e);

	return fd >= 0;
}

int walk_is_ignored(struct arena *a, const struct scope *s, struct str path, bool *out,
		    struct err *e)
{
	struct rules_reader reader = { s, NULL, NULL, RULES_MAX_BYTES };
	struct levels levels = { .deepest = NULL };
	struct str top, index;
	int status;
	bool is_tracked = false;

	*out = false;
	if (find_top(a, path_parent(path), &top, e) < 0)
		return err_result(e);
	if (!top.len)
		return 0;
	status = read_levels(a, &reader, top, path_parent(path), &levels, e);
	if (status == 0)
		status = is_matched(&levels, top, path, is_directory(a, path), out, e);
	levels_done(&reader, &levels);
	if (status < 0 || !*out)
		return status;
	if (read_index(a, top, &index, e) < 0)
		return err_result(e);
	if (index.len &&
	    git_index_has(index, str_from(path, path_bytes(top) + 1), &is_tracked, e) < 0)
		return err_result(e);
	*out = !is_tracked;
	return 0;
}
