/* SPDX-License-Identifier: MIT */
/*
 * What the formats have in common: lists of paths that may be written or read and that may not, hosts, and
 * names of variables. rules_print() makes a profile of them. Internal to import/.
 *
 * The meaning of the lists, for a path and all below it:
 *
 *	write	RULE_WRITE, and neither RULE_NO_WRITE nor RULE_NOTHING at or above the path
 *	read	everything, but RULE_NO_READ and RULE_NOTHING; RULE_WRITE and RULE_READ below a RULE_NO_READ
 *		open again, and below a RULE_NOTHING they don't
 *
 * In a profile the longest entry decides instead. So an entry that a list forbids is not written at all.
 */
#pragma once

#include "base/json.h"
#include "import/import.h"
#include "policy/domain.h"

enum rule_kind { RULE_WRITE, RULE_READ, RULE_NO_WRITE, RULE_NO_READ, RULE_NOTHING };

enum rule_base {
	BASE_WORKSPACE, /* what the command is started in */
	BASE_HOME,
	BASE_ROOT,
};

/* How a path is read. */
enum rule_syntax {
	SYNTAX_LITERAL,
	SYNTAX_GLOB,	 /* '*' and '?' within a component, "**" across */
	SYNTAX_CROSSING, /* '*' across components */
};

struct path_rule {
	enum rule_kind kind;
	enum rule_base base;
	bool leaves;	 /* BASE_WORKSPACE, and ".." leads out of it: `path` is absolute */
	struct str path; /* below the base, "" is itself; of BASE_ROOT absolute */
	struct str glob; /* below `path`, as base/glob.h has it; "": none */
	struct str text; /* as written */
	struct origin origin;
	struct str full, real; /* `path` on this host, and where it leads */
	bool is_file;
	bool is_gone; /* not written, and `why` */
	const char *why;
	bool is_needless; /* nothing is lost without it */
};

struct host_rule {
	struct domain domain;
	bool is_allow;
	struct str text;
	struct origin origin;
};

struct name_rule {
	struct str name;
	struct origin origin;
};

struct rules {
	struct arena *a;
	const struct import_host *host;
	struct imported *out;
	const char *tool; /* "srt" */
	VEC(struct path_rule) paths;
	VEC(struct host_rule) hosts;
	VEC(struct name_rule) withheld; /* variables */
	struct str temporary;		/* where $TMPDIR leads; "": it stays as it is */
	bool network_is_off;		/* whatever the hosts say */
	struct origin off_origin;	/* the first that says so */
	struct str off_text;
	bool has_commands; /* the original has rules for commands, too */
	bool reads_little; /* only what programs need is readable by default */
	struct origin reads_origin;
	struct origin whole;   /* of what is said by no line */
	bool has_denied_port;  /* "*:PORT" */
	bool keeps_git_open;   /* the original lets commands write most of .git */
	const char *only_file; /* allows of other files don't count; NULL: all do */
	bool is_anchored;      /* relative paths are those below host->directory alone */
};

/* Adds to the list of what was not carried over, or not as it is. */
int rules_note(struct rules *r, struct origin origin, struct err *e, const char *fmt, ...)
	MUST_CHECK PRINTF_LIKE(4, 5) NONNULL;

/*
 * `path` below `base`; a relative one of BASE_WORKSPACE and BASE_HOME, whatever it begins with. What an allow
 * can't say is noted; a deny is made wider then.
 */
int rules_add_path(struct rules *r, enum rule_kind kind, enum rule_base base, struct str path,
		   enum rule_syntax syntax, struct str text, struct origin origin, struct err *e)
	MUST_CHECK NONNULL;

/* The same for a path that begins with "/", "~/" or anything else: the workspace. */
int rules_add_text(struct rules *r, enum rule_kind kind, struct str text, enum rule_syntax syntax,
		   struct origin origin, struct err *e) MUST_CHECK NONNULL;

/* A host as srt and Claude write them. */
/* Of nothing no policy is made: the file was meant to say something. ERR_POLICY. */
int file_check_not_empty(const struct import_file *file, struct err *e) MUST_CHECK NONNULL;

/* Why a rule for such a tool is left out. */
extern const char no_such_rules[];

/* No host is allowed, because of that. */
void rules_turn_off(struct rules *r, struct str text, struct origin origin) NONNULL;
int rules_add_host(struct rules *r, bool is_allow, struct str text, struct origin origin,
		   struct err *e) MUST_CHECK NONNULL;

int rules_withhold(struct rules *r, struct str name, struct origin origin, struct err *e)
	MUST_CHECK NONNULL;

/* What srt keeps from being written below its working directory whatever its settings say. */
int rules_add_mandatory(struct rules *r, bool opens_git_config, struct err *e) MUST_CHECK NONNULL;

/* Drops the allows of other files than r->only_file, if that is set. */
void rules_drop_others(struct rules *r) NONNULL;

/* Decides what becomes of each path; then writes the profile to r->out. resolve.c, print.c */
int rules_resolve(struct rules *r, struct err *e) MUST_CHECK NONNULL;
int rules_print(struct rules *r, struct err *e) MUST_CHECK NONNULL;

/* Where the longest entry decides, as in Codex, which yet opens for reading nothing below what it denies. */
int rules_hide_reads(struct rules *r, struct err *e) MUST_CHECK NONNULL;

/* "# FILE:LINE " and so on: a comment with nothing in it that could end it. */
void comment_add(struct buf *b, struct str text) NONNULL;
void comment_add_origin(struct buf *b, struct origin origin) NONNULL;
/* The head of the text, and the notes. */
void comment_add_head(struct buf *b, const struct rules *r) NONNULL;
void comment_add_notes(struct buf *b, const struct imported *im) NONNULL;

/* policy/fs_key.h's text for a base, path and glob; UTF-8 or ERR_POLICY. */
struct key_text {
	struct str table; /* ":workspace_roots", or "" */
	struct str key;
};
int key_text(struct arena *a, enum rule_base base, struct str path, struct str glob,
	     struct key_text *out, struct err *e) MUST_CHECK NONNULL;

/* json.c: reading values whose place is to be known. */
struct origin value_origin(const char *file, const struct json *value) NONNULL;
/* The member; ERR_POLICY if it has another type. `*out` NULL: it is not there. */
int member_get(const struct json *object, const char *file, const char *name, enum json_type type,
	       const struct json **out, struct err *e) MUST_CHECK NONNULL;
/* The same for an array of strings; each is checked. */
int member_strings(const struct json *object, const char *file, const char *name,
		   const struct json **out, struct err *e) MUST_CHECK NONNULL;
/*
 * Notes each member that is not among `known` (NULL behind the last). One that seems to deny is ERR_POLICY,
 * unless the original ignores what it does not know.
 */
int members_note(struct rules *r, const struct json *object, const char *file, const char *where,
		 const char *const *known, bool ignores_unknown, struct err *e) MUST_CHECK NONNULL;
/* A list of paths, each as rules_add_text() takes it. */
int member_paths(struct rules *r, const struct json *object, const struct import_file *file,
		 const char *name, enum rule_kind kind, struct err *e) MUST_CHECK NONNULL;
/* The names that are not among `known`, in one list and one note: what has nothing to do with permissions. */
void unrelated_add(struct buf *list, struct str name, const char *const *known) NONNULL;
int unrelated_note(struct rules *r, struct origin origin, const struct buf *list, struct err *e)
	MUST_CHECK NONNULL;
int members_note_unrelated(struct rules *r, const struct json *object, const char *file,
			   const char *const *known, struct err *e) MUST_CHECK NONNULL;

bool is_one_of(struct str word, const char *const *words) NONNULL; /* NULL is behind the last */
/* Whether the pattern, which may have '*' and '?', is about one of the names. No name has a '/'. */
int names_one_of(struct rules *r, struct str pattern, const char *const *names, bool *out,
		 struct err *e) MUST_CHECK NONNULL;

/* One each. */
int import_claude(struct rules *r, const struct import_file *files, size_t count, struct err *e)
	MUST_CHECK NONNULL;
int import_codex(struct rules *r, const struct import_file *files, size_t count, struct err *e)
	MUST_CHECK NONNULL;
int import_gemini(struct rules *r, const struct import_file *files, size_t count, struct err *e)
	MUST_CHECK NONNULL;
int import_opencode(struct rules *r, const struct import_file *files, size_t count, struct err *e)
	MUST_CHECK NONNULL;
int import_srt(struct rules *r, const struct import_file *files, size_t count, struct err *e)
	MUST_CHECK NONNULL;

/* What srt's settings and Claude's "sandbox" share. `add_path` says what a path begins at. */
typedef int add_path_fn(struct rules *r, enum rule_kind kind, struct str text,
			enum rule_syntax syntax, const struct import_file *file,
			struct origin origin, struct err *e);
int sandbox_add_network(struct rules *r, const struct json *network, const struct import_file *file,
			bool is_whole, struct err *e) MUST_CHECK NONNULL;
int sandbox_add_filesystem(struct rules *r, const struct json *filesystem,
			   const struct import_file *file, bool is_whole, add_path_fn *add_path,
			   struct err *e) MUST_CHECK NONNULL;
int sandbox_add_credentials(struct rules *r, const struct json *credentials,
			    const struct import_file *file, add_path_fn *add_path, struct err *e)
	MUST_CHECK NONNULL;
