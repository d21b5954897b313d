/* SPDX-License-Identifier: MIT */
/*
 * An imagined host (--host-view): what a file says of a host's places and files takes the place of
 * this host's. Everything that plan/ asks is answered from the file; nothing of the real host is.
 *
 * Inside Cordon paths begin with '/'; base/windows_path.h says how those of Windows do.
 */
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "base/name_tree.h"
#include "plan/host.h"
#include "policy/places.h"

enum { VIEW_MAX_BYTES = 64 << 20 };

enum view_kind { VIEW_DIR, VIEW_FILE, VIEW_SOCKET, VIEW_FIFO, VIEW_DEVICE, VIEW_LINK };

/* One that has to be there beyond those that every Windows has: see the member "acl". */
struct view_ace {
	struct str sid;
	bool is_deny;
	enum view_ace_access { VIEW_ACE_READ, VIEW_ACE_WRITE, VIEW_ACE_FULL } access;
	bool inherits;
};

struct view_file {
	struct name_node node;	    /* in the parent's `children`, by its name as it is compared */
	struct name_node *children; /* each a struct view_file */
	struct view_file *first, *last, *next; /* children in the order of the file */
	struct view_file *parent;	       /* NULL for the root */
	struct str name;		       /* as listed */
	enum view_kind kind;
	struct str text; /* of a file its content, of a link its target, translated */
	uint64_t inode;
	bool is_listed; /* else implied by what lies below it */
	bool is_protected;
	VEC(struct view_ace) acl;
};

struct view {
	enum places_system system;
	bool folds;
	struct str home, cwd, tmpdir, program; /* "" where they are not known */
	uint16_t proxy_port;
	const char *const *environment; /* terminated by NULL */
	struct host host;
	struct arena *a;
	struct view_file root;
	uint64_t last_inode;
};

/* CAUSE_HOST_VIEW: the text is none, with the line and column of what is wrong. */
struct view *view_read(struct arena *a, struct str text, struct err *e) MUST_CHECK NONNULL;

/* A path of that host as Cordon has it; `base` (as Cordon has it) for a relative one. */
int view_path(struct arena *a, enum places_system system, struct str base, struct str text,
	      struct str *out, struct err *e) MUST_CHECK NONNULL;

/*
 * The same for a path that somebody asks about, which is what a program would open: on Windows a stream
 * stands for its file, and a short name that is not listed is refused.
 */
int view_asked(struct arena *a, const struct view *view, struct str text, struct str *out,
	       struct err *e) MUST_CHECK NONNULL;

/* What is at a canonical path, or NULL. */
const struct view_file *view_find(const struct view *view, struct str path) NONNULL;

/* Adds `path` with the directories above it. CAUSE_HOST_VIEW where something else is in the way. */
struct view_file *view_add(struct view *view, struct str path, enum view_kind kind, struct err *e)
	MUST_CHECK NONNULL;

void view_init(struct view *view, struct arena *a) NONNULL;

/* "linux", "macos", "windows" */
const char *view_system_name(enum places_system system);
