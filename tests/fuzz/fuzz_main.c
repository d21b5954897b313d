/* SPDX-License-Identifier: MIT */
/*
 * fuzz_main NAME DIR: feeds every file of DIR to the fuzzer that it is linked
 * with, so that what fuzzing once found stays found in builds without libFuzzer.
 * Prints TAP. An input that crashes is the last one named.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The copy is exactly as long as the file, so that the sanitizer sees a read beyond its end. */
static int replay(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	long size;
	int result = -1;

	if (!f || fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0 || fseek(f, 0, SEEK_SET) != 0)
		goto out;
	data = malloc((size_t)size);
	if ((!data && size > 0) || fread(data, 1, (size_t)size, f) != (size_t)size)
		goto out;
	result = 0;
	(void)LLVMFuzzerTestOneInput(data, (size_t)size);
out:
	if (result < 0)
		printf("# %s: %s\n", path, strerror(errno));
	free(data);
	if (f)
		(void)fclose(f);
	return result;
}

int main(int argc, char **argv)
{
	DIR *dir = argc == 3 ? opendir(argv[2]) : NULL;
	const struct dirent *entry;
	size_t count = 0;
	int failed = 0;

	if (!dir) {
		printf("1..1\nnot ok 1 - %s: no corpus\n", argc > 1 ? argv[1] : "fuzz_main");
		return 1;
	}
	printf("1..1\n");
	while ((entry = readdir(dir))) {
		char path[4096];

		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", argv[2], entry->d_name);
		printf("# %s\n", entry->d_name);
		(void)fflush(stdout);
		failed |= replay(path) < 0;
		count++;
	}
	(void)closedir(dir);
	failed |= count == 0;
	printf("%sok 1 - %s replays %zu inputs\n", failed ? "not " : "", argv[1], count);
	(void)fflush(stdout); /* the leak checker ends the process without it */
	return failed;
}
