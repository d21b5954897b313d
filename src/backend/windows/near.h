/* SPDX-License-Identifier: MIT */
/*
 * The files of a host that a plan speaks of, and what is above them: the ones where entries for a restricted token can be
 * needed. A real disk has too many others to look at. What is below such a place and has a list that inherits nothing gets no entry,
 * so the command may not write it: there the token narrows what the policy allows. win_elevated, which has to close for reading
 * what lies beside, can't do with this. Pure.
 */
#pragma once

#include "plan/plan.h"

/* `*out` is `plan` with such a host; both borrow from it. */
int windows_near(struct arena *a, const struct plan *plan, struct plan *out, struct err *e)
	MUST_CHECK NONNULL;
