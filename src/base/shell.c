/* SPDX-License-Identifier: MIT */
/* See shell.h. */
#include "base/shell.h"

/* A '~' or '=' is special in some positions. */
static bool is_plain(struct str word)
{
	for (size_t i = 0; i < word.len; i++)
		if (!word.p[i] ||
		    !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			    "/._-+,:@%",
			    word.p[i]))
			return false;
	return word.len > 0;
}

void shell_add_word(struct buf *b, struct str word)
{
	if (is_plain(word)) {
		buf_add(b, word);
		return;
	}
	buf_add_char(b, '\'');
	for (size_t i = 0; i < word.len; i++) {
		if (word.p[i] == '\'')
			buf_add_text(b, "'\\'");
		buf_add_char(b, word.p[i]);
	}
	buf_add_char(b, '\'');
}
