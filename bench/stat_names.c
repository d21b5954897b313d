/* SPDX-License-Identifier: MIT */
/* For files.py: looks at each file whose name (relative, then a NUL) it reads, and prints name and size. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int main(void)
{
	char *name = NULL;
	size_t room = 0;

	while (getdelim(&name, &room, '\0', stdin) > 0) {
		struct stat st;

		if (lstat(name, &st) == 0)
			(void)printf("%s %lld\n", name, (long long)st.st_size);
	}
	free(name);
	return 0;
}
