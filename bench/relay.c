/* SPDX-License-Identifier: MIT */
/*
 * For mcp.py and files.py: the floor of a call of a tool. The same four changes between processes as in
 * `cordon mcp`, and nothing in between:
 *
 *	relay ANSWER [read]
 *
 * passes each line of its input to a child, which answers with what the file ANSWER has (one line). With `read` the
 * child first opens and reads the file that the line names as "path", as a program without any policy would.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_BYTES = 64 << 10, FILE_BYTES = 16 << 20 };

static char answer[FILE_BYTES];
static size_t answer_bytes;

static size_t read_file(const char *path, char *out, size_t room)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t n = 1;

	if (fd < 0 || fstat(fd, &st) < 0) {
		perror(path);
		exit(1);
	}
	while (length < room && n > 0) {
		n = read(fd, out + length, room - length);
		length += n > 0 ? (size_t)n : 0;
	}
	(void)close(fd);
	return length;
}

/* Up to a newline; 0: the other side has ended. */
static size_t take_line(int fd, char *line, size_t room)
{
	size_t length = 0;

	while (length == 0 || line[length - 1] != '\n') {
		ssize_t n = read(fd, line + length, room - length);

		if (n <= 0)
			return 0;
		length += (size_t)n;
	}
	return length;
}

static void put(int fd, const char *bytes, size_t length)
{
	while (length) {
		ssize_t n = write(fd, bytes, length);

		if (n < 0)
			exit(1);
		bytes += n;
		length -= (size_t)n;
	}
}

static void read_named(char *line, size_t length)
{
	static const char before[] = "\"path\": \"";
	static char content[FILE_BYTES];
	char *path, *end;

	line[length - 1] = '\0';
	path = strstr(line, before);
	end = path ? strchr(path + sizeof(before) - 1, '"') : NULL;
	if (!end)
		exit(1);
	*end = '\0';
	(void)read_file(path + sizeof(before) - 1, content, sizeof(content));
}

static void work(int line_fd, bool reads)
{
	static char line[LINE_BYTES];
	size_t length;

	while ((length = take_line(line_fd, line, sizeof(line)))) {
		if (reads)
			read_named(line, length);
		put(line_fd, answer, answer_bytes);
	}
}

int main(int argc, char **argv)
{
	static char line[FILE_BYTES];
	size_t length;
	int ends[2];

	if (argc < 2 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		(void)fputs("usage: relay ANSWER [read]\n", stderr);
		return 2;
	}
	answer_bytes = read_file(argv[1], answer, sizeof(answer));
	if (fork() == 0) {
		(void)close(ends[0]);
		work(ends[1], argc > 2);
		_exit(0);
	}
	(void)close(ends[1]);
	while ((length = take_line(0, line, sizeof(line)))) {
		put(ends[0], line, length);
		length = take_line(ends[0], line, sizeof(line));
		put(1, line, length);
	}
	return 0;
}
