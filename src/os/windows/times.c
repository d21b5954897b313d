/* SPDX-License-Identifier: MIT */
/* See os/times.h. No stamps of directories: that a time of NTFS is new for each change is not known. */
#include "os/times.h"

#include "os/windows/api.h"
#include "os/windows/files.h"

enum { NS_PER_TICK = 100 };
static const int64_t ticks_per_s = 10000000, ticks_before_1970 = 116444736000000000;

static struct timespec time_of(int64_t ticks)
{
	ticks -= ticks_before_1970;
	return (struct timespec){ .tv_sec = ticks / ticks_per_s,
				  .tv_nsec = (long)(ticks % ticks_per_s) * NS_PER_TICK };
}

bool os_look_times(const char *path, struct os_times *out)
{
	HANDLE handle = files_open(str_of(path), FILE_READ_ATTRIBUTES, FILES_NOT_FOLLOW);
	FILE_BASIC_INFO info;
	bool is_known;

	if (!handle)
		return false;
	is_known = GetFileInformationByHandleEx(handle, FileBasicInfo, &info, sizeof(info));
	(void)CloseHandle(handle);
	if (is_known)
		*out = (struct os_times){ .change = time_of(info.ChangeTime.QuadPart),
					  .birth = time_of(info.CreationTime.QuadPart),
					  .has_birth = true };
	return is_known;
}

void os_take_start(struct timespec *out)
{
	FILETIME now;

	GetSystemTimePreciseAsFileTime(&now);
	*out = time_of((int64_t)now.dwHighDateTime << 32 | now.dwLowDateTime);
}

bool os_look_stamp_of(const char *path, struct stamp *out)
{
	struct os_times times;

	*out = (struct stamp){ .inode = 0 };
	return os_look_times(path, &times);
}

bool os_look_stamp(int directory, const char *path, struct stamp *out)
{
	(void)directory;
	(void)path;
	*out = (struct stamp){ .inode = 0 };
	return false;
}

void os_take_stamp(int directory, struct os_stamp_kind *kind, struct stamp *out)
{
	(void)directory;
	(void)kind;
	*out = (struct stamp){ .inode = 0 };
}
