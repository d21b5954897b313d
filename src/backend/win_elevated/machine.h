/* SPDX-License-Identifier: MIT */
/*
 * What `cordon windows setup` puts on a machine, and takes away: two accounts and their group, firewall rules and WFP
 * filters for one of them, and a file with the passwords. Pure: the system is a table of functions, struct
 * machine, which the tests replace by one in memory.
 *
 * Each function of the table does one thing that is done or not done when this process is killed. What belongs to Cordon
 * can be told from the machine alone: accounts and group by their comment, rules by their group, filters by their
 * provider, files by their directory. So there is no journal: whatever a killed setup or uninstall has left, the same
 * command run again finds and finishes.
 *
 * SECURITY: the file with the passwords goes first and comes last. Without it nobody can start anything as these
 * accounts, so a command never runs as an account that is not whole, and whose filters are not there.
 *
 *	machine.c		what has to be there; doing and undoing it, in which order
 *	machine_look.c	what is there, compared with that
 *	machine_text.c	passwords, the files, filters as text
 *	win32/		the table for Windows
 */
#pragma once

#include "backend/windows/windows.h"

enum machine_account { ACCOUNT_OFFLINE, ACCOUNT_ONLINE, ACCOUNT_COUNT };
extern const char *const machine_account_names[ACCOUNT_COUNT];
extern const char machine_group_name[];

/* What marks an account, the group, and the firewall's rules as Cordon's. */
extern const char machine_comment[];
extern const char machine_rule_group[];

enum { MACHINE_PASSWORD_BYTES = 48, MACHINE_SID_BYTES = 192, MACHINE_FILE_MAX_BYTES = 16 << 10 };

/* What is looked at of an account. */
struct account_seen {
	bool exists;
	bool is_ours;  /* it bears the comment */
	bool is_usual; /* enabled, and neither it nor its password expires or can be changed by it */
	bool is_in_group;
	bool is_in_users;
	bool is_in_others; /* groups besides */
	bool is_hidden;	   /* from the logon screen */
	char sid[MACHINE_SID_BYTES];
};

struct group_seen {
	bool exists, is_ours;
	char sid[MACHINE_SID_BYTES];
};

/* A rule or filter: its name, and all else of it in a form in which equal ones are equal. */
struct block_text {
	struct str name, text;
};
typedef VEC(struct block_text) block_list;

/* MACHINE_MARK may be read by all, and says what was set up; MACHINE_SECRETS has the passwords. */
enum machine_file { MACHINE_MARK, MACHINE_SECRETS, MACHINE_FILE_COUNT };

/* Whom rules and filters are for, as security descriptors have it: see machine_users(). */
struct machine_users {
	struct str sddl;
};

/* Objects that lost entries, empty files and directories that are gone, and entries of runs that go on. */
struct machine_cleaned {
	uint64_t changed, removed, held;
};

/*
 * A machine. Functions return 0 or -ERR_*; those that make something are called where it is missing, those that remove where
 * it is there. Looking at what can't be looked at is an error, never "it is not there".
 */
struct machine {
	void *state;
	/* Why it can't be set up at all (a domain controller); ERR_WEAKER. */
	int (*check)(void *state, struct err *e);
	bool (*is_administrator)(void *state);
	/* The SID of the user who runs this. */
	int (*find_user)(void *state, char out[MACHINE_SID_BYTES], struct err *e);
	/* Until unlock(), no run begins. ERR_POLICY (CAUSE_RUNS_GO_ON) while one goes on. */
	int (*lock)(void *state, struct err *e);
	void (*unlock)(void *state);
	int (*draw)(void *state, void *out, size_t bytes, struct err *e);

	int (*look_group)(void *state, struct group_seen *out, struct err *e);
	int (*add_group)(void *state, struct err *e);
	int (*remove_group)(void *state, struct err *e);

	int (*look_account)(void *state, enum machine_account which, struct account_seen *out,
			    struct err *e);
	int (*add_account)(void *state, enum machine_account which, const char *password,
			   struct err *e);
	int (*set_password)(void *state, enum machine_account which, const char *password,
			    struct err *e);
	int (*set_usual)(void *state, enum machine_account which, struct err *e);
	int (*add_member)(void *state, enum machine_account which, bool of_users, struct err *e);
	/* All kinds of logon but the interactive one, which starting a process as it takes. */
	int (*look_rights)(void *state, enum machine_account which, bool *are_denied,
			   struct err *e);
	int (*deny_rights)(void *state, enum machine_account which, bool denies, struct err *e);
	int (*set_hidden)(void *state, enum machine_account which, bool hides, struct err *e);
	int (*remove_account)(void *state, enum machine_account which, struct err *e);
	/* SECURITY: an interactive logon; the token has to be that of `sid`. */
	int (*check_logon)(void *state, enum machine_account which, const char *password,
			   const char *sid, struct err *e);

	/* All of the firewall's rules that are Cordon's, also twice. */
	int (*list_rules)(void *state, struct arena *a, block_list *out, struct err *e);
	int (*add_rule)(void *state, const struct windows_block *rule,
			const struct machine_users *users, struct err *e);
	int (*remove_rules)(void *state, struct str name, struct err *e); /* all of that name */
	int (*list_filters)(void *state, struct arena *a, block_list *out, struct err *e);
	/* In place of all that are there; in one transaction. None: the provider goes too. */
	int (*set_filters)(void *state, const struct windows_block *filters, size_t count,
			   const struct machine_users *users, struct err *e);

	int (*look_directory)(void *state, bool *is_there, bool *is_closed, struct err *e);
	int (*make_directory)(void *state, struct err *e); /* or closes it */
	int (*remove_directory)(void *state,
				struct err *e); /* and the lock; what is not ours stays */
	int (*read_file)(void *state, enum machine_file file, struct arena *a, bool *is_there,
			 struct str *out, struct err *e);
	int (*write_file)(void *state, enum machine_file file, struct str bytes, struct err *e);
	int (*remove_file)(void *state, enum machine_file file, struct err *e);
	/* Takes Cordon's entries out of access lists, but for those of runs that go on, which it counts. */
	int (*clean)(void *state, struct arena *a, struct machine_cleaned *out, struct err *e);
	/* For this user alone, on this machine. */
	int (*protect)(void *state, struct arena *a, struct str in, struct str *out, struct err *e);
	int (*unprotect)(void *state, struct arena *a, struct str in, struct str *out,
			 struct err *e);
};

/* The machine that this is. ERR_WEAKER (CAUSE_OTHER_PLATFORM): it is no Windows. */
int machine_open(struct arena *a, struct machine *out, struct err *e) MUST_CHECK NONNULL;
void machine_close(struct machine *m) NONNULL;

/* ---- What is there, beside what should be --------------------------------------------------------- */

enum machine_state {
	MACHINE_OK,
	MACHINE_MISSING,
	MACHINE_DIFFERS,
	MACHINE_FOREIGN, /* something else has its name */
	MACHINE_UNKNOWN, /* it can't be looked at, mostly by who is no administrator */
	MACHINE_STATE_COUNT,
};
extern const char *const machine_state_names[MACHINE_STATE_COUNT];

struct machine_item {
	const char *kind; /* "account", "group", "rule", "filter", "file", "directory" */
	struct str name;
	enum machine_state state;
	struct str detail; /* how it differs, or why it can't be looked at; "" */
};
typedef VEC(struct machine_item) machine_items;

struct machine_look {
	bool is_set_up; /* all is as it should be */
	bool is_clean;	/* nothing of Cordon's is there */
	uint16_t open_port;
	struct str owner; /* the SID of who set it up; "" */
	struct group_seen group;
	struct account_seen accounts[ACCOUNT_COUNT];
	block_list rules, filters; /* as they are */
	machine_items items;
};

/* `open_port`: what the filters should leave open; NULL: what the mark says. */
int machine_look(struct arena *a, const struct machine *m, const uint16_t *open_port,
		 struct machine_look *out, struct err *e) MUST_CHECK
	__attribute__((nonnull(1, 2, 4, 5)));

/* ERR_WEAKER (CAUSE_NOT_SET_UP) that names what is not as it should be. */
int machine_refuse(const struct machine_look *look, struct err *e) MUST_CHECK NONNULL;

/* Whether a list has it once, and as it should be. */
bool machine_has_block(const block_list *list, struct str name, struct str text) PURE;

/* ---- Doing and undoing it --------------------------------------------------------------------------- */

/* What was done, one step after the other, as people read it. */
typedef VEC(struct str) machine_steps;

/*
 * With new passwords each time. ERR_POLICY (CAUSE_NEEDS_ADMINISTRATOR, CAUSE_NAME_TAKEN, CAUSE_RUNS_GO_ON), ERR_WEAKER
 * (CAUSE_WITHOUT_EFFECT): something was set, the system said so, and it is not there.
 */
int machine_do(struct arena *a, const struct machine *m, uint16_t open_port, machine_steps *done,
	       struct err *e) MUST_CHECK NONNULL;
int machine_undo(struct arena *a, const struct machine *m, machine_steps *done, struct err *e)
	MUST_CHECK NONNULL;

/* The entries in access lists alone. ERR_POLICY (CAUSE_RUNS_GO_ON): what is left is a run's. */
int machine_clean(struct arena *a, const struct machine *m, machine_steps *done, struct err *e)
	MUST_CHECK NONNULL;

/* What these would do, as it is now. */
int machine_plan(struct arena *a, const struct machine_look *look, bool undoes, machine_steps *out,
		 struct err *e) MUST_CHECK NONNULL;

/* ---- For a run ------------------------------------------------------------------------------------------- */

struct machine_secret {
	char sid[MACHINE_SID_BYTES];
	char password[MACHINE_PASSWORD_BYTES];
};
/*
 * SECURITY: whether a command that runs as this user could open the passwords, and with them become the accounts, which nothing
 * restricts then. ERR_WEAKER (CAUSE_BACKEND_UNSUITED): it could, or that is not known.
 */
int machine_check_hidden(const struct machine *m, struct err *e) MUST_CHECK NONNULL;

/* SECURITY: the caller wipes them. ERR_WEAKER (CAUSE_NOT_SET_UP), also if another user did the setup. */
int machine_read_secrets(const struct machine *m, struct machine_secret out[ACCOUNT_COUNT],
			 struct err *e) MUST_CHECK NONNULL;

/* ---- machine_text.c ------------------------------------------------------------------------------------------ */

int machine_make_password(const struct machine *m, char out[MACHINE_PASSWORD_BYTES], struct err *e)
	MUST_CHECK NONNULL;
/* The account, and what its commands' tokens have beside it (windows_network_sid()). */
int machine_find_users(struct arena *a, const char *sid, struct machine_users *out, struct err *e)
	MUST_CHECK NONNULL;

/* What has to be there. */
struct machine_blocks {
	struct windows_block *rules;
	size_t rule_count;
	const struct windows_block *filters;
	size_t filter_count;
};
int machine_list_blocks(struct arena *a, uint16_t open_port, struct machine_blocks *out,
			struct err *e) MUST_CHECK NONNULL;

/* As text; also for what is read back, with its members filled in. */
int machine_rule_text(struct arena *a, const struct windows_block *rule,
		      const struct machine_users *users, struct str *out, struct err *e)
	MUST_CHECK NONNULL;
int machine_filter_text(struct arena *a, const struct windows_block *filter,
			const struct machine_users *users, struct str *out, struct err *e)
	MUST_CHECK NONNULL;
int machine_print_mark(struct arena *a, uint16_t open_port, const char *owner, struct str *out,
		       struct err *e) MUST_CHECK NONNULL;
bool machine_parse_mark(struct arena *a, struct str text, uint16_t *open_port, struct str *owner)
	NONNULL;
int machine_print_secrets(struct arena *a, const struct machine_secret secrets[ACCOUNT_COUNT],
			  struct str *out, struct err *e) MUST_CHECK NONNULL;
int machine_parse_secrets(struct arena *a, struct str text,
			  struct machine_secret out[ACCOUNT_COUNT], struct err *e)
	MUST_CHECK NONNULL;
/* Clears a secret; the compiler can't optimise it away. */
void machine_wipe(void *memory, size_t bytes) NONNULL;
