#define _GNU_SOURCE
#include "CPrivileges.h"
#include <linux/capability.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

/*
 * Media libraries load code that the environment and files in the home folder name (SDL_DYNAMIC_API, ALSA_PLUGIN_DIR,
 * ALSA_CONFIG_PATH, ~/.asoundrc), also in a program with capabilities. Capabilities must therefore be dropped before.
 *
 * This runs before main and before the constructors of all libraries (.preinit_array; System V gABI, "Initialization
 * and Termination Functions"). Nothing is initialized then and there is one thread: system calls only, and no sanitizer
 * instrumentation.
 */
#define BARE __attribute__((disable_sanitizer_instrumentation))

static uint64_t given_up;
/* Static storage is zeroed without a call of memset. */
static struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
static struct __user_cap_data_struct held[2], none[2];

uint64_t cpriv_given_up(void) { return given_up; }

int cpriv_file_has_capabilities(const char *path) { return getxattr(path, "security.capability", NULL, 0) > 0; }

BARE static void refuse(const char *sentence, unsigned long length) {
  syscall(SYS_write, STDERR_FILENO, sentence, length);
  syscall(SYS_exit_group, 77);
}
#define REFUSE(sentence) refuse(sentence, sizeof(sentence) - 1)

BARE static void give_up_capabilities(int argc, char **argv, char **environment) {
  (void)argc, (void)argv, (void)environment;
  long user = syscall(SYS_geteuid);
  if (syscall(SYS_getuid) != user || syscall(SYS_getgid) != syscall(SYS_getegid))
    REFUSE("talkie: the program's file is set-user-ID or set-group-ID, and would lend that to every library it loads; "
           "take it off with `chmod ug-s` on the file.\n");
  if (user == 0 || syscall(SYS_capget, &header, held) != 0) return;
  for (int half = 0; half < 2; half++)
    given_up |= (uint64_t)(held[half].permitted | held[half].effective | held[half].inheritable) << (32 * half);
  /* Ambient capabilities are a subset of the permitted ones. */
  if (given_up && syscall(SYS_capset, &header, none) != 0)
    REFUSE("talkie: the capabilities that the program was started with cannot be given up, and every library it loads "
           "would have them; `setcap -r` takes them off a file.\n");
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **, char **) = give_up_capabilities;
