/* SPDX-License-Identifier: MIT */
/* TOML dates and times (RFC 3339); see toml_parser.h. */
#include "base/toml_parser.h"

/* `count` digits at the current place; -1 when there are fewer. */
static int read_digits(struct toml_parser *p, size_t count)
{
	int n = 0;

	for (size_t i = 0; i < count; i++) {
		if (p->at + i >= p->text.len || !ascii_is_digit(p->text.p[p->at + i]))
			return -1;
		n = n * 10 + (p->text.p[p->at + i] - '0');
	}
	p->at += count;
	return n;
}

static bool skip_char(struct toml_parser *p, char c)
{
	if (toml_peek(p) != c)
		return false;
	p->at++;
	return true;
}

static int days_of(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return month == 2 && is_leap ? 29 : days[month - 1];
}

static int read_date(struct toml_parser *p, struct toml_datetime *t)
{
	size_t start = p->at;
	int year = read_digits(p, 4);
	int month = skip_char(p, '-') ? read_digits(p, 2) : -1;
	int day = month >= 0 && skip_char(p, '-') ? read_digits(p, 2) : -1;

	if (year < 0 || month < 0 || day < 0)
		return toml_fail(p, start, ERR_SYNTAX, "a date must be written YYYY-MM-DD");
	if (month < 1 || month > 12 || day < 1 || day > days_of(year, month))
		return toml_fail(p, start, ERR_SYNTAX, "there is no day %04d-%02d-%02d", year,
				 month, day);
	t->year = (int16_t)year;
	t->month = (uint8_t)month;
	t->day = (uint8_t)day;
	return 0;
}

/* After the point: any number of digits, of which nine count. */
static int read_fraction(struct toml_parser *p, struct toml_datetime *t)
{
	uint32_t scale = 100000000;
	size_t start = p->at;

	for (; ascii_is_digit(toml_peek(p)); p->at++) {
		t->nanosecond += scale * (uint32_t)(toml_peek(p) - '0');
		scale /= 10;
	}
	if (p->at == start)
		return toml_fail(p, start, ERR_SYNTAX, "digits must follow the point in a time");
	return 0;
}

static int read_time(struct toml_parser *p, struct toml_datetime *t)
{
	size_t start = p->at;
	int hour = read_digits(p, 2);
	int minute = skip_char(p, ':') ? read_digits(p, 2) : -1;
	int second = minute >= 0 && skip_char(p, ':') ? read_digits(p, 2) : -1;

	if (hour < 0 || minute < 0 || second < 0)
		return toml_fail(p, start, ERR_SYNTAX, "a time must be written HH:MM:SS");
	/* RFC 3339 has second 60 for leap seconds. */
	if (hour > 23 || minute > 59 || second > 60)
		return toml_fail(p, start, ERR_SYNTAX, "there is no time %02d:%02d:%02d", hour,
				 minute, second);
	t->hour = (uint8_t)hour;
	t->minute = (uint8_t)minute;
	t->second = (uint8_t)second;
	return skip_char(p, '.') ? read_fraction(p, t) : 0;
}

/* Z or +HH:MM, if either is there. */
static int read_offset(struct toml_parser *p, struct toml *out)
{
	char sign = toml_peek(p);
	size_t start = p->at;
	int hours;
	int minutes;

	out->type = TOML_OFFSET_DATETIME;
	if (skip_char(p, 'Z') || skip_char(p, 'z'))
		return 0;
	if (sign != '+' && sign != '-') {
		out->type = TOML_LOCAL_DATETIME;
		return 0;
	}
	p->at++;
	hours = read_digits(p, 2);
	minutes = hours >= 0 && skip_char(p, ':') ? read_digits(p, 2) : -1;
	if (hours < 0 || minutes < 0 || hours > 23 || minutes > 59)
		return toml_fail(p, start, ERR_SYNTAX,
				 "an offset must be written Z, +HH:MM or -HH:MM, up to 23:59");
	hours = hours * 60 + minutes;
	out->datetime.offset_minutes = (int16_t)(sign == '-' ? -hours : hours);
	return 0;
}

/* 'T', 't' or one space that a digit follows; a space may also just end the date. */
static bool skip_separator(struct toml_parser *p)
{
	if (skip_char(p, 'T') || skip_char(p, 't'))
		return true;
	if (toml_peek(p) != ' ' || p->at + 1 >= p->text.len ||
	    !ascii_is_digit(p->text.p[p->at + 1]))
		return false;
	p->at++;
	return true;
}

int toml_read_datetime(struct toml_parser *p, struct toml *out)
{
	int r;

	out->datetime = (struct toml_datetime){ 0 };
	if (p->at + 2 < p->text.len && p->text.p[p->at + 2] == ':') {
		out->type = TOML_LOCAL_TIME;
		return read_time(p, &out->datetime);
	}
	r = read_date(p, &out->datetime);
	if (r < 0)
		return r;
	out->type = TOML_LOCAL_DATE;
	if (!skip_separator(p))
		return 0;
	r = read_time(p, &out->datetime);
	if (r < 0)
		return r;
	return read_offset(p, out);
}
