// SPDX-License-Identifier: Apache-2.0
// A slow disk with a small page cache, for the files below one folder, by LD_PRELOAD.
//
// The files themselves are read as they are (from the real page cache). Before that a read sleeps as
// long as the model's disk would need: one arm for all processes, which takes SEEK_NS where a read does
// not begin where the last one ended, and then BYTES_PER_S; a read of pages that the model's page cache
// has costs nothing. The cache keeps the pages that were used last. A read takes at least READ_AHEAD
// from the disk, as Linux does, to the end of the file at most. Opening a file, and reading its inode,
// cost nothing, which is to the good of those who open many.
//
// The state is a file that all processes map; it also counts what the disk did. Linux, gcc or clang.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { kPage = 16384, kReadAhead = 131072, kNumHeads = 1 << 16, kMaxFiles = 4096, kNone = -1 };

struct Page {
  uint64_t inode, number;
  int32_t next_in_chain, newer, older;
};

// In the file of the state; the pages follow it. Counts first, as the reader of the file takes them.
struct State {
  uint64_t seeks, disk_bytes, asked_bytes, reads, busy_ns;
  int64_t seek_ns, bytes_per_s, capacity;
  int64_t free_at_ns;
  uint64_t arm_inode, arm_byte;
  int64_t num_pages;
  int32_t newest, oldest;
  pthread_mutex_t lock;
  int32_t chains[kNumHeads];
  struct Page pages[];
};

static struct State* state;
static const char* folder;
static size_t folder_length;
static unsigned char is_slow[kMaxFiles];  // by descriptor

static int (*real_open)(const char*, int, ...);
static int (*real_openat)(int, const char*, int, ...);
static int (*real_close)(int);
static ssize_t (*real_read)(int, void*, size_t);
static ssize_t (*real_pread)(int, void*, size_t, off_t);
static ssize_t (*real_preadv)(int, const struct iovec*, int, off_t);

__attribute__((constructor)) static void begin(void) {
  real_open = dlsym(RTLD_NEXT, "open64");
  real_openat = dlsym(RTLD_NEXT, "openat64");
  real_close = dlsym(RTLD_NEXT, "close");
  real_read = dlsym(RTLD_NEXT, "read");
  real_pread = dlsym(RTLD_NEXT, "pread64");
  real_preadv = dlsym(RTLD_NEXT, "preadv64");
  const char* path = getenv("SLOW_DISK_STATE");
  folder = getenv("SLOW_DISK_FOLDER");
  if (path == NULL || folder == NULL) return;
  folder_length = strlen(folder);
  const int file = real_open(path, O_RDWR | O_CLOEXEC);
  struct stat found;
  if (file < 0 || fstat(file, &found) != 0) return;
  void* const memory = mmap(NULL, (size_t)found.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  real_close(file);
  if (memory == MAP_FAILED) return;
  struct State* const mapped = memory;
  if (mapped->num_pages < 0) {  // the first process
    pthread_mutexattr_t shared;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&mapped->lock, &shared);
    for (int i = 0; i < kNumHeads; ++i) mapped->chains[i] = kNone;
    mapped->newest = mapped->oldest = kNone;
    mapped->num_pages = 0;
  }
  state = mapped;
}

static int32_t* chain_of(uint64_t inode, uint64_t number) {
  const uint64_t hash = (inode * 0x9E3779B97F4A7C15u + number) * 0xD6E8FEB86659FD93u;
  return &state->chains[hash >> 48];
}

static void unlink_by_age(int32_t index) {
  struct Page* const page = &state->pages[index];
  if (page->newer == kNone) state->newest = page->older;
  else state->pages[page->newer].older = page->older;
  if (page->older == kNone) state->oldest = page->newer;
  else state->pages[page->older].newer = page->newer;
}

static void make_newest(int32_t index) {
  struct Page* const page = &state->pages[index];
  page->newer = kNone;
  page->older = state->newest;
  if (state->newest == kNone) state->oldest = index;
  else state->pages[state->newest].newer = index;
  state->newest = index;
}

// Whether the page is in the cache; it is the newest one then.
static int is_cached(uint64_t inode, uint64_t number) {
  for (int32_t i = *chain_of(inode, number); i != kNone; i = state->pages[i].next_in_chain) {
    if (state->pages[i].inode != inode || state->pages[i].number != number) continue;
    unlink_by_age(i);
    make_newest(i);
    return 1;
  }
  return 0;
}

static void put(uint64_t inode, uint64_t number) {
  if (state->capacity <= 0 || is_cached(inode, number)) return;
  int32_t index = (int32_t)state->num_pages;
  if (state->num_pages < state->capacity) {
    ++state->num_pages;
  } else {
    index = state->oldest;
    unlink_by_age(index);
    int32_t* link = chain_of(state->pages[index].inode, state->pages[index].number);
    while (*link != index) link = &state->pages[*link].next_in_chain;
    *link = state->pages[index].next_in_chain;
  }
  int32_t* const head = chain_of(inode, number);
  state->pages[index] = (struct Page){.inode = inode, .number = number, .next_in_chain = *head};
  *head = index;
  make_newest(index);
}

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

// What the disk needs for pages [first, end) of a file that has `size` bytes, which are cached then.
static int64_t cost_of_run(uint64_t inode, uint64_t first, uint64_t end, uint64_t size) {
  const uint64_t from = first * kPage, to = end * kPage < size ? end * kPage : size;
  int64_t cost = 0;
  if (state->arm_inode != inode || state->arm_byte != from) {
    ++state->seeks;
    cost += state->seek_ns;
  }
  state->arm_inode = inode;
  state->arm_byte = to;
  state->disk_bytes += to - from;
  return cost + (int64_t)((double)(to - from) * 1e9 / (double)state->bytes_per_s);
}

static void wait_for_disk(int file, uint64_t offset, uint64_t bytes) {
  struct stat found;
  if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) return;
  const uint64_t inode = found.st_ino, size = (uint64_t)found.st_size;
  if (offset >= size || bytes == 0) return;
  if (bytes > size - offset) bytes = size - offset;
  const uint64_t last = (size + kPage - 1) / kPage;
  const uint64_t end = (offset + bytes + kPage - 1) / kPage;
  pthread_mutex_lock(&state->lock);
  ++state->reads;
  state->asked_bytes += bytes;
  int64_t cost = 0;
  uint64_t page = offset / kPage;
  while (page < end) {
    if (is_cached(inode, page)) {
      ++page;
      continue;
    }
    const uint64_t first = page;
    while (page < last && (page < end || page - first < kReadAhead / kPage) && !is_cached(inode, page)) {
      ++page;
    }
    cost += cost_of_run(inode, first, page, size);
    for (uint64_t i = first; i < page; ++i) put(inode, i);
  }
  int64_t free_at = 0;
  if (cost > 0) {
    state->busy_ns += (uint64_t)cost;
    const int64_t now = now_ns();
    free_at = (state->free_at_ns > now ? state->free_at_ns : now) + cost;
    state->free_at_ns = free_at;
  }
  pthread_mutex_unlock(&state->lock);
  if (cost == 0) return;
  const struct timespec until = {free_at / 1000000000, free_at % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
  }
}

static int slow(int file) { return state != NULL && file >= 0 && file < kMaxFiles && is_slow[file]; }

static int opened(int file, const char* path) {
  if (state != NULL && file >= 0 && file < kMaxFiles) {
    is_slow[file] = strncmp(path, folder, folder_length) == 0;
  }
  return file;
}

#define MODE_OF(flags, mode)                       \
  mode_t mode = 0;                                 \
  if (((flags)&O_CREAT) != 0 || ((flags)&O_TMPFILE) == O_TMPFILE) { \
    va_list rest;                                  \
    va_start(rest, flags);                         \
    mode = va_arg(rest, mode_t);                   \
    va_end(rest);                                  \
  }

int open64(const char* path, int flags, ...) {
  MODE_OF(flags, mode)
  return opened(real_open(path, flags, mode), path);
}
int open(const char* path, int flags, ...) __attribute__((alias("open64")));

int openat64(int at, const char* path, int flags, ...) {
  MODE_OF(flags, mode)
  return opened(real_openat(at, path, flags, mode), path);
}
int openat(int at, const char* path, int flags, ...) __attribute__((alias("openat64")));

int close(int file) {
  if (slow(file)) is_slow[file] = 0;
  return real_close(file);
}

ssize_t read(int file, void* data, size_t bytes) {
  if (slow(file)) {
    const off_t offset = lseek(file, 0, SEEK_CUR);
    if (offset >= 0) wait_for_disk(file, (uint64_t)offset, bytes);
  }
  return real_read(file, data, bytes);
}

ssize_t pread64(int file, void* data, size_t bytes, off_t offset) {
  if (slow(file) && offset >= 0) wait_for_disk(file, (uint64_t)offset, bytes);
  return real_pread(file, data, bytes, offset);
}
ssize_t pread(int, void*, size_t, off_t) __attribute__((alias("pread64")));

ssize_t preadv64(int file, const struct iovec* parts, int count, off_t offset) {
  if (slow(file) && offset >= 0) {
    uint64_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes += parts[i].iov_len;
    wait_for_disk(file, (uint64_t)offset, bytes);
  }
  return real_preadv(file, parts, count, offset);
}
ssize_t preadv(int, const struct iovec*, int, off_t) __attribute__((alias("preadv64")));
