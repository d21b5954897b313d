/* SPDX-License-Identifier: MIT */
/* Git directories in a made-up tree, and the plan for it. */
#pragma once

#include <stdio.h>

#include "plan_lists.h"

/* A git directory as `git init` makes it. */
#define GIT_DIR(path)                                 \
	"f " path "/HEAD = ref: refs/heads/main\\n\n" \
	"f " path "/config\nd " path "/objects/info\nd " path "/refs\nd " path "/hooks\n"

/* The git directory of a linked worktree. */
#define LINKED(common, name, worktree)                                    \
	"f " common "/worktrees/" name "/HEAD\n"                          \
	"f " common "/worktrees/" name "/commondir = ../..\\n\n"          \
	"f " common "/worktrees/" name "/gitdir = " worktree "/.git\\n\n" \
	"f " worktree "/.git = gitdir: " common "/worktrees/" name "\\n\n"

#define ENTRIES(more, entries) \
	"[permissions.dev]\n" more "[permissions.dev.filesystem]\n':root' = 'read'\n" entries

static bool plan(struct world *w, const char *user)
{
	w->user = user;
	w->profile = "dev";
	if (world_plan(w))
		return true;
	printf("# %s\n", w->e.text);
	return false;
}
