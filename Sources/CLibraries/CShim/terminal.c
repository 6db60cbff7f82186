#define _GNU_SOURCE
#include "CShim.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

/* One terminal per process. Written before the handlers are installed, afterwards only read by them. */
static struct termios original, keywise;
static volatile sig_atomic_t terminal = -1, is_keywise = 0;

/* Signals that terminate a program without exit(3). */
static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, SIGQUIT};
enum { fatal_count = sizeof fatal / sizeof fatal[0] };
static struct sigaction previous[fatal_count];

void cshim_terminal_restore(void) {
  int saved = errno;
  if (terminal >= 0 && is_keywise) {
    is_keywise = 0;
    /* From the background this would stop the process (termios(3)); the terminal is in its original state then. */
    if (tcgetpgrp(terminal) == getpgrp()) tcsetattr(terminal, TCSANOW, &original);
  }
  errno = saved;
}

int cshim_terminal_keywise(void) {
  if (terminal < 0) return ENOTTY;
  if (tcgetpgrp(terminal) != getpgrp()) return EPERM;
  if (tcsetattr(terminal, TCSANOW, &keywise) != 0) return errno;
  is_keywise = 1;
  return 0;
}

/* Restores the terminal, then the previous handler, and lets the signal take effect. */
static void on_fatal(int number, siginfo_t *info, void *context) {
  (void)context;
  cshim_terminal_restore();
  for (int i = 0; i < fatal_count; i++)
    if (fatal[i] == number) sigaction(number, &previous[i], NULL);
  /* A processor fault recurs when the instruction is repeated; a sent signal does not. */
  if (info->si_code <= 0 || number == SIGQUIT || number == SIGABRT) raise(number);
}

int cshim_terminal_open(int descriptor) {
  if (tcgetattr(descriptor, &original) != 0) return errno;
  keywise = original;
  keywise.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
  keywise.c_cc[VMIN] = 1;
  keywise.c_cc[VTIME] = 0;
  int is_first = terminal < 0;
  terminal = descriptor;
  if (is_first) {
    atexit(cshim_terminal_restore);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fatal;
    /* On the stack of cshim_begin_thread: after a stack overflow no other has space. */
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < fatal_count; i++) sigaction(fatal[i], &action, &previous[i]);
  }
  return cshim_terminal_keywise();
}

int cshim_terminal_columns(int descriptor) {
  struct winsize size;
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int cshim_signal_descriptor(const int *numbers, int count) {
  sigset_t set;
  sigemptyset(&set);
  for (int i = 0; i < count; i++) sigaddset(&set, numbers[i]);
  if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0) return -1;
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int cshim_signal_read(int descriptor) {
  struct signalfd_siginfo info;
  ssize_t count;
  do count = read(descriptor, &info, sizeof info);
  while (count < 0 && errno == EINTR);
  return count == sizeof info ? (int)info.ssi_signo : 0;
}

void cshim_signals_unblock(const int *numbers, int count) {
  sigset_t set;
  sigemptyset(&set);
  for (int i = 0; i < count; i++) sigaddset(&set, numbers[i]);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
