/* SPDX-License-Identifier: MIT */
/*
 * Reads the text of a patch. Nothing is copied: hunks and chunks name ranges of the text, so a patch
 * of many lines costs no more memory than one of few.
 */
#include "patch/parse.h"
#include "base/utf8.h"
#include "patch/patch.h"

#define BEGIN_PATCH    STR("*** Begin Patch")
#define END_PATCH      STR("*** End Patch")
#define ENVIRONMENT_ID STR("*** Environment ID:")
#define MOVE_TO	       STR("*** Move to: ")
#define END_OF_FILE    STR("*** End of File")
#define CHUNK	       STR("@@")
#define CHUNK_CONTEXT  STR("@@ ")

/* What the lines that come next belong to. */
enum part {
	PART_START,
	PART_ADD,
	PART_DELETE,
	PART_UPDATE,
	PART_END,
};

struct parser {
	struct arena *a;
	struct patch *patch;
	struct err *e;
	struct str rest; /* what follows the line that is looked at */
	struct str line; /* without its end */
	uint32_t line_number;
	enum part part;
	bool has_environment;
};

/* ---- White space ----------------------------------------------------------- */

/* What Unicode calls White_Space. */
static bool is_space(uint32_t c)
{
	return (c >= 0x09 && c <= 0x0D) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 ||
	       (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
	       c == 0x205F || c == 0x3000;
}

struct str patch_trim_start(struct str s)
{
	size_t at = 0;

	while (at < s.len) {
		size_t next = at;
		uint32_t c;

		if (!utf8_next(s, &next, &c) || !is_space(c))
			break;
		at = next;
	}
	return str_from(s, at);
}

/* The bytes of the character that `s` ends with; at most 3 can be white space. */
static size_t last_character_bytes(struct str s)
{
	size_t n = 1;

	while (n < 4 && n < s.len && ((unsigned char)s.p[s.len - n] & 0xC0) == 0x80)
		n++;
	return n;
}

struct str patch_trim_end(struct str s)
{
	while (s.len > 0) {
		size_t at = s.len - last_character_bytes(s);
		size_t next = at;
		uint32_t c;

		if (!utf8_next(s, &next, &c) || next != s.len || !is_space(c))
			break;
		s.len = at;
	}
	return s;
}

struct str patch_trim(struct str s)
{
	return patch_trim_end(patch_trim_start(s));
}

/* ---- Lines ----------------------------------------------------------------- */

bool patch_next_line(struct str *body, struct str *out)
{
	if (!str_next_line(body, out))
		return false;
	if (out->len > 0 && out->p[out->len - 1] == '\r')
		out->len--;
	return true;
}

/* The last line of `text`, without an end of its own, and what comes before it. */
static struct str take_last_line(struct str *text)
{
	size_t at = text->len;
	struct str line;

	while (at > 0 && text->p[at - 1] != '\n')
		at--;
	line = str_from(*text, at);
	*text = str_first(*text, at ? at - 1 : 0);
	return line;
}

static bool has_boundaries(struct str text, bool *begins)
{
	struct str rest = text, first = STR_EMPTY, last = take_last_line(&text);

	(void)patch_next_line(&rest, &first);
	*begins = str_eq(patch_trim(first), BEGIN_PATCH);
	return *begins && str_eq(patch_trim(last), END_PATCH);
}

static bool is_here_document(struct str line)
{
	return str_is(line, "<<EOF") || str_is(line, "<<'EOF'") || str_is(line, "<<\"EOF\"");
}

/*
 * Some models pass a here-document as an argument, to a program that is not started by a shell.
 * What a patch begins and ends with is checked before all else, so that its first error is not about
 * some line in a text that is no patch.
 */
static int find_patch(struct str text, struct str *out, struct err *e)
{
	struct str patch = patch_trim(text), inner, first = STR_EMPTY;
	bool begins, inner_begins;

	if (has_boundaries(patch, &begins)) {
		*out = patch;
		return 0;
	}
	inner = patch;
	if (patch_next_line(&inner, &first) && is_here_document(first) &&
	    str_has_suffix(take_last_line(&inner), STR("EOF"))) {
		if (has_boundaries(inner, &inner_begins)) {
			*out = inner;
			return 0;
		}
		begins = inner_begins;
	}
	if (!begins)
		return FAIL_CAUSE(e, CAUSE_PATCH_SYNTAX,
				  "Invalid patch: The first line of the patch must be '*** Begin "
				  "Patch'");
	return FAIL_CAUSE(e, CAUSE_PATCH_SYNTAX,
			  "Invalid patch: The last line of the patch must be '*** End Patch'");
}

/* ---- Errors ---------------------------------------------------------------- */

#define FAIL_LINE(p, number, ...)                                              \
	(err_fail_cause((p)->e, ERR_HERE, CAUSE_PATCH_SYNTAX, 0, __VA_ARGS__), \
	 err_wrap((p)->e, "Invalid patch hunk on line %u", (unsigned)(number)))

static int refuse_header(struct parser *p)
{
	struct str line = patch_trim(p->line);

	return FAIL_LINE(p, p->line_number,
			 "'%.*s' is not a valid hunk header. Valid hunk headers: '*** Add File: "
			 "{path}', '*** Delete File: {path}', '*** Update File: {path}'",
			 STR_ARG(line));
}

static int refuse_update_line(struct parser *p)
{
	return FAIL_LINE(
		p, p->line_number,
		"Unexpected line found in update hunk: '%.*s'. Every line should start with "
		"' ' (context line), '+' (added line), or '-' (removed line)",
		STR_ARG(p->line));
}

static int refuse_missing_chunk(struct parser *p)
{
	return FAIL_LINE(p, p->line_number,
			 "Expected update hunk to start with a @@ context marker, got: '%.*s'",
			 STR_ARG(p->line));
}

/* ---- Hunks and chunks ------------------------------------------------------ */

static struct patch_hunk *last_hunk(struct parser *p)
{
	return &p->patch->hunks.items[p->patch->hunks.count - 1];
}

/* Of the last hunk; NULL: it has none yet. */
static struct patch_chunk *last_chunk(struct parser *p)
{
	return last_hunk(p)->chunk_count ? &p->patch->chunks.items[p->patch->chunks.count - 1]
					 : NULL;
}

static bool is_empty(const struct patch_chunk *chunk)
{
	return chunk->old_count == 0 && chunk->new_count == 0;
}

/* Where what follows the line that is looked at begins. */
static const char *next_line_start(const struct parser *p)
{
	return p->rest.p;
}

/* A range of lines, up to and with the one that is looked at. */
static void extend_body(const struct parser *p, struct str *body)
{
	body->len = (size_t)(next_line_start(p) - body->p);
}

static int check_update_is_whole(struct parser *p, struct str line)
{
	const struct patch_hunk *hunk;
	const struct patch_chunk *chunk;

	if (p->part != PART_UPDATE)
		return 0;
	hunk = last_hunk(p);
	chunk = last_chunk(p);
	if (!chunk)
		return FAIL_LINE(p, hunk->place.line, "Update file hunk for path '%.*s' is empty",
				 STR_ARG(hunk->path));
	if (!is_empty(chunk))
		return 0;
	if (str_eq(line, END_PATCH))
		return FAIL_LINE(p, p->line_number, "Update hunk does not contain any lines");
	return refuse_update_line(p);
}

static int check_path(struct parser *p, struct str path)
{
	if (!path.len || str_has_nul(path))
		return FAIL_LINE(p, p->line_number, "The path is %s",
				 path.len ? "not valid: it has a NUL in it" : "empty");
	return 0;
}

static int start_hunk(struct parser *p, enum patch_kind kind, struct str path)
{
	static const enum part parts[] = {
		[PATCH_ADD] = PART_ADD,
		[PATCH_DELETE] = PART_DELETE,
		[PATCH_UPDATE] = PART_UPDATE,
	};
	struct patch_hunk *hunk;
	int result = check_path(p, path);

	if (result < 0)
		return result;
	if (p->patch->hunks.count == PATCH_MAX_HUNKS)
		return FAIL_CAUSE(p->e, CAUSE_PATCH_LIMIT,
				  "Invalid patch: line %u begins hunk %d, and a patch can have %d",
				  (unsigned)p->line_number, PATCH_MAX_HUNKS + 1, PATCH_MAX_HUNKS);
	hunk = VEC_PUSH(p->a, &p->patch->hunks, p->e);
	if (!hunk)
		return err_result(p->e);
	*hunk = (struct patch_hunk){
		.place = { .line = p->line_number, .hunk = (uint32_t)p->patch->hunks.count },
		.kind = kind,
		.path = path,
		.to = STR_EMPTY,
		.body = { next_line_start(p), 0 },
		.first_chunk = p->patch->chunks.count,
	};
	p->part = parts[kind];
	return 0;
}

/* The chunk begins behind the line that is looked at, or with it. */
static int start_chunk(struct parser *p, const struct str *context, const char *body)
{
	struct patch_hunk *hunk = last_hunk(p);
	struct patch_chunk *chunk;

	if (p->patch->chunks.count == PATCH_MAX_HUNKS)
		return FAIL_CAUSE(p->e, CAUSE_PATCH_LIMIT,
				  "Invalid patch: line %u begins chunk %d, and a patch can have %d",
				  (unsigned)p->line_number, PATCH_MAX_HUNKS + 1, PATCH_MAX_HUNKS);
	chunk = VEC_PUSH(p->a, &p->patch->chunks, p->e);
	if (!chunk)
		return err_result(p->e);
	hunk->chunk_count++;
	*chunk = (struct patch_chunk){
		.place = { .line = p->line_number,
			   .hunk = hunk->place.hunk,
			   .chunk = (uint32_t)hunk->chunk_count },
		.context = context ? *context : STR_EMPTY,
		.has_context = context != NULL,
		.body = { body, 0 },
	};
	return 0;
}

static int read_environment(struct parser *p, struct str id)
{
	if (p->has_environment)
		return FAIL_CAUSE(p->e, CAUSE_PATCH_SYNTAX,
				  "Invalid patch: apply_patch environment_id cannot be specified "
				  "more than once");
	if (!patch_trim(id).len)
		return FAIL_CAUSE(p->e, CAUSE_PATCH_SYNTAX,
				  "Invalid patch: apply_patch environment_id cannot be empty");
	p->has_environment = true;
	return 0;
}

/* A line that begins a hunk or ends the patch, `line` being trimmed; `*is_one` says if it is. */
static int read_header(struct parser *p, struct str line, bool *is_one)
{
	static const struct {
		struct str mark;
		enum patch_kind kind;
	} headers[] = {
		{ STR_INIT("*** Add File: "), PATCH_ADD },
		{ STR_INIT("*** Delete File: "), PATCH_DELETE },
		{ STR_INIT("*** Update File: "), PATCH_UPDATE },
	};
	int result;

	*is_one = true;
	if (p->part == PART_START && str_has_prefix(line, ENVIRONMENT_ID))
		return read_environment(p, str_from(line, ENVIRONMENT_ID.len));
	if (str_eq(line, END_PATCH)) {
		result = check_update_is_whole(p, line);
		p->part = PART_END;
		return result;
	}
	for (size_t i = 0; i < COUNT_OF(headers); i++) {
		if (!str_has_prefix(line, headers[i].mark))
			continue;
		result = check_update_is_whole(p, line);
		if (result < 0)
			return result;
		return start_hunk(p, headers[i].kind, str_from(line, headers[i].mark.len));
	}
	*is_one = false;
	return 0;
}

/* ---- The lines of an update ------------------------------------------------ */

static bool begins_chunk(struct str line)
{
	return str_eq(line, CHUNK) || str_has_prefix(line, CHUNK_CONTEXT);
}

/* A line of a chunk. The first one may come without a line "@@" before it. */
static int read_changed_line(struct parser *p)
{
	struct patch_chunk *chunk = last_chunk(p);
	char mark = p->line.len ? p->line.p[0] : ' ';
	int result;

	if (mark != ' ' && mark != '+' && mark != '-')
		return chunk && !is_empty(chunk) ? refuse_missing_chunk(p) : refuse_update_line(p);
	if (!chunk) {
		result = start_chunk(p, NULL, p->line.p);
		if (result < 0)
			return result;
		chunk = &p->patch->chunks.items[p->patch->chunks.count - 1];
	}
	chunk->old_count += mark != '+';
	chunk->new_count += mark != '-';
	extend_body(p, &chunk->body);
	return 0;
}

static int read_chunk_header(struct parser *p, struct str line)
{
	const struct patch_chunk *chunk = last_chunk(p);
	struct str context = str_from(line, CHUNK_CONTEXT.len);

	if (chunk && is_empty(chunk))
		return refuse_update_line(p);
	return start_chunk(p, str_eq(line, CHUNK) ? NULL : &context, next_line_start(p));
}

static int read_update_line(struct parser *p)
{
	/* White space in front is part of a context line. */
	struct str line = patch_trim_end(p->line);
	struct patch_hunk *hunk;
	struct patch_chunk *chunk;
	bool is_header;
	int result = read_header(p, line, &is_header);

	if (result < 0 || is_header)
		return result;
	hunk = last_hunk(p);
	chunk = last_chunk(p);
	if (chunk && chunk->is_at_end && !begins_chunk(line))
		return line.len ? refuse_missing_chunk(p) : 0;
	if (!chunk && !hunk->to.len && str_has_prefix(line, MOVE_TO)) {
		result = check_path(p, str_from(line, MOVE_TO.len));
		if (result == 0)
			hunk->to = str_from(line, MOVE_TO.len);
		return result;
	}
	if (begins_chunk(line))
		return read_chunk_header(p, line);
	if (str_eq(line, END_OF_FILE)) {
		if (chunk && is_empty(chunk))
			return FAIL_LINE(p, p->line_number,
					 "Update hunk does not contain any lines");
		if (chunk)
			chunk->is_at_end = true;
		return 0;
	}
	return read_changed_line(p);
}

/* ---- The whole ------------------------------------------------------------- */

static int read_line(struct parser *p)
{
	struct str trimmed = patch_trim(p->line);
	bool is_header;
	int result;

	switch (p->part) {
	case PART_START:
	case PART_ADD:
	case PART_DELETE:
		result = read_header(p, trimmed, &is_header);
		if (result < 0 || is_header)
			return result;
		if (p->part != PART_ADD || !str_has_prefix(p->line, STR("+")))
			return refuse_header(p);
		extend_body(p, &last_hunk(p)->body);
		return 0;
	case PART_UPDATE:
		/* The very last line is the end also where it is indented. */
		if (!p->rest.len && str_eq(trimmed, END_PATCH))
			p->line = trimmed;
		return read_update_line(p);
	case PART_END:
		break;
	}
	if (!trimmed.len)
		return 0;
	return FAIL_CAUSE(p->e, CAUSE_PATCH_SYNTAX,
			  "Invalid patch: line %u follows the line '*** End Patch', which must be "
			  "the last",
			  (unsigned)p->line_number);
}

int patch_parse(struct arena *a, struct str text, struct patch *out, struct err *e)
{
	struct patch patch = { .hunks = { 0 } };
	struct parser p = { .a = a, .patch = &patch, .e = e };
	int result;

	if (text.len > PATCH_MAX_BYTES)
		return FAIL_CAUSE(e, CAUSE_PATCH_LIMIT,
				  "Invalid patch: it has %zu bytes, and a patch can have %d",
				  text.len, PATCH_MAX_BYTES);
	if (utf8_check(text) != text.len)
		return FAIL_CAUSE(e, CAUSE_PATCH_SYNTAX,
				  "Invalid patch: it is not UTF-8, from byte %zu on",
				  utf8_check(text) + 1);
	result = find_patch(text, &p.rest, e);
	if (result < 0)
		return result;
	while (patch_next_line(&p.rest, &p.line)) {
		/* The first line has been looked at. */
		result = p.line_number++ ? read_line(&p) : 0;
		if (result < 0)
			return result;
	}
	if (!patch.hunks.count)
		return FAIL_CAUSE(e, CAUSE_PATCH_SYNTAX, "No files were modified.");
	*out = patch;
	return 0;
}
