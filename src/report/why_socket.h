/* SPDX-License-Identifier: MIT */
/* What cordon_why_path() says of a socket: whether it may be connected to (P12, P15). */
#pragma once

#include "plan/net.h"
#include "report/report.h"
#include "report/rules.h"
#include "report/suggestion.h"

struct why_socket {
	bool is_one;
	struct net_verdict verdict;
	const struct cordon_policy *policy;
	struct str path;
	struct lazy_change *lazy;
};

int why_socket_find(struct arena *a, const struct cordon_policy *policy,
		    const struct located *located, struct why_socket *out, struct err *e)
	MUST_CHECK NONNULL;

/* "connect", null for what is no socket; "wanted", "why_not" and "suggestions". */
void why_socket_json(struct json_writer *w, const struct why_socket *y, const struct plan *plan,
		     struct str path) NONNULL;
void why_socket_json_suggestions(struct json_writer *w, const struct why_socket *y) NONNULL;
