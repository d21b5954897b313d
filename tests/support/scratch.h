/* SPDX-License-Identifier: MIT */
/* A directory of real files that is there while a test program runs, and its working directory. */
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char scratch_top[] = "/var/tmp/cordon-test-XXXXXX";

__attribute__((constructor)) static void scratch_make(void)
{
	if (!mkdtemp(scratch_top) || chdir(scratch_top) < 0) {
		perror(scratch_top);
		_exit(1);
	}
}

static int scratch_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

__attribute__((destructor)) static void scratch_remove(void)
{
	if (nftw(scratch_top, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
		perror(scratch_top);
}

__attribute__((unused)) static void scratch_put(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		perror(name);
}
