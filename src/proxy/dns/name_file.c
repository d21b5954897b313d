/* SPDX-License-Identifier: MIT */
/* See name_files.h. Reads into mapped memory, because the locked process uses it too. */
#include "proxy/dns/name_files.h"
#include "proxy/pool.h"

int name_file_make(struct name_file *f, const char *path, name_file_read *own, size_t room,
		   struct err *e)
{
	*f = (struct name_file){ .path = path, .own = own, .room = room };
	f->text = pool_map(room, e);
	if (!f->text)
		return err_result(e);
	(void)name_file_look(f);
	return 0;
}

void name_file_done(struct name_file *f)
{
	pool_unmap(f->text, f->room);
	f->text = NULL;
}

/* Drops a line that was cut: it could mean something else than the whole line. */
static size_t whole_lines(const char *text, size_t len)
{
	while (len > 0 && text[len - 1] != '\n')
		len--;
	return len;
}

bool name_file_look(struct name_file *f)
{
	bool was_there = f->seen.inode != 0;

	switch (f->path ? os_read_changed(f->path, &f->seen, f->text, f->room, &f->len)
			: f->own(&f->seen, f->text, f->room, &f->len)) {
	case OS_NEW:
		if (f->len == f->room)
			f->len = whole_lines(f->text, f->len);
		return true;
	case OS_GONE:
		f->len = 0;
		return was_there;
	case OS_SAME:
		break;
	}
	return false;
}

bool name_file_line(struct str *text, struct str *line)
{
	if (text->len == 0)
		return false;
	*line = str_first(*text, str_find(*text, '\n'));
	*text = str_from(*text, line->len + 1);
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

struct str name_file_word(struct str *line)
{
	size_t start = 0, end;

	while (start < line->len && is_blank(line->p[start]))
		start++;
	for (end = start; end < line->len && !is_blank(line->p[end]) && line->p[end] != '#';)
		end++;
	*line = str_from(*line, end);
	return (struct str){ line->p - (end - start), end - start };
}
