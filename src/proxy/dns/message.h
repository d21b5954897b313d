/* SPDX-License-Identifier: MIT */
/*
 * DNS messages (RFC 1035, RFC 6891): queries for addresses and their answers; and, for the resolver
 * inside, queries of others and replies to them. Pure.
 *
 * Names are NUL-terminated text here: lower-case labels with dots between them and none at the end.
 * A name with bytes that no host name has (a dot or a control character in a label) is *odd*: it
 * has no text and equals no name.
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
	DNS_MESSAGE_BYTES = 65535, /* the most that fits after TCP's length */
	DNS_MAX_ADDRESSES = 16,	   /* of one answer; later ones are never dialled */
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

/* Writes a query for `name` to `out` (DNS_ASK_BYTES). Its length, or 0 if `name` is not valid. */
size_t dns_write_question(uint8_t *out, uint16_t id, struct str name, uint16_t type)
	MUST_CHECK NONNULL;

struct dns_answer {
	uint16_t code;	   /* enum dns_code; DNS_SERVER_FAILURE also for a malformed answer */
	bool is_truncated; /* ask again over TCP */
	uint32_t ttl;	   /* the smallest of all records that led to the addresses, in seconds */
	size_t count;
	struct ip addresses[DNS_MAX_ADDRESSES];
};

/*
 * False if the message does not answer exactly this query. The caller ignores it then, because
 * anybody could have sent it. Follows aliases inside the message.
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
	size_t question_bytes; /* 0: there is no question to repeat */
	uint8_t question[DNS_QUESTION_BYTES];
	char name[DNS_NAME_BYTES];
};

/* What to answer: DNS_FINE if the name can be looked up, or the error code; -1: send no answer. */
int dns_read_query(const uint8_t *message, size_t len, struct dns_query *out) MUST_CHECK NONNULL;

/*
 * Writes a reply to `out` (DNS_REPLY_BYTES): one record of the requested type with `data`, or none
 * if that is empty. Its length.
 */
size_t dns_write_reply(uint8_t *out, const struct dns_query *q, enum dns_code code, uint32_t ttl,
		       const uint8_t *data, size_t data_bytes) MUST_CHECK;

/* Writes the name's wire format to `out` (255 bytes). Its length, or 0 if it is not valid. */
size_t dns_write_name(uint8_t *out, struct str name) MUST_CHECK NONNULL;

/* The address that a name below in-addr.arpa or ip6.arpa means. */
bool dns_read_reverse(struct str name, struct ip *out) MUST_CHECK NONNULL;
