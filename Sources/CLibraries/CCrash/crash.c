#define _GNU_SOURCE
#include "CCrash.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE};
enum { fault_count = sizeof faults / sizeof faults[0] };
static struct sigaction previous[fault_count];
static _Atomic(volatile unsigned char *) place;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void on_fault(int number, siginfo_t *info, void *context) {
  (void)context;
  volatile unsigned char *mark = atomic_load(&place);
  if (mark && (number != SIGABRT || info->si_pid == getpid())) *mark = (unsigned char)number;
  for (int i = 0; i < fault_count; i++)
    if (faults[i] == number) sigaction(number, &previous[i], NULL);
  /* A repeated instruction causes the other faults again. */
  if (info->si_code <= 0 || number == SIGABRT || number == SIGTRAP) raise(number);
}

static void install(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < fault_count; i++) sigaction(faults[i], &action, &previous[i]);
}

void ccrash_mark(volatile unsigned char *mark) {
  atomic_store(&place, mark);
  if (mark) pthread_once(&once, install);
}

void ccrash_unmark(volatile unsigned char *mark) { atomic_compare_exchange_strong(&place, &mark, NULL); }
