/* SPDX-License-Identifier: MIT */
/*
 * The messages of the domain name system (RFC 1035, RFC 6891): questions for addresses and
 * what comes back, and, for the resolver inside, questions of others and answers to them.
 * Reads and writes bytes, and nothing else.
 *
 * Names are text here: labels in lower case with dots between, no dot behind, NUL-terminated.
 * A name with bytes that no host name has (a dot or a control character in a label) is *odd*:
 * it has no text and is equal to none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/str.h"

enum {
	DNS_NAME_BYTES = 256,	   /* text and its NUL; on the wire a name has 255 */
	DNS_QUESTION_BYTES = 259,  /* a name, its type and its class */
	DNS_ASK_BYTES = 12 + 259,  /* a message with a question and nothing else */
	DNS_REPLY_BYTES = 600,	   /* the longest that dns_write_reply() writes */
	DNS_MESSAGE_BYTES = 65535, /* what fits behind TCP's length */
	DNS_MAX_ADDRESSES = 16,	   /* of one answer; what is beyond is never dialled */
};

enum dns_type { DNS_A = 1, DNS_CNAME = 5, DNS_PTR = 12, DNS_AAAA = 28, DNS_OPT = 41 };

enum dns_code {
	DNS_FINE = 0,
	DNS_FORMAT_ERROR = 1,
	DNS_SERVER_FAILURE = 2,
	DNS_NO_SUCH_NAME = 3,
	DNS_NOT_IMPLEMENTED = 4,
	DNS_REFUSED = 5,
	DNS_BAD_VERSION = 16,
};

/* ---- Asking ------------------------------------------------------------------------- */

/* A question for `name` into `out` (DNS_ASK_BYTES); its length, or 0 for what is no name. */
size_t dns_write_question(uint8_t *out, uint16_t id, struct str name, uint16_t type)
	MUST_CHECK NONNULL;

struct dns_answer {
	uint16_t code;	   /* enum dns_code; DNS_SERVER_FAILURE also for what can't be read */
	bool is_truncated; /* ask again over TCP */
	uint32_t ttl;	   /* the least of all records that led to the addresses, seconds */
	size_t count;
	struct ip addresses[DNS_MAX_ADDRESSES];
};

/*
 * False when the message is no answer to exactly this question: then it is to be ignored,
 * since anybody could have sent it. Aliases are followed inside the message.
 */
bool dns_read_answer(const uint8_t *message, size_t len, uint16_t id, struct str name,
		     uint16_t type, struct dns_answer *out) MUST_CHECK NONNULL;

/* ---- Answering ---------------------------------------------------------------------- */

struct dns_query {
	uint16_t id;
	uint16_t type;
	bool wants_recursion;
	bool has_edns;
	bool is_odd;
	size_t question_bytes; /* 0: there is none that could be repeated */
	uint8_t question[DNS_QUESTION_BYTES];
	char name[DNS_NAME_BYTES];
};

/* What to answer: DNS_FINE, when it can be looked up, or the code; -1: nothing at all. */
int dns_read_query(const uint8_t *message, size_t len, struct dns_query *out) MUST_CHECK NONNULL;

/*
 * An answer into `out` (DNS_REPLY_BYTES): one record of the type that was asked for with
 * `data`, or none when that is empty. Its length.
 */
size_t dns_write_reply(uint8_t *out, const struct dns_query *q, enum dns_code code, uint32_t ttl,
		       const uint8_t *data, size_t data_bytes) MUST_CHECK;

/* The name on the wire into `out` (255 bytes); its length, or 0 for what is none. */
size_t dns_write_name(uint8_t *out, struct str name) MUST_CHECK NONNULL;

/* The address that a name below in-addr.arpa or ip6.arpa stands for. */
bool dns_read_reverse(struct str name, struct ip *out) MUST_CHECK NONNULL;
