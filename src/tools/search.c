/* SPDX-License-Identifier: MIT */
/* The tool search_files. */
#include "base/glob.h"
#include "base/mem.h"
#include "base/regex.h"
#include "base/scan.h"
#include "base/utf8.h"
#include "tools/text.h"
#include "tools/walk.h"

enum {
	SEARCH_TIMEOUT_MS = 10000,
	DEFAULT_LIMIT = 200,
	MAX_LIMIT = 10000,
	MAX_CONTEXT = 50,
	LINE_MAX_BYTES = 500, /* of a line that is shown */
	FILE_MAX_BYTES = 64 << 20,
	BINARY_LOOK_BYTES = 64 << 10,
	MATCHES_MAX_BYTES = 3 << 20,
	TEXT_MAX_BYTES = 512 << 10,
	MAX_NOTES = 4,
};

struct search {
	struct call *call;
	struct patience *patience;
	struct regex_matcher *matcher;
	const struct glob *glob; /* NULL: any file */
	bool is_glob_negated;	 /* all but what it matches, and what is below that */
	bool is_glob_for_directories;
	int64_t context, limit;
	void *bytes; /* of the file that is searched */
	size_t room;
	uint64_t count, files, binary, too_large, unreadable;
	bool is_cut;
};

/* ---- Showing ------------------------------------------------------------------------------------- */

/* A line without its end, and not too long. */
static struct str shown_line(struct str line)
{
	if (line.len && line.p[line.len - 1] == '\r')
		line.len--;
	if (line.len <= LINE_MAX_BYTES)
		return line;
	line.len = LINE_MAX_BYTES;
	/* Not in the middle of a character. */
	while (line.len > LINE_MAX_BYTES - 4 && ((unsigned char)line.p[line.len] & 0xc0) == 0x80)
		line.len--;
	return line;
}

static void add_line(struct search *s, struct str path, uint64_t number, char mark, struct str line)
{
	struct buf *text = &s->call->text;
	struct str shown = shown_line(line);

	if (text->len > TEXT_MAX_BYTES)
		return;
	utf8_add_shown(text, path);
	buf_printf(text, "%c%llu%c ", mark, (unsigned long long)number, mark);
	for (size_t at = 0; at < shown.len;) {
		struct str tab = str_from(shown, at);
		char escaped[16];

		if (tab.p[0] == '\t') {
			buf_add_char(text, '\t');
			at++;
		} else {
			buf_add(text, utf8_next_shown(shown, &at, escaped));
		}
	}
	buf_add_text(text, shown.len < line.len && line.len > LINE_MAX_BYTES ? " …\n" : "\n");
}

struct hit {
	struct str path, text;
	struct regex_span line;
	uint64_t number;
};

/* The lines before the one of `p`, as a member; and the same for the model. */
static void add_before(struct search *s, const struct hit *p)
{
	size_t begin = p->line.begin;
	int64_t lines = 0;

	while (lines < s->context && begin > 0) {
		begin = scan_back(p->text, begin - 1, '\n');
		lines++;
	}
	json_key(&s->call->json, "before");
	json_begin_array(&s->call->json);
	for (; begin < p->line.begin; lines--) {
		size_t end = scan_byte(p->text, begin, '\n');
		struct str line = { p->text.p + begin, end - begin };

		walk_add_str(&s->call->json, shown_line(line));
		add_line(s, p->path, p->number - (uint64_t)lines, '-', line);
		begin = end + 1;
	}
	json_end_array(&s->call->json);
}

static void add_after(struct search *s, const struct hit *p)
{
	size_t begin = p->line.end + 1;

	json_key(&s->call->json, "after");
	json_begin_array(&s->call->json);
	for (int64_t i = 1; i <= s->context && begin < p->text.len; i++) {
		size_t end = scan_byte(p->text, begin, '\n');
		struct str line = { p->text.p + begin, end - begin };

		walk_add_str(&s->call->json, shown_line(line));
		add_line(s, p->path, p->number + (uint64_t)i, '-', line);
		begin = end + 1;
	}
	json_end_array(&s->call->json);
}

static int add_match(struct search *s, const struct hit *p, struct err *e)
{
	struct json_writer *w = &s->call->json;
	struct str line = { p->text.p + p->line.begin, p->line.end - p->line.begin };
	struct regex_span span;

	if (regex_find(s->matcher, p->text, p->line.begin, p->line.end, &span, e) < 0)
		return err_result(e);
	json_begin_object(w);
	json_key(w, "path");
	walk_add_str(w, p->path);
	json_key(w, "line");
	json_add_int(w, (int64_t)p->number);
	json_key(w, "column");
	json_add_int(w, (int64_t)(span.is_found ? span.begin - p->line.begin : 0) + 1);
	json_key(w, "text");
	walk_add_str(w, shown_line(line));
	if (s->context)
		add_before(s, p);
	add_line(s, p->path, p->number, ':', line);
	if (s->context) {
		add_after(s, p);
		buf_add_text(&s->call->text, "--\n");
	}
	json_end_object(w);
	return 0;
}

/* ---- One file ------------------------------------------------------------------------------------ */

static bool is_enough(const struct search *s)
{
	return s->count >= (uint64_t)s->limit || s->call->structured.len > MATCHES_MAX_BYTES;
}

static int search_text(struct search *s, struct str path, struct str text, struct err *e)
{
	struct hit p = { .path = path, .text = text, .number = 1 };
	size_t from = 0, counted = 0;

	s->files++;
	for (;;) {
		if (regex_find_line(s->matcher, text, from, &p.line, e) < 0)
			return err_result(e);
		if (!p.line.is_found)
			return 0;
		if (is_enough(s)) {
			s->is_cut = true;
			return 1;
		}
		p.number +=
			scan_count((struct str){ text.p + counted, p.line.begin - counted }, '\n');
		counted = p.line.begin;
		s->count++;
		if (add_match(s, &p, e) < 0)
			return err_result(e);
		from = p.line.end + 1;
		if (from >= text.len)
			return 0;
	}
}

/* UTF-16 with a byte order mark is searched as the UTF-8 that read_file gives for it. */
static int search_utf16(struct search *s, struct str path, struct str bytes, struct err *e)
{
	scoped_arena a = ARENA_INIT(CALL_MAX_BYTES);
	bool is_binary = false;
	struct text text;
	int status = text_decode(&a, bytes, &text, &is_binary, e);

	if (status < 0 && e->code == ERR_LIMIT) {
		err_clear(e);
		s->too_large++;
		return 0;
	}
	if (status < 0)
		return err_result(e);
	s->binary += is_binary;
	return is_binary ? 0 : search_text(s, path, text.utf8, e);
}

static int search_bytes(struct search *s, struct str path, struct str bytes, struct err *e)
{
	if (str_has_prefix(bytes, STR("\xff\xfe")) || str_has_prefix(bytes, STR("\xfe\xff")))
		return search_utf16(s, path, bytes, e);
	if (str_has_nul(str_first(bytes, BINARY_LOOK_BYTES))) {
		s->binary++;
		return 0;
	}
	if (str_has_prefix(bytes, STR("\xef\xbb\xbf")))
		bytes = str_from(bytes, 3);
	return search_text(s, path, bytes, e);
}

static int search_file(struct search *s, int fd, struct str path, struct err *e)
{
	struct file_facts facts;
	size_t length = 0;
	int status;

	if (open_look(fd, &facts) < 0 || facts.type != FILE_REGULAR) {
		s->unreadable++;
		return 0;
	}
	if (facts.size > FILE_MAX_BYTES) {
		s->too_large++;
		return 0;
	}
	if (facts.size + 1 > s->room) {
		size_t room = MAX_OF((size_t)facts.size + 1, 2 * s->room);

		if (mem_resize(&s->bytes, room, e) < 0)
			return err_result(e);
		s->room = room;
	}
	status = walk_read(fd, s->bytes, facts.size, &length);
	if (status < 0) {
		s->unreadable++;
		return 0;
	}
	return search_bytes(s, path, (struct str){ s->bytes, length }, e);
}

/* Whether the glob leaves the entry out, and with a directory all below it. */
static bool is_left_out(const struct search *s, const struct walk_entry *entry)
{
	bool is_directory = entry->type == FILE_DIRECTORY;

	if (!s->glob)
		return false;
	if (s->is_glob_negated)
		return (is_directory || !s->is_glob_for_directories) &&
		       glob_match(s->glob, entry->below);
	return is_directory ? !glob_may_match_below(s->glob, entry->below)
			    : !glob_match(s->glob, entry->below);
}

static int search_entry(void *user, const struct walk_entry *entry, struct err *e)
{
	struct search *s = user;
	int fd, status;

	if (is_left_out(s, entry))
		return WALK_PASS;
	if (entry->type != FILE_REGULAR)
		return 0;
	fd = open_below(entry->directory, entry->name, false);
	if (fd < 0) {
		s->unreadable++;
		return 0;
	}
	status = search_file(s, fd, entry->below, e);
	fd_close(&fd);
	return status;
}

/* ---- The call ------------------------------------------------------------------------------------ */

/*
 * A glob without a '/' is for names at any depth. After '!', a '/' at the end means directories
 * alone.
 */
static int read_glob(struct search *s, struct str glob, struct err *e)
{
	struct call *call = s->call;
	struct str whole;

	if (!glob.len)
		return 0;
	s->is_glob_negated = glob.p[0] == '!';
	glob = str_from(glob, s->is_glob_negated);
	if (s->is_glob_negated && glob.len > 1 && glob.p[glob.len - 1] == '/') {
		s->is_glob_for_directories = true;
		glob.len--;
	}
	if (glob.len && glob.p[0] == '/') {
		whole = str_from(glob, 1);
	} else if (str_find(glob, '/') < glob.len) {
		whole = glob;
	} else if (arena_printf(call->a, &whole, e, "**/%.*s", (int)MIN_OF(glob.len, (size_t)8000),
				glob.p) < 0) {
		return err_result(e);
	}
	s->glob = glob_parse(call->a, whole, e);
	if (s->glob)
		return 0;
	if (e->code != ERR_SYNTAX && e->code != ERR_LIMIT)
		return err_result(e);
	return call_refuse(call, REFUSAL_INVALID, "the glob is not valid: %s", e->text);
}

static int read_pattern(struct search *s, struct str pattern, bool ignores_case,
			const struct regex_watch *watch, struct err *e)
{
	const struct regex *re = regex_parse(
		s->call->a, pattern, REGEX_LINES | (ignores_case ? REGEX_IGNORE_CASE : 0), e);

	if (!re) {
		if (e->cause != CAUSE_REGEX_SYNTAX && e->cause != CAUSE_REGEX_LIMIT)
			return err_result(e);
		return call_refuse(s->call, REFUSAL_INVALID, "%s", e->text);
	}
	s->matcher = regex_matcher_new(re, watch, e);
	return s->matcher ? 0 : err_result(e);
}

static void end_search(const struct search *s, const struct tree_walk *walk)
{
	struct call *call = s->call;
	struct json_writer *w = &call->json;
	const struct {
		uint64_t count;
		struct str text;
	} all[MAX_NOTES] = {
		{ s->binary, STR("binary files were left out") },
		{ s->too_large, STR("files over 64 MiB were left out") },
		{ s->unreadable, STR("some files can't be read") },
		{ s->patience->is_over, STR("it took too long; the rest was not searched") },
	};
	struct str notes[MAX_NOTES];
	size_t count = 0;

	for (size_t i = 0; i < MAX_NOTES; i++)
		if (all[i].count)
			notes[count++] = all[i].text;
	json_end_array(w);
	json_key(w, "count");
	json_add_int(w, (int64_t)s->count);
	json_key(w, "files_searched");
	json_add_int(w, (int64_t)s->files);
	json_key(w, "truncated");
	json_add_bool(w, s->is_cut || s->patience->is_over);
	if (!s->count)
		buf_add_text(&call->text, "[no match]\n");
	if (s->is_cut)
		buf_printf(&call->text, "[there are more than %llu matches]\n",
			   (unsigned long long)s->count);
	walk_add_notes(walk, notes, count);
}

/* `path` is a directory or a file. */
static int search_path(struct search *s, struct str path, struct tree_walk *walk, struct err *e)
{
	struct call *call = s->call;
	scoped_opened looked = OPENED_NONE, start = OPENED_NONE;
	bool is_file;

	if (open_path(call, path, OPEN_LOOK, &looked, e) < 0)
		return call_result(call, e);
	is_file = looked.facts.type != FILE_DIRECTORY && looked.facts.type != FILE_MISSING;
	if (open_path(call, path, is_file ? OPEN_READ : OPEN_LIST, &start, e) < 0)
		return call_result(call, e);
	json_key(&call->json, "path");
	walk_add_str(&call->json, start.path);
	json_key(&call->json, "matches");
	json_begin_array(&call->json);
	if (is_file)
		return search_file(s, start.fd, start.path, e);
	return walk_tree(walk, &start, e);
}

static int search(struct search *s, struct str path, struct err *e)
{
	struct tree_walk walk = {
		.call = s->call, .patience = s->patience, .each = search_entry, .user = s
	};
	int status = search_path(s, path, &walk, e);

	if (status < 0 && !s->patience->is_over)
		return walk_failed(s->call, e);
	end_search(s, &walk);
	if (status >= 0)
		return 0;
	err_clear(e);
	(void)call_refuse(s->call, REFUSAL_TIMEOUT, "searching took longer than %d s",
			  SEARCH_TIMEOUT_MS / 1000);
	s->call->refusal.keeps_members = true;
	return CALL_REFUSED;
}

int tool_search_files(struct call *call, struct err *e)
{
	struct patience patience;
	struct regex_watch watch = { patience_ask, &patience };
	struct search s = { .call = call, .patience = &patience, .limit = DEFAULT_LIMIT };
	struct str pattern = STR_EMPTY, path = STR("."), glob = STR_EMPTY;
	bool ignores_case = false;
	int status;

	patience_begin(&patience, call, SEARCH_TIMEOUT_MS);
	if (call_get_str(call, "pattern", &pattern) < 0 || call_get_str(call, "path", &path) < 0 ||
	    call_get_str(call, "glob", &glob) < 0 ||
	    call_get_bool(call, "ignore_case", &ignores_case) < 0 ||
	    call_get_int(call, "context", 0, MAX_CONTEXT, &s.context) < 0 ||
	    call_get_int(call, "limit", 1, MAX_LIMIT, &s.limit) < 0 || read_glob(&s, glob, e) < 0 ||
	    read_pattern(&s, pattern, ignores_case, &watch, e) < 0)
		return call_result(call, e);
	status = search(&s, path, e);
	regex_matcher_free(s.matcher);
	mem_free(s.bytes);
	return status;
}
