/* SPDX-License-Identifier: MIT */
/* See name_files.h. Reads into memory that is there: it is also used in the locked process. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "os/fd.h"
#include "proxy/dns/name_files.h"
#include "proxy/pool.h"

int name_file_make(struct name_file *f, const char *path, size_t room, struct err *e)
{
	*f = (struct name_file){ .path = path, .room = room };
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

static bool is_same(const struct name_file *f, const struct stat *st)
{
	return f->inode == st->st_ino && f->bytes == st->st_size &&
	       f->changed.tv_sec == st->st_mtim.tv_sec && f->changed.tv_nsec == st->st_mtim.tv_nsec;
}

/* A line that is cut in the middle could say something else than the whole. */
static size_t whole_lines(const char *text, size_t len)
{
	while (len > 0 && text[len - 1] != '\n')
		len--;
	return len;
}

static void read_all(struct name_file *f, int fd)
{
	ssize_t got = 1;

	f->len = 0;
	while (f->len < f->room && got > 0) {
		got = read(fd, f->text + f->len, f->room - f->len);
		if (got > 0)
			f->len += (size_t)got;
	}
	if (f->len == f->room)
		f->len = whole_lines(f->text, f->len);
}

bool name_file_look(struct name_file *f)
{
	struct stat st;
	scoped_fd fd = -1;

	if (stat(f->path, &st) < 0) {
		bool had = f->inode != 0;

		if (errno == ENOENT)
			f->len = 0, f->inode = 0;
		return had && f->inode == 0;
	}
	if (is_same(f, &st) || !S_ISREG(st.st_mode))
		return false;
	fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	read_all(f, fd);
	f->changed = st.st_mtim;
	f->inode = st.st_ino;
	f->bytes = st.st_size;
	return true;
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
